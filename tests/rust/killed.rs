//! `smark` is killed at any moment while it watches probes that a program records itself: the program
//! goes on, what was written can be read, and the next session leaves nothing behind.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value as Json;
use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{ended, find, run, tries_everything};
use simple_markers_tests::watched::compile;
use tempfile::TempDir;

use crate::recorded::{Running, folders, text, wait_until};

/// How often `smark` is killed.
fn times() -> u64 {
    if tries_everything() { 200 } else { 4 }
}

/// The switches of a program in a process: 4 bytes each.
fn switches(program: &Path, pid: &str) -> Vec<u32> {
    let listed = run(Command::new(fixture::smark()).args(["list", "--json", text(program)]));
    let listed: Json = serde_json::from_str(&listed).expect("JSON");
    let image = &listed["images"][0];
    let sites = image["markers"].as_array().expect("markers").iter().flat_map(|it| it["sites"].as_array());
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number");
    let mut offsets: Vec<u64> =
        sites.flatten().filter_map(|site| site["switch"]["file_offset"].as_str()).map(number).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("the maps of the process");
    let regions: Vec<(u64, u64, u64)> = maps
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [addresses, rights, offset, _, _, name] = words[..] else { return None };
            let (start, end) = addresses.split_once('-')?;
            (Path::new(name) == program && rights.contains('w')).then(|| (number(start), number(end), number(offset)))
        })
        .collect();
    let memory = File::open(format!("/proc/{pid}/mem")).expect("the memory of the process");
    let switch = |offset: u64| {
        let of = |(start, end, from): &(u64, u64, u64)| Some(start + offset.checked_sub(*from)?).filter(|it| it < end);
        let address = regions.iter().rev().find_map(of).expect("the switch is mapped");
        let mut bytes = [0; 4];
        memory.read_exact_at(&mut bytes, address).expect("the switch is read");
        u32::from_ne_bytes(bytes)
    };
    offsets.into_iter().map(switch).collect()
}

/// The hits in some lines of JSON. The last line may be cut.
fn hits(lines: &str) -> Vec<Json> {
    let whole = lines.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().map(|line| serde_json::from_str::<Json>(line).expect(line));
    lines.filter(|line| line["marker"].is_string()).collect()
}

/// Kills `smark` again and again while it watches a program. `is_whole` tells whether a hit is one of
/// the program.
fn killed(program: &Path, running: &mut Running, is_whole: &dyn Fn(&Json) -> bool) {
    let folder = TempDir::new().expect("a folder");
    let (pid, mut seen) = (running.pid(), 0);
    for round in 0..times() {
        let recording = folder.path().join(format!("recording-{round}"));
        let output = folder.path().join("output");
        let mut smark = Command::new(fixture::smark());
        let is_trace = round % 2 == 0;
        match is_trace {
            true => smark.args(["trace", "--json", "--buffer", "128K", "-p", &pid]),
            false => smark.args(["record", "-o", text(&recording), "--buffer", "128K", "-p", &pid]),
        };
        let out = File::create(&output).expect("a file");
        let mut smark = Running(Process::start(smark.stdout(out).stderr(Stdio::null())));
        let owner = smark.pid();
        // Some are killed while they watch, some while they arm, and the others before that.
        match round % 4 {
            0 => wait_until("smark prints hits", || fs::metadata(&output).is_ok_and(|it| it.len() > 0)),
            1 => wait_until("smark arms the probes", || {
                folders(&pid).iter().any(|it| it.contains(&format!("-{owner}-")))
            }),
            _ => {}
        }
        sleep(Duration::from_micros(round.wrapping_mul(7_919_993) % 100_000));
        smark.0.kill().expect("it is killed");
        smark.0.wait().expect("it ends");
        let lines = match is_trace {
            true => fs::read_to_string(&output).expect("UTF-8"),
            // It may have been killed before it made the recording.
            false if !recording.join("smark/recording.json").exists() => String::new(),
            false => {
                let report = ended(Command::new(fixture::smark()).args(["report", "--json", text(&recording)]));
                // It may have been killed while it wrote a packet: those before it are printed.
                let is_cut = report.status == 2 && report.stderr.contains("stream: offset");
                assert!(report.status == 0 || is_cut, "{}", report.stderr);
                report.stdout
            }
        };
        let found = hits(&lines);
        seen += found.len();
        assert!(found.iter().all(is_whole), "{:?}", found.iter().find(|hit| !is_whole(hit)));
        assert!(running.0.try_wait().expect("a process").is_none(), "the program goes on");
    }
    assert!(seen > 0, "no hit was seen");
    // The last one takes over and ends as it should.
    let mut last = Command::new(fixture::smark());
    last.args(["count", "-p", &pid]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut last = Running(Process::start(&mut last));
    let owner = last.pid();
    wait_until("the last one arms the probes", || {
        let folders = folders(&pid);
        folders.len() == 1
            && folders.iter().all(|it| it.contains(&format!("-{owner}-")))
            && switches(program, &pid).iter().all(|switch| *switch != 0)
    });
    run(Command::new("kill").args(["-INT", &owner]));
    last.0.wait().expect("it ends");
    assert_eq!(folders(&pid), Vec::<String>::new());
    assert!(switches(program, &pid).iter().all(|switch| *switch == 0));
    assert!(running.0.try_wait().expect("a process").is_none(), "the program goes on");
}

fn argument(hit: &Json, index: usize) -> u64 {
    hit["args"][index]["value"].as_u64().unwrap_or(u64::MAX)
}

#[test(desk = false)]
fn a_program_in_rust_outlives_each_tool() {
    // Built before the program takes the processors.
    let (program, _) = (&*crate::recorded::SORTER, fixture::smark());
    let of_array = |hit: &Json| match hit["marker"].as_str() {
        Some("sort:swap") => argument(hit, 0) < 100 && argument(hit, 1) < 100,
        Some("sort:compare") => argument(hit, 0) < 100 && argument(hit, 2) < 100,
        Some("sort:split") => argument(hit, 0) + argument(hit, 1) < 100,
        Some("sort:begin") => argument(hit, 2) == 100,
        name => name == Some("sort:end"),
    };
    killed(program, &mut Running::sorter(), &of_array);
}

#[test]
fn a_program_in_c_outlives_each_tool() {
    // The static library is built in CI only.
    if !tries_everything() || find("gcc").is_none() {
        return;
    }
    let _ = fixture::smark();
    let library = fixture::build(&["-p", "simple-markers-c"]).join("debug/libsimple_marker.a");
    let folder = TempDir::new().expect("a folder");
    let source = fs::read_to_string(fixture::workspace().join("tests/probes/loop.c")).expect("the source");
    // gcc takes the library after the program's own file.
    let flags = ["-DSIMPLE_MARKER_RECORDER", "-Wl,--push-state,--whole-archive", text(&library), "-Wl,--pop-state"];
    let program: PathBuf = compile(folder.path(), "loop", &source, &flags);
    let mut command = Command::new(&program);
    let running = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::null()));
    let is_text = |hit: &Json| hit["args"][1]["value"].as_str() == Some(&argument(hit, 0).to_string());
    killed(&program, &mut Running(running), &is_text);
}
