//! The type of an argument, as plain data: enough to read its bytes and to say them in full.
//!
//! A tree, cut off behind pointers at some depth: types refer to each other in circles, values that are shown do not
//! have to.

mod decimal;
mod float;
mod object;
mod printf;
mod quote;
mod render;
mod wrappers;

use std::sync::Arc;

pub use object::{Object, ReadContext};
pub use printf::printf;
pub use render::{Limits, Rendered, render};
pub(crate) use wrappers::{names_text, pointee, short_name, transparent};

/// How the language of a type writes its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// C, and what is written like it.
    #[default]
    C,
    /// Rust.
    Rust,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// The name as the language writes it (`unsigned int`, `&str`, `struct scsi_cmnd *`); for what has none, what it is
    /// (`struct {..}`).
    pub name: Arc<str>,
    /// Bytes; `None` where the debug information does not say (a declaration only, an array without a length).
    pub size: Option<u64>,
    /// What it is made of.
    pub shape: Shape,
}

/// What a type is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Nothing (`void`, `()`, `!`).
    Void,
    /// An integer.
    Integer {
        /// Whether it has a sign.
        signed: bool,
    },
    /// A truth value.
    Boolean,
    /// A character: of C where it has one byte, else a Unicode scalar value or UTF-16 code unit.
    Character {
        /// Whether it has a sign (C's `char` where it does).
        signed: bool,
    },
    /// A floating-point number.
    Float,
    /// A pointer or reference.
    Pointer {
        /// What it points at; `None` where the tree is cut off.
        to: Option<Arc<Type>>,
    },
    /// The address of code.
    Function,
    /// A structure or class; a tuple's members are called `0`, `1` or `__0`, `__1`.
    Struct {
        /// In the order of the declaration.
        members: Arc<[Member]>,
    },
    /// A union.
    Union {
        /// In the order of the declaration.
        members: Arc<[Member]>,
    },
    /// A type of several variants, of which a discriminant says which one it is (DWARF 5, 5.7.10; Rust's `enum`).
    Variants(Arc<Variants>),
    /// C's `enum`, and Rust's without fields.
    Enumeration {
        /// Whether it has a sign.
        signed: bool,
        /// In the order of the declaration.
        enumerators: Arc<[(Arc<str>, i128)]>,
    },
    /// An array.
    Array {
        /// What it has several of.
        element: Arc<Type>,
        /// How many; `None` where the debug information does not say.
        count: Option<u64>,
        /// Bytes from one to the next.
        stride: Option<u64>,
    },
    /// Several of one type that stand elsewhere, with their number beside the pointer: Rust's `&[T]`, `&str`, `Vec`,
    /// `String`, `Rc<str>`.
    Sequence(Arc<Sequence>),
    /// Something that is not described, or of a form that we do not know: which one.
    Opaque(Arc<str>),
}

/// Several of one type that stand elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// What the elements are for.
    pub kind: SequenceKind,
    /// The pointer.
    pub data: Member,
    /// How many bytes behind where the pointer points the first element is: the counts of an `Rc` stand before it.
    pub offset: u64,
    /// How many elements there are.
    pub length: Member,
    /// What there are several of; `None` where the tree is cut off.
    pub element: Option<Arc<Type>>,
}

/// What the elements of a [`Sequence`] are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceKind {
    /// Bytes of text; UTF-8 in a `str`, anything in an `OsStr`.
    Text,
    /// Bytes of text, and the NUL at their end, which is counted.
    CText,
    /// What they are.
    Elements,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name; empty for an anonymous structure or union, of which the members are taken for those of the outer one.
    pub name: Arc<str>,
    /// Where it starts, in bits from the start of the structure: the bit at address `n` of weight 2^k is `8n + k` in a
    /// little-endian image.
    pub bit_offset: u64,
    /// Its bits where it is a bit-field.
    pub bit_size: Option<u64>,
    /// Its type.
    pub of: Arc<Type>,
}

/// Variants and what tells them apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Variants {
    /// The discriminant; `None` where there is only one variant.
    pub discriminant: Option<Member>,
    /// In the order of the declaration.
    pub variants: Vec<Variant>,
    /// The members that all have.
    pub common: Vec<Member>,
}

/// One variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The ranges, ends included, of the discriminant that mean this one, as its type has them; `None` for the one that
    /// is meant by every value that no other one names (the one that holds the niche).
    pub values: Option<Vec<(i128, i128)>>,
    /// Its name.
    pub name: Arc<str>,
    /// Its members: for Rust the one structure that has the variant's name.
    pub members: Vec<Member>,
}
