//! Structures that the compiler takes apart: what `%p{}` shows of them is what the program has, and the members
//! that are gone say so.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{Choices, output};
use simple_markers_tests::watched::can_watch;
use simple_markers_tests::whole_values::{CompiledLanguage, compiled};

use crate::trace::hits;

const FUNCTIONS: usize = 120;

/// The types of members, and how `printf` writes them as JSON.
const NUMBERS: [(&str, &str); 7] = [
    ("short", "%hd"),
    ("unsigned short", "%hu"),
    ("int", "%d"),
    ("unsigned", "%u"),
    ("long", "%ld"),
    ("double", "%.17g"),
    ("float", "%.9g"),
];

/// A program whose functions each have a structure. It is printed as JSON, passed by a marker, and of its members
/// only some are used afterwards.
fn source(seed: u64) -> String {
    let mut choices = Choices::new(seed);
    let mut out = String::from(
        "#include <stdio.h>\n#include \"simple_marker.h\"\n\
         static unsigned long state = 88172645463325252ul;\n\
         __attribute__((noinline)) long next(void) {\n\
         state ^= state << 13; state ^= state >> 7; state ^= state << 17; return (long)(state >> 40); }\n\
         volatile double sink;\n",
    );
    let mut calls = String::new();
    for function in 0..FUNCTIONS {
        let mut members = Vec::new();
        for member in 0..2usize + choices.below(5) {
            let (of, format) = *choices.one(&NUMBERS);
            let kind = if of == "float" { "single" } else { "number" };
            members.push((format!("{kind}{member}"), of, format));
        }
        let nested = choices.below(members.len() + 1);
        let declared = |members: &[(String, &str, &str)]| {
            members.iter().map(|(name, of, _)| format!("{of} {name}; ")).collect::<String>()
        };
        let (outer, inner) = members.split_at(nested);
        let is_nested = !outer.is_empty() && !inner.is_empty();
        let inner_text = if is_nested { format!("struct {{ {}}} in; ", declared(inner)) } else { declared(inner) };
        let _ = writeln!(out, "struct s{function} {{ {}{inner_text}}};", declared(outer));
        let path = |index: usize, name: &str| match is_nested && index >= nested {
            true => format!("v.in.{name}"),
            false => format!("v.{name}"),
        };
        let _ = writeln!(out, "__attribute__((noinline)) void f{function}(void) {{\nstruct s{function} v;");
        for (index, (name, of, _)) in members.iter().enumerate() {
            let value = if matches!(*of, "double" | "float") { "next() / 8.0" } else { "next()" };
            let _ = writeln!(out, "{} = ({of})({value});", path(index, name));
        }
        let json: Vec<String> = members.iter().map(|(name, _, format)| format!("\\\"{name}\\\": {format}")).collect();
        let values: String =
            members.iter().enumerate().map(|(at, (name, ..))| format!(", {}", path(at, name))).collect();
        let _ = writeln!(out, "printf(\"= {function} {{{}}}\\n\"{values});", json.join(", "));
        let _ = writeln!(out, "simple_mark(partial:f{function}, \"%p{{}}\", v);");
        for (index, (name, ..)) in members.iter().enumerate() {
            if choices.chance(50) {
                let _ = writeln!(out, "next(); sink = (double){};", path(index, name));
            }
        }
        let _ = writeln!(out, "}}");
        let _ = writeln!(calls, "f{function}();");
    }
    let _ = writeln!(out, "int main(void) {{\nfor (int i = 0; i < 3; i++) {{\n{calls}}}\nreturn 0;\n}}");
    out
}

/// The members of a value, also those of its inner structure.
fn members(value: &Json) -> Vec<(&String, &Json)> {
    let object = value.as_object().expect("a structure");
    let inner = |(name, value)| if name == "in" { members(value) } else { vec![(name, value)] };
    object.iter().flat_map(inner).collect()
}

fn is_gone(value: &Json) -> bool {
    value["?"] == "optimized_out"
}

#[test(cases = ["gcc 1", "gcc 2", "gcc 3", "clang 1", "clang 2", "clang 3"])]
fn members_that_are_left_have_the_values_of_the_program(build: &str) {
    let (compiler, level) = build.split_once(' ').expect("two words");
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(CompiledLanguage::C, compiler, level, &source(1), folder.path());
    let Some(program) = program else { return };
    let file = folder.path().join("hits");
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--json", "-o"]).arg(&file).arg("--").arg(&program);
    let output = output(&mut smark);
    let lines: Vec<String> = std::fs::read_to_string(&file).expect("hits").lines().map(str::to_owned).collect();
    let (hits, end) = hits(&lines);
    assert_eq!((&end["exit"], &end["lost"]), (&0.into(), &0.into()));
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let printed: Vec<(String, Json)> = printed
        .lines()
        .filter_map(|line| line.strip_prefix("= ")?.split_once(' '))
        .map(|(function, json)| (format!("partial:f{function}"), serde_json::from_str(json).expect("JSON")))
        .collect();
    assert_eq!((printed.len(), hits.len()), (3 * FUNCTIONS, 3 * FUNCTIONS));
    let (mut shown, mut gone, mut partial) = (0, 0, 0);
    for (hit, (marker, expected)) in hits.iter().zip(&printed) {
        assert_eq!(&hit["marker"], marker);
        let argument = &hit["args"][0];
        // A value that is doubtful or lost as a whole is not shown.
        let Some(value) = argument.get("value").filter(|value| value.is_object() && argument["why"].is_null()) else {
            continue;
        };
        let before = gone;
        for (name, value) in members(value) {
            if is_gone(value) {
                gone += 1;
                continue;
            }
            shown += 1;
            // A number is the shortest text that reads back as the same one.
            let number =
                |of: &Json| of.as_f64().map(|of| if name.starts_with("single") { f64::from(of as f32) } else { of });
            assert_eq!(number(value), number(&expected[name]), "{build}: {marker}.{name} of {argument}");
        }
        partial += usize::from(gone > before);
    }
    note!("{build}: {} values, {partial} of them partial: {shown} members shown, {gone} gone", hits.len());
    assert!(partial > 50 && shown > 200, "{partial} partial values, {shown} members");
}
