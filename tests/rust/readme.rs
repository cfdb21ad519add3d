//! What the README shows is what the commands print.

use std::process::{Command, Stdio};

use simple_markers_tests::fixture::{self, cargo, workspace};
use simple_markers_tests::tools;

/// `cargo demo`, as the README has it. Addresses are compared as digits: they change with every compiler.
#[test]
fn the_demo_prints_what_the_readme_shows() {
    if !tools::is_recorded_compiler() {
        return;
    }
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("the README is there");
    let (_, shown) = readme.split_once("```console\n$ cargo demo\n").expect("the README shows cargo demo");
    let (shown, _) = shown.split_once("```").expect("the block has an end");
    let target = workspace().join("target");
    let printed = tools::run(
        cargo().arg("demo").current_dir(workspace()).env("CARGO_TARGET_DIR", target).stderr(Stdio::inherit()),
    );
    assert_eq!(without_addresses(&printed), without_addresses(shown));
}

/// The text with the digits of hexadecimal numbers replaced, each by `#`.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        result.push_str("0x");
        result.push_str(&"#".repeat(digits));
        result.push_str(&part[digits..]);
    }
    result
}

/// The commands that the README names answer as it says.
#[test]
fn the_exit_status_is_the_one_of_the_readme() {
    let smark = fixture::smark();
    let status = |arguments: &[&str]| {
        let output = Command::new(smark).arg("list").args(arguments).output().expect("smark starts");
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
