//! `smark count --metrics`: the page has what the program does, Prometheus' promtool accepts it, and Prometheus reads it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use simple_markers_tests::fixture;
use simple_markers_tests::metrics_page;
use simple_markers_tests::tools::{self, find, skipped};
use simple_markers_tests::watched::{can_watch, compile};

/// It passes `begin` and `end` as often as each line of its input says, with the numbers 0, 1, 2, 0, 1, 2, ...
const PROGRAM: &str = r#"
#include <stdio.h>
#include "simple_marker.h"
#define NOINLINE __attribute__((noinline))
NOINLINE static void begin(int kind, long size) { simple_mark_keep(work:begin, "%d %ld", kind, size); }
NOINLINE static void end(int kind) { simple_mark_keep(work:end, "%d", kind); }
int main(void) {
    int times;
    while (scanf("%d", &times) == 1)
        for (int i = 0; i < times; i++) {
            begin(i % 3, 10 - i);
            end(i % 3);
        }
    return 0;
}
"#;

/// A program that is counted, with its page.
struct Counted {
    smark: Child,
    address: String,
}

impl Counted {
    fn start(folder: &Path, options: &[&str]) -> Self {
        let program = compile(folder, "work", PROGRAM, &[]);
        let mut smark = Command::new(fixture::smark());
        smark.args(["count", "--metrics", "127.0.0.1:0"]).args(options).arg("--").arg(program);
        let mut smark =
            smark.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("smark");
        let mut said = BufReader::new(smark.stderr.take().expect("a pipe")).lines().map(|line| line.expect("UTF-8"));
        let address = said.find_map(|line| metrics_page::address(&line)).expect("the address");
        // The pipe stays open.
        std::thread::spawn(move || said.count());
        Self { smark, address }
    }

    /// The page, as OpenMetrics if it is asked for.
    fn page(&self, accepts: &str) -> String {
        metrics_page::page(&self.address, accepts)
    }

    /// The samples of the page, by their names with the labels.
    fn samples(&self) -> BTreeMap<String, f64> {
        metrics_page::samples(&self.address)
    }

    /// Passes the markers so often, and waits until the page says so.
    fn pass(&mut self, times: u64, all: u64) -> BTreeMap<String, f64> {
        writeln!(self.smark.stdin.as_mut().expect("a pipe"), "{times}").expect("it is written");
        let start = Instant::now();
        loop {
            let samples = self.samples();
            if samples.get(r#"smark_hits_total{marker="work:end",module="work"}"#) == Some(&(all as f64)) {
                return samples;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{samples:?}");
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        drop(self.smark.stdin.take());
        let _ = self.smark.wait();
    }
}

/// promtool (Debian: prometheus) finds nothing wrong with a page.
fn check(page: &str) {
    let Some(promtool) = find("promtool") else { return skipped("promtool is not installed") };
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool");
    check.stdin.take().expect("a pipe").write_all(page.as_bytes()).expect("it is written");
    let output = check.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn the_page_has_values_that_only_grow() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut counted = Counted::start(folder.path(), &["--by", "kind", "--top", "2"]);
    let value = |samples: &BTreeMap<String, f64>, value: &str| {
        samples
            .get(&format!(r#"smark_values_total{{marker="work:begin",module="work",argument="kind",value="{value}"}}"#))
            .copied()
    };
    let first = counted.pass(8, 8);
    // Two of the three kinds have a series: the most frequent ones, or those that came first if the page was made between.
    let sum = |samples: &BTreeMap<String, f64>| {
        ["0", "1", "2", "all others"].iter().filter_map(|kind| value(samples, kind)).sum::<f64>()
    };
    assert_eq!(sum(&first), 8.0, "{first:?}");
    let second = counted.pass(300, 308);
    assert_eq!(sum(&second), 308.0, "{second:?}");
    let own =
        |samples: &BTreeMap<String, f64>| ["0", "1", "2"].iter().filter(|kind| value(samples, kind).is_some()).count();
    assert_eq!(own(&second), 2, "{second:?}");
    for (name, before) in &first {
        assert!(second.get(name).is_some_and(|after| after >= before), "{name}: {before} {second:?}");
    }
    check(&counted.page("*/*"));
    let page = counted.page("application/openmetrics-text");
    assert!(page.ends_with("# EOF\n") && page.contains("# TYPE smark_values counter\n"), "{page}");
}

#[test]
fn the_page_has_histograms_and_parts_of_intervals() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut counted = Counted::start(folder.path(), &["--time", "work:begin..work:end", "--split"]);
    let samples = counted.pass(1000, 1000);
    let of = |name: &str| samples.get(name).copied().unwrap_or_else(|| panic!("{name}: {samples:?}"));
    let labels = r#"interval="work:begin..work:end""#;
    assert_eq!(of(&format!("smark_interval_seconds_count{{{labels}}}")), 1000.0);
    assert_eq!(of(&format!("smark_interval_seconds_bucket{{{labels},le=\"+Inf\"}}")), 1000.0);
    let mut buckets: Vec<f64> =
        samples.iter().filter(|(name, _)| name.contains("_bucket{")).map(|(_, count)| *count).collect();
    assert_eq!(buckets.len(), 28);
    buckets.sort_by(f64::total_cmp);
    assert!(buckets[0] < 1000.0, "{samples:?}");
    let part = |name: &str| of(&format!("smark_interval_parts_seconds_total{{{labels},part=\"{name}\"}}"));
    let (sum, parts) =
        (of(&format!("smark_interval_seconds_sum{{{labels}}}")), part("on_cpu") + part("queued") + part("blocked"));
    assert!(parts > 0.0 && (sum / parts - 1.0).abs() <= 1.0 / 16.0, "{sum} {parts}");
    assert_eq!(of(&format!("smark_open_intervals{{{labels}}}")), 0.0);
    check(&counted.page("*/*"));
}

#[test]
fn the_page_has_sums() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut counted = Counted::start(folder.path(), &["--sum", "size", "work:*"]);
    writeln!(counted.smark.stdin.as_mut().expect("a pipe"), "30").expect("it is written");
    let start = Instant::now();
    let labels = r#"marker="work:begin",module="work",argument="size""#;
    let samples = loop {
        let samples = counted.samples();
        if samples.get(&format!("smark_amounts_total{{{labels}}}")) == Some(&30.0) {
            break samples;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{samples:?}");
        sleep(Duration::from_millis(100));
    };
    // 10, 9, ... -19
    assert_eq!(samples[&format!("smark_amount{{{labels}}}")], (-19..=10).sum::<i64>() as f64);
    check(&counted.page("*/*"));
}

/// An address that is taken is said before anything is started.
#[test]
fn an_address_that_is_taken_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let mut smark = Command::new(fixture::smark());
    let output = tools::output(smark.args(["count", "--metrics", &address, "--", "/bin/true"]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
}
