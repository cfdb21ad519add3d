//! C and C++ sources with markers, the compilers for them, and what binutils prints of the
//! resulting code.
//!
//! The syntax of the comments with expectations is at the top of `tests/c/basic.c`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{fmt, fs};

use regex::Regex;

use crate::{fixture, tools};

/// The levels of optimisation that are tested.
pub const LEVELS: [&str; 4] = ["-O0", "-O2", "-O3", "-Os"];

/// A compiler of C and C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say it")]
pub enum Compiler {
    Gcc,
    Clang,
}

/// A language, as the command line and `// only:` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say it")]
pub enum Language {
    C,
    Cxx,
}

/// Both compilers with each of these: the cases of a test.
pub fn with_each<const N: usize>(options: [&'static str; N]) -> impl Iterator<Item = (Compiler, &'static str)> {
    [Compiler::Gcc, Compiler::Clang].into_iter().flat_map(move |compiler| options.map(|option| (compiler, option)))
}

impl Compiler {
    /// The command.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        }
    }

    /// A compilation in the root of the workspace, with English messages, that finds the header.
    #[must_use]
    pub fn command(self, language: Language) -> Command {
        let mut command = Command::new(match (self, language) {
            (_, Language::C) => self.name(),
            (Self::Gcc, Language::Cxx) => "g++",
            (Self::Clang, Language::Cxx) => "clang++",
        });
        command.current_dir(fixture::workspace()).env("LC_ALL", "C").args(["-I", "markers/include"]);
        command
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::C => "C",
            Self::Cxx => "C++",
        })
    }
}

/// A source and the directives in its comments.
pub struct Source {
    /// The path from the root of the workspace, as given to the compiler.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    directives: Vec<(String, String)>,
}

/// One `// expect:`.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the fields of the comment")]
pub struct Expectation {
    pub name: String,
    pub format: Vec<u8>,
    pub args: Vec<u8>,
    /// The lowest and the highest number of sites.
    pub sites: (usize, usize),
    pub line: Option<u32>,
    pub file: Option<Vec<u8>>,
    pub flags: Option<u8>,
    pub operands: Option<Regex>,
}

impl Source {
    /// The sources in `folder`, a path from the root of the workspace, by name.
    ///
    /// # Panics
    ///
    /// The folder cannot be read.
    #[must_use]
    pub fn all(folder: &str) -> Vec<Self> {
        let entries = fs::read_dir(fixture::workspace().join(folder)).expect("the folder of sources");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"));
        let mut names: Vec<_> = names.filter(|name| name.ends_with(".c") || name.ends_with(".cc")).collect();
        names.sort();
        names.iter().map(|name| Self::new(&format!("{folder}/{name}"))).collect()
    }

    /// The source at `path`, from the root of the workspace.
    ///
    /// # Panics
    ///
    /// It cannot be read.
    #[must_use]
    pub fn new(path: &str) -> Self {
        let text = fs::read_to_string(fixture::workspace().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"));
        let directive = |line: &str| {
            let (key, value) = line.trim_start().strip_prefix("// ")?.split_once(':').unwrap_or(("runs", ""));
            let known = ["expect", "dead", "absent", "options", "only", "same-code", "sources", "error", "values"]
                .contains(&key);
            (known || line.trim() == "// runs").then(|| (key.to_owned(), value.trim().to_owned()))
        };
        let directives = text.lines().filter_map(directive).collect();
        Self { path: path.into(), text, directives }
    }

    /// The values of the comments `// KEY: VALUE`.
    pub fn directives<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.directives.iter().filter(move |(found, _)| found == key).map(|(_, value)| value.as_str())
    }

    /// The value of the comment `// KEY: VALUE`.
    #[must_use]
    pub fn directive<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        self.directives(key).next()
    }

    /// The words of `// options:`.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        self.directives("options").flat_map(str::split_whitespace)
    }

    /// Whether a comment `// only:` names `what`.
    #[must_use]
    pub fn only(&self, what: &str) -> bool {
        self.directives("only").any(|only| only == what)
    }

    /// Whether the file is meant for this compiler and language. A source in another language never
    /// is.
    #[must_use]
    pub fn is_for(&self, compiler: Compiler, language: Language) -> bool {
        let other = match compiler {
            Compiler::Gcc => "clang",
            Compiler::Clang => "gcc",
        };
        let is_cxx = self.path.extension().is_some_and(|extension| extension == "cc");
        let spoken = if is_cxx { language == Language::Cxx } else { language == Language::C || !self.only("C") };
        spoken && !self.only(other) && !self.directives("only").any(|only| only.starts_with("with "))
    }

    /// The expectations.
    ///
    /// # Panics
    ///
    /// An expectation is malformed.
    #[must_use]
    pub fn expectations(&self) -> Vec<Expectation> {
        let read = |text| Expectation::new(text).unwrap_or_else(|| panic!("{}: {text}?", self.path.display()));
        self.directives("expect").map(read).collect()
    }

    /// Other inputs of the compilation: `// sources:`, and the headers that it includes from its
    /// folder.
    #[must_use]
    pub fn other_files(&self) -> Vec<Self> {
        let sibling = |name: &str| self.path.with_file_name(name).to_str().expect("UTF-8").to_owned();
        let headers = self.text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
        let headers = headers.filter(|name| *name != "simple_marker.h");
        let sources = self.directives("sources").flat_map(str::split_whitespace);
        headers.chain(sources).map(|name| Self::new(&sibling(name))).collect()
    }

    /// The markers of the text.
    ///
    /// # Panics
    ///
    /// An invocation is malformed.
    #[must_use]
    pub fn markers(&self) -> Vec<Marker> {
        markers(&self.text)
    }
}

impl Expectation {
    fn new(text: &str) -> Option<Self> {
        let mut expected = Self::default();
        let mut rest = text;
        while let Some((key, value)) = rest.split_once('=') {
            let (value, behind) = match (key, value.strip_prefix('"')) {
                ("operands", _) => (value, ""),
                (_, Some(quoted)) => quoted.split_at(closing_quote(quoted)?),
                _ => value.split_once(' ').unwrap_or((value, "")),
            };
            match key {
                "name" => value.clone_into(&mut expected.name),
                "format" => expected.format = unescape(value)?,
                "args" => expected.args = unescape(value)?,
                "sites" => expected.sites = count(value)?,
                "line" => expected.line = Some(value.parse().ok()?),
                "file" => expected.file = Some(unescape(value)?),
                "flags" => expected.flags = Some(value.parse().ok()?),
                "operands" => expected.operands = Some(Regex::new(value).ok()?),
                _ => return None,
            }
            rest = behind.trim_start_matches('"').trim_start();
        }
        (rest.is_empty() && !expected.name.is_empty()).then_some(expected)
    }
}

/// `S`, `S+` or `S-`.
fn count(text: &str) -> Option<(usize, usize)> {
    if let Some(least) = text.strip_suffix('+') {
        return Some((least.parse().ok()?, usize::MAX));
    }
    if let Some(most) = text.strip_suffix('-') {
        return Some((0, most.parse().ok()?));
    }
    let count = text.parse().ok()?;
    Some((count, count))
}

/// The quote that ends a string. The string begins before `text`.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// The value between the quotes of a C string literal; `None` if it is malformed.
#[must_use]
pub fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let (radix, skipped, most) = match tail.first()? {
            b'x' => (16, 1, 2),
            b'0'..=b'7' => (8, 0, 3),
            letter => {
                rest = &tail[1..];
                bytes.push(match letter {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'\\' | b'"' | b'\'' | b'?' => *letter,
                    _ => return None,
                });
                continue;
            }
        };
        let digits = tail[skipped..].iter().take(most).take_while(|digit| char::from(**digit).is_digit(radix)).count();
        let (number, behind) = tail[skipped..].split_at(digits);
        bytes.push(u8::from_str_radix(std::str::from_utf8(number).ok()?, radix).ok()?);
        rest = behind;
    }
    Some(bytes)
}

/// A use of the header in a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Marker {
    /// The name in the record.
    pub name: String,
    /// The lines that a compiler may record. For an invocation over several lines this is the first
    /// or the last.
    pub lines: BTreeSet<u32>,
    /// The format in the source.
    pub format: String,
    /// The arguments in the record.
    pub args: String,
    /// The function around it.
    pub function: Option<String>,
    /// Whether it costs an instruction, either its own or one for an argument.
    pub costs: bool,
}

fn markers(text: &str) -> Vec<Marker> {
    let invocation =
        Regex::new(r"\b(?:simple_mark(_keep)?(_anchor(?:_fast)?)?|trace_simple|simple_(probe))\(").expect("a pattern");
    let functions = functions_of(text);
    let mut markers = Vec::new();
    for found in invocation.captures_iter(text) {
        let whole = found.get(0).expect("the match");
        let line_start = text[..whole.start()].rfind('\n').map_or(0, |newline| newline + 1);
        let before = &text[line_start..whole.start()];
        if before.contains("//") || before.starts_with("#define") {
            continue;
        }
        let (parts, end) = arguments(&text[whole.end()..]);
        let end = whole.end() + end;
        let [name, format, args @ ..] = &parts[..] else { panic!("{before}: a marker has a name and a format") };
        markers.push(Marker {
            name: name.clone(),
            lines: lines(text, whole.start(), end),
            format: format.clone(),
            args: args.join(", "),
            function: functions.iter().find(|function| function.body.contains(&end)).map(|found| found.name.clone()),
            costs: found.get(1).is_some() && !args.is_empty() || found.get(2).or(found.get(3)).is_some(),
        });
    }
    markers
}

/// The lines of the text from `start` to `end`; inside a macro, the lines of the macro's uses.
fn lines(text: &str, start: usize, end: usize) -> BTreeSet<u32> {
    let line = |offset: usize| text[..offset].matches('\n').count() as u32 + 1;
    let definition = text[..start].rfind("#define ").filter(|at| {
        let between = &text[*at..start];
        between.lines().count() > 1 && between.lines().rev().skip(1).all(|line| line.ends_with('\\'))
    });
    let Some(definition) = definition else { return BTreeSet::from([line(start), line(end)]) };
    let name = text[definition + "#define ".len()..].split('(').next().unwrap_or_default();
    let call = format!("{name}(");
    let uses = text.match_indices(&call).filter(|(at, _)| *at > end);
    uses.map(|(at, _)| line(at)).collect()
}

/// The text between the commas up to the closing bracket, with white space collapsed, and the
/// position of the bracket.
fn arguments(text: &str) -> (Vec<String>, usize) {
    let (mut parts, mut depth, mut quote, mut escaped) = (vec![String::new()], 0, None, false);
    for (at, character) in text.char_indices() {
        let part = parts.last_mut().expect("one is there");
        match (quote, character) {
            (Some(open), _) => {
                if character == open && !escaped {
                    quote = None;
                }
                escaped = character == '\\' && !escaped;
            }
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')') if depth == 0 => return (parts.iter().map(|part| part.trim().to_owned()).collect(), at),
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            (None, _) if character.is_whitespace() => {
                if !part.ends_with(' ') {
                    part.push(' ');
                }
                continue;
            }
            _ => {}
        }
        part.push(character);
    }
    panic!("a bracket is not closed: {text}")
}

/// A function of a source.
pub struct Function {
    /// Its name.
    pub name: String,
    body: std::ops::Range<usize>,
}

/// The functions of a text. Each must open in one line that starts in the first column, and close
/// in the first column of another line.
#[must_use]
pub fn functions_of(text: &str) -> Vec<Function> {
    let head =
        Regex::new(r"(?m)^[A-Za-z_][^;\n]*?\b([A-Za-z_][A-Za-z0-9_]*)\([^;\n]*\)(?: const)? \{$").expect("a pattern");
    let function = |found: regex::Captures<'_>| {
        let start = found.get(0).expect("the match").end();
        let end = start + text[start..].find("\n}").expect("an end");
        Function { name: found[1].to_owned(), body: start..end }
    };
    head.captures_iter(text).map(function).collect()
}

/// For each function of `texts`, the functions that it may be inlined into: itself, and those that
/// name it.
#[must_use]
pub fn inlined_into(texts: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let functions = texts.iter().flat_map(|text| functions_of(text).into_iter().map(|found| (*text, found)));
    let functions: Vec<_> = functions.collect();
    let names: Vec<_> = functions.iter().map(|(_, function)| function.name.clone()).collect();
    let words = |body: &str| -> BTreeSet<String> {
        body.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map(str::to_owned).collect()
    };
    let named: Vec<_> = functions.iter().map(|(text, function)| words(&text[function.body.clone()])).collect();
    let reaches = |name: &String| {
        let mut found = BTreeSet::from([name.clone()]);
        loop {
            let callers = names.iter().zip(&named).filter(|(_, named)| !found.is_disjoint(named));
            let more: BTreeSet<_> = callers.map(|(name, _)| name.clone()).chain(found.iter().cloned()).collect();
            if more.len() == found.len() {
                return found;
            }
            found = more;
        }
    };
    names.iter().map(|name| (name.clone(), reaches(name))).collect()
}

/// A function symbol of an image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    /// Address of the first byte.
    pub start: u64,
    /// Bytes; 0 for a label.
    pub size: u64,
    /// The mangled name.
    pub name: String,
    /// The type: FUNC, NOTYPE and so on.
    pub kind: String,
}

/// The defined symbols of an image, as `readelf` prints them.
///
/// # Panics
///
/// `readelf` is missing or fails.
#[must_use]
pub fn symbols(image: &Path) -> BTreeSet<Symbol> {
    let printed = tools::run(Command::new("readelf").args(["--symbols", "--wide"]).arg(image));
    let symbol = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let &[_, value, size, kind, _, _, section, name] = words.as_slice() else { return None };
        let size = match size.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => size.parse().ok()?,
        };
        let start = u64::from_str_radix(value, 16).ok()?;
        (section != "UND").then(|| Symbol { start, size, name: name.to_owned(), kind: kind.to_owned() })
    };
    printed.lines().filter_map(symbol).collect()
}

/// The instructions of an image by address, as the `objdump` for its target prints them.
///
/// # Panics
///
/// `objdump` is missing or fails.
#[must_use]
pub fn instructions(objdump: &str, image: &Path) -> BTreeMap<u64, String> {
    let listing = tools::run(Command::new(objdump).args(["-d", "--no-show-raw-insn", "--wide"]).arg(image));
    let instruction = |line: &str| {
        let (address, text) = line.split_once(":\t")?;
        Some((u64::from_str_radix(address.trim(), 16).ok()?, text.trim().to_owned()))
    };
    listing.lines().filter_map(instruction).collect()
}

/// Whether a compiler can link programs; skips the test if it has no C library for its target.
///
/// # Panics
///
/// It cannot, and this is CI.
#[must_use]
pub fn links(compiler: &[&str]) -> bool {
    if tools::find(compiler[0]).is_none() {
        return false;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("empty.c");
    fs::write(&source, "#include <pthread.h>\nint main(void) { return 0; }\n").expect("a source");
    let mut command = Command::new(compiler[0]);
    let (links, _) = attempt(command.args(&compiler[1..]).arg(&source).arg("-o").arg(folder.path().join("empty")));
    if !links {
        tools::skipped(&format!("{compiler:?} links no program"));
    }
    links
}

/// Runs a command, and returns whether it succeeded, and its standard error.
///
/// # Panics
///
/// It cannot be started.
pub fn attempt(command: &mut Command) -> (bool, String) {
    let Output { status, stderr, .. } = tools::output(command);
    (status.success(), String::from_utf8_lossy(&stderr).into_owned())
}
