//! Writes messages of Protocol Buffers (<https://protobuf.dev/programming-guides/encoding/>), and
//! the numbers of the fields that are used, from Perfetto's `protos/perfetto/`.
//!
//! These are a dozen of its thousands of messages. With `prost` they would be declared again as
//! structures with the same numbers, and each event would allocate a tree of them.

/// The number of the sequence of all packets.
pub(super) const SEQUENCE: u64 = 1;

/// `trace/trace.proto`.
pub(super) mod trace {
    pub(crate) const PACKET: u32 = 1;
}

/// `trace/trace_packet.proto`.
pub(super) mod packet {
    pub(crate) const FTRACE_EVENTS: u32 = 1;
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const TRACE_PACKET_DEFAULTS: u32 = 59;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;

    /// `SEQ_INCREMENTAL_STATE_CLEARED`: the interned data starts here.
    pub(crate) const CLEARED: u64 = 1;
    /// `SEQ_NEEDS_INCREMENTAL_STATE`: it refers to interned data.
    pub(crate) const NEEDS_STATE: u64 = 2;
}

/// `trace/trace_packet_defaults.proto`.
pub(super) mod defaults {
    pub(crate) const TIMESTAMP_CLOCK_ID: u32 = 58;
}

/// `trace/clock_snapshot.proto` and `common/builtin_clock.proto`.
pub(super) mod clock {
    pub(crate) const CLOCKS: u32 = 1;
    pub(crate) const PRIMARY_TRACE_CLOCK: u32 = 2;
    pub(crate) const CLOCK_ID: u32 = 1;
    pub(crate) const TIMESTAMP: u32 = 2;

    pub(crate) const REALTIME: u64 = 1;
    pub(crate) const MONOTONIC: u64 = 3;
    pub(crate) const BOOTTIME: u64 = 6;
}

/// `trace/interned_data/interned_data.proto`.
pub(super) mod interned {
    pub(crate) const EVENT_CATEGORIES: u32 = 1;
    pub(crate) const EVENT_NAMES: u32 = 2;
    pub(crate) const DEBUG_ANNOTATION_NAMES: u32 = 3;
    pub(crate) const SOURCE_LOCATIONS: u32 = 4;

    /// Of each of them.
    pub(crate) const IID: u32 = 1;
    /// Of all but source locations.
    pub(crate) const NAME: u32 = 2;
}

/// `trace/track_event/source_location.proto`.
pub(super) mod location {
    pub(crate) const FILE_NAME: u32 = 2;
    pub(crate) const FUNCTION_NAME: u32 = 3;
    pub(crate) const LINE_NUMBER: u32 = 4;
}

/// `trace/track_event/track_descriptor.proto`, `process_descriptor.proto` and
/// `thread_descriptor.proto`.
pub(super) mod track {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const THREAD: u32 = 4;
    pub(crate) const PARENT_UUID: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;

    pub(crate) const PROCESS_PID: u32 = 1;
    pub(crate) const PROCESS_NAME: u32 = 6;
    pub(crate) const THREAD_PID: u32 = 1;
    pub(crate) const THREAD_TID: u32 = 2;
    pub(crate) const THREAD_NAME: u32 = 5;
}

/// `trace/track_event/track_event.proto`.
pub(super) mod event {
    pub(crate) const CATEGORY_IIDS: u32 = 3;
    pub(crate) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_IID: u32 = 10;
    pub(crate) const TRACK_UUID: u32 = 11;
    pub(crate) const NAME: u32 = 23;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    pub(crate) const SOURCE_LOCATION_IID: u32 = 34;
    pub(crate) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(crate) const FLOW_IDS: u32 = 47;
    pub(crate) const TERMINATING_FLOW_IDS: u32 = 48;

    pub(crate) const SLICE_BEGIN: u64 = 1;
    pub(crate) const SLICE_END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const COUNTER: u64 = 4;
}

/// `trace/track_event/debug_annotation.proto`.
pub(super) mod annotation {
    pub(crate) const NAME_IID: u32 = 1;
    pub(crate) const BOOL_VALUE: u32 = 2;
    pub(crate) const UINT_VALUE: u32 = 3;
    pub(crate) const INT_VALUE: u32 = 4;
    pub(crate) const DOUBLE_VALUE: u32 = 5;
    pub(crate) const STRING_VALUE: u32 = 6;
    pub(crate) const POINTER_VALUE: u32 = 7;
    pub(crate) const NAME: u32 = 10;
    pub(crate) const DICT_ENTRIES: u32 = 11;
    pub(crate) const ARRAY_VALUES: u32 = 12;
}

/// `trace/ftrace/ftrace_event_bundle.proto`.
pub(super) mod bundle {
    pub(crate) const CPU: u32 = 1;
    pub(crate) const EVENT: u32 = 2;
}

/// `trace/ftrace/ftrace_event.proto`.
pub(super) mod ftrace {
    pub(crate) const TIMESTAMP: u32 = 1;
    pub(crate) const PID: u32 = 2;
    pub(crate) const SCHED_SWITCH: u32 = 4;
    pub(crate) const SCHED_WAKEUP: u32 = 17;
    pub(crate) const SCHED_WAKING: u32 = 20;
    pub(crate) const SCHED_WAKEUP_NEW: u32 = 114;
}

/// `SchedSwitchFtraceEvent` in `trace/ftrace/sched.proto`.
pub(super) mod switch {
    pub(crate) const PREV_COMM: u32 = 1;
    pub(crate) const PREV_PID: u32 = 2;
    pub(crate) const PREV_PRIO: u32 = 3;
    pub(crate) const PREV_STATE: u32 = 4;
    pub(crate) const NEXT_COMM: u32 = 5;
    pub(crate) const NEXT_PID: u32 = 6;
    pub(crate) const NEXT_PRIO: u32 = 7;
}

/// `SchedWakingFtraceEvent`, and the others of threads that can run again, in `trace/ftrace/sched.proto`.
pub(super) mod waking {
    pub(crate) const COMM: u32 = 1;
    pub(crate) const PID: u32 = 2;
    pub(crate) const PRIO: u32 = 3;
    pub(crate) const TARGET_CPU: u32 = 5;
}

/// The wire types.
const VARINT: u32 = 0;
const EIGHT_BYTES: u32 = 1;
const LENGTH: u32 = 2;

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn tag(field: u32, wire_type: u32, out: &mut Vec<u8>) {
    varint(u64::from(field << 3 | wire_type), out);
}

/// Appends a field with an integer; a negative one as its two's complement.
pub(super) fn integer(field: u32, value: u64, out: &mut Vec<u8>) {
    tag(field, VARINT, out);
    varint(value, out);
}

/// Appends a field with a `double`.
pub(super) fn double(field: u32, value: f64, out: &mut Vec<u8>) {
    fixed(field, value.to_bits(), out);
}

/// Appends a field with a `fixed64`.
pub(super) fn fixed(field: u32, value: u64, out: &mut Vec<u8>) {
    tag(field, EIGHT_BYTES, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field with a text.
pub(super) fn text(field: u32, value: &str, out: &mut Vec<u8>) {
    tag(field, LENGTH, out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value.as_bytes());
}

/// Appends a field with a message, whose fields `write` appends.
pub(super) fn message(field: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    tag(field, LENGTH, out);
    let start = out.len();
    write(out);
    let end = out.len();
    varint((end - start) as u64, out);
    // The length stands before the fields.
    let length = out.len() - end;
    if let Some(written) = out.get_mut(start..) {
        written.rotate_right(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_as_the_specification_shows() {
        let mut out = Vec::new();
        integer(1, 150, &mut out);
        text(2, "testing", &mut out);
        message(3, &mut out, |out| integer(1, 150, out));
        double(4, 1.0, &mut out);
        let expected = [
            &[0x08, 0x96, 0x01][..],
            &[0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67],
            &[0x1a, 0x03, 0x08, 0x96, 0x01],
            &[0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
        ];
        assert_eq!(out, expected.concat());
        // A length of two bytes, and the largest number.
        out.clear();
        message(1, &mut out, |out| (0..20).for_each(|_| integer(2, u64::MAX, out)));
        assert_eq!((out.len(), &out[..4]), (3 + 20 * 11, &[0x0a, 0xdc, 0x01, 0x10][..]));
    }
}
