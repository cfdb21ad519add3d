//! Random trees of processes: hits equal what the processes themselves write down. They fork, vfork, spawn, execute
//! other programs from any thread, and as root in mount, user and PID namespaces and with another root. Some children
//! and threads are waited for at once, and others at the end, so many run at the same time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use simple_markers_tests::fixture;
use simple_markers_tests::tools::{Choices, output, run, skipped, tries_everything};
use simple_markers_tests::watched::{can_watch, compile};

use crate::trace::hits;

/// What both sources use: 200 is the folder /proc, which also has a process's number where it has another one itself,
/// and 201 the log.
const COMMON: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "simple_marker.h"

static void write_down(int number) {
    char process[32] = "", line[64];
    if (readlinkat(200, "self", process, sizeof process - 1) < 0)
        abort();
    int size = snprintf(line, sizeof line, "%s %s %d\n", TEXT, process, number);
    if (write(201, line, size) != size)
        abort();
}
"#;

/// Does what its last argument says, and writes a line for each pass of a marker.
const NODE: &str = r#"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

void at_library(int number);

extern char **environ;
static char **arguments;
static int number;
static pthread_t late[64];
static int late_count;

static void pass(void) {
    int now = __atomic_fetch_add(&number, 1, __ATOMIC_SEQ_CST);
    __asm__ volatile("nop");
    simple_mark_keep(NAME, "%d", now);
    __asm__ volatile("nop");
    write_down(now);
}

static void handler(int signal) {
    (void)signal;
    pass();
}

static const char *run(const char *spec);

static void *thread(void *spec) {
    run(spec);
    return 0;
}

/* A thread that is started late is started by one before it in the list, or by one that has been joined. */
static void join_all(void) {
    for (int i = 0; i < __atomic_load_n(&late_count, __ATOMIC_SEQ_CST); i++)
        pthread_join(late[i], 0);
}

static void check(int status) {
    if (status)
        _exit(97);
}

static int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) != child)
        if (errno != EINTR)
            return 1;
    return status;
}

static void finish(void) {
    int status;
    join_all();
    for (;;) {
        if (wait(&status) > 0)
            check(status);
        else if (errno != EINTR)
            return;
    }
}

/* The programs are the arguments 2 to 4, 5 is a path that only a mount makes one of them, and 6 another root. */
static pid_t start(char what, int program, char *copy) {
    char *all[] = {arguments[program], arguments[1], arguments[2], arguments[3], arguments[4],
                   arguments[5], arguments[6], copy, 0};
    char *path = arguments[program];
    pid_t child = 0;
    if (what == 'p')
        return posix_spawn(&child, path, 0, 0, all, environ) ? -1 : child;
    if (what == 'v') {
        child = vfork();
        if (child == 0) {
            execv(path, all);
            _exit(99);
        }
        return child;
    }
    if (what != 'x' && (child = fork()) != 0)
        return child;
    if (what == 'f') {
        late_count = 0;
        run(copy);
        finish();
        _exit(0);
    }
    if (what == 'n') {
        path = arguments[5];
        if (unshare(CLONE_NEWNS) || mount(0, "/", 0, MS_REC | MS_PRIVATE, 0)
            || mount(arguments[program], path, 0, MS_BIND, 0))
            _exit(98);
    }
    if (what == 'u') {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID))
            _exit(98);
        child = fork();
        if (child)
            _exit(wait_for(child) ? 97 : 0);
    }
    if (what == 'c' && (chroot(arguments[6]) || chdir("/")))
        _exit(98);
    execv(path, all);
    _exit(99);
}

static int inside(const char *spec) {
    int depth = 0, size = 0;
    do {
        depth += spec[size] == '(' ? 1 : spec[size] == ')' ? -1 : 0;
        size++;
    } while (depth > 0);
    return size - 2;
}

static const char *run(const char *spec) {
    while (*spec && *spec != ')') {
        char what = *spec++;
        if (what == 'm')
            pass();
        else if (what == 's')
            raise(SIGUSR1);
        else if (what == 'l')
            at_library(1);
        else {
            int program = 2 + (*spec++ - '0'), is_late = *spec++ == '&';
            int size = inside(spec);
            const char *sub = spec + 1;
            spec += size + 2;
            if (what == 't' && is_late) {
                int place = __atomic_fetch_add(&late_count, 1, __ATOMIC_SEQ_CST);
                pthread_create(&late[place], 0, thread, (void *)sub);
            } else if (what == 't') {
                pthread_t other;
                pthread_create(&other, 0, thread, (void *)sub);
                pthread_join(other, 0);
            } else {
                /* All other threads end there. */
                if (what == 'x')
                    join_all();
                pid_t child = start(what, program, strndup(sub, size));
                if (child < 0)
                    _exit(95);
                if (!is_late)
                    check(wait_for(child));
            }
        }
    }
    return spec;
}

int main(int count, char **values) {
    if (count != 8)
        return 96;
    arguments = values;
    if (fcntl(201, F_GETFD) < 0)
        if (dup2(open("/proc", O_PATH | O_DIRECTORY), 200) < 0
            || dup2(open(values[1], O_WRONLY | O_APPEND | O_CREAT, 0600), 201) < 0)
            return 94;
    signal(SIGUSR1, handler);
    at_library(2);
    run(values[7]);
    finish();
    return 0;
}
"#;

const LIBRARY: &str = r#"
void at_library(int number) {
    __asm__ volatile("nop");
    simple_mark_keep(NAME, "%d", number);
    __asm__ volatile("nop");
    write_down(number);
}
"#;

/// Random numbers that are always the same.
struct Random(Choices);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0.below(most)
    }

    /// What a process or a thread does. `left` is how many more there may be. Kinds are the letters of what it may
    /// start.
    fn spec(&mut self, depth: u32, left: &mut u32, kinds: &str) -> String {
        let mut spec = String::new();
        for _ in 0..=self.below(4) {
            if depth == 0 || *left == 0 || self.below(3) == 0 {
                spec.push(['m', 'm', 's', 'l'][self.below(4) as usize]);
                continue;
            }
            *left -= 1;
            let kind = kinds.as_bytes()[self.below(kinds.len() as u64) as usize] as char;
            let is_late = kind != 'x' && self.below(2) == 0;
            let inner = match kind {
                // The process goes on beside it, and must not end within a pass.
                't' if is_late => kinds.replace('x', ""),
                't' => kinds.to_owned(),
                // Without the rights that the others need.
                'u' | 'c' => PLAIN.to_owned(),
                _ if kinds.contains('n') => format!("{PLAIN}{NAMESPACES}"),
                _ => PLAIN.to_owned(),
            };
            let inner = self.spec(depth - 1, left, &inner);
            spec.push_str(&format!("{kind}{}{}({inner})", self.below(3), if is_late { '&' } else { '.' }));
        }
        spec.push('m');
        spec
    }
}

/// What needs no right: fork, execute in a child, the same by vfork and by `posix_spawn`, a thread, and to execute.
const PLAIN: &str = "fevptx";
/// A mount namespace, a user and a PID namespace, and another root.
const NAMESPACES: &str = "nuc";

/// How often each marker has each value in each process.
type Passes = BTreeMap<(String, u64, i64), u64>;

fn programs(folder: &Path) -> Vec<PathBuf> {
    let one = |name: &str| {
        let of = |source: &str, marker: &str| source.replace("NAME", marker).replace("TEXT", &format!("\"{marker}\""));
        let source = of(&format!("{COMMON}{LIBRARY}"), &format!("tree:library_{name}"));
        let library = compile(folder, &format!("lib{name}.so"), &source, &["-shared", "-fPIC"]);
        let object = library.to_str().expect("UTF-8");
        compile(folder, name, &of(&format!("{COMMON}{NODE}"), &format!("tree:{name}")), &["-Wl,--no-as-needed", object])
    };
    ["one", "two", "three"].map(one).to_vec()
}

/// A root with copies of the programs and of all that they need, under the same paths.
fn another_root(folder: &Path, programs: &[PathBuf]) -> PathBuf {
    let root = folder.join("root");
    for program in programs {
        let needed = run(Command::new("ldd").arg(program));
        let paths = needed.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new);
        for path in paths.chain([program.as_path()]) {
            let inside = root.join(path.strip_prefix("/").expect("an absolute path"));
            std::fs::create_dir_all(inside.parent().expect("a folder")).expect("a folder");
            std::fs::copy(path, &inside).expect("a copy");
        }
    }
    root
}

/// The shared objects are linked by their paths, so they are found without any search.
#[test]
fn hits_in_random_trees_are_what_the_processes_write_down() {
    if !can_watch() {
        return;
    }
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    if !is_root {
        return skipped("trees are traced by root");
    }
    let has_namespaces = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success())
        && Command::new("unshare").args(["-U", "-p", "-f", "true"]).status().is_ok_and(|status| status.success());
    let kinds = if has_namespaces { format!("{PLAIN}{NAMESPACES}") } else { PLAIN.to_owned() };
    let folder = tempfile::tempdir().expect("a folder");
    let programs = programs(folder.path());
    let root = another_root(folder.path(), &programs);
    let mounted = folder.path().join("mounted");
    std::fs::copy("/bin/true", &mounted).expect("a copy");
    let mut all = Passes::new();
    for seed in 0..if tries_everything() { 40 } else { 5 } {
        let spec = Random(Choices::new(seed)).spec(4, &mut 16, &kinds);
        let log = folder.path().join(format!("log{seed}"));
        let mut smark = Command::new(fixture::smark());
        smark.args(["trace", "--json", "--"]);
        // What is started has markers itself, or has none.
        match seed % 3 {
            0 => smark.arg(&programs[0]),
            1 => smark.args(["sh", "-c", "\"$0\" \"$@\"; exit $?"]).arg(&programs[0]),
            _ => smark.args(["timeout", "60"]).arg(&programs[0]),
        };
        smark.arg(&log).args(&programs).arg(&mounted).arg(&root).arg(&spec).stdin(Stdio::null());
        let output = output(&mut smark);
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        let (found, end) = hits(&lines);
        assert_eq!((&end["exit"], &end["lost"]), (&0.into(), &0.into()), "{seed}: {spec}: {said}");
        let (mut seen, mut written) = (Passes::new(), Passes::new());
        for hit in &found {
            let name = hit["marker"].as_str().expect("a name").to_owned();
            let (pid, value) = (hit["pid"].as_u64().expect("a number"), hit["args"][0]["value"].as_i64());
            *seen.entry((name, pid, value.expect("a number"))).or_default() += 1;
        }
        for line in std::fs::read_to_string(&log).expect("the log").lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [name, pid, value] = words[..] else { panic!("{line}") };
            let key = (name.to_owned(), pid.parse().expect("a number"), value.parse().expect("a number"));
            *written.entry(key).or_default() += 1;
        }
        assert_eq!(seen, written, "{seed}: {spec}: {said}");
        all.extend(written);
    }
    let processes: std::collections::BTreeSet<u64> = all.keys().map(|(_, pid, _)| *pid).collect();
    assert!(processes.len() >= 15, "only {} processes", processes.len());
}
