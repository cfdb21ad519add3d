//! `opentelemetry/proto/metrics/v1/metrics.proto`.

use prost::{Message, Oneof};
use serde::Serialize;

use super::json;
use super::{Attribute, OtlpResource, OtlpScope};

/// Values since a start (`AGGREGATION_TEMPORALITY_CUMULATIVE`).
pub(in crate::otlp) const CUMULATIVE: i32 = 2;

/// The body of a request (`ExportMetricsServiceRequest`).
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct MetricExport {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) resource_metrics: Vec<ResourceMetrics>,
}

/// The metrics of a resource.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    pub(in crate::otlp) resource: Option<OtlpResource>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::otlp) scope_metrics: Vec<ScopeMetrics>,
}

/// The metrics of a scope.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    pub(in crate::otlp) scope: Option<OtlpScope>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::otlp) metrics: Vec<OtlpMetric>,
}

/// A metric.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct OtlpMetric {
    #[prost(string, tag = "1")]
    pub(in crate::otlp) name: String,
    #[prost(string, tag = "2")]
    pub(in crate::otlp) description: String,
    /// A unit of UCUM; empty for numbers of something.
    #[prost(string, tag = "3")]
    pub(in crate::otlp) unit: String,
    #[prost(oneof = "MetricPoints", tags = "5, 7, 10")]
    #[serde(flatten)]
    pub(in crate::otlp) data: Option<MetricPoints>,
}

/// What a metric has.
#[derive(Clone, PartialEq, Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) enum MetricPoints {
    #[prost(message, tag = "5")]
    Gauge(OtlpGauge),
    #[prost(message, tag = "7")]
    Sum(OtlpSum),
    #[prost(message, tag = "10")]
    ExponentialHistogram(ExponentialHistogram),
}

/// Values that may grow and fall.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct OtlpGauge {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) data_points: Vec<NumberPoint>,
}

/// Sums.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct OtlpSum {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) data_points: Vec<NumberPoint>,
    /// [`CUMULATIVE`].
    #[prost(int32, tag = "2")]
    pub(in crate::otlp) aggregation_temporality: i32,
    /// Whether they only grow.
    #[prost(bool, tag = "3")]
    pub(in crate::otlp) is_monotonic: bool,
}

/// A number (`NumberDataPoint`).
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct NumberPoint {
    #[prost(message, repeated, tag = "7")]
    pub(in crate::otlp) attributes: Vec<Attribute>,
    #[prost(fixed64, tag = "2")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) time_unix_nano: u64,
    #[prost(oneof = "NumberPointValue", tags = "4, 6")]
    #[serde(flatten)]
    pub(in crate::otlp) value: Option<NumberPointValue>,
}

/// A number of a point.
#[derive(Clone, PartialEq, Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) enum NumberPointValue {
    #[prost(double, tag = "4")]
    #[serde(serialize_with = "json::double")]
    AsDouble(f64),
    #[prost(sfixed64, tag = "6")]
    #[serde(serialize_with = "json::text")]
    AsInt(i64),
}

/// How values are distributed.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct ExponentialHistogram {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) data_points: Vec<ExponentialPoint>,
    /// [`CUMULATIVE`].
    #[prost(int32, tag = "2")]
    pub(in crate::otlp) aggregation_temporality: i32,
}

/// A distribution (`ExponentialHistogramDataPoint`).
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct ExponentialPoint {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) attributes: Vec<Attribute>,
    #[prost(fixed64, tag = "2")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) count: u64,
    #[prost(double, optional, tag = "5")]
    #[serde(serialize_with = "json::maybe_double", skip_serializing_if = "Option::is_none")]
    pub(in crate::otlp) sum: Option<f64>,
    /// Buckets grow by the factor 2^(2^-scale).
    #[prost(sint32, tag = "6")]
    pub(in crate::otlp) scale: i32,
    #[prost(fixed64, tag = "7")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) zero_count: u64,
    #[prost(message, optional, tag = "8")]
    pub(in crate::otlp) positive: Option<ExponentialBuckets>,
    #[prost(message, optional, tag = "9")]
    pub(in crate::otlp) negative: Option<ExponentialBuckets>,
    #[prost(double, optional, tag = "12")]
    #[serde(serialize_with = "json::maybe_double", skip_serializing_if = "Option::is_none")]
    pub(in crate::otlp) min: Option<f64>,
    #[prost(double, optional, tag = "13")]
    #[serde(serialize_with = "json::maybe_double", skip_serializing_if = "Option::is_none")]
    pub(in crate::otlp) max: Option<f64>,
}

/// The buckets of one sign: the one with the index i has what is above base^i, up to base^(i + 1).
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct ExponentialBuckets {
    /// The index of the first bucket.
    #[prost(sint32, tag = "1")]
    pub(in crate::otlp) offset: i32,
    #[prost(uint64, repeated, tag = "2")]
    #[serde(serialize_with = "json::texts")]
    pub(in crate::otlp) bucket_counts: Vec<u64>,
}
