//! What `smark report --to perfetto` draws besides hits and slices: arrows between the hits of a request, counters, and what ran on
//! each CPU. protoc decodes it. `.ci/perfetto` asks Perfetto's own trace processor.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::text_format::{Field, Message};
use simple_markers_tests::tools::{find, output};
use simple_markers_tests::watched::{can_watch, compile};

use crate::timeline::{decoded, interned};

/// Requests are submitted by one thread, which another one works on and ends. Their tags are used again.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <unistd.h>
#include "simple_marker.h"
#define NOINLINE __attribute__((noinline))
NOINLINE static void submit(unsigned tag, long depth) { simple_mark_keep(request:submit, "%u %ld", tag, depth); }
NOINLINE static void work(unsigned tag, long depth) { simple_mark_keep(request:work, "%u %ld", tag, depth); }
NOINLINE static void done(unsigned tag) { simple_mark_keep(request:done, "%u", tag); }
static void *worker(void *round) {
    for (unsigned tag = 0; tag < 4; tag++) {
        work(tag, -(long)tag);
        usleep(100);
        work(tag, (long)(~0UL >> 1));
        done(tag);
    }
    return round;
}
int main(void) {
    for (int round = 0; round < 5; round++) {
        for (unsigned tag = 0; tag < 4; tag++)
            submit(tag, tag + 1);
        pthread_t thread;
        pthread_create(&thread, 0, worker, 0);
        pthread_join(thread, 0);
    }
    return 0;
}
"#;

/// A recording of the program, with options of `smark record`.
fn recorded(folder: &Path, options: &[&str]) -> PathBuf {
    let (recording, program) = (folder.join("recording"), compile(folder, "requests", PROGRAM, &["-pthread"]));
    let mut smark = Command::new(fixture::smark());
    smark.arg("record").arg("-o").arg(&recording).args(options);
    // Without a command the events of the whole machine are watched.
    let is_whole = options.contains(&"-e");
    if is_whole {
        let mut recorder = smark.arg(&program).stderr(Stdio::piped()).spawn().expect("smark runs");
        let mut said = std::io::BufReader::new(recorder.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("watching") {
            line.clear();
            assert!(std::io::BufRead::read_line(&mut said, &mut line).expect("UTF-8") > 0, "it ended");
        }
        assert!(Command::new(&program).status().expect("it runs").success());
        let pid = recorder.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
        assert!(recorder.wait().expect("it ends").success());
    } else {
        assert!(smark.arg("--").arg(&program).stderr(Stdio::null()).status().expect("smark runs").success());
    }
    recording
}

/// The packets of the timeline with these options, and what is said.
fn packets(recording: &Path, options: &[&str]) -> (Vec<Message>, String) {
    let file = recording.with_extension("pftrace");
    let mut smark = Command::new(fixture::smark());
    let report = smark.args(["report", "--to", "perfetto", "--force", "-o"]).arg(&file).args(options).arg(recording);
    let output = output(report);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{said}");
    (decoded(&file), said)
}

fn hits(recording: &Path, options: &[&str]) -> Vec<Json> {
    let mut smark = Command::new(fixture::smark());
    let text = output(smark.args(["report", "--json"]).args(options).arg(recording)).stdout;
    let lines = String::from_utf8(text).expect("UTF-8");
    let objects: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    objects.into_iter().filter(|line| line.get("end").is_none()).collect()
}

fn can_decode() -> bool {
    can_watch() && find("protoc").is_some()
}

/// The times of the events of each flow, in their order, and the names of their markers.
fn flows(packets: &[Message]) -> Vec<Vec<(u64, String)>> {
    let names = interned(packets[1].message("interned_data").expect("the names"), "event_names");
    let mut flows: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
    for packet in packets {
        let Some(event) = packet.message("track_event") else { continue };
        for flow in event.all("flow_ids") {
            let Field::Scalar(flow) = flow else { panic!("{flow:?}") };
            let (time, flow) = (packet.number("timestamp"), flow.parse().expect("a number"));
            flows.entry(flow).or_default().push((time, names[&event.number("name_iid")].clone()));
        }
    }
    let mut flows: Vec<_> = flows.into_values().collect();
    flows.iter_mut().for_each(|flow| flow.sort());
    flows.sort();
    flows
}

#[test]
fn arrows_connect_the_hits_of_a_request() {
    if !can_decode() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), &[]);
    let hits = hits(&recording, &[]);
    assert_eq!(hits.len(), 5 * 4 * 4);
    let with = |ends: bool| {
        let (mut open, mut all) = (HashMap::new(), Vec::new());
        for hit in &hits {
            let (marker, tag) = (hit["marker"].as_str().expect("a name"), hit["args"][0]["value"].as_u64());
            if ends && marker == "request:done" {
                open.remove(&tag);
                continue;
            }
            let number = *open.entry(tag).or_insert_with(|| {
                all.push(Vec::new());
                all.len() - 1
            });
            all[number].push((hit["time_ns"].as_u64().expect("a time"), marker.to_owned()));
        }
        all.sort();
        all
    };
    // The end of a request ends its arrows: the next one with the tag has others.
    let pair = ["--pair", "request:submit..request:done", "--key", "tag", "--flow", "tag"];
    let (packets_of_pair, _) = packets(&recording, &pair);
    assert_eq!(flows(&packets_of_pair), with(true));
    assert_eq!((with(true).len(), with(true)[0].len()), (20, 3));
    // Without the pair nothing tells the requests of a tag apart.
    let (packets_of_tag, _) = packets(&recording, &["--flow", "tag"]);
    assert_eq!(flows(&packets_of_tag), with(false));
    assert_eq!((with(false).len(), with(false)[0].len()), (4, 20));

    let (_, said) = packets(&recording, &["--flow", "tag", "--max-values", "3"]);
    assert!(said.contains("--flow tag: without arrows: 20 hits while 3 other values were kept"), "{said}");
    let mut smark = Command::new(fixture::smark());
    let wrong = output(smark.args(["report", "--to", "perfetto", "--flow", "tagg"]).arg(&recording));
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success() && said.contains("--flow: no selected marker has an argument `tagg`"), "{said}");
}

#[test]
fn counters_have_the_values_of_hits() {
    if !can_decode() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), &[]);
    let (packets, said) = packets(&recording, &["--counter", "depth"]);
    assert!(said.contains("left out request:done"), "{said}");
    let tracks: HashMap<u64, String> = packets
        .iter()
        .filter_map(|packet| packet.message("track_descriptor"))
        .filter(|track| track.message("counter").is_some())
        .map(|track| (track.number("uuid"), track.text("name")))
        .collect();
    let mut drawn: Vec<(u64, String, i64)> = Vec::new();
    for packet in &packets {
        let Some(event) = packet.message("track_event").filter(|it| it.scalar("type") == Some("TYPE_COUNTER")) else {
            continue;
        };
        let value = event.scalar("counter_value").expect("a value").parse().expect("a number");
        drawn.push((packet.number("timestamp"), tracks[&event.number("track_uuid")].clone(), value));
    }
    drawn.sort();
    let hits = hits(&recording, &[]);
    let mut expected: Vec<(u64, String, i64)> = Vec::new();
    for hit in hits.iter().filter(|hit| hit["marker"] != "request:done") {
        let value = &hit["args"][1]["value"];
        // A number that JavaScript cannot hold is a text.
        let value = value.as_i64().or_else(|| value.as_str()?.parse().ok()).expect("a number");
        let name = format!("{} depth", hit["marker"].as_str().expect("a name"));
        expected.push((hit["time_ns"].as_u64().expect("a time"), name, value));
    }
    expected.sort();
    assert_eq!((drawn.len(), expected.iter().any(|(.., value)| *value == i64::MAX)), (60, true));
    assert_eq!(drawn, expected);
}

/// The switches are the kernel's, and tell for each CPU what ran there.
#[test]
fn cpus_show_what_ran() {
    if !can_decode() {
        return;
    }
    // The kernel passes over a program at an event that happens while another one runs on the CPU, so a switch may be missing now
    // and then.
    let mut attempts = (0..10).map(|_| {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = recorded(folder.path(), &["-e", "sched:sched_switch", "-e", "sched:sched_waking"]);
        let (packets, said) = packets(&recording, &[]);
        (folder, recording, packets, said)
    });
    let whole = attempts.find(|(.., said)| !said.contains("no tracks of CPUs"));
    let (_folder, recording, whole, _) = whole.expect("a recording with all switches");
    let mut drawn: Vec<(u64, u64, u64, u64, String)> = Vec::new();
    for bundle in whole.iter().filter_map(|packet| packet.message("ftrace_events")) {
        let event = bundle.message("event").expect("an event");
        let (time, cpu) = (event.number("timestamp"), bundle.number("cpu"));
        if let Some(switch) = event.message("sched_switch") {
            drawn.push((time, cpu, switch.number("prev_pid"), switch.number("next_pid"), switch.text("next_comm")));
        }
    }
    drawn.sort();
    let events = hits(&recording, &["sched:sched_switch"]);
    let mut expected: Vec<(u64, u64, u64, u64, String)> = Vec::new();
    for event in &events {
        let number = |name: &str| event["fields"][name].as_u64().expect("a number");
        let name = event["fields"]["next_comm"].as_str().expect("a name").to_owned();
        let (time, cpu) = (event["time_ns"].as_u64().expect("a time"), event["cpu"].as_u64().expect("a CPU"));
        expected.push((time, cpu, number("prev_pid"), number("next_pid"), name));
    }
    expected.sort();
    assert!(drawn.len() > 40 && drawn.iter().any(|(.., name)| name == "requests"), "{}", drawn.len());
    assert_eq!(drawn, expected);
    // Some of them alone would show threads that run for too long.
    let (chosen, said) = packets(&recording, &["--where", "next_comm == \"requests\"", "sched:sched_switch"]);
    assert!(said.contains("no tracks of CPUs: "), "{said}");
    assert!(chosen.iter().all(|packet| packet.message("ftrace_events").is_none()));
}

/// Where switches are missing, nothing is drawn that would be wrong.
#[test]
fn switches_of_a_process_show_no_cpus() {
    if !can_decode() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "requests", PROGRAM, &["-pthread"]);
    let recording = folder.path().join("recording");
    let mut smark = Command::new(fixture::smark());
    smark.arg("record").arg("-o").arg(&recording).args(["-e", "sched:sched_switch", "--"]).arg(&program);
    assert!(smark.stderr(Stdio::null()).status().expect("smark runs").success());
    let (packets, said) = packets(&recording, &[]);
    assert!(said.contains("no tracks of CPUs: ") && said.contains("missing"), "{said}");
    assert!(packets.iter().all(|packet| packet.message("ftrace_events").is_none()));
    let events = hits(&recording, &["sched:sched_switch"]).len();
    let names = interned(packets[1].message("interned_data").expect("the names"), "event_names");
    let instants = packets.iter().filter_map(|packet| packet.message("track_event"));
    let instants =
        instants.filter(|event| names.get(&event.number("name_iid")).is_some_and(|it| it == "sched:sched_switch"));
    assert!(events > 0);
    assert_eq!(instants.count(), events);
}
