//! The type of an argument, as plain data that suffices to read and print a value.
//!
//! A type is a tree that is cut off behind pointers at a fixed depth. Types may refer to each other
//! in cycles; a tree may not.

mod decimal;
mod float;
mod limits;
mod names;
mod object;
mod printf;
mod quote;
mod render;
mod shape;
mod wrappers;

pub use limits::Limits;
pub use names::Names;
pub use object::{Object, ReadContext};
pub use printf::printf;
pub use render::{RenderedText, render};
pub use shape::{Language, Member, OpaqueReason, Sequence, SequenceKind, Shape, Type, Variant, Variants};
pub(crate) use wrappers::{names_text, pointee, short_name, transparent};
