//! The procedural macro behind `simple_markers::simple_mark!`.
//!
//! `marker!` is given the path of the `simple-markers` crate, the target, and what the user wrote. In the order in which a marker
//! passes through: `syntax` reads it, `place` its arguments, `pairing` puts conversions and arguments together, `check` writes the
//! type checks, `emit` the assembly, of which `operand` knows what differs between targets and `path` what the file's path may have in it.

mod check;
mod emit;
mod operand;
mod pairing;
mod path;
mod place;
mod syntax;

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
