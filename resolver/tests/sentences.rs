//! No sentence is parsed, compared or stored as a reason outside of `english/`, because evidence
//! travels as enums.

use std::fs;
use std::path::{Path, PathBuf};

/// Parts of names whose values hold a reason, or a sentence about one.
const NOUNS: [&str; 6] = ["why", "reason", "cause", "message", "sentence", "mismatch"];

/// Methods that inspect a text.
const METHODS: [&str; 8] =
    ["contains", "starts_with", "ends_with", "strip_prefix", "strip_suffix", "split", "split_once", "find"];

/// Text types.
const TEXTS: [&str; 3] = ["&'static str", "Arc<str>", "String"];

/// The parts of the program that find reasons. None of their strings is a sentence.
const FINDERS: [&str; 7] = [
    "resolver/src/check/",
    "resolver/src/code/",
    "resolver/src/dwarf/",
    "resolver/src/image/",
    "resolver/src/resolve/",
    "src/location/parts.rs",
    "smark/src/fix/files.rs",
];

/// Allowed lines: the end of the file's path, a part of the line (empty for all of the file), and
/// the reason.
const ALLOWED: [(&str, &str, &str); 18] = [
    ("src/codes.rs", "\"SM0", "the one table of codes"),
    ("src/codes.rs", "#[error", "what a user typed"),
    ("src/json.rs", "#[error", "what serde says of a text, after where it is"),
    ("location/evaluate.rs", "#[error", "an error of a caller's registers and memory, which is an enum"),
    ("dwarf/type_names.rs", " => \"", "names of types of C"),
    ("dwarf/type_tests.rs", "builder.base(", "names of types of C"),
    ("check/human.rs", "", "the page for people, around what english/check.rs writes"),
    ("check/sarif.rs", "", "texts that SARIF asks for"),
    ("check/policy.rs", "", "what a user typed"),
    ("check/lock.rs", "", "what a user wrote into the lock file"),
    ("check/settings.rs", "", "what a user wrote into the settings"),
    ("check/problem.rs", "reason: Arc<str>", "what a user wrote into the lock file"),
    ("resolve/reason.rs", "message: Arc<str>", "what the crate's `Error` says, which is an enum"),
    ("resolve/exactness.rs", "Arc<str>", "what the crate's `Error` or a parser says"),
    ("fix/messages.rs", "message: String", "what a compiler says"),
    (
        "fix/messages.rs",
        "self.message.split_once(\"given `\")",
        "what rustc says of a value; without it the type is not known",
    ),
    ("fix/session/mod.rs", "message: Option<String>", "what a compiler says"),
    ("src/files.rs", "pub(crate) why: String", "what the operating system says"),
];

/// The sources of the library and of the command, except those with English text.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("english") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The expression at the end of `text`: names, members and calls.
fn receiver(text: &str) -> &str {
    let start = text.rfind(|c: char| !(c.is_alphanumeric() || "_.()?".contains(c))).map_or(0, |at| at + 1);
    text.get(start..).unwrap_or_default()
}

fn names_a_reason(text: &str) -> bool {
    NOUNS.iter().any(|noun| text.contains(noun))
}

/// Whether the strings of a line have three words in a row.
fn has_sentence(line: &str) -> bool {
    let strings = line.split('"').skip(1).step_by(2);
    let is_word = |word: &&str| {
        word.len() > 1 && word.trim_end_matches([',', ':', ';']).chars().all(|it| it.is_ascii_lowercase())
    };
    strings
        .into_iter()
        .any(|string| string.split(' ').collect::<Vec<_>>().windows(3).any(|three| three.iter().all(is_word)))
}

/// The problem with a line of code. `finds` says that the file finds reasons.
fn fault(line: &str, finds: bool) -> Option<&'static str> {
    // Nobody reads these at run time.
    let is_for_programmers = [".expect(", "reason = \"", "unreachable!(", "assert"].iter().any(|it| line.contains(it));
    if line.contains("#[error(\"") || finds && !is_for_programmers && has_sentence(line) {
        return Some("a sentence beside the code that finds the reason");
    }
    if line.contains("\"SM0") {
        return Some("a code as text");
    }
    let looks_into = |method: &&str| {
        let call = format!(".{method}(\"");
        line.match_indices(&call).any(|(at, _)| names_a_reason(receiver(&line[..at])))
    };
    if line.contains(".split(\"; ") || METHODS.iter().any(looks_into) {
        return Some("a sentence that is parsed");
    }
    let is_compared =
        |operator: &&str| line.match_indices(*operator).any(|(at, _)| names_a_reason(receiver(&line[..at])));
    if [" == \"", " != \""].iter().any(is_compared) {
        return Some("a sentence that is compared");
    }
    let is_kept = NOUNS.iter().any(|noun| {
        TEXTS.iter().any(|text| {
            [format!("{noun}: {text}"), format!("{noun}: Option<{text}"), format!("_{noun}: Option<{text}")]
                .iter()
                .any(|field| line.contains(field.as_str()))
        })
    });
    is_kept.then_some("a reason that is text")
}

#[test]
fn reasons_are_enums_outside_of_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    sources(&root.join("../smark/src"), &mut files);
    assert!(files.len() > 100, "{}", files.len());
    let mut faults = Vec::new();
    let mut used = [false; ALLOWED.len()];
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        // Tests compare the output for users.
        let code = text.split("#[cfg(test)]\nmod").next().unwrap();
        let path = file.to_string_lossy();
        let finds = FINDERS.iter().any(|part| path.contains(part) || path.replace("resolver/../", "").contains(part));
        for (index, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let Some(fault) = fault(line, finds) else { continue };
            let allowed = ALLOWED.iter().position(|(path, part, _)| file.ends_with(path) && line.contains(part));
            match allowed {
                Some(entry) => used[entry] = true,
                None => faults.push(format!("{}:{}: {fault}: {}", file.display(), index + 1, line.trim())),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let unused: Vec<_> = ALLOWED.iter().zip(used).filter(|(_, used)| !used).map(|(entry, _)| entry.2).collect();
    assert!(unused.is_empty(), "allowed, and not there: {unused:?}");
}

#[test]
fn faults_are_found() {
    assert_eq!(fault("let why = argument.why.split(\"; the \").next();", true), Some("a sentence that is parsed"));
    assert_eq!(fault("if first.message().contains(\"gone\") {", true), Some("a sentence that is parsed"));
    assert_eq!(fault("if reason == \"optimised out\" {", true), Some("a sentence that is compared"));
    assert_eq!(fault("    pub exactness_why: Option<Arc<str>>,", true), Some("a reason that is text"));
    assert_eq!(fault("    Refused { why: &'static str },", true), Some("a reason that is text"));
    assert_eq!(fault("    \"SM034\" => 1,", true), Some("a code as text"));
    assert_eq!(fault("if path.contains(\"why\") {", true), None);
    let beside = Some("a sentence beside the code that finds the reason");
    assert_eq!(fault("    message: format!(\"{name} was eliminated: it was compiled\"),", true), beside);
    assert_eq!(fault("    found: \"a marker that is not in it\".to_owned(),", true), beside);
    assert_eq!(fault("    #[error(\"a bit-field in several pieces\")]", false), beside);
    assert_eq!(fault("    Self::ReadOnly => \"its source file is read-only\",", true), beside);
    assert_eq!(fault("    Self::SplitUnit { .. } => \"split_unit_not_found\",", true), None);
}
