//! Counts as metrics.

use std::time::{Duration, Instant};

use serde_json::Value as Json;
use simple_markers_tracer::Plan;
use simple_markers_tracer::sys;

use super::attributes::attribute;
use super::batch::BatchItem as _;
use super::exponential::{of_powers, of_times};
use super::message::{
    Attribute, CUMULATIVE, ExponentialHistogram, ExponentialPoint, MetricPoints, NumberPoint, NumberPointValue,
    OtlpGauge, OtlpMetric, OtlpSum,
};
use super::sender::{OtlpRequest, OtlpSender, Pace};
use super::settings::{Encoding, OtlpSettings, Signal};
use super::tell;
use crate::console::Console;
use crate::hit_origin::HitOrigin;
use crate::metrics::{Family, FamilyOutput, Labels, SampleValue, Samples, seconds};

impl OtlpSettings {
    /// Sends metrics every so often. `started` is when the counts were 0, on the clock of the hits.
    ///
    /// # Errors
    ///
    /// A file with certificates cannot be read, or there can be no thread.
    pub(crate) fn counts(
        self,
        console: &Console,
        origin: HitOrigin,
        started: u64,
    ) -> anyhow::Result<Box<dyn FamilyOutput>> {
        let start = origin.wall(started);
        Ok(Box::new(SentCounts {
            sender: OtlpSender::start(&self, Pace::Live, *console)?,
            encoding: self.destination(Signal::Metrics).encoding,
            resource: self.resource,
            interval: self.interval,
            due: Instant::now() + self.interval,
            origin,
            start,
        }))
    }
}

/// Sends metrics.
struct SentCounts {
    sender: OtlpSender,
    encoding: Encoding,
    /// What the environment says of the resource.
    resource: Vec<Attribute>,
    interval: Duration,
    due: Instant,
    origin: HitOrigin,
    /// When the counts were 0, in ns since the start of 1970.
    start: u64,
}

impl FamilyOutput for SentCounts {
    fn due(&self) -> Instant {
        self.due
    }

    fn put(&mut self, families: &[Family], plan: &Plan) {
        self.due = Instant::now() + self.interval;
        let times = PointTimes { start: self.start, now: self.origin.wall(sys::now()) };
        let metrics: Vec<OtlpMetric> = families.iter().map(|family| times.metric(family)).collect();
        let items = metrics.iter().map(points).sum();
        let resource = self.origin.resource(plan, &self.resource);
        let body = OtlpMetric::encoded(metrics, resource, self.encoding);
        self.sender.push_newest(OtlpRequest { signal: Signal::Metrics, items, body });
    }

    fn end(self: Box<Self>, console: &Console) -> Option<(&'static str, Json)> {
        let tally = self.sender.finish();
        tell::tell(console, &tally);
        Some(("otlp", tell::json(&tally)))
    }
}

/// How many points a metric has.
fn points(metric: &OtlpMetric) -> u64 {
    let points = match &metric.data {
        Some(MetricPoints::Gauge(gauge)) => gauge.data_points.len(),
        Some(MetricPoints::Sum(sum)) => sum.data_points.len(),
        Some(MetricPoints::ExponentialHistogram(histogram)) => histogram.data_points.len(),
        None => 0,
    };
    points as u64
}

/// The times of points, in ns since the start of 1970.
#[derive(Clone, Copy, Debug)]
struct PointTimes {
    start: u64,
    now: u64,
}

impl PointTimes {
    fn metric(self, family: &Family) -> OtlpMetric {
        let Family { name, help, is_time, samples } = family;
        let numbers =
            |all: &[(Labels, SampleValue)]| all.iter().map(|(labels, value)| self.number(labels, *value)).collect();
        let histogram = |data_points| {
            MetricPoints::ExponentialHistogram(ExponentialHistogram {
                data_points,
                aggregation_temporality: CUMULATIVE,
            })
        };
        let data = match samples {
            Samples::Counter(all) => {
                let (data_points, aggregation_temporality) = (numbers(all), CUMULATIVE);
                MetricPoints::Sum(OtlpSum { data_points, aggregation_temporality, is_monotonic: true })
            }
            Samples::Gauge(all) => MetricPoints::Gauge(OtlpGauge { data_points: numbers(all) }),
            Samples::Times(all) => {
                let points = all.iter().map(|(labels, times)| self.point(labels, of_times(times, seconds(times))));
                histogram(points.collect())
            }
            Samples::Powers(all) => {
                histogram(all.iter().map(|(labels, powers)| self.point(labels, of_powers(powers))).collect())
            }
        };
        OtlpMetric {
            // Names of OpenTelemetry have points where those of Prometheus have underscores.
            name: name.replacen('_', ".", 1),
            description: (*help).to_owned(),
            unit: if *is_time { "s" } else { "" }.to_owned(),
            data: Some(data),
        }
    }

    fn number(self, labels: &Labels, value: SampleValue) -> NumberPoint {
        let integer = |number: i128| i64::try_from(number).ok().map(NumberPointValue::AsInt);
        let value = match value {
            SampleValue::Integer(number) => integer(number).unwrap_or(NumberPointValue::AsDouble(value.real())),
            SampleValue::Real(number) => NumberPointValue::AsDouble(number),
        };
        NumberPoint {
            attributes: attributes(labels),
            start_time_unix_nano: self.start,
            time_unix_nano: self.now,
            value: Some(value),
        }
    }

    fn point(self, labels: &Labels, point: ExponentialPoint) -> ExponentialPoint {
        let (attributes, start_time_unix_nano, time_unix_nano) = (attributes(labels), self.start, self.now);
        ExponentialPoint { attributes, start_time_unix_nano, time_unix_nano, ..point }
    }
}

fn attributes(labels: &Labels) -> Vec<Attribute> {
    labels.iter().map(|(label, value)| attribute(*label, value.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_as_long_as_they_fit() {
        let times = PointTimes { start: 1, now: 2 };
        let of = |number| times.number(&Labels::new(), SampleValue::Integer(number)).value;
        assert_eq!(of((1 << 60) + 1), Some(NumberPointValue::AsInt((1 << 60) + 1)));
        assert_eq!(of(1 << 70), Some(NumberPointValue::AsDouble((1u128 << 70) as f64)));
        let family =
            Family { name: "smark_open_intervals", help: "h", is_time: false, samples: Samples::Gauge(Vec::new()) };
        assert_eq!(times.metric(&family).name, "smark.open_intervals");
    }
}
