//! `smark` sleeps while a program that records its probes itself passes none, and is told of the next hit
//! (`tests/probes/src/rounds.rs`).

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{run, slice};
use simple_markers_tests::watched::can_watch;

use crate::recorded::{built, folders, text};
use crate::whom::wait_until_asleep;

static ROUNDS: LazyLock<PathBuf> =
    LazyLock::new(|| built("simple-markers-test-probes", "dev", "debug", "probe-rounds"));

/// The numbers of each thread, by process and thread.
type Numbers = BTreeMap<(u64, u64), Vec<u64>>;

/// A program that does what it is told.
struct Program {
    child: Process,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    printed: Numbers,
}

impl Program {
    fn start(threads: &str) -> Self {
        let mut command = Command::new(&*ROUNDS);
        let mut child = Process::start(command.arg(threads).stdin(Stdio::piped()).stdout(Stdio::piped()));
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self { child, input, output: BufReader::new(output).lines(), printed: Numbers::new() }
    }

    /// Notes what it prints until it is done.
    fn tell(&mut self, what: &str) {
        writeln!(self.input, "{what}").expect("it reads");
        for line in self.output.by_ref().map(|line| line.expect("UTF-8")).take_while(|line| line != "done") {
            let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().expect("a number")).collect();
            self.printed.entry((numbers[0], numbers[1])).or_default().push(numbers[2]);
        }
    }

    fn hits(&self) -> usize {
        self.printed.values().map(Vec::len).sum()
    }

    /// The buffers that the program has mapped.
    fn mapped(&self) -> usize {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.child.id())).expect("it runs");
        let files = maps.lines().filter_map(|line| line.split_once("/dev/shm/smark-").map(|(_, name)| name));
        files.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The files in the folder of buffers.
    fn files(&self) -> usize {
        let folders = folders(&self.child.id().to_string());
        let of = |folder: &String| std::fs::read_dir(PathBuf::from("/dev/shm").join(folder)).expect("a folder").count();
        folders.iter().map(of).sum()
    }
}

/// `smark trace`, whose lines are read as they come.
struct Trace {
    child: Process,
    lines: Receiver<String>,
    said: Numbers,
    end: Json,
}

impl Trace {
    fn start(program: &Program) -> Self {
        let mut command = Command::new(fixture::smark());
        command.args(["trace", "--json", "-p", &program.child.id().to_string()]);
        let mut child = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (send, lines) = channel();
        // It ends with the output.
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        // It says so when the probe is armed.
        let mut notes = BufReader::new(child.stderr.take().expect("its notes"));
        let mut note = String::new();
        notes.read_line(&mut note).expect("a line");
        assert!(note.starts_with("smark: watching "), "{note}");
        std::thread::spawn(move || notes.lines().map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Self { child, lines, said: Numbers::new(), end: Json::Null }
    }

    /// Notes a line.
    fn note(&mut self, line: &str) {
        let hit: Json = serde_json::from_str(line).expect("JSON");
        if hit.get("end").is_some() {
            self.end = hit["end"].clone();
        } else if hit["marker"] == "rounds:hit" {
            let number = |index: usize| hit["args"][index]["value"].as_u64().expect("a number");
            assert_eq!((&hit["pid"], &hit["tid"]), (&number(0).into(), &number(1).into()), "{hit}");
            self.said.entry((number(0), number(1))).or_default().push(number(2));
        }
    }

    /// Waits for as many hits as the program has printed. Returns how long it took.
    fn catch_up(&mut self, program: &Program) -> Duration {
        let since = Instant::now();
        while self.said.values().map(Vec::len).sum::<usize>() < program.hits() {
            let line = self.lines.recv_timeout(Duration::from_secs(30)).expect("all hits");
            self.note(&line);
        }
        since.elapsed()
    }

    fn end(&mut self) {
        run(Command::new("kill").args(["-INT", &self.child.id().to_string()]));
        while let Ok(line) = self.lines.recv() {
            self.note(&line);
        }
        self.child.wait().expect("it ends");
    }
}

/// If nothing told of a hit, it would be read at some time in the next 5 seconds.
const TOLD: Duration = Duration::from_millis(2500);

#[test]
fn hits_after_a_rest_are_all_there_at_once_and_in_order() {
    if !can_watch() {
        return;
    }
    let mut program = Program::start("3");
    let mut trace = Trace::start(&program);
    // A probe that was never passed.
    wait_until_asleep(trace.child.id(), "an armed program");
    for round in slice("hits after a rest", &[0, 1, 2, 3, 4], &[0, 1, 3]) {
        // In the first round, nobody has a buffer. Later each thread has one, also those of the children.
        if round == 1 || round == 3 {
            program.tell("fork");
        }
        program.tell(["hit 1", "hit 3", "hit 1", "hit 200", "hit 1"][round]);
        let took = trace.catch_up(&program);
        assert!(took < TOLD, "round {round}: {took:?}");
        note!("round {round}: the last hit is printed after {took:?}");
        wait_until_asleep(trace.child.id(), &format!("after round {round}"));
        // A buffer for each thread of each process that has passed the probe: none is made anew.
        assert_eq!((program.files(), program.mapped()), (program.printed.len(), 4), "round {round}");
    }
    trace.end();
    assert_eq!(program.printed.len(), 6);
    assert_eq!(trace.said, program.printed);
    assert_eq!((&trace.end["hits"], &trace.end["lost"]), (&Json::from(program.hits()), &Json::from(0)));
}

#[test]
fn hits_before_the_rest_are_not_lost_in_it() {
    if !can_watch() {
        return;
    }
    let mut program = Program::start("2");
    let mut trace = Trace::start(&program);
    program.tell("fork");
    // The programs are asked a second after the last hit, and hits come before, at and after that.
    let steps: [u64; 14] = std::array::from_fn(|step| step as u64);
    for step in slice("hits around a rest", &steps, &[1, 2, 3, 9]) {
        program.tell("hit 1");
        assert!(trace.catch_up(&program) < TOLD);
        std::thread::sleep(Duration::from_millis(940 + 30 * step));
    }
    program.tell("hit 50");
    trace.end();
    assert_eq!(trace.said, program.printed);
    assert_eq!(trace.end["lost"], 0);
}

#[test(desk = false)]
fn buffers_of_processes_that_have_ended_go() {
    if !can_watch() {
        return;
    }
    let mut program = Program::start("0");
    let mut trace = Trace::start(&program);
    program.tell("hit 1");
    for round in 0..3 {
        for _ in 0..5 {
            program.tell("passing 2");
        }
        assert!(trace.catch_up(&program) < TOLD, "round {round}");
        wait_until_asleep(trace.child.id(), "children that have ended");
        assert_eq!((program.files(), program.mapped()), (1, 1), "round {round}");
    }
    program.tell("hit 1");
    assert!(trace.catch_up(&program) < TOLD);
    trace.end();
    assert_eq!(trace.said, program.printed);
    assert_eq!((program.hits(), &trace.end["lost"]), (32, &Json::from(0)));
}

#[test]
fn nothing_wakes_up_while_no_probe_is_passed() {
    if !can_watch() {
        return;
    }
    // They take a processor.
    let (_, rounds) = (fixture::smark(), text(&ROUNDS));
    let folder = tempfile::tempdir().expect("a folder");
    let recordings = ["by command", "by pid", "by shell"].map(|name| folder.path().join(name));
    let by_shell: &[&str] = &["sh", "-c", "\"$0\" \"$@\"; exit $?"];
    // What starts the program; `None` if it runs already.
    let all = [
        (vec!["trace"], Some(&[][..])),
        (vec!["trace"], None),
        (vec!["trace"], Some(by_shell)),
        (vec!["trace"], Some(&["timeout", "60"])),
        (vec!["count"], Some(&[])),
        (vec!["count", "--by", "thread"], None),
        (vec!["count"], Some(by_shell)),
        (vec!["record", "-o", text(&recordings[0])], Some(&[])),
        (vec!["record", "-o", text(&recordings[1])], None),
        (vec!["record", "-o", text(&recordings[2])], Some(by_shell)),
        (vec!["trace", "--limit", "1"], Some(&[])),
        (vec!["trace", "--limit", "1"], Some(by_shell)),
    ];
    std::thread::scope(|scope| {
        for (arguments, starter) in &all {
            scope.spawn(move || {
                let mut smark = Command::new(fixture::smark());
                smark.args(arguments).arg("-q").stdin(Stdio::piped()).stdout(Stdio::null());
                let mut program = starter.is_none().then(|| Program::start("2"));
                match &program {
                    Some(program) => smark.arg("-p").arg(program.child.id().to_string()),
                    None => smark.arg("--").args(starter.unwrap_or_default()).arg(rounds).arg("2"),
                };
                let mut smark = Process::start(&mut smark);
                wait_until_asleep(smark.id(), &format!("{arguments:?} {starter:?}: armed"));
                match &mut program {
                    Some(program) => program.tell("hit 100"),
                    None => writeln!(smark.stdin.as_ref().expect("its input"), "hit 100").expect("it reads"),
                }
                wait_until_asleep(smark.id(), &format!("{arguments:?} {starter:?}: after hits"));
                drop((smark.stdin.take(), program));
                smark.wait().expect("it ends");
            });
        }
    });
}
