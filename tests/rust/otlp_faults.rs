//! `--otlp` with receivers that do not answer as they should: each hit was sent or dropped, and the command ends.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use simple_markers_tests::otlp::{OtlpReceiver, ReceiverAnswer};
use simple_markers_tests::tools::{Ended, ended};
use simple_markers_tests::watched::compile;

use crate::otlp::{PROGRAM, all, command, recorded, said, smark};

/// The hits of the program with 20: 26 calls with two markers and a span each.
const HITS: u64 = 4 * 26;

/// Longer than all that is waited for together. It is no measurement: without an end it would be hours.
const LONG: Duration = Duration::from_secs(60);

/// Sends a recording to receivers, which answer so.
fn sent(url: &str, variables: &[(&str, &str)], smark: &Path, recording: &Path) -> (Json, Ended) {
    let start = Instant::now();
    let mut report = command(smark);
    report.args(["report", "--json", &format!("--otlp={url}")]).envs(variables.iter().copied()).arg(recording);
    let ended = ended(&mut report);
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let (otlp, hits) = said(&ended);
    assert_eq!((hits, all(&otlp)), (HITS, HITS), "{otlp}");
    (otlp, ended)
}

#[test]
fn each_hit_is_sent_or_dropped() {
    let Some(smark) = smark() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (_, recording) = recorded(&smark, folder.path(), "20");
    let short = ("OTEL_EXPORTER_OTLP_TIMEOUT", "700");
    let dropped = |otlp: &Json, reason: &str| {
        [&otlp["logs"]["dropped"][reason], &otlp["spans"]["dropped"][reason]].map(Json::clone)
    };

    // Nobody listens.
    let (otlp, ended) = sent("http://127.0.0.1:1", &[short], &smark, &recording);
    assert_eq!(dropped(&otlp, "unreachable"), [json!(52), json!(26)]);
    assert!(
        ended.stderr.contains("52 hits were not sent: the receiver could not be reached in time"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("127.0.0.1:1/v1/"), "{}", ended.stderr);

    // It never answers.
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Stall]);
    let (otlp, _) = sent(&receiver.url, &[short], &smark, &recording);
    assert_eq!(dropped(&otlp, "unreachable"), [json!(52), json!(26)]);

    // It refuses, which is not tried again.
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Status("400 Bad Request", ""), ReceiverAnswer::Accept]);
    let (otlp, ended) = sent(&receiver.url, &[], &smark, &recording);
    let refused = dropped(&otlp, "refused");
    assert!(refused == [json!(52), json!(0)] || refused == [json!(0), json!(26)], "{otlp}");
    assert!(ended.stderr.contains("400 Bad Request: no"), "{}", ended.stderr);
    assert_eq!(receiver.accepted().len(), 1);

    // It takes all but 2.
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Partial(2)]);
    let (otlp, _) = sent(&receiver.url, &[], &smark, &recording);
    assert_eq!(dropped(&otlp, "rejected"), [json!(2), json!(2)]);
    assert_eq!([&otlp["logs"]["sent"], &otlp["spans"]["sent"]], [50, 24]);
}

#[test]
fn a_request_is_sent_again() {
    let Some(smark) = smark() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (_, recording) = recorded(&smark, folder.path(), "20");
    let whole = |otlp: &Json| assert_eq!([&otlp["logs"]["sent"], &otlp["spans"]["sent"]], [52, 26], "{otlp}");
    let busy = ReceiverAnswer::Status("503 Service Unavailable", "Retry-After: 2");
    let receiver = OtlpReceiver::start(&[busy, ReceiverAnswer::Accept]);
    let start = Instant::now();
    let (otlp, ended) = sent(&receiver.url, &[], &smark, &recording);
    whole(&otlp);
    // It waits for at least as long as it is told to.
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(ended.stderr.contains("503 Service Unavailable: no; trying again"), "{}", ended.stderr);
    assert_eq!(receiver.logs().0.len() + receiver.spans().0.len(), 78);
    // It dies twice, and comes back, in the middle of many small requests.
    let answers = [
        ReceiverAnswer::Accept,
        ReceiverAnswer::Accept,
        ReceiverAnswer::Close,
        ReceiverAnswer::Close,
        ReceiverAnswer::Accept,
        ReceiverAnswer::Status("429 Too Many Requests", ""),
        ReceiverAnswer::Accept,
    ];
    let receiver = OtlpReceiver::start(&answers);
    let (otlp, _) = sent(&receiver.url, &[("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")], &smark, &recording);
    whole(&otlp);
    assert_eq!((receiver.logs().0.len(), receiver.spans().0.len()), (52, 26));
}

#[test]
fn a_program_does_not_wait_for_a_receiver_that_stalls() {
    let Some(smark) = smark() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "work", PROGRAM, &["-Wno-unused-parameter"]);
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Stall]);
    let mut trace = command(&smark);
    let start = Instant::now();
    trace.args(["trace", "--json", "--buffer", "32M", &format!("--otlp={}", receiver.url)]);
    trace.env("OTEL_EXPORTER_OTLP_TIMEOUT", "1000").arg("--").arg(&program).arg("60000");
    let child = trace.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("smark");
    let most = watch_memory(child.id());
    let output = child.wait_with_output().expect("it ends");
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let ended = Ended {
        status: output.status.code().expect("a status"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    };
    let (otlp, hits) = said(&ended);
    // 60,000 calls, and 19,999 that they make.
    let lost = serde_json::from_str::<Json>(ended.stdout.lines().last().expect("a line")).expect("JSON")["end"]["lost"]
        .clone();
    assert_eq!((hits, all(&otlp) + lost.as_u64().expect("a number")), (4 * 79_999, 4 * 79_999), "{otlp}");
    let full = [&otlp["logs"]["dropped"]["queue_full"], &otlp["spans"]["dropped"]["queue_full"]];
    assert!(full.iter().all(|count| count.as_u64().expect("a number") > 1000), "{otlp}");
    assert_eq!([&otlp["logs"]["sent"], &otlp["spans"]["sent"]], [0, 0]);
    // The queue has at most 64 MiB. The buffer is mapped twice, and the rest is smark without hits.
    let most = most.join().expect("no panic");
    assert!(most < (64 + 2 * 32 + 128) << 10, "{most} KiB");
}

/// The largest resident memory of a process in KiB, when it has ended.
fn watch_memory(pid: u32) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || {
        let mut most = 0;
        loop {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            match line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()) {
                Some(size) => most = most.max(size),
                // It has ended, or is a zombie.
                None => return most,
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    })
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is_started() {
    let Some(smark) = smark() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let touched = folder.path().join("touched");
    let refused = |variables: &[(&str, &str)], arguments: &[&str], expected: &str| {
        for what in ["count", "trace"] {
            let mut run: Command = command(&smark);
            run.arg(what).args(arguments).envs(variables.iter().copied()).args(["--", "/usr/bin/touch"]).arg(&touched);
            let ended = ended(&mut run);
            assert_eq!(ended.status, 2, "{}", ended.stderr);
            assert!(ended.stderr.contains(expected), "{}", ended.stderr);
        }
        assert!(!touched.exists());
    };
    refused(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], &["--otlp"], "smark does not speak gRPC");
    refused(&[], &["--otlp=collector:4318"], "is not a URL with http:// or https://");
    refused(&[("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")], &["--otlp"], "`soon` is not a positive number");
    let secret = [("OTEL_EXPORTER_OTLP_HEADERS", "a b=secret")];
    refused(&secret, &["--otlp"], "`a b` is not a name of a header");
    let missing = [("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem")];
    refused(&missing, &["--otlp"], "OTEL_EXPORTER_OTLP_CERTIFICATE: /nowhere/ca.pem");
}
