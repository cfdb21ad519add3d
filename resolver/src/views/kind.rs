//! The kinds of views and their parts.

use strum::{EnumString, IntoStaticStr, VariantNames};

/// The kind of a view. Its name in a table is in snake case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum ViewKind {
    Record,
    Sequence,
    Text,
    Range,
    Ring,
    HashTable,
    #[strum(serialize = "b_tree")]
    BTree,
    Linked,
    BinaryTree,
    Pointer,
    Optional,
    Once,
    Duration,
    Internet,
    SmallSequence,
    SmallText,
    Value,
    Tuple,
    Variant,
    Function,
    Blocks,
    BlockRange,
    /// Of a thread-local variable and not of a type: the number of the task that the thread runs.
    Task,
}

/// Whether a view needs a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartRequirement {
    Required,
    Optional,
    /// One of [`ELEMENTS`] is needed.
    Element,
}

/// The parts that say what the elements are.
pub(super) const ELEMENTS: [&str; 2] = ["key", "set"];

/// The parts of a kind.
type KindParts = &'static [(&'static str, PartRequirement)];

impl ViewKind {
    /// The kind of this name; `None` if there is none.
    pub(super) fn called(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// The names of all parts. A record has those that its author names.
    pub(super) fn parts(self) -> KindParts {
        use PartRequirement::{Element, Optional, Required};
        match self {
            Self::Record => &[],
            Self::Sequence => &[("data", Required), ("length", Required), ("key", Element), ("set", Element)],
            Self::Text => &[("data", Required), ("length", Required), ("key", Optional)],
            Self::Range => &[("start", Required), ("end", Required), ("key", Element), ("set", Element)],
            Self::Ring => &[
                ("data", Required),
                ("head", Required),
                ("length", Required),
                ("capacity", Required),
                ("key", Element),
                ("set", Element),
            ],
            Self::HashTable => &[
                ("control", Required),
                ("mask", Required),
                ("length", Required),
                ("entry", Required),
                ("key", Element),
                ("set", Element),
                ("value", Optional),
            ],
            Self::BTree => &[
                ("root", Required),
                ("height", Required),
                ("length", Required),
                ("node_length", Required),
                ("edges", Required),
                ("key", Element),
                ("set", Element),
                ("value", Optional),
            ],
            Self::Linked => &[
                ("first", Required),
                ("length", Optional),
                ("next", Required),
                ("key", Element),
                ("set", Element),
                ("value", Optional),
            ],
            Self::BinaryTree => &[
                ("root", Required),
                ("length", Required),
                ("left", Required),
                ("right", Required),
                ("key", Element),
                ("set", Element),
                ("value", Optional),
            ],
            Self::Pointer => &[("address", Required), ("key", Element)],
            Self::Optional => &[("engaged", Required), ("value", Required)],
            Self::Once => &[("state", Required), ("value", Required)],
            Self::Duration => &[("seconds", Required), ("nanoseconds", Required)],
            Self::Internet => &[("octets", Required)],
            Self::Task => &[("number", Required), ("polls", Optional), ("tails", Optional), ("wakes", Optional)],
            Self::Value => &[("value", Required), ("key", Optional)],
            Self::Tuple => &[("first", Required), ("next", Optional), ("item", Required)],
            Self::Variant => &[("index", Required), ("first", Required), ("next", Required), ("item", Required)],
            Self::Function => &[("engaged", Required), ("target", Required)],
            Self::Blocks => {
                &[("table", Required), ("first", Required), ("length", Required), ("key", Element), ("set", Element)]
            }
            Self::BlockRange => &[
                ("start", Required),
                ("start_block", Required),
                ("start_block_end", Required),
                ("start_entry", Required),
                ("end", Required),
                ("end_block", Required),
                ("end_entry", Required),
                ("key", Element),
                ("set", Element),
            ],
            Self::SmallSequence | Self::SmallText => &[
                ("inline", Required),
                ("inline_length", Required),
                ("data", Required),
                ("length", Required),
                ("is_long", Optional),
            ],
        }
    }
}
