//! The ghosts that a unit is asked for.

use std::collections::BTreeMap;

use simple_markers_record::ghost::Hash;

use crate::Error;
use crate::dwarf::DebugInfo;
use crate::dwarf::files::{Agreement, SourcePath};

/// A ghost, as the finders are asked for it.
pub(super) struct Ghost {
    pub(super) file: SourcePath,
    /// The file as the units name it that are asked for the ghost.
    pub(super) path: SourcePath,
    pub(super) line: u32,
    pub(super) hash: Hash,
    /// Whether another ghost is on its line.
    pub(super) shares_line: bool,
}

/// The ghosts that a unit is asked for.
pub(super) struct UnitGhosts<'g> {
    pub(super) ghosts: Vec<&'g Ghost>,
    /// Their indices, by line.
    pub(super) by_line: BTreeMap<u32, Vec<usize>>,
}

impl<'g> UnitGhosts<'g> {
    pub(super) fn new(ghosts: Vec<&'g Ghost>) -> Self {
        let mut by_line = BTreeMap::<_, Vec<usize>>::new();
        for (index, ghost) in ghosts.iter().enumerate() {
            by_line.entry(ghost.line).or_default().push(index);
        }
        Self { ghosts, by_line }
    }

    /// The index of the ghost of a file and line for which `is_it` holds; `None` if there is none. The
    /// file is the ghost's, or else another name that may mean it.
    pub(super) fn at(
        &self,
        info: &DebugInfo<'_>,
        file: &SourcePath,
        line: u32,
        is_it: impl Fn(&Ghost) -> bool,
    ) -> Result<Option<usize>, Error> {
        let Some(of_line) = self.by_line.get(&line) else { return Ok(None) };
        info.charge(1 + of_line.len() as u64 / 8)?;
        let candidates = || of_line.iter().filter_map(|&index| Some((index, *self.ghosts.get(index)?)));
        let candidates = || candidates().filter(|(_, ghost)| is_it(ghost));
        let agrees = |ghost: &Ghost| ghost.path.agreement(file) >= Some(Agreement::Tail(2));
        let found = candidates().find(|(_, ghost)| ghost.path == *file);
        Ok(found.or_else(|| candidates().find(|(_, ghost)| agrees(ghost))).map(|(index, _)| index))
    }
}
