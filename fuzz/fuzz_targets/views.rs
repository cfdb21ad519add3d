//! A table of views from arbitrary bytes, and types from arbitrary entries that it is fitted to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::{part, sections, use_entries, use_type};
use simple_markers_resolver::fuzzing::DebugInfo;
use simple_markers_resolver::views::ViewTable;

fuzz_target!(|input: &[u8]| {
    let mut input = input.get(..4096).unwrap_or(input);
    let text = String::from_utf8_lossy(part(&mut input)).into_owned();
    let views = match ViewTable::parse(&text) {
        Ok(views) => views,
        Err(error) => {
            let line = text.lines().nth(error.line - 1).expect("a line of the text");
            assert!((1..=line.chars().count()).contains(&error.column) && !error.to_string().is_empty());
            return;
        }
    };
    let lines = text.lines().filter(|line| line.split_whitespace().next().is_some_and(|word| !word.starts_with('#')));
    assert_eq!(views.len(), lines.count());
    let sections = sections(&mut input);
    let info = DebugInfo::with(&sections, None, None, &views);
    use_entries(&sections, &info, |die| use_type(&info, die.into()));
});
