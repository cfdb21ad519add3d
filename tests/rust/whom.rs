//! Which processes and files are watched, and what is said when nothing is.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal as signals;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{find, output, run, skipped};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};

use crate::trace::{hits, numbers};

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0)
}

/// Passes a marker as often as its argument says, and then waits for its standard input to end. If that is -1, it
/// creates a file and passes the marker until it is killed.
fn program(folder: &Path, name: &str, marker: &str) -> PathBuf {
    let source = r#"
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        #include "simple_marker.h"
        __attribute__((noinline)) static void at(int i) {
            __asm__ volatile("nop");
            simple_mark_keep(NAME, "%d", i);
            __asm__ volatile("nop");
        }
        __attribute__((noinline)) static void elsewhere(int i) {
            __asm__ volatile("nop");
            simple_mark_keep(silent:elsewhere, "%d", i);
            __asm__ volatile("nop");
        }
        int main(int count, char **values) {
            int most = atoi(values[1]);
            char byte;
            for (int i = 0; i < most; i++)
                at(i);
            if (most < 0 && count > 2)
                close(creat(values[2], 0600));
            if (most < 0)
                for (int i = 0;; i++) {
                    at(i);
                    usleep(1000);
                }
            if (most > 1000)
                elsewhere(most);
            return count > 2 ? (int)read(0, &byte, 1) : 3;
        }"#;
    compile(folder, name, &source.replace("NAME", marker), &[])
}

fn smark(arguments: &[&str], command: &[&str]) -> Output {
    let mut smark = Command::new(fixture::smark());
    output(smark.args(arguments).args(command).stdin(Stdio::null()))
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A process that passes a marker all the time. It ends with the value.
struct Running(Process);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(Process::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// Waits until the process runs a program of this name.
    fn wait_for(&self, name: &str) {
        let since = Instant::now();
        let comm = || fs::read_to_string(format!("/proc/{}/comm", self.0.id())).unwrap_or_default();
        while comm().trim() != name {
            assert!(since.elapsed() < Duration::from_secs(20), "it is not started: {}", comm());
            sleep(Duration::from_millis(2));
        }
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn programs_that_wrappers_start_are_watched() {
    if !can_watch() {
        return;
    }
    if !is_root() {
        return skipped("children are traced by root");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path(), "wrapped", "wrapped:at");
    let path = text(&program);
    fs::write(folder.path().join("Makefile"), format!("test:\n\t@{path} 2; {path} 3 || true\n")).expect("a file");
    let of_make = format!("make -s -C {} test", text(folder.path()));
    let wrapped: [(&str, i32, &[i64]); 4] = [
        (&format!("{path} 3"), 3, &[0, 1, 2]),
        (&format!("timeout 60 {path} 3"), 3, &[0, 1, 2]),
        (&format!("{path} 1; {path} 2; exit 9"), 9, &[0, 0, 1]),
        (&of_make, 0, &[0, 1, 0, 1, 2]),
    ];
    for (command, status, expected) in wrapped {
        let output = smark(&["trace", "--json", "wrapped:*", "--", "sh", "-c", command], &[]);
        let (found, end) = hits(&lines(&output));
        assert_eq!(
            (numbers(&found, "wrapped:at"), output.status.code()),
            (expected.to_vec(), Some(status)),
            "{command}"
        );
        assert_eq!((&end["exit"], &end["lost"]), (&status.into(), &0.into()), "{command}");
        assert!(said(&output).contains("watching 1 site of 1 marker in 1 file"), "{}", said(&output));
    }
    let output = smark(&["count", "--json", "--", "sh", "-c", &of_make], &[]);
    assert!(lines(&output)[0].contains(r#""hits":5"#), "{:?}", lines(&output));
    // Nothing is said to be missing that a child has, and what nobody has is an error at the end.
    let output = smark(&["trace", "silent:none", "--", "sh", "-c", &format!("{path} 1; exit 0")], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("no name matches `silent:none`")
            || said(&output).contains("no marker matches `silent:none`"),
        "{}",
        said(&output)
    );
}

#[test]
fn what_is_mapped_is_watched_wherever_it_lies() {
    if !can_watch() {
        return;
    }
    if !is_root() {
        return skipped("files of other namespaces are read by root");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let inside = program(folder.path(), "inside", "inside:at");
    let outside = program(folder.path(), "outside", "outside:at");
    let mut watched = Vec::new();
    // Another file has its path here.
    if Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success()) {
        let script = r#"mount --bind "$0" "$1" && exec "$1" -1"#;
        let process =
            Running::start(Command::new("unshare").args(["-m", "sh", "-c", script]).arg(&inside).arg(&outside));
        process.wait_for("outside");
        watched.push(process);
    }
    // Its file was removed, and another one has the path of the second one.
    for name in ["removed", "replaced"] {
        let path = folder.path().join(name);
        fs::copy(&inside, &path).expect("a copy");
        let process = Running::start(Command::new(&path).arg("-1"));
        process.wait_for(name);
        fs::remove_file(&path).expect("it is removed");
        if name == "replaced" {
            fs::copy(&outside, &path).expect("a copy");
        }
        watched.push(process);
    }
    for process in &watched {
        let exe = format!("/proc/{}/exe", process.pid());
        for what in [&["-p", &process.pid()][..], &[&exe]] {
            let output = smark(&["trace", "--json", "--limit", "3"], what);
            let (found, _) = hits(&lines(&output));
            assert_eq!((numbers(&found, "inside:at").len(), found.len()), (3, 3), "{what:?}: {}", said(&output));
        }
    }
    let root = format!("/proc/{}/root{}", watched[0].pid(), text(&outside));
    let output = smark(&["trace", "--json", "--limit", "2", &root], &[]);
    assert_eq!(hits(&lines(&output)).0.len(), 2, "{}", said(&output));
    // Several processes in one option.
    let pids: Vec<String> = watched.iter().map(Running::pid).collect();
    for list in [pids.join(" "), pids.join(",")] {
        let output = smark(&["trace", "--json", "--limit", "100", "-p", &list], &[]);
        let (found, _) = hits(&lines(&output));
        let seen = |pid: &String| found.iter().any(|hit| hit["pid"].as_u64() == pid.parse().ok());
        assert!(pids.iter().all(seen), "{list}: {}", said(&output));
    }
}

#[test]
fn a_file_that_becomes_another_program_is_watched_anew() {
    if !can_watch() {
        return;
    }
    if !is_root() {
        return skipped("children are traced by root");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let first = program(folder.path(), "first", "first:at");
    let second = program(folder.path(), "second", "second:at");
    let built = folder.path().join("built");
    // Into the same file, in its place, and after it was removed.
    for build in ["cat \"$1\" > \"$2\"", "cp \"$1\" \"$2.new\"; mv \"$2.new\" \"$2\"", "rm \"$2\"; cp \"$1\" \"$2\""] {
        fs::copy(&first, &built).expect("a copy");
        let script = format!("\"$2\" 2; {build}; \"$2\" 3; \"$2\" 1");
        let (first, second, built) = (text(&first), text(&second), text(&built));
        let output = smark(&["trace", "--json", "--", "sh", "-c", &script, first, second, built], &[]);
        let (found, _) = hits(&lines(&output));
        let values = (numbers(&found, "first:at"), numbers(&found, "second:at"));
        assert_eq!(values, (vec![0, 1], vec![0, 1, 2, 0]), "{build}: {}", said(&output));
    }
}

/// Prints what a program and its children learn of signals, stops and their users.
const SIGNALS: &str = r#"
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void handler(int signal, siginfo_t *info, void *context) {
    (void)context;
    char line[96];
    int size = snprintf(line, sizeof line, "signal %d code %d value %d\n", signal, info->si_code,
                        info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);
    (void)!write(1, line, size);
}
int main(int count, char **values) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGRTMIN + 3, &action, 0);
    sigaction(SIGTRAP, &action, 0);
    sigaction(SIGCONT, &action, 0);
    int status, ends[2];
    setvbuf(stdout, 0, _IONBF, 0);
    printf("pipe %d\n", pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        __asm__ volatile("int3");
        raise(SIGSTOP);
        union sigval value = {.sival_int = 42};
        sigqueue(getpid(), SIGRTMIN + 3, value);
        (void)!write(ends[1], "x", 1);
        for (;;)
            pause();
    }
    while (waitpid(child, &status, WUNTRACED) == child && !WIFSTOPPED(status))
        ;
    printf("stopped %d by %d\n", WIFSTOPPED(status), WSTOPSIG(status));
    kill(child, SIGCONT);
    while (waitpid(child, &status, WCONTINUED) != child)
        ;
    char byte;
    (void)!read(ends[0], &byte, 1);
    // The child has printed its lines.
    printf("continued %d\n", WIFCONTINUED(status));
    kill(child, SIGTERM);
    while (waitpid(child, &status, 0) != child)
        ;
    printf("ended by %d\n", WTERMSIG(status));
    if (vfork() == 0) {
        execl("/bin/sh", "sh", "-c", "kill -SEGV $$", (char *)0);
        _exit(1);
    }
    wait(&status);
    printf("ended by %d\n", WTERMSIG(status));
    if (count > 1 && fork() == 0) {
        execl(values[1], values[1], "-u", (char *)0);
        _exit(1);
    }
    wait(&status);
    return 0;
}
"#;

#[test]
fn programs_run_as_they_do_alone() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is open");
    let signals = compile(folder.path(), "signals", SIGNALS, &[]);
    // Runs with the rights of its file.
    let id = folder.path().join("id");
    fs::copy(find("id").unwrap_or_else(|| "/usr/bin/id".into()), &id).expect("a copy");
    if is_root() {
        std::os::unix::fs::chown(&id, Some(65534), None).expect("it has another owner");
        fs::set_permissions(&id, fs::Permissions::from_mode(0o4755)).expect("it has its rights");
    }
    let alone = output(Command::new(&signals).arg(&id));
    let output = smark(&["trace", "-q", "--", text(&signals), text(&id)], &[]);
    assert_eq!(lines(&output), lines(&alone), "{}", said(&output));
    assert!(lines(&alone).iter().any(|line| line == "stopped 1 by 19"), "{:?}", lines(&alone));
    assert!(!is_root() || lines(&alone).iter().any(|line| line == "65534"), "{:?}", lines(&alone));
    let output = smark(&["trace", "-q", "--", "sh", "-c", "kill -KILL $$"], &[]);
    assert_eq!(output.status.code(), Some(128 + 9));
}

#[test]
fn tracers_trace_their_programs() {
    if !can_watch() || find("gdb").is_none() || !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path(), "debugged", "debugged:at");
    let gdb =
        ["trace", "--", "gdb", "-nx", "-batch", "-ex", "break main", "-ex", "run 2", "-ex", "continue", text(&program)];
    let output = smark(&gdb, &[]);
    assert!(lines(&output).iter().any(|line| line.contains("exited with code 03")), "{:?}", lines(&output));
    assert!(said(&output).contains("gdb: it may trace processes itself"), "{}", said(&output));
}

#[test]
fn tracers_find_what_their_arguments_name() {
    if !can_watch() || !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path(), "short", "short:at");
    let name = text(&program);
    let perf = folder.path().join("perf.data");
    let gdb = ["gdb", "-nx", "-batch", "-ex", "run", "--args", name, "3"];
    let commands: [&[&str]; 3] =
        [&["strace", "-f", "-o", "/dev/null", name, "3"], &gdb, &["perf", "record", "-o", text(&perf), name, "3"]];
    // gdb writes its lines in pieces, so the hits go to a file.
    let written = folder.path().join("hits");
    let trace = ["trace", "--json", "--force", "-o", text(&written), "--"];
    let found = || {
        let written = fs::read_to_string(&written).expect("the hits");
        let lines: Vec<String> = written.lines().map(str::to_owned).collect();
        numbers(&hits(&lines).0, "short:at")
    };
    // The program ends long before it could be looked at. All of its hits are seen.
    for command in commands.into_iter().filter(|command| find(command[0]).is_some()) {
        let output = smark(&trace, command);
        assert_eq!(found(), [0, 1, 2], "{command:?}: {}", said(&output));
    }
    if find("gdb").is_none() {
        return;
    }
    // One that is watched already can be attached to, and is watched on.
    let script = "\"$0\" -1 & sleep 0.3; gdb -nx -batch -p $! -ex 'info inferiors' 2>&1; sleep 0.3; kill $!";
    let output = smark(&trace, &["sh", "-c", script, name]);
    let printed = lines(&output);
    let is_attached = |line: &String| line.contains("process") && line.contains("(native)");
    assert!(printed.iter().any(is_attached), "{printed:?} {}", said(&output));
    assert!(said(&output).contains(" is left to "), "{}", said(&output));
    let found = found();
    assert!(found.len() > 50, "{}", found.len());
    assert_eq!(found, (0..found.len() as i64).collect::<Vec<_>>());
}

/// Passes a marker at once, and writes down the number of its process. It takes a while to be resolved.
fn large(folder: &Path, name: &str, first: &str, flags: &[&str]) -> PathBuf {
    let function = |number: usize| {
        format!(
            "void NAME{number}(int i) {{ __asm__ volatile(\"nop\"); simple_mark_keep(NAME:more{number}, \"%d\", i); }}\n"
        )
    };
    let more: String = (0..300).map(function).collect();
    let source = format!("#include <stdio.h>\n#include <unistd.h>\n#include \"simple_marker.h\"\n{more}{first}");
    compile(folder, name, &source.replace("NAME", name.trim_end_matches(".so")), flags)
}

/// All of them wait for the file, and not only the first one.
#[test]
fn a_new_program_that_is_executed_many_times_at_once_is_watched() {
    if !can_watch() || !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let pass =
        "__asm__ volatile(\"nop\"); simple_mark_keep(NAME:first, \"%d\", (int)getpid()); __asm__ volatile(\"nop\");";
    let write = "char line[32]; int size = snprintf(line, 32, \"NAME %d\\n\", (int)getpid()); return write(1, line, size) != size;";
    let program = large(folder.path(), "program", &format!("int main(void) {{ {pass} {write} }}"), &[]);
    let constructor = format!("__attribute__((constructor)) void first(void) {{ {pass} }} void used(void) {{}}");
    let library = large(folder.path(), "library.so", &constructor, &["-shared", "-fPIC"]);
    let user =
        format!("#include <stdio.h>\n#include <unistd.h>\nvoid used(void); int main(void) {{ used(); {write} }}");
    let source = user.replace("NAME", "library");
    let user = |name: &str| compile(folder.path(), name, &source, &["-Wl,--no-as-needed", text(&library)]);
    // The programs are different files here, so each of them maps the library for the first time.
    let users: Vec<PathBuf> = (0..8).map(|number| user(&format!("user{number}"))).collect();
    for (programs, name) in [(vec![&program; 8], "program"), (users.iter().collect(), "library")] {
        fs::write(&log, "").expect("a file");
        let script = "log=\"$0\"; for program; do \"$program\" >> \"$log\" & done; wait";
        let mut command = vec!["trace", "--json", "--", "sh", "-c", script, text(&log)];
        command.extend(programs.into_iter().map(|it| text(it)));
        let output = smark(&command, &[]);
        let (found, end) = hits(&lines(&output));
        let mut found = numbers(&found, &format!("{name}:first"));
        let log = fs::read_to_string(&log).expect("the log");
        let passed = log.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse::<i64>().ok());
        let mut passed: Vec<i64> = passed.collect();
        found.sort_unstable();
        passed.sort_unstable();
        assert_eq!((passed.len(), &end["lost"]), (8, &0.into()), "{log}");
        assert_eq!(found, passed, "{name}: {}", said(&output));
    }
}

/// A program that was executed before is not looked at again, unless something says that its loader maps
/// other libraries now.
#[test]
fn other_libraries_of_a_known_program_are_watched() {
    if !can_watch() || !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = |marker: &str| {
        let source = "#include \"simple_marker.h\"\n__attribute__((constructor)) void NAME(void) { \
                      __asm__ volatile(\"nop\"); simple_mark(other:NAME, \"\"); __asm__ volatile(\"nop\"); }\nvoid used(void) {}\n";
        source.replace("NAME", marker)
    };
    let library = |path: &str, marker: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        compile(
            path.parent().expect("a folder"),
            path.file_name().and_then(|it| it.to_str()).expect("UTF-8"),
            &source(marker),
            &["-shared", "-fPIC", "-Wl,-soname,libx.so"],
        )
    };
    let preloaded = library("preloaded.so", "preloaded");
    let (last, first) = (library("last/libx.so", "last"), library("later/libx.so", "first"));
    let quiet = compile(folder.path(), "quiet", "int main(void) { return 0; }", &[]);
    let paths = format!("-Wl,-rpath,{0}/first:{0}/last", text(folder.path()));
    let with_path = compile(
        folder.path(),
        "with_path",
        "void used(void); int main(void) { used(); return 0; }",
        &["-Wl,--no-as-needed", text(&last), &paths],
    );
    let script = "set -e; \"$0\"; \"$0\"; \"$0\"; LD_PRELOAD=\"$1\" \"$0\"; \"$0\"; LD_PRELOAD=\"$1\" \"$0\"";
    let output = smark(&["trace", "--json", "--", "sh", "-c", script, text(&quiet), text(&preloaded)], &[]);
    let (found, _) = hits(&lines(&output));
    let of = |found: &[serde_json::Value], name: &str| found.iter().filter(|hit| hit["marker"] == name).count();
    assert_eq!(of(&found, "other:preloaded"), 2, "{}", said(&output));
    // Another file is found first from the third run on.
    let script = "set -e; cd \"$1\"; \"$0\"; \"$0\"; mv later first; \"$0\"; \"$0\"";
    let output = smark(&["trace", "--json", "--", "sh", "-c", script, text(&with_path), text(folder.path())], &[]);
    let (found, _) = hits(&lines(&output));
    assert_eq!([of(&found, "other:last"), of(&found, "other:first")], [2, 2], "{} {first:?}", said(&output));
}

#[test]
fn a_program_goes_on_when_its_tracer_is_killed() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let done = folder.path().join("done");
    let begun = folder.path().join("begun");
    let script = r#"echo > "$1"; for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; sleep 0.01; done; echo yes > "$0""#;
    for wait in [0, 10, 60] {
        let mut smark = Command::new(fixture::smark());
        smark.args(["trace", "-q", "--", "sh", "-c", script]).arg(&done).arg(&begun);
        let mut smark = Process::start(smark.stdout(Stdio::null()).stderr(Stdio::null()));
        let since = Instant::now();
        let wait_for = |what: &str, is_so: &dyn Fn() -> bool| {
            while !is_so() {
                assert!(since.elapsed() < Duration::from_secs(60), "{what}");
                sleep(Duration::from_millis(2));
            }
        };
        wait_for("the program does not start", &|| begun.exists());
        sleep(Duration::from_millis(wait));
        smark.kill().expect("it is killed");
        smark.wait().expect("it ends");
        let has_run = || fs::read_to_string(&done).is_ok_and(|text| text == "yes\n");
        wait_for("the program stands still", &has_run);
        fs::remove_file(&begun).and_then(|()| fs::remove_file(&done)).expect("they are removed");
    }
}

#[test]
fn a_signal_ends_the_program() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path(), "endless", "endless:at");
    let begun = folder.path().join("begun");
    let trap = format!("trap 'exit 9' TERM; touch {}; while :; do sleep 0.02; done", begun.display());
    let direct = [text(&program), "-1", text(&begun)];
    for (command, signal, status) in [(&direct[..], 15, 143), (&direct, 2, 130), (&["sh", "-c", &trap], 15, 9)] {
        let mut smark = Command::new(fixture::smark());
        smark.args(["trace", "--json", "--"]).args(command).stdout(Stdio::piped()).stderr(Stdio::null());
        // A shell starts what is in its background with interrupts ignored, and a program inherits that.
        let hears_interrupts = || {
            // SAFETY: no handler is set.
            unsafe { signals::signal(signals::Signal::SIGINT, signals::SigHandler::SigDfl) }?;
            Ok(())
        };
        // SAFETY: the system call is allowed between fork and exec.
        unsafe { smark.pre_exec(hears_interrupts) };
        let smark = smark.spawn().expect("smark runs");
        let since = Instant::now();
        while !begun.exists() {
            assert!(since.elapsed() < Duration::from_secs(60), "{command:?} does not start");
            sleep(Duration::from_millis(10));
        }
        fs::remove_file(&begun).expect("it is removed");
        run(Command::new("kill").arg(format!("-{signal}")).arg(smark.id().to_string()));
        let output = smark.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(status), "{command:?} {signal}");
        assert_eq!(hits(&lines(&output)).1["exit"], status, "{command:?} {signal}");
    }
}

#[test]
fn nothing_wakes_up_while_nothing_happens() {
    if !can_watch() {
        return;
    }
    // Whoever watches a FILE is told what is removed from the folders above it, and other tests use /tmp.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let program = program(folder.path(), "idle", "idle:at");
    let recordings = ["by command", "by pid"].map(|name| folder.path().join(name));
    let file = text(&program);
    let mut all = vec![
        (vec!["trace"], false),
        (vec!["trace"], true),
        (vec!["count"], false),
        (vec!["count"], true),
        (vec!["record", "-o", text(&recordings[0])], false),
        (vec!["record", "-o", text(&recordings[1])], true),
        // A FILE is not looked at again and again either.
        (vec!["trace", file], false),
        (vec!["trace", file], true),
        // No more hits are wanted, and the program runs on.
        (vec!["trace", "--limit", "1"], false),
        (vec!["trace", "--no-children", "--limit", "1"], false),
    ];
    if can_watch_with_tracefs() {
        all.extend([false, true].map(|by_pid| (vec!["trace", "--engine", "tracefs"], by_pid)));
        all.push((vec!["trace", "--engine", "tracefs", "--limit", "1"], false));
    }
    std::thread::scope(|scope| {
        for (arguments, by_pid) in &all {
            scope.spawn(|| falls_asleep(&program, arguments, *by_pid));
        }
    });
}

/// Asserts that `smark` sleeps after what the program does at its start.
fn falls_asleep(program: &Path, arguments: &[&str], by_pid: bool) {
    let waiting = ["5", "wait"];
    let mut smark = Command::new(fixture::smark());
    smark.args(arguments).arg("-q").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = by_pid.then(|| {
        let process = Command::new(program).args(waiting).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        process.expect("it starts")
    });
    match &running {
        Some(process) => smark.arg("-p").arg(process.id().to_string()),
        None => smark.arg("--").arg(program).args(waiting),
    };
    let mut smark = Process::start(&mut smark);
    wait_until_asleep(smark.id(), &format!("{arguments:?} by_pid {by_pid}"));
    drop(smark.stdin.take());
    if let Some(mut process) = running {
        drop(process.stdin.take());
        process.wait().expect("it ends");
    }
    smark.wait().expect("it ends");
}

/// The events of a thread tell when it has ended, and go on to tell it whenever they are asked.
#[test]
fn a_thread_that_ends_wakes_nobody_for_ever() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = r#"
        #include <pthread.h>
        #include <stdio.h>
        #include <unistd.h>
        #include "simple_marker.h"
        static void *until_told(void *said) {
            char byte;
            *(long *)said = read(0, &byte, 1);
            simple_mark_keep(ends:thread, "%p", said);
            return NULL;
        }
        int main(void) {
            long said = 0;
            char byte;
            pthread_t thread;
            pthread_create(&thread, NULL, until_told, &said);
            pthread_join(thread, NULL);
            return puts("joined") < 0 || fflush(stdout) || read(0, &byte, 1) < 0;
        }"#;
    let program = compile(folder.path(), "ends", source, &["-pthread"]);
    let mut running = Process::start(Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--json", "-p", &running.id().to_string()]).stdout(Stdio::piped());
    let mut smark = Process::start(smark.stderr(Stdio::piped()));
    // It watches when it says so.
    let mut said = BufReader::new(smark.stderr.take().expect("a pipe")).lines();
    assert!(said.next().is_some_and(|line| line.is_ok_and(|line| line.contains("watching 1 site "))));
    let mut input = running.stdin.take().expect("a pipe");
    input.write_all(b"\n").expect("the thread is told");
    let mut joined = BufReader::new(running.stdout.take().expect("a pipe")).lines();
    assert!(joined.next().is_some_and(|line| line.is_ok_and(|line| line == "joined")));
    wait_until_asleep(smark.id(), "a thread has ended");
    drop(input);
    let mut hits = BufReader::new(smark.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    assert!(hits.next().is_some_and(|line| line.contains("ends:thread")));
    assert!(smark.wait().expect("it ends").success());
}

/// The most CPU time that a process that sleeps uses in 1.1 seconds, in ns.
const MOST_TIME: u64 = 100_000_000;

/// Waits until a process wakes up at most twice in 1.1 seconds, and does next to nothing, and that again.
pub(crate) fn wait_until_asleep(process: u32, what: &str) {
    let threads = || {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("its threads");
        tasks.flatten().map(|task| task.path())
    };
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    let switches = |thread: PathBuf| {
        let status = read(thread.join("status"));
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    // A thread that asks again and again does not sleep: it uses time (`sched-stats` of the kernel).
    let time = |thread: PathBuf| {
        let status = read(thread.join("schedstat"));
        status.split(' ').next().and_then(|time| time.parse::<u64>().ok()).unwrap_or(0)
    };
    // A recording is written at the latest a second after its first hit.
    let (since, mut windows) = (Instant::now(), Vec::new());
    let read = || -> (u64, u64) { (threads().map(switches).sum(), threads().map(time).sum()) };
    let mut last = read();
    let is_quiet = |window: &(u64, u64)| window.0 <= 2 && window.1 <= MOST_TIME;
    let is_asleep = |windows: &[(u64, u64)]| windows.len() >= 2 && windows.iter().rev().take(2).all(is_quiet);
    while !is_asleep(&windows) && since.elapsed() < Duration::from_secs(15) {
        sleep(Duration::from_millis(1100));
        let now = read();
        windows.push((now.0.saturating_sub(last.0), now.1.saturating_sub(last.1)));
        last = now;
    }
    assert!(is_asleep(&windows), "{what}: wake-ups and ns in 1.1 s each: {windows:?}");
}

#[test]
fn the_hits_go_to_a_file() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path(), "apart", "apart:at");
    let (file, path) = (folder.path().join("hits"), text(&program));
    let output =
        smark(&["trace", "--json", "-o", text(&file), "--", "sh", "-c", &format!("echo out; exec {path} 2")], &[]);
    assert_eq!((lines(&output), output.status.code()), (vec!["out".to_owned()], Some(3)));
    let written: Vec<String> = fs::read_to_string(&file).expect("the hits").lines().map(str::to_owned).collect();
    let (found, end) = hits(&written);
    assert!(!is_root() || (numbers(&found, "apart:at"), &end["exit"]) == (vec![0, 1], &3.into()), "{written:?}");
    // Nothing is overwritten unasked, and never the program.
    let output = smark(&["trace", "-o", text(&file), "--", path, "1"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("already exists (--force overwrites it)"), "{}", said(&output));
    let output = smark(&["trace", "--force", "-o", path, "--", path, "1"], &[]);
    assert!(said(&output).contains("is an input, and inputs are never overwritten"), "{}", said(&output));
    let output = smark(&["trace", "--force", "-o", text(&file), "--every", "10s", "--", path, "7"], &[]);
    assert_eq!((lines(&output).len(), output.status.code()), (0, Some(3)), "{}", said(&output));
    let written = fs::read_to_string(&file).expect("the rates");
    assert!(written.contains(" 7 ") && written.ends_with("apart:at\n"), "{written}");
    // What was not started leaves no file.
    let missing = folder.path().join("missing");
    smark(&["trace", "-o", text(&missing), "--", "no-such-program-here"], &[]);
    assert!(!missing.exists());
}

#[test]
fn silence_is_explained() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = program(folder.path(), "silent", "silent:at");
    let path = text(&program);
    let output = smark(&["trace", "--", path, "1"], &[]);
    assert_eq!(said(&output), "smark: watching 2 sites of 2 markers in 1 file\n");
    for command in ["trace", "count"] {
        let output = smark(&[command, "--", path, "0"], &[]);
        let expected = "no hits: these markers were never reached: silent:at, silent:elsewhere";
        assert!(said(&output).contains(expected), "{}", said(&output));
        let output = smark(&[command, path, "--", "true"], &[]);
        let expected = format!("no hits: {path} was never mapped by a watched process");
        assert!(said(&output).contains(&expected), "{}", said(&output));
    }
    let output = smark(&["trace", "--where", "i == 7", "silent:at", "--", path, "2"], &[]);
    assert!(said(&output).contains("never reached, or never while the filter held: silent:at"), "{}", said(&output));
    let output = smark(&["trace", "-q", "--", path, "0"], &[]);
    assert_eq!(said(&output), "");
    // One line for all markers of a stripped program, and one for all sites with the same reason.
    run(Command::new("strip").arg(&program));
    let output = smark(&["trace", "--", path, "1"], &[]);
    assert_eq!(said(&output).matches("stripped").count(), 1, "{}", said(&output));
    assert!(said(&output).contains("its 2 markers are not watched: it was stripped"), "{}", said(&output));
    let mut source = String::from("#include \"simple_marker.h\"\n");
    source.push_str(
        "static inline __attribute__((always_inline)) void m(int a) { simple_mark_keep(gone:m, \"%d\", a); }\n",
    );
    for i in 0..5 {
        source.push_str(&format!("void f{i}(int a) {{ m(a); }}\n"));
    }
    source.push_str("int main(int count, char **v) { (void)v; m(count); return 0; }\n");
    let flags = ["-ffunction-sections", "-Wl,--gc-sections", "-fno-ipa-icf"];
    let gone = compile(folder.path(), "gone", &source, &flags);
    let output = smark(&["trace", "--", text(&gone)], &[]);
    assert!(
        said(&output).contains("gone:m: 1 of 6 sites are watched: 5 times: the linker discarded it\n"),
        "{}",
        said(&output)
    );
}

#[test]
fn what_is_left_out_is_counted_at_the_start_and_named_at_the_end() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = r#"
        #include "simple_marker.h"
        void one(int a) { simple_mark_keep(gone:one, "%d", a); }
        void other(int a) { simple_mark_keep(gone:other, "%d", a); }
        int main(int count, char **v) {
            (void)v;
            __asm__ volatile("nop");
            if (count > 1) {
                simple_mark_keep(there:at, "%d", count);
                __asm__ volatile("nop");
            }
            return 0;
        }"#;
    let program = compile(folder.path(), "gone", source, &["-ffunction-sections", "-Wl,--gc-sections"]);
    let (path, recording) = (text(&program), folder.path().join("recording"));
    for command in [&["trace"][..], &["count"], &["record", "--force", "-o", text(&recording)]] {
        let notes = |more: &[&str], program: &[&str]| {
            let output = smark(&[command, more, &["--"]].concat(), program);
            assert_eq!(output.status.code(), Some(0), "{command:?}: {}", said(&output));
            said(&output)
        };
        let is_said = |notes: &str, line: &str| notes.lines().any(|it| it.strip_prefix("smark: ") == Some(line));
        let started = "watching 1 site of 1 marker in 1 file; 2 left out: smark show";
        let with_hits = notes(&[], &[path, "1"]);
        assert!(is_said(&with_hits, started) && !with_hits.contains("no hits"), "{command:?}: {with_hits}");
        let without = notes(&[], &[path]);
        let unreached = "no hits: one marker was never reached: there:at";
        let left_out = "no hits: these markers were left out (smark show says why): gone:one, gone:other";
        for line in [started, unreached, left_out] {
            assert!(is_said(&without, line), "{command:?}: {without}");
        }
        // Of a marker that is not chosen nothing is said.
        let one = notes(&["gone:one"], &[path]);
        let left_out = "no hits: one marker was left out (smark show says why): gone:one";
        assert!(is_said(&one, left_out) && !one.contains("gone:other"), "{command:?}: {one}");
        let chosen = notes(&["there:at"], &[path, "1"]);
        assert!(is_said(&chosen, "watching 1 site of 1 marker in 1 file"), "{command:?}: {chosen}");
        let none = notes(&[], &["true"]);
        let nothing = "no hits: no program or library with selected markers was met";
        assert!(is_said(&none, nothing), "{command:?}: {none}");
    }
}
