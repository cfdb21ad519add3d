//! The expansion of a ghost: a marker that is a fact of the debug information alone.
//!
//! A ghost is a variable of type `()` in the block that contains it. The compiler removes it and keeps
//! its scope, which begins where the ghost stands.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{format_ident, quote_spanned};
use simple_markers_record::ghost::Hash;

use crate::argument::Argument;
use crate::check;
use crate::pairing::Pair;
use crate::record;
use crate::syntax::Marker;

/// The statement of a ghost. `is_emitted` says whether there is more than the checks.
pub(crate) fn ghost(krate: &TokenTree, is_emitted: bool, marker: &Marker, pairs: &[Pair<'_>]) -> TokenStream {
    let checks = check::places(krate, pairs);
    // The compiler checks the types of what follows the `break`, and removes it before it looks at
    // anything else. Code in `if false` lives longer, and there a reference to a place changes how the
    // place is optimised.
    let checks = (!checks.is_empty()).then(|| {
        quote_spanned! { Span::mixed_site()=>
            #[allow(unreachable_code)]
            { 'ghost: { break 'ghost; unsafe { #checks } } }
        }
    });
    if !is_emitted {
        return quote_spanned! { Span::mixed_site()=> #checks {} };
    }
    let items = record::declaration(krate, marker, false);
    let variable = format_ident!("{}", hash(marker).variable().as_str(), span = Span::mixed_site());
    // The block hides the module from other code, and its name hides nothing that an argument may name. In a
    // constant the module takes several times as long to compile.
    quote_spanned! { Span::mixed_site()=>
        let #variable = { mod #variable { #items } #checks };
    }
}

/// What identifies the ghost within its line.
pub(crate) fn hash(marker: &Marker) -> Hash {
    let args: Vec<_> = marker.arguments.iter().map(Argument::text).collect();
    let format = marker.format.declared();
    Hash::new(marker.name.as_bytes(), format.as_bytes(), args.join(", ").as_bytes())
}
