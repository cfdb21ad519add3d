//! Whole values in hostile memory: wrong lengths, circles, addresses that cannot be read, pages that never
//! come. What is shown is what must be shown, the program goes on unchanged, and no hit is lost.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use simple_markers_tests::fixture::{self, Process, workspace};
use simple_markers_tests::tools::{ended, skipped};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};
use tempfile::TempDir;

use crate::recorded::wait_until;

/// The program in a folder, and what it must show.
struct Hostile {
    folder: TempDir,
    program: PathBuf,
}

impl Hostile {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let source = fs::read_to_string(workspace().join("tests/whole/hostile.c")).expect("the source");
        let program = compile(folder.path(), "hostile", &source, &[]);
        Self { folder, program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command of `smark` that knows the types of the program.
    fn smark(&self, command: &str) -> Command {
        let mut smark = Command::new(fixture::smark());
        smark.arg(command).arg("--views").arg(workspace().join("tests/whole/hostile.views"));
        smark
    }

    /// What is shown of so many hits by a command of `smark` that watches, with at most so many elements.
    fn shown(&self, smark: &mut Command, hits: usize, elements: usize) -> Vec<String> {
        let number = |number: usize| number.to_string();
        smark.arg("--").arg(&self.program).arg(self.path("expected")).args([number(hits), number(elements)]);
        // The program ends with 0 if no signal came and its memory is unchanged.
        let said = ended(smark).success();
        lines(&said)
    }

    /// What must be shown of each value.
    fn expected(&self) -> Vec<String> {
        let expected = fs::read_to_string(self.path("expected")).expect("what must be shown");
        expected.lines().map(str::to_owned).collect()
    }
}

/// The name of the marker of each hit, and what is shown of it.
fn lines(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| Some(line[line.find("hostile:")?..].to_owned())).collect()
}

/// How often each value is passed.
const TIMES: usize = 20;

#[test(desk = false)]
fn each_hostile_value_is_what_it_must_be() {
    if !can_watch() {
        return;
    }
    let hostile = Hostile::new();
    let shown = hostile.shown(hostile.smark("trace").args(["--buffer", "64M"]), 0, 16);
    let expected = hostile.expected();
    assert_eq!(shown, expected);
    assert!(expected.len() > 180, "{}", expected.len());
    let many = hostile.shown(hostile.smark("trace").args(["--buffer", "64M"]), TIMES * expected.len(), 16);
    assert_eq!(many, vec![hostile.expected(); TIMES].concat());
    for elements in [4, 256] {
        let options = ["--elements", &elements.to_string(), "--bytes", "4088"];
        assert_eq!(hostile.shown(hostile.smark("trace").args(options), 0, elements), hostile.expected());
    }
    let recording = hostile.path("recording");
    hostile.shown(hostile.smark("record").arg("-o").arg(&recording), 0, 16);
    let reported = ended(Command::new(fixture::smark()).arg("report").arg(&recording)).success();
    assert_eq!(lines(&reported), hostile.expected());
}

/// With few bytes each value is the same, or dots say that something is missing.
#[test]
fn few_bytes_leave_something_out_and_say_so() {
    if !can_watch() {
        return;
    }
    let hostile = Hostile::new();
    let shown = hostile.shown(hostile.smark("trace").args(["--elements", "4", "--bytes", "64", "--depth", "1"]), 0, 4);
    let expected = hostile.expected();
    assert_eq!(shown.len(), expected.len());
    let cut: Vec<_> = shown.iter().zip(&expected).filter(|(shown, expected)| shown != expected).collect();
    assert!(cut.iter().all(|(shown, _)| shown.contains("..")), "{cut:#?}");
    assert!(cut.len() > 20, "{cut:#?}");
}

/// tracefs copies less, and zeros prove nothing. What it shows is the same, or it says that something is missing.
#[test]
fn tracefs_shows_the_same_or_says_what_is_missing() {
    if !can_watch_with_tracefs() {
        return;
    }
    let hostile = Hostile::new();
    let shown = hostile.shown(hostile.smark("trace").args(["--engine", "tracefs"]), 0, 16);
    let expected = hostile.expected();
    assert_eq!(shown.len(), expected.len());
    let other: Vec<_> = shown.iter().zip(&expected).filter(|(shown, expected)| shown != expected).collect();
    assert!(other.iter().all(|(shown, _)| shown.contains("..") || shown.contains("<unreadable")), "{other:#?}");
    assert!(other.len() < 20, "{other:#?}");
}

/// Threads that wait in a hit for a page are killed: other hits have what they need afterwards.
#[test]
fn hits_that_are_killed_leave_nothing_behind() {
    if !can_watch() {
        return;
    }
    let hostile = Hostile::new();
    let (shown, said) = (hostile.path("shown"), hostile.path("said"));
    let file = |path: &Path| File::create(path).expect("a file");
    let mut smark = hostile.smark("trace");
    smark.arg(&hostile.program).stdout(file(&shown)).stderr(file(&said));
    let mut smark = Process::start(&mut smark);
    let contains = |path: &Path, text: &str| fs::read_to_string(path).is_ok_and(|all| all.contains(text));
    wait_until("smark watches", || contains(&said, "watching"));
    // There are 64 places for values that are being read.
    for threads in ["40", "80"] {
        let told = hostile.path(threads);
        let mut stuck = Command::new(&hostile.program);
        stuck.args(["stuck", threads]).stdout(file(&told)).stderr(Stdio::null());
        let mut stuck = Process::start(&mut stuck);
        let has_ended = |stuck: &mut Process| stuck.try_wait().expect("it is a child");
        wait_until("the threads wait", || contains(&told, "stuck") || has_ended(&mut stuck).is_some());
        if has_ended(&mut stuck).is_some() {
            return skipped("the kernel has no userfaultfd for root");
        }
        stuck.kill().expect("it is killed");
        stuck.wait().expect("it ends");
    }
    let mut again = Command::new(&hostile.program);
    ended(again.arg(hostile.path("expected"))).success();
    let expected = hostile.expected();
    kill(Pid::from_raw(smark.id().try_into().expect("a process")), Signal::SIGINT).expect("smark is there");
    assert!(smark.wait().expect("it ends").success());
    let all = lines(&fs::read_to_string(&shown).expect("what was shown"));
    let (stuck, rest) = all.split_at(120);
    assert_eq!(rest, expected);
    assert!(
        stuck.iter().all(|line| line.starts_with("hostile:owner: 0x") || line.ends_with(" <unreadable>")),
        "{stuck:?}"
    );
}
