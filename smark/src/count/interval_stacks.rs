//! The stacks that threads had during intervals, as a table and as JSON.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use simple_markers_resolver::text::shown;
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::{
    IntervalStacks, StackFault, StackMoment, StackSum, StackSums, UnattributedSums,
};

use simple_markers_tracer::frames::{Frame, KernelFrame};

use super::stacks::{NamedStack, is_cut};
use crate::console::Console;
use crate::kernel_frames::KernelEntry;
use crate::stacks::Stacks;
use crate::units::duration;

/// The stacks of one moment, with their functions.
pub(super) struct NamedSums {
    moment: StackMoment,
    /// Those with the largest sums first.
    pub(super) stacks: Vec<NamedStack>,
    unattributed: UnattributedSums,
    /// Everything: in ns, or samples.
    sum: u64,
}

impl NamedSums {
    /// Those of each moment that was asked for.
    pub(super) fn all(stacks: &IntervalStacks, plan: &Plan, names: &mut Stacks) -> Vec<Self> {
        let of = |moment| match moment {
            StackMoment::Blocked => stacks.blocked.as_ref(),
            StackMoment::OnCpu => stacks.on_cpu.as_ref(),
        };
        let moments = StackMoment::ALL.into_iter().filter_map(|moment| Some((moment, of(moment)?)));
        moments.map(|(moment, sums)| Self::new(moment, sums, plan, names)).collect()
    }

    fn new(moment: StackMoment, sums: &StackSums, plan: &Plan, names: &mut Stacks) -> Self {
        names.enter_first(plan);
        let named = sums.stacks.iter().map(|StackSum { process, kernel, user, sum, count }| {
            // A thread in the kernel is behind the instruction that led there. A sample in the program has no stack of the kernel.
            let is_exact = moment == StackMoment::OnCpu && *kernel == Err(StackFault::Unread);
            let mut kernel = names.of_kernel(kernel.as_deref().unwrap_or_default());
            if moment == StackMoment::Blocked {
                leave_out_tracing(&mut kernel);
            }
            let is_cut = user.as_ref().map_or(true, |user| is_cut(user));
            let program = names.of_process(*process, user.as_deref().unwrap_or_default(), None, is_exact);
            NamedStack { sum: *sum, count: *count, kernel, program, is_cut }
        });
        Self { moment, stacks: NamedStack::together(named), unattributed: sums.unattributed, sum: sums.sum() }
    }

    pub(super) fn moment(&self) -> StackMoment {
        self.moment
    }

    /// Appends the table, with at most so many stacks.
    pub(super) fn table(&self, top: usize, out: &mut String) {
        let (shown_stacks, others) = self.stacks.split_at(top.min(self.stacks.len()));
        let share = |sum: u64| match self.sum {
            0 => "-".to_owned(),
            all => format!("{:.1} %", sum as f64 * 100.0 / all as f64),
        };
        let (name, amount): (_, fn(u64) -> String) = match self.moment {
            StackMoment::Blocked => ("blocked", duration),
            StackMoment::OnCpu => ("on CPU", samples),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "\n{name}: {} by stack", amount(self.sum));
        let mut row = |sum: u64, what: &str, text: &str| {
            let sum_text = if self.moment == StackMoment::OnCpu { sum.to_string() } else { amount(sum) };
            let line = format!("{sum_text:>12} {:>7}  {what}", share(sum));
            let _ = writeln!(out, "{}", line.trim_end());
            out.push_str(text);
        };
        for stack in shown_stacks {
            let entry = KernelEntry::of(&stack.kernel).map(|entry| match entry {
                KernelEntry::SystemCall(name) => shown(&name).into_owned(),
                KernelEntry::PageFault => "page fault".to_owned(),
            });
            let times = match (self.moment, stack.count) {
                (StackMoment::OnCpu, _) => None,
                (StackMoment::Blocked, 1) => Some("once".to_owned()),
                (StackMoment::Blocked, count) => Some(format!("{count} times")),
            };
            let what: Vec<String> = times.into_iter().chain(entry).collect();
            row(stack.sum, &what.join(", "), &stack.text());
        }
        if !others.is_empty() {
            let sum = others.iter().map(|stack| stack.sum).fold(0, u64::saturating_add);
            row(sum, &format!("other ({} stacks)", others.len()), "");
        }
        if self.unattributed.sum() > 0 {
            row(self.unattributed.sum(), "in no stack", "");
        }
    }

    /// The stacks as an object, at most so many.
    pub(super) fn json(&self, top: usize) -> Json {
        let (shown_stacks, others) = self.stacks.split_at(top.min(self.stacks.len()));
        let unit = match self.moment {
            StackMoment::Blocked => "periods",
            StackMoment::OnCpu => "samples",
        };
        let stack = |stack: &NamedStack| {
            let entry = KernelEntry::of(&stack.kernel);
            let system_call = match &entry {
                Some(KernelEntry::SystemCall(name)) => Some(name),
                _ => None,
            };
            let mut object = json!({
                unit: stack.count,
                "system_call": system_call, "page_fault": entry == Some(KernelEntry::PageFault),
                "kernel_stack": stack.kernel.iter().map(KernelFrame::json).collect::<Vec<_>>(),
                "stack": stack.program.iter().map(Frame::json).collect::<Vec<_>>(),
                "stack_cut": stack.is_cut,
            });
            if let (StackMoment::Blocked, Some(object)) = (self.moment, object.as_object_mut()) {
                object.insert("sum".to_owned(), stack.sum.into());
            }
            object
        };
        let UnattributedSums { collided, full, unread, runnable } = self.unattributed;
        json!({
            "sum": self.sum,
            "stacks": shown_stacks.iter().map(stack).collect::<Vec<_>>(),
            "other": others.iter().map(|stack| stack.sum).fold(0, u64::saturating_add),
            "no_stack": { "collided": collided, "full": full, "unread": unread, "runnable": runnable },
        })
    }

    /// The ns or samples that are in no stack.
    pub(super) fn without_stack(&self) -> u64 {
        self.unattributed.sum()
    }

    /// How many samples are in no stack; 0 for times.
    pub(super) fn uncounted(&self) -> u64 {
        if self.moment == StackMoment::OnCpu { self.unattributed.sum() } else { 0 }
    }

    /// Says what is in no stack, and why.
    pub(super) fn tell(&self, console: &Console) {
        let (option, amount): (_, fn(u64) -> String) = match self.moment {
            StackMoment::Blocked => ("--blocked", duration),
            StackMoment::OnCpu => ("--oncpu", samples),
        };
        let UnattributedSums { collided, full, unread, .. } = self.unattributed;
        let reasons = [
            (collided, "another stack has its place in the kernel's table"),
            (full, "the kernel's table is full (--max-values)"),
            (unread, "there is none that the kernel can read"),
        ];
        for (sum, why) in reasons.into_iter().filter(|(sum, _)| *sum > 0) {
            console.error(&format!("{option}: {} of {} in no stack: {why}", amount(sum), amount(self.sum)));
        }
    }
}

fn samples(count: u64) -> String {
    if count == 1 { "1 sample".to_owned() } else { format!("{count} samples") }
}

/// Leaves out the frames of the program that noted the stack, and of the kernel that ran it.
fn leave_out_tracing(kernel: &mut Vec<KernelFrame>) {
    let schedules =
        |frame: &KernelFrame| frame.function().is_some_and(|name| matches!(name, "__schedule" | "schedule"));
    if let Some(first) = kernel.iter().position(schedules) {
        kernel.drain(..first);
    }
}
