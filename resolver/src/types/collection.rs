//! Library types whose values are not their members: maps, lists, buffers, durations.
//!
//! A layout says by offsets how a reader finds the elements, so that it needs no names of a library.

use serde::{Deserialize, Serialize};

/// A value of a type of a library. `R` refers to a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Collection<R> {
    /// Where the elements are.
    pub layout: CollectionLayout,
    /// Whether it is a set.
    pub is_set: bool,
    /// The elements, or the keys of a map. `None` if there are none, or the tree is cut off here.
    pub key: Option<CollectionPart<R>>,
    /// The values of a map.
    pub value: Option<CollectionPart<R>>,
}

/// The elements, keys or values of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CollectionPart<R> {
    /// Offset in bytes from the start of an entry.
    pub offset: u64,
    /// The type.
    pub of: R,
}

/// A number in an object: its place and size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NumberPlace {
    /// Offset from the start of the object.
    pub offset: u64,
    /// Size: 1, 2, 4 or 8.
    pub size: u64,
}

/// A number in an object: its bits, which may be a bit-field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BitPlace {
    /// The first bit, as in [`Member::bit_offset`](super::Member::bit_offset).
    pub bit: u64,
    /// How many bits it has, at most 64.
    pub bits: u64,
}

/// Where the elements of a collection are. Places without a note are in the object itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectionLayout {
    /// Elements in a row, from an address up to another one: `std::vector`.
    Range {
        /// The address of the first element.
        start: NumberPlace,
        /// The address behind the last element.
        end: NumberPlace,
        /// The distance of elements.
        stride: u64,
    },
    /// Elements in a row that goes on at its beginning: `VecDeque`.
    Ring {
        /// The address of the buffer.
        data: NumberPlace,
        /// The number of the first element in the buffer.
        head: NumberPlace,
        /// How many elements there are.
        length: NumberPlace,
        /// How many elements the buffer has.
        capacity: NumberPlace,
        /// The distance of elements.
        stride: u64,
    },
    /// Elements before an array of control bytes, those of hashbrown: a byte below 0x80 stands for
    /// an element. Element 0 ends at the address of the control bytes, element 1 comes before it.
    HashTable {
        /// The address of the control bytes.
        control: NumberPlace,
        /// The number of control bytes, less 1.
        mask: NumberPlace,
        /// How many elements there are.
        length: NumberPlace,
        /// The distance of elements.
        stride: u64,
    },
    /// A tree of nodes with several keys, those of `BTreeMap`.
    BTree {
        /// The address of the root; 0 if there is none.
        root: NumberPlace,
        /// The height of the root; 0 for a leaf.
        height: NumberPlace,
        /// How many keys there are.
        length: NumberPlace,
        /// How many keys a node has, in the node.
        node_length: NumberPlace,
        /// The offset of the addresses of the children, in a node that is no leaf.
        edges: u64,
    },
    /// Nodes with the address of the next one: `LinkedList`, `std::list`, `std::unordered_map`.
    Linked {
        /// The address of the first node; 0 if there is none.
        first: NumberPlace,
        /// How many nodes there are. `None` if the address 0 ends the list: `std::forward_list`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<NumberPlace>,
        /// The address of the next node, in a node.
        next: NumberPlace,
    },
    /// A binary tree of nodes, those of `std::map`.
    BinaryTree {
        /// The address of the root; 0 if there is none.
        root: NumberPlace,
        /// How many nodes there are.
        length: NumberPlace,
        /// The address of the left child, in a node.
        left: NumberPlace,
        /// The address of the right child, in a node.
        right: NumberPlace,
    },
    /// A pointer that owns its target, which is the key: `std::unique_ptr`.
    Pointer {
        /// The address of the target; 0 if there is none.
        address: NumberPlace,
    },
    /// A time: seconds and nanoseconds.
    Duration {
        /// The seconds.
        seconds: NumberPlace,
        /// The nanoseconds, below 10^9.
        nanoseconds: NumberPlace,
    },
    /// Elements in the object itself, or characters of a text: `SmallVec`, libc++'s `std::string`.
    Inline {
        /// The offset of the first one.
        offset: u64,
        /// How many there are.
        length: BitPlace,
        /// How many there may be.
        capacity: u64,
        /// The distance of elements.
        stride: u64,
        /// Whether they are the bytes of a text.
        is_text: bool,
    },
    /// Elements in blocks of the same length, whose addresses are in a table: libc++'s `std::deque`.
    Blocks {
        /// The address of the table.
        table: NumberPlace,
        /// The number of the first element, counted from the start of the first block of the table.
        first: NumberPlace,
        /// How many elements there are.
        length: NumberPlace,
        /// How many elements a block has.
        block: u64,
        /// The distance of elements.
        stride: u64,
    },
    /// Elements in blocks of the same length, whose addresses are in a table, from an address up to
    /// another one: libstdc++'s `std::deque`.
    BlockRange {
        /// The first element.
        start: BlockPosition,
        /// The address behind the last element of the first block.
        start_block_end: NumberPlace,
        /// Behind the last element, in its block or at the start of the next one.
        end: BlockPosition,
        /// The distance of elements.
        stride: u64,
    },
    /// An address of the internet: 4 or 16 bytes in the order of the network.
    Internet {
        /// The first byte.
        offset: u64,
        /// How many bytes there are.
        size: u64,
    },
}

/// A position in one of several blocks: where its addresses are in the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockPosition {
    /// The address of the element.
    pub element: NumberPlace,
    /// The address of its block.
    pub block: NumberPlace,
    /// The address of the entry of the table that has the address of the block.
    pub entry: NumberPlace,
}

impl<R> Collection<R> {
    /// The same with other types.
    pub(super) fn with_types<S, E>(&self, mut change: impl FnMut(&R) -> Result<S, E>) -> Result<Collection<S>, E> {
        let mut part = |part: &Option<CollectionPart<R>>| {
            part.as_ref().map(|part| Ok(CollectionPart { offset: part.offset, of: change(&part.of)? })).transpose()
        };
        let (key, value) = (part(&self.key)?, part(&self.value)?);
        Ok(Collection { layout: self.layout, is_set: self.is_set, key, value })
    }
}
