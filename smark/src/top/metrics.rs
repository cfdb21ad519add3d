//! `--metrics`: what the processes used, for Prometheus.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use simple_markers_resolver::text::shown;
use simple_markers_top::{Metrics, Name, Table, Totals};

use crate::address::Address;
use crate::metrics::{self, Family, Labels, SampleValue, Samples};

/// The label of what has no series of its own, which has no label `host`. No process of this machine
/// has such a name: it is longer than the 15 bytes of a name in the kernel.
const OTHERS: &str = "all other processes";

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
        let metrics = Arc::new(Mutex::new(Metrics::new(most)));
        let shared = Arc::clone(&metrics);
        // The lock is held for the copy only, so that measuring goes on.
        let families = move || families(&shared.lock().unwrap_or_else(PoisonError::into_inner));
        let address = metrics::serve(address, families)?;
        Ok(Self { metrics, address })
    }

    /// Adds an interval of a machine; `None` is this one. `passed` is the time since the last one.
    pub(crate) fn add(&self, host: Option<&str>, table: &Table, passed: u64) {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).add(host, table, passed);
    }
}

/// The metrics of a moment.
fn families(metrics: &Metrics) -> Vec<Family> {
    let labels = |name: &Name| -> Labels {
        let host = name.host.as_deref().map(|host| ("host", shown(host).into_owned()));
        host.into_iter().chain([("comm", shown(&name.comm).into_owned())]).collect()
    };
    let busiest = metrics.busiest().into_iter().map(|(name, totals)| (labels(name), totals));
    let others = (vec![("comm", OTHERS.to_owned())], metrics.others());
    let series: Vec<(Labels, &Totals)> = busiest.chain([others]).collect();
    let of_each = |value: &dyn Fn(&Totals) -> Option<SampleValue>| {
        series.iter().filter_map(|(labels, totals)| Some((labels.clone(), value(totals)?))).collect()
    };
    let family = |(name, help), is_time, samples| Family { name, help, is_time, samples };
    let measured = vec![(Labels::new(), in_seconds(metrics.measured()))];
    let mut families = vec![
        family(MEASURED, true, Samples::Counter(measured)),
        family(CPU, true, Samples::Counter(of_each(&|totals| Some(in_seconds(totals.cpu))))),
        family(SWITCHES, false, Samples::Counter(of_each(&|totals| Some(totals.switches.into())))),
    ];
    if series.iter().any(|(_, totals)| totals.hits.is_some()) {
        families.push(family(HITS, false, Samples::Counter(of_each(&|totals| totals.hits.map(SampleValue::from)))));
    }
    families.push(family(WAIT, true, Samples::Gauge(of_each(&|totals| Some(in_seconds(totals.longest_wait()))))));
    families
}

fn in_seconds(ns: u64) -> SampleValue {
    SampleValue::Real(ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use simple_markers_top::{Process, Usage};

    use super::*;
    use crate::metrics::open_metrics;

    fn process(name: &str, cpu: u64, hits: Option<u64>) -> Process {
        let usage = Usage { cpu, cpu_total: cpu, switches: 7, preempted: 1, longest_wait: cpu / 4 };
        Process { name: name.to_owned(), usage, hits, ..Process::default() }
    }

    fn text(processes: Vec<Process>) -> String {
        let mut metrics = Metrics::new(2);
        metrics.add(None, &Table { interval: 1_500_000_000, processes, ..Table::default() }, 0);
        open_metrics(families(&metrics))
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
        let page = open_metrics(families(&metrics));
        assert!(page.contains("smark_switches_total{host=\"b\\\"x\",comm=\"server\"} 7\n"), "{page}");
    }
}
