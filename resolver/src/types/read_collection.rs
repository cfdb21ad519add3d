//! Which memory a collection of a library refers to ([`ReadTable`](super::ReadTable)).

use std::sync::Arc;

use super::collection_reader::BTREE_KEYS;
use super::read_table::{EntryNode, ReadNode, ReadTableBuilder, TEXT, byte, test};
use super::{Collection, CollectionLayout, FollowStep, NumberPlace, ReadCount, ReadPlace, ReadStep, Type};

/// The most nodes of a list.
const CHAIN: u16 = 64;
/// The bytes of a block of libstdc++'s `std::deque`, whose end is not read here.
const BLOCK_BYTES: u64 = 512;
/// The most blocks of a `std::deque`.
const BLOCKS: u16 = 16;
/// The bytes of a table of blocks that are read: libc++ keeps at most two unused blocks before the first.
const TABLE_BYTES: u64 = 4 * 8;
/// The most levels of a binary tree.
const TREE: u32 = 8;
/// The most levels of a tree of nodes with several keys.
const BTREE_LEVELS: u64 = 4;

impl ReadTableBuilder<'_> {
    /// Follows an address to another node, which may have several nodes of its kind behind it.
    pub(super) fn link(&self, offset: u64, node: u16, size: u32, steps: &mut Vec<ReadStep>) {
        if let (Ok(pointer), 1..) = (u32::try_from(offset), size) {
            steps.push(ReadStep::Follow(FollowStep::one(pointer, size, node)));
        }
    }

    /// The number of the node of an entry.
    fn entry(&mut self, node: EntryNode) -> u16 {
        self.nodes.push(ReadNode::Entry(node));
        u16::try_from(self.nodes.len() - 1).unwrap_or(TEXT)
    }

    /// The first node of the entries of a collection, which is made once.
    fn entries(&mut self, of: &Collection<Arc<Type>>, depth: u32, make: impl FnOnce(&mut Self) -> u16) -> u16 {
        let key = (std::ptr::from_ref(of), depth);
        if let Some(known) = self.known_entries.get(&key) {
            return *known;
        }
        let made = make(self);
        self.known_entries.insert(key, made);
        made
    }

    /// Follows the pointers of a collection to its entries.
    pub(super) fn collection(&mut self, of: &Collection<Arc<Type>>, depth: u32, bit: u64, steps: &mut Vec<ReadStep>) {
        let Some(start) = byte(bit) else { return };
        let own = |place: NumberPlace| {
            u32::try_from(place.offset).ok().filter(|_| place.size == 8).and_then(|offset| offset.checked_add(start))
        };
        let parts: Vec<(u64, Arc<Type>)> =
            [&of.key, &of.value].into_iter().flatten().map(|part| (part.offset, Arc::clone(&part.of))).collect();
        let depth = depth.saturating_sub(1);
        let most = u16::try_from(self.limits.elements).unwrap_or(u16::MAX);
        // The bytes of one entry of a node, behind all of its places.
        let size_with = |places: &[NumberPlace]| {
            let ends = parts.iter().map(|(offset, of)| offset.saturating_add(of.size.unwrap_or(0)));
            let ends = ends.chain(places.iter().map(|place| place.offset.saturating_add(place.size)));
            u32::try_from(ends.max().unwrap_or(0)).unwrap_or(0)
        };
        let mut follow = |pointer, place, count, most, stride: u64, node| {
            if let (Some(pointer), Some(count), Ok(stride @ 1..)) = (pointer, count, u32::try_from(stride)) {
                steps.push(ReadStep::Follow(FollowStep { pointer, add: 0, place, count, most, stride, steps: node }));
            }
        };
        match of.layout {
            CollectionLayout::Range { start, end, stride } => {
                let node = self.entries(of, depth, |this| this.row(parts, stride, depth));
                follow(own(start), ReadPlace::First, own(end).map(ReadCount::Until), most, stride, node);
            }
            CollectionLayout::Ring { data, head, length, capacity, stride } => {
                let node = self.entries(of, depth, |this| this.row(parts, stride, depth));
                let count = own(length).map(ReadCount::Number);
                if let (Some(index), Some(capacity)) = (own(head), own(capacity)) {
                    follow(own(data), ReadPlace::From { index, capacity }, count, most, stride, node);
                }
                // Those that go on at the beginning of the buffer.
                follow(own(data), ReadPlace::First, count, most, stride, node);
            }
            CollectionLayout::HashTable { control, mask, stride, .. } => {
                let node = self.entries(of, depth, |this| this.row(parts, stride, depth));
                let (buckets, count) = (most.saturating_mul(4), own(mask).map(ReadCount::NumberAndOne));
                follow(own(control), ReadPlace::First, count, buckets, 1, TEXT);
                follow(own(control), ReadPlace::Before, count, buckets, stride, node);
            }
            CollectionLayout::Linked { first, next, .. } => {
                let size = size_with(&[next]);
                let node = self.entries(of, depth, |this| {
                    // The last one leads nowhere, so that a circle ends.
                    let mut node = this.entry(EntryNode { parts: parts.clone(), links: Vec::new(), size, depth });
                    for _ in 1..most.min(CHAIN) {
                        let links = vec![(next.offset, node, size)];
                        node = this.entry(EntryNode { parts: parts.clone(), links, size, depth });
                    }
                    node
                });
                follow(own(first), ReadPlace::First, Some(ReadCount::One), 1, size.into(), node);
            }
            CollectionLayout::BinaryTree { root, left, right, .. } => {
                let size = size_with(&[left, right]);
                let node = self.entries(of, depth, |this| {
                    let mut node = this.entry(EntryNode { parts: parts.clone(), links: Vec::new(), size, depth });
                    for _ in 1..TREE {
                        let links = vec![(left.offset, node, size), (right.offset, node, size)];
                        node = this.entry(EntryNode { parts: parts.clone(), links, size, depth });
                    }
                    node
                });
                follow(own(root), ReadPlace::First, Some(ReadCount::One), 1, size.into(), node);
            }
            CollectionLayout::BTree { root, height, node_length, edges, .. } => {
                let keys = parts.iter().flat_map(|(offset, of)| {
                    let at = |index: u64| offset.saturating_add(index.saturating_mul(of.size.unwrap_or(0)));
                    (0..BTREE_KEYS).map(move |index| (at(index), Arc::clone(of)))
                });
                let keys: Vec<(u64, Arc<Type>)> = keys.collect();
                let ends = keys.iter().map(|(offset, of)| offset.saturating_add(of.size.unwrap_or(0)));
                let leaf = ends.chain([node_length.offset.saturating_add(node_length.size)]).max().unwrap_or(0);
                let inner = edges.saturating_add(8 * (BTREE_KEYS + 1));
                let (Ok(leaf), Ok(inner), Some(at)) = (u32::try_from(leaf), u32::try_from(inner), own(height)) else {
                    return;
                };
                let mut node = self.entry(EntryNode { parts: keys.clone(), links: Vec::new(), size: leaf, depth });
                let mut size = leaf;
                for level in 0..BTREE_LEVELS {
                    steps.push(ReadStep::Test { offset: at, bits: 64, low: level, span: 0, is_in: true, skip: 1 });
                    steps.extend(own(root).map(|root| ReadStep::Follow(FollowStep::one(root, size, node))));
                    let edge = |index: u64| (edges.saturating_add(8 * index), node, size);
                    let links = (0..=BTREE_KEYS).map(edge).collect();
                    node = self.entry(EntryNode { parts: keys.clone(), links, size: inner, depth });
                    size = inner;
                }
            }
            CollectionLayout::Blocks { table, first, length, block, stride } => {
                let row = self.entries(of, depth, |this| this.row(parts, stride, depth));
                let (Some(index), Ok(block)) = (own(first), u16::try_from(block)) else { return };
                follow(own(table), ReadPlace::First, Some(ReadCount::One), 1, TABLE_BYTES, TEXT);
                // Two blocks have more bytes than the value may have.
                for is_next in [false, true] {
                    let place = ReadPlace::Block { index, block, is_next };
                    follow(own(table), place, own(length).map(ReadCount::Number), most, stride, row);
                }
            }
            CollectionLayout::BlockRange { start, start_block_end, end, stride } => {
                let row = self.entries(of, depth, |this| this.row(parts, stride, depth));
                follow(
                    own(start.element),
                    ReadPlace::First,
                    own(start_block_end).map(ReadCount::Until),
                    most,
                    stride,
                    row,
                );
                let block = BLOCK_BYTES.checked_div(stride).unwrap_or(1).max(1);
                let entry = self.block_entry(row, block, stride, depth);
                let entries = own(end.entry).map(ReadCount::Until);
                follow(own(start.entry), ReadPlace::First, entries, BLOCKS, 8, entry);
                follow(own(end.block), ReadPlace::First, own(end.element).map(ReadCount::Until), most, stride, row);
            }
            CollectionLayout::Pointer { address } => {
                let Some(part) = &of.key else { return };
                let Some(size) = part.of.size else { return };
                let node = self.node(&part.of, depth);
                follow(own(address), ReadPlace::First, Some(ReadCount::One), 1, size, node);
            }
            CollectionLayout::Inline { offset, length, capacity, stride, is_text: false } => {
                let (Some(part), Some(at)) = (&of.key, byte(length.bit.saturating_add(bit))) else { return };
                let Ok(bits) = u8::try_from(length.bits) else { return };
                for index in 0..capacity.min(self.limits.elements as u64) {
                    let first = index.saturating_mul(stride).saturating_add(offset).saturating_mul(8);
                    let mut inside = Vec::new();
                    self.value(&part.of, depth, first.saturating_add(bit), 1, &mut inside);
                    if inside.is_empty() {
                        break;
                    }
                    // What is behind the last element is not followed.
                    let range = (i128::from(index) + 1, i128::from(capacity));
                    steps.extend(test((at, bits), range, true, inside.len()));
                    steps.extend(inside);
                }
            }
            CollectionLayout::Inline { .. } | CollectionLayout::Duration { .. } | CollectionLayout::Internet { .. } => {
            }
        }
    }

    /// The node of an entry of a table of blocks: it has the address of elements in a row.
    fn block_entry(&mut self, row: u16, block: u64, stride: u64, depth: u32) -> u16 {
        let elements = block.min(self.limits.elements as u64);
        let size = u32::try_from(elements.saturating_mul(stride)).unwrap_or(0);
        self.entry(EntryNode { parts: Vec::new(), links: vec![(0, row, size)], size: 8, depth })
    }

    /// The node of elements in a row.
    fn row(&mut self, parts: Vec<(u64, Arc<Type>)>, stride: u64, depth: u32) -> u16 {
        let size = u32::try_from(stride).unwrap_or(u32::MAX);
        self.entry(EntryNode { parts, links: Vec::new(), size, depth })
    }
}
