//! Static probes of programs that we did not write: PostgreSQL, Python, and the C++ library. What is
//! counted and read is what these programs say themselves.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{ended, find, output, run, skipped};
use simple_markers_tests::watched::can_watch;

use crate::groups::Smark;
use crate::whom::is_root;

/// Whether a file has notes of static probes. If not, the test is ignored.
fn has_notes(path: &Path) -> bool {
    let has = fs::read(path).is_ok_and(|bytes| bytes.windows(14).any(|part| part == b".note.stapsdt\0"));
    if !has {
        skipped(&format!("{} has no static probes", path.display()));
    }
    has
}

/// The hits of a count in JSON, by marker.
fn counts(lines: &[String]) -> Vec<(String, u64)> {
    let objects = lines.iter().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let count = |object: Json| Some((object.get("marker")?.as_str()?.to_owned(), object.get("hits")?.as_u64()?));
    objects.filter_map(count).collect()
}

/// The values of the arguments of each hit in JSON.
fn values(lines: &[String]) -> Vec<Vec<Json>> {
    let objects = lines.iter().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let values = |object: Json| {
        object.get("marker")?;
        Some(object["args"].as_array()?.iter().map(|argument| argument["value"].clone()).collect())
    };
    objects.filter_map(values).collect()
}

const PYTHON: &str = r#"
import gc, os, sys
gc.disable()
gc.callbacks.append(lambda phase, info: phase == "start" and print("generation", info["generation"]))

def work(depth):
    return work(depth - 1) if depth else 0

print("ready", work.__code__.co_firstlineno, flush=True)
for line in sys.stdin:
    for generation in (0, 2, 1, 2):
        gc.collect(generation)
    # Python 3.11 passes the probe of calls only while something traces or profiles them.
    sys.setprofile(lambda *event: None)
    work(3)
    sys.setprofile(None)
    import colorsys
    sys.stdout.flush()
    os._exit(0)
"#;

#[test]
fn python_collects_calls_and_imports_what_it_says() {
    let python = Path::new("/usr/bin/python3.11");
    if !can_watch() {
        return;
    }
    if !python.is_file() {
        return skipped("python3.11 is not installed");
    }
    if !has_notes(python) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (script, provider) = (folder.path().join("script.py"), folder.path().join("python.d"));
    fs::write(&script, PYTHON).expect("a file");
    let probes = "provider python {\n    probe gc__start(int generation);\n    probe import__find__load__start(const char *);\n    \
        probe function__entry(const char *file, const char *function, int line);\n};\n";
    fs::write(&provider, probes).expect("a file");
    let mut process = Process::start(Command::new(python).arg(&script).stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines().map(|line| line.expect("UTF-8"));
    let first = lines.next().expect("a line");
    let line: u64 = first.strip_prefix("ready ").expect("it is ready").parse().expect("a number");
    let (pid, provider) = (process.id().to_string(), provider.to_str().expect("UTF-8"));
    let mut traces = ["python:gc__start", "python:function__entry", "python:import__find__load__start"].map(|name| {
        let mut trace = Smark::start(&["trace", "--json", "--provider", provider, "-p", &pid, name]);
        trace.wait_for("watching 1 site");
        trace
    });
    writeln!(process.stdin.take().expect("a pipe"), "go").expect("it reads");
    let printed: Vec<u64> =
        lines.map(|line| line.strip_prefix("generation ").expect("a line").parse().expect("a number")).collect();
    assert_eq!(printed, [0, 2, 1, 2]);
    let [collected, called, imported] = &mut traces;
    let collected: Vec<u64> = values(&collected.wait()).iter().map(|it| it[0].as_u64().expect("a number")).collect();
    assert_eq!(collected, printed);
    let of_work = |it: &Vec<Json>| it[1] == "work";
    let called: Vec<_> = values(&called.wait()).into_iter().filter(of_work).collect();
    let expected: [Json; 3] = [script.to_str().expect("UTF-8").into(), "work".into(), line.into()];
    assert_eq!(called, vec![expected.to_vec(); 4]);
    let imported = values(&imported.wait());
    assert_eq!(imported, [[Json::from("colorsys")]]);
}

const EXCEPTIONS: &str = r#"
#include <cstdio>
#include <stdexcept>
static int thrown, caught, rethrown;
static void fall(int depth)
{
    if (depth == 0) {
        thrown++;
        throw std::runtime_error("at the bottom");
    }
    try {
        fall(depth - 1);
    } catch (const std::exception &) {
        caught++;
        rethrown++;
        throw;
    }
}
int main()
{
    for (int depth = 0; depth < 30; depth++) {
        try {
            fall(depth);
        } catch (...) {
            caught++;
        }
    }
    std::printf("%d %d %d\n", thrown, caught, rethrown);
    return 0;
}
"#;

#[test]
fn the_exceptions_of_a_program_are_counted() {
    if !can_watch() || find("g++").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("fall.cc"), folder.path().join("fall"));
    fs::write(&source, EXCEPTIONS).expect("a file");
    run(Command::new("g++").args(["-O1", "-w"]).arg(&source).arg("-o").arg(&program));
    let linked = run(Command::new("ldd").arg(&program));
    let library = linked.lines().find(|line| line.contains("libstdc++.so")).and_then(|line| line.split(' ').nth(2));
    if !has_notes(Path::new(library.expect("it is linked with it"))) {
        return;
    }
    let mut smark = Command::new(fixture::smark());
    let lines = ended(smark.args(["count", "--json", "libstdcxx:*", "--"]).arg(&program)).lines();
    let printed = lines.iter().find(|line| !line.starts_with('{')).expect("what it prints");
    let said: Vec<u64> = printed.split(' ').map(|number| number.parse().expect("a number")).collect();
    assert_eq!(said, [30, 30 + 435, 435]);
    let counts = counts(&lines);
    let of = |name: &str| counts.iter().find(|(marker, _)| marker == name).map(|(_, hits)| *hits);
    let counted =
        ["libstdcxx:throw", "libstdcxx:catch", "libstdcxx:rethrow"].map(|name| of(name).expect("it is counted"));
    assert_eq!(counted.to_vec(), said);
}

/// A server of PostgreSQL in a temporary folder. Root may not run it.
struct Server {
    programs: PathBuf,
    folder: tempfile::TempDir,
    process: Process,
}

impl Server {
    /// `None` if it is not installed.
    fn start() -> Option<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs = versions.map(|version| version.path().join("bin")).find(|bin| bin.join("pgbench").is_file());
        let Some(programs) = programs else {
            skipped("there is no server of PostgreSQL with pgbench");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        if is_root() {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("they are set");
            run(Command::new("chown").arg("nobody").arg(folder.path()));
        }
        let data = folder.path().join("data");
        let mut init = as_nobody(&programs.join("initdb"));
        run(init.args(["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C", "-D"]).arg(&data));
        let log = fs::File::create(folder.path().join("log")).expect("a file");
        let mut server = as_nobody(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(folder.path());
        for setting in [
            "listen_addresses=",
            "log_statement=all",
            "log_line_prefix=",
            "fsync=off",
            "autovacuum=off",
            "jit=off",
            "max_logical_replication_workers=0",
            "dynamic_shared_memory_type=mmap",
        ] {
            server.args(["-c", setting]);
        }
        let process = Process::start(server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log));
        let server = Self { programs, folder, process };
        let end = Instant::now() + Duration::from_secs(60);
        while !output(&mut server.client("pg_isready", "postgres")).status.success() {
            assert!(Instant::now() < end, "the server does not start: {}", server.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    fn client(&self, program: &str, database: &str) -> Command {
        let mut client = Command::new(self.programs.join(program));
        client.arg("-h").arg(self.folder.path()).args(["-U", "postgres", "-d", database]);
        client
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).expect("the log")
    }

    /// How many transactions of the database `bench` were committed, as the server itself counts.
    fn commits(&self) -> u64 {
        let query = "select xact_commit from pg_stat_database where datname = 'bench'";
        let counted = run(self.client("psql", "postgres").args(["-X", "-A", "-t", "-c", query]));
        counted.trim().parse().expect("a number")
    }

    /// The statements in the log, in their order.
    fn statements(&self) -> Vec<String> {
        let log = self.log();
        log.lines().filter_map(|line| Some(line.strip_prefix("LOG:  statement: ")?.to_owned())).collect()
    }
}

impl Drop for Server {
    /// Has it end by itself, because shared memory outlives a server that is killed.
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

/// A program as a user without rights, if this is root.
fn as_nobody(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut setpriv = Command::new("setpriv");
    setpriv.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]).arg(program);
    setpriv.current_dir("/");
    setpriv
}

#[test]
fn postgresql_commits_and_starts_the_queries_that_it_says() {
    if !can_watch() {
        return;
    }
    let Some(server) = Server::start() else { return };
    if !has_notes(&server.programs.join("postgres")) {
        return;
    }
    run(server.client("psql", "postgres").args(["-X", "-c", "create database bench"]));
    run(server.client("psql", "bench").args(["-X", "-c", "create table account (id int primary key, balance int)"]));
    run(server.client("psql", "bench").args([
        "-X",
        "-c",
        "insert into account select id, 0 from generate_series(1, 50) id",
    ]));
    let file = |name: &str, text: &str| {
        let path = server.folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    };
    let script = file(
        "script",
        "\\set id random(1, 50)\n\\set more random(-9, 9)\nupdate account set balance = balance + :more where id = :id;\n\
         select 'caf\u{e9}', balance from account where id = :id;\n",
    );
    let provider = file(
        "probes.d",
        "#define LocalTransactionId unsigned int\nprovider postgresql {\n    probe transaction__commit(LocalTransactionId);\n    \
         probe query__start(const char *text);\n};\n",
    );
    let (pid, before) = (server.process.id().to_string(), server.commits());
    let logged = server.statements().len();
    let start = |command: &[&str], name: &str| {
        let mut smark = Smark::start(&[command, &["--json", "--provider", &provider, "-p", &pid, name]].concat());
        smark.wait_for("watching 1 site of 1 marker");
        smark
    };
    let (count, trace) =
        (start(&["count"], "postgresql:transaction__commit"), start(&["trace"], "postgresql:query__start"));
    let bench = run(server.client("pgbench", "bench").args(["-n", "-c", "4", "-t", "50", "-f", &script]));
    assert!(bench.contains("number of transactions actually processed: 200/200"), "{bench}");
    let counts = counts(&count.end());
    let hits = values(&trace.end());
    // The server adds up what a process counted when it ends.
    let end = Instant::now() + Duration::from_secs(30);
    let committed = || server.commits() - before;
    let [(_, counted)] = counts[..] else { panic!("{counts:?}") };
    while committed() < counted && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(counted, committed());
    assert!(counted >= 400, "each of the two statements is a transaction: {counted}");
    let mut said: Vec<String> = server.statements().split_off(logged);
    said.retain(|statement| !statement.contains("pg_stat_database"));
    let mut read: Vec<String> = hits.iter().map(|it| it[0].as_str().expect("a text").to_owned()).collect();
    assert_eq!(read.len(), 400);
    said.sort();
    read.sort();
    assert_eq!(read, said);
}
