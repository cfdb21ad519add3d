//! Classes of arguments: the form of the location, and the form of the place in the source.

use simple_markers_resolver::location::{Binary, Expr, Location, Node, Source};
use simple_markers_resolver::resolve::Argument;

/// The form of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "`as_str` says it")]
pub enum Form {
    Kept,
    Constant,
    Register,
    /// Memory at the stack pointer and an offset.
    Stack,
    /// Memory at another register and an offset.
    Base,
    /// Memory at a link-time address, or thread-local.
    Static,
    /// Memory at an address that is computed in another way, or read from memory.
    Indirect,
    /// A value that is computed.
    Computed,
    Pieces,
    None,
}

impl Form {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 10] = [
        Self::Register,
        Self::Constant,
        Self::Stack,
        Self::Base,
        Self::Static,
        Self::Indirect,
        Self::Computed,
        Self::Pieces,
        Self::Kept,
        Self::None,
    ];

    /// The word in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Constant => "constant",
            Self::Register => "register",
            Self::Stack => "stack slot",
            Self::Base => "memory at register",
            Self::Static => "static",
            Self::Indirect => "memory, computed",
            Self::Computed => "computed",
            Self::Pieces => "pieces",
            Self::None => "none",
        }
    }

    /// The form of an argument's location.
    #[must_use]
    pub fn of(argument: &Argument) -> Self {
        match &argument.location {
            _ if argument.is_kept => Self::Kept,
            None => Self::None,
            Some(location) => Self::of_location(location),
        }
    }

    fn of_location(location: &Location) -> Self {
        match &*location.pieces {
            [piece] => match &piece.source {
                Source::Register(_) => Self::Register,
                Source::Memory(address) => Self::of_memory(address),
                Source::Bytes(_) => Self::Constant,
                Source::Value(value) if matches!(value.node(), Node::Constant(_) | Node::Address(_)) => Self::Constant,
                Source::Value(_) => Self::Computed,
                Source::ImplicitPointer { .. } | Source::OptimizedOut => Self::None,
            },
            pieces if pieces.iter().all(|piece| matches!(piece.source, Source::Bytes(_))) => Self::Constant,
            _ => Self::Pieces,
        }
    }

    fn of_memory(address: &Expr) -> Self {
        let base = match address.node() {
            Node::Binary(Binary::Plus, base, offset) if matches!(offset.node(), Node::Constant(_)) => base,
            _ => address,
        };
        match base.node() {
            Node::Register(register, _) if register.0 == 7 => Self::Stack,
            Node::Register(..) => Self::Base,
            Node::Address(_) | Node::Constant(_) | Node::ThreadLocal(_) => Self::Static,
            _ => Self::Indirect,
        }
    }
}

/// What an argument is in the source, by its text.
#[must_use]
pub fn place(text: &str, name: &str) -> &'static str {
    let rest = text.trim_start_matches('(');
    match () {
        () if text == name => "variable",
        () if rest.starts_with('&') => "address",
        () if rest.starts_with('*') || text.contains("->") => "behind a pointer",
        () if text.contains('[') => "element",
        () => "member",
    }
}
