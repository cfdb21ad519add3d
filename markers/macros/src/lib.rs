//! The procedural macros behind `simple_markers::simple_mark!` and `simple_probe!`.
//!
//! `marker!` gets the path of the `simple-markers` crate, the target, and the tokens that the user
//! wrote. A marker passes through the modules in this order: `syntax` parses it and `place` its
//! arguments, `format` reads its format (`rust_format` orders the arguments of one in Rust's notation),
//! `pairing` assigns arguments to conversions, `check` writes the type checks, `record` the records,
//! and `emit` the expansion. For a ghost, `ghost` does that, for a probe `probe`, and for a span `span`. `target` and
//! `operand` have what differs between targets, and `path` checks the path of the source file.
//!
//! `attribute` is apart from them: it only writes the options of a marker that `marker!` then reads.

mod argument;
mod attribute;
mod check;
mod emit;
mod errors;
mod format;
mod ghost;
mod member;
mod operand;
mod pairing;
mod path;
mod place;
mod probe;
mod record;
mod rust_format;
mod span;
mod syntax;
mod target;

use probe::Receiver;

/// Expands one marker: `marker!($crate TARGET NAME, "FORMAT", ...)`. Called by `simple_mark!` only.
#[doc(hidden)]
#[proc_macro]
pub fn marker(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Expands one probe: `probe!($crate TARGET BRANCH NAME, "FORMAT", ...)`. Called by `simple_probe!`
/// only. With `@span` before the name it is a span, from `simple_span!`.
#[doc(hidden)]
#[proc_macro]
pub fn probe(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand_probe(input.into(), Receiver::Tool).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// As [`probe`], for a program with the recorder.
#[doc(hidden)]
#[proc_macro]
pub fn recorded_probe(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand_probe(input.into(), Receiver::Recorder).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes ghosts of the markers in an item (`simple_markers::ghosts` has the documentation).
#[proc_macro_attribute]
pub fn ghosts(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    attribute::ghosts(arguments.into(), item.into()).into()
}

/// Puts a span around the body of a function (`simple_markers::span` has the documentation).
#[proc_macro_attribute]
pub fn span(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    attribute::span(arguments.into(), item.into()).into()
}

fn expand_probe(input: proc_macro2::TokenStream, receiver: Receiver) -> syn::Result<proc_macro2::TokenStream> {
    let invocation: syntax::ProbeInvocation = syn::parse2(input)?;
    if let Some(refusal) = invocation.marker.refusal {
        return Ok(refusal);
    }
    if invocation.is_span {
        return span::span(invocation, receiver);
    }
    let pairs = pairing::pair(&invocation.marker)?;
    pairing::check_probe(&pairs)?;
    probe::probe(&invocation, &pairs, receiver)
}

fn expand(input: proc_macro2::TokenStream) -> syn::Result<proc_macro2::TokenStream> {
    let invocation: syntax::Invocation = syn::parse2(input)?;
    if let Some(refusal) = invocation.marker.refusal {
        return Ok(refusal);
    }
    let pairs = pairing::pair(&invocation.marker)?;
    pairing::check_kept(&pairs)?;
    emit::marker(&invocation, &pairs)
}
