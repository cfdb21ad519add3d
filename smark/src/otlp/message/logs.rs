//! `opentelemetry/proto/logs/v1/logs.proto`.

use prost::Message;
use serde::Serialize;

use super::json;
use super::{AnyValue, Attribute, OtlpResource, OtlpScope};

/// The body of a request (`ExportLogsServiceRequest`).
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct LogExport {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) resource_logs: Vec<ResourceLogs>,
}

/// The records of a resource.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct ResourceLogs {
    #[prost(message, optional, tag = "1")]
    pub(in crate::otlp) resource: Option<OtlpResource>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::otlp) scope_logs: Vec<ScopeLogs>,
}

/// The records of a scope.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct ScopeLogs {
    #[prost(message, optional, tag = "1")]
    pub(in crate::otlp) scope: Option<OtlpScope>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::otlp) log_records: Vec<LogRecord>,
}

/// A record. It has no severity: a marker has none.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct LogRecord {
    /// In ns since the start of 1970.
    #[prost(fixed64, tag = "1")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) time_unix_nano: u64,
    #[prost(fixed64, tag = "11")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) observed_time_unix_nano: u64,
    #[prost(message, optional, tag = "5")]
    pub(in crate::otlp) body: Option<AnyValue>,
    #[prost(message, repeated, tag = "6")]
    pub(in crate::otlp) attributes: Vec<Attribute>,
    /// 16 bytes, or none.
    #[prost(bytes = "vec", tag = "9")]
    #[serde(serialize_with = "json::hexadecimal")]
    pub(in crate::otlp) trace_id: Vec<u8>,
    /// 8 bytes, or none.
    #[prost(bytes = "vec", tag = "10")]
    #[serde(serialize_with = "json::hexadecimal")]
    pub(in crate::otlp) span_id: Vec<u8>,
    #[prost(string, tag = "12")]
    pub(in crate::otlp) event_name: String,
}
