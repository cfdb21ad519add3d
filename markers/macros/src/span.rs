//! The expansion of a span: a probe where it begins, one where its guard is dropped, and the guard.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote_spanned;
use simple_markers_record::span;
use syn::{LitStr, parse_quote_spanned};

use crate::argument::Argument;
use crate::format::Format;
use crate::pairing::{self, Pair};
use crate::probe::{self, ArmedProbe, Receiver};
use crate::syntax::{Branch, Marker, ProbeInvocation};
use crate::target::Target;

/// The expansion of a span: an expression whose value is the guard.
pub(crate) fn span(invocation: ProbeInvocation, receiver: Receiver) -> syn::Result<TokenStream> {
    let ProbeInvocation { krate, target, marker, .. } = invocation;
    // Errors count the arguments that are written.
    pairing::pair(&marker)?;
    let end = Marker {
        name: span::end(&marker.name),
        format: Format::new(LitStr::new(span::FORMAT, Span::mixed_site()))?,
        arguments: vec![id()],
        anchor: None,
        is_ghost: false,
        refusal: None,
    };
    let end = ProbeInvocation { krate, target, is_span: false, marker: end };
    let ended = probe::probe(&end, &pairing::pair(&end.marker)?, receiver)?;
    let ProbeInvocation { krate, .. } = end;
    let mut begin = Marker {
        name: span::begin(&marker.name),
        format: marker.format.behind(&format!("{} ", span::FORMAT)),
        ..marker
    };
    begin.arguments.insert(0, id());
    let pairs = pairing::pair(&begin)?;
    pairing::check_probe(&pairs)?;
    let begun = match target.filter(|(target, _)| target.address_size() == 8) {
        Some((target, branch)) => begun(&krate, target, branch, &begin, &pairs, receiver)?,
        None => {
            let checked = probe::checked(&krate, &begin, &pairs);
            quote_spanned! { Span::mixed_site()=> let simple_span_id = 0; if false { #checked } }
        }
    };
    Ok(quote_spanned! { Span::mixed_site()=>
        {
            struct SimpleSpanEnd;
            impl #krate::__private::SpanEnd for SimpleSpanEnd {
                #[inline(always)]
                fn end(simple_span_id: #krate::__private::primitive::u64) { #ended }
            }
            #begun
            #krate::__private::SpanGuard::<SimpleSpanEnd>::new(simple_span_id)
        }
    })
}

/// The argument that both probes have.
fn id() -> Argument {
    let span = Span::mixed_site();
    Argument::KeptValue {
        name: span::ID.to_owned(),
        span,
        width: None,
        value: Box::new(parse_quote_spanned! { span=> simple_span_id }),
    }
}

/// Statements that bind `simple_span_id`: 0 while the begin is off. The switch is loaded to where
/// the id is wanted, so that no instruction makes the 0.
fn begun(
    krate: &TokenTree,
    target: Target,
    branch: Branch,
    begin: &Marker,
    pairs: &[Pair<'_>],
    receiver: Receiver,
) -> syn::Result<TokenStream> {
    let ArmedProbe { items, path, armed } = ArmedProbe::new(krate, target, begin, pairs, receiver)?;
    let load = probe::load(target);
    let armed = quote_spanned! { Span::mixed_site()=>
        simple_span_id = #krate::__private::next_span();
        #armed
    };
    let switched = match branch {
        Branch::Goto => quote_spanned! { Span::mixed_site()=>
            // SAFETY: the assembly compares a register and jumps.
            unsafe {
                #krate::__private::asm!(
                    "jrcxz 2f",
                    "jmp {}",
                    "2:",
                    label { #armed },
                    in("rcx") simple_span_id,
                    options(nomem, nostack, preserves_flags)
                );
            }
        },
        Branch::Load => quote_spanned! { Span::mixed_site()=>
            if simple_span_id != 0 {
                #krate::__private::cold();
                #armed
            }
        },
    };
    Ok(quote_spanned! { Span::mixed_site()=>
        #items
        let mut simple_span_id: #krate::__private::primitive::u64;
        // SAFETY: the assembly reads a word of a static. It writes the upper half of the register
        // too.
        unsafe {
            #krate::__private::asm!(
                #load, out(reg) simple_span_id, sym #path, options(nomem, nostack, preserves_flags)
            );
        }
        #switched
    })
}
