//! `smark top --receive` with senders on this machine: what arrives, what is lost, what is refused,
//! and the metrics. It needs no rights.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, find, run, skipped};
use simple_markers_top::{Process, Table, Thread, Usage, Writer};

const SECOND: u64 = 1_000_000_000;

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `smark top --receive`.
struct Receiving {
    smark: fixture::Process,
    address: SocketAddr,
    /// Where it answers Prometheus.
    metrics: Option<SocketAddr>,
    stdout: Receiver<String>,
    stderr: BufReader<ChildStderr>,
}

impl Receiving {
    fn start(address: &str, options: &[&str]) -> Self {
        let mut command = Command::new(fixture::smark());
        command.args(["top", "--receive", address]).args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut smark = fixture::Process::start(&mut command);
        let mut stderr = BufReader::new(smark.stderr.take().expect("a pipe"));
        let lines = BufReader::new(smark.stdout.take().expect("a pipe")).lines();
        let (give, stdout) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| give.send(line)));
        let mut metrics = None;
        let address = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("UTF-8") > 0, "it does not receive");
            if let Some(url) = line.trim().strip_prefix("smark: metrics at http://") {
                metrics = url.strip_suffix("/metrics").and_then(|address| address.parse().ok());
            }
            if let Some(address) = line.trim().strip_prefix("smark: receiving at ") {
                break address.parse().expect("an address");
            }
        };
        Self { smark, address, metrics, stdout, stderr }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.smark.id()).expect("a pid"));
        kill(pid, signal).expect("it runs");
    }

    /// The next line.
    fn line(&self) -> String {
        self.stdout.recv_timeout(PATIENCE).expect("a line")
    }

    fn json(&self) -> Json {
        serde_json::from_str(&self.line()).expect("JSON")
    }

    /// Ends it. Returns the lines that are left, and what it said.
    fn end(mut self) -> (Vec<String>, String) {
        self.signal(Signal::SIGINT);
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("UTF-8");
        assert_eq!(self.smark.wait().expect("it ends").code(), Some(0), "{said}");
        (self.stdout.iter().collect(), said)
    }
}

/// A sender of tables that are made up.
struct Sending {
    socket: UdpSocket,
    writer: Writer,
}

impl Sending {
    fn new(host: &str, run: u64, to: SocketAddr) -> Self {
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).expect("a port");
        socket.connect(to).expect("a route");
        Self { socket, writer: Writer::new(run, host) }
    }

    fn send(&mut self, table: &Table) {
        for datagram in self.writer.table(table) {
            self.socket.send(datagram.as_bytes()).expect("it is sent");
        }
    }

    fn end(&mut self) {
        let end = self.writer.end();
        self.socket.send(end.as_bytes()).expect("it is sent");
    }

    fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("an address")
    }
}

/// A table with processes of different CPU times, and a thread for each.
fn table(time: u64, processes: u32) -> Table {
    let process = |pid: u32| {
        let cpu = u64::from(processes - pid) * 1_000_000 + time;
        let usage = Usage { cpu, cpu_total: 2 * cpu, switches: u64::from(pid), preempted: 1, longest_wait: cpu / 2 };
        let thread = Thread { tid: pid + 1, name: format!("thread {pid}"), usage, has_ended: pid % 2 == 0 };
        let name = format!("program {pid}");
        Process { pid, name, usage, threads: vec![thread], hits: Some(pid.into()), has_ended: pid % 3 == 0 }
    };
    Table { time, interval: SECOND, processes: (0..processes).map(process).collect(), uncounted: 0 }
}

#[test]
fn three_senders_are_received_exactly() {
    // Both versions of IP, if the machine has them.
    let any = if UdpSocket::bind("[::1]:0").is_ok() { "[::]:0" } else { "0.0.0.0:0" };
    let receiving = Receiving::start(any, &["--json"]);
    let port = receiving.address.port();
    let local: SocketAddr = if any.starts_with('[') { format!("[::1]:{port}") } else { format!("127.0.0.1:{port}") }
        .parse()
        .expect("an address");
    let mut senders = [("a", local), ("b", ([127, 0, 0, 1], port).into()), ("b", local)]
        .iter()
        .zip(0..)
        .map(|((host, to), run)| Sending::new(host, run, *to))
        .collect::<Vec<_>>();
    let mut expected = Vec::new();
    for time in 0..10 {
        for (run, sender) in senders.iter_mut().enumerate() {
            let table = table(time, 5 + 20 * run as u32);
            sender.send(&table);
            expected.push((run, time, table.json()["processes"].clone()));
        }
    }
    senders.iter_mut().for_each(Sending::end);
    for _ in 0..30 {
        let line = receiving.json();
        let run = usize::from_str_radix(line["sender"]["run"].as_str().expect("a run"), 16).expect("a number");
        assert_eq!(line["sender"]["host"], ["a", "b", "b"][run]);
        let from: SocketAddr = line["sender"]["address"].as_str().and_then(|it| it.parse().ok()).expect("an address");
        assert_eq!(from.port(), senders[run].address().port());
        assert_eq!((&line["missing_parts"], &line["lost"]), (&json!(0), &json!(0)));
        let at = expected.iter().position(|(of, time, _)| (*of, *time) == (run, line["number"].as_u64().expect("one")));
        let (_, time, processes) = expected.remove(at.expect("each comes once"));
        assert_eq!((&line["processes"], &line["time_ns"]), (&processes, &json!(time)));
    }
    let (lines, _) = receiving.end();
    let [end] = &lines[..] else { panic!("{lines:?}") };
    let end: Json = serde_json::from_str(end).expect("JSON");
    let sent: u64 = senders.iter().map(|sender| sender.writer.datagrams()).sum();
    assert_eq!((&end["end"]["received"], &end["end"]["lost"]), (&json!(sent), &json!(0)));
    assert_eq!(end["end"]["senders"].as_array().map(Vec::len), Some(3));
    assert!(end["end"]["senders"].as_array().is_some_and(|all| all.iter().all(|it| it["ended"] == true)), "{end}");
}

/// How many datagrams the kernel dropped at this socket (`man 5 proc`: the last column).
fn drops(address: SocketAddr) -> u64 {
    let SocketAddr::V4(address) = address else { panic!("IPv4") };
    let name = format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port());
    let table = std::fs::read_to_string("/proc/net/udp").expect("the table of sockets");
    let line = table.lines().find(|line| line.split_whitespace().nth(1) == Some(&name)).expect("the socket");
    line.split_whitespace().last().and_then(|drops| drops.parse().ok()).expect("a number")
}

#[test]
fn lost_datagrams_are_those_that_the_kernel_dropped() {
    let receiving = Receiving::start("127.0.0.1:0", &["--json"]);
    let mut senders = [1, 2].map(|run| Sending::new("box", run, receiving.address));
    let small = Table { interval: 1, ..Table::default() };
    senders.iter_mut().for_each(|sender| sender.send(&small));
    assert_eq!((receiving.json()["lost"].clone(), receiving.json()["lost"].clone()), (json!(0), json!(0)));
    // While it is stopped, its buffer becomes full.
    receiving.signal(Signal::SIGSTOP);
    let large = table(1, 14);
    let begun = Instant::now();
    while drops(receiving.address) < 500 {
        assert!(begun.elapsed() < PATIENCE, "nothing is dropped");
        for _ in 0..100 {
            senders.iter_mut().for_each(|sender| sender.send(&large));
        }
    }
    receiving.signal(Signal::SIGCONT);
    // Until a datagram of each sender arrives again.
    let mut last = [0; 2];
    while last.iter().zip(&senders).any(|(last, sender)| last + 1 < sender.writer.datagrams()) {
        assert!(begun.elapsed() < PATIENCE, "it does not receive again");
        senders.iter_mut().for_each(|sender| sender.send(&small));
        let until = Instant::now() + Duration::from_millis(100);
        while let Ok(line) = receiving.stdout.recv_timeout(until.saturating_duration_since(Instant::now())) {
            let line: Json = serde_json::from_str(&line).expect("JSON");
            let run = if line["sender"]["run"].as_str().is_some_and(|run| run.ends_with('1')) { 0 } else { 1 };
            let counts = ["received", "lost"].map(|field| line[field].as_u64().expect("a number"));
            last[run] = counts[0] + counts[1] - 1;
        }
    }
    let dropped = drops(receiving.address);
    let (lines, said) = receiving.end();
    let end: Json = lines.last().and_then(|line| serde_json::from_str(line).ok()).expect("the last line");
    let of = |object: &Json, field: &str| object[field].as_u64().expect("a number");
    let sent: u64 = senders.iter().map(|sender| sender.writer.datagrams()).sum();
    assert_eq!(of(&end["end"], "lost"), dropped, "{end}");
    assert_eq!(of(&end["end"], "received") + dropped, sent);
    for (sender, it) in senders.iter().zip(end["end"]["senders"].as_array().expect("senders")) {
        assert_eq!(of(it, "received") + of(it, "lost"), sender.writer.datagrams(), "{end}");
    }
    assert!(said.contains("datagrams were lost"), "{said}");
}

#[test]
fn hostile_datagrams_are_refused_and_counted() {
    let receiving = Receiving::start("127.0.0.1:0", &["--json"]);
    let hostile = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let good = Writer::new(7, "evil").table(&table(1, 1)).remove(0);
    let newer = good.replace("\"smark_top\":1", "\"smark_top\":2");
    let absurd = good.replace("\"sequence\":0", "\"sequence\":18446744073709551615");
    let named = good.replace("program 0", "\\u001b]0;owned\\u0007\\u009b2J\\u202e").replace("evil", "\\u001b[31mevil");
    let other = good.replace("evil", "other");
    for datagram in [b"".as_slice(), b"\xff\x00\x1b[2J", b"[[[[[[", &[b'{'; 1401], &[0; 9000], newer.as_bytes()] {
        hostile.send_to(datagram, receiving.address).expect("it is sent");
    }
    for datagram in [&absurd, &named, &named, &other] {
        hostile.send_to(datagram.as_bytes(), receiving.address).expect("it is sent");
    }
    let line = receiving.line();
    assert!(!line.chars().any(|it| it.is_control() || it == '\u{202e}'), "{line}");
    let line: Json = serde_json::from_str(&line).expect("JSON");
    assert_eq!(line["processes"][0]["comm"], "\\x1b]0;owned\\x07\\u{9b}2J\\u{202e}");
    // Another sender shows that the rest was read.
    let mut sending = Sending::new("good", 1, receiving.address);
    sending.send(&table(1, 1));
    assert_eq!(receiving.json()["sender"]["host"], "good");
    let (lines, said) = receiving.end();
    let end: Json = lines.last().and_then(|line| serde_json::from_str(line).ok()).expect("the last line");
    let refused = json!({ "too_long": 2, "version": 1, "malformed": 4, "contradiction": 1, "too_many_senders": 0 });
    assert_eq!(end["end"]["refused"], refused);
    assert_eq!((&end["end"]["received"], &end["end"]["repeated"]), (&json!(2), &json!(1)));
    assert!(!said.chars().any(|it| it.is_control() && it != '\n'), "{said}");
    for reason in ["longer than 1400 bytes", "another version", "line 1: ", "does not agree"] {
        assert!(said.contains(reason), "{reason}: {said}");
    }
}

#[test]
fn the_machine_stands_in_front_of_each_row() {
    let receiving = Receiving::start("127.0.0.1:0", &["--every", "100ms", "--intervals", "2", "--top", "3"]);
    let mut senders = [("box", 2), ("longer name", 4)].map(|(host, run)| Sending::new(host, run, receiving.address));
    for sender in &mut senders {
        sender.send(&table(0, 2));
        sender.end();
    }
    let rows = |lines: Vec<String>| -> Vec<Vec<String>> {
        let words = |line: &String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        lines.iter().map(words).filter(|words| !words.is_empty()).collect()
    };
    let rows = rows(receiving.stdout.iter().collect());
    // One table or two: both senders may be in the same interval.
    let cut = |name: &[&str]| {
        rows.iter().any(|row| row.starts_with(&name.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()))
    };
    assert!(rows[0].starts_with(&["HOST".to_owned(), "PID".to_owned()]), "{rows:?}");
    assert!(cut(&["box", "0", "0.20"]) && cut(&["longer", "name", "0", "0.20"]), "{rows:?}");
    let mut smark = receiving.smark;
    assert_eq!(smark.wait().expect("it ends").code(), Some(0));
}

/// The Python that Debian's packages are installed for. `PATH` may have another one first.
const PYTHON: &str = "/usr/bin/python3";

/// The strict parser of OpenMetrics (Debian: python3-prometheus-client): prints each sample.
const PARSE: &str = "
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        print(json.dumps([family.type, family.unit, sample.name, sample.labels, sample.value]))
";

/// The samples of the page; `None` if there is no parser.
fn samples(address: SocketAddr) -> Option<Vec<Json>> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    stream
        .write_all(format!("GET /metrics HTTP/1.1\r\nHost: box\r\nAccept: {accept}\r\n\r\n").as_bytes())
        .expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("UTF-8");
    let (head, page) = answer.split_once("\r\n\r\n").expect("a page");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"), "{head}");
    let has_parser = Command::new(PYTHON).args(["-c", "import prometheus_client.openmetrics.parser"]).output();
    if !has_parser.is_ok_and(|output| output.status.success()) {
        skipped("python3-prometheus-client is not installed");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page");
    std::fs::write(&file, page).expect("it is written");
    let page = std::fs::File::open(&file).expect("it is there");
    let parsed = run(Command::new(PYTHON).args(["-c", PARSE]).stdin(page));
    Some(parsed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

/// promtool (Debian: prometheus) checks the names, the help and the values of the text format.
fn promtool_finds_nothing(address: SocketAddr) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: box\r\nAccept: */*\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("UTF-8");
    let (head, page) = answer.split_once("\r\n\r\n").expect("a page");
    assert!(head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{head}");
    assert!(page.contains("# HELP smark_switches_total ") && page.contains("\nsmark_switches_total{"), "{page}");
    let Some(promtool) = find("promtool") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page");
    std::fs::write(&file, page).expect("it is written");
    let page = std::fs::File::open(&file).expect("it is there");
    let checked = tools::output(Command::new(promtool).args(["check", "metrics"]).stdin(page));
    let said = String::from_utf8_lossy(&[checked.stdout, checked.stderr].concat()).into_owned();
    assert!(checked.status.success() && said.is_empty(), "{said}");
}

#[test]
fn a_strict_parser_reads_the_metrics() {
    let receiving = Receiving::start("127.0.0.1:0", &["--metrics", "127.0.0.1:0", "--top", "3", "--json"]);
    let metrics = receiving.metrics.expect("an address");
    assert!(metrics.ip().is_loopback());
    let mut sender = Sending::new("b\"o\\x\u{e9}", 1, receiving.address);
    let mut all = table(3_000_000, 6);
    all.processes[0].name = "a\"b\\c\nd\u{1b}\u{e9}".to_owned();
    sender.send(&all);
    let _ = receiving.json();
    promtool_finds_nothing(metrics);
    let Some(first) = samples(metrics) else { return };
    let host = "b\"o\\x\u{e9}";
    let of = |samples: &[Json], name: &str, labels: Json| {
        let found = samples
            .iter()
            .find(|it| it[2] == name && it[3] == labels)
            .unwrap_or_else(|| panic!("{name} {labels}: {samples:?}"));
        found[4].as_f64().expect("a number")
    };
    let ours = |pid: u32| json!({ "host": host, "comm": format!("program {pid}") });
    let others = json!({ "comm": "all other processes" });
    // CPU times: 9, 8, 7, 6, 5, 4 ms.
    assert_eq!(of(&first, "smark_cpu_seconds_total", ours(1)), 0.008);
    assert_eq!(of(&first, "smark_cpu_seconds_total", json!({ "host": host, "comm": "a\"b\\c\\nd\\x1b\u{e9}" })), 0.009);
    assert_eq!(of(&first, "smark_cpu_seconds_total", others.clone()), 0.015);
    assert_eq!(of(&first, "smark_switches_total", others.clone()), 12.0);
    assert_eq!(of(&first, "smark_marker_hits_total", ours(2)), 2.0);
    assert_eq!(of(&first, "smark_longest_wait_seconds", ours(2)), 0.0035);
    assert_eq!(of(&first, "smark_measured_seconds_total", json!({})), 1.0);
    let kind = first.iter().find(|it| it[2] == "smark_cpu_seconds_total").map(|it| (it[0].clone(), it[1].clone()));
    assert_eq!(kind, Some((json!("counter"), json!("seconds"))));

    // Another name takes a place. Nothing goes backwards, and nothing is missing.
    let mut all = table(0, 6);
    all.processes[5].usage.cpu = 500_000_000;
    sender.send(&all);
    let _ = receiving.json();
    let second = samples(metrics).expect("the parser is there");
    assert_eq!(of(&second, "smark_cpu_seconds_total", ours(5)), 0.5);
    let cpu = |samples: &[Json]| samples.iter().filter(|it| it[2] == "smark_cpu_seconds_total").count();
    assert_eq!((cpu(&first), cpu(&second)), (4, 4));
    for it in second.iter().filter(|it| it[0] == "counter") {
        let before = first.iter().find(|before| before[2] == it[2] && before[3] == it[3]);
        assert!(before.is_none_or(|before| before[4].as_f64() <= it[4].as_f64()), "{before:?} {it}");
    }
    receiving.end();
}
