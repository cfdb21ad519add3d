//! `smark plan`: a stripped program is watched with a plan as the program with its debug information
//! is without one, and no other program is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::image::build_id;
use simple_markers_tests::tools::{find, output, run};
use simple_markers_tests::watched::{can_watch, compile};
use simple_markers_tracer::Plan;

use crate::trace::LIBRARY;

const BUILD_ID: &str = "-Wl,--build-id";

/// A program with debug information, its plan, and the program stripped, in another folder.
struct Programs {
    folder: tempfile::TempDir,
    whole: PathBuf,
    plan: PathBuf,
    stripped: PathBuf,
}

impl Programs {
    fn new(name: &str, source: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let whole = compile(folder.path(), name, source, &[flags, &[BUILD_ID]].concat());
        let plan = folder.path().join("plan.json");
        let output = smark(&["plan", "-o", text(&plan), text(&whole)]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let stripped = strip(&whole, &folder.path().join("stripped"));
        Self { folder, whole, plan, stripped }
    }

    /// A program with markers of every kind of value.
    fn values() -> Self {
        let source = fs::read_to_string(fixture::workspace().join("tests/record/values.c")).expect("the source");
        Self::new("values", &source, &[])
    }

    /// What a command prints about the program with its debug information, and about the stripped one
    /// with the plan.
    fn both(&self, command: &str, options: &[&str]) -> [String; 2] {
        let whole = [&[command], options, &["--", text(&self.whole), "30"]].concat();
        let planned = [&[command, "--plan", text(&self.plan)], options, &["--", text(&self.stripped), "30"]].concat();
        [whole, planned].map(|arguments| {
            let output = smark(&arguments);
            assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
            String::from_utf8(output.stdout).expect("UTF-8")
        })
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn smark(arguments: &[&str]) -> Output {
    output(Command::new(fixture::smark()).args(arguments).stdin(Stdio::null()))
}

/// Puts a stripped copy of a file into a folder.
fn strip(of: &Path, folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).expect("the folder is created");
    let stripped = folder.join(of.file_name().expect("a name"));
    run(Command::new("strip").arg("-o").arg(&stripped).arg(of));
    stripped
}

/// The hits without what differs from run to run.
fn hits(lines: &str) -> Vec<String> {
    let hit = |line: &str| {
        let json: Json = serde_json::from_str(line).expect("JSON");
        let what = json.get("marker").is_some().then(|| ["marker", "module", "site", "args"].map(|name| &json[name]));
        what.map(|what| format!("{what:?}"))
    };
    lines.lines().filter_map(hit).collect()
}

#[test]
fn a_stripped_program_is_traced_as_the_whole_one() {
    if !can_watch() {
        return;
    }
    let programs = Programs::values();
    let [whole, planned] = programs.both("trace", &["--json"]).map(|lines| hits(&lines));
    assert_eq!(whole.len(), 180);
    assert_eq!(whole, planned);
    // The time, the CPU and the number of the process differ.
    let texts = programs.both("trace", &[]).map(|lines| {
        lines.lines().filter_map(|line| Some(line.split_once("values:")?.1.to_owned())).collect::<Vec<_>>()
    });
    assert_eq!(texts[0].len(), 180);
    assert_eq!(texts[0], texts[1]);
    // Without the plan nothing is known of it.
    let output = smark(&["trace", "--", text(&programs.stripped), "1"]);
    assert_eq!(output.stdout, b"");
}

#[test]
fn hits_are_chosen_and_counted_with_a_plan() {
    if !can_watch() {
        return;
    }
    let programs = Programs::values();
    let filter = "a->u32 > 1000 && a->i8 < 0 || a->text == \"plain\"";
    for (command, options, least) in [
        ("trace", &["--json", "--where", "a->i32 < 0 && a->u8 != 3", "values:integers"][..], 5),
        ("trace", &["--json", "--where", "a->text == \"plain\" || a->other == \"\"", "values:texts"], 5),
        ("trace", &["--json", "--name", "values:nothing", "--name", "values:copied"], 90),
        ("trace", &["--json", "-f", "copies*"], 60),
    ] {
        let [whole, planned] = programs.both(command, options).map(|lines| hits(&lines));
        assert!(whole.len() >= least && whole.len() < 180, "{options:?}: {}", whole.len());
        assert_eq!(whole, planned, "{options:?}");
    }
    for options in [
        &["--json"][..],
        &["--json", "--by", "a->text", "values:texts"],
        &["--json", "--hist", "a->i64", "--where", "a->u8 < 200", "values:integers"],
    ] {
        let [whole, planned] = programs.both("count", options);
        assert!(whole.lines().count() > 1, "{whole}");
        assert_eq!(whole, planned, "{options:?}");
    }
    let times = programs.both("count", &["--json", "--time", "values:integers..values:texts"]).map(|lines| {
        let time = lines.lines().find_map(|line| {
            let json: Json = serde_json::from_str(line).expect("JSON");
            json["time"]["count"].as_u64()
        });
        time.expect("a time")
    });
    assert_eq!(times, [30, 30]);
    // A mistake is found as without a plan.
    let plan = text(&programs.plan);
    let output = smark(&["trace", "--plan", plan, "--where", filter, "--", text(&programs.stripped)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no selected marker has all of the arguments"), "{}", stderr(&output));
    let output = smark(&["trace", "--plan", plan, "values:integer", "--", text(&programs.stripped)]);
    assert_eq!(output.status.code(), Some(1));
    let expected =
        "smark: no marker matches `values:integer` (and there is no file of that name); closest: values:integers";
    assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
}

#[test]
fn a_recording_with_a_plan_has_the_same_hits() {
    if !can_watch() {
        return;
    }
    let programs = Programs::values();
    let recorded = |name: &str, options: &[&str], program: &Path| {
        let folder = programs.folder.path().join(name);
        let recording = text(&folder);
        let output = smark(&[&["record", "-o", recording], options, &["--", text(program), "30"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        hits(&String::from_utf8(smark(&["report", "--json", recording]).stdout).expect("UTF-8"))
    };
    let whole = recorded("whole", &[], &programs.whole);
    assert_eq!(whole.len(), 180);
    assert_eq!(whole, recorded("planned", &["--plan", text(&programs.plan)], &programs.stripped));
}

#[test]
fn a_program_with_another_build_id_is_refused() {
    if !can_watch() {
        return;
    }
    let programs = Programs::values();
    let source = fs::read_to_string(fixture::workspace().join("tests/record/values.c")).expect("the source");
    let folder = programs.folder.path().join("other");
    fs::create_dir(&folder).expect("the folder is created");
    let other = compile(&folder, "values", &source.replace("no arguments", "nothing"), &[BUILD_ID]);
    let (plan, ours, theirs) = (text(&programs.plan), build_id(&programs.whole), build_id(&other));
    assert_ne!(ours, theirs);
    let expected = format!(
        "smark: {}: its build id is {theirs}, but {plan} is for values with the build id {ours}\n",
        text(&fs::canonicalize(&other).expect("a path"))
    );
    for command in ["trace", "count"] {
        let output = smark(&[command, "--plan", plan, "--", "sh", "-c", "exit 3"]);
        assert_eq!(output.status.code(), Some(3), "another name is no reason to refuse it");
        let output = smark(&[command, "--plan", plan, "--", text(&other), "1"]);
        assert_eq!((output.status.code(), stderr(&output)), (Some(2), expected.clone()));
        // The other file is watched, as without a plan if a file cannot be read.
        let output = smark(&[command, "--plan", plan, text(&other), "--", text(&programs.stripped), "1"]);
        assert!(stderr(&output).starts_with(&expected) && !output.stdout.is_empty(), "{}", stderr(&output));
        let output = smark(&[command, "--plan", plan, text(&other)]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stderr(&output), format!("{expected}smark: there is no site to watch\n"));
    }
    let recording = programs.folder.path().join("recording");
    let output = smark(&["record", "--plan", plan, "-o", text(&recording), "--", text(&other), "1"]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(2), expected.clone()));
    assert!(!recording.exists());

    // A running program.
    let mut child = Process::start(Command::new(&other).args(["100000", "1000"]));
    let pid = child.id().to_string();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let output = smark(&["trace", "--plan", plan, "-p", &pid]);
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), format!("{expected}smark: there is no site to watch\n"));
}

/// Opens the libraries that are its arguments, one after the other, and calls each 20 times.
const OPENS: &str = r#"
#include <dlfcn.h>
#include <unistd.h>
#include "simple_marker.h"

int main(int count, char **arguments) {
    for (int library = 1; library < count; library++) {
        __asm__ volatile("nop");
        simple_mark_keep(opens:library, "%d", library);
        __asm__ volatile("nop");
        void *opened = dlopen(arguments[library], RTLD_NOW);
        void (*call)(int) = opened ? (void (*)(int))dlsym(opened, "call") : 0;
        for (int i = 0; call && i < 20; i++) {
            call(i);
            usleep(30000);
        }
    }
    return 0;
}
"#;

#[test]
fn libraries_that_are_opened_late_are_found_by_their_build_ids() {
    if !can_watch() {
        return;
    }
    let programs = Programs::new("opens", OPENS, &[]);
    let folder = programs.folder.path();
    let shared = &["-shared", "-fPIC", BUILD_ID];
    let library = compile(folder, "library.so", LIBRARY, shared);
    let stripped = strip(&library, &folder.join("stripped"));
    let other = folder.join("other");
    fs::create_dir(&other).expect("the folder is created");
    let other = compile(&other, "library.so", &LIBRARY.replace("%d", "%i"), shared);
    let plan = folder.join("both.json");
    let output = smark(&["plan", "-o", text(&plan), text(&programs.whole), text(&library)]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let trace = |libraries: &[&Path]| {
        let mut all = vec!["trace", "-q", "--json", "--plan", text(&plan), "--", text(&programs.stripped)];
        all.extend(libraries.iter().map(|library| text(library)));
        let output = smark(&all);
        let lines = String::from_utf8(output.stdout.clone()).expect("UTF-8");
        let values = |marker: &str| -> Vec<i64> {
            let jsons = lines.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
            jsons.filter(|json| json["marker"] == marker).filter_map(|hit| hit["args"][0]["value"].as_i64()).collect()
        };
        (values("opens:library"), values("library:call"), stderr(&output))
    };
    let (opened, called, errors) = trace(&[&stripped]);
    assert_eq!((opened, errors.as_str()), (vec![1], ""));
    assert!(called.last() == Some(&19) && called.is_sorted() && called.len() >= 5, "{called:?}");
    let (opened, called, errors) = trace(&[&other]);
    assert_eq!((opened, called), (vec![1], vec![]));
    let expected = format!(
        "smark: {}: its build id is {}, but {} is for library.so with the build id {}\n",
        text(&fs::canonicalize(&other).expect("a path")),
        build_id(&other),
        text(&plan),
        build_id(&library)
    );
    assert_eq!(errors, expected);
}

#[test]
fn a_plan_is_written_as_a_whole_and_not_over_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = LIBRARY.replace("void call", "int main(void) { return 0; } void call");
    let program = compile(folder.path(), "program", &source, &[BUILD_ID]);
    let without = compile(folder.path(), "without", &source, &["-Wl,--build-id=none"]);
    let plan = folder.path().join("plan.json");
    let make = |arguments: &[&str]| {
        let output = smark(&[&["plan", "-o", text(&plan)], arguments].concat());
        (output.status.code().expect("an exit status"), stderr(&output))
    };
    let (status, errors) = make(&[text(&without)]);
    assert_eq!(status, 2);
    let expected = format!(
        "smark: {}: it has no build id, by which a plan knows a program: link it with -Wl,--build-id",
        text(&without)
    );
    assert!(errors.starts_with(&expected), "{errors}");
    let (status, errors) = make(&["library:cal", text(&program)]);
    assert_eq!(status, 1, "{errors}");
    assert!(!plan.exists());
    // What has a build id is in the plan, the rest is said.
    let (status, errors) = make(&[text(&program), text(&without)]);
    assert_eq!((status, errors.lines().count()), (2, 1), "{errors}");
    let written = fs::read(&plan).expect("the plan");
    let read = Plan::from_json(&written).expect("a plan");
    assert_eq!(read.images.len(), 1);
    assert_eq!(read.images[0].build_id.as_deref(), Some(build_id(&program).as_str()));
    let (status, errors) = make(&[text(&program)]);
    assert_eq!((status, errors), (2, format!("smark: {}: already exists (--force overwrites it)\n", text(&plan))));
    let copy = folder.path().join("copy");
    fs::copy(&program, &copy).expect("it is copied");
    let (status, errors) = make(&["--force", text(&program), text(&copy)]);
    assert_eq!(status, 0);
    assert!(errors.contains("copy: it has the build id of ") && errors.lines().count() == 1, "{errors}");
    assert_eq!(fs::read(&plan).expect("the plan"), written);
    // A file that is no plan.
    let output = smark(&["trace", "--plan", text(&program), "--", text(&program)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with(&format!("smark: {}: not JSON: ", text(&program))), "{}", stderr(&output));
}

#[test]
fn a_real_plan_that_is_damaged_is_refused_or_read() {
    let programs = Programs::values();
    let mut written = fs::read(&programs.plan).expect("the plan");
    let plan = Plan::from_json(&written).expect("a plan");
    assert_eq!(plan.markers.len(), 5);
    assert_eq!(Plan::from_json(plan.to_json().to_string().as_bytes()), Ok(plan));
    let end = written.trim_ascii_end().len();
    for size in (0..end).step_by(29) {
        assert!(Plan::from_json(&written[..size]).is_err(), "{size}");
    }
    for bit in (0..end * 8).step_by(101) {
        written[bit / 8] ^= 1 << (bit % 8);
        if let Ok(plan) = Plan::from_json(&written) {
            assert_eq!(Plan::from_json(plan.to_json().to_string().as_bytes()), Ok(plan), "bit {bit}");
        }
        written[bit / 8] ^= 1 << (bit % 8);
    }
}

/// A plan is made on any machine. Programs of another processor are not watched on this one.
#[test]
fn plans_are_made_for_other_processors() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = fixture::workspace().join("tests/record/values.c");
    for (machine, compiler) in [("aarch64", "aarch64-linux-gnu-gcc"), ("riscv64", "riscv64-linux-gnu-gcc")] {
        if find(compiler).is_none() {
            return;
        }
        let (program, plan) = (folder.path().join(machine), folder.path().join(format!("{machine}.plan")));
        let mut gcc = Command::new(compiler);
        gcc.arg("-I").arg(fixture::workspace().join("markers/include")).args(["-g", "-O2", BUILD_ID]);
        run(gcc.arg(&source).arg("-o").arg(&program));
        let made = smark(&["plan", "-o", text(&plan), text(&program)]);
        assert_eq!(made.status.code(), Some(0), "{}", stderr(&made));
        let written: Json = serde_json::from_slice(&fs::read(&plan).expect("the plan")).expect("JSON");
        assert_eq!(written["images"][0]["machine"], machine);
        let read = Plan::from_json(&fs::read(&plan).expect("the plan")).expect("a plan");
        assert_eq!((read.markers.len(), read.left_out.len()), (5, 0), "{machine}: {:?}", read.left_out);
        let counted = smark(&["count", "--duration", "10ms", text(&program)]);
        assert_eq!(counted.status.code(), Some(2));
        let said = format!("smark: {}: it is a program for {machine}, and this machine is ", text(&program));
        assert!(stderr(&counted).contains(&said), "{}", stderr(&counted));
    }
}
