//! A page of metrics for Prometheus, as OpenMetrics 1.0 and in the older text format 0.0.4.

use std::fmt;
use std::net::{SocketAddr, TcpListener};

use anyhow::Context as _;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use crate::address::Address;
use crate::http::{self, Page, PageForm};

/// The page that Prometheus reads.
const PAGE: Page = Page { path: "/metrics" };

/// What a client accepts that reads OpenMetrics, as Prometheus does. Others, such as curl and promtool,
/// get the older text format.
const OPEN_METRICS: &str = "application/openmetrics-text";

/// The labels of a sample, with their values.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// The samples of one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Family {
    /// The name without its unit, and without the endings of counters.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// Whether the unit is seconds; otherwise there is none.
    pub(crate) is_time: bool,
    pub(crate) samples: Samples,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Samples {
    /// What only grows.
    Counter(Vec<(Labels, f64)>),
    Gauge(Vec<(Labels, f64)>),
    /// How values are distributed.
    Histogram(Vec<(Labels, Distribution)>),
}

/// How values are distributed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Distribution {
    pub(crate) sum: f64,
    /// How many values there are up to each limit and above the one before, in ascending order. The last limit is infinite.
    pub(crate) buckets: Vec<(f64, u64)>,
}

impl Distribution {
    fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }
}

/// Listens, and answers with a page that `families` makes. Returns where it listens.
pub(crate) fn serve(
    address: &Address,
    families: impl Fn() -> Vec<Family> + Send + Sync + 'static,
) -> anyhow::Result<SocketAddr> {
    let failed = || format!("cannot listen on {address}");
    let addresses = address.resolve().with_context(failed)?;
    let listener = TcpListener::bind(&*addresses).with_context(failed)?;
    let address = listener.local_addr().with_context(failed)?;
    let page = move |accepts: &str| match accepts.contains(OPEN_METRICS) {
        true => PageForm {
            content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text: open_metrics(families()),
        },
        false => PageForm { content_type: "text/plain; version=0.0.4; charset=utf-8", text: plain(&families()) },
    };
    http::serve(listener, PAGE, page).with_context(failed)?;
    Ok(address)
}

/// The page as OpenMetrics.
pub(crate) fn open_metrics(families: Vec<Family>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Families(families)));
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = text::encode(&mut text, &registry);
    text
}

/// The page in the text format of Prometheus, version 0.0.4: as in OpenMetrics, but with the endings
/// of counters in the names of families, and without units and an end.
fn plain(families: &[Family]) -> String {
    let mut page = String::new();
    for Family { name, help, is_time, samples } in families {
        let unit = if *is_time { "_seconds" } else { "" };
        let (kind, end) = match samples {
            Samples::Counter(_) => ("counter", "_total"),
            Samples::Gauge(_) => ("gauge", ""),
            Samples::Histogram(_) => ("histogram", ""),
        };
        let name = format!("{name}{unit}{end}");
        page.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        let mut sample = |end: &str, labels: &[(&str, String)], value: f64| {
            let escaped = |text: &str| text.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
            let labels: Vec<String> =
                labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            page.push_str(&format!("{name}{end}{labels} {value}\n"));
        };
        match samples {
            Samples::Counter(all) | Samples::Gauge(all) => {
                all.iter().for_each(|(labels, value)| sample("", labels, *value));
            }
            Samples::Histogram(all) => {
                for (labels, of) in all {
                    let mut sum = 0u64;
                    for (limit, count) in &of.buckets {
                        sum += count;
                        let limit = if limit.is_infinite() { "+Inf".to_owned() } else { limit.to_string() };
                        sample("_bucket", &[&labels[..], &[("le", limit)]].concat(), sum as f64);
                    }
                    sample("_sum", labels, of.sum);
                    sample("_count", labels, of.count() as f64);
                }
            }
        }
    }
    page
}

/// Families that the client library writes.
#[derive(Debug)]
struct Families(Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for Family { name, help, is_time, samples } in &self.0 {
            let unit = is_time.then_some(&Unit::Seconds);
            let kind = match samples {
                Samples::Counter(_) => MetricType::Counter,
                Samples::Gauge(_) => MetricType::Gauge,
                Samples::Histogram(_) => MetricType::Histogram,
            };
            let mut family = encoder.encode_descriptor(name, help, unit, kind)?;
            // An empty set of labels would be a pair of braces.
            let mut write =
                |labels: &Labels, write: &dyn Fn(&mut MetricEncoder<'_>) -> fmt::Result| match labels.is_empty() {
                    true => write(&mut family),
                    false => write(&mut family.encode_family(labels)?),
                };
            match samples {
                Samples::Counter(all) => all.iter().try_for_each(|(labels, value)| {
                    // A whole number without a point, as counters of events are.
                    match *is_time || value.fract() != 0.0 {
                        true => write(labels, &|out| out.encode_counter::<NoLabelSet, f64, u64>(value, None)),
                        false => {
                            write(labels, &|out| out.encode_counter::<NoLabelSet, u64, u64>(&(*value as u64), None))
                        }
                    }
                })?,
                Samples::Gauge(all) => {
                    all.iter().try_for_each(|(labels, value)| write(labels, &|out| out.encode_gauge(value)))?;
                }
                Samples::Histogram(all) => all.iter().try_for_each(|(labels, of)| {
                    write(labels, &|out| out.encode_histogram::<NoLabelSet>(of.sum, of.count(), &of.buckets, None))
                })?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_have_cumulative_buckets() {
        let of = Distribution { sum: 0.75, buckets: vec![(0.5, 2), (1.0, 0), (f64::INFINITY, 1)] };
        let labels = vec![("interval", "a..\"b".to_owned())];
        let family = Family {
            name: "smark_interval",
            help: "How long.",
            is_time: true,
            samples: Samples::Histogram(vec![(labels, of)]),
        };
        let sampled = r#"smark_interval_seconds_bucket{interval="a..\"b",le="0.5"} 2
smark_interval_seconds_bucket{interval="a..\"b",le="1"} 2
smark_interval_seconds_bucket{interval="a..\"b",le="+Inf"} 3
smark_interval_seconds_sum{interval="a..\"b"} 0.75
smark_interval_seconds_count{interval="a..\"b"} 3
"#;
        let start = "# HELP smark_interval_seconds How long.\n# TYPE smark_interval_seconds histogram\n";
        assert_eq!(plain(std::slice::from_ref(&family)), format!("{start}{sampled}"));
        let page = open_metrics(vec![family]);
        let mut lines: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
        let mut expected: Vec<String> = sampled.lines().map(|line| line.replace("le=\"1\"", "le=\"1.0\"")).collect();
        // The labels may be in another order.
        let sorted = |line: &str| {
            let mut letters: Vec<char> = line.chars().collect();
            letters.sort_unstable();
            letters
        };
        lines.sort_by_key(|line| sorted(line));
        expected.sort_by_key(|line| sorted(line));
        assert_eq!(lines.len(), expected.len(), "{page}");
        assert!(lines.iter().zip(&expected).all(|(one, other)| sorted(one) == sorted(other)), "{page}");
        assert!(page.ends_with("# EOF\n") && page.contains("# UNIT smark_interval_seconds seconds\n"), "{page}");
    }
}
