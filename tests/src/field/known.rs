//! The wrong values whose reason is known.
//!
//! A file names one class. Its comments, from `#`, say what the compiler does; each other line is
//! `PROGRAM COMPILER LEVEL MARKER ARGUMENT VALUES`, the arguments that show it and the most values of
//! each that are wrong.

use std::fs;
use std::path::Path;

use super::compare::Argument;
use super::report::Watched;

/// An argument with wrong values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    key: [String; 5],
    most: u64,
}

/// Reads all files of a folder; none if it does not exist.
///
/// # Errors
///
/// A file cannot be read, or has another line.
pub fn read(folder: &Path) -> Result<Vec<Known>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let text = fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            found.push(parse(line).ok_or_else(|| format!("{}: {line}?", path.display()))?);
        }
    }
    Ok(found)
}

fn parse(line: &str) -> Option<Known> {
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let most = words.pop()?.parse().ok()?;
    Some(Known { key: words.try_into().ok()?, most })
}

/// A line for each argument that is called live or constant and has more wrong values than known.
#[must_use]
pub fn unknown(watched: &Watched, known: &[Known]) -> Vec<String> {
    let mut lines = Vec::new();
    for marker in &watched.markers {
        let arguments: Vec<&Argument> = marker.sites.iter().flat_map(|site| &site.arguments).collect();
        let mut texts: Vec<&str> = arguments.iter().map(|argument| &*argument.text).collect();
        texts.sort_unstable();
        texts.dedup();
        for text in texts {
            let of = arguments.iter().filter(|argument| argument.text == text && argument.is_claimed());
            let wrong: u64 = of.map(|argument| argument.wrong).sum();
            let key = [&*watched.program, &*watched.compiler, &*watched.level, &*marker.name, text];
            let most = known.iter().filter(|known| known.key == key).map(|known| known.most).sum();
            if wrong > most {
                lines.push(format!("{}: {wrong} wrong values, {most} are known", key.join(" ")));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::compare::{Marker, Site};

    #[test]
    fn more_wrong_values_than_known_are_named() {
        let argument = |verdict: &str, wrong| Argument {
            text: "p->x".to_owned(),
            verdict: verdict.to_owned(),
            wrong,
            ..Argument::default()
        };
        let site = |arguments| Site { arguments, ..Site::default() };
        // The values of both copies count, and those that are doubtful do not.
        let sites = vec![site(vec![argument("live", 3)]), site(vec![argument("constant", 4), argument("doubtful", 9)])];
        let watched = Watched {
            program: "sqlite".to_owned(),
            version: "3".to_owned(),
            compiler: "gcc".to_owned(),
            level: "2".to_owned(),
            markers: vec![Marker { name: "field:m1".to_owned(), sites, ..Marker::default() }],
        };
        let folder = tempfile::tempdir().expect("a folder");
        let lines = |text: &str| {
            fs::write(folder.path().join("class"), text).expect("a file");
            unknown(&watched, &read(folder.path()).expect("known values"))
        };
        assert_eq!(lines("# A reason.\nsqlite gcc 2 field:m1 p->x 7\n"), [""; 0]);
        let expected = ["sqlite gcc 2 field:m1 p->x: 7 wrong values, 6 are known"];
        assert_eq!(lines("sqlite gcc 2 field:m1 p->x 6\nsqlite clang 2 field:m1 p->x 9\n"), expected);
        fs::write(folder.path().join("class"), "sqlite gcc 2 6\n").expect("a file");
        assert!(read(folder.path()).is_err());
    }
}
