//! `--metrics`: what the processes used, for Prometheus.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use simple_markers_resolver::text::shown;
use simple_markers_top::{Metrics, Name, Table, Totals};

use super::address::Address;
use super::http::{self, Page, PageForm};

/// The label of what has no series of its own, which has no label `host`. No process of this machine
/// has such a name: it is longer than the 15 bytes of a name in the kernel.
const OTHERS: &str = "all other processes";

/// The page that Prometheus reads.
const PAGE: Page = Page { path: "/metrics" };

/// What a client accepts that reads OpenMetrics, as Prometheus does. Others, such as curl and promtool,
/// get the older text format.
const OPEN_METRICS: &str = "application/openmetrics-text";

/// Names, without unit and ending, and help.
const MEASURED: (&str, &str) = ("smark_measured", "How long the CPU time was measured.");
const CPU: (&str, &str) = ("smark_cpu", "CPU time of the processes with this name.");
const SWITCHES: (&str, &str) = ("smark_switches", "How often their threads left a CPU.");
const HITS: (&str, &str) = ("smark_marker_hits", "How often they passed the chosen markers.");
const WAIT: (&str, &str) =
    ("smark_longest_wait", "The longest time in the last minute that one of their threads waited for a CPU.");

/// A server of metrics.
#[derive(Debug)]
pub(crate) struct Server {
    metrics: Arc<Mutex<Metrics>>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Listens, and answers with the metrics of the `most` busiest names.
    pub(crate) fn start(address: &Address, most: usize) -> anyhow::Result<Self> {
        let failed = || format!("cannot listen on {address}");
        let addresses = address.resolve().with_context(failed)?;
        let listener = TcpListener::bind(&*addresses).with_context(failed)?;
        let address = listener.local_addr().with_context(failed)?;
        let metrics = Arc::new(Mutex::new(Metrics::new(most)));
        let shared = Arc::clone(&metrics);
        let text = move |accepts: &str| {
            // The lock is held for the copy only, so that measuring goes on.
            let snapshot = Snapshot::of(&shared.lock().unwrap_or_else(PoisonError::into_inner));
            match accepts.contains(OPEN_METRICS) {
                true => PageForm {
                    content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
                    text: snapshot.text(),
                },
                false => PageForm { content_type: "text/plain; version=0.0.4; charset=utf-8", text: snapshot.plain() },
            }
        };
        http::serve(listener, PAGE, text).with_context(failed)?;
        Ok(Self { metrics, address })
    }

    /// Adds an interval of a machine; `None` is this one. `passed` is the time since the last one.
    pub(crate) fn add(&self, host: Option<&str>, table: &Table, passed: u64) {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).add(host, table, passed);
    }
}

/// The labels `comm`, and `host` for other machines.
type Labels = Vec<(&'static str, String)>;

/// The metrics of a moment.
#[derive(Debug)]
struct Snapshot {
    /// The labels, and what was used.
    series: Vec<(Labels, Totals)>,
    measured: u64,
}

impl Snapshot {
    fn of(metrics: &Metrics) -> Self {
        let labels = |name: &Name| {
            let host = name.host.as_deref().map(|host| ("host", shown(host).into_owned()));
            host.into_iter().chain([("comm", shown(&name.comm).into_owned())]).collect()
        };
        let busiest = metrics.busiest().into_iter().map(|(name, totals)| (labels(name), totals.clone()));
        let others = (vec![("comm", OTHERS.to_owned())], metrics.others().clone());
        Self { series: busiest.chain([others]).collect(), measured: metrics.measured() }
    }

    fn text(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = text::encode(&mut text, &registry);
        text
    }

    /// The page in the text format of Prometheus, version 0.0.4: as in OpenMetrics, but with the endings
    /// of counters in the names of families, and without units and an end.
    fn plain(&self) -> String {
        let mut page = String::new();
        let mut family = |name: &str, help: &str, kind: &str, samples: Vec<(&Labels, String)>| {
            page.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
            for (labels, value) in samples {
                let escaped = |text: &str| text.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
                let labels: Vec<String> =
                    labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
                let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
                page.push_str(&format!("{name}{labels} {value}\n"));
            }
        };
        let of_each = |value: &dyn Fn(&Totals) -> Option<String>| -> Vec<(&Labels, String)> {
            self.series.iter().filter_map(|(labels, totals)| Some((labels, value(totals)?))).collect()
        };
        let none = Labels::new();
        let measured = vec![(&none, in_seconds(self.measured).to_string())];
        family(&format!("{}_seconds_total", MEASURED.0), MEASURED.1, "counter", measured);
        let cpu = of_each(&|totals| Some(in_seconds(totals.cpu).to_string()));
        family(&format!("{}_seconds_total", CPU.0), CPU.1, "counter", cpu);
        let switches = of_each(&|totals| Some(totals.switches.to_string()));
        family(&format!("{}_total", SWITCHES.0), SWITCHES.1, "counter", switches);
        let hits = of_each(&|totals| totals.hits.map(|hits| hits.to_string()));
        if !hits.is_empty() {
            family(&format!("{}_total", HITS.0), HITS.1, "counter", hits);
        }
        let wait = of_each(&|totals| Some(in_seconds(totals.longest_wait()).to_string()));
        family(&format!("{}_seconds", WAIT.0), WAIT.1, "gauge", wait);
        page
    }

    /// A counter for each name; one that has no value is left out.
    fn counter<T: EncodeCounterValue>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, help): (&str, &str),
        unit: Option<&Unit>,
        value: impl Fn(&Totals) -> Option<T>,
    ) -> fmt::Result {
        let series = self.series.iter().filter_map(|(labels, totals)| Some((labels, value(totals)?)));
        let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Counter)?;
        for (labels, value) in series {
            family.encode_family(labels)?.encode_counter::<NoLabelSet, T, u64>(&value, None)?;
        }
        Ok(())
    }
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (encoder, seconds) = (&mut encoder, Some(&Unit::Seconds));
        let mut family = encoder.encode_descriptor(MEASURED.0, MEASURED.1, seconds, MetricType::Counter)?;
        family.encode_counter::<NoLabelSet, f64, u64>(&in_seconds(self.measured), None)?;
        self.counter(encoder, CPU, seconds, |totals| Some(in_seconds(totals.cpu)))?;
        self.counter(encoder, SWITCHES, None, |totals| Some(totals.switches))?;
        if self.series.iter().any(|(_, totals)| totals.hits.is_some()) {
            self.counter(encoder, HITS, None, |totals| totals.hits)?;
        }
        let mut family = encoder.encode_descriptor(WAIT.0, WAIT.1, seconds, MetricType::Gauge)?;
        for (labels, totals) in &self.series {
            family.encode_family(labels)?.encode_gauge(&in_seconds(totals.longest_wait()))?;
        }
        Ok(())
    }
}

fn in_seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use simple_markers_top::{Process, Usage};

    use super::*;

    fn process(name: &str, cpu: u64, hits: Option<u64>) -> Process {
        let usage = Usage { cpu, cpu_total: cpu, switches: 7, preempted: 1, longest_wait: cpu / 4 };
        Process { name: name.to_owned(), usage, hits, ..Process::default() }
    }

    fn text(processes: Vec<Process>) -> String {
        let mut metrics = Metrics::new(2);
        metrics.add(None, &Table { interval: 1_500_000_000, processes, ..Table::default() }, 0);
        Snapshot::of(&metrics).text()
    }

    #[test]
    fn the_page() {
        let hostile = "a\"b\\c\n\u{1b}[2J";
        let page = text(vec![
            process("server", 2_000_000_000, Some(3)),
            process(hostile, 1_000_000_000, None),
            process("idle", 500, None),
            process("other", 1000, Some(4)),
        ]);
        let expected = r#"# HELP smark_measured_seconds How long the CPU time was measured.
# TYPE smark_measured_seconds counter
# UNIT smark_measured_seconds seconds
smark_measured_seconds_total 1.5
# HELP smark_cpu_seconds CPU time of the processes with this name.
# TYPE smark_cpu_seconds counter
# UNIT smark_cpu_seconds seconds
smark_cpu_seconds_total{comm="a\"b\\c\\n\\x1b[2J"} 1.0
smark_cpu_seconds_total{comm="server"} 2.0
smark_cpu_seconds_total{comm="all other processes"} 0.0000015
# HELP smark_switches How often their threads left a CPU.
# TYPE smark_switches counter
smark_switches_total{comm="a\"b\\c\\n\\x1b[2J"} 7
smark_switches_total{comm="server"} 7
smark_switches_total{comm="all other processes"} 14
# HELP smark_marker_hits How often they passed the chosen markers.
# TYPE smark_marker_hits counter
smark_marker_hits_total{comm="server"} 3
smark_marker_hits_total{comm="all other processes"} 4
# HELP smark_longest_wait_seconds The longest time in the last minute that one of their threads waited for a CPU.
# TYPE smark_longest_wait_seconds gauge
# UNIT smark_longest_wait_seconds seconds
smark_longest_wait_seconds{comm="a\"b\\c\\n\\x1b[2J"} 0.25
smark_longest_wait_seconds{comm="server"} 0.5
smark_longest_wait_seconds{comm="all other processes"} 2.5e-7
# EOF
"#;
        assert_eq!(page, expected);
        assert!(!text(vec![process("server", 1, None)]).contains("hits"));
        let mut metrics = Metrics::new(2);
        metrics.add(Some("b\"x"), &Table { processes: vec![process("server", 0, None)], ..Table::default() }, 0);
        let page = Snapshot::of(&metrics).text();
        assert!(page.contains("smark_switches_total{host=\"b\\\"x\",comm=\"server\"} 7\n"), "{page}");
    }
}
