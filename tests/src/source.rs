//! Finds the markers in the text of Rust sources, with the expectations in their comments.
//!
//! It reads the text as a person does, without the macro's parser, and knows only brackets, strings
//! and comments. `examples/constructs/src/main.rs` describes the comments.

use std::ops::Range;

/// A marker in the source.
#[derive(Clone, Debug)]
pub struct Marker {
    /// The name.
    pub name: String,
    /// Line and column of the marker; for a marker written by a macro, of each outermost call of
    /// that macro.
    pub places: Vec<(u32, u32)>,
    /// The format.
    pub format: String,
    /// The arguments, as in the record.
    pub args: String,
    /// Whether it has its own instruction.
    pub anchored: bool,
    /// The number of the witness after it.
    pub witness: Option<u32>,
    /// The expectation in the comment, for the profiles `dev` and `release`.
    pub outcome: [Outcome; 2],
    /// The register contents of the kept arguments, as bits.
    pub keeps: Vec<u64>,
}

/// The expected outcome of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The lowest and the highest number of sites.
    Live(usize, usize),
    /// Declared, without a site.
    Eliminated,
    /// Declared, and the functions of all sites were removed.
    Discarded,
    /// Not declared.
    Absent,
}

/// The markers in the text of a file, in source order.
///
/// # Panics
///
/// A marker has no comment, or a malformed one.
#[must_use]
pub fn markers(text: &str) -> Vec<Marker> {
    let source = Source { text, code: code_of(text) };
    let macros = source.macros();
    let invocations = source.invocations("simple_mark");
    invocations.into_iter().map(|invocation| source.marker(&invocation, &macros)).collect()
}

/// A text, and a copy with strings and comments blanked out. Offsets apply to both.
struct Source<'a> {
    text: &'a str,
    code: String,
}

/// `path::name!(...)`.
struct Invocation {
    /// The start offset.
    start: usize,
    /// The contents of the brackets.
    content: Range<usize>,
}

/// `macro_rules! name { ... }`.
struct Macro<'a> {
    name: &'a str,
    body: Range<usize>,
}

impl Source<'_> {
    fn invocations(&self, name: &str) -> Vec<Invocation> {
        let call = format!("{name}!");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let found = self.code.match_indices(&call).filter(|(at, _)| !self.code[..*at].ends_with(is_name));
        let found = found.map(|(at, _)| {
            let path = self.code[..at].trim_end_matches(|c| is_name(c) || c == ':').len();
            let open = at + call.len() + self.code[at + call.len()..].find(['(', '[', '{']).expect("a bracket");
            Invocation { start: path, content: open + 1..self.closing(open) }
        });
        found.collect()
    }

    /// Offset of the bracket that closes the one at `open`.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0;
        for (at, byte) in self.code.bytes().enumerate().skip(open) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        panic!("a bracket is not closed")
    }

    fn macros(&self) -> Vec<Macro<'_>> {
        let found = self.code.match_indices("macro_rules! ").map(|(at, word)| {
            let open = at + self.code[at..].find('{').expect("a bracket");
            Macro { name: self.code[at + word.len()..open].trim(), body: open..self.closing(open) }
        });
        found.collect()
    }

    /// Line and column of the outermost calls that contain `offset`.
    fn places(&self, offset: usize, macros: &[Macro<'_>]) -> Vec<(u32, u32)> {
        if let Some(around) = macros.iter().find(|found| found.body.contains(&offset)) {
            let calls = self.invocations(around.name);
            return calls.iter().flat_map(|call| self.places(call.start, macros)).collect();
        }
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        vec![(u32::try_from(line).expect("a line"), u32::try_from(column).expect("a column"))]
    }

    fn marker(&self, invocation: &Invocation, macros: &[Macro<'_>]) -> Marker {
        let mut parts = self.split(invocation.content.clone(), ',').into_iter();
        let name = parts.next().expect("a name");
        let name = string(self.text[name.clone()].trim()).unwrap_or_else(|| path(&self.text[name]));
        let format = parts.next().and_then(|format| string(self.text[format].trim())).expect("a format");
        let mut arguments: Vec<_> = parts.filter(|part| !self.text[part.clone()].trim().is_empty()).collect();
        let anchored = arguments.last().is_some_and(|last| self.text[last.clone()].trim() == "options(anchor)");
        if anchored {
            arguments.pop();
        }
        let arguments: Vec<_> = arguments.into_iter().map(|argument| self.argument(argument)).collect();
        let rest = &self.text[invocation.content.end..];
        let line = rest.lines().next().unwrap_or_default();
        let comment = line.split_once("//~ ").unwrap_or_else(|| panic!("{name}: what is expected?")).1;
        let mut marker = Marker {
            places: self.places(invocation.start, macros),
            args: arguments.join(", "),
            witness: self.witness(invocation.content.end + 1),
            outcome: [Outcome::Absent; 2],
            keeps: Vec::new(),
            name,
            format: undoubled(&format),
            anchored,
        };
        marker.expect(comment);
        marker
    }

    /// Splits `range` at the separators outside of brackets.
    fn split(&self, range: Range<usize>, separator: char) -> Vec<Range<usize>> {
        let (mut depth, mut start, mut parts) = (0, range.start, Vec::new());
        for (at, character) in self.code[range.clone()].char_indices() {
            match character {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ if character == separator && depth == 0 => {
                    parts.push(start..range.start + at);
                    start = range.start + at + 1;
                }
                _ => {}
            }
        }
        parts.push(start..range.end);
        parts
    }

    /// An argument as in the record: the name of a kept value, or else the place without spaces.
    fn argument(&self, range: Range<usize>) -> String {
        let text = self.text[range].trim();
        let kept = text.strip_prefix("keep ").map(str::trim_start);
        let place = kept.map_or(text, |kept| {
            let end = kept.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '#')).unwrap_or(kept.len());
            let (name, rest) = kept.split_at(end);
            let rest = rest.trim_start();
            let named = rest.starts_with('=') || rest.starts_with(':') && !rest.starts_with("::");
            if named { name } else { kept }
        });
        path(place)
    }

    /// The number of the witness at `offset`, skipping other markers.
    fn witness(&self, offset: usize) -> Option<u32> {
        let at = offset + self.code[offset..].find(|c: char| !c.is_whitespace() && c != ';')?;
        if self.code[at..].starts_with("simple_mark!") {
            let open = at + self.code[at..].find(['(', '[', '{'])?;
            return self.witness(self.closing(open) + 1);
        }
        let (number, _) = self.code[at..].strip_prefix("witness(")?.split_once(')')?;
        number.parse().ok()
    }
}

impl Marker {
    /// Reads the comment of the marker.
    fn expect(&mut self, comment: &str) {
        let mut clauses = comment.split("; ");
        let mut outcomes: [Option<Outcome>; 2] = [None; 2];
        for clause in clauses.next().expect("a clause").split(", ") {
            let (outcome, profile) =
                clause.split_once(" in ").map_or((clause, None), |(outcome, name)| (outcome, Some(name)));
            let profiles: &[usize] = match profile {
                None => &[0, 1],
                Some("dev") => &[0],
                Some("release") => &[1],
                Some(other) => panic!("{}: {other} is not a profile", self.name),
            };
            for profile in profiles {
                outcomes[*profile] = Some(outcome_of(outcome).unwrap_or_else(|| panic!("{}: {outcome}?", self.name)));
            }
        }
        self.outcome =
            outcomes.map(|outcome| outcome.unwrap_or_else(|| panic!("{}: expected in each profile?", self.name)));
        for clause in clauses {
            match clause.split_once(' ') {
                Some(("keeps", values)) => self.keeps = values.split(' ').map(bits).collect(),
                Some(("args", args)) => args.clone_into(&mut self.args),
                _ => panic!("{}: {clause}?", self.name),
            }
        }
    }
}

fn outcome_of(text: &str) -> Option<Outcome> {
    let words: Vec<_> = text.split(' ').collect();
    Some(match words.as_slice() {
        ["live"] => Outcome::Live(1, usize::MAX),
        ["live", count, "time" | "times"] => Outcome::Live(count.parse().ok()?, count.parse().ok()?),
        ["live", "at", "least", count, "time" | "times"] => Outcome::Live(count.parse().ok()?, usize::MAX),
        ["eliminated"] => Outcome::Eliminated,
        ["discarded"] => Outcome::Discarded,
        ["absent"] => Outcome::Absent,
        _ => return None,
    })
}

/// The 64-bit register contents for a number.
fn bits(value: &str) -> u64 {
    let single =
        value.strip_suffix("f32").and_then(|value| value.parse().ok()).map(|value| u64::from(f32::to_bits(value)));
    let integer = value.parse::<i128>().ok().map(|value| value as u64);
    let double = value.parse().ok().map(f64::to_bits);
    single.or(integer).or(double).unwrap_or_else(|| panic!("{value} is not a number"))
}

/// A place or a name without spaces and without `r#`.
fn path(text: &str) -> String {
    text.split_whitespace().collect::<String>().replace("r#", "")
}

/// The value of a string literal; `None` for anything else.
fn string(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r').filter(|raw| raw.starts_with(['"', '#'])) {
        let inner = raw.trim_start_matches('#');
        let hashes = raw.len() - inner.len();
        return inner.strip_prefix('"')?.strip_suffix(&"#".repeat(hashes))?.strip_suffix('"').map(str::to_owned);
    }
    let mut rest = literal.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut value = String::new();
    while let Some(character) = rest.next() {
        if character != '\\' {
            value.push(character);
            continue;
        }
        match rest.next()? {
            'n' => value.push('\n'),
            'r' => value.push('\r'),
            't' => value.push('\t'),
            '0' => value.push('\0'),
            'x' => {
                let digits: String = rest.by_ref().take(2).collect();
                value.push(char::from(u8::from_str_radix(&digits, 16).ok()?));
            }
            'u' => {
                let digits: String = rest.by_ref().skip(1).take_while(|c| *c != '}').collect();
                value.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
            }
            '\n' => rest = rest.as_str().trim_start().chars(),
            other => value.push(other),
        }
    }
    Some(value)
}

/// A format with the text `{name}` for each `{{name}}`, as the macro takes it.
fn undoubled(format: &str) -> String {
    let mut parts = format.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let inside = part.split_once("}}").filter(|(inside, _)| !inside.contains(['{', '}']));
        match inside {
            Some((inside, rest)) => text += &format!("{{{inside}}}{rest}"),
            None => text += &format!("{{{{{part}"),
        }
    }
    text
}

/// Blanks out each byte inside strings, characters and comments.
fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let length = token_length(rest);
        let is_text = matches!(bytes[at], b'"' | b'\'' | b'r' | b'/') && length > 1;
        if is_text || !bytes[at].is_ascii() {
            for byte in &mut code[at..at + length] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        at += length;
    }
    String::from_utf8(code).expect("only whole characters are replaced")
}

/// The length of the comment, string or character literal at the start of `text`, or of its first
/// character if there is none.
fn token_length(text: &str) -> usize {
    let first = text.chars().next().map_or(1, char::len_utf8);
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    let hashes = text.strip_prefix('r').map_or(0, |raw| raw.len() - raw.trim_start_matches('#').len());
    if text.strip_prefix('r').is_some_and(|raw| raw[hashes..].starts_with('"')) {
        let end = format!("\"{}", "#".repeat(hashes));
        let open = hashes + 2;
        return open + text[open..].find(&end).expect("a string ends") + end.len();
    }
    let quote = match text.as_bytes() {
        [b'"', ..] => '"',
        [b'\'', b'\\', ..] => '\'',
        // A single quote without a closing one after one character is a lifetime.
        [b'\'', ..] if text.chars().nth(2) == Some('\'') => '\'',
        _ => return first,
    };
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    panic!("a string ends")
}
