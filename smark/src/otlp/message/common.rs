//! `opentelemetry/proto/common/v1/common.proto`, `resource/v1/resource.proto`, and the answers of receivers.

use prost::{Message, Oneof};
use serde::Serialize;

use super::json;

/// A value (`AnyValue`).
#[derive(Clone, PartialEq, Message, Serialize)]
pub(in crate::otlp) struct AnyValue {
    /// `None` is null.
    #[prost(oneof = "AnyValueKind", tags = "1, 2, 3, 4, 5, 6")]
    #[serde(flatten)]
    pub(in crate::otlp) value: Option<AnyValueKind>,
}

/// What a value is.
#[derive(Clone, PartialEq, Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::enum_variant_names, reason = "they are those of the specification, also in JSON")]
pub(in crate::otlp) enum AnyValueKind {
    #[prost(string, tag = "1")]
    StringValue(String),
    #[prost(bool, tag = "2")]
    BoolValue(bool),
    #[prost(int64, tag = "3")]
    #[serde(serialize_with = "json::text")]
    IntValue(i64),
    #[prost(double, tag = "4")]
    #[serde(serialize_with = "json::double")]
    DoubleValue(f64),
    #[prost(message, tag = "5")]
    ArrayValue(AnyValueList),
    #[prost(message, tag = "6")]
    KvlistValue(AttributeList),
}

/// Values (`ArrayValue`).
#[derive(Clone, PartialEq, Message, Serialize)]
pub(in crate::otlp) struct AnyValueList {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) values: Vec<AnyValue>,
}

/// Values with names (`KeyValueList`).
#[derive(Clone, PartialEq, Message, Serialize)]
pub(in crate::otlp) struct AttributeList {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) values: Vec<Attribute>,
}

/// A value with a name (`KeyValue`).
#[derive(Clone, PartialEq, Message, Serialize)]
pub(in crate::otlp) struct Attribute {
    #[prost(string, tag = "1")]
    pub(in crate::otlp) key: String,
    #[prost(message, optional, tag = "2")]
    pub(in crate::otlp) value: Option<AnyValue>,
}

/// What is observed (`Resource`).
#[derive(Clone, PartialEq, Message, Serialize)]
pub(in crate::otlp) struct OtlpResource {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) attributes: Vec<Attribute>,
}

/// What observes it (`InstrumentationScope`).
#[derive(Clone, PartialEq, Message, Serialize)]
pub(in crate::otlp) struct OtlpScope {
    #[prost(string, tag = "1")]
    pub(in crate::otlp) name: String,
    #[prost(string, tag = "2")]
    pub(in crate::otlp) version: String,
}

/// The answer to an export: `ExportLogsServiceResponse`, and those of spans and metrics, which have the same numbers.
#[derive(Clone, PartialEq, Message)]
pub(in crate::otlp) struct ExportAnswer {
    #[prost(message, optional, tag = "1")]
    pub(in crate::otlp) partial_success: Option<PartialExport>,
}

/// What a receiver did not take (`ExportLogsPartialSuccess` and the others).
#[derive(Clone, PartialEq, Message)]
pub(in crate::otlp) struct PartialExport {
    #[prost(int64, tag = "1")]
    pub(in crate::otlp) rejected: i64,
    #[prost(string, tag = "2")]
    pub(in crate::otlp) said: String,
}
