//! Random trees of processes: hits equal what the processes themselves write down. They fork, vfork, execute other
//! programs from any thread, and as root in mount namespaces where a path is another file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use simple_markers_tests::fixture;
use simple_markers_tests::tools::{Choices, output, skipped, tries_everything};
use simple_markers_tests::watched::{can_watch, compile};

use crate::trace::hits;

/// Does what its last argument says, and writes a line for each pass of a marker.
const NODE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include "simple_marker.h"

void at_library(int log, int number);

static char **arguments;
static int log_file, number;

static void pass(void) {
    char line[64];
    int now = __atomic_fetch_add(&number, 1, __ATOMIC_SEQ_CST);
    __asm__ volatile("nop");
    simple_mark_keep(NAME, "%d", now);
    __asm__ volatile("nop");
    int size = snprintf(line, sizeof line, "%s %d %d\n", TEXT, getpid(), now);
    if (write(log_file, line, size) != size)
        abort();
}

static void handler(int signal) {
    (void)signal;
    pass();
}

/* The programs are the arguments 2 to 4, and 5 is a path that only a mount makes one of them. */
static void execute(int program, const char *spec, int size) {
    char *copy = strndup(spec, size);
    char *all[] = {arguments[program], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], copy, 0};
    execv(arguments[program], all);
    _exit(99);
}

static const char *run(const char *spec);

static void *thread(void *spec) {
    run(spec);
    return 0;
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
            at_library(log_file, 1);
        else {
            int program = 2 + (*spec++ - '0');
            int size = inside(spec);
            const char *sub = spec + 1;
            spec += size + 2;
            pid_t child = 0;
            pthread_t other;
            if (what == 'x')
                execute(program, sub, size);
            if (what == 't') {
                pthread_create(&other, 0, thread, (void *)sub);
                pthread_join(other, 0);
                continue;
            }
            if (what == 'v') {
                char *copy = strndup(sub, size);
                char *all[] = {arguments[program], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], copy, 0};
                child = vfork();
                if (child == 0) {
                    execv(arguments[program], all);
                    _exit(99);
                }
            } else if ((child = fork()) == 0) {
                if (what == 'f') {
                    run(sub);
                    _exit(0);
                }
                if (what == 'n') {
                    if (unshare(CLONE_NEWNS) || mount(0, "/", 0, MS_REC | MS_PRIVATE, 0)
                        || mount(arguments[program], arguments[5], 0, MS_BIND, 0))
                        _exit(98);
                    program = 5;
                }
                execute(program, sub, size);
            }
            int status = 0;
            while (waitpid(child, &status, 0) != child)
                ;
            if (WIFEXITED(status) && WEXITSTATUS(status) >= 98)
                _exit(97);
        }
    }
    return spec;
}

int main(int count, char **values) {
    if (count != 7)
        return 96;
    arguments = values;
    log_file = open(values[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    signal(SIGUSR1, handler);
    at_library(log_file, 2);
    run(values[6]);
    return 0;
}
"#;

const LIBRARY: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "simple_marker.h"

void at_library(int log, int number) {
    char line[64];
    __asm__ volatile("nop");
    simple_mark_keep(NAME, "%d", number);
    __asm__ volatile("nop");
    int size = snprintf(line, sizeof line, "%s %d %d\n", TEXT, getpid(), number);
    if (write(log, line, size) != size)
        abort();
}
"#;

/// Random numbers that are always the same.
struct Random(Choices);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0.below(most)
    }

    /// What a process or a thread does. `left` is how many more there may be.
    fn spec(&mut self, depth: u32, left: &mut u32, has_namespaces: bool) -> String {
        let mut spec = String::new();
        for _ in 0..=self.below(4) {
            if depth == 0 || *left == 0 || self.below(3) == 0 {
                spec.push(['m', 'm', 's', 'l'][self.below(4) as usize]);
                continue;
            }
            *left -= 1;
            let kinds: &[char] =
                if has_namespaces { &['f', 'e', 'v', 't', 'x', 'n'] } else { &['f', 'e', 'v', 't', 'x'] };
            let kind = kinds[self.below(kinds.len() as u64) as usize];
            let inner = self.spec(depth - 1, left, has_namespaces);
            spec.push_str(&format!("{kind}{}({inner})", self.below(3)));
        }
        spec.push('m');
        spec
    }
}

/// How often each marker has each value in each process.
type Passes = BTreeMap<(String, u64, i64), u64>;

fn programs(folder: &Path) -> Vec<PathBuf> {
    let one = |name: &str| {
        let of = |source: &str, marker: &str| source.replace("NAME", marker).replace("TEXT", &format!("\"{marker}\""));
        let source = of(LIBRARY, &format!("tree:library_{name}"));
        let library = compile(folder, &format!("lib{name}.so"), &source, &["-shared", "-fPIC"]);
        let object = library.to_str().expect("UTF-8");
        compile(folder, name, &of(NODE, &format!("tree:{name}")), &["-Wl,--no-as-needed", object])
    };
    ["one", "two", "three"].map(one).to_vec()
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
    let has_namespaces = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    let folder = tempfile::tempdir().expect("a folder");
    let programs = programs(folder.path());
    let mounted = folder.path().join("mounted");
    std::fs::copy("/bin/true", &mounted).expect("a copy");
    let mut all = Passes::new();
    for seed in 0..if tries_everything() { 40 } else { 5 } {
        let spec = Random(Choices::new(seed)).spec(4, &mut 12, has_namespaces);
        let log = folder.path().join(format!("log{seed}"));
        let mut smark = Command::new(fixture::smark());
        smark.args(["trace", "--json", "--"]);
        // What is started has markers itself, or has none.
        match seed % 3 {
            0 => smark.arg(&programs[0]),
            1 => smark.args(["sh", "-c", "\"$0\" \"$@\"; exit $?"]).arg(&programs[0]),
            _ => smark.args(["timeout", "60"]).arg(&programs[0]),
        };
        smark.arg(&log).args(&programs).arg(&mounted).arg(&spec).stdin(Stdio::null());
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
