//! Finds the entries of a collection in memory.

use std::collections::HashSet;

use super::object::{Object, ReadContext};
use super::{BlockPosition, CollectionLayout, NumberPlace, ValueProblem};

/// The entries of a collection: the address of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CollectionEntries {
    /// The first entries, or all.
    pub(super) entries: Vec<CollectionEntry>,
    /// How many there are. `None` if that is not known; then some are missing.
    pub(super) total: Option<u64>,
}

/// An entry of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CollectionEntry {
    /// Where its key is measured from.
    pub(super) address: u64,
    /// Where it is in the arrays of keys and values at that address.
    pub(super) index: u64,
}

/// Maximum height of a tree.
const HEIGHT: u64 = 64;

/// Maximum number of keys of a node of a tree with several (`alloc::collections::btree::node::CAPACITY`).
pub(super) const BTREE_KEYS: u64 = 11;

/// The most bytes of all elements: half of all addresses.
const MOST_BYTES: u64 = i64::MAX as u64;

/// Most control bytes that are read at once.
const CONTROL_BYTES: u64 = 64;

/// Reads where the entries are. What is not readable ends them.
pub(super) fn entries(
    layout: CollectionLayout,
    object: Object<'_>,
    start: u64,
    context: &ReadContext<'_>,
) -> Result<CollectionEntries, ValueProblem> {
    let mut reader = EntryReader { context, most: context.limits.elements, entries: Vec::new() };
    let own = |place: NumberPlace| number(object, start, place, context);
    let total = match layout {
        CollectionLayout::Range { start, end, stride } => {
            let (start, end) = (own(start)?, own(end)?);
            let size = end.checked_sub(start).ok_or(ValueProblem::Inconsistent)?;
            if size.checked_rem(stride).unwrap_or(0) != 0 {
                return Err(ValueProblem::Inconsistent);
            }
            let total = size.checked_div(stride).unwrap_or(0);
            reader.row(start, 0, total, total, stride);
            total
        }
        CollectionLayout::Ring { data, head, length, capacity, stride } => {
            let (data, head, total, capacity) = (own(data)?, own(head)?, own(length)?, own(capacity)?);
            // Without a size of elements there is no buffer.
            let (head, capacity) = if stride == 0 { (0, total) } else { (head, capacity) };
            if total > capacity || head > capacity {
                return Err(ValueProblem::Inconsistent);
            }
            reader.row(data, head, total, capacity, stride);
            total
        }
        CollectionLayout::HashTable { control, mask, length, stride } => {
            let (control, mask, total) = (own(control)?, own(mask)?, own(length)?);
            if total > mask {
                return if total == 0 {
                    Ok(CollectionEntries { entries: Vec::new(), total: Some(0) })
                } else {
                    Err(ValueProblem::Inconsistent)
                };
            }
            reader.table(control, mask.saturating_add(1), total, stride)?;
            total
        }
        CollectionLayout::BTree { root, height, length, node_length, edges } => {
            let (root, total) = (own(root)?, own(length)?);
            if root != 0 && total != 0 {
                reader.node(root, own(height)?, node_length, edges)?;
                reader.check(total)?;
            }
            total
        }
        CollectionLayout::Linked { first, length: None, next } => {
            let (mut node, mut known) = (own(first)?, HashSet::new());
            while node != 0 && !reader.is_full() {
                if !known.insert(node) {
                    return Err(ValueProblem::Inconsistent);
                }
                reader.entries.push(CollectionEntry { address: node, index: 0 });
                match reader.at(node, next) {
                    Ok(next) => node = next,
                    // Not even the first one is there.
                    Err(problem) if problem != ValueProblem::NotCaptured && reader.entries.len() == 1 => {
                        return Err(problem);
                    }
                    Err(_) => {
                        // `..` stands for it.
                        reader.entries.pop();
                        break;
                    }
                }
            }
            let total = (node == 0).then_some(reader.entries.len() as u64);
            return Ok(CollectionEntries { entries: reader.entries, total });
        }
        CollectionLayout::Linked { first, length: Some(length), next } => {
            let (mut node, total) = (own(first)?, own(length)?);
            let mut known = HashSet::new();
            while (reader.entries.len() as u64) < total && !reader.is_full() {
                // It ends too early, or is a circle.
                if node == 0 || !known.insert(node) {
                    return Err(ValueProblem::Inconsistent);
                }
                reader.entries.push(CollectionEntry { address: node, index: 0 });
                match reader.at(node, next) {
                    Ok(next) => node = next,
                    Err(problem) => return reader.ended(total, problem),
                }
            }
            total
        }
        CollectionLayout::BinaryTree { root, length, left, right } => {
            let (root, total) = (own(root)?, own(length)?);
            if let Err(problem) = reader.in_order(root, left, right) {
                return reader.ended(total, problem);
            }
            reader.check(total)?;
            total
        }
        CollectionLayout::Blocks { table, first, length, block, stride } => {
            let (table, first, total) = (own(table)?, own(first)?, own(length)?);
            if first.checked_add(total).and_then(|end| end.checked_mul(stride)).is_none_or(|end| end > MOST_BYTES) {
                return Err(ValueProblem::Inconsistent);
            }
            let at = |number: u64| {
                let number = first.saturating_add(number);
                Some((number.checked_div(block)?, number.checked_rem(block)?))
            };
            let mut entry = None;
            for number in 0..total.min(reader.most as u64) {
                let Some((of, index)) = at(number) else { break };
                let address = match entry.filter(|(known, _)| *known == of) {
                    Some((_, address)) => address,
                    None => match reader.at(table, NumberPlace { offset: of.saturating_mul(8), size: 8 }) {
                        Ok(address) => address,
                        Err(problem) => return reader.ended(total, problem),
                    },
                };
                entry = Some((of, address));
                let address = address.wrapping_add(index.wrapping_mul(stride));
                reader.entries.push(CollectionEntry { address, index: 0 });
            }
            total
        }
        CollectionLayout::BlockRange { start, start_block_end, end, stride } => {
            let all = |position: BlockPosition| -> Result<[u64; 3], ValueProblem> {
                Ok([own(position.element)?, own(position.block)?, own(position.entry)?])
            };
            let ([start, start_block, start_entry], [end, end_block, end_entry]) = (all(start)?, all(end)?);
            let elements = |from: u64, to: u64| {
                let bytes = to.checked_sub(from).filter(|bytes| bytes.checked_rem(stride) == Some(0));
                bytes.and_then(|bytes| bytes.checked_div(stride)).ok_or(ValueProblem::Inconsistent)
            };
            let block = elements(start_block, own(start_block_end)?)?;
            let (skipped, last) = (elements(start_block, start)?, elements(end_block, end)?);
            let blocks = end_entry.checked_sub(start_entry).filter(|bytes| bytes % 8 == 0).map(|bytes| bytes / 8);
            let blocks = blocks.ok_or(ValueProblem::Inconsistent)?;
            let total = blocks.checked_mul(block).and_then(|all| all.checked_add(last)?.checked_sub(skipped));
            let total = total.filter(|total| total.checked_mul(stride).is_some_and(|bytes| bytes <= MOST_BYTES));
            let total = total.ok_or(ValueProblem::Inconsistent)?;
            let is_empty = block == 0 && blocks > 0;
            if skipped > block || last > block || is_empty || blocks == 0 && start_block != end_block {
                return Err(ValueProblem::Inconsistent);
            }
            for number in 0..=blocks {
                let first = if number == 0 { skipped } else { 0 };
                let behind = if number == blocks { last } else { block };
                let place = NumberPlace { offset: number.saturating_mul(8), size: 8 };
                // The object itself has the addresses of the first and of the last block.
                let address = match number {
                    0 => start_block,
                    _ if number == blocks => end_block,
                    _ if reader.is_full() => break,
                    _ => match reader.at(start_entry, place) {
                        Ok(address) => address,
                        Err(problem) => return reader.ended(total, problem),
                    },
                };
                for index in first..behind {
                    if reader.is_full() {
                        break;
                    }
                    let address = address.wrapping_add(index.wrapping_mul(stride));
                    reader.entries.push(CollectionEntry { address, index: 0 });
                }
                if reader.is_full() {
                    break;
                }
            }
            total
        }
        CollectionLayout::Pointer { .. }
        | CollectionLayout::Duration { .. }
        | CollectionLayout::Inline { .. }
        | CollectionLayout::Internet { .. } => 0,
    };
    Ok(CollectionEntries { entries: reader.entries, total: Some(total) })
}

/// A number in an object that begins at the bit `start`.
pub(super) fn number(
    object: Object<'_>,
    start: u64,
    place: NumberPlace,
    context: &ReadContext<'_>,
) -> Result<u64, ValueProblem> {
    if place.size > 8 {
        return Err(ValueProblem::TooLarge);
    }
    let bit = place.offset.checked_mul(8).and_then(|bit| bit.checked_add(start)).ok_or(ValueProblem::Incomplete)?;
    let bits = object.bits(context.byte_order, bit, place.size.saturating_mul(8))?;
    u64::try_from(bits).map_err(|_| ValueProblem::TooLarge)
}

struct EntryReader<'a> {
    context: &'a ReadContext<'a>,
    most: usize,
    entries: Vec<CollectionEntry>,
}

impl EntryReader<'_> {
    fn is_full(&self) -> bool {
        self.entries.len() >= self.most
    }

    /// What was found before the memory ended.
    fn ended(self, total: u64, problem: ValueProblem) -> Result<CollectionEntries, ValueProblem> {
        let is_wrong = problem == ValueProblem::Inconsistent || self.entries.len() as u64 > total;
        match is_wrong || self.entries.is_empty() && problem != ValueProblem::NotCaptured {
            true if self.entries.len() as u64 > total => Err(ValueProblem::Inconsistent),
            true => Err(problem),
            false => Ok(CollectionEntries { entries: self.entries, total: Some(total) }),
        }
    }

    /// Whether all entries were found, if no limit ended the search, and no more.
    fn check(&self, total: u64) -> Result<(), ValueProblem> {
        let found = self.entries.len() as u64;
        match found > total || found < total && !self.is_full() {
            true => Err(ValueProblem::Inconsistent),
            false => Ok(()),
        }
    }

    /// Entries in a row of `capacity`, from the number `head` on, up to the first one that was not copied.
    fn row(&mut self, data: u64, head: u64, total: u64, capacity: u64, stride: u64) {
        for index in 0..total.min(self.most as u64) {
            let index = head.wrapping_add(index).checked_rem(capacity).unwrap_or(0);
            let address = data.wrapping_add(index.wrapping_mul(stride));
            if self.context.start_at(address, stride) == Err(ValueProblem::NotCaptured) {
                break;
            }
            self.entries.push(CollectionEntry { address, index: 0 });
        }
    }

    fn table(&mut self, control: u64, buckets: u64, total: u64, stride: u64) -> Result<(), ValueProblem> {
        let mut index = 0u64;
        while index < buckets.min(self.context.limits.memory as u64) {
            let size = CONTROL_BYTES.min(buckets.saturating_sub(index));
            let bytes = match self.context.start_at(control.wrapping_add(index), size) {
                Ok(bytes) => bytes,
                Err(ValueProblem::NotCaptured) => return Ok(()),
                Err(_) if index > 0 => return Ok(()),
                Err(problem) => return Err(problem),
            };
            for byte in bytes {
                if self.is_full() || self.entries.len() as u64 >= total {
                    return Ok(());
                }
                index = index.saturating_add(1);
                if byte < 0x80 {
                    let address = control.wrapping_sub(index.wrapping_mul(stride));
                    self.entries.push(CollectionEntry { address, index: 0 });
                }
            }
        }
        // All control bytes were read.
        if index >= buckets { self.check(total) } else { Ok(()) }
    }

    fn at(&self, node: u64, place: NumberPlace) -> Result<u64, ValueProblem> {
        let bytes = self.context.at(node.wrapping_add(place.offset), place.size.min(8))?;
        number(Object::new(&bytes), 0, NumberPlace { offset: 0, ..place }, self.context)
    }

    /// The keys of a node of a B-tree and of the nodes below it, in order.
    fn node(&mut self, node: u64, height: u64, length: NumberPlace, edges: u64) -> Result<(), ValueProblem> {
        if height > HEIGHT || node == 0 {
            return Err(ValueProblem::Inconsistent);
        }
        let keys = match self.at(node, length) {
            Ok(keys @ 0..=BTREE_KEYS) => keys,
            Ok(_) => return Err(ValueProblem::Inconsistent),
            Err(ValueProblem::NotCaptured) => {
                self.most = self.entries.len();
                return Ok(());
            }
            Err(problem) => return Err(problem),
        };
        for index in 0..=keys {
            if self.is_full() {
                break;
            }
            if let Some(below) = height.checked_sub(1) {
                let offset = index.saturating_mul(8).saturating_add(edges);
                match self.at(node, NumberPlace { offset, size: 8 }) {
                    Ok(child) => self.node(child, below, length, edges)?,
                    Err(ValueProblem::NotCaptured) => self.most = self.entries.len(),
                    Err(problem) => return Err(problem),
                }
            }
            if index < keys && !self.is_full() {
                self.entries.push(CollectionEntry { address: node, index });
            }
        }
        Ok(())
    }

    /// The nodes of a binary tree, in order.
    fn in_order(&mut self, root: u64, left: NumberPlace, right: NumberPlace) -> Result<(), ValueProblem> {
        let (mut node, mut above, mut known) = (root, Vec::new(), HashSet::new());
        while !self.is_full() {
            while node != 0 {
                if above.len() as u64 > HEIGHT * 2 || !known.insert(node) {
                    return Err(ValueProblem::Inconsistent);
                }
                above.push(node);
                node = self.at(node, left)?;
            }
            let Some(next) = above.pop() else { break };
            self.entries.push(CollectionEntry { address: next, index: 0 });
            node = self.at(next, right)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use super::super::{Language, Limits, MemoryFunction};
    use super::*;

    /// The addresses of the elements of a collection that these words are, or what is wrong. The words at
    /// 0x1000 and above are 0x2000, 0x3000 and so on.
    fn found(layout: CollectionLayout, words: &[u64]) -> Result<Vec<u64>, ValueProblem> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let memory = MemoryFunction(|address: u64, into: &mut [u8]| {
            let word = address.checked_sub(0x1000).filter(|at| *at < 0x1000).map(|at| 0x2000 + at / 8 * 0x1000);
            into.copy_from_slice(&word.unwrap_or(0).to_le_bytes()[..into.len()]);
            word.is_some()
        });
        let limits = Limits { elements: 8, ..Limits::default() };
        let context = ReadContext { limits, ..ReadContext::new(Language::C, &memory) };
        entries(layout, Object::new(&bytes), 0, &context).map(|all| all.entries.iter().map(|it| it.address).collect())
    }

    fn place(word: u64) -> NumberPlace {
        NumberPlace { offset: 8 * word, size: 8 }
    }

    #[test]
    fn elements_in_blocks_are_found_in_their_blocks() {
        let layout =
            CollectionLayout::Blocks { table: place(0), first: place(1), length: place(2), block: 4, stride: 4 };
        assert_eq!(found(layout, &[0x1000, 3, 2]), Ok(vec![0x200c, 0x3000]));
        assert_eq!(found(layout, &[0x1000, 9, 1]), Ok(vec![0x4004]));
        assert_eq!(found(layout, &[0, 0, 0]), Ok(vec![]));
        assert_eq!(found(layout, &[0x1000, u64::MAX, 2]), Err(ValueProblem::Inconsistent));
        assert_eq!(found(layout, &[0x1000, 0, u64::MAX / 4]), Err(ValueProblem::Inconsistent));
    }

    #[test]
    fn the_ends_of_elements_in_blocks_are_in_their_blocks() {
        let position = |word| BlockPosition { element: place(word), block: place(word + 1), entry: place(word + 2) };
        let (start, end) = (position(0), position(3));
        let layout = CollectionLayout::BlockRange { start, start_block_end: place(6), end, stride: 4 };
        let of = |words: [u64; 7]| found(layout, &words);
        assert_eq!(of([0x2008, 0x2000, 0x1000, 0x200c, 0x2000, 0x1000, 0x2010]), Ok(vec![0x2008]));
        let three = of([0x200c, 0x2000, 0x1000, 0x4004, 0x4000, 0x1010, 0x2010]);
        assert_eq!(three, Ok(vec![0x200c, 0x3000, 0x3004, 0x3008, 0x300c, 0x4000]));
        for wrong in [
            // The end is before the start, in another block, or no element.
            [0x2008, 0x2000, 0x1000, 0x2004, 0x2000, 0x1000, 0x2010],
            [0x2008, 0x2000, 0x1000, 0x300c, 0x3000, 0x1000, 0x2010],
            [0x2008, 0x2000, 0x1000, 0x200e, 0x2000, 0x1000, 0x2010],
            // Its entry is before that of the start.
            [0x2008, 0x2000, 0x1008, 0x200c, 0x2000, 0x1000, 0x2010],
            // Blocks have no element, or more than there are addresses.
            [0x2000, 0x2000, 0x1000, 0x3000, 0x3000, 0x1f00, 0x2000],
            [0x2008, 0x2000, 0, 0x200c, 0x2000, u64::MAX - 7, 0x2010],
        ] {
            assert_eq!(of(wrong), Err(ValueProblem::Inconsistent), "{wrong:x?}");
        }
    }

    #[test]
    fn a_list_without_a_length_ends_with_no_address() {
        let layout = CollectionLayout::Linked { first: place(0), length: None, next: place(0) };
        assert_eq!(found(layout, &[0]), Ok(vec![]));
        assert_eq!(found(layout, &[0x1000]), Ok(vec![0x1000]));
        assert_eq!(found(layout, &[0x5000]), Err(ValueProblem::Unreadable { address: 0x5000, length: 8 }));
    }
}
