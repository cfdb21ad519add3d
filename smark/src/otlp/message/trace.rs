//! `opentelemetry/proto/trace/v1/trace.proto`.

use prost::Message;
use serde::Serialize;

use super::json;
use super::{Attribute, OtlpResource, OtlpScope};

/// The body of a request (`ExportTraceServiceRequest`).
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct SpanExport {
    #[prost(message, repeated, tag = "1")]
    pub(in crate::otlp) resource_spans: Vec<ResourceSpans>,
}

/// The spans of a resource.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(in crate::otlp) resource: Option<OtlpResource>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::otlp) scope_spans: Vec<ScopeSpans>,
}

/// The spans of a scope.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(in crate::otlp) scope: Option<OtlpScope>,
    #[prost(message, repeated, tag = "2")]
    pub(in crate::otlp) spans: Vec<OtlpSpan>,
}

/// A span.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct OtlpSpan {
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "json::hexadecimal")]
    pub(in crate::otlp) trace_id: Vec<u8>,
    /// 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    #[serde(serialize_with = "json::hexadecimal")]
    pub(in crate::otlp) span_id: Vec<u8>,
    /// 8 bytes; empty without a parent.
    #[prost(bytes = "vec", tag = "4")]
    #[serde(serialize_with = "json::hexadecimal")]
    pub(in crate::otlp) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(in crate::otlp) name: String,
    /// [`INTERNAL`].
    #[prost(int32, tag = "6")]
    pub(in crate::otlp) kind: i32,
    /// In ns since the start of 1970.
    #[prost(fixed64, tag = "7")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    #[serde(serialize_with = "json::text")]
    pub(in crate::otlp) end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub(in crate::otlp) attributes: Vec<Attribute>,
    #[prost(message, repeated, tag = "13")]
    pub(in crate::otlp) links: Vec<SpanLink>,
}

/// What a span has to do with another one that is not its parent.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::otlp) struct SpanLink {
    /// 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "json::hexadecimal")]
    pub(in crate::otlp) trace_id: Vec<u8>,
    /// 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    #[serde(serialize_with = "json::hexadecimal")]
    pub(in crate::otlp) span_id: Vec<u8>,
}

impl OtlpSpan {
    /// The kind of a span inside a program (`SPAN_KIND_INTERNAL`).
    pub(in crate::otlp) const INTERNAL: i32 = 1;
}
