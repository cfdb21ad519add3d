//! Probes are asleep until `smark` watches them, show what the program prints, and sleep afterwards.
//! The kernel's counters are read by the programs themselves.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Fixture, Process};
use simple_markers_tests::tools::{Ended, ended, find, run, skipped};
use simple_markers_tests::uprobes::Uprobes;
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

use crate::trace::{hits, numbers, trace};

fn source(name: &str) -> String {
    fs::read_to_string(fixture::workspace().join("tests/probes").join(name)).expect("the source")
}

/// `tests/probes/switched.c`, which does what it is told.
struct Switched {
    child: Process,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    program: PathBuf,
}

/// What it says: its number, its switch, how often the arguments were evaluated, and the switch of its
/// library.
type Said = (u32, u32, u32, u32);

impl Switched {
    fn start(folder: &Path) -> Self {
        // lld lets two segments of a library share a page of the file.
        let flags = ["-shared", "-fPIC", "-fuse-ld=lld"];
        let flags = if find("ld.lld").is_some() { &flags[..] } else { &flags[..2] };
        let library = compile(folder, "library.so", &source("library.c"), flags);
        Self::run(&compile(folder, "switched", &source("switched.c"), &[]), &library)
    }

    fn run(program: &Path, library: &Path) -> Self {
        let mut child = Command::new(program);
        let mut child = Process::start(child.arg(library).stdin(Stdio::piped()).stdout(Stdio::piped()));
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self { child, input, output: BufReader::new(output).lines(), program: program.to_owned() }
    }

    fn line(&mut self) -> String {
        self.output.next().expect("a line").expect("UTF-8")
    }

    fn tell(&mut self, letter: &str) -> Said {
        self.input.write_all(letter.as_bytes()).expect("it is told");
        let line = self.line();
        let mut numbers = line.split(' ').map(|number| number.parse().expect("a number"));
        let mut next = || numbers.next().unwrap_or(0);
        (next(), next(), next(), next())
    }

    /// Its switch, and that of its library.
    fn switches(&mut self) -> (u32, u32) {
        let (_, switch, _, of_library) = self.tell(".");
        (switch, of_library)
    }

    /// Passes the probes until the switch and that of the library are as expected.
    fn wait(&mut self, expected: (u32, u32)) {
        let since = Instant::now();
        loop {
            let found = self.switches();
            if found == expected {
                return;
            }
            assert!(since.elapsed() < Duration::from_secs(20), "{found:?} is not {expected:?}");
            sleep(Duration::from_millis(2));
        }
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

/// A `smark` in the background, which writes to a file.
struct Smark {
    child: Process,
    file: PathBuf,
}

impl Smark {
    fn start(folder: &Path, name: &str, arguments: &[&str]) -> Self {
        let file = folder.join(name);
        let output = fs::File::create(&file).expect("a file");
        let mut smark = Command::new(fixture::smark());
        smark.args(arguments).stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
        Self { child: Process::start(&mut smark), file }
    }

    /// Sends a signal, and returns the lines when it has ended.
    fn end(&mut self, signal: &str) -> Vec<String> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("kill runs").success());
        self.child.wait().expect("it ends");
        fs::read_to_string(&self.file).expect("UTF-8").lines().map(str::to_owned).collect()
    }
}

const ASLEEP: (u32, u32) = (0, 0);
/// The kernel counts the probes, one for each copy.
const ARMED: (u32, u32) = (3, 0);

#[test]
fn a_probe_is_armed_while_somebody_watches() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = Switched::start(folder.path());
    assert_eq!((program.tell("."), program.switches()), ((program.child.id(), 0, 0, 0), ASLEEP));
    let mut one = Smark::start(folder.path(), "one", &["trace", "--json", "-p", &program.pid()]);
    program.wait(ARMED);
    // The arguments are evaluated for each copy that is passed, and only then.
    let (_, _, before, _) = program.tell(".");
    let (_, switch, after, _) = program.tell(".");
    assert_eq!((switch, after - before), (3, 3));
    // The kernel counts probes, not tools.
    let path = program.program.to_str().expect("UTF-8").to_owned();
    let mut two = Smark::start(folder.path(), "two", &["trace", "--json", &path]);
    let since = Instant::now();
    while fs::metadata(&two.file).expect("a file").len() == 0 {
        assert_eq!(program.switches(), ARMED);
        assert!(since.elapsed() < Duration::from_secs(20), "no hit");
    }
    // The kernel removes what a killed process has set, and leaves what another one needs.
    let killed = one.end("KILL");
    sleep(Duration::from_millis(200));
    assert_eq!(program.switches(), ARMED);
    let (found, end) = hits(&two.end("INT"));
    program.wait(ASLEEP);
    let (_, _, evaluated, _) = program.tell(".");
    assert_eq!((program.tell("."), end["lost"].as_u64()), ((program.child.id(), 0, evaluated, 0), Some(0)));
    // Each evaluation is a hit of the one or the other.
    let of_killed: Vec<Json> = killed.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let all = [&*of_killed, &*found].concat();
    let passed: BTreeSet<i64> = numbers(&all, "switched:pass").into_iter().collect();
    assert!(found.len() >= 3 && passed.len() as u32 <= evaluated, "{} of {evaluated}", passed.len());
    assert!(passed.contains(&numbers(&found, "switched:pass")[0]));
}

#[test]
fn every_hit_is_an_evaluation() {
    if !can_watch() || !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for engine in ["bpf", "tracefs"] {
        let mut program = Switched::start(folder.path());
        let pid = program.pid();
        let mut smark = Smark::start(folder.path(), engine, &["trace", "--json", "--engine", engine, "-p", &pid]);
        program.wait(ARMED);
        for _ in 0..50 {
            assert_eq!(program.switches(), ARMED);
        }
        let (found, end) = hits(&smark.end("INT"));
        program.wait(ASLEEP);
        let (_, _, evaluated, _) = program.tell(".");
        let numbers = numbers(&found, "switched:pass");
        assert!(numbers.len() >= 150, "{engine}: {}", numbers.len());
        // A probe may be armed just before it has a breakpoint at each copy.
        let difference = evaluated as usize - numbers.len();
        assert!(difference <= 9, "{engine}: {evaluated} evaluations, {} hits", numbers.len());
        assert_eq!((end["lost"].as_u64(), numbers.windows(2).all(|two| two[0] < two[1])), (Some(0), true), "{engine}");
    }
}

#[test]
fn what_a_killed_session_of_tracefs_armed_is_disarmed_by_the_next() {
    if !can_watch() || !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = Switched::start(folder.path());
    let pid = program.pid();
    let mut killed = Smark::start(folder.path(), "killed", &["trace", "--engine", "tracefs", "-p", &pid]);
    program.wait(ARMED);
    killed.end("KILL");
    let mut next = Smark::start(folder.path(), "next", &["trace", "-p", &pid]);
    let since = Instant::now();
    while fs::metadata(&next.file).expect("a file").len() == 0 {
        program.switches();
        assert!(since.elapsed() < Duration::from_secs(20), "no hit");
    }
    next.end("INT");
    program.wait(ASLEEP);
}

#[test]
fn children_programs_and_libraries_are_armed() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = Switched::start(folder.path());
    let library = folder.path().join("library.so");
    let [path, library] = [&program.program, &library].map(|it| it.to_str().expect("UTF-8").to_owned());
    let mut smark = Smark::start(folder.path(), "all", &["trace", "--json", &path, &library]);
    program.wait(ARMED);
    // The library is armed when it is opened, each time.
    for _ in 0..2 {
        assert_eq!(program.tell("l").3, 1);
        assert_eq!(program.switches(), (3, 1));
        assert_eq!(program.tell("u").3, 0);
    }
    assert_eq!(program.tell("l").3, 1);
    let (child, switch, _, of_library) = program.tell("f");
    assert_eq!((child == program.child.id(), switch, of_library), (false, 3, 1));
    let (_, _, before, _) = program.tell(".");
    assert_eq!(program.tell("."), (child, 3, before + 3, 1));
    // The process executes the program again: the switches start from the file.
    assert_eq!(program.tell("e").0, child);
    assert_eq!(program.tell("."), (child, 3, 3, 0));
    let (found, _) = hits(&smark.end("INT"));
    program.wait(ASLEEP);
    let of_child = found.iter().filter(|hit| hit["pid"] == child);
    assert!(of_child.count() >= 9, "{found:?}");
    // The parent waits, and has been disarmed too.
    program.input.write_all(b"x").expect("it is told");
    program.line();
    program.wait(ASLEEP);
    assert_eq!(program.tell(".").0, program.child.id());
}

#[test]
fn other_processes_stay_asleep() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = Switched::start(folder.path());
    let mut other = Switched::run(&program.program, Path::new("-"));
    let pid = program.pid();
    let mut smark = Smark::start(folder.path(), "pid", &["trace", "--json", "--no-children", "-p", &pid]);
    program.wait(ARMED);
    assert_eq!(other.switches(), ASLEEP);
    // A child has a copy of the memory: the switch is armed, and what it passes is not shown.
    let (child, switch, ..) = program.tell("f");
    assert_eq!((child.to_string() == pid, switch, program.switches()), (false, 3, ARMED));
    let (found, _) = hits(&smark.end("INT"));
    let of_program = |hit: &Json| hit["pid"].as_u64() == Some(program.child.id().into());
    assert!(found.iter().all(of_program), "{found:?}");
    // It is disarmed all the same.
    program.wait(ASLEEP);
    assert_eq!((program.tell(".").0, other.switches()), (child, ASLEEP));
}

/// The lines of the program, and those of the hits in the same form.
fn said(lines: &[String]) -> [Vec<&str>; 2] {
    let printed = lines.iter().filter(|line| line.starts_with("values:")).map(String::as_str);
    let shown = lines.iter().filter(|line| !line.starts_with("values:"));
    [printed.collect(), shown.filter_map(|line| Some(&line[line.find("values:")?..])).collect()]
}

#[test]
fn values_are_those_that_the_program_prints() {
    if !can_watch() || !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut builds =
        vec![&[][..], &["-O0"], &["-no-pie", "-fno-pie"], &["-fPIE", "-static-pie"], &["-Os", "-fcf-protection=none"]];
    // lld lets two segments share a page of the file.
    if find("ld.lld").is_some() {
        builds.extend([&["-fuse-ld=lld"][..], &["-fuse-ld=lld", "-Wl,--gc-sections"]]);
    }
    for flags in builds {
        let program = compile(folder.path(), "values", &source("values.c"), flags);
        for engine in ["bpf", "tracefs"] {
            let lines = trace(&["--engine", engine], &[&program]);
            let [printed, shown] = said(&lines);
            assert_eq!((printed.len(), shown), (6, printed), "{engine} {flags:?}");
        }
    }
}

#[test]
fn values_are_those_that_a_rust_program_prints() {
    if !can_watch() || !can_watch_with_tracefs() {
        return;
    }
    let rest =
        format!("[dependencies]\nsimple-markers = {}\n[profile.release]\ndebug = \"full\"\n", fixture::markers(""));
    let fixture = Fixture::empty("probe-values").manifest("2024", &rest).file("src/main.rs", &source("values.rs"));
    for (flags, folder) in [(&[][..], "debug"), (&["--release"], "release")] {
        fixture::succeeds_silently(fixture.cargo("build").args(flags));
        let program = fixture::target().join(folder).join("probe-values");
        for engine in ["bpf", "tracefs"] {
            let lines = trace(&["--engine", engine], &[&program]);
            let [printed, shown] = said(&lines);
            assert_eq!((printed.len(), shown), (6, printed), "{engine} {flags:?}");
        }
    }
}

#[test]
fn probes_of_a_tree_of_processes_are_armed() {
    if !can_watch() {
        return;
    }
    if !fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0) {
        return skipped("children are traced by root");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "values", &source("values.c"), &[]);
    // Through forks, programs that execute others, and two at the same time.
    let script = r#""$0"; sh -c 'exec "$0"' "$0"; timeout 60 env "$0"; "$0" & "$0"; wait; (exec "$0")"#;
    let output = smark(&["trace", "--", "sh", "-c", script, program.to_str().expect("UTF-8")]);
    let lines = output.lines();
    let [mut printed, mut shown] = said(&lines);
    printed.sort_unstable();
    shown.sort_unstable();
    assert_eq!((printed.len(), shown), (36, printed), "{}", output.stderr);
}

fn smark(arguments: &[&str]) -> Ended {
    ended(Command::new(fixture::smark()).args(arguments).stdin(Stdio::null()))
}

#[test]
fn a_stripped_program_is_armed_by_its_plan() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let whole = compile(folder.path(), "values", &source("values.c"), &["-Wl,--build-id"]);
    let [plan, stripped] =
        ["plan", "stripped"].map(|name| folder.path().join(name).to_str().expect("UTF-8").to_owned());
    smark(&["plan", "-o", &plan, whole.to_str().expect("UTF-8")]).success();
    let json: Json = serde_json::from_slice(&fs::read(&plan).expect("a plan")).expect("JSON");
    assert_eq!(json["plan"], 2);
    run(Command::new("strip").arg("-o").arg(&stripped).arg(&whole));
    let lines = trace(&["--plan", &plan], &[Path::new(&stripped)]);
    let [printed, shown] = said(&lines);
    assert_eq!((printed.len(), shown), (6, printed));
}

#[test]
fn counts_and_recordings_have_probes() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "values", &source("values.c"), &[]);
    let program = program.to_str().expect("UTF-8");
    let text = smark(&["count", "--json", "--", program]).stdout;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let counts: Vec<(String, u64)> = lines
        .flat_map(|line| line["markers"].as_array().cloned().unwrap_or_else(|| vec![line]))
        .filter_map(|line| Some((line["marker"].as_str()?.to_owned(), line["hits"].as_u64()?)))
        .collect();
    let of = |name: &str| counts.iter().filter(|(known, _)| known == name).map(|(_, hits)| hits).sum::<u64>();
    assert_eq!([of("values:integers"), of("values:others"), of("values:none")], [2, 3, 1], "{text}");
    let recording = folder.path().join("recording");
    let recording = recording.to_str().expect("UTF-8");
    let output = smark(&["record", "-o", recording, "--", program]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let (printed, reported) = (output.lines(), smark(&["report", recording]).lines());
    let ([printed, _], [_, shown]) = (said(&printed), said(&reported));
    assert_eq!((printed.len(), shown), (6, printed));
}

#[test]
fn a_uprobe_without_the_switch_is_in_the_way() {
    if !can_watch() || !can_watch_with_tracefs() {
        return;
    }
    let Some(uprobes) = Uprobes::open() else {
        return skipped("a uprobe of another tool is not tested without the right to use tracefs");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "values", &source("values.c"), &[]);
    let program = program.to_str().expect("UTF-8");
    let listed = smark(&["list", "--json", "values:none", program]).stdout;
    let listed: Json = serde_json::from_str(&listed).expect("JSON");
    let offset = listed["images"][0]["markers"][0]["sites"][0]["file_offset"].as_str().expect("an offset");
    let offset = u64::from_str_radix(offset.trim_start_matches("0x"), 16).expect("an offset");
    let _placed = uprobes.place(Path::new(program), &[offset]);
    for engine in ["bpf", "tracefs"] {
        let output = smark(&["trace", "--engine", engine, "--", program]);
        let said = &output.stderr;
        let expected = "cannot arm a probe: another tool has a uprobe at its site that does not arm it, and the kernel allows \
                        only one kind";
        assert!(said.contains(expected), "{engine}: {said}");
        assert_eq!((output.status, &*output.stdout), (2, ""), "{engine}");
    }
}
