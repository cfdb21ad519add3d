//! Which memory a pointer with a vtable refers to ([`ReadTable`](super::ReadTable)).

use std::sync::Arc;

use super::read_table::{ReadTableBuilder, byte, test};
use super::{Dynamic, ReadStep, Type};

/// The bits of an address that a load bias does not change: it is a multiple of a page.
const PAGE_BITS: u8 = 12;

impl ReadTableBuilder<'_> {
    /// Follows a pointer to the types that may have its vtable. Where that is in its page is known without
    /// the load bias.
    pub(super) fn dynamic(&mut self, of: &Dynamic<Arc<Type>>, depth: u32, bit: u64, steps: &mut Vec<ReadStep>) {
        let place = |offset: u64| byte(bit.saturating_add(offset.saturating_mul(8)));
        let Some(vtable) = place(of.vtable) else { return };
        let data = bit.saturating_add(of.data.saturating_mul(8));
        let mut choices: Vec<(u64, Vec<ReadStep>)> = Vec::new();
        for choice in &of.types {
            let mut inside = Vec::new();
            let Ok(add) = i32::try_from(of.offset(choice.align)) else { continue };
            self.follow(data, add, &choice.of, depth, &mut inside);
            let mut places: Vec<u64> = choice.vtables.iter().map(|vtable| page_offset(*vtable)).collect();
            places.sort_unstable();
            places.dedup();
            for place in places.into_iter().filter(|_| !inside.is_empty()) {
                match choices.binary_search_by_key(&place, |(known, _)| *known) {
                    Ok(at) => choices.get_mut(at).into_iter().for_each(|(_, steps)| steps.extend(&inside)),
                    Err(at) => choices.insert(at, (place, inside.clone())),
                }
            }
        }
        by_page_offset(vtable, &choices, steps);
    }
}

/// Adds steps that are taken if a pointer has a place in its page. The places are ascending. They are
/// found by halves, so that there are few steps even for many.
fn by_page_offset(pointer: u32, choices: &[(u64, Vec<ReadStep>)], steps: &mut Vec<ReadStep>) {
    let guard = |first: u64, last: u64, inside: &[ReadStep]| {
        test((pointer, PAGE_BITS), (first.into(), last.into()), true, inside.len())
    };
    if let [(place, inside)] = choices {
        steps.extend(guard(*place, *place, inside));
        steps.extend(inside);
        return;
    }
    let (low, high) = choices.split_at(choices.len() / 2);
    for half in [low, high] {
        let mut inside = Vec::new();
        if !half.is_empty() {
            by_page_offset(pointer, half, &mut inside);
        }
        if let [(first, _), .., (last, _)] = half {
            steps.extend(guard(*first, *last, &inside));
        }
        steps.extend(inside);
    }
}

/// The place in its page that an address has.
fn page_offset(address: u64) -> u64 {
    address & ((1 << PAGE_BITS) - 1)
}
