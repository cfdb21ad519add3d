//! Chooses random places for markers in the sources of a program, and inserts them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::program::Program;
use crate::tools::Choices;

/// A variable or member, as the source names it, and the conversion that shows it.
pub type Argument = (String, &'static str);

/// A structure, of which a marker shows the whole value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeVariable {
    /// The argument of the marker: in C its address.
    pub operand: String,
    /// The members that the twin prints, as the source names them.
    pub members: Vec<Argument>,
    /// The path of each member in the structure, as `inner.low`.
    pub paths: Vec<String>,
}

impl WholeVariable {
    /// A variable with members that are written so behind it; `None` if it has fewer than two.
    pub(super) fn new(operand: String, variable: &str, members: &[Argument]) -> Option<Self> {
        let members = members.get(..MOST_MEMBERS).unwrap_or(members);
        let path = |(member, _): &Argument| member.trim_start_matches(['-', '>', '.']).to_owned();
        let named = members.iter().map(|(member, conversion)| (format!("{variable}{member}"), *conversion));
        let (members, paths) = (named.collect(), members.iter().map(path).collect::<Vec<_>>());
        (paths.len() > 1).then_some(Self { operand, members, paths })
    }
}

/// A statement that a marker may stand before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file, in the folder of the sources.
    pub file: PathBuf,
    /// Where the statement begins, in bytes.
    pub offset: usize,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, if a line can have several statements.
    pub column: Option<u32>,
    /// Its function.
    pub function: String,
    /// What a marker may name.
    pub arguments: Vec<Argument>,
    /// The structures of which it may show the whole value.
    pub wholes: Vec<WholeVariable>,
}

/// A marker before a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number in its name.
    pub number: usize,
    /// The file, in the folder of the sources.
    pub file: PathBuf,
    /// Where the statement begins, in bytes.
    pub offset: usize,
    /// The line without markers, from 1.
    pub line: u32,
    /// Its function.
    pub function: String,
    /// What it names, and the conversion of each.
    pub arguments: Vec<Argument>,
    /// The structure whose members these are, of which the marker shows the whole value where it does not
    /// print.
    pub whole: Option<WholeVariable>,
}

impl Place {
    /// The name of the marker.
    #[must_use]
    pub fn name(&self) -> String {
        format!("field:m{}", self.number)
    }

    /// What is between the parentheses of the marker, which prints in a twin.
    #[must_use]
    pub fn inside(&self, prints: bool) -> String {
        if let Some(whole) = self.whole.as_ref().filter(|_| !prints) {
            return format!("{}, \"%p{{}}\", {}", self.name(), whole.operand);
        }
        let formats: Vec<_> = self.arguments.iter().map(|(text, conversion)| format!("{text} {conversion}")).collect();
        let arguments: String = self.arguments.iter().map(|(text, _)| format!(", {text}")).collect();
        format!("{}, \"{}\"{arguments}", self.name(), formats.join(", "))
    }
}

/// The number of the marker that a line of a source is.
#[must_use]
pub fn number_of(line: &str) -> Option<usize> {
    let (_, behind) = line.split_once("(field:m")?;
    behind.split_once(',')?.0.parse().ok()
}

/// A function has no more markers than this, because a few functions have most of the lines.
const MOST_OF_FUNCTION: usize = 10;
/// A marker names at most so many variables.
const MOST_ARGUMENTS: u32 = 5;
/// The most members of a whole value that are compared.
const MOST_MEMBERS: usize = 12;

/// What markers show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// Scalars.
    Scalars,
    /// A whole value.
    Wholes,
}

/// Chooses places with a seed, at most `count`.
#[must_use]
pub fn choose(mut candidates: Vec<Candidate>, count: usize, seed: u64, shows: Shows) -> Vec<Place> {
    candidates.retain(|candidate| match shows {
        Shows::Scalars => !candidate.arguments.is_empty(),
        Shows::Wholes => !candidate.wholes.is_empty(),
    });
    // A line that a run passes once more or less must not change the choice of the others.
    let mut candidates: Vec<_> =
        candidates.into_iter().map(|candidate| (seed_of(seed, &candidate), candidate)).collect();
    candidates.sort_by_key(|(seed, _)| *seed);
    let mut of_function: HashMap<String, usize> = HashMap::new();
    let mut places = Vec::new();
    for (seed, Candidate { file, offset, line, function, arguments: mut all, mut wholes, .. }) in candidates {
        let of = of_function.entry(function.clone()).or_default();
        *of += 1;
        if *of > MOST_OF_FUNCTION || places.len() == count {
            continue;
        }
        let mut choices = Choices::new(seed);
        if shows == Shows::Wholes {
            let whole = wholes.swap_remove(choices.below(wholes.len() as u32) as usize);
            let arguments = whole.members.clone();
            places.push(Place { number: places.len(), file, offset, line, function, arguments, whole: Some(whole) });
            continue;
        }
        let mut arguments = Vec::new();
        for _ in 0..=choices.below(MOST_ARGUMENTS) {
            if !all.is_empty() {
                arguments.push(all.swap_remove(choices.below(all.len() as u32) as usize));
            }
        }
        places.push(Place { number: places.len(), file, offset, line, function, arguments, whole: None });
    }
    places
}

/// The seed of a statement: FNV-1a of where it is.
fn seed_of(seed: u64, Candidate { file, line, column, .. }: &Candidate) -> u64 {
    let column = column.map(|column| format!(":{column}")).unwrap_or_default();
    let text = format!("{seed} {} {line}{column}", file.display());
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    // Neighbouring lines differ in the low bits only.
    u64::from(Choices::new(hash).below(u32::MAX)) << 32 | hash >> 32
}

/// Copies the files with markers from `from` to the same places in `to`, with a line for each marker
/// before its statement, which prints in a twin.
///
/// # Errors
///
/// A file cannot be read or written.
pub fn insert<'a>(
    program: &dyn Program,
    places: impl IntoIterator<Item = &'a Place>,
    (from, to): (&Path, &Path),
    prints: bool,
) -> io::Result<()> {
    let mut of: BTreeMap<&Path, Vec<(usize, String)>> = BTreeMap::new();
    for place in places {
        of.entry(&place.file).or_default().push((place.offset, program.marker(place, prints)));
    }
    for (file, lines) in of {
        let text = with_lines(&fs::read(from.join(file))?, lines);
        write_changed(&to.join(file), &[program.header().as_bytes(), &text].concat())?;
    }
    Ok(())
}

/// Writes a file that has other bytes, so that nothing is built again without need.
///
/// # Errors
///
/// It cannot be written.
pub fn write_changed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::read(path) {
        Ok(old) if old == bytes => Ok(()),
        _ => fs::write(path, bytes),
    }
}

/// A text with a line before each of these offsets, in the order given where they are the same.
#[must_use]
pub fn with_lines(text: &[u8], mut lines: Vec<(usize, String)>) -> Vec<u8> {
    lines.sort_by_key(|(offset, _)| *offset);
    let mut out = Vec::with_capacity(text.len() + 200 * lines.len());
    let mut done = 0;
    for (offset, line) in lines {
        out.extend_from_slice(&text[done..offset]);
        done = offset;
        // A statement may stand behind the brace of its block.
        if !is_blank(&out) {
            out.push(b'\n');
        }
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(&text[done..]);
    out
}

/// Whether there is nothing but spaces behind the last newline.
fn is_blank(text: &[u8]) -> bool {
    let line = text.iter().rev().take_while(|byte| **byte != b'\n');
    line.copied().all(|byte| byte == b' ' || byte == b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_before_statements() {
        let text = b"fn f() {\n    a(); if b { c() }\n}\n";
        let at = |needle: &str| text.windows(needle.len()).position(|at| at == needle.as_bytes()).expect("it is there");
        let lines = vec![(at("c()"), "M3;".to_owned()), (at("a()"), "M1;".to_owned()), (at("a()"), "M2;".to_owned())];
        let expected = "fn f() {\n    M1;\nM2;\na(); if b { \nM3;\nc() }\n}\n";
        assert_eq!(String::from_utf8(with_lines(text, lines)).as_deref(), Ok(expected));
        assert_eq!(number_of("    simple_mark(field:m17, \"a %d\", a);"), Some(17));
        assert_eq!(number_of("simple_mark(other, \"a %d\", a);"), None);
    }

    #[test]
    fn a_place_is_chosen_by_its_own_position() {
        let candidate = |line| Candidate {
            file: "a.c".into(),
            offset: 0,
            line,
            column: None,
            function: format!("f{}", line / 5),
            arguments: vec![("a".into(), "%d"), ("b".into(), "%lu")],
            wholes: Vec::new(),
        };
        let chosen = |lines: &mut dyn Iterator<Item = u32>| {
            let places = choose(lines.map(candidate).collect(), 20, 1, Shows::Scalars);
            places.into_iter().map(|place| (place.line, place.arguments)).collect::<Vec<_>>()
        };
        let all = chosen(&mut (1..100));
        assert_eq!(all.len(), 20);
        let without: Vec<_> = all.iter().filter(|(line, _)| *line != all[3].0).cloned().collect();
        assert_eq!(chosen(&mut (1..100).filter(|line| *line != all[3].0))[..19], without);
    }
}
