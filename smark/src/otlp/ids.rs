//! The ids of spans: hashes of what tells a span from others, so that two readings of a recording give the same.

use sha2::{Digest as _, Sha256};
use simple_markers_tracer::Hit;
use simple_markers_tracer::text::json_value;

use super::message::SpanLink;

/// The ids of a span. None of them is only zeros, which OpenTelemetry takes for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpanIds {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
}

impl SpanIds {
    /// Those of the span of a name that begins with a hit, in a trace of its own. `boot` tells apart clocks; `keys` are the
    /// names of the arguments that tell which end belongs to it.
    pub(super) fn new<'k>(boot: &str, name: &str, keys: impl Iterator<Item = &'k str>, hit: &Hit<'_>) -> Self {
        let mut hash = Sha256::new();
        // A text is preceded by its length, so that no two lists of them are the same bytes.
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        [boot, name].into_iter().for_each(&mut add);
        for key in keys {
            let value = hit.arguments().find(|(argument, _)| *argument.text == *key);
            add(&value
                .and_then(|(_, value)| value.ok())
                .map_or_else(String::new, |value| json_value(&value).to_string()));
        }
        hash.update(hit.time.to_le_bytes());
        [hit.process, hit.thread, hit.cpu].into_iter().for_each(|number| hash.update(number.to_le_bytes()));
        Self::of_hash(&hash.finalize())
    }

    /// A link to the span.
    pub(super) fn link(&self) -> SpanLink {
        SpanLink { trace_id: self.trace.to_vec(), span_id: self.span.to_vec() }
    }

    fn of_hash(hash: &[u8]) -> Self {
        let mut ids = Self { trace: [0; 16], span: [0; 8] };
        let mut bytes = hash.iter().copied();
        ids.trace.iter_mut().chain(&mut ids.span).zip(&mut bytes).for_each(|(to, byte)| *to = byte);
        if ids.trace == [0; 16] {
            ids.trace[15] = 1;
        }
        if ids.span == [0; 8] {
            ids.span[7] = 1;
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_is_zero() {
        let ids = SpanIds::of_hash(&[0; 32]);
        assert!(ids.trace.iter().any(|byte| *byte > 0) && ids.span.iter().any(|byte| *byte > 0));
        let ids = SpanIds::of_hash(&(0..32).collect::<Vec<u8>>());
        assert_eq!((ids.trace[15], ids.span), (15, [16, 17, 18, 19, 20, 21, 22, 23]));
    }
}
