//! `smark agent`: what it says of hits is what programs do, while these start, are replaced and die, rules change, and
//! there is no space.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
#[cfg(feature = "debuginfod")]
use simple_markers_tests::file_server::FileServer;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::image::build_id;
use simple_markers_tests::metrics_page;
use simple_markers_tests::tools::{self, ended, run};
use simple_markers_tests::watched::{can_watch, compile};
use simple_markers_tracer::sys::mapped;
use tempfile::TempDir;

/// It passes its marker as often as it is told, with so many microseconds between, and prints how often it was.
const PROGRAM: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "simple_marker.h"
static volatile sig_atomic_t is_over;
static void end(int signal) { (void)signal; is_over = 1; }
static __attribute__((noinline)) void pass(unsigned long number) {
    simple_mark_keep(work:pass, "number %lu", number);
}
int main(int count, char **arguments) {
    unsigned long number = 0, most = strtoul(arguments[1], 0, 0), pause = strtoul(arguments[2], 0, 0);
    signal(SIGTERM, end);
    (void)count;
    while (number < most && !is_over) {
        pass(number++);
        if (pause)
            usleep(pause);
    }
    printf("%lu\n", number);
    return 0;
}
"#;

/// How long something may take to happen.
const LONG: Duration = Duration::from_secs(60);

/// An agent that runs.
struct Agent {
    smark: Child,
    address: String,
    lines: Receiver<String>,
    /// The lines that were read.
    said: RefCell<Vec<String>>,
    rules: PathBuf,
}

impl Agent {
    /// Starts with some rules.
    fn start(folder: &Path, rules: &str) -> Self {
        let mut smark = Command::new(fixture::smark());
        smark.arg("agent");
        Self::start_with(smark, folder, rules)
    }

    /// Starts with a command that lacks the path of the rules.
    fn start_with(mut smark: Command, folder: &Path, rules: &str) -> Self {
        let path = folder.join("rules.toml");
        fs::write(&path, with_page(rules)).expect("the rules");
        smark.arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut smark = smark.spawn().expect("smark");
        let mut said = BufReader::new(smark.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        let address = said.find_map(|line| metrics_page::address(&line)).expect("the address");
        let (sender, lines) = channel();
        std::thread::spawn(move || said.try_for_each(|line| sender.send(line)));
        Self { smark, address, lines, said: RefCell::default(), rules: path }
    }

    /// What the page says of a rule.
    fn value(&self, name: &str, rule: &str) -> f64 {
        let samples = metrics_page::samples(&self.address);
        samples.get(&format!("smark_agent_{name}{{rule=\"{rule}\"}}")).copied().unwrap_or(f64::NAN)
    }

    /// Waits until a value of the page is as wanted.
    fn wait_for(&self, what: &str, is_it: impl Fn(&BTreeMap<String, f64>) -> bool) {
        let since = Instant::now();
        loop {
            let samples = metrics_page::samples(&self.address);
            if is_it(&samples) {
                return;
            }
            assert!(since.elapsed() < LONG, "{what}: {samples:?}");
            sleep(Duration::from_millis(50));
        }
    }

    fn wait_for_state(&self, rule: &str, state: &str) {
        let name = format!("smark_agent_rule_state{{rule=\"{rule}\",state=\"{state}\"}}");
        self.wait_for(&name, |samples| samples.get(&name) == Some(&1.0));
    }

    fn wait_for_hits(&self, rule: &str, hits: u64) {
        let name = format!("smark_agent_rule_hits_total{{rule=\"{rule}\"}}");
        self.wait_for(&name, |samples| samples.get(&name) == Some(&(hits as f64)));
    }

    /// Waits for a line for people, without the name of the program.
    fn wait_for_line(&self, is_it: impl Fn(&str) -> bool) {
        let since = Instant::now();
        let mut said = self.said.borrow_mut();
        while !said.iter().any(|line| is_it(line.trim_start_matches("smark: "))) {
            let line = self.lines.recv_timeout(LONG.saturating_sub(since.elapsed()));
            match line {
                Ok(line) => said.push(line),
                Err(_) => panic!("{said:#?}"),
            }
        }
    }

    /// Replaces the rules.
    fn set(&self, rules: &str) {
        let new = self.rules.with_extension("new");
        fs::write(&new, with_page(rules)).expect("the rules");
        fs::rename(new, &self.rules).expect("the rules");
    }

    /// Ends it. Returns what it says at the end of each rule: hits, those delivered, and those dropped.
    fn end(mut self) -> BTreeMap<String, [u64; 3]> {
        run(Command::new("kill").arg(self.smark.id().to_string()));
        let since = Instant::now();
        while self.smark.try_wait().expect("a status").is_none() {
            assert!(since.elapsed() < LONG, "it does not end");
            sleep(Duration::from_millis(10));
        }
        let mut totals = BTreeMap::new();
        for line in &self.lines {
            let Some((name, rest)) = line.trim_start_matches("smark: ").split_once(": ") else { continue };
            let words: Vec<&str> = rest.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
            if let [hits, "hits", delivered, "delivered", dropped, "dropped", ..] = words[..] {
                totals.insert(name.to_owned(), [hits, delivered, dropped].map(|word| word.parse().expect("a number")));
            }
        }
        totals
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.smark.kill();
        let _ = self.smark.wait();
    }
}

fn with_page(rules: &str) -> String {
    format!("status = \"127.0.0.1:0\"\nlook = \"200ms\"\n{rules}")
}

/// A rule that counts the hits of a file.
fn counting(name: &str, image: &Path, more: &str) -> String {
    let image = image.display();
    format!(
        "[[rule]]\nname = \"{name}\"\ncommand = \"count\"\nimages = [\"{image}\"]\nmarkers = [\"work:*\"]\n{more}\n"
    )
}

/// A rule that records the hits of a file.
fn recording(name: &str, image: &Path, folder: &Path, more: &str) -> String {
    let (image, folder) = (image.display(), folder.display());
    format!(
        "[[rule]]\nname = \"{name}\"\ncommand = \"record\"\nimages = [\"{image}\"]\nfolder = \"{folder}\"\n{more}\n"
    )
}

/// A folder with the program; `None` if nothing can be watched here.
fn prepared(flags: &[&str]) -> Option<(TempDir, PathBuf)> {
    let folder = can_watch().then(|| tempfile::tempdir().expect("a folder"))?;
    let program = compile(folder.path(), "work", PROGRAM, flags);
    Some((folder, program))
}

/// Runs the program, which prints how often it passed its marker.
fn passes(program: &Path, times: u64, pause: u64) -> u64 {
    let text = run(Command::new(program).arg(times.to_string()).arg(pause.to_string()));
    text.trim().parse().expect("a number")
}

/// The numbers that recordings have, in the order of the recordings.
fn recorded(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder.join("recordings")).into_iter().flatten().flatten();
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    parts.sort();
    let numbers = |part: &PathBuf| {
        let lines = ended(Command::new(fixture::smark()).args(["report", "--json"]).arg(part)).stdout;
        let objects = lines.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
        objects.filter_map(|object| object["args"][0]["value"].as_u64()).collect::<Vec<_>>()
    };
    parts.iter().flat_map(numbers).collect()
}

#[test]
fn hits_are_those_of_programs_that_start_die_and_are_replaced() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("work");
    let kept = folder.path().join("kept");
    let rules = counting("counted", &program, "") + &recording("kept", &program, &kept, "parts = \"1s\"");
    let agent = Agent::start(folder.path(), &rules);
    // There is no such file yet.
    agent.wait_for_state("counted", "waiting");
    let build = tempfile::tempdir().expect("a folder");
    fs::copy(compile(build.path(), "first", PROGRAM, &[]), &program).expect("the program");
    agent.wait_for_state("counted", "watching");
    agent.wait_for_state("kept", "watching");
    let mut expected: Vec<u64> = (0..passes(&program, 1000, 0)).collect();
    agent.wait_for_hits("counted", 1000);
    // How often it passed its marker when it is killed, nobody says but those that watch.
    let mut killed = Process::start(Command::new(&program).args(["1000000", "1000"]).stdout(Stdio::null()));
    sleep(Duration::from_millis(2500));
    killed.kill().expect("it is killed");
    killed.wait().expect("it ends");
    // Another program in its place.
    let second = compile(build.path(), "second", &PROGRAM.replace("number = 0, most", "number = 5, most"), &["-O1"]);
    fs::copy(second, folder.path().join("new")).expect("the program");
    fs::rename(folder.path().join("new"), &program).expect("the program");
    for rule in ["counted", "kept"] {
        agent.wait_for_line(|line| {
            line.starts_with(rule) && line.contains("was replaced: watching 1 site of 1 marker of the new file")
        });
    }
    assert_eq!(passes(&program, 505, 0), 505);
    agent.wait_for("all hits are said", |samples| {
        let of = |rule: &str| samples.get(&format!("smark_agent_rule_hits_total{{rule=\"{rule}\"}}")).copied();
        of("counted") == of("kept") && of("kept").is_some_and(|hits| hits > 1500.0)
    });
    sleep(Duration::from_millis(2500));
    let totals = agent.end();
    let numbers = recorded(&kept);
    let killed = numbers.len() as u64 - 1500;
    assert!(killed > 100, "{killed}");
    expected.extend((0..killed).chain(5..505));
    assert_eq!(numbers, expected);
    let all = expected.len() as u64;
    assert_eq!(totals, BTreeMap::from(["counted", "kept"].map(|rule| (rule.to_owned(), [all, all, 0]))));
    assert!(fs::read_dir(kept.join("recordings")).expect("the parts").count() > 1);
}

#[test(desk = false)]
fn a_rule_that_costs_too_much_pauses() {
    let Some((folder, program)) = prepared(&[]) else { return };
    let limits = "limits = { hits = 1000, pause = \"2s\" }";
    let free = counting("free", &program, "");
    let agent = Agent::start(folder.path(), &(counting("bounded", &program, limits) + &free));
    agent.wait_for_state("bounded", "watching");
    agent.wait_for_state("free", "watching");
    let mut busy = Process::start(Command::new(&program).args(["100000000", "20"]).stdout(Stdio::null()));
    agent.wait_for_state("bounded", "paused");
    agent.wait_for_line(|line| line.starts_with("bounded: it costs too much: ") && line.contains("1000 are allowed"));
    let pauses = "smark_agent_rule_pauses_total{rule=\"bounded\",limit=\"hits\"}";
    agent.wait_for(pauses, |samples| samples.get(pauses) == Some(&1.0));
    assert_eq!(agent.value("rule_sites", "bounded"), 0.0);
    // The other rule goes on.
    agent.wait_for_state("free", "watching");
    busy.kill().expect("it is killed");
    busy.wait().expect("it ends");
    agent.wait_for_state("bounded", "watching");
    let before = agent.value("rule_hits_total", "bounded") as u64;
    passes(&program, 100, 0);
    agent.wait_for_hits("bounded", before + 100);
    for [hits, delivered, dropped] in agent.end().into_values() {
        assert_eq!((hits, dropped), (delivered, 0));
    }
}

#[test(desk = false)]
fn rules_are_read_again() {
    let Some((folder, program)) = prepared(&[]) else { return };
    let (stays, goes) = (counting("stays", &program, ""), counting("goes", &program, ""));
    let agent = Agent::start(folder.path(), &(stays.clone() + &goes));
    agent.wait_for_state("stays", "watching");
    agent.wait_for_state("goes", "watching");
    passes(&program, 10, 0);
    agent.wait_for_hits("goes", 10);
    agent.set("rule = 1");
    agent.wait_for_line(|line| line.ends_with("rules.toml:3: write rules as [[rule]]; the rules before hold"));
    let is_current = "smark_agent_rules_are_current";
    agent.wait_for(is_current, |samples| samples.get(is_current) == Some(&0.0));
    let comes = counting("comes", &program, "options = [\"--where\", \"number < 3\"]");
    agent.set(&(stays + &comes));
    agent.wait_for_line(|line| line.starts_with("goes: 10 hits, 10 delivered, 0 dropped"));
    agent.wait_for_state("comes", "watching");
    passes(&program, 10, 0);
    agent.wait_for_hits("comes", 3);
    agent.wait_for_hits("stays", 20);
    // The rule that has not changed is the same process.
    assert_eq!(agent.value("rule_starts_total", "stays"), 1.0);
    assert!(agent.value("rule_hits_total", "goes").is_nan());
    let totals = agent.end();
    assert_eq!((totals["stays"], totals["comes"]), ([20, 20, 0], [3, 3, 0]));
}

/// The processes that an agent has started.
fn children(agent: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{agent}/task/{agent}/children")).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
}

#[test(desk = false)]
fn processes_that_are_killed_are_told_and_started_again() {
    let Some((folder, program)) = prepared(&[]) else { return };
    let mut agent = Agent::start(folder.path(), &counting("work", &program, ""));
    agent.wait_for_state("work", "watching");
    let [before] = children(agent.smark.id())[..] else { panic!("one process") };
    run(Command::new("kill").args(["-KILL", &before.to_string()]));
    agent.wait_for_state("work", "failed");
    assert_eq!(agent.value("rule_untold_ends_total", "work"), 1.0);
    agent.wait_for_state("work", "watching");
    assert_eq!(agent.value("rule_starts_total", "work"), 2.0);
    // A process notices that the agent is gone.
    let [after] = children(agent.smark.id())[..] else { panic!("one process") };
    agent.smark.kill().expect("it is killed");
    agent.smark.wait().expect("it ends");
    let since = Instant::now();
    while mapped::exists(after) {
        assert!(since.elapsed() < LONG, "process {after} goes on");
        sleep(Duration::from_millis(50));
    }
}

#[test(desk = false)]
fn hits_for_which_there_is_no_space_are_told() {
    let Some((folder, program)) = prepared(&[]) else { return };
    let small = folder.path().join("small");
    fs::create_dir(&small).expect("a folder");
    // The agent sees a small file system there.
    let mut mounted = Command::new("unshare");
    mounted.args(["-m", "sh", "-c", "mount -t tmpfs -o size=256k none \"$1\" && exec \"$2\" agent \"$3\"", "sh"]);
    mounted.arg(&small).arg(fixture::smark());
    if !ended(Command::new("unshare").args(["-m", "true"])).status.eq(&0) {
        return tools::skipped("no namespace of mounts can be made");
    }
    let agent = Agent::start_with(mounted, folder.path(), &recording("kept", &program, &small, "parts = \"1s\""));
    agent.wait_for_state("kept", "watching");
    // An event has some 40 bytes.
    passes(&program, 30_000, 0);
    agent.wait_for_hits("kept", 30_000);
    agent.wait_for("hits are dropped", |samples| {
        samples.get("smark_agent_rule_dropped_hits_total{rule=\"kept\"}").is_some_and(|dropped| *dropped > 1000.0)
    });
    let inside = format!("/proc/{}/root{}", agent.smark.id(), small.display());
    let before = recorded(Path::new(&inside));
    // There is space again.
    let parts = fs::read_dir(format!("{inside}/recordings")).expect("the parts").flatten();
    let mut parts: Vec<PathBuf> = parts.map(|entry| entry.path()).collect();
    parts.sort();
    let emptied = parts.iter().take(parts.len() - 1);
    emptied.for_each(|part| fs::remove_dir_all(part).expect("it is removed"));
    let last = parts.last().expect("a part").join("stream");
    fs::OpenOptions::new().write(true).open(last).expect("the last part").set_len(0).expect("it is empty");
    sleep(Duration::from_millis(2500));
    passes(&program, 1000, 0);
    agent.wait_for_hits("kept", 31_000);
    sleep(Duration::from_millis(2500));
    let after = recorded(Path::new(&inside));
    assert!(after.ends_with(&(0..1000).collect::<Vec<_>>()), "{} hits", after.len());
    let totals = agent.end();
    let [hits, delivered, dropped] = totals["kept"];
    assert_eq!((hits, delivered), (31_000, before.len() as u64 + 1000));
    assert_eq!(hits, delivered + dropped);
}

#[test(desk = false)]
fn plans_are_taken_by_build_id() {
    let Some((folder, program)) = prepared(&["-Wl,--build-id"]) else { return };
    let plans = folder.path().join("plans");
    let agent_rules = |more: &str| counting("work", &program, &format!("plans = \"{}\"\n{more}", plans.display()));
    let stripped = folder.path().join("stripped");
    run(Command::new("strip").arg("-o").arg(&stripped).arg(&program));
    let mut plan = Command::new(fixture::smark());
    run(plan.args(["plan", "--serve"]).arg(&plans).arg(&program));
    let served = plans.join("buildid").join(build_id(&program)).join("smark-plan");
    assert!(served.is_file(), "{}", served.display());
    // A plan that is there is not replaced without being asked.
    let mut plan = Command::new(fixture::smark());
    assert!(ended(plan.args(["plan", "--serve"]).arg(&plans).arg(&program)).fails(2).contains("--force"));
    fs::rename(stripped, &program).expect("the program");
    // The plan comes later than the program.
    let hidden = folder.path().join("hidden");
    fs::rename(&served, &hidden).expect("the plan");
    let agent = Agent::start(folder.path(), &agent_rules("options = [\"--by\", \"number\"]"));
    agent.wait_for_state("work", "waiting");
    fs::rename(&hidden, &served).expect("the plan");
    agent.wait_for_state("work", "watching");
    passes(&program, 100, 0);
    agent.wait_for_hits("work", 100);
    assert_eq!(agent.end()["work"], [100, 100, 0]);
}

#[test(desk = false)]
fn the_oldest_parts_are_removed() {
    let Some((folder, program)) = prepared(&[]) else { return };
    let kept = folder.path().join("kept");
    let agent = Agent::start(folder.path(), &recording("kept", &program, &kept, "parts = \"1s\"\nkeep = \"60K\""));
    agent.wait_for_state("kept", "watching");
    passes(&program, 5000, 500);
    let removed = "smark_agent_removed_parts_total{rule=\"kept\"}";
    agent.wait_for("a part is removed", |samples| samples.get(removed).is_some_and(|parts| *parts > 0.0));
    agent.wait_for_hits("kept", 5000);
    assert_eq!(agent.end()["kept"], [5000, 5000, 0]);
    let numbers = recorded(&kept);
    // What is left is the end.
    assert!(!numbers.is_empty() && numbers.len() < 5000, "{}", numbers.len());
    assert_eq!(numbers, (5000 - numbers.len() as u64..5000).collect::<Vec<_>>());
}

#[cfg(feature = "parquet")]
#[test]
fn parts_become_tables_of_parquet() {
    let Some((smark, python)) = super::parquet::environment() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "work", PROGRAM, &[]);
    let kept = folder.path().join("kept");
    let mut agent = Command::new(&smark);
    agent.arg("agent");
    let rule = recording("kept", &program, &kept, "parts = \"1s\"\nparquet = true");
    let agent = Agent::start_with(agent, folder.path(), &rule);
    agent.wait_for_state("kept", "watching");
    passes(&program, 3000, 1000);
    // A part ends when the next one begins, which needs a hit.
    let parts = "smark_agent_tabulated_parts_total{rule=\"kept\"}";
    agent.wait_for("two parts are tables", |samples| samples.get(parts).is_some_and(|count| *count >= 2.0));
    assert_eq!(agent.value("failed_tables_total", "kept"), 0.0);
    assert_eq!(agent.end()["kept"], [3000, 3000, 0]);
    let files = kept.join("tables/*/work.pass/**/*.parquet");
    let query = "SELECT count(*) AS count, min(number) AS first, max(number) AS last FROM read_parquet";
    let row = &super::parquet::rows(&python, &format!("{query}('{}')", files.display()))[0];
    let [count, first, last] = ["count", "first", "last"].map(|name| row[name].as_u64().expect("a number"));
    let left = recorded(&kept).len() as u64;
    assert_eq!((count + left, first, last), (3000, 0, count - 1));
}

#[cfg(feature = "debuginfod")]
#[test]
fn a_server_beside_debuginfod_has_plans() {
    let Some((folder, program)) = prepared(&["-Wl,--build-id"]) else { return };
    let smark = fixture::smark_with("debuginfod");
    let other = compile(folder.path(), "other", PROGRAM, &["-Wl,--build-id"]);
    fs::copy(&program, folder.path().join("whole")).expect("the program");
    for stripped in [&program, &other] {
        run(Command::new("strip").arg(stripped));
    }
    let plans = folder.path().join("plans");
    run(Command::new(&smark).args(["plan", "--serve"]).arg(&plans).arg(folder.path().join("whole")));
    let path = |program: &Path| format!("/buildid/{}/smark-plan", build_id(program));
    let server = FileServer::start();
    server.put(&path(&program), fs::read(plans.join(&path(&program)[1..])).expect("the plan"));
    let from_server = format!("plans = \"{}\"\noptions = [\"--by\", \"number\"]", server.url);
    let rules = counting("work", &program, &from_server) + &counting("other", &other, &from_server);
    let mut agent = Command::new(smark);
    agent.arg("agent").env("DEBUGINFOD_CACHE_PATH", folder.path().join("cache")).env("NO_PROXY", "*");
    let agent = Agent::start_with(agent, folder.path(), &rules);
    agent.wait_for_state("work", "watching");
    passes(&program, 100, 0);
    agent.wait_for_hits("work", 100);
    // Files were looked for often, and the server was asked once.
    agent.wait_for_state("other", "waiting");
    assert_eq!(server.asked(), [path(&program), path(&other)]);
    assert_eq!(agent.end()["work"], [100, 100, 0]);
}
