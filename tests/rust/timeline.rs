//! `smark report --to perfetto`: protoc decodes it, and every hit of `smark report --json` is there.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use simple_markers_resolver::text::from_bytes;
use simple_markers_tests::fixture;
use simple_markers_tests::text_format::{Field, Message};
use simple_markers_tests::tools::{find, output};
use simple_markers_tests::watched::{can_watch, compile};

/// The packets of a timeline.
pub(crate) fn decoded(file: &Path) -> Vec<Message> {
    let folder = fixture::workspace().join("tests/perfetto");
    let mut protoc = Command::new("protoc");
    protoc.arg("--proto_path").arg(&folder).arg("--decode=perfetto.protos.Trace").arg(folder.join("trace.proto"));
    let output = output(protoc.stdin(File::open(file).expect("a file")));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    Message::parse(&mut text.lines()).messages("packet").cloned().collect()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Track {
    Process(u64),
    Thread {
        process: u64,
        thread: u64,
    },
    /// A track of slices below another one.
    Child {
        name: String,
        parent: u64,
    },
}

/// An event as it is in the timeline, with what `smark report --json` says of it.
#[derive(Debug)]
struct Event {
    kind: String,
    track: u64,
    hit: Json,
}

#[derive(Debug)]
struct Timeline {
    tracks: HashMap<u64, Track>,
    names: HashMap<u64, String>,
    /// In the order of their times.
    events: Vec<Event>,
}

/// The names with their numbers.
pub(crate) fn interned(data: &Message, of: &str) -> HashMap<u64, String> {
    data.messages(of).map(|one| (one.number("iid"), one.text("name"))).collect()
}

/// The value of an annotation, as it is in JSON.
fn nested(of: &Message) -> Json {
    let mut value = Json::Null;
    for (kind, field) in &of.0 {
        match (kind.as_str(), field) {
            ("name" | "name_iid", _) => {}
            ("dict_entries", Field::Message(entry)) => value[entry.text("name")] = nested(entry),
            ("array_values", Field::Message(element)) => match &mut value {
                Json::Array(values) => values.push(nested(element)),
                none => *none = json!([nested(element)]),
            },
            ("bool_value", Field::Scalar(word)) => value = Json::from(word == "true"),
            (_, Field::Text(bytes)) => value = Json::from(from_bytes(bytes)),
            ("double_value", Field::Scalar(number)) => value = Json::from(number.parse::<f64>().expect("a number")),
            (_, Field::Scalar(number)) => match number.parse::<i128>().expect("a number") {
                small if small.abs() <= 1 << 53 => value = Json::from(small as i64),
                _ => value = Json::from(number.as_str()),
            },
            (_, Field::Message(_)) => panic!("{of:?}"),
        }
    }
    value
}

impl Timeline {
    fn read(file: &Path, description: &Json) -> Self {
        let mut packets = decoded(file);
        let clocks = packets[0].message("clock_snapshot").expect("the clocks");
        let start = description["start_ns"].as_u64().expect("a number");
        let epoch = description["clock_offset_ns"].as_u64().expect("a number") + start;
        let read: Vec<_> =
            clocks.messages("clocks").map(|it| (it.number("clock_id"), it.number("timestamp"))).collect();
        // Times of the kernel's own events are those of the same clock.
        assert_eq!(read, [(3, start), (6, start), (1, epoch)]);
        assert_eq!(clocks.scalar("primary_trace_clock"), Some("BUILTIN_CLOCK_MONOTONIC"));
        assert_eq!(packets[1].number("sequence_flags"), 1);
        assert_eq!(packets[1].message("trace_packet_defaults").expect("the defaults").number("timestamp_clock_id"), 3);
        let data = packets[1].message("interned_data").expect("the names").clone();
        let (categories, markers) = (interned(&data, "event_categories"), interned(&data, "event_names"));
        let names = interned(&data, "debug_annotation_names");
        let locations: HashMap<u64, Message> =
            data.messages("source_locations").map(|one| (one.number("iid"), one.clone())).collect();
        let (mut tracks, mut thread_names) = (HashMap::new(), HashMap::new());
        packets.iter().filter_map(|packet| packet.message("track_descriptor")).for_each(|described| {
            let track = match (described.message("process"), described.message("thread")) {
                (Some(process), _) => Track::Process(process.number("pid")),
                (_, Some(thread)) => {
                    let (process, number) = (thread.number("pid"), thread.number("tid"));
                    thread_names.insert(number, thread.text("thread_name"));
                    assert_eq!(tracks.get(&described.number("parent_uuid")), Some(&Track::Process(process)));
                    Track::Thread { process, thread: number }
                }
                _ => Track::Child { name: described.text("name"), parent: described.number("parent_uuid") },
            };
            tracks.insert(described.number("uuid"), track);
        });
        packets.retain(|packet| packet.message("track_event").is_some());
        // As Perfetto sorts them.
        packets.sort_by_key(|packet| packet.number("timestamp"));
        let mut timeline = Self { tracks, names, events: Vec::new() };
        for packet in &packets {
            assert_eq!((packet.number("trusted_packet_sequence_id"), packet.number("sequence_flags")), (1, 2));
            let event = packet.message("track_event").expect("an event");
            let (kind, track) = (event.scalar("type").expect("a type").to_owned(), event.number("track_uuid"));
            let group =
                if kind == "TYPE_SLICE_END" { event.message("debug_annotations").expect("the end") } else { event };
            let of = if kind == "TYPE_SLICE_END" { "dict_entries" } else { "debug_annotations" };
            let marker = match kind.as_str() {
                "TYPE_SLICE_END" => timeline.names[&group.number("name_iid")].clone(),
                _ => markers[&event.number("name_iid")].clone(),
            };
            let mut all: Vec<&Message> = group.messages(of).collect();
            let own = all.pop().expect("what is known of the hit");
            assert_eq!(timeline.names[&own.number("name_iid")], "smark");
            let own: BTreeMap<&str, &Message> =
                own.messages("dict_entries").map(|it| (timeline.names[&it.number("name_iid")].as_str(), it)).collect();
            let thread = match (own.get("tid"), timeline.tracks.get(&track)) {
                (Some(thread), _) => thread.number("uint_value"),
                (None, Some(Track::Thread { thread, .. })) => *thread,
                (None, track) => panic!("{track:?}"),
            };
            if kind != "TYPE_SLICE_END" {
                assert_eq!(categories[&event.number("category_iids")], description["images"][0]["module"]);
                let at = &locations[&event.number("source_location_iid")];
                let known = description["markers"].as_array().expect("markers");
                let known = known.iter().find(|it| it["name"] == marker.as_str()).expect("a marker");
                assert_eq!(
                    (Json::from(at.text("file_name")), at.number("line_number")),
                    (known["file"].clone(), known["line"].as_u64().expect("a line"))
                );
            }
            let hit = json!({
                "time_ns": packet.number("timestamp"), "tid": thread, "marker": marker, "cpu": own["cpu"].number("uint_value"),
                "comm": thread_names.get(&thread), "site": format!("{:#x}", own["site"].number("pointer_value")),
                "args": all.into_iter().map(|it| timeline.argument(it)).collect::<Vec<_>>(),
            });
            timeline.events.push(Event { kind, track, hit });
        }
        timeline
    }

    /// An argument as `smark report --json` has it, and the name of its type.
    fn argument(&self, of: &Message) -> Json {
        let text = &self.names[&of.number("name_iid")];
        let why = of.message("dict_entries").filter(|entry| entry.scalar("name_iid").is_some());
        if let Some(why) = why {
            assert_eq!(self.names[&why.number("name_iid")], "why");
            return json!({ "text": text, "value": null, "why": why.text("string_value"), "type": null });
        }
        json!({ "text": text, "value": nested(of), "why": null, "type": of.0[1].0 })
    }

    /// The slices as (marker, begin, end, track), as a stack on each track makes them.
    fn slices(&self) -> Vec<(String, u64, u64, u64)> {
        let (mut open, mut slices) = (HashMap::<u64, Vec<&Json>>::new(), Vec::new());
        for Event { kind, track, hit } in &self.events {
            let stack = open.entry(*track).or_default();
            let time = |hit: &Json| hit["time_ns"].as_u64().expect("a time");
            match kind.as_str() {
                "TYPE_SLICE_BEGIN" => stack.push(hit),
                "TYPE_SLICE_END" => {
                    let begin = stack.pop().expect("an open slice");
                    let name = format!(
                        "{}..{}",
                        begin["marker"].as_str().expect("a name"),
                        hit["marker"].as_str().expect("a name")
                    );
                    slices.push((name, time(begin), time(hit), *track));
                }
                kind => assert_eq!(kind, "TYPE_INSTANT"),
            }
        }
        assert!(open.values().all(Vec::is_empty));
        slices.sort();
        slices
    }
}

fn smark(arguments: &[&str], path: &Path) -> (String, String, Option<i32>) {
    let output = output(Command::new(fixture::smark()).args(arguments).arg(path));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr), output.status.code())
}

/// A recording of a program of `tests/record/`.
pub(crate) fn recorded(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let source = fs::read_to_string(fixture::workspace().join(format!("tests/record/{name}.c"))).expect("the source");
    let (recording, program) = (folder.join("recording"), compile(folder, name, &source, &[]));
    let mut smark = Command::new(fixture::smark());
    smark.arg("record").arg("-o").arg(&recording).arg("--").arg(program).args(arguments);
    assert!(smark.stderr(Stdio::null()).status().expect("smark runs").success());
    recording
}

/// The hits, and the timeline with these options.
fn both(recording: &Path, options: &[&str]) -> (Vec<Json>, Timeline, String) {
    let (text, ..) = smark(&["report", "--json"], recording);
    let hits = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let hits: Vec<Json> = hits.filter(|line: &Json| line.get("marker").is_some()).collect();
    let file = recording.with_extension("pftrace");
    let output = ["report", "--to", "perfetto", "--force", "-o", file.to_str().expect("UTF-8")];
    let (printed, said, status) = smark(&[&output, options].concat(), recording);
    assert_eq!((printed.as_str(), status), ("", Some(0)), "{said}");
    let description = fs::read(recording.join("smark/recording.json")).expect("a description");
    let description = serde_json::from_slice(&description).expect("JSON");
    (hits, Timeline::read(&file, &description), said)
}

/// Asserts that a timeline has every hit once, with all of its values.
fn assert_same(hits: &[Json], timeline: &Timeline) {
    let key = |hit: &Json| (hit["time_ns"].as_u64(), hit["tid"].as_u64());
    let mut events: Vec<&Event> = timeline.events.iter().collect();
    let mut hits: Vec<&Json> = hits.iter().collect();
    events.sort_by_key(|event| key(&event.hit));
    hits.sort_by_key(|hit| key(hit));
    assert_eq!(events.len(), hits.len());
    for (event, hit) in events.iter().zip(hits) {
        for field in ["time_ns", "tid", "cpu", "marker", "site"] {
            assert_eq!(event.hit[field], hit[field], "{field}");
        }
        let arguments = |of: &Json| of["args"].as_array().expect("arguments").clone();
        let (read, expected) = (arguments(&event.hit), arguments(hit));
        assert_eq!(read.len(), expected.len());
        for (read, expected) in read.iter().zip(&expected) {
            let is_null = expected["value"].is_null() && expected["why"].is_null();
            let value = if is_null { json!(0) } else { expected["value"].clone() };
            match (read["value"].as_f64(), value.as_f64()) {
                // serde_json reads some numbers one place beside.
                (Some(read), Some(expected)) => assert!((read - expected).abs() <= expected.abs() * 1e-15),
                _ => assert_eq!(read["value"], value),
            }
            assert_eq!((&read["text"], &read["why"]), (&expected["text"], &expected["why"]));
            assert!(!is_null || read["type"] == "pointer_value");
        }
    }
}

/// The pairs of `tests/record/slices.c`.
pub(crate) const PAIRS: [&str; 10] = [
    "--pair",
    "outer:begin..outer:end",
    "--pair",
    "inner:begin..inner:end",
    "--pair",
    "cross:begin..cross:end",
    "--pair",
    "request:submit..request:done",
    "--key",
    "tag",
];

fn can_decode() -> bool {
    can_watch() && find("protoc").is_some()
}

#[test]
fn whole_values_are_nested() {
    if !can_decode() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), "nested", &[]);
    let (hits, timeline, _) = both(&recording, &[]);
    let value = |index: usize| &hits[index]["args"][0]["value"];
    let address = format!("{:#x}", hits[0]["args"][1]["value"].as_u64().expect("an address"));
    let owner = json!({"@": address, "to": {"share": 0.25, "state": "BUSY"}});
    let first = json!({"tag": 7, "name": "first", "sizes": [1, -2, 3], "owner": owner});
    assert_eq!((hits.len(), value(0)), (2, &first));
    assert_eq!((&value(1)["owner"], &value(1)["name"]), (&Json::Null, &Json::from("second")));
    assert_same(&hits, &timeline);
}

#[test]
fn protoc_reads_the_same_hits() {
    if !can_decode() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), "values", &["100"]);
    let (hits, timeline, _) = both(&recording, &[]);
    assert_eq!(hits.len(), 600);
    assert_same(&hits, &timeline);
    assert!(timeline.events.iter().all(|event| event.kind == "TYPE_INSTANT" && event.hit["comm"] == "values"));
    // Each argument has the type of its conversion.
    let mut types = BTreeMap::new();
    for argument in timeline.events.iter().flat_map(|event| event.hit["args"].as_array().expect("arguments")) {
        let (Json::String(text), Json::String(kind)) = (&argument["text"], &argument["type"]) else { continue };
        types.entry(text.clone()).or_insert_with(Vec::new).push(kind.clone());
    }
    for (text, kind) in [
        ("a->i8", "int_value"),
        ("a->u8", "uint_value"),
        ("a->i64", "int_value"),
        ("a->u64", "uint_value"),
        ("a->f32", "double_value"),
        ("a->f64", "double_value"),
        ("a->pointer", "pointer_value"),
    ] {
        assert!(types[text].len() >= 100 && types[text].iter().all(|of| of == kind), "{text}: {types:?}");
    }
    assert!(
        types["a->text"].contains(&"string_value".to_owned()) && types["a->text"].contains(&"pointer_value".to_owned())
    );
    let whys = timeline.events.iter().flat_map(|event| event.hit["args"].as_array().expect("arguments"));
    assert!(whys.filter(|argument| argument["why"] == "unreadable at 0x10").count() > 10);
}

/// The slices that the hits make, and how many hits are in none.
fn expected(hits: &[Json], from: &str, to: &str, key: &dyn Fn(&Json) -> Json) -> (Vec<(String, u64, u64)>, usize) {
    let (mut open, mut slices, mut others) = (HashMap::<String, Vec<u64>>::new(), Vec::new(), 0);
    for hit in hits {
        let (time, key) = (hit["time_ns"].as_u64().expect("a time"), key(hit).to_string());
        if hit["marker"] == from {
            open.entry(key).or_default().push(time);
        } else if hit["marker"] == to {
            match open.entry(key).or_default().pop() {
                Some(begin) => slices.push((format!("{from}..{to}"), begin, time)),
                None => others += 1,
            }
        }
    }
    (slices, others + open.into_values().map(|open| open.len()).sum::<usize>())
}

#[test]
fn pairs_become_slices() {
    if !can_decode() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), "slices", &[]);
    let options = &PAIRS;
    let (hits, timeline, said) = both(&recording, options);
    assert_same(&hits, &timeline);
    let thread = |hit: &Json| hit["tid"].clone();
    let tag = |hit: &Json| hit["args"][0]["value"].clone();
    let (mut slices, mut others) = (Vec::new(), 0);
    for (name, key) in [("outer", &thread as &dyn Fn(&Json) -> Json), ("inner", &thread), ("cross", &thread)] {
        let (of_pair, unmatched) = expected(&hits, &format!("{name}:begin"), &format!("{name}:end"), key);
        slices.extend(of_pair);
        others += unmatched;
    }
    let (requests, unmatched) = expected(&hits, "request:submit", "request:done", &tag);
    assert_eq!((slices.len(), others, requests.len(), unmatched), (30 + 61 + 10, 2, 19, 2));
    slices.extend(requests);
    slices.sort();
    let read = timeline.slices();
    let without_track: Vec<_> = read.iter().map(|(name, begin, end, _)| (name.clone(), *begin, *end)).collect();
    assert_eq!(without_track, slices);
    let instants = timeline.events.iter().filter(|event| event.kind == "TYPE_INSTANT");
    assert_eq!(instants.count(), 30 + others + unmatched);
    for line in [
        "outer:begin..outer:end: not in a slice: 1 outer:end without a outer:begin",
        "inner:begin..inner:end: not in a slice: 1 inner:begin without a inner:end",
        "request:submit..request:done: not in a slice: 1 request:submit without a request:done",
        "request:submit..request:done: not in a slice: 1 request:done without a request:submit",
    ] {
        assert!(said.contains(line), "{said}");
    }
    // What is nested is on the track of its thread, what overlaps is below it, and requests are below the process.
    for (name, _, _, track) in &read {
        let at = &timeline.tracks[track];
        match (name.as_str(), at) {
            ("outer:begin..outer:end" | "inner:begin..inner:end", Track::Thread { .. }) => {}
            // It ends later than the outer slice that it begins in, and that is written first.
            ("cross:begin..cross:end", Track::Child { name: of, parent }) => {
                assert!(of == name && matches!(timeline.tracks[parent], Track::Thread { .. }));
            }
            ("request:submit..request:done", Track::Child { name: of, parent }) => {
                assert!(of == name && matches!(timeline.tracks[parent], Track::Process(_)));
            }
            _ => panic!("{name} is on {at:?}"),
        }
    }
    // At most 19 requests are open at once.
    let lanes = timeline
        .tracks
        .values()
        .filter(|track| matches!(track, Track::Child { name, .. } if name.starts_with("request")));
    assert_eq!(lanes.count(), 19);
    let others: Vec<_> = timeline.events.iter().filter(|event| event.hit["comm"] == "other").collect();
    assert!(others.len() > 60 && others.iter().all(|event| event.hit["tid"] != hits[0]["tid"]));

    // A filter chooses instants and begins.
    let (_, filtered, _) = both(&recording, &[&options[..], &["--where", "tag >= 10"]].concat());
    assert_eq!(filtered.slices().len(), 10);
    assert!(filtered.events.iter().all(|event| event.hit["args"][0]["value"].as_u64() >= Some(10)));
}

/// Spans are slices without `--pair`: of their own name, with their arguments, and on the track of the
/// thread unless they overlap another one.
#[test]
fn spans_are_slices() {
    if find("protoc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (recording, file) = (folder.path().join("recording"), folder.path().join("spans.pftrace"));
    let program = crate::recorded::programs("spans in a timeline", "probe-spans").pop().expect("a program");
    let smark = |command: &mut Command| {
        let output = output(command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    smark(Command::new(fixture::smark()).args(["record", "-o"]).arg(&recording).arg("--").arg(program).arg("ways"));
    let mut report = Command::new(fixture::smark());
    let said = smark(report.args(["report", "--to", "perfetto", "-o"]).arg(&file).arg("spans:*").arg(&recording));
    // One is forgotten, and the child ends one that its parent began.
    for line in ["spans:work: not in a slice: 1 spans:work_begin", "spans:work: not in a slice: 1 spans:work_end"] {
        assert!(said.contains(line), "{said}");
    }
    let packets = decoded(&file);
    let data = packets[1].message("interned_data").expect("the names");
    let (names, arguments) = (interned(data, "event_names"), interned(data, "debug_annotation_names"));
    let described = packets.iter().filter_map(|packet| packet.message("track_descriptor"));
    let threads: Vec<u64> =
        described.filter(|track| track.message("thread").is_some()).map(|track| track.number("uuid")).collect();
    let mut slices: BTreeMap<&str, Vec<(u64, bool)>> = BTreeMap::new();
    for event in packets.iter().filter_map(|packet| packet.message("track_event")) {
        if event.scalar("type") == Some("TYPE_SLICE_BEGIN") {
            let number = event.messages("debug_annotations").find(|it| arguments[&it.number("name_iid")] == "number");
            let number = number.expect("an argument").number("uint_value");
            let is_in_thread = threads.contains(&event.number("track_uuid"));
            slices.entry(&names[&event.number("name_iid")]).or_default().push((number, is_in_thread));
        }
    }
    slices.values_mut().for_each(|slices| slices.sort_unstable());
    let found: Vec<_> = slices.iter().map(|(name, slices)| (*name, slices.len())).collect();
    assert_eq!(found, [("spans:function", 1), ("spans:method", 2), ("spans:work", 21)]);
    let apart: Vec<u64> = slices["spans:work"].iter().filter(|slice| !slice.1).map(|slice| slice.0).collect();
    assert_eq!(apart, [131, 211, 221, 222], "those that end after one that began before them");
}
