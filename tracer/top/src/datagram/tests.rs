use std::iter;

use serde_json::{Value as Json, json};
use simple_markers_resolver::json::JsonError;

use super::writer::Writer;
use super::*;
use crate::table::{Table, Thread};

const SECOND: u64 = 1_000_000_000;

fn process(pid: u32, cpu: u64, threads: u32) -> Process {
    let usage = Usage { cpu, cpu_total: cpu * 3, switches: 7, preempted: 2, longest_wait: 11 };
    let thread = |tid| Thread { tid, name: format!("worker {tid}"), usage, has_ended: tid % 2 == 0 };
    let threads = (0..threads).map(|tid| thread(pid + tid)).collect();
    Process { pid, name: format!("program {pid}"), usage, threads, hits: Some(5), has_ended: pid % 3 == 0 }
}

fn table(processes: Vec<Process>) -> Table {
    Table { time: 12 * SECOND, interval: SECOND, processes, uncounted: 0 }
}

fn lines(datagrams: &[String]) -> Vec<Line> {
    let read = |datagram: &String| match Datagram::read(datagram.as_bytes()).expect("a datagram").content {
        Content::Part(part) => part.lines,
        Content::End => panic!("the run has not ended"),
    };
    datagrams.iter().flat_map(read).collect()
}

#[test]
fn a_table_is_lines_of_json() {
    let mut writer = Writer::new(0xab, "box");
    let datagrams = writer.table(&table(vec![process(3, 20, 0), process(4, 30, 1)]));
    assert_eq!(datagrams.len(), 1);
    let lines: Vec<Json> = datagrams[0].lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let expected = [
        json!({ "smark_top": 1, "sender": "00000000000000ab", "host": "box", "sequence": 0, "number": 0, "part": 0,
                "parts": 1, "time_ns": 12 * SECOND, "interval_ns": SECOND }),
        json!({ "pid": 4, "comm": "program 4", "cpu_ns": 30, "cpu_total_ns": 90, "switches": 7, "preempted": 2, "wait_max_ns": 11,
                "hits": 5 }),
        json!({ "pid": 3, "comm": "program 3", "cpu_ns": 20, "cpu_total_ns": 60, "switches": 7, "preempted": 2, "wait_max_ns": 11,
                "hits": 5, "ended": true }),
        json!({ "pid": 4, "tid": 4, "comm": "worker 4", "cpu_ns": 30, "cpu_total_ns": 90, "switches": 7, "preempted": 2,
                "wait_max_ns": 11, "ended": true }),
    ];
    assert_eq!(lines, expected);
    let end: Json = serde_json::from_str(&writer.end()).expect("JSON");
    let expected = json!({ "smark_top": 1, "sender": "00000000000000ab", "host": "box", "sequence": 1, "end": true });
    assert_eq!(end, expected);
    assert_eq!(writer.datagrams(), 2);
}

#[test]
fn every_datagram_fits_and_stands_alone() {
    let mut writer = Writer::new(u64::MAX, &"\u{1}".repeat(200));
    let all = (1..=300).map(|pid| Process { name: "\u{1}".repeat(200), ..process(pid * 100, u64::MAX / 8, 9) });
    let table = Table { time: u64::MAX, interval: u64::MAX, processes: all.collect(), uncounted: u64::MAX };
    let datagrams = writer.table(&table);
    assert_eq!(lines(&datagrams).len(), 300 * 10);
    for (index, datagram) in datagrams.iter().enumerate() {
        assert!(datagram.len() <= SIZE, "{}", datagram.len());
        let read = Datagram::read(datagram.as_bytes()).expect("a datagram");
        let Content::Part(part) = read.content else { panic!("not the end") };
        assert_eq!((read.sequence, part.part, part.interval.parts), (index as u64, index, datagrams.len()));
        assert!(!part.lines.is_empty());
    }
    // An interval without processes is one datagram too.
    assert_eq!(lines(&writer.table(&Table::default())), []);
}

#[test]
fn what_has_no_lines_is_added_up() {
    let all: Vec<Process> = (1..=5000).map(|pid| process(pid, u64::from(pid), 0)).collect();
    let read = lines(&Writer::new(0, "").table(&table(all)));
    assert_eq!(read.len(), LINES);
    let Some(Line::Others(others)) = read.last() else { panic!("{:?}", read.last()) };
    let left = 5000 - (LINES as u64 - 1);
    let usage = Usage {
        cpu: (1..=left).sum(),
        cpu_total: 3 * (1..=left).sum::<u64>(),
        switches: 7 * left,
        preempted: 2 * left,
        longest_wait: 11,
    };
    assert_eq!(*others, Others { processes: left, threads: 0, usage, hits: Some(5 * left) });
    let read = lines(&Writer::new(0, "").with_most(2).table(&table((1..=4).map(|pid| process(pid, 1, 1)).collect())));
    assert_eq!(read.len(), 2 + 2 + 1);
    let read = lines(&Writer::new(0, "").without_threads().table(&table(vec![process(1, 1, 5)])));
    assert!(matches!(&read[..], [Line::Process(_)]), "{read:?}");
    // A number that two processes had has one line.
    let read = lines(&Writer::new(0, "").table(&table(vec![process(7, 5, 0), process(7, 6, 0)])));
    assert!(matches!(&read[..], [Line::Process(_), Line::Others(others)] if others.usage.cpu == 5), "{read:?}");
    // Processes come before threads.
    let read = lines(&Writer::new(0, "").table(&table(vec![process(1, 1, 3000), process(5000, 2, 3000)])));
    assert_eq!(read.len(), LINES);
    let others = Others { threads: 6000 - (LINES as u64 - 3), ..Others::default() };
    assert_eq!(read.last(), Some(&Line::Others(others)));
}

#[test]
fn names_are_cut_between_characters() {
    let long = Process { name: "\u{e9}".repeat(40) + "x", ..process(1, 1, 0) };
    let longer = Process { name: "x".to_owned() + &"\u{e9}".repeat(40), ..process(2, 1, 0) };
    let read = lines(&Writer::new(0, "").table(&table(vec![long, longer])));
    let names: Vec<&str> =
        read.iter().filter_map(|line| if let Line::Process(p) = line { Some(&*p.name) } else { None }).collect();
    assert_eq!(names, ["\u{e9}".repeat(32), "x".to_owned() + &"\u{e9}".repeat(31)]);
}

/// A datagram with a changed member of the header (line 0) or of its process (line 1).
fn changed(line: usize, member: &str, value: Json) -> Vec<u8> {
    let datagram = Writer::new(1, "box").table(&table(vec![process(4, 30, 0)])).remove(0);
    let mut lines: Vec<Json> = datagram.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    lines[line][member] = value;
    let lines: Vec<String> = lines.iter().map(Json::to_string).collect();
    lines.join("\n").into_bytes()
}

#[test]
fn hostile_datagrams_are_refused() {
    let refusal = |bytes: &[u8]| Datagram::read(bytes).expect_err("it is refused");
    let fault = |bytes: &[u8]| match refusal(bytes) {
        Refusal::Line(line, JsonError { path, what }) => (line, path, what),
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal(&changed(1, "padding", "x".repeat(SIZE).into())), Refusal::TooLong);
    assert_eq!(refusal(&changed(0, "smark_top", 2.into())), Refusal::Version);
    for nonsense in [&b""[..], b"\n", b"{", b"[]", b"1", b"\xff\xfe", b"{\"smark_top\":\"1\"}", b"{}", &[b'['; SIZE]] {
        assert!(matches!(refusal(nonsense), Refusal::Line(0, _)), "{nonsense:?}");
    }
    let huge = u64::MAX;
    let too_large = "18446744073709551615 is larger than 9223372036854775807";
    for (line, member, value, what) in [
        (0, "sender", json!("1"), "it is not 16 hexadecimal digits"),
        (0, "sender", json!("+000000000000001"), "it is not 16 hexadecimal digits"),
        (0, "host", json!("h".repeat(65)), "it has 65 bytes; 64 are possible"),
        (0, "host", json!(7), "invalid type: integer `7`, expected a string"),
        (0, "sequence", json!(huge), too_large),
        (0, "sequence", json!(-1), "invalid value: integer `-1`, expected u64"),
        (0, "sequence", json!(1e300), "invalid type: floating point `1e+300`, expected u64"),
        (0, "number", json!(huge), too_large),
        (0, "parts", json!(0), "there is no part 0 of 0, or they are too many"),
        (0, "parts", json!(LINES + 1), "there is no part 0 of 4097, or they are too many"),
        (0, "interval_ns", json!(0), "it is 0"),
        (0, "interval_ns", json!(huge), "18446744073709551615 is larger than 86400000000000"),
        (0, "time_ns", json!(null), "invalid type: null, expected u64"),
        (0, "uncounted", json!(huge), too_large),
        (1, "pid", json!(huge), "invalid value: integer `18446744073709551615`, expected u32"),
        (1, "pid", json!(PIDS + 1), "4194305 is larger than 4194304"),
        (1, "tid", json!("x"), "invalid type: string \"x\", expected u32"),
        (1, "comm", json!("n".repeat(65)), "it has 65 bytes; 64 are possible"),
        (1, "comm", json!(["x"]), "invalid type: sequence, expected a string"),
        (1, "cpu_ns", json!(SECOND * CPUS + 1), "65536000000001 is larger than 65536000000000"),
        (1, "cpu_total_ns", json!(huge), too_large),
        (1, "switches", json!(huge), too_large),
        (1, "preempted", json!(null), "invalid type: null, expected u64"),
        (1, "wait_max_ns", json!(huge), too_large),
        (1, "hits", json!(huge), too_large),
        (1, "hits", json!("5"), "invalid type: string \"5\", expected u64"),
        (1, "ended", json!(1), "invalid type: integer `1`, expected a boolean"),
        (1, "others", json!("all"), "invalid type: string \"all\", expected u64"),
    ] {
        let expected = (line, member.to_owned(), what.to_owned());
        assert_eq!(fault(&changed(line, member, value.clone())), expected, "{member}: {value}");
    }
    let of_line = |line, what: &str| (line, String::new(), what.to_owned());
    let parts = "there is no part 1 of 1, or they are too many";
    assert_eq!(fault(&changed(0, "part", 1.into())), (0, "parts".to_owned(), parts.to_owned()));
    let twice = String::from_utf8(changed(1, "pid", 4.into())).expect("text");
    let twice = format!("{twice}\n{}", twice.lines().last().unwrap_or_default());
    assert_eq!(fault(twice.as_bytes()), of_line(2, "an earlier line is about the same"));
    let after = Writer::new(1, "box").end() + "\n{}";
    assert_eq!(fault(after.as_bytes()), of_line(1, "the last datagram has one line"));
    for (member, missing) in [("pid", "pid"), ("comm", "comm"), ("others", "threads")] {
        let value = if member == "others" { 1.into() } else { Json::Null };
        assert_eq!(fault(&changed(1, member, value)), of_line(1, &format!("missing field `{missing}`")));
    }
    // An array is no object, and what may be missing may be null.
    assert_eq!(fault(b"[1]"), of_line(0, "invalid type: sequence, expected an object"));
    assert!(Datagram::read(&changed(0, "uncounted", Json::Null)).is_ok());
    // Unknown members and empty lines are passed over.
    let mut known = changed(1, "new", json!({ "deep": [1, 2] }));
    known.extend(b"\n\n");
    assert!(Datagram::read(&known).is_ok());
}

#[test]
fn names_cannot_reach_the_terminal_as_commands() {
    let hostile = "\u{1b}]0;x\u{7}\u{9b}2J\n\u{202e}";
    let shown = "\\x1b]0;x\\x07\\u{9b}2J\\n\\u{202e}";
    assert_eq!(Datagram::read(&changed(0, "host", hostile.into())).map(|datagram| datagram.host), Ok(shown.to_owned()));
    let Ok(Datagram { content: Content::Part(part), .. }) = Datagram::read(&changed(1, "comm", hostile.into())) else {
        panic!("it is read");
    };
    assert!(matches!(&part.lines[..], [Line::Process(process)] if process.name == shown));
}

#[test]
fn every_damaged_datagram_is_read_or_refused() {
    let whole = changed(1, "tid", 4.into());
    for (index, byte) in whole.iter().enumerate() {
        for change in [0, b'\n', b'"', b'9', b'{', byte ^ 1, byte ^ 0x80] {
            let damaged: Vec<u8> = whole[..index]
                .iter()
                .copied()
                .chain(iter::once(change))
                .chain(whole[index + 1..].iter().copied())
                .collect();
            let _ = Datagram::read(&damaged);
            let _ = Datagram::read(&whole[..index]);
        }
    }
}
