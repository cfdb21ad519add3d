//! Which markers the compiler refuses, by cargo's messages in JSON.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::field::places::number_of;

/// What the messages of a build that failed say. Paths are relative to the folder of the workspace.
pub(super) struct Refused {
    /// The markers that errors are at.
    pub(super) markers: HashSet<usize>,
    /// The errors at no marker.
    pub(super) others: Vec<String>,
}

impl Refused {
    pub(super) fn read(output: &[u8], workspace: &Path) -> Self {
        let mut files = HashMap::new();
        let mut found = Self { markers: HashSet::new(), others: Vec::new() };
        for line in output.split(|byte| *byte == b'\n') {
            let Ok(json) = serde_json::from_slice::<Json>(line) else { continue };
            let message = &json["message"];
            let spans = message["spans"].as_array().filter(|spans| !spans.is_empty());
            let Some(spans) = spans.filter(|_| message["level"] == "error") else { continue };
            // The error may be at a statement behind the marker, which is then another span.
            let is_primary = |span: &&Json| span["is_primary"] == true;
            let (first, others): (Vec<&Json>, Vec<&Json>) = spans.iter().partition(is_primary);
            let marker = first.into_iter().chain(others).find_map(|span| marker_at(span, workspace, &mut files));
            match marker {
                Some(marker) => drop(found.markers.insert(marker)),
                None => found.others.push(message["rendered"].as_str().unwrap_or_default().to_owned()),
            }
        }
        found
    }
}

/// The marker of a span, or of the call of a macro that made it.
fn marker_at(mut span: &Json, workspace: &Path, files: &mut HashMap<String, String>) -> Option<usize> {
    loop {
        let file = span["file_name"].as_str()?;
        let line = usize::try_from(span["line_start"].as_u64()?).ok()?;
        let text = files
            .entry(file.to_owned())
            .or_insert_with(|| fs::read_to_string(workspace.join(file)).unwrap_or_default());
        if let Some(number) = text.lines().nth(line.saturating_sub(1)).and_then(number_of) {
            return Some(number);
        }
        span = &span["expansion"]["span"];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_belongs_to_the_marker_that_its_spans_or_their_macros_are_at() {
        let folder = tempfile::tempdir().expect("a folder");
        let source =
            "fn f() {\nsimple_mark!(field:m7, \"a %d\", a);\na += 1;\nsimple_mark!(field:m8, \"b %d\", b);\n}\n";
        fs::write(folder.path().join("a.rs"), source).expect("a file");
        let span = |line: u32, is_primary: bool, expansion: &str| {
            format!(r#"{{"file_name":"a.rs","line_start":{line},"is_primary":{is_primary},"expansion":{expansion}}}"#)
        };
        let message = |level: &str, spans: &[String]| {
            let spans = spans.join(",");
            format!(r#"{{"message":{{"level":"{level}","rendered":"why","spans":[{spans}]}}}}"#)
        };
        let read = |messages: &[String]| {
            let refused = Refused::read(messages.join("\n").as_bytes(), folder.path());
            (refused.markers, refused.others)
        };
        let outside = r#"{"span":{"file_name":"a.rs","line_start":4,"expansion":null}}"#;
        let elsewhere = r#"{"file_name":"m.rs","line_start":1,"is_primary":true,"expansion":"#.to_owned();
        let of_macro = format!("{elsewhere}{outside}}}");
        assert_eq!(read(&[message("error", &[of_macro])]), ([8].into(), vec![]));
        let both = [span(2, false, "null"), span(3, true, "null")];
        assert_eq!(
            read(&[message("error", &both), message("warning", &[span(4, true, "null")])]),
            ([7].into(), vec![])
        );
        assert_eq!(
            read(&[message("error", &[span(3, true, "null")]), message("error", &[])]),
            ([].into(), vec!["why".to_owned()])
        );
    }
}
