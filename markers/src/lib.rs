//! Static probe points that cost no instruction.
//!
//! A marker names a place in the code and the variables that matter there:
//!
//! ```
//! use simple_markers::simple_mark;
//!
//! struct Queue { depth: u32 }
//!
//! fn dispatch(queue: &Queue, tag: u64) {
//!     simple_mark!(queue:dispatch, "request %lu, %u waiting", tag, queue.depth);
//!     // ...
//! }
//! # dispatch(&Queue { depth: 1 }, 2);
//! ```
//!
//! The marker writes its name, file, line, format and arguments into a section that is never
//! loaded, with the address of the next instruction. Nothing is executed, not even in a debug
//! build. The command `smark` (crate `simple-markers-cli`) lists the markers of a built program,
//! and says where each one is and which of its variables can be read.
//!
//! See [`simple_mark!`] for the syntax, for what an argument may be, and for what a marker costs.
//!
//! # Where markers are emitted
//!
//! On ELF targets of x86, x86-64, AArch64 and RISC-V. Elsewhere, under Miri, with the feature `off`
//! and with `RUSTFLAGS="--cfg simple_marker_off"`, markers are still checked and nothing is
//! emitted.
//!
//! # Features
//!
//! - `alloc` (on by default): `%s` and `%p` accept `String`, `Vec<u8>`, `Box`, `Rc`, `Arc`, `Cow`
//!   and `CString`. Turn it off in a `no_std` program without an allocator.
//! - `off`: checks markers and emits nothing.
//! - `recorder`: the program records its probes while they are on (`docs/probes.md`, Linux on x86-64
//!   and AArch64). On other targets arming them is an error.
//!
//! # C and C++
//!
//! `simple_marker.h` has the same markers for C; [`include_dir`] tells a build script where it is.
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;

mod bits;
mod check;
pub mod conversion;
mod probe;
mod span;
mod target;
mod words;

/// The folder of `simple_marker.h`, for a build script that compiles C with markers.
///
/// With this crate among the `[build-dependencies]`:
///
/// ```
/// println!("cargo::rerun-if-changed={}", simple_markers::include_dir());
/// // cc::Build::new().include(simple_markers::include_dir()).file("src/queue.c").compile("queue");
/// assert!(std::path::Path::new(simple_markers::include_dir()).join("simple_marker.h").exists());
/// ```
#[must_use]
pub const fn include_dir() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/include")
}

pub use span::{SpanEnd, SpanGuard};

/// Puts a [span](simple_span!) around the body of a function: `#[span]`, `#[span(NAME)]` or
/// `#[span(NAME, "FORMAT", ARGUMENT..)]`.
///
/// ```
/// use simple_markers::span;
///
/// #[span(db:query, "%s, %lu rows", text, rows)]
/// async fn query(text: &str, rows: u64) -> u64 {
///     // ...
///     # let _ = text;
///     rows
/// }
///
/// #[span]
/// fn flush() {}
/// # flush();
/// ```
///
/// Arguments are the parameters of the function, and `self`. Without a name it is called
/// `CRATE:FUNCTION`. The span of an `async fn` is from the first poll of its future to its end, or until
/// the future is dropped. The program must know this crate under the name `simple_markers`.
pub use simple_markers_macros::span;

/// Makes ghosts of the markers in a function, an `impl`, a trait or an inline module: of each
/// [`simple_mark!`] without `keep` and `options(anchor)`, as if it had `options(ghost)`.
///
/// ```
/// use simple_markers::{ghosts, simple_mark};
///
/// #[ghosts]
/// fn sum(values: &[u32]) -> u32 {
///     let mut sum = 0;
///     for &value in values {
///         match value {
///             0 => simple_mark!(sum:zero, "nothing to add to %u", sum),
///             _ => {
///                 sum += value;
///                 simple_mark!(sum:add, "%u, now %u", value, sum);
///             }
///         }
///     }
///     sum
/// }
/// # assert_eq!(sum(&[1, 0, 2]), 3);
/// ```
///
/// It also puts a variable of type `()` for each ghost in front of the first statement of its block. With
/// it tools find the ghost if nothing follows it in the block. A ghost may be an expression of type `()`,
/// which becomes a block.
///
/// Markers in the arguments of other macros stay what they are, because the attribute cannot know what
/// those macros make of them.
pub use simple_markers_macros::ghosts;

#[cfg(feature = "recorder")]
pub use simple_markers_recorder::{
    Argument, Arguments, ArmError, HandleError, Hit, Probe, Probes, Value, Values, WholeValue, arm, arm_keeping,
    disarm, handle, probes, unhandle,
};

/// Names that the expansions of [`simple_mark!`] and [`simple_probe!`] use. Not an interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::bits::{bits32, bits64};
    pub use crate::check::{OtherKind, OtherPlace, named, value_place};
    pub use crate::check::{address, check_path, check_template_path, pointer, shown, star, text};
    pub use crate::check::{address_word, pointer_word, star_word, text_words, word};
    pub use crate::check::{kept_address, kept_pointer, kept_scalar, kept_star, kept_text};
    pub use crate::probe::Probe;
    pub use crate::span::{SpanEnd, SpanGuard, cold, next as next_span};
    pub use crate::words::{Part, as_text, joined, length};
    pub use core::arch::{asm, global_asm};
    pub use core::ptr::read;
    pub use core::{column, concat, file, line, primitive};
    pub use simple_markers_macros::marker;
    #[cfg(not(recorder))]
    pub use simple_markers_macros::probe;
    #[cfg(recorder)]
    pub use simple_markers_macros::recorded_probe as probe;

    #[cfg(recorder)]
    unsafe extern "C" {
        /// The recorder, which is called as probes do it (`simple_markers_recorder`).
        pub fn simple_marker_record();
    }
}
