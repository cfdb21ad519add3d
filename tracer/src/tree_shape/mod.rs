//! The shape of whole values: what all values of an argument have in common, for files whose columns or
//! fields have one type (CTF, Parquet). Nothing here knows of such a file.
//!
//! A value is a tree. A *place* is where it, a member, an element, a key or what a pointer leads to is. A
//! [`TreeShape`] says what there was at a place in all trees that were added: one [`Alternative`], or
//! several, of which a value has one. [`TreeNode`] says which one, and what is in it.
//!
//! A shape has at most [`MAX_DEPTH`] places inside each other, and as many alternatives and labels as
//! its budget says. A place that would need more is text as a whole.

mod grow;
mod label;
mod node;
mod shape;
#[cfg(test)]
mod tests;

pub use self::label::{ABSENT, AlternativeLabel, IntegerWidth, REST, ValueCategory};
pub use self::node::{NodeContent, NodeMember, TreeNode};
pub use self::shape::{
    Alternative, MAX_DEPTH, MAX_WIDTH, ShapeMember, TreeContent, TreeShape, aligned, has_same_members,
};
