//! Chooses random places for markers in the sources of a program, and inserts them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::scopes::{Scopes, Type, Variable};
use super::statements;
use crate::generator::choices::Choices;

/// A marker before a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number in its name.
    pub number: usize,
    /// The file, in the folder of the sources.
    pub file: PathBuf,
    /// The line without markers, from 1.
    pub line: u32,
    /// Its function.
    pub function: String,
    /// What it names, and the conversion of each.
    pub arguments: Vec<(String, &'static str)>,
}

impl Place {
    /// The name of the marker.
    #[must_use]
    pub fn name(&self) -> String {
        format!("field:m{}", self.number)
    }

    /// The statement.
    #[must_use]
    pub fn statement(&self) -> String {
        let formats: Vec<_> = self.arguments.iter().map(|(text, conversion)| format!("{text} {conversion}")).collect();
        let arguments: String = self.arguments.iter().map(|(text, _)| format!(", {text}")).collect();
        format!("simple_mark({}, \"{}\"{arguments});", self.name(), formats.join(", "))
    }
}

/// What may be chosen.
pub struct Choice<'a> {
    /// The folder of the sources.
    pub folder: &'a Path,
    /// The variables.
    pub scopes: &'a Scopes,
    /// How often each line was passed, by its file.
    pub passed: &'a HashMap<PathBuf, HashMap<u32, u64>>,
    /// A marker is not passed more often than this.
    pub most: u64,
    /// How many.
    pub count: usize,
    /// The seed.
    pub seed: u64,
}

/// A function has no more markers than this, because a few functions have most of the lines.
const MOST_OF_FUNCTION: usize = 10;
/// A marker names at most so many variables.
const MOST_ARGUMENTS: u32 = 5;

/// Chooses places that a run of the program passes.
///
/// # Errors
///
/// A source cannot be read.
pub fn choose(choice: &Choice<'_>) -> io::Result<Vec<Place>> {
    let mut files: Vec<&Path> = choice.scopes.files().filter(|file| file.starts_with(choice.folder)).collect();
    files.sort_unstable();
    let mut candidates = Vec::new();
    for file in files {
        let Some(passed) = choice.passed.get(file) else { continue };
        let text = String::from_utf8_lossy(&fs::read(file)?).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        for line in statements::of_c(&text) {
            if !passed.get(&line).is_some_and(|count| (1..=choice.most).contains(count)) {
                continue;
            }
            if let Some((function, variables)) = choice.scopes.at(file, line) {
                let text = lines.get(line as usize - 1).copied().unwrap_or_default();
                let arguments = arguments(text, &variables);
                if !arguments.is_empty() {
                    candidates.push((file, line, function, arguments));
                }
            }
        }
    }
    // A line that a run passes once more or less must not change the choice of the others.
    let mut candidates: Vec<_> = candidates
        .into_iter()
        .map(|(file, line, function, arguments)| {
            let file = file.strip_prefix(choice.folder).unwrap_or(file);
            (seed(choice.seed, file, line), file, line, function, arguments)
        })
        .collect();
    candidates.sort_unstable_by_key(|(seed, ..)| *seed);
    let mut of_function: HashMap<&str, usize> = HashMap::new();
    let mut places = Vec::new();
    for (seed, file, line, function, mut all) in candidates {
        let count = of_function.entry(function).or_default();
        *count += 1;
        if *count > MOST_OF_FUNCTION || places.len() == choice.count {
            continue;
        }
        let mut choices = Choices::new(seed);
        let mut arguments = Vec::new();
        for _ in 0..=choices.below(MOST_ARGUMENTS) {
            if !all.is_empty() {
                arguments.push(all.swap_remove(choices.below(all.len() as u32) as usize));
            }
        }
        places.push(Place {
            number: places.len(),
            file: file.to_owned(),
            line,
            function: function.to_owned(),
            arguments,
        });
    }
    Ok(places)
}

/// The seed of a line: FNV-1a of all of it.
fn seed(seed: u64, file: &Path, line: u32) -> u64 {
    let text = format!("{seed} {} {line}", file.display());
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // Neighbouring lines differ in the low bits only.
    u64::from(Choices::new(hash).below(u32::MAX)) << 32 | hash >> 32
}

/// What a marker before this line may name: the variables, and the members that the line reads
/// itself, for which their structure must be there.
fn arguments(line: &str, variables: &[&Variable]) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for Variable { name, of, .. } in variables {
        match of {
            Type::Scalar(conversion) => found.push((name.clone(), *conversion)),
            Type::Structure(members) if name != "this" => {
                found.push((name.clone(), "%p"));
                for (member, conversion) in members {
                    let text = format!("{name}->{member}");
                    if is_read(line, name, &text) {
                        found.push((text, *conversion));
                    }
                }
            }
            Type::Structure(_) | Type::Other => {}
        }
    }
    found
}

/// Whether a line certainly reads a member.
fn is_read(line: &str, variable: &str, text: &str) -> bool {
    let is_part = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
    let is_there = line.match_indices(text).any(|(at, _)| {
        let before = line[..at].trim_end();
        !is_part(line[at + text.len()..].chars().next())
            && !is_part(line[..at].chars().next_back())
            && !before.ends_with(['.', '&'])
            && !before.ends_with("->")
    });
    let is_assigned = line.match_indices(variable).any(|(at, _)| {
        let behind = line[at + variable.len()..].trim_start();
        behind.starts_with('=') && !behind.starts_with("==") || behind.starts_with("++") || behind.starts_with("--")
    });
    let may_not = ["&&", "||", "?", "sizeof", "assert", "ASSERT", "for ", "for(", "offsetof"];
    is_there && !is_assigned && !may_not.iter().any(|word| line.contains(word))
}

/// Copies the files with markers from `from` to the same places in `to`, with the markers.
///
/// # Errors
///
/// A file cannot be read or written.
pub fn insert(places: &[Place], from: &Path, to: &Path, left_out: &HashSet<usize>) -> io::Result<()> {
    let mut of: BTreeMap<&Path, Vec<&Place>> = BTreeMap::new();
    for place in places {
        of.entry(&place.file).or_default().push(place);
    }
    for (file, mut places) in of {
        places.sort_by_key(|place| (place.line, place.number));
        let bytes = fs::read(from.join(file))?;
        let mut out = Vec::with_capacity(bytes.len() + 200 * places.len());
        out.extend_from_slice(b"#include <simple_marker.h>\n");
        let mut places = places.into_iter().filter(|place| !left_out.contains(&place.number)).peekable();
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            while let Some(place) = places.next_if(|place| place.line == number) {
                out.extend_from_slice(place.statement().as_bytes());
                out.push(b'\n');
            }
            out.extend_from_slice(line);
        }
        fs::write(to.join(file), out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_named_where_the_line_reads_it() {
        let is_read = |line| is_read(line, "p", "p->x");
        assert!(is_read("p->x = 3;"));
        assert!(is_read("if (p->x > 2) f();"));
        assert!(!is_read("p->xy = 3;"));
        assert!(!is_read("q->p->x = 3;"));
        assert!(!is_read("up->x = 3;"));
        assert!(!is_read("p = q; p->x = 3;"));
        assert!(!is_read("return p && p->x;"));
        assert!(!is_read("f(&p->x);"));
    }

    #[test]
    fn markers_are_inserted_before_their_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |number, line, name: &str| Place {
            number,
            file: "a.c".into(),
            line,
            function: "f".into(),
            arguments: vec![(name.into(), "%d"), ("p->x".into(), "%lu")],
        };
        fs::write(folder.path().join("a.c"), "int f() {\n  a++;\n  b++;\n}").expect("a file");
        fs::create_dir(folder.path().join("to")).expect("a folder");
        let places = [place(0, 3, "a"), place(1, 2, "b"), place(2, 2, "c")];
        insert(&places, folder.path(), &folder.path().join("to"), &[2].into()).expect("they are inserted");
        let text = fs::read_to_string(folder.path().join("to/a.c")).expect("the file");
        let expected = "#include <simple_marker.h>\nint f() {\nsimple_mark(field:m1, \"b %d, p->x %lu\", b, p->x);\n  \
                        a++;\nsimple_mark(field:m0, \"a %d, p->x %lu\", a, p->x);\n  b++;\n}";
        assert_eq!(text, expected);
    }
}
