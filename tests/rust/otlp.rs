//! `--otlp`: what a receiver decodes with the messages of the OpenTelemetry project is what `smark` prints.
//!
//! `.ci/otlp` builds `smark` with the feature (`OTLP_SMARK`), and asks a backend the same.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{ExponentialHistogramDataPoint, Metric};
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value as Json, json};
use simple_markers_tests::fixture::{Fixture, succeeds_silently};
use simple_markers_tests::otlp;
use simple_markers_tests::otlp::{OtlpReceiver, ReceiverAnswer, attribute};
use simple_markers_tests::tools::{Ended, ended, skipped};
use simple_markers_tests::watched::{can_watch, compile};

/// Nested spans, and pairs of markers with arguments of several types. It passes each so often as its argument says.
pub(crate) const PROGRAM: &str = r#"
#include <stdlib.h>
#include "simple_marker.h"
#define NOINLINE __attribute__((noinline))
NOINLINE static void begin(int kind, unsigned long size, const char *name) {
    simple_mark_keep(work:begin, "%d %lu %s", kind, size, name);
}
NOINLINE static void end(int kind, double share) { simple_mark_keep(work:end, "kind %d, %.2f", kind, share); }
NOINLINE static void query(int n) {
    simple_span(db:query, "%d", n);
    begin(n % 3 - 1, n == 4 ? -1ul : 10ul * n, n % 2 ? "odd" : "even");
    if (n > 0 && n % 3 == 0) query(n - 1);
    end(n % 3 - 1, n / 4.0);
}
int main(int count, char **words) {
    for (int n = 0; n < atoi(words[1]); n++) query(n);
    return 0;
}
"#;

/// `smark` with the feature, if programs can be watched.
pub(crate) fn smark() -> Option<PathBuf> {
    let Some(path) = env::var_os("OTLP_SMARK") else {
        skipped("OTLP_SMARK is not set: .ci/otlp sets it");
        return None;
    };
    can_watch().then(|| fs::canonicalize(path).expect("smark"))
}

/// The command, without what the environment says of OpenTelemetry and proxies.
pub(crate) fn command(smark: &Path) -> Command {
    let mut command = Command::new(smark);
    let is_in_the_way = |name: &str| name.starts_with("OTEL_") || name.to_lowercase().ends_with("_proxy");
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_in_the_way)) {
        command.env_remove(name);
    }
    command
}

/// The program, and a recording of it.
pub(crate) fn recorded(smark: &Path, folder: &Path, times: &str) -> (PathBuf, PathBuf) {
    let (program, recording) = (compile(folder, "work", PROGRAM, &["-Wno-unused-parameter"]), folder.join("recording"));
    let ended = ended(command(smark).args(["record", "-o"]).arg(&recording).arg("--").arg(&program).arg(times));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    (program, recording)
}

/// The lines of JSON.
fn objects(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What is said of OpenTelemetry in the last line, and how many hits there were.
pub(crate) fn said(ended: &Ended) -> (Json, u64) {
    let end = objects(&ended.stdout).pop().expect("a line")["end"].clone();
    (end["otlp"].clone(), end["hits"].as_u64().unwrap_or_default())
}

/// How many were sent or dropped: hits, of which each span has two.
pub(crate) fn all(otlp: &Json) -> u64 {
    let of = |signal: &str| {
        let dropped: u64 =
            otlp[signal]["dropped"].as_object().into_iter().flatten().filter_map(|(_, it)| it.as_u64()).sum();
        otlp[signal]["sent"].as_u64().unwrap_or_default() + dropped
    };
    of("logs") + 2 * of("spans")
}

/// The hits of a recording as JSON, and its description.
fn printed(smark: &Path, recording: &Path) -> (Vec<Json>, Json) {
    let mut hits = objects(&ended(command(smark).args(["report", "--json"]).arg(recording)).success());
    hits.pop();
    let description = fs::read(recording.join("smark/recording.json")).expect("the description");
    (hits, serde_json::from_slice(&description).expect("JSON"))
}

fn send(smark: &Path, receiver: &OtlpReceiver, options: &[&str], recording: &Path) -> Ended {
    let ended = ended(
        command(smark).args(["report", "--json", &format!("--otlp={}", receiver.url)]).args(options).arg(recording),
    );
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    ended
}

/// The value of an argument of a hit.
fn argument<'j>(hit: &'j Json, name: &str) -> &'j Json {
    let arguments = hit["args"].as_array().expect("arguments");
    &arguments.iter().find(|it| it["text"] == name).unwrap_or_else(|| panic!("{name}: {hit}"))["value"]
}

#[test]
fn records_and_spans_are_the_hits_of_a_recording() {
    let Some(smark) = smark() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (_, recording) = recorded(&smark, folder.path(), "10");
    let (hits, description) = printed(&smark, &recording);
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Accept]);
    let (otlp, count) = said(&send(&smark, &receiver, &[], &recording));
    assert_eq!((all(&otlp), count), (hits.len() as u64, hits.len() as u64), "{otlp}");
    let offset = description["clock_offset_ns"].as_u64().expect("a number");
    let (logs, resource) = receiver.logs();
    let marks: Vec<&Json> =
        hits.iter().filter(|hit| !hit["marker"].as_str().expect("a name").starts_with("db:")).collect();
    assert_eq!((logs.len(), marks.len()), (26, 26));
    for (log, hit) in logs.iter().zip(&marks) {
        check_record(log, hit, offset);
    }
    let of = |name: &str| attribute(&resource.attributes, name);
    assert_eq!([of("service.name"), of("host.name")], [json!("work"), description["origin"]["host"].clone()]);
    assert_eq!(of("process.executable.build_id.gnu"), description["images"][0]["build_id"]);
    check_spans(&receiver.spans().0, &logs, &hits, offset);
}

/// A record is a hit.
fn check_record(log: &LogRecord, hit: &Json, offset: u64) {
    assert_eq!(log.event_name, hit["marker"]);
    assert_eq!(log.time_unix_nano, offset + hit["time_ns"].as_u64().expect("a time"));
    let of = |name: &str| attribute(&log.attributes, name);
    for (name, member) in
        [("process.pid", "pid"), ("thread.id", "tid"), ("thread.name", "comm"), ("cpu.logical_number", "cpu")]
    {
        assert_eq!(of(name), hit[member], "{name}");
    }
    assert_eq!(of("code.file.path").as_str().map(|path| path.ends_with("work.c")), Some(true));
    let body = otlp::json(log.body.as_ref().expect("a body"));
    if log.event_name == "work:begin" {
        let [kind, size, name] = ["kind", "size", "name"].map(|name| argument(hit, name).clone());
        // What has more than 63 bits is a text in both.
        assert_eq!([of("kind"), of("size"), of("name")], [kind.clone(), size.clone(), name.clone()]);
        let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        assert_eq!(body, format!("{kind} {} {}", text(&size), text(&name)));
    } else {
        let (kind, share) = (argument(hit, "kind").clone(), argument(hit, "share").clone());
        assert_eq!([of("kind"), of("share")], [kind.clone(), share.clone()]);
        assert_eq!(body, format!("kind {kind}, {:.2}", share.as_f64().expect("a number")));
    }
}

/// Spans are pairs of hits, nested as the program calls itself, and records are in the innermost one.
fn check_spans(spans: &[Span], logs: &[LogRecord], hits: &[Json], offset: u64) {
    let begins = hits.iter().filter(|hit| hit["marker"] == "db:query_begin");
    let ends: BTreeMap<i64, u64> = hits
        .iter()
        .filter(|hit| hit["marker"] == "db:query_end")
        .map(|hit| (argument(hit, "id").as_i64().expect("an id"), hit["time_ns"].as_u64().expect("a time")))
        .collect();
    let by_start: BTreeMap<u64, &Span> = spans.iter().map(|span| (span.start_time_unix_nano, span)).collect();
    assert_eq!((spans.len(), by_start.len(), ends.len()), (13, 13, 13));
    for begin in begins {
        let span = by_start[&(offset + begin["time_ns"].as_u64().expect("a time"))];
        let id = argument(begin, "id").as_i64().expect("an id");
        let of = |name: &str| attribute(&span.attributes, name);
        assert_eq!((span.name.as_str(), span.end_time_unix_nano), ("db:query", offset + ends[&id]));
        assert_eq!([of("id"), of("n")], [json!(id), argument(begin, "n").clone()]);
        assert_eq!((span.trace_id.len(), span.span_id.len(), span.kind), (16, 8, 1));
        assert!(span.trace_id.iter().any(|byte| *byte > 0) && span.span_id.iter().any(|byte| *byte > 0));
        let encloses = |other: &&&Span| {
            other.start_time_unix_nano < span.start_time_unix_nano && span.end_time_unix_nano < other.end_time_unix_nano
        };
        match by_start.values().find(encloses) {
            Some(parent) => {
                assert_eq!((&span.parent_span_id, &span.trace_id), (&parent.span_id, &parent.trace_id));
                assert_eq!(attribute(&parent.attributes, "n"), of("n").as_i64().expect("a number") + 1);
            }
            None => assert_eq!(span.parent_span_id, Vec::<u8>::new()),
        }
    }
    for log in logs {
        let around = by_start
            .values()
            .rfind(|span| (span.start_time_unix_nano..=span.end_time_unix_nano).contains(&log.time_unix_nano));
        let span = around.expect("all are in a span");
        assert_eq!((&log.trace_id, &log.span_id), (&span.trace_id, &span.span_id));
    }
}

/// Requests that are received one after the other and then answered in another thread, with the guards of their spans.
const MOVED: &str = r#"
use simple_markers::simple_span;

fn receive(number: u32) -> impl Send {
    simple_span!(request:whole, "number %u", number)
}

fn main() {
    let requests: Vec<_> = {
        let _all = simple_span!(request:all, "count %u", 5u32);
        (0..5u32).map(|number| (number, receive(number))).collect()
    };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for (number, whole) in requests {
                let _answer = simple_span!(request:answer, "number %u", number);
                drop(whole);
            }
        });
    });
}
"#;

#[test]
fn a_span_that_another_thread_ends_has_a_link_and_is_no_parent() {
    let Some(smark) = smark() else { return };
    let fixture = Fixture::new("moved").file("src/main.rs", MOVED);
    succeeds_silently(fixture.rustc(&["-Copt-level=2"]).env("RUSTFLAGS", "-g"));
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let mut record = command(&smark);
    record.args(["record", "-o"]).arg(&recording).arg("--").arg(fixture.built("moved"));
    ended(&mut record).success();
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Accept]);
    send(&smark, &receiver, &[], &recording);
    let (spans, _) = receiver.spans();
    let of = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let [all, wholes, answers] = ["request:all", "request:whole", "request:answer"].map(of);
    assert_eq!([all.len(), wholes.len(), answers.len()], [1, 5, 5]);
    for (whole, answer) in wholes.iter().zip(&answers) {
        let number = |span: &Span| attribute(&span.attributes, "number");
        assert_eq!(number(whole), number(answer));
        assert_eq!((&whole.parent_span_id, &whole.trace_id), (&all[0].span_id, &all[0].trace_id));
        let links: Vec<_> = whole.links.iter().map(|link| (&link.trace_id, &link.span_id)).collect();
        assert_eq!(links, [(&answer.trace_id, &answer.span_id)]);
        assert_eq!((answer.parent_span_id.len(), answer.links.len()), (0, 0));
    }
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Accept]);
    send(&smark, &receiver, &["--time", "request:whole"], &recording);
    let (spans, _) = receiver.spans();
    let parents: Vec<_> = spans.iter().map(|span| span.parent_span_id.len()).collect();
    assert_eq!(parents, [0; 5]);
    // Without the first reading, what is known of names is known from their first end on.
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Accept]);
    let mut trace = command(&smark);
    trace.args(["trace", "--json", &format!("--otlp={}", receiver.url), "--"]).arg(fixture.built("moved"));
    ended(&mut trace).success();
    let linked = receiver.spans().0.iter().filter(|span| span.links.len() == 1).count();
    assert_eq!(linked, 5);
}

#[test]
fn two_readings_send_the_same() {
    let Some(smark) = smark() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (_, recording) = recorded(&smark, folder.path(), "20");
    let sent = |options: &[(&str, &str)]| {
        let receiver = OtlpReceiver::start(&[ReceiverAnswer::Accept]);
        let mut report = command(&smark);
        report.arg("report").envs(options.iter().copied()).env("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.url);
        assert_eq!(ended(report.arg("--otlp").arg(&recording)).status, 0);
        receiver.accepted()
    };
    let plain = sent(&[]);
    assert_eq!(
        plain.iter().map(|it| &it.body).collect::<Vec<_>>(),
        sent(&[]).iter().map(|it| &it.body).collect::<Vec<_>>()
    );
    let json = sent(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"), ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")]);
    assert_eq!((plain.len(), json.len()), (2, 2));
    for (plain, json) in plain.iter().zip(&json) {
        assert_eq!((plain.header("content-encoding"), json.header("content-encoding")), ("", "gzip"));
        assert_eq!(json.header("content-type"), "application/json");
        match plain.path.as_str() {
            "/v1/logs" => assert_eq!(plain.decoded::<ExportLogsServiceRequest>(), json.decoded()),
            path => {
                assert_eq!(path, "/v1/traces");
                assert_eq!(plain.decoded::<ExportTraceServiceRequest>(), json.decoded());
            }
        }
    }
    let headers = [("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"), ("OTEL_SERVICE_NAME", "mine")];
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Accept]);
    let mut report = command(&smark);
    report.args(["report", &format!("--otlp={}", receiver.url)]).envs(headers);
    assert_eq!(ended(report.env("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "7").arg(&recording)).status, 0);
    assert_eq!(receiver.accepted()[0].header("x-key"), "a b");
    let (logs, resource) = receiver.logs();
    let requests = receiver.accepted().iter().filter(|it| it.path == "/v1/logs").count();
    assert_eq!((logs.len(), requests), (52, 8));
    assert_eq!(attribute(&resource.attributes, "service.name"), "mine");
}

#[test]
fn intervals_are_those_that_are_counted() {
    let Some(smark) = smark() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (_, recording) = recorded(&smark, folder.path(), "50");
    for options in [
        &["--time", "work:begin..work:end"][..],
        &["--time", "work:begin..work:end", "--key", "kind"],
        &["--time", "db:query"],
    ] {
        let lines = objects(&ended(command(&smark).args(["report", "--json"]).args(options).arg(&recording)).success());
        let time = lines.iter().find(|line| line["time"].is_object()).expect("the intervals")["time"].clone();
        let receiver = OtlpReceiver::start(&[ReceiverAnswer::Accept]);
        let (otlp, _) = said(&send(&smark, &receiver, options, &recording));
        let (spans, _) = receiver.spans();
        assert_eq!(
            (json!(spans.len()), &otlp["spans"]["sent"]),
            (time["count"].clone(), &time["count"]),
            "{options:?}"
        );
        let took = spans.iter().map(|span| span.end_time_unix_nano - span.start_time_unix_nano);
        assert_eq!((took.clone().min(), took.max()), (time["min"].as_u64(), time["max"].as_u64()), "{options:?}");
        assert_eq!(receiver.logs().0.len(), 0);
        let mut ids: Vec<_> = spans.iter().map(|span| span.span_id.clone()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), spans.len());
        if options[1] != "db:query" {
            let of = |span: &Span| attribute(&span.attributes, "name");
            assert!(spans.iter().all(|span| span.name == "work:begin..work:end" && of(span).is_string()));
        }
    }
}

#[test]
fn a_running_program_is_sent_whole() {
    let Some(smark) = smark() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "work", PROGRAM, &["-Wno-unused-parameter"]);
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Accept]);
    let mut trace = command(&smark);
    trace.args(["trace", "--json", &format!("--otlp={}", receiver.url), "--"]).arg(program).arg("2000");
    let ended = ended(&mut trace);
    let (otlp, hits) = said(&ended);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    // 2000 calls, and 666 that they make: two markers and a span in each.
    let calls = 2000 + 666;
    assert_eq!((hits, all(&otlp)), (4 * calls, 4 * calls), "{otlp}");
    let (logs, spans) = (receiver.logs().0, receiver.spans().0);
    assert_eq!((logs.len() as u64, spans.len() as u64), (2 * calls, calls));
    let nested = spans.iter().filter(|span| !span.parent_span_id.is_empty()).count();
    assert_eq!(nested, 666);
}

/// The number of a metric with these labels.
fn number(metrics: &[Metric], name: &str, labels: &[(&str, &str)]) -> Option<i64> {
    let metric = metrics.iter().find(|metric| metric.name == name)?;
    let points = match metric.data.as_ref()? {
        Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "{metric:?}");
            &sum.data_points
        }
        Data::Gauge(gauge) => &gauge.data_points,
        other => panic!("{other:?}"),
    };
    let is_of = |attributes: &[_]| labels.iter().all(|(label, value)| attribute(attributes, label) == *value);
    let point = points.iter().find(|point| is_of(&point.attributes))?;
    assert!(point.start_time_unix_nano < point.time_unix_nano);
    match point.value? {
        Value::AsInt(number) => Some(number),
        Value::AsDouble(number) => panic!("{number}"),
    }
}

fn histogram(metrics: &[Metric], name: &str) -> ExponentialHistogramDataPoint {
    let metric = metrics.iter().find(|metric| metric.name == name).expect("a histogram");
    let Some(Data::ExponentialHistogram(of)) = &metric.data else { panic!("{metric:?}") };
    assert_eq!((of.aggregation_temporality, of.data_points.len()), (2, 1));
    of.data_points[0].clone()
}

fn filled(of: &Option<Buckets>) -> Vec<(i32, u64)> {
    let Some(of) = of else { return Vec::new() };
    (of.offset..).zip(of.bucket_counts.iter().copied()).filter(|(_, count)| *count > 0).collect()
}

/// What `smark count` prints, and the last metrics that it sends.
fn counted(options: &[&str]) -> Option<(Vec<Json>, Vec<Metric>)> {
    let smark = smark()?;
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "work", PROGRAM, &["-Wno-unused-parameter"]);
    let receiver = OtlpReceiver::start(&[ReceiverAnswer::Accept]);
    let mut count = command(&smark);
    count.args(["count", "--json", &format!("--otlp={}", receiver.url)]).args(options);
    let ended = ended(count.arg("--").arg(program).arg("300"));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(receiver.accepted().iter().all(|it| it.path == "/v1/metrics"));
    Some((objects(&ended.stdout), receiver.metrics()))
}

#[test]
fn metrics_are_the_counts() {
    let Some((lines, metrics)) = counted(&["--time", "work:begin..work:end", "--key", "kind"]) else { return };
    for line in lines.iter().filter(|line| line["module"].is_string()) {
        let labels = [("marker", line["marker"].as_str().expect("a name")), ("module", "work")];
        assert_eq!(number(&metrics, "smark.hits", &labels), line["hits"].as_i64(), "{line}");
    }
    let interval = lines.iter().find(|line| line["time"].is_object()).expect("the intervals");
    let point = histogram(&metrics, "smark.interval");
    let (positive, time) = (filled(&point.positive), &interval["time"]);
    assert_eq!(attribute(&point.attributes, "interval"), interval["marker"]);
    assert_eq!((json!(point.count), point.scale, point.zero_count), (time["count"].clone(), 5, 0));
    assert_eq!(positive.iter().map(|(_, count)| count).sum::<u64>(), point.count);
    let seconds = |name: &str| Some(time[name].as_u64().expect("ns") as f64 / 1e9);
    assert_eq!((point.min, point.max), (seconds("min"), seconds("max")));
    // The median of the buckets is that of the kernel's, within half a bucket of each.
    let middle = |index: i32| ((f64::from(index) + 0.5) / 32.0).exp2();
    let mut seen = 0;
    let median = positive.iter().find(|(_, count)| {
        seen += count;
        seen * 2 >= point.count
    });
    let (median, expected) = (middle(median.expect("a median").0), seconds("p50").expect("a median"));
    assert!((median / expected - 1.0).abs() < 0.012, "{median} {expected}");
    let starts = number(&metrics, "smark.unpaired_hits", &[("side", "end")]);
    assert_eq!(starts, time["ends_without_start"].as_i64());
}

#[test]
fn sums_and_distributions_are_the_counts() {
    let Some((lines, metrics)) = counted(&["--sum", "kind", "work:end"]) else { return };
    let labels = [("marker", "work:end"), ("argument", "kind")];
    let amounts = &lines[0]["amounts"];
    assert_eq!(number(&metrics, "smark.amount", &labels), amounts["sum"].as_i64());
    assert_eq!(number(&metrics, "smark.amounts", &labels), amounts["count"].as_i64());
    let Some((lines, metrics)) = counted(&["--hist", "kind", "work:end"]) else { return };
    let point = histogram(&metrics, "smark.distribution");
    // The values are -1, 0 and 1.
    let of = |value: i64| {
        let buckets = lines[0]["histogram"].as_array().expect("buckets");
        buckets.iter().find(|bucket| bucket[0] == value).map_or(0, |bucket| bucket[2].as_u64().expect("a count"))
    };
    assert_eq!((point.scale, point.zero_count, point.count), (0, of(0), of(-1) + of(0) + of(1)));
    assert_eq!(filled(&point.positive), [(-1, of(1))]);
    assert_eq!(filled(&point.negative), [(-1, of(-1))]);
    let Some((lines, metrics)) = counted(&["--by", "kind", "work:end"]) else { return };
    for value in lines[0]["by"].as_array().expect("values") {
        let labels = [("argument", "kind"), ("value", &*value[0].to_string())];
        assert_eq!(number(&metrics, "smark.values", &labels), value[1].as_i64());
    }
}
