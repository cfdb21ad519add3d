//! Which instructions of a function control reaches, and from which it leaves the function.

use std::collections::BTreeSet;

use super::EdgeKind;
use super::cfg::Cfg;

/// The edges between the instructions of a function, by their indices.
pub(super) struct FlowGraph {
    /// Those that control enters from outside, or by an edge that is not from an instruction.
    entered: Vec<usize>,
    next: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
}

impl FlowGraph {
    pub(super) fn of(cfg: &Cfg) -> Self {
        let count = cfg.instructions.len();
        let mut flow = Self { entered: Vec::new(), next: vec![Vec::new(); count], before: vec![Vec::new(); count] };
        for index in 0..count {
            for edge in cfg.predecessors(index) {
                match (edge.kind, cfg.index(edge.from.0)) {
                    (EdgeKind::Entry | EdgeKind::OtherFunction, _) | (_, None) => flow.entered.push(index),
                    (_, Some(from)) => {
                        flow.next.get_mut(from).into_iter().for_each(|next| next.push(index));
                        flow.before.get_mut(index).into_iter().for_each(|before| before.push(from));
                    }
                }
            }
        }
        flow
    }

    /// What control reaches from the entry, and does not pass one of these before. They are reached themselves.
    pub(super) fn reached(&self, ends: &BTreeSet<usize>) -> BTreeSet<usize> {
        spread(&self.entered, &self.next, ends)
    }

    /// What leads out of the function, and passes none of these behind it. They lead out themselves.
    pub(super) fn leaving(&self, ends: &BTreeSet<usize>) -> BTreeSet<usize> {
        let last: Vec<usize> =
            (0..self.next.len()).filter(|index| self.next.get(*index).is_some_and(Vec::is_empty)).collect();
        spread(&last, &self.before, ends)
    }
}

/// What is reached from some instructions along edges. Nothing is followed from `ends`.
fn spread(from: &[usize], edges: &[Vec<usize>], ends: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut todo = from.to_vec();
    let mut seen: BTreeSet<usize> = todo.iter().copied().collect();
    while let Some(index) = todo.pop() {
        if !ends.contains(&index) {
            let new = edges.get(index).into_iter().flatten().copied();
            todo.extend(new.filter(|to| seen.insert(*to)));
        }
    }
    seen
}
