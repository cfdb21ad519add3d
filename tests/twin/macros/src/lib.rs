//! `simple_mark!` that prints: it evaluates each argument and passes it to `simple-markers-twin`.
//!
//! The syntax is parsed by the modules of the real macro.

#[allow(dead_code, reason = "the twin ignores widths and spans")]
#[path = "../../../../markers/macros/src/argument.rs"]
mod argument;
#[path = "../../../../markers/macros/src/errors.rs"]
mod errors;
#[allow(dead_code, reason = "the twin ignores the format")]
#[path = "../../../../markers/macros/src/format.rs"]
mod format;
#[path = "../../../../markers/macros/src/member.rs"]
mod member;
#[allow(dead_code, reason = "the twin ignores the options, widths and spans")]
#[path = "../../../../markers/macros/src/place.rs"]
mod place;
#[allow(dead_code, reason = "the twin ignores the format")]
#[path = "../../../../markers/macros/src/rust_format.rs"]
mod rust_format;
#[allow(dead_code, reason = "the twin ignores the options, widths and spans")]
#[path = "../../../../markers/macros/src/syntax.rs"]
mod syntax;

/// The real macro has its targets here. The twin has none.
mod target {
    pub(crate) struct Target;

    impl Target {
        #[allow(clippy::unnecessary_wraps, reason = "the signature of the real one")]
        pub(crate) fn from_name(_: &proc_macro2::Ident) -> syn::Result<Option<Self>> {
            Ok(None)
        }
    }
}

use argument::Argument;
use proc_macro2::Span;
use quote::{format_ident, quote_spanned};
use syntax::Invocation;

/// Expands one marker: `marker!($crate twin NAME, "FORMAT", ...)`.
#[doc(hidden)]
#[proc_macro]
pub fn marker(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand(input.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(input: proc_macro2::TokenStream) -> syn::Result<proc_macro2::TokenStream> {
    let Invocation { krate, marker, .. } = syn::parse2(input)?;
    let span = Span::mixed_site();
    let arguments = marker.arguments.iter().enumerate().map(|(index, argument)| match argument {
        Argument::Place(place) | Argument::KeptPlace { place, .. } => {
            let expression = &place.expression;
            match place.is_address {
                true => quote_spanned! { span=> #krate::address(&raw const (#expression)) },
                false => quote_spanned! { span=> #krate::value(&raw const (#expression)) },
            }
        }
        Argument::KeptValue { .. } => {
            let kept = format_ident!("kept{index}", span = span);
            quote_spanned! { span=> #krate::value(&raw const #kept) }
        }
    });
    let name = &marker.name;
    // `unsafe` allows places behind raw pointers, in unions and in mutable statics.
    let pass = quote_spanned! { span=>
        #[allow(unused_unsafe, unused_parens, clippy::all)]
        unsafe { #krate::pass(#name, ::core::file!(), ::core::line!(), &[#(#arguments),*]) }
    };
    let kept = marker.arguments.iter().enumerate().rev();
    Ok(kept.fold(quote_spanned! { span=> { #pass } }, |inner, (index, argument)| match argument {
        Argument::KeptValue { value, .. } => {
            let kept = format_ident!("kept{index}", span = span);
            quote_spanned! { span=> match #value { #kept => { #inner } } }
        }
        Argument::Place(_) | Argument::KeptPlace { .. } => inner,
    }))
}
