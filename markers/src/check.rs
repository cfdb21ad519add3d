//! The functions that a marker calls in code that never runs, to check each argument's type against
//! its conversion. A probe calls functions that also return the value.
//!
//! The table is that of `simple_markers_record::conversion`, written as traits so that the compiler
//! checks it. A mismatch becomes one readable message: the conversion `L` and the argument's type
//! `T` determine [`Shown::As`], the conversion that would be right. `As` must be `L` itself
//! ([`Fits`]). If it is not, the message prints `As`, a type that is named like its conversion.

mod kept;
mod named;
mod pointer;
mod shown;
mod text;
mod whole;

pub use kept::{kept_address, kept_pointer, kept_scalar, kept_star, kept_text};
pub use named::{OtherKind, named};
pub use pointer::{address, address_word, pointer, pointer_word};
pub use shown::{shown, star, star_word, word};
pub use text::{text, text_words};
pub use whole::{OtherPlace, value_place};

/// Refuses a source path that would not reach the section unchanged. The path is written into a
/// string of the assembler, where these characters have a meaning, and it is not known early enough
/// to be escaped.
pub const fn check_path(path: &str) {
    let mut rest = path.as_bytes();
    while let [byte, tail @ ..] = rest {
        assert!(
            !matches!(byte, b'"' | b'\\' | 0..0x20 | 0x7f),
            "simple_mark!: the path of this source file has a quote, a backslash or a control character: rename it, or remap \
             it with `--remap-path-prefix`"
        );
        rest = tail;
    }
}

/// Refuses a source path with braces or `$`, for a marker with kept arguments. The path is part of
/// a template in which braces are placeholders for registers, and LLVM removes `$` from a template
/// in Intel syntax.
pub const fn check_template_path(path: &str) {
    let mut rest = path.as_bytes();
    while let [byte, tail @ ..] = rest {
        assert!(
            !matches!(byte, b'{' | b'}' | b'$'),
            "simple_mark!: the path of this source file has a brace or a `$`, which a marker with `keep` cannot record: rename it, \
             remap it with `--remap-path-prefix`, or mark places without `keep`"
        );
        rest = tail;
    }
}
