//! Metrics, and a page of them for Prometheus, as OpenMetrics 1.0 and in the older text format 0.0.4.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::time::Instant;

use anyhow::Context as _;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use serde_json::Value as Json;
use simple_markers_tracer::Plan;
use simple_markers_tracer::histogram::{Durations, fine_range};

use crate::address::Address;
use crate::console::Console;
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
    Counter(Vec<(Labels, SampleValue)>),
    Gauge(Vec<(Labels, SampleValue)>),
    /// How times are distributed.
    Times(Vec<(Labels, Durations)>),
    /// How values are distributed: the coarse buckets of [`coarse_range`](simple_markers_tracer::histogram::coarse_range) that
    /// are not empty. Neither the sum nor the smallest and the largest value are known, so they are not on the page.
    Powers(Vec<(Labels, Vec<(u32, u64)>)>),
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SampleValue {
    Integer(i128),
    Real(f64),
}

impl SampleValue {
    /// The nearest floating-point number.
    pub(crate) fn real(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

impl From<u64> for SampleValue {
    fn from(number: u64) -> Self {
        Self::Integer(number.into())
    }
}

/// Takes metrics now and then.
pub(crate) trait FamilyOutput {
    /// When it takes them next.
    fn due(&self) -> Instant;

    /// Takes them. `plan` is what is watched.
    fn put(&mut self, families: &[Family], plan: &Plan);

    /// It has taken the last ones. Returns a member of the last line of JSON, if there is something to say.
    fn end(self: Box<Self>, _console: &Console) -> Option<(&'static str, Json)> {
        None
    }
}

/// How times are distributed, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Distribution {
    sum: f64,
    /// How many values there are up to each limit and above the one before, in ascending order. The last limit is infinite.
    buckets: Vec<(f64, u64)>,
}

/// The limits of the buckets of times: powers of two from so many ns to so many.
const LIMITS: std::ops::RangeInclusive<u32> = 10..=36;

impl Distribution {
    fn new(durations: &Durations) -> Self {
        let limits = LIMITS.map(|power| (1u64 << power) - 1);
        let mut buckets: Vec<(u64, u64)> = limits.chain([u64::MAX]).map(|limit| (limit, 0)).collect();
        for (fine, count) in (0..).zip(&durations.counts).filter(|(_, count)| **count > 0) {
            let (_, high) = fine_range(fine);
            if let Some((_, all)) = buckets.iter_mut().find(|(limit, _)| high <= *limit) {
                *all += count;
            }
        }
        let limit = |limit: u64| if limit == u64::MAX { f64::INFINITY } else { limit as f64 / 1e9 };
        let buckets = buckets.into_iter().map(|(at, count)| (limit(at), count)).collect();
        Self { sum: seconds(durations), buckets }
    }

    fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }
}

/// The sum of times in seconds, as if each were the middle of its bucket: at most 1/16 off.
pub(crate) fn seconds(durations: &Durations) -> f64 {
    let middles = durations.middles().map(|(middle, count)| middle as f64 * count as f64);
    middles.sum::<f64>() / 1e9
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
        if let Samples::Powers(_) = samples {
            continue;
        }
        let unit = if *is_time { "_seconds" } else { "" };
        let (kind, end) = match samples {
            Samples::Counter(_) => ("counter", "_total"),
            Samples::Gauge(_) => ("gauge", ""),
            Samples::Times(_) | Samples::Powers(_) => ("histogram", ""),
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
                all.iter().for_each(|(labels, value)| sample("", labels, value.real()));
            }
            Samples::Powers(_) => {}
            Samples::Times(all) => {
                for (labels, times) in all {
                    let of = Distribution::new(times);
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
            if let Samples::Powers(_) = samples {
                continue;
            }
            let unit = is_time.then_some(&Unit::Seconds);
            let kind = match samples {
                Samples::Counter(_) => MetricType::Counter,
                Samples::Gauge(_) => MetricType::Gauge,
                Samples::Times(_) | Samples::Powers(_) => MetricType::Histogram,
            };
            let mut family = encoder.encode_descriptor(name, help, unit, kind)?;
            // An empty set of labels would be a pair of braces.
            let mut write =
                |labels: &Labels, write: &dyn Fn(&mut MetricEncoder<'_>) -> fmt::Result| match labels.is_empty() {
                    true => write(&mut family),
                    false => write(&mut family.encode_family(labels)?),
                };
            match samples {
                Samples::Counter(all) => all.iter().try_for_each(|(labels, value)| match value {
                    // A whole number without a point, as counters of events are.
                    SampleValue::Integer(number) if u64::try_from(*number).is_ok() => {
                        let number = u64::try_from(*number).unwrap_or_default();
                        write(labels, &|out| out.encode_counter::<NoLabelSet, u64, u64>(&number, None))
                    }
                    value => write(labels, &|out| out.encode_counter::<NoLabelSet, f64, u64>(&value.real(), None)),
                })?,
                Samples::Gauge(all) => {
                    all.iter().try_for_each(|(labels, value)| write(labels, &|out| out.encode_gauge(&value.real())))?;
                }
                Samples::Times(all) => all.iter().try_for_each(|(labels, times)| {
                    let of = Distribution::new(times);
                    write(labels, &|out| out.encode_histogram::<NoLabelSet>(of.sum, of.count(), &of.buckets, None))
                })?,
                Samples::Powers(_) => {}
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
        let mut times = Durations::default();
        [1023, 1023, 3000].into_iter().for_each(|ns| times.count_one(ns));
        let labels = vec![("interval", "a..\"b".to_owned())];
        let family = |name, samples| Family { name, help: "How long.", is_time: true, samples };
        let family = [
            family("smark_interval", Samples::Times(vec![(labels.clone(), times)])),
            family("smark_hist", Samples::Powers(vec![(labels, vec![(1, 1)])])),
        ];
        // The middle of each bucket, which is not below the shortest.
        let sum = (2.0 * 1023.0 + 2943.0) / 1e9;
        let start = "# HELP smark_interval_seconds How long.\n# TYPE smark_interval_seconds histogram\n";
        let end = format!(
            "smark_interval_seconds_bucket{{interval=\"a..\\\"b\",le=\"+Inf\"}} 3\n\
             smark_interval_seconds_sum{{interval=\"a..\\\"b\"}} {sum}\n\
             smark_interval_seconds_count{{interval=\"a..\\\"b\"}} 3\n"
        );
        let page = plain(&family);
        assert!(page.starts_with(start) && page.ends_with(&end), "{page}");
        let bucket = |le: &str| {
            let line = page.lines().find(|line| line.contains(&format!("le=\"{le}\""))).expect("a bucket");
            line.rsplit(' ').next().map(str::to_owned)
        };
        assert_eq!((bucket("0.000001023"), bucket("0.000002047")), (Some("2".to_owned()), Some("2".to_owned())));
        assert_eq!(bucket("0.000004095").as_deref(), Some("3"));
        // The same numbers, but for their forms.
        let open = open_metrics(family.to_vec());
        assert!(open.ends_with("# EOF\n") && open.contains("# UNIT smark_interval_seconds seconds\n"), "{open}");
        let numbers = |page: &str| {
            let lines = page.lines().filter(|line| !line.starts_with('#'));
            lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).collect::<Vec<_>>()
        };
        let (mut one, mut other) = (numbers(&page), numbers(&open));
        one.sort_by(f64::total_cmp);
        other.sort_by(f64::total_cmp);
        assert_eq!(one, other);
    }

    #[test]
    fn times_are_in_the_bucket_of_their_power() {
        let mut durations = Durations::default();
        [1, 1023, 1024, 2047, 2048, 1 << 40].into_iter().for_each(|ns| durations.count_one(ns));
        let of = Distribution::new(&durations);
        let filled: Vec<(f64, u64)> = of.buckets.iter().copied().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(1023e-9, 2), (2047e-9, 2), (4095e-9, 1), (f64::INFINITY, 1)]);
        let exact = (1 + 1023 + 1024 + 2047 + 2048) as f64 / 1e9 + (1u64 << 40) as f64 / 1e9;
        assert!((of.sum / exact - 1.0).abs() < 1.0 / 16.0, "{}", of.sum);
    }
}
