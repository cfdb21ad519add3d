//! What the probes of generated programs record, and what the kernel reads at them, is what the
//! unoptimised twin of each program prints: the same probes in the same order with the same values.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::Value as Json;
use simple_markers_tests::generator::{Form, Program, Rich, Tongue, Variant};
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::oracle::builds::{self, With};
use simple_markers_tests::oracle::twin;
use simple_markers_tests::tools::{self, Ended, ended, find, run};
use simple_markers_tests::watched::can_watch;
use simple_markers_tests::{fixture, matrix};

use crate::recorded::built;
use crate::trace::hits;

/// The argument of the programs: how often they do their work.
const ROUNDS: &str = "20";

/// The functions of a program.
const FUNCTIONS: usize = 12;

/// The kinds of programs, with the suffix of the source.
const KINDS: [(&str, &str); 5] = [("plain", "c"), ("plain", "rs"), ("rich", "c"), ("rich", "cc"), ("rich", "rs")];

/// A number.
#[derive(Clone, Copy, Debug)]
enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    /// What these bytes of the twin are in a conversion.
    fn of(bytes: &[u8], conversion: &str) -> Self {
        if conversion.ends_with('f') {
            return Self::Float(f64::from_le_bytes(bytes.try_into().expect("a double")));
        }
        let is_negative = conversion.ends_with('d') && bytes.last().is_some_and(|last| last & 0x80 != 0);
        let mut all = [if is_negative { 0xff } else { 0 }; 16];
        all[..bytes.len()].copy_from_slice(bytes);
        Self::Integer(i128::from_le_bytes(all))
    }

    /// Whether a text says the same. Floating-point numbers may differ by a part of `precision`.
    fn is(self, text: &str, precision: f64) -> bool {
        match self {
            Self::Integer(number) => text.parse() == Ok(number),
            Self::Float(number) => text.parse::<f64>().is_ok_and(|theirs| {
                (number - theirs).abs() <= number.abs() * precision
                    || number == theirs
                    || number.is_nan() && theirs.is_nan()
            }),
        }
    }
}

/// A pass of a probe.
type Pass<T> = (String, Vec<T>);

/// The passes that the twin prints.
fn printed(source: &str, image: &Path) -> Vec<Pass<Number>> {
    let pattern = Regex::new(r#"simple_mark\w*!?\(([\w:]+), "([^"]*)""#).expect("a pattern");
    let formats: HashMap<&str, Vec<&str>> = pattern
        .captures_iter(source)
        .map(|found| found.extract::<2>().1)
        .map(|[name, format]| (name, format.split(' ').collect()))
        .collect();
    let mut command = Command::new(image);
    command.arg(ROUNDS).stdin(Stdio::null());
    let passes = twin::run(command, twin::SMALL).expect("the twin runs").0;
    let pass = |pass: twin::Pass| {
        let name = pass.marker.0;
        let values = pass.values.iter().zip(&formats[&*name]);
        let values = values.map(|(truth, conversion)| Number::of(&truth.bytes, conversion)).collect();
        (name, values)
    };
    passes.into_iter().map(pass).collect()
}

/// The same program with probes in place of its kept markers.
fn with_probes(source: &str) -> String {
    source
        .replace("simple_mark_keep(", "simple_probe(")
        .replace("use simple_markers::simple_mark;", "use simple_markers::simple_probe;")
        .replace("simple_mark!(", "simple_probe!(")
        .replace(", keep ", ", ")
}

/// Compiles the program with probes and the recorder.
fn compile(source: &Path, with: With, level: &str, image: &Path) {
    let level = match with {
        With::Rustc => format!("-Copt-level={level}"),
        With::Gcc | With::Clang => format!("-O{level}"),
    };
    let mut command = match with {
        With::Rustc => {
            let program = built("simple-markers-test-probes", "demo", "demo", "probe-values");
            let folder = program.parent().expect("a folder");
            let mut command = matrix::rustc();
            command.args(["--edition=2024", "--cap-lints=allow", "-Cdebuginfo=2", "--crate-type=bin"]);
            let markers = folder.join("libsimple_markers_test_probes.rlib");
            command.arg(format!("--extern=simple_markers={}", markers.display()));
            command.arg(format!("-Ldependency={}", folder.join("deps").display())).arg(source);
            command
        }
        With::Gcc | With::Clang => {
            let library = fixture::build(&["-p", "simple-markers-c"]).join("debug/libsimple_marker.a");
            let compiler = if with == With::Gcc { Compiler::Gcc } else { Compiler::Clang };
            let is_cxx = source.extension().is_some_and(|extension| extension == "cc");
            let mut command = compiler.command(if is_cxx { Language::Cxx } else { Language::C });
            command.args(["-w", "-g", "-DSIMPLE_MARKER_RECORDER"]).arg(source).arg(library).arg("-lm");
            command
        }
    };
    fixture::succeeds_silently(command.arg(level).arg("-o").arg(image));
}

/// The passes that babeltrace2 reads in the recording that the program makes itself.
fn recorded(image: &Path, folder: &Path) -> Vec<Pass<String>> {
    let mut command = Command::new(image);
    command.arg(ROUNDS).env("SIMPLE_MARKERS_RECORD", "*").env("SIMPLE_MARKERS_OUTPUT", folder);
    run(&mut command);
    let text = run(Command::new("babeltrace2").args(["--clock-cycles"]).arg(folder));
    let pass = |line: &str| {
        let mut groups = line.split("{ ");
        let name = groups.next()?.split_once("] ")?.1.rsplit(' ').nth(1)?.trim_end_matches(':').to_owned();
        let fields = groups.nth(2).unwrap_or_default().trim_end_matches(" }");
        let values = fields.split(", ").filter_map(|field| Some(field.split_once(" = ")?.1.to_owned()));
        Some((name, values.collect()))
    };
    text.lines().map(|line| pass(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// The passes that `smark trace` shows.
fn traced(image: &Path, engine: &[&str]) -> Vec<Pass<String>> {
    let mut command = Command::new(fixture::smark());
    command.args(["trace", "--json", "--buffer", "64M"]).args(engine).arg("--").arg(image).arg(ROUNDS);
    let Ended { stdout: text, stderr, .. } = ended(&mut command);
    // The program prints a number.
    let lines: Vec<String> = text.lines().filter(|line| line.starts_with('{')).map(str::to_owned).collect();
    let (found, end) = hits(&lines);
    assert_eq!(end["lost"], 0, "{stderr}");
    let word = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pass = |hit: &Json| {
        let arguments = hit["args"].as_array().expect("arguments");
        (word(&hit["marker"]), arguments.iter().map(|argument| word(&argument["value"])).collect())
    };
    found.iter().map(pass).collect()
}

fn compare(what: &str, found: &[Pass<String>], printed: &[Pass<Number>], precision: f64) {
    for (index, (found, printed)) in found.iter().zip(printed).enumerate() {
        assert_eq!((&found.0, found.1.len()), (&printed.0, printed.1.len()), "{what}: pass {index}");
        let is_same = found.1.iter().zip(&printed.1).all(|(found, printed)| printed.is(found, precision));
        assert!(is_same, "{what}: pass {index}: {found:?}, and the twin has {printed:?}");
    }
    assert_eq!(found.len(), printed.len(), "{what}");
}

/// Compares a program at each of `levels`; returns how many values its twin prints.
fn examine(kind: &str, suffix: &str, with: With, levels: &[&str], folder: &Path) -> usize {
    let text = match (kind, suffix) {
        ("plain", "c") => Program::generate(5, FUNCTIONS).c(Form::Marked(Variant::Keep)).text,
        ("plain", _) => Program::generate(5, FUNCTIONS).rust(Form::Marked(Variant::Keep)).text,
        (_, "c") => Rich::generate(5, FUNCTIONS, false).text(Tongue::C, Variant::Keep),
        (_, "cc") => Rich::generate(5, FUNCTIONS, false).text(Tongue::Cxx, Variant::Keep),
        _ => Rich::generate(5, FUNCTIONS, false).text(Tongue::Rust, Variant::Keep),
    };
    let write = |name: &str, text: &str| -> PathBuf {
        let path = folder.join(format!("{kind}-{name}.{suffix}"));
        std::fs::write(&path, text).expect("the source is written");
        path
    };
    let twin = folder.join("twin");
    builds::twin(&[write("markers", &text)], with, &twin).expect("the twin is built");
    let printed = printed(&text, &twin);
    let source = write("probes", &with_probes(&text));
    for level in levels {
        let what = format!("{} -O{level} {kind}.{suffix}", with.name());
        let image = folder.join(format!("{}-{kind}-{suffix}-{level}", with.name()));
        compile(&source, with, level, &image);
        if find("babeltrace2").is_some() {
            // babeltrace2 prints six digits.
            compare(&what, &recorded(&image, &image.with_extension("recording")), &printed, 1e-5);
        }
        compare(&what, &traced(&image, &[]), &printed, 1e-12);
        if can_watch() {
            compare(&what, &traced(&image, &["--engine", "bpf"]), &printed, 1e-12);
        }
    }
    printed.iter().map(|pass| pass.1.len()).sum()
}

#[test]
fn probes_have_the_values_of_the_twins_in_their_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let all: Vec<_> = KINDS
        .iter()
        .flat_map(|kind| With::ALL.map(|with| (kind, with)))
        .filter(|((_, suffix), with)| with.compiles(Path::new(&format!("program.{suffix}"))))
        .collect();
    // One in C++ and one in Rust.
    for ((kind, suffix), with) in tools::slice("probe twins", &all, &[5, 7]) {
        if !builds::is_installed(with) {
            continue;
        }
        let levels = match with {
            With::Rustc => &["3", "1", "2", "s"][..],
            With::Gcc | With::Clang => &["2", "1", "3", "s"],
        };
        let levels = tools::slice(&format!("{kind}.{suffix} {}", with.name()), levels, &[0]);
        let values = examine(kind, suffix, with, &levels, folder.path());
        note!("{kind}.{suffix} {}: {values} values", with.name());
        assert!(values > 100, "{kind}.{suffix} {}: {values} values", with.name());
    }
}
