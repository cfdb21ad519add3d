//! The stacks that were counted, with their functions.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::MarkerCounts;
use simple_markers_tracer::record::stack::FRAMES;

use crate::stacks::Stacks;

/// A stack with its functions, and how many hits had it.
pub(super) struct NamedStack {
    pub(super) hits: u64,
    /// The functions, one a line.
    pub(super) text: String,
    /// The frames.
    pub(super) frames: Json,
    /// Whether more frames may follow.
    pub(super) is_cut: bool,
}

impl NamedStack {
    /// The stacks of a marker, the most frequent first. Those of several processes are one if they have the same
    /// functions and lines.
    pub(super) fn of(row: &MarkerCounts, plan: &Plan, is_kernel: bool, stacks: &mut Stacks) -> Vec<Self> {
        let image = plan.images.get(row.image).filter(|_| !row.is_event);
        let mut named: Vec<Self> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for stack in row.stacks.iter().flat_map(|counts| &counts.stacks) {
            let (text, frames) = if is_kernel { stacks.counted_of_kernel(stack) } else { stacks.counted(stack, image) };
            match known.get(&text).and_then(|number| named.get_mut(*number)) {
                Some(same) => same.hits = same.hits.saturating_add(stack.hits),
                None => {
                    known.insert(text.clone(), named.len());
                    let is_cut = stack.addresses.len() >= usize::from(FRAMES);
                    named.push(Self { hits: stack.hits, text, frames, is_cut });
                }
            }
        }
        named.sort_by(|one, other| other.hits.cmp(&one.hits).then_with(|| one.text.cmp(&other.text)));
        named
    }

    pub(super) fn json(&self) -> Json {
        json!({ "hits": self.hits, "stack": self.frames, "stack_cut": self.is_cut })
    }
}
