//! Rows as values and levels of leaves.

use super::cell::{Cell, Column, ColumnType};
use super::leaf::Leaf;

/// The rows of a row group.
#[derive(Debug)]
pub(super) struct RowBuffer {
    pub(super) leaves: Vec<Leaf>,
    pub(super) count: usize,
}

/// Where a value is in its row.
#[derive(Clone, Copy)]
struct Level {
    definition: i16,
    /// That of the next value.
    repetition: i16,
    /// How many lists it is in.
    lists: i16,
}

impl RowBuffer {
    /// No rows of these columns.
    pub(super) fn new(columns: &[Column]) -> Self {
        let mut leaves = Vec::new();
        for column in columns {
            add_leaves(&column.of, !column.is_required, false, &mut leaves);
        }
        Self { leaves, count: 0 }
    }

    /// The most bytes of them in a file.
    pub(super) fn size(&self) -> usize {
        self.leaves.iter().map(Leaf::size).sum()
    }

    /// Adds the value of a column, whose leaves begin at `first`, to the last row.
    pub(super) fn push(&mut self, first: usize, column: &Column, cell: &Cell<'_>) {
        let leaves = self.leaves.get_mut(first..).unwrap_or_default();
        push(leaves, column, cell, Level { definition: 0, repetition: 0, lists: 0 });
    }
}

fn add_leaves(of: &ColumnType, may_be_null: bool, is_repeated: bool, leaves: &mut Vec<Leaf>) {
    match of {
        ColumnType::List(element) => add_leaves(element, true, true, leaves),
        ColumnType::Group(members) => {
            for member in members {
                add_leaves(&member.of, may_be_null || !member.is_required, is_repeated, leaves);
            }
        }
        of => leaves.push(Leaf::new(of, may_be_null, is_repeated)),
    }
}

fn push(leaves: &mut [Leaf], column: &Column, cell: &Cell<'_>, level: Level) {
    match (column.is_required, cell) {
        (true, cell) => push_content(leaves, &column.of, cell, level),
        (false, Cell::Null) => push_null(leaves, &column.of, level),
        (false, cell) => {
            push_content(leaves, &column.of, cell, Level { definition: level.definition + 1, ..level });
        }
    }
}

fn push_null(leaves: &mut [Leaf], of: &ColumnType, level: Level) {
    let count = of.leaves();
    leaves.iter_mut().take(count).for_each(|leaf| leaf.push_null(level.definition, level.repetition));
}

/// Adds a value that is not null.
fn push_content(leaves: &mut [Leaf], of: &ColumnType, cell: &Cell<'_>, level: Level) {
    match (of, cell) {
        (ColumnType::List(element), Cell::List(items)) => {
            if items.is_empty() {
                return push_null(leaves, of, level);
            }
            let lists = level.lists + 1;
            let mut repetition = level.repetition;
            for item in items {
                let level = Level { definition: level.definition + 1, repetition, lists };
                match item {
                    Cell::Null => push_null(leaves, element, level),
                    item => push_content(leaves, element, item, Level { definition: level.definition + 1, ..level }),
                }
                repetition = lists;
            }
        }
        (ColumnType::Group(members), Cell::Group(cells)) => {
            let (mut rest, mut cells) = (leaves, cells.iter());
            for member in members {
                let (own, others) = rest.split_at_mut(member.of.leaves().min(rest.len()));
                push(own, member, cells.next().unwrap_or(&Cell::Null), level);
                rest = others;
            }
        }
        (of, cell) => {
            let Some(leaf) = leaves.first_mut() else { return };
            if of.leaves() != 1 || !leaf.push(cell, level.definition, level.repetition) {
                // A value of another type, which the layout does not let happen.
                push_null(leaves, of, Level { definition: level.definition.saturating_sub(1), ..level });
            }
        }
    }
}
