//! What a marker's expansion calls in code that is never executed: each argument's type against its conversion.
//!
//! The table is that of `simple_markers_record::conversion`; here it is in traits, so that the compiler checks it. How a mismatch
//! becomes one readable message: a conversion `L` and the argument's type `T` together determine [`Shown::As`], the conversion
//! that would have been right, and `As` must be `L` itself ([`Fits`]). Where it is not, the message prints `As`: its types are named
//! as the conversions are written.

mod kept;
mod pointer;
mod shown;
mod text;

pub use kept::{kept_address, kept_pointer, kept_scalar, kept_star, kept_text};
pub use pointer::{address, pointer};
pub use shown::{shown, star};
pub use text::text;

/// Refuses a source path that would not reach the section byte for byte: it stands in a string of the assembler, where these
/// characters have a meaning, and is not known before the assembly is written.
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

/// Refuses a source path with braces or `$`, for a marker with kept arguments: its path stands in a template where braces are the
/// placeholders of registers, and LLVM takes `$` out of one in Intel syntax.
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
