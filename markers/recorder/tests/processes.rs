//! Processes that fork, run other programs, and end in all ways.

#[macro_use]
extern crate harness;

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use simple_markers_record::buffer::Layout;
use support::babeltrace::babeltrace;
use support::child::{Folder, Killed, command, inside, run, succeeded};
use support::probe::{Descriptor, text};
use support::reader::{self, Value};
use support::tool::{self, Buffers};

descriptor!(TWO: "test:two", "%lu %lu", "a, b", "8 8", [false, false]);
descriptor!(TEXT: "test:text", "%lu %s", "n, text", "8 s", [false, true]);

static PROBES: [&Descriptor; 2] = [&TWO, &TEXT];

const GROWING: Buffers = Buffers { packet_size: 4096, packets: 0, flags: 0 };

fn layouts() -> Vec<Layout> {
    PROBES.map(Descriptor::layout).to_vec()
}

fn hit(number: u64) {
    TWO.hit(&[number, number ^ 5]);
}

/// The numbers of hits by process.
fn all_numbers(folder: &Path) -> BTreeMap<u32, Vec<u64>> {
    let mut numbers: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (path, file) in reader::growing_folder(folder, &layouts()) {
        for hit in &file.hits {
            assert!(path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{}-", hit.pid)));
            match hit.values[..] {
                [Value::Scalar(number), Value::Scalar(other)] if other == number ^ 5 => {
                    numbers.entry(hit.pid).or_default().push(number);
                }
                _ => panic!("{hit:?}"),
            }
        }
    }
    numbers
}

/// The numbers of the hits of a process.
fn numbers(folder: &Path, pid: u32) -> Vec<u64> {
    all_numbers(folder).remove(&pid).unwrap_or_default()
}

/// Waits for a child and returns its status.
fn wait(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the status is written.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status
}

#[test]
fn a_child_of_fork_has_its_own_files() {
    let inner = |folder: &Path| {
        tool::arm(folder, GROWING, &PROBES);
        // Before its first hit, a thread that forks has nothing.
        // SAFETY: the child only passes probes and ends.
        let before = unsafe { libc::fork() };
        if before == 0 {
            (0..100).for_each(hit);
            // SAFETY: it ends the process.
            unsafe { libc::_exit(0) };
        }
        wait(before);
        (100..300).for_each(hit);
        // SAFETY: as above.
        let after = unsafe { libc::fork() };
        if after == 0 {
            (300..1000).for_each(hit);
            // A child of the child.
            // SAFETY: as above.
            let child = unsafe { libc::fork() };
            (1000..1000 + u64::from(child == 0)).for_each(hit);
            if child != 0 {
                wait(child);
            }
            // SAFETY: as above.
            unsafe { libc::_exit(0) };
        }
        (2000..2400).for_each(hit);
        wait(after);
        (2400..2500).for_each(hit);
        assert!(numbers(folder, before as u32).into_iter().eq(0..100));
        assert!(numbers(folder, after as u32).into_iter().eq(300..1000));
        assert!(numbers(folder, std::process::id()).into_iter().eq((100..300).chain(2000..2500)));
        let all: usize = reader::growing_folder(folder, &layouts()).values().map(|file| file.hits.len()).sum();
        assert_eq!(all, 100 + 700 + 1 + 700);
    };
    run("a_child_of_fork_has_its_own_files", inner, |_| ());
}

/// Hits during which a handler forks.
const FORKS_DURING: u64 = 100_000;

#[test]
fn a_fork_in_a_handler_that_interrupts_a_hit() {
    static THREAD: AtomicI32 = AtomicI32::new(0);
    extern "C" fn on_signal(signal: i32) {
        let thread = THREAD.load(Ordering::Relaxed);
        // SAFETY: a signal that is handled. Not the thread of the test harness forks.
        unsafe {
            if libc::gettid() != thread {
                libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal);
                return;
            }
        }
        hit(1 << 32);
        // SAFETY: the child returns into the code that was interrupted.
        if unsafe { libc::fork() } == 0 {
            hit(1 << 33);
        }
    }
    let inner = |folder: &Path| {
        // SAFETY: it has no arguments.
        THREAD.store(unsafe { libc::gettid() }, Ordering::Relaxed);
        // SAFETY: the handler passes probes and forks.
        unsafe { libc::signal(libc::SIGALRM, on_signal as *const () as usize) };
        tool::arm(folder, GROWING, &PROBES);
        let parent = std::process::id();
        let interval = libc::timeval { tv_sec: 0, tv_usec: 1000 };
        let timer = libc::itimerval { it_interval: interval, it_value: interval };
        // SAFETY: timers are not inherited.
        unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
        let end_child = |next: u64| {
            if std::process::id() != parent {
                (next..next + 99).for_each(hit);
                // SAFETY: it ends the child.
                unsafe { libc::_exit(0) };
            }
        };
        for number in 0..FORKS_DURING {
            hit(number);
            end_child(number + 1);
        }
        // Another thread may still pass on a signal.
        // SAFETY: the set is initialised before it is used.
        unsafe {
            let mut signals = std::mem::zeroed();
            libc::sigemptyset(&mut signals);
            libc::sigaddset(&mut signals, libc::SIGALRM);
            assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut()), 0);
        }
        end_child(FORKS_DURING);
        let timer = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, ..timer };
        // SAFETY: as above. Then all children are awaited.
        unsafe {
            let off = libc::itimerval { it_value: timer.it_interval, ..timer };
            libc::setitimer(libc::ITIMER_REAL, &off, std::ptr::null_mut());
        }
        let mut children = Vec::new();
        loop {
            // SAFETY: nobody wants the status.
            let child = unsafe { libc::wait(std::ptr::null_mut()) };
            if child <= 0 {
                break;
            }
            children.push(child as u32);
        }
        assert!(!children.is_empty());
        let mut all = all_numbers(folder);
        let (main, handler): (Vec<u64>, Vec<u64>) =
            all.remove(&parent).unwrap().into_iter().partition(|&number| number < 1 << 32);
        assert!(main.into_iter().eq(0..FORKS_DURING));
        assert_eq!(handler, vec![1 << 32; children.len()]);
        for child in children {
            let numbers = &all[&child];
            assert_eq!(numbers[0], 1 << 33);
            // The rest of the hit that was interrupted, if it was not done, and 99 or 100 more.
            assert!((99..=100).contains(&numbers[1..].len()), "{}", numbers.len());
            assert!(numbers[1..].windows(2).all(|pair| pair[1] == pair[0] + 1));
        }
    };
    run("a_fork_in_a_handler_that_interrupts_a_hit", inner, |_| ());
}

#[test]
fn hits_between_vfork_and_exec_are_those_of_the_parent() {
    extern "C" fn child(_: *mut libc::c_void) -> i32 {
        (10..20).for_each(hit);
        let arguments = [c"true".as_ptr(), std::ptr::null()];
        // SAFETY: the arguments end with a null pointer.
        unsafe {
            libc::execvp(arguments[0], arguments.as_ptr());
            libc::_exit(1)
        }
    }
    fn vfork() {
        let mut stack = vec![0u8; 1 << 18];
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack ends there, and this thread waits until the child has left it.
        let pid = unsafe {
            let top = stack.as_mut_ptr().add(stack.len() - 64).cast();
            libc::clone(child, top, flags, std::ptr::null_mut())
        };
        assert_eq!(wait(pid), 0);
    }
    let inner = |folder: &Path| {
        // Nothing was recorded yet.
        tool::arm(folder, GROWING, &PROBES);
        vfork();
        assert_eq!((tool::lost(), reader::files(folder).len()), (10, 0));
        (0..10).for_each(hit);
        vfork();
        (20..30).for_each(hit);
        assert_eq!(tool::lost(), 10);
        assert!(numbers(folder, std::process::id()).into_iter().eq(0..30));
        // The child cannot make a file for the parent.
        let again = folder.join("again");
        std::fs::create_dir(&again).unwrap();
        tool::arm(&again, GROWING, &PROBES);
        vfork();
        assert_eq!(tool::lost(), 20);
        (0..10).for_each(hit);
        assert!(numbers(&again, std::process::id()).into_iter().eq(0..10));
    };
    run("hits_between_vfork_and_exec_are_those_of_the_parent", inner, |_| ());
}

/// The test in a process that records from its start into `folder/trace`.
fn recorded(test: &str, folder: &Path) -> Command {
    let mut command = command(test, folder);
    command.env("SIMPLE_MARKERS_RECORD", "other:*, test:t*").env("SIMPLE_MARKERS_OUTPUT", folder.join("trace"));
    command
}

/// The hits of the probe with two numbers that babeltrace2 prints.
fn printed(folder: &Path) -> Option<Vec<u64>> {
    let lines = babeltrace(folder, &[])?;
    let number = |line: &String| line.split_once("{ a = ")?.1.split_once(',')?.0.parse().ok();
    Some(lines.iter().filter_map(number).collect())
}

#[test]
fn everything_up_to_the_end_is_there() {
    const COUNT: u64 = 30_000;
    let test = "everything_up_to_the_end_is_there";
    if inside(test).is_some() {
        assert!(simple_markers_recorder::probes().all(|probe| probe.is_armed()));
        let way = std::env::var("WAY").unwrap();
        if way == "threads" {
            // A thread that runs when the program ends.
            std::thread::spawn(|| {
                hit(0);
                loop {
                    std::thread::sleep(Duration::from_secs(1));
                }
            });
            while numbers(Path::new(&std::env::var("SIMPLE_MARKERS_OUTPUT").unwrap()), std::process::id()) != [0] {}
        } else {
            hit(0);
        }
        (1..COUNT).for_each(hit);
        match way.as_str() {
            "exit" | "threads" => std::process::exit(3),
            "abort" => std::process::abort(),
            "panic" => panic!("as it should"),
            // SAFETY: ends of the process.
            "_exit" => unsafe { libc::_exit(3) },
            // SAFETY: as above.
            "kill" => unsafe { _ = libc::kill(libc::getpid(), libc::SIGKILL) },
            // SAFETY: as above.
            "segv" => unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) },
            // It replaces the program, which records again.
            "exec" => {
                use std::os::unix::process::CommandExt;
                let mut command = Command::new(std::env::current_exe().unwrap());
                panic!("{}", command.args(["--exact", test, "--test-threads", "1"]).env("WAY", "exit").exec());
            }
            way => panic!("{way}"),
        }
        return;
    }
    for way in ["exit", "_exit", "abort", "panic", "kill", "segv", "exec", "threads"] {
        let folder = Folder::new(way);
        let output = recorded(test, folder.path()).env("WAY", way).output().unwrap();
        assert!(!output.status.success(), "{way}");
        let mut traces: Vec<PathBuf> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        traces.sort();
        assert_eq!(traces.len(), if way == "exec" { 2 } else { 1 }, "{way} {output:?}");
        for trace in traces {
            let files = reader::growing_folder(&trace, &layouts());
            let count: usize = files.values().map(|file| file.hits.len()).sum();
            assert_eq!(count as u64, COUNT, "{way}");
            if let Some(mut printed) = printed(&trace) {
                printed.sort_unstable();
                assert!(printed.into_iter().eq(0..COUNT), "{way}");
            }
            // What the program has cut is as small as it can be.
            if way == "exit" || way == "panic" {
                let sizes = files.keys().map(|file| std::fs::metadata(file).unwrap().len());
                let packets: u64 = files.values().map(|file| file.packets).sum();
                assert_eq!(sizes.sum::<u64>(), COUNT * 32 + packets * 64);
            }
        }
    }
}

/// Two threads and a handler record for ever, and children of `fork` end.
fn record_for_ever() -> ! {
    extern "C" fn on_signal(_: i32) {
        (0..20).for_each(hit);
    }
    // SAFETY: the handler passes probes.
    unsafe { libc::signal(libc::SIGALRM, on_signal as *const () as usize) };
    let interval = libc::timeval { tv_sec: 0, tv_usec: 500 };
    let timer = libc::itimerval { it_interval: interval, it_value: interval };
    // SAFETY: the timer is written before it is read.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
    let record = |number: u64| {
        hit(number);
        let letters = [b'x'; 300];
        let [at, length] = text(&letters[..(number % 300) as usize]);
        TEXT.hit(&[number, at, length]);
        // The disk stays small.
        if number % 128 == 127 {
            std::thread::sleep(Duration::from_micros(100));
        }
    };
    std::thread::spawn(move || (0..u64::MAX).for_each(record));
    std::thread::spawn(|| {
        loop {
            let _ = std::thread::spawn(|| (0..10).for_each(hit)).join();
        }
    });
    (0..u64::MAX).for_each(record);
    unreachable!()
}

#[test]
fn a_program_that_is_killed_leaves_no_torn_record() {
    let test = "a_program_that_is_killed_leaves_no_torn_record";
    if inside(test).is_some() {
        record_for_ever();
    }
    let rounds = std::env::var("ROUNDS").map_or(6, |rounds| rounds.parse().unwrap());
    let mut all = 0;
    for round in 0..rounds {
        let folder = Folder::new(&format!("killed-{round}"));
        let mut command = recorded(test, folder.path());
        let mut child = Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let trace = folder.path().join("trace");
        // At a moment after its start that differs.
        while !trace.is_dir() || reader::files(&trace).is_empty() {
            assert!(child.0.try_wait().unwrap().is_none());
        }
        std::thread::sleep(Duration::from_micros(round * 7919 % 10_000));
        // While it runs babeltrace2 can read it too.
        if round % 6 == 0 {
            drop(babeltrace(&trace, &["-o", "dummy"]));
        }
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        let files = reader::growing_folder(&trace, &layouts());
        let count: usize = files.values().map(|file| file.hits.len()).sum();
        for hit in files.values().flat_map(|file| &file.hits) {
            match &hit.values[..] {
                [Value::Scalar(number), Value::Scalar(other)] => assert_eq!(*other, number ^ 5),
                [Value::Scalar(number), Value::Text(text, Some(length))] => {
                    assert_eq!(u64::from(*length), number % 300);
                    assert!(text.iter().all(|&letter| letter == b'x'));
                }
                _ => panic!("{hit:?}"),
            }
        }
        if round % 3 == 0 {
            if let Some(lines) = babeltrace(&trace, &[]) {
                assert_eq!(lines.len(), count);
            }
        }
        all += count;
    }
    note!("{rounds} times, {all} hits");
}

#[test]
fn a_program_without_the_variable_makes_nothing() {
    let inner = |folder: &Path| {
        (0..100).for_each(hit);
        assert!(simple_markers_recorder::probes().all(|probe| !probe.is_armed()));
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    };
    run("a_program_without_the_variable_makes_nothing", inner, |_| ());
}

#[test]
fn a_program_says_why_it_does_not_record() {
    let test = "a_program_says_why_it_does_not_record";
    if inside(test).is_some() {
        return (0..100).for_each(hit);
    }
    let folder = Folder::new(test);
    let said = |patterns: &str, output: &str| {
        let mut command = command(test, folder.path());
        command.env("SIMPLE_MARKERS_RECORD", patterns).env("SIMPLE_MARKERS_OUTPUT", output);
        let output = command.current_dir(folder.path()).output().unwrap();
        succeeded(&output);
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(said("queue:*", "trace"), "simple-markers: no probe matches queue:*\n");
    let missing = "missing/trace";
    let path = folder.path().join(missing);
    let error = format!("nothing is recorded in {missing}: the folder cannot be made (error 2)\n");
    assert_eq!(said("test:*", missing), format!("simple-markers: {error}"));
    assert!(!path.exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // A relative folder, and the same one again.
    assert_eq!(said("test:two", "trace"), "");
    assert_eq!(said("test:two", "trace"), "");
    assert_eq!(said("test:two", ""), "");
    let mut names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["simple-markers-", "trace", "trace-"]);
}

fn main() -> std::process::ExitCode {
    harness::main()
}
