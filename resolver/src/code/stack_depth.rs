//! How deep the stack is at each instruction. A jump that leaves the function needs the depth of
//! the entry.

use std::collections::HashMap;

use super::cfg::Cfg;
use super::instruction::{StackDepth, Successors};
use super::{EdgeKind, Function};

/// The depth at each instruction of a function; `None` if it is not known.
pub(super) fn depths(function: &Function<'_>, cfg: &Cfg) -> Vec<Option<i64>> {
    let mut depths: Vec<Option<i64>> = vec![None; cfg.instructions.len()];
    let mut table_targets: HashMap<u64, Vec<u64>> = HashMap::new();
    for (&target, edges) in &cfg.edges {
        for edge in edges.iter().filter(|edge| matches!(edge.kind, EdgeKind::JumpTable { .. })) {
            table_targets.entry(edge.from.0).or_default().push(target);
        }
    }
    let entry = StackDepth { stack: 0, frame: None };
    let mut todo: Vec<(usize, StackDepth)> = cfg.index(cfg.entry).map(|index| (index, entry)).into_iter().collect();
    while let Some((index, before)) = todo.pop() {
        match depths.get_mut(index) {
            Some(known @ None) => *known = Some(before.stack),
            _ => continue,
        }
        let Some(it) = cfg.instructions.get(index) else { continue };
        let Some(after) = cfg.set.stack_after(it.at, function.code_at(it.at), before) else { continue };
        if it.edge_to_next().is_some() {
            todo.extend(cfg.index(it.end()).map(|next| (next, after)));
        }
        todo.extend(it.branch_target().and_then(|target| cfg.index(target)).map(|next| (next, after)));
        if it.successors == Successors::Indirect {
            let targets = table_targets.remove(&it.at).unwrap_or_default();
            todo.extend(targets.into_iter().filter_map(|target| Some((cfg.index(target)?, after))));
        }
    }
    depths
}
