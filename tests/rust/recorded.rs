//! Probes that programs record themselves (`tests/probes`, `examples/sorter`), watched by `smark` and
//! without it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{self, find, run};
use simple_markers_tests::watched::can_watch;

use crate::trace::hits;

/// Builds a package of the workspace without optimisation, and returns the path of a program.
pub(crate) fn built(package: &str, profile: &str, folder: &str, program: &str) -> PathBuf {
    let mut cargo = fixture::cargo();
    cargo.current_dir(fixture::workspace()).args(["build", "--offline", "--quiet", "--profile", profile]);
    run(cargo.args(["--package", package]).env("CARGO_TARGET_DIR", fixture::target()));
    fixture::target().join(folder).join(program)
}

/// A program with probes by profile; the last one is optimised.
pub(crate) fn programs(of: &str, program: &str) -> Vec<PathBuf> {
    let profiles = tools::slice(of, &[("dev", "debug"), ("demo", "demo")], &[1]).into_iter();
    profiles.map(|(profile, folder)| built("simple-markers-test-probes", profile, folder, program)).collect()
}

static VALUES: LazyLock<Vec<PathBuf>> = LazyLock::new(|| programs("recorded", "probe-values"));

/// The optimised program.
pub(crate) fn optimised() -> &'static Path {
    VALUES.last().expect("a program")
}

pub(crate) static SORTER: LazyLock<PathBuf> = LazyLock::new(|| built("sorter", "demo", "demo", "sorter"));

/// Runs `smark` with a program, and returns its lines and what it says to people.
pub(crate) fn smark(arguments: &[&str], program: &[&str]) -> (Vec<String>, String) {
    let ended = tools::ended(Command::new(fixture::smark()).args(arguments).arg("--").args(program));
    (ended.lines(), ended.stderr)
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// What the program printed, and what the probes said, without threads: both in their order.
pub(crate) fn printed_and_said(lines: &[String]) -> (Vec<&str>, Vec<&str>) {
    let printed = lines.iter().filter(|line| line.starts_with("values:")).map(String::as_str).collect();
    let said = lines.iter().filter_map(|line| line.split_once(" values:").map(|_| line));
    let said = said.filter_map(|line| line.get(line.find(" values:")? + 1..));
    (printed, said.filter(|line| !line.starts_with("values:evaluated")).collect())
}

#[test]
fn each_value_is_the_one_the_program_prints() {
    for program in &*VALUES {
        let (lines, errors) = smark(&["trace"], &[text(program)]);
        let (printed, said) = printed_and_said(&lines);
        assert_eq!(printed.len(), 86, "{lines:?}");
        assert_eq!(said, printed, "{errors}");
        assert!(lines.contains(&"evaluated: 2".to_owned()), "an armed probe evaluates its arguments");
        // While they are off, nothing is evaluated. The kernel arms the probes of a file, and another
        // test may watch this one.
        let folder = tempfile::tempdir().expect("a folder");
        let copy = folder.path().join("probe-values");
        fs::copy(program, &copy).expect("a copy");
        let alone = run(&mut Command::new(copy));
        assert!(alone.starts_with("evaluated: 0\n"), "{alone}");
        // Addresses differ from run to run.
        let without = |line: &&str| !line.contains("0x7f");
        assert!(alone.lines().skip(1).filter(without).eq(printed.into_iter().filter(without)), "{alone}");
    }
}

#[test]
fn the_kernel_reads_the_same_values_at_the_sites() {
    if !can_watch() {
        return;
    }
    for program in &*VALUES {
        let (lines, errors) = smark(&["trace", "--engine", "bpf"], &[text(program)]);
        let (printed, said) = printed_and_said(&lines);
        assert_eq!(said, printed, "{errors}");
        // A text of which only the address is known.
        let filter = ["--where", "`c.as_ptr()` == \"12345678\"", "values:other_texts"];
        let (lines, errors) = smark(&[&["trace", "--engine", "bpf"][..], &filter].concat(), &[text(program)]);
        assert_eq!(printed_and_said(&lines).1, ["values:other_texts: <12345678> <12345678> <12345678>"], "{errors}");
    }
}

#[test]
fn threads_that_end_lose_nothing() {
    for program in &*VALUES {
        let (lines, errors) = smark(&["trace", "--json"], &[text(program), "threads"]);
        let (found, end) = hits(&lines);
        assert_eq!(end["lost"], 0, "{errors}");
        let mut threads: BTreeMap<u64, u32> = BTreeMap::new();
        for hit in &found {
            *threads.entry(hit["tid"].as_u64().expect("a thread")).or_default() += 1;
            // Also if the thread or the process had ended when it was read.
            assert_eq!(hit["comm"], "probe-values", "{hit}");
        }
        // The first thread also passes `values:evaluated` twice.
        assert_eq!(threads.values().copied().collect::<Vec<_>>(), [88, 86, 86, 86]);
    }
}

#[test]
fn a_child_records_too() {
    for (options, expected) in
        [(&["trace", "--json"][..], vec![88 + 86, 86]), (&["trace", "--json", "--no-children"], vec![88 + 86])]
    {
        let (lines, errors) = smark(options, &[text(optimised()), "fork"]);
        let (found, end) = hits(&lines);
        let mut processes: BTreeMap<u64, usize> = BTreeMap::new();
        for hit in &found {
            *processes.entry(hit["pid"].as_u64().expect("a process")).or_default() += 1;
        }
        assert_eq!((processes.into_values().collect::<Vec<_>>(), &end["lost"]), (expected, &Json::from(0)), "{errors}");
    }
}

/// The events of a recording as babeltrace2 prints them, without the time.
fn babeltrace(folder: &Path) -> Option<Vec<String>> {
    let printed = run(Command::new(find("babeltrace2")?).arg(folder));
    Some(printed.lines().filter_map(|line| Some(line.split_once(") ")?.1.to_owned())).collect())
}

#[test]
fn a_program_that_ends_badly_has_recorded_everything() {
    for (how, program) in
        [("panic", VALUES[0].as_path()), ("abort", optimised()), ("kill", optimised()), ("", VALUES[0].as_path())]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = folder.path().join("recording");
        let mut command = Command::new(program);
        command.arg(how).env("SIMPLE_MARKERS_RECORD", "values:*").env("SIMPLE_MARKERS_OUTPUT", &recording);
        let output = tools::output(&mut command);
        assert_eq!(output.status.success(), how.is_empty());
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        let Some(events) = babeltrace(&recording) else { return };
        let names = |lines: &mut dyn Iterator<Item = &str>| -> Vec<String> {
            lines.filter_map(|line| line.split(": ").next()).map(str::to_owned).collect()
        };
        let said = names(&mut events.iter().map(String::as_str).filter(|line| !line.starts_with("values:evaluated")));
        let printed = names(&mut printed.lines().filter(|line| line.starts_with("values:")));
        assert_eq!(said, printed, "{how}");
        let signed = events.iter().rfind(|line| line.starts_with("values:signed")).expect("an event");
        assert!(signed.contains(&format!("= {}", i64::MIN)), "{signed}");
        // Without debug information there are names only in words. The third name is not one of them.
        let named = events.iter().filter(|line| line.starts_with("values:enumeration: "));
        let named: Vec<_> = named.filter_map(|line| Some(line.rsplit_once("{ ")?.1)).collect();
        let of = |state: &str, whence: &str| format!("state = {state}, whence = {whence} }}");
        assert_eq!(
            named,
            [
                of("-1", "( \"SET\" : container = 0 )"),
                of("0", "( <unknown> : container = 1 )"),
                of("300", "( \"END\" : container = 2 )"),
            ]
        );
    }
}

/// Runs `smark report`, and returns its status, its lines, and what it says to people.
fn report(recording: &Path, options: &[&str]) -> (Option<i32>, Vec<String>, String) {
    let output = tools::output(Command::new(fixture::smark()).arg("report").args(options).arg(recording));
    let lines = String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect();
    (output.status.code(), lines, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_a_program_recorded_is_reported() {
    for program in &*VALUES {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = folder.path().join("recording");
        let mut command = Command::new(program);
        command.arg("threads").env("SIMPLE_MARKERS_RECORD", "values:*").env("SIMPLE_MARKERS_OUTPUT", &recording);
        let printed: Vec<String> = run(&mut command).lines().map(str::to_owned).collect();
        let (status, lines, errors) = report(&recording, &[]);
        assert_eq!((status, errors.as_str()), (Some(0), ""));
        // The threads print the same, in any order.
        let (printed, said) = (printed_and_said(&printed).0, printed_and_said(&lines).1);
        let counted = |lines: Vec<&str>| {
            let mut counts: BTreeMap<String, u32> = BTreeMap::new();
            lines.into_iter().for_each(|line| *counts.entry(line.to_owned()).or_default() += 1);
            // Without debug information there are names only in words.
            let is_named = |line: &str| line.starts_with("values:enumeration: ");
            let named: Vec<_> = counts.keys().filter(|line| is_named(line)).map(|line| line[20..].to_owned()).collect();
            counts.retain(|line, _| !is_named(line));
            (counts, named)
        };
        assert_eq!((said.len(), printed.len()), (4 * 86, 4 * 86));
        let ((said, named), (printed, _)) = (counted(said), counted(printed));
        assert_eq!(said, printed);
        assert_eq!(named, ["-1 SET   .", "0 1     .", "300 END   ."]);

        let (_, lines, _) = report(&recording, &["--json"]);
        let (found, end) = hits(&lines);
        assert_eq!(end, serde_json::json!({ "hits": 2 + 4 * 86, "lost": 0, "unfiltered": 0, "exit": null }));
        let times: Vec<u64> = found.iter().map(|hit| hit["time_ns"].as_u64().expect("a time")).collect();
        assert!(times.is_sorted());
        let (_, filtered, _) = report(&recording, &["--where", "whence == END", "values:enumeration"]);
        assert_eq!(filtered.len(), 4, "{filtered:?}");
        let (_, counts, _) = report(&recording, &["--count", "values:signed"]);
        let signed = found.iter().filter(|hit| hit["marker"] == "values:signed").count();
        assert_eq!(counts, ["        HITS MARKER".to_owned(), format!("{signed:>12} values:signed")]);
        let timeline = folder.path().join("timeline");
        let (status, _, errors) = report(&recording, &["--to", "perfetto", "-o", text(&timeline)]);
        assert!(status == Some(0) && errors.contains("346 hits and 0 slices"), "{errors}");

        // babeltrace2 has the same events, at the same times.
        let Some(babeltrace2) = find("babeltrace2") else { return };
        let read = run(Command::new(babeltrace2).args(["--clock-seconds", "--no-delta"]).arg(&recording));
        let event = |line: &str| {
            let (time, rest) = line.strip_prefix('[')?.split_once("] ")?;
            let (name, rest) = rest.split_once(": { pid = ")?;
            let (process, rest) = rest.split_once(", tid = ")?;
            let (thread, rest) = rest.split_once(" }, { cpu = ")?;
            let numbers = [process, thread, rest.split_once(' ')?.0].map(|number| number.parse::<u64>().ok());
            Some((time.replace('.', "").parse::<u64>().ok()?, name.to_owned(), numbers))
        };
        let read: Vec<_> = read.lines().map(|line| event(line).expect("an event")).collect();
        assert_eq!(read.len(), found.len());
        let offset = read[0].0 - times[0];
        for ((time, name, numbers), hit) in read.iter().zip(&found) {
            assert_eq!(
                (hit["marker"].as_str(), ["pid", "tid", "cpu"].map(|name| hit[name].as_u64())),
                (Some(&**name), *numbers)
            );
            let ours = hit["time_ns"].as_u64().expect("a time") + offset;
            assert!(ours.abs_diff(*time) <= 1, "{ours} {time}");
        }
    }
}

#[test]
fn a_damaged_recording_is_reported_up_to_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let mut command = Command::new(optimised());
    run(command.env("SIMPLE_MARKERS_RECORD", "values:*").env("SIMPLE_MARKERS_OUTPUT", &recording));
    let (_, all, _) = report(&recording, &[]);
    let names = std::fs::read_dir(&recording).expect("a folder").map(|entry| entry.expect("an entry").path());
    let threads: Vec<PathBuf> = names.filter(|path| !path.ends_with("metadata")).collect();
    let [thread] = &threads[..] else { panic!("{threads:?}") };
    let mut file = std::fs::OpenOptions::new().append(true).open(thread).expect("a file");
    file.write_all(b"no packet").expect("it is written");
    let (status, lines, errors) = report(&recording, &[]);
    assert_eq!((status, lines), (Some(2), all));
    assert!(
        errors.contains(&format!("{}: offset 0x", thread.display())) && errors.contains("no packet is here"),
        "{errors}"
    );
    std::fs::write(recording.join("metadata"), "/* CTF 1.8 */\n").expect("it is written");
    let (status, lines, errors) = report(&recording, &[]);
    assert_eq!((status, lines.len()), (Some(2), 0));
    assert!(errors.contains("the recording of another tracer"), "{errors}");
}

/// The comparisons and swaps that the program prints, of all algorithms.
pub(crate) fn work(printed: &[String]) -> (u64, u64) {
    let number = |line: &str, index: usize| line.split_whitespace().nth(index)?.parse::<u64>().ok();
    let lines = printed.iter().filter_map(|line| Some((number(line, 1)?, number(line, 3)?)));
    lines.fold((0, 0), |sum, (comparisons, swaps)| (sum.0 + comparisons, sum.1 + swaps))
}

#[test]
fn what_is_recorded_and_what_is_lost_are_all_hits() {
    for (buffer, values) in [("8M", "60"), ("16K", "300"), ("64K", "300")] {
        let arguments = ["trace", "--json", "--buffer", buffer, "sort:compare"];
        let (lines, errors) = smark(&arguments, &[text(&SORTER), "20", values]);
        let (found, end) = hits(&lines);
        let (comparisons, _) = work(&lines);
        assert_eq!(end["hits"], comparisons);
        assert_eq!(end["lost"].as_u64().map(|lost| lost + found.len() as u64), Some(comparisons));
        assert_eq!(end["lost"] == 0, !errors.contains("hits were lost"), "{errors}");
        assert!(buffer != "8M" || end["lost"] == 0, "{end}");
        assert!(buffer != "16K" || end["lost"] != 0, "{end}");
        // The hits of each thread are in their order.
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for hit in &found {
            let (thread, time) = (hit["tid"].as_u64().expect("a thread"), hit["time_ns"].as_u64().expect("a time"));
            assert!(last.insert(thread, time).is_none_or(|before| before <= time), "{hit}");
        }
    }
}

/// A program that is killed at the end.
pub(crate) struct Running(pub(crate) Process);

impl Running {
    /// A sorter that sorts for a long time.
    pub(crate) fn sorter() -> Self {
        // It takes a processor, so what is slow to build comes first.
        let _ = fixture::smark();
        let mut command = Command::new(&*SORTER);
        Self(Process::start(command.args(["100000000", "100"]).stdout(Stdio::null())))
    }

    pub(crate) fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

/// The folders of buffers for a process.
pub(crate) fn folders(pid: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("smark-") && name.ends_with(&format!("-{pid}"))).collect()
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_running_program_is_armed_by_one_tool_at_a_time() {
    let program = Running::sorter();
    let pid = program.pid();
    let trace = || {
        let mut command = Command::new(fixture::smark());
        command.args(["trace", "-p", &pid, "sort:end"]).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let mut first = Process::start(&mut trace());
    wait_until("the first one arms the probes", || !folders(&pid).is_empty());
    sleep(Duration::from_millis(100));
    let second = Running(Process::start(&mut trace()));
    let mut second = second;
    let mut errors = std::io::BufReader::new(second.0.stderr.take().expect("its errors"));
    let mut said = String::new();
    while !said.contains("probes") {
        assert_ne!(std::io::BufRead::read_line(&mut errors, &mut said).expect("a line"), 0, "{said}");
    }
    assert!(said.contains(&format!("process {} records its probes already", first.id())), "{said}");
    drop(second);
    // A tool that is killed leaves its folder to the next session of any tool.
    let left = folders(&pid);
    assert_eq!(left.len(), 1);
    first.kill().expect("it is killed");
    first.wait().expect("it ends");
    let mut third = trace();
    let mut third = Process::start(third.args(["--json"]).stdout(Stdio::piped()));
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(third.stdout.take().expect("its output")));
    let hit: Json = serde_json::from_str(&lines.next().expect("a line").expect("UTF-8")).expect("JSON");
    assert_eq!(hit["marker"], "sort:end");
    assert_eq!(hit["args"][2]["value"].as_u64().map(|swaps| swaps > 50), Some(true), "{hit}");
    assert!(!folders(&pid).contains(&left[0]), "the next one removes the folder");
    run(Command::new("kill").args(["-INT", &third.id().to_string()]));
    drop(lines);
    third.wait().expect("it ends");
    assert_eq!(folders(&pid), Vec::<String>::new());
}

#[test]
fn a_program_handles_its_probes_beside_a_tool() {
    for program in &*VALUES {
        let mut command = Command::new(program);
        let mut running = Running(Process::start(command.arg("handle").stdin(Stdio::piped()).stdout(Stdio::piped())));
        let pid = running.pid();
        let mut smark = Command::new(fixture::smark());
        smark.args(["trace", "-p", &pid, "--limit", "1", "values:signed"]).stdout(Stdio::piped());
        let mut smark = Process::start(&mut smark);
        let mut input = running.0.stdin.take().expect("its input");
        // Until the tool has armed the probe and seen a hit. It switches the probe off before it ends.
        wait_until("smark sees a hit", || {
            writeln!(input, "7").expect("it reads");
            smark.try_wait().expect("a status").is_some()
        });
        writeln!(input, "8").expect("it reads");
        drop(input);
        let output = running.0.stdout.take().expect("its output");
        let lines: Vec<_> = std::io::BufRead::lines(std::io::BufReader::new(output)).map_while(Result::ok).collect();
        let of =
            |name: &str| lines.iter().filter(|line| line.starts_with(name)).map(String::as_str).collect::<Vec<_>>();
        let handled: Vec<_> = of("handled: ").into_iter().filter_map(|line| line.strip_prefix("handled: ")).collect();
        let (signed, texts) = (of("values:signed: "), of("values:texts: "));
        assert!(signed.contains(&"values:signed: 8 8 8 8 8"), "{lines:?}");
        assert_eq!(
            handled.iter().copied().filter(|line| line.starts_with("values:signed")).collect::<Vec<_>>(),
            signed
        );
        assert_eq!(handled.iter().copied().filter(|line| line.starts_with("values:texts")).collect::<Vec<_>>(), texts);
        assert_eq!(handled.len(), signed.len() + texts.len());
    }
}
