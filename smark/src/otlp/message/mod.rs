//! The messages of OTLP 1.x, as protocol buffers and as JSON: the parts that smark fills.
//!
//! The numbers and names are those of `opentelemetry/proto/` in opentelemetry-proto 1.x. As JSON, names are in
//! lowerCamelCase, integers of 64 bits are texts, and ids are hexadecimal (specification of OTLP, "JSON Protobuf
//! Encoding").

mod common;
mod json;
mod logs;
mod metrics;
mod trace;

pub(super) use self::common::{
    AnyValue, AnyValueKind, AnyValueList, Attribute, AttributeList, ExportAnswer, OtlpResource, OtlpScope,
};
pub(super) use self::logs::{LogExport, LogRecord, ResourceLogs, ScopeLogs};
pub(super) use self::metrics::{
    CUMULATIVE, ExponentialBuckets, ExponentialHistogram, ExponentialPoint, MetricExport, MetricPoints, NumberPoint,
    NumberPointValue, OtlpGauge, OtlpMetric, OtlpSum, ResourceMetrics, ScopeMetrics,
};
pub(super) use self::trace::{OtlpSpan, ResourceSpans, ScopeSpans, SpanExport, SpanLink};
