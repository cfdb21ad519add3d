//! The stacks that were counted, with their functions.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::MarkerCounts;
use simple_markers_tracer::frames::{Frame, KernelFrame};
use simple_markers_tracer::record::stack::FRAMES;

use crate::stacks::Stacks;

/// A stack with its functions, and what was counted of it.
pub(crate) struct NamedStack {
    /// The hits, the samples, or the time in ns.
    pub(crate) sum: u64,
    /// How many hits, samples or periods that is.
    pub(crate) count: u64,
    /// The frames of the kernel, the innermost first.
    pub(crate) kernel: Vec<KernelFrame>,
    /// The frames of the program, which follow those of the kernel.
    pub(crate) program: Vec<Frame>,
    /// Whether more frames may follow.
    pub(crate) is_cut: bool,
}

impl NamedStack {
    /// The stacks of a marker, the most frequent first. Those of several processes are one if they have the same
    /// functions and lines.
    pub(super) fn of(row: &MarkerCounts, plan: &Plan, is_kernel: bool, stacks: &mut Stacks) -> Vec<Self> {
        let image = plan.images.get(row.image).filter(|_| !row.is_event);
        let named = row.stacks.iter().flat_map(|counts| &counts.stacks).map(|stack| {
            let (kernel, program) = match is_kernel {
                true => (stacks.of_kernel(&stack.addresses), Vec::new()),
                false => (Vec::new(), stacks.counted(stack, image)),
            };
            let is_cut = is_cut(&stack.addresses);
            Self { sum: stack.hits, count: stack.hits, kernel, program, is_cut }
        });
        Self::together(named)
    }

    /// Stacks with the same functions and lines as one, the largest sums first.
    pub(crate) fn together(all: impl Iterator<Item = Self>) -> Vec<Self> {
        let mut together: Vec<(String, Self)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for stack in all {
            let text = stack.text();
            match known.get(&text).and_then(|number| together.get_mut(*number)) {
                Some((_, same)) => {
                    same.sum = same.sum.saturating_add(stack.sum);
                    same.count = same.count.saturating_add(stack.count);
                }
                None => {
                    known.insert(text.clone(), together.len());
                    together.push((text, stack));
                }
            }
        }
        together.sort_by(|(text, one), (others, other)| other.sum.cmp(&one.sum).then_with(|| text.cmp(others)));
        together.into_iter().map(|(_, stack)| stack).collect()
    }

    /// The functions, one a line, the innermost first.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.kernel.iter().for_each(|frame| frame.write(&mut text));
        self.program.iter().for_each(|frame| frame.write(&mut text));
        if self.is_cut {
            text.push_str("        ..\n");
        }
        text
    }

    /// The frames of a stack that is of the kernel or of the program, with its hits.
    pub(super) fn json(&self) -> Json {
        let frames = self.kernel.iter().map(KernelFrame::json).chain(self.program.iter().map(Frame::json));
        json!({ "hits": self.sum, "stack": frames.collect::<Vec<_>>(), "stack_cut": self.is_cut })
    }
}

/// Whether a stack may have more frames than these.
pub(super) fn is_cut(addresses: &[u64]) -> bool {
    addresses.len() >= usize::from(FRAMES)
}
