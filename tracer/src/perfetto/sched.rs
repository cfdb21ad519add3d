//! What ran on each CPU: the kernel's own events of its scheduler, as Perfetto takes them (`protos/perfetto/trace/ftrace/`).
//!
//! Perfetto draws a thread from the switch to it to the next switch on that CPU, so a switch that is missing is a thread that
//! seems to run for too long. They are written only if none is missing ([`SchedulerEvents::is_whole`]).

use std::collections::HashMap;

use simple_markers_resolver::text::from_bytes;

use super::message::{bundle, ftrace, integer, message, packet, switch, text, trace, waking};
use crate::hit::Hit;
use crate::value::Value;

/// Whether the switches of a recording are all that there were.
#[derive(Clone, Debug, Default)]
pub struct SchedulerEvents {
    /// The thread that each CPU switched to last.
    running: HashMap<u32, u64>,
    /// How many switches there are, and how many are not preceded by the switch to the thread that they end.
    switches: u64,
    missing: u64,
}

impl SchedulerEvents {
    /// Takes a hit in the order of the recording.
    pub fn add(&mut self, hit: &Hit<'_>) {
        let (Some(SchedulerEvent::Switch), Some(from), Some(to)) =
            (SchedulerEvent::of(hit), number(hit, "prev_pid"), number(hit, "next_pid"))
        else {
            return;
        };
        self.switches += 1;
        let before = self.running.insert(hit.cpu, to);
        self.missing += u64::from(before.is_some_and(|before| before != from));
    }

    /// Whether there are switches, and none is missing.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.switches > 0 && self.missing == 0
    }

    /// How many switches follow one that is missing.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.missing
    }
}

/// An event of the scheduler.
enum SchedulerEvent {
    Switch,
    /// A thread can run again. The number of the field of its message.
    Waking(u32),
}

impl SchedulerEvent {
    fn of(hit: &Hit<'_>) -> Option<Self> {
        hit.marker.event.as_ref()?;
        match &*hit.marker.name {
            "sched:sched_switch" => Some(Self::Switch),
            "sched:sched_waking" => Some(Self::Waking(ftrace::SCHED_WAKING)),
            "sched:sched_wakeup" => Some(Self::Waking(ftrace::SCHED_WAKEUP)),
            "sched:sched_wakeup_new" => Some(Self::Waking(ftrace::SCHED_WAKEUP_NEW)),
            _ => None,
        }
    }
}

/// Appends the packet of an event of the scheduler. Returns whether the hit is one.
pub(super) fn write(hit: &Hit<'_>, out: &mut Vec<u8>) -> bool {
    let Some(event) = SchedulerEvent::of(hit) else { return false };
    message(trace::PACKET, out, |out| {
        message(packet::FTRACE_EVENTS, out, |out| {
            integer(bundle::CPU, hit.cpu.into(), out);
            message(bundle::EVENT, out, |out| {
                integer(ftrace::TIMESTAMP, hit.time, out);
                integer(ftrace::PID, hit.thread.into(), out);
                let texts = |fields: &[(u32, &str)], out: &mut Vec<u8>| {
                    for (field, name) in fields {
                        text(*field, &name_of(hit, name), out);
                    }
                };
                let numbers = |fields: &[(u32, &str)], out: &mut Vec<u8>| {
                    for (field, name) in fields {
                        if let Some(value) = number(hit, name) {
                            integer(*field, value, out);
                        }
                    }
                };
                match event {
                    SchedulerEvent::Switch => message(ftrace::SCHED_SWITCH, out, |out| {
                        texts(&[(switch::PREV_COMM, "prev_comm"), (switch::NEXT_COMM, "next_comm")], out);
                        numbers(
                            &[
                                (switch::PREV_PID, "prev_pid"),
                                (switch::PREV_PRIO, "prev_prio"),
                                (switch::PREV_STATE, "prev_state"),
                                (switch::NEXT_PID, "next_pid"),
                                (switch::NEXT_PRIO, "next_prio"),
                            ],
                            out,
                        );
                    }),
                    SchedulerEvent::Waking(field) => message(field, out, |out| {
                        texts(&[(waking::COMM, "comm")], out);
                        numbers(
                            &[(waking::PID, "pid"), (waking::PRIO, "prio"), (waking::TARGET_CPU, "target_cpu")],
                            out,
                        );
                    }),
                }
            });
        });
    });
    true
}

/// The number in a field of an event, a negative one as its two's complement of 64 bits.
fn number(hit: &Hit<'_>, name: &str) -> Option<u64> {
    let (_, value) = hit.arguments().find(|(argument, _)| *argument.text == *name)?;
    value.ok()?.integer().map(|number| number as u64)
}

/// The name of a thread in a field of an event.
fn name_of(hit: &Hit<'_>, name: &str) -> String {
    let field = hit.arguments().find(|(argument, _)| *argument.text == *name);
    match field.and_then(|(_, value)| value.ok()) {
        Some(Value::Text { bytes, .. } | Value::Array { bytes, .. }) => {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            from_bytes(bytes.get(..end).unwrap_or(bytes))
        }
        _ => String::new(),
    }
}
