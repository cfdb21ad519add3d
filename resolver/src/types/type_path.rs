//! What a debugger has to be told to find a type.

/// The name of a type with the scopes around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypePath {
    /// The name: `struct request` in C, `shop::Request<int>` elsewhere.
    pub name: String,
    /// The language that the type is written in.
    pub notation: TypeNotation,
}

/// A language that types are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeNotation {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Rust.
    Rust,
}
