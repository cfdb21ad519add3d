//! Why the texts of an event cannot be printed.

/// Why the texts of an event cannot be printed. Offsets are in bytes in [`Format::print`](crate::format::Format::print).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrintError {
    /// The format has no `print fmt`.
    #[error("the format has no print fmt")]
    Missing,
    /// A character starts nothing in C, or a text does not end.
    #[error("unexpected character at offset {offset:#x} of the print fmt")]
    Character {
        /// Where it is.
        offset: usize,
    },
    /// Something else was expected.
    #[error("expected {wanted} at offset {offset:#x} of the print fmt")]
    Expected {
        /// Where it was expected.
        offset: usize,
        /// What was expected.
        wanted: &'static str,
    },
    /// A name is no enumerator that is known.
    #[error("unknown name `{name}` at offset {offset:#x} of the print fmt")]
    UnknownName {
        /// Where it is.
        offset: usize,
        /// The name.
        name: String,
    },
    /// There is no such field, or it is not dynamic where it has to be.
    #[error("unsuitable field `{name}` at offset {offset:#x} of the print fmt")]
    UnknownField {
        /// Where it is.
        offset: usize,
        /// The name.
        name: String,
    },
    /// A type is not known, or is no number.
    #[error("unknown type `{name}` at offset {offset:#x} of the print fmt")]
    UnknownType {
        /// Where it is.
        offset: usize,
        /// The type.
        name: String,
    },
    /// A function of the kernel is not known.
    #[error("unknown function `{name}` at offset {offset:#x} of the print fmt")]
    UnknownFunction {
        /// Where it is.
        offset: usize,
        /// The name.
        name: String,
    },
    /// A conversion is malformed, or prints the memory of the kernel.
    #[error("unknown conversion `{text}` in the print fmt")]
    Conversion {
        /// Where the format string is.
        offset: usize,
        /// The conversion.
        text: String,
    },
    /// Values and names of flags have to be known.
    #[error("a value that is not constant at offset {offset:#x} of the print fmt")]
    NotConstant {
        /// Where it is.
        offset: usize,
    },
    /// What is printed is in the memory of the kernel, and not in the record.
    #[error("a pointer out of the record at offset {offset:#x} of the print fmt")]
    NotInRecord {
        /// Where it is.
        offset: usize,
    },
    /// The address of a part of the record would be printed.
    #[error("the address of the record at offset {offset:#x} of the print fmt")]
    Address {
        /// Where it is.
        offset: usize,
    },
    /// An operation does not fit the types of its operands.
    #[error("operands of the wrong types at offset {offset:#x} of the print fmt")]
    Operand {
        /// Where it is.
        offset: usize,
    },
    /// A conversion has no argument.
    #[error("the conversion `{text}` has no argument")]
    TooFew {
        /// Where the text ends.
        offset: usize,
        /// The conversion.
        text: String,
    },
    /// It is nested too deeply, or has too many parts.
    #[error("too large an expression at offset {offset:#x} of the print fmt")]
    TooLarge {
        /// Where it is.
        offset: usize,
    },
}
