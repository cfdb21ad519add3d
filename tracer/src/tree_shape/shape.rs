//! What there was at a place in all values.

use std::sync::Arc;

use super::label::{AlternativeLabel, IntegerWidth, NULL, ValueCategory};
use super::node::NodeMember;

/// How many places can be inside each other.
pub const MAX_DEPTH: u32 = 24;

/// The most alternatives of a place, and the most members of a structure.
pub const MAX_WIDTH: usize = 1 << 10;

/// What there was at a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeShape {
    /// The alternatives, in the order in which they were seen. None if nothing was.
    pub alternatives: Vec<Alternative>,
}

/// One of the things that there are at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// Which one. No other alternative of the place has the same label.
    pub label: AlternativeLabel,
    /// What is in it.
    pub content: TreeContent,
}

/// What is in an alternative.
#[derive(Clone, Debug, PartialEq)]
pub enum TreeContent {
    /// Nothing: the label says all.
    Nothing,
    /// A Boolean.
    Boolean,
    /// An integer.
    Integer(IntegerWidth),
    /// An integer of which some values have names: the values with their names, each value and each name
    /// once.
    Enumeration {
        /// The size of the integer.
        width: IntegerWidth,
        /// The names.
        names: Vec<(i128, Arc<str>)>,
    },
    /// A floating-point number of 64 bits.
    Float,
    /// The digits of a number that may be none of these.
    Digits,
    /// A text, which is not empty and has no byte 0.
    Text,
    /// A text with a byte 0.
    Bytes,
    /// An address, and what is there if pointers were followed.
    Pointer(Option<Box<TreeShape>>),
    /// Members, in the order in which they were seen.
    Members(Vec<ShapeMember>),
    /// The one value of a variant.
    Payload(Box<TreeShape>),
    /// Elements.
    List {
        /// All of them.
        element: Box<TreeShape>,
        /// Whether some are missing in a value.
        is_cut: bool,
    },
    /// Keys with their values.
    Map {
        /// All keys.
        key: Box<TreeShape>,
        /// All values.
        value: Box<TreeShape>,
        /// Whether some are missing in a value.
        is_cut: bool,
    },
    /// The text of a value of any kind.
    Any,
}

/// A member.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeMember {
    /// Its name. Two members may have the same.
    pub name: Arc<str>,
    /// What there was.
    pub shape: TreeShape,
}

impl TreeShape {
    /// The alternative that every value has, if none says more than its value.
    #[must_use]
    pub fn only(&self) -> Option<&TreeContent> {
        match &*self.alternatives {
            [Alternative { label, content }] if label.is_plain_value() || *label == NULL => Some(content),
            _ => None,
        }
    }

    /// Words for the alternatives: names of variants and of types, `value` if there is one value
    /// without a name, and words for what is missing. Two may be the same.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let is_one = self.alternatives.iter().filter(|it| it.label.is_plain_value()).count() == 1;
        self.alternatives.iter().map(move |alternative| match &alternative.label {
            AlternativeLabel::Structure(_) | AlternativeLabel::Value(_) if is_one => "value",
            AlternativeLabel::Variant(name) | AlternativeLabel::Structure(name) => name,
            AlternativeLabel::Value(category) => category.into(),
            AlternativeLabel::Special(word) | AlternativeLabel::Missing(word) => word,
        })
    }

    /// The number of the alternative that a node is; `None` if there is none.
    #[must_use]
    pub fn find(&self, label: &AlternativeLabel) -> Option<usize> {
        let position = |label: &AlternativeLabel| self.alternatives.iter().position(|it| it.label == *label);
        match label {
            // A pointer that is null, where others are not.
            label if *label == NULL => {
                position(&AlternativeLabel::Value(ValueCategory::Pointer)).or_else(|| position(label))
            }
            label => position(label),
        }
    }

    /// Whether values are text here, because the limits did not suffice.
    #[must_use]
    pub fn is_any(&self) -> bool {
        matches!(self.only(), Some(TreeContent::Any))
    }
}

/// Whether a value has the members of a shape, in the same order.
#[must_use]
pub fn has_same_members(shape: &[ShapeMember], members: &[NodeMember<'_>]) -> bool {
    shape.len() == members.len() && shape.iter().zip(members).all(|(one, other)| *one.name == *other.name)
}

/// Which member of a value each member of a shape is, by their names; `None` if the value has none. The
/// second of a name is the second.
#[must_use]
pub fn aligned(shape: &[ShapeMember], members: &[NodeMember<'_>]) -> Vec<Option<usize>> {
    let mut taken = vec![false; members.len()];
    let mut at = |(index, member): (usize, &ShapeMember)| {
        let is_it = |at: &usize| {
            !taken.get(*at).copied().unwrap_or(true) && members.get(*at).is_some_and(|it| *it.name == *member.name)
        };
        let found = Some(index).filter(is_it).or_else(|| (0..members.len()).find(is_it))?;
        if let Some(taken) = taken.get_mut(found) {
            *taken = true;
        }
        Some(found)
    };
    shape.iter().enumerate().map(&mut at).collect()
}
