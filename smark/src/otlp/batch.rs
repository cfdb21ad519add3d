//! Spans and records that are sent together.

use std::time::{Duration, Instant};

use prost::Message;
use serde::Serialize;

use super::message::{
    LogExport, LogRecord, MetricExport, OtlpMetric, OtlpResource, OtlpSpan, ResourceLogs, ResourceMetrics,
    ResourceSpans, ScopeLogs, ScopeMetrics, ScopeSpans, SpanExport,
};
use super::resource::scope;
use super::sender::OtlpRequest;
use super::settings::{Encoding, OtlpSettings, Signal};

/// The most bytes of a request, as protocol buffers: receivers refuse what is much larger.
const MOST_BYTES: usize = 1 << 20;

/// What is sent as one of many.
pub(super) trait BatchItem: Message + Sized {
    const SIGNAL: Signal;

    /// The body of a request with these.
    fn encoded(items: Vec<Self>, resource: OtlpResource, encoding: Encoding) -> Vec<u8>;
}

impl BatchItem for LogRecord {
    const SIGNAL: Signal = Signal::Logs;

    fn encoded(log_records: Vec<Self>, resource: OtlpResource, encoding: Encoding) -> Vec<u8> {
        let scope_logs = vec![ScopeLogs { scope: Some(scope()), log_records }];
        encode(&LogExport { resource_logs: vec![ResourceLogs { resource: Some(resource), scope_logs }] }, encoding)
    }
}

impl BatchItem for OtlpSpan {
    const SIGNAL: Signal = Signal::Traces;

    fn encoded(spans: Vec<Self>, resource: OtlpResource, encoding: Encoding) -> Vec<u8> {
        let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans }];
        encode(&SpanExport { resource_spans: vec![ResourceSpans { resource: Some(resource), scope_spans }] }, encoding)
    }
}

impl BatchItem for OtlpMetric {
    const SIGNAL: Signal = Signal::Metrics;

    fn encoded(metrics: Vec<Self>, resource: OtlpResource, encoding: Encoding) -> Vec<u8> {
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics }];
        encode(
            &MetricExport { resource_metrics: vec![ResourceMetrics { resource: Some(resource), scope_metrics }] },
            encoding,
        )
    }
}

fn encode<M: Message + Serialize>(message: &M, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Protobuf => message.encode_to_vec(),
        // Texts as keys and no numbers that JSON does not have: it cannot fail.
        Encoding::Json => serde_json::to_vec(message).unwrap_or_default(),
    }
}

/// Spans or records that wait for others.
#[derive(Debug)]
pub(super) struct Batch<T> {
    items: Vec<T>,
    /// Their size as protocol buffers.
    bytes: usize,
    /// When they are sent at the latest; `None` if there are none.
    due: Option<Instant>,
    most: usize,
    delay: Duration,
    encoding: Encoding,
}

impl<T: BatchItem> Batch<T> {
    pub(super) fn new(settings: &OtlpSettings) -> Self {
        let encoding = settings.destination(T::SIGNAL).encoding;
        Self { items: Vec::new(), bytes: 0, due: None, most: settings.batch, delay: settings.delay, encoding }
    }

    /// Adds one. Returns whether it is time to send all.
    pub(super) fn add(&mut self, item: T) -> bool {
        self.bytes += item.encoded_len();
        self.items.push(item);
        self.due.get_or_insert_with(|| Instant::now() + self.delay);
        self.items.len() >= self.most || self.bytes >= MOST_BYTES
    }

    /// When it is time to send all; `None` if there are none.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The request with all; `None` if there are none.
    pub(super) fn take(&mut self, resource: &dyn Fn() -> OtlpResource) -> Option<OtlpRequest> {
        let items = std::mem::take(&mut self.items);
        (self.bytes, self.due) = (0, None);
        if items.is_empty() {
            return None;
        }
        let count = items.len() as u64;
        Some(OtlpRequest { signal: T::SIGNAL, items: count, body: T::encoded(items, resource(), self.encoding) })
    }
}
