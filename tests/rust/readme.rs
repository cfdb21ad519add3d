//! The README and `docs/` show the real output of commands, and name only files that exist.
//!
//! `WRITE_DOCS=1` writes the output into the pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use simple_markers_tests::fixture::{self, cargo, workspace};
use simple_markers_tests::tools;

/// The pages with commands for the programs of `cargo demo`.
const PAGES: [&str; 2] = ["README.md", "docs/list.md"];

/// The assumed terminal width of a README reader, in columns.
const COLUMNS: usize = 100;

/// Compares the output without the digits of addresses and build ids, which change with the
/// compiler and the folder.
#[test]
fn the_pages_show_what_the_commands_print() {
    if !tools::is_recorded_compiler() {
        return;
    }
    let target = workspace().join("target");
    tools::run(cargo().arg("demo").current_dir(workspace()).env("CARGO_TARGET_DIR", target).stderr(Stdio::inherit()));
    let mut different = Vec::new();
    for page in PAGES {
        let path = workspace().join(page);
        let shown = fs::read_to_string(&path).expect("the page is there");
        let mut printed = String::new();
        let mut rest = shown.as_str();
        while let Some((before, block)) = rest.split_once("```console\n") {
            let (block, after) = block.split_once("```").expect("the block has an end");
            let output = follow(block);
            printed += &format!("{before}```console\n{output}```");
            rest = after;
        }
        assert!(!printed.is_empty(), "{page} shows commands");
        printed += rest;
        if env::var_os("WRITE_DOCS").is_some() {
            fs::write(&path, &printed).expect("the page is written");
        }
        if without_digits(&printed) != without_digits(&shown) {
            different.push(format!("{page}:\n{printed}"));
        }
    }
    assert!(different.is_empty(), "these commands print something else: {}", different.join("\n"));
}

/// Runs the commands of a block, and returns each with its output.
fn follow(block: &str) -> String {
    let programs = fixture::smark().parent().expect("a folder");
    let path = env::join_paths(
        [programs.to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    let mut printed = String::new();
    for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let output = tools::output(
            Command::new("sh").args(["-c", line]).current_dir(workspace()).env("PATH", path.as_ref().expect("a PATH")),
        );
        printed += &format!("$ {line}\n{}", String::from_utf8(output.stdout).expect("UTF-8"));
    }
    printed.replace(&format!("{}/", workspace().display()), "")
}

/// The text with every digit of addresses and build ids replaced by `#`.
fn without_digits(text: &str) -> String {
    let digits = regex::Regex::new("0x[0-9a-f]+|[0-9a-f]{40}").expect("a regular expression");
    digits.replace_all(text, |found: &regex::Captures<'_>| "#".repeat(found[0].len())).into_owned()
}

#[test]
fn the_readme_fits_a_terminal() {
    let readme = fs::read_to_string(workspace().join("README.md")).expect("the README is there");
    let mut inside = false;
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = !inside;
        }
        assert!(!inside || line.chars().count() <= COLUMNS, "{line}");
    }
}

/// The commands in `docs/list.md` give the documented answers.
#[test]
fn the_exit_status_is_the_one_of_the_page() {
    let smark = fixture::smark();
    let status = |arguments: &[&str]| {
        let output = tools::output(Command::new(smark).arg("list").args(arguments));
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let itself = smark.to_str().expect("a path in UTF-8");
    assert_eq!(status(&[itself]), (Some(0), format!("smark: {itself}: no markers\n")));
    assert_eq!(status(&["nothing:*", itself]).0, Some(1));
    let (code, message) = status(&["/no/such/file"]);
    assert_eq!((code, message.as_str()), (Some(2), "smark: /no/such/file: no such file or directory\n"));
    let manifest = workspace().join("Cargo.toml");
    assert_eq!(status(&[manifest.to_str().expect("a path in UTF-8")]).0, Some(2));
}

/// Every relative link of a page leads to a file, and its anchor to a heading.
#[test]
fn links_lead_to_files() {
    let mut dangling = Vec::new();
    for page in documents() {
        let text = fs::read_to_string(&page).expect("a page");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { page.clone() } else { page.with_file_name("").join(file) };
            if !path.exists() {
                dangling.push(format!("{}: {target}", page.display()));
            } else if !anchor.is_empty() {
                let text = fs::read_to_string(&path).expect("a page");
                if !headings(&text).into_iter().map(anchor_of).any(|heading| heading == anchor) {
                    dangling.push(format!("{}: {target}", page.display()));
                }
            }
        }
    }
    assert!(dangling.is_empty(), "{dangling:#?}");
}

/// Each page of `docs/` is in the table of `docs/README.md`, and each diagram is on a page.
#[test]
fn pages_and_diagrams_are_linked() {
    let docs = workspace().join("docs");
    let table = fs::read_to_string(docs.join("README.md")).expect("the page");
    let pages: Vec<String> = documents().iter().map(|page| fs::read_to_string(page).expect("a page")).collect();
    let mut alone = Vec::new();
    for file in files() {
        let Ok(path) = file.strip_prefix(&docs) else { continue };
        let (path, extension) = (path.display().to_string(), path.extension().and_then(|it| it.to_str()));
        let is_linked = match extension {
            Some("md") => path == "README.md" || table.contains(&format!("]({path})")),
            Some("svg") => pages.iter().any(|page| page.contains(&format!("{path})"))),
            // The source of a diagram.
            Some("dot") => file.with_extension("svg").exists(),
            _ => true,
        };
        if !is_linked {
            alone.push(path);
        }
    }
    assert!(alone.is_empty(), "{alone:?}");
}

/// The headings of a page, without the comments in its code.
fn headings(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && line.starts_with('#') {
            found.push(line);
        }
    }
    found
}

/// The anchor that Markdown generates for a heading.
fn anchor_of(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    kept.map(|character| if character == ' ' { '-' } else { character }).collect()
}

/// Every source file that a page or a comment names in backticks exists, and so does every page
/// that a comment names.
#[test]
fn named_files_exist() {
    let files = files();
    let mut dangling = BTreeSet::new();
    for file in &files {
        let named: Vec<String> = match file.extension().and_then(|extension| extension.to_str()) {
            // These name files of other versions and of examples.
            _ if file.ends_with("CHANGELOG.md") || file.ends_with("docs/verdicts.md") => continue,
            Some("md") => {
                let text = fs::read_to_string(file).expect("a page");
                text.split('`').skip(1).step_by(2).filter(|word| is_source(word)).map(str::to_owned).collect()
            }
            // Without an extension: scripts.
            None | Some("rs" | "h" | "c" | "toml" | "txt") => {
                let text = fs::read_to_string(file).unwrap_or_default();
                text.split(|character: char| !(character.is_alphanumeric() || "-_./".contains(character)))
                    .map(|word| word.trim_start_matches("../").trim_end_matches('.'))
                    .filter(|word| word.starts_with("docs/") && word.ends_with(".md"))
                    .map(str::to_owned)
                    .collect()
            }
            _ => continue,
        };
        for name in named {
            let is_there = files.iter().any(|path| path.ends_with(&name)) || workspace().join(&name).exists();
            if !is_there {
                dangling.insert(format!("{}: {name}", file.display()));
            }
        }
    }
    assert!(dangling.is_empty(), "{dangling:#?}");
}

/// Every section that a comment cites exists, as in `docs/design.md`, "Survival".
#[test]
fn cited_sections_exist() {
    let mut dangling = Vec::new();
    let mut cited = 0;
    let citation = regex::Regex::new(r#"`(docs/[a-z/-]+\.md)`, "([^"]+)""#).expect("a regular expression");
    let wrapped = regex::Regex::new(r"\n\s*//[/!]?\s*").expect("a regular expression");
    for file in files().iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
        let text = fs::read_to_string(file).expect("a source file");
        for found in citation.captures_iter(&text) {
            let page = fs::read_to_string(workspace().join(&found[1])).unwrap_or_default();
            let section = wrapped.replace_all(&found[2], " ");
            if !headings(&page).into_iter().any(|line| line.ends_with(&*section)) {
                dangling.push(format!("{}: {}", file.display(), &found[0]));
            }
            cited += 1;
        }
    }
    assert!(dangling.is_empty() && cited > 5, "{dangling:#?}");
}

/// Whether a word of a page names a source file or a folder of this repository.
fn is_source(word: &str) -> bool {
    let is_path = word.chars().all(|character| character.is_ascii_alphanumeric() || "-_./".contains(character));
    let is_folder = word.ends_with('/')
        && ["resolver/", "smark/", "markers/", "tests/", "benches/", "fuzz/", "linker/", "examples/", "docs/"]
            .iter()
            .any(|root| word.starts_with(root));
    is_path && (is_folder || (word.ends_with(".rs") && !word.ends_with("src/main.rs")))
}

/// The README, the pages of `docs/`, and the pages next to the code.
fn documents() -> Vec<PathBuf> {
    files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The files of the repository, without build output.
fn files() -> Vec<PathBuf> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') || name == "target" || name == "seeds" || name == "corpus" {
                continue;
            }
            if entry.file_type().expect("a type").is_dir() {
                walk(&entry.path(), files);
            } else {
                files.push(entry.path());
            }
        }
    }
    let mut found = Vec::new();
    walk(workspace(), &mut found);
    found
}
