//! What is advised for a text that no register holds compiles, and can be read.

use std::fs;

use regex::Regex;
use simple_markers_tests::fixture::workspace;
use simple_markers_tests::tools::skipped;

use super::probes::RUNTIME;
use super::project::package;

/// Each kind of text that is kept by its pointer and its length: its type, and the argument of the marker.
const TEXTS: [(&str, &str); 8] = [
    ("&str", "text"),
    ("String", "text"),
    ("&String", "text"),
    ("&mut String", "text"),
    ("&[u8]", "text"),
    ("Vec<u8>", "text"),
    ("(u8, &str)", "text.1"),
    ("&&str", "*text"),
];

/// A program with a marker for each text, in an async function: all are lost.
fn program() -> String {
    let mut program = format!("#![allow(unused)]\n{RUNTIME}\nuse simple_markers::simple_mark;\n");
    let mut main = String::new();
    for (index, (of, argument)) in TEXTS.iter().enumerate() {
        program.push_str(&format!(
            "async fn f{index}(text: {of}) -> usize {{\n    Later(false).await;\n    simple_mark!(advice:m{index}, \"%s\", \
             {argument});\n    black_box(({argument}).len())\n}}\n"
        ));
        let value = match *of {
            "String" => "text()",
            "&String" => "&text()",
            "&mut String" => "&mut text()",
            "&[u8]" => "text().as_bytes()",
            "Vec<u8>" => "text().into_bytes()",
            "(u8, &str)" => "(1, &text())",
            "&&str" => "&&*text()",
            _ => "&text()",
        };
        main.push_str(&format!("    println!(\"{{}}\", run(f{index}({value})));\n"));
    }
    format!("{program}fn main() {{\n{main}}}\n")
}

#[test]
fn the_advice_for_each_kind_of_text_compiles() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("what is lost was seen on x86-64");
    }
    let project = package("fix-advice", &program());
    let checked = project.cargo_smark(&["check", "-q", "--format", "json", "--deny", "arguments"]);
    let document: serde_json::Value =
        serde_json::from_str(&checked.stdout).unwrap_or_else(|error| panic!("{error}: {}", checked.stderr));
    let advice =
        Regex::new("`(keep start = [^`]*)` for `%p` and `(keep length = [^`]*)` for `%zu`").expect("a pattern");
    let (mut source, mut taken) = (project.read("src/main.rs"), 0);
    for finding in document["findings"].as_array().expect("findings") {
        let (marker, argument) =
            (finding["marker"].as_str().expect("a name"), finding["argument"].as_str().expect("one"));
        let help = finding["help"].as_str().expect("help");
        // A parameter that is moved into the state has two variables of its name, and no known type.
        let Some(found) = advice.captures(help) else {
            assert!(help.starts_with("write `simple_probe!` in place of"), "{marker}: {help}");
            continue;
        };
        let written = format!("simple_mark!({marker}, \"%s\", {argument});");
        assert!(source.contains(&written), "{written}");
        source =
            source.replace(&written, &format!("simple_mark!({marker}, \"%p %zu\", {}, {});", &found[1], &found[2]));
        taken += 1;
    }
    assert!(taken >= TEXTS.len() - 2, "{document:#}");
    project.file("src/main.rs", source);
    let again = project.cargo_smark(&["check", "-q", "--format", "json", "--deny", "arguments"]);
    let left: serde_json::Value =
        serde_json::from_str(&again.stdout).unwrap_or_else(|error| panic!("{error}: {}", again.stderr));
    // What was advised is read.
    let count = |of: &serde_json::Value| of["findings"].as_array().expect("findings").len();
    assert_eq!(count(&left), count(&document) - taken, "{left:#}");
}

/// The notes of the compile error for `keep` of a text.
#[test(desk = false)]
fn the_advice_of_the_macro_for_each_kind_of_text_compiles() {
    let errors = fs::read_to_string(workspace().join("tests/errors/ui/keep.stderr")).expect("the errors");
    let advice = Regex::new("= note: of an? (.*?) keep .*?: `(\"%.*)`").expect("a pattern");
    let quoted = Regex::new("`([^`]*)`").expect("a pattern");
    let mut kinds = String::new();
    let mut count = 0;
    let mut known = Vec::new();
    for found in advice.captures_iter(&errors) {
        if known.contains(&found[0].to_owned()) {
            continue;
        }
        known.push(found[0].to_owned());
        for of in quoted.captures_iter(&found[1]) {
            let of = match &of[1] {
                unsized_type @ ("str" | "[u8]" | "CStr") => format!("&{unsized_type}"),
                sized => sized.to_owned(),
            };
            kinds.push_str(&format!(
                "fn f{count}(s: {of}) {{\n    simple_markers::simple_mark!(advice:m{count}, {});\n}}\n",
                &found[2]
            ));
            count += 1;
        }
    }
    assert_eq!((known.len(), count), (2, 6), "{known:?}");
    let source = format!("#![allow(unused)]\nuse std::ffi::{{CStr, CString}};\n{kinds}fn main() {{}}\n");
    let project = package("fix-advice-of-macro", &source);
    let built = project.cargo_smark(&["list"]);
    assert_eq!(built.status, 0, "{}{}{source}", built.stderr, built.stdout);
}
