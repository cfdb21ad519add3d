//! What the instructions of a function do with values, one [`DataFlow`] for each instruction of its [`Cfg`].

use super::cfg::Cfg;
use super::data_flow::{Base, Convention, DataFlow, RegisterValue};
use super::edge::EdgeKind;
use super::function::Function;

/// What the instructions of a function do with values.
#[derive(Debug)]
pub(crate) struct Flows {
    /// By the index of the instruction.
    flows: Vec<DataFlow>,
    pub(super) convention: Convention,
}

impl Flows {
    /// The flows of a function; `None` if its code or its paths are not known completely.
    pub(crate) fn of(function: &Function<'_>, cfg: &Cfg) -> Option<Self> {
        let (mut reader, convention) = cfg.set.data_flow()?;
        let edges = || cfg.edges.values().flatten();
        if cfg.has_unknown_edges()
            || edges().any(|edge| matches!(edge.kind, EdgeKind::OtherFunction | EdgeKind::Patched | EdgeKind::Fixup))
        {
            return None;
        }
        let flows = cfg.instructions.iter().map(|it| reader(it.at, function.code_at(it.at))).collect();
        Some(Self { flows, convention })
    }

    pub(super) fn get(&self, index: usize) -> Option<&DataFlow> {
        self.flows.get(index)
    }

    /// Whether an instruction may copy a register of `size` bytes to the frame, other than by a push.
    pub(crate) fn may_spill(&self, size: u64) -> bool {
        let sp = self.convention.stack_pointer;
        let is_copied = |flow: &DataFlow| {
            let is_sum =
                |computed| matches!(computed, RegisterValue::Sum(from, _) | RegisterValue::Low(from) if from == sp);
            flow.writes.iter().any(|&(to, computed)| to != sp && is_sum(computed))
                || flow.accesses.iter().any(|access| access.stored == Some(sp))
        };
        // Only then another register may have an address of the frame.
        let is_sp_copied = self.flows.iter().any(is_copied);
        self.flows.iter().filter(|flow| flow.writes.iter().all(|(to, _)| *to != sp)).any(|flow| {
            flow.accesses.iter().any(|access| {
                let is_in_frame = access.base == Base::Register(sp) || is_sp_copied;
                access.stored.is_some() && is_in_frame && u64::from(access.size) == size
            })
        })
    }
}
