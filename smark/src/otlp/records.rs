//! Hits as log records.

use simple_markers_tracer::Hit;

use super::attributes::HitAttributes;
use super::message::LogRecord;
use crate::hit_origin::HitOrigin;
use crate::hit_text::HitText;

/// The record of a hit.
pub(super) fn record(hit: &Hit<'_>, origin: &HitOrigin, texts: &mut HitText) -> LogRecord {
    let mut text = String::new();
    texts.write(hit, &mut text);
    let time = origin.wall(hit.time);
    LogRecord {
        time_unix_nano: time,
        // It was noted in the moment in which it happened.
        observed_time_unix_nano: time,
        body: Some(text.into()),
        attributes: HitAttributes::of(hit, &*texts.functions).0,
        trace_id: Vec::new(),
        span_id: Vec::new(),
        event_name: hit.marker.name.to_string(),
    }
}
