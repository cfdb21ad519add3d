//! The procedural macro behind `simple_markers::simple_mark!`.
//!
//! `marker!` gets the path of the `simple-markers` crate, the target, and the tokens that the user
//! wrote. A marker passes through the modules in this order: `syntax` parses it and `place` its
//! arguments, `pairing` assigns arguments to conversions, `check` writes the type checks, and
//! `emit` the assembly. `target` and `operand` have what differs between targets, and `path` checks
//! the path of the source file.

mod check;
mod emit;
mod operand;
mod pairing;
mod path;
mod place;
mod syntax;
mod target;

/// Expands one marker: `marker!($crate TARGET NAME, "FORMAT", ...)`. Called by `simple_mark!` only.
#[doc(hidden)]
#[proc_macro]
pub fn marker(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(input: proc_macro2::TokenStream) -> syn::Result<proc_macro2::TokenStream> {
    let invocation: syntax::Invocation = syn::parse2(input)?;
    let pairs = pairing::pair(&invocation.marker)?;
    emit::marker(&invocation, &pairs)
}
