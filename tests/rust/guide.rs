//! Follows the guide (`docs/guide.md`) step by step in its own project: the commands must print
//! what it shows.
//!
//! `WRITE_DOCS=1` writes the output into the guide.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools;

const GUIDE: &str = "docs/guide.md";

#[test]
fn the_guide_can_be_followed() {
    if !tools::is_recorded_compiler() || tools::find("gdb").is_none() {
        return;
    }
    let path = fixture::workspace().join(GUIDE);
    let guide = fs::read_to_string(&path).expect("the guide");
    let manifest =
        "[package]\nname = \"server\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n";
    let markers = format!("simple-markers = {}\n\n", fixture::markers(""));
    let project = Fixture::empty("guide").file("Cargo.toml", &format!("{manifest}{markers}"));

    // What `cargo new` makes.
    let project = project.file(".gitignore", "/target\n");
    tools::run(Command::new("git").args(["init", "--quiet", "."]).current_dir(project.folder()));

    let mut followed = String::new();
    let mut rest = guide.as_str();
    while let Some((before, block)) = rest.split_once("\n```") {
        let (language, block) = block.split_once('\n').expect("a line");
        let (block, after) = block.split_once("```").expect("an end");
        rest = after;
        followed += &format!("{before}\n```{language}\n");
        match language {
            "toml" => append(project.folder(), block),
            "rust" => edit(project.folder(), block),
            "console" => {
                followed += &follow(&project, block);
                followed += "```";
                continue;
            }
            _ => {}
        }
        followed += &format!("{block}```");
    }
    followed += rest;
    if env::var_os("WRITE_DOCS").is_some() {
        fs::write(&path, &followed).expect("the guide is written");
    }
    assert_eq!(without_digits(&followed), without_digits(&guide));
}

fn append(project: &Path, text: &str) {
    let manifest = project.join("Cargo.toml");
    let all = fs::read_to_string(&manifest).expect("the manifest") + text;
    fs::write(manifest, all).expect("the manifest");
}

/// Applies a code block. A whole program replaces the program. In a block of a few lines, each
/// marker replaces the one of the same name, or goes below the line before it.
fn edit(project: &Path, block: &str) {
    let path = project.join("src/main.rs");
    if block.contains("fn main") {
        fs::create_dir_all(project.join("src")).expect("a folder");
        return fs::write(path, block).expect("the program");
    }
    let source = fs::read_to_string(&path).expect("the program");
    let mut lines: Vec<&str> = source.lines().collect();
    let mut above = None;
    for line in block.lines() {
        let Some(name) = marker(line) else {
            above = Some(line);
            continue;
        };
        let at = lines.iter().position(|line| marker(line) == Some(name)).expect("the marker");
        lines.remove(at);
        let below = |above: &str| lines.iter().position(|line| *line == above).expect("the line above") + 1;
        lines.insert(above.map_or(at, below), line);
    }
    fs::write(path, lines.join("\n") + "\n").expect("the program");
}

/// The name of the marker on a line.
fn marker(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("simple_mark!(")?.split(',').next()
}

/// Runs the commands of a block, and returns each with its output.
fn follow(project: &Fixture, block: &str) -> String {
    let programs = fixture::smark().parent().expect("a folder");
    let path = env::join_paths(
        [programs.to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    let mut printed = String::new();
    for line in block.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(project.folder());
        for (name, value) in project.cargo("build").get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env_remove("CARGO_TARGET_DIR")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "simple-markers")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "simple-markers@example.org")))
            .env("CARGO_NET_OFFLINE", "true")
            .env("PATH", path.as_ref().expect("a PATH"));
        let output = tools::output(&mut command);
        // gdb warns about missing pretty-printing scripts.
        if line.starts_with("cargo") {
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        }
        printed += &format!("$ {line}\n{}", String::from_utf8(output.stdout).expect("UTF-8"));
    }
    printed
}

/// The text without the digits of addresses and of the compiler's hash, which differ between
/// versions.
fn without_digits(text: &str) -> String {
    let digits = regex::Regex::new("0x[0-9a-f]+|/rustc/[0-9a-f]+").expect("a regular expression");
    digits.replace_all(text, "#").into_owned()
}
