//! The entry of the function of a site while its inputs are made: which values are noted there.

use std::sync::Arc;

use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::Point;
use simple_markers_resolver::location::{Expr, Node};
use simple_markers_resolver::resolve::SitePlace;

use crate::plan::{Input, MAX_ENTRY_VALUES, PlannedEntry, SiteFrame, UnreadReason};

/// The entry of the function of a site.
pub(super) struct EntryBuilder {
    /// The entry with what is noted so far, and its number if the plan has it; `None` if nothing is noted.
    found: Option<(PlannedEntry, Option<usize>)>,
    /// The stack pointer at the entry, computed at the site.
    stack_pointer: Option<Expr>,
    /// Whether the probe of the site is where the registers still are as at the entry.
    is_there: bool,
    /// Whether an input of the site has a value of the entry.
    is_used: bool,
}

impl EntryBuilder {
    /// That of a site of an image. `entries` are those of the plan.
    pub(super) fn new(point: &Point<'_>, image: usize, entries: &[PlannedEntry]) -> Self {
        let nothing = Self { found: None, stack_pointer: None, is_there: false, is_used: false };
        let Some(entry) = &point.site.frame_entry else { return nothing };
        let (SitePlace::Address(address), Some(offset)) = (&entry.place, entry.file_offset) else { return nothing };
        let distance = entry.probe.best_address.map_or(0, |best| best.wrapping_sub(address.0) as i64);
        let (Some(probe), Some(offset)) =
            (address.0.checked_add_signed(distance), offset.0.checked_add_signed(distance))
        else {
            return nothing;
        };
        let planned = PlannedEntry {
            image,
            function: entry.function.as_ref().map(Arc::clone),
            address: *address,
            probe: Vaddr(probe),
            offset: FileOffset(offset),
            stack_pointer: entry.entry_stack_pointer.clone(),
            values: Vec::new(),
        };
        let known = entries.iter().rposition(|known| {
            known.image == image && (known.address, known.probe) == (planned.address, planned.probe)
        });
        let values = known.and_then(|known| entries.get(known)).map(|known| known.values.clone()).unwrap_or_default();
        Self {
            found: Some((PlannedEntry { values, ..planned }, known)),
            stack_pointer: Some(entry.stack_pointer.clone()),
            // On the way from the entry to its probe nothing writes them.
            is_there: (address.0.min(probe)..=address.0.max(probe)).contains(&point.address.0),
            is_used: false,
        }
    }

    /// An input as the probe of the site reads it: from the registers, where they are as at the entry. `None` if
    /// it would be too large.
    pub(super) fn settled(&self, input: Input) -> Option<Input> {
        if self.is_there { input.mapped(&now) } else { Some(input) }
    }

    /// Notes the values of the entry that an input has.
    pub(super) fn note(&mut self, input: &Input) -> Result<(), UnreadReason> {
        let values = input.entry_values();
        if values.is_empty() {
            return Ok(());
        }
        let Some((entry, _)) = &mut self.found else { return Err(UnreadReason::TooMany) };
        let new: Vec<Expr> = values.into_iter().filter(|value| !entry.values.contains(value)).collect();
        if entry.values.len() + new.len() > MAX_ENTRY_VALUES {
            return Err(UnreadReason::TooMany);
        }
        entry.values.extend(new);
        self.is_used = true;
        Ok(())
    }

    /// Adds the entry to those of a plan, if it is used. Returns the frame of the site.
    pub(super) fn add_to(self, entries: &mut Vec<PlannedEntry>) -> Option<SiteFrame> {
        let (entry, known) = self.found.filter(|_| self.is_used)?;
        let stack_pointer = self.stack_pointer?;
        let number = known.unwrap_or(entries.len());
        match known.and_then(|known| entries.get_mut(known)) {
            Some(known) => *known = entry,
            None => entries.push(entry),
        }
        Some(SiteFrame { entry: number, stack_pointer })
    }
}

/// A computation with the values that registers have now in place of those of the entry.
fn now(of: &Expr) -> Option<Expr> {
    match of.node() {
        Node::AtEntry(value) => Some(value.clone()),
        _ => of.with_operands(&now),
    }
}
