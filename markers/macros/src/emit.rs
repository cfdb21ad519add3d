//! The expansion of a marker: its checks, its declaration and its site.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use simple_markers_record::site;

use crate::argument::Argument;
use crate::check;
use crate::ghost;
use crate::operand::Operand;
use crate::pairing::Pair;
use crate::record::{self, SiteRecord};
use crate::syntax::{Anchor, Invocation, Marker};
use crate::target::Target;

/// The expansion of a marker: a block of type `()`; of a ghost, statements.
pub(crate) fn marker(invocation: &Invocation, pairs: &[Pair<'_>]) -> syn::Result<TokenStream> {
    let Invocation { krate, target, marker } = invocation;
    if marker.is_ghost {
        return Ok(ghost::ghost(krate, target.is_some(), marker, pairs));
    }
    let checks = check_places(krate, pairs);
    let body = match *target {
        Some(target) => {
            let declaration = declaration(krate, marker);
            let site = site(krate, target, marker, pairs)?;
            let site = bind_values(krate, pairs, site);
            quote_spanned! { Span::mixed_site()=> #declaration #site }
        }
        None => {
            let reads: TokenStream = pairs.iter().map(check::read).collect();
            let values = bind_values(krate, pairs, TokenStream::new());
            let words = marker.format.check();
            quote_spanned! { Span::mixed_site()=> if false { #words #reads #values } }
        }
    };
    Ok(quote_spanned! { Span::mixed_site()=> { #checks #body } })
}

/// The checks of places, compiled and never executed.
fn check_places(krate: &TokenTree, pairs: &[Pair<'_>]) -> TokenStream {
    let places = check::places(krate, pairs);
    if places.is_empty() {
        return places;
    }
    let readable: TokenStream = pairs.iter().map(check::safely_readable).collect();
    // `unsafe` allows places behind raw pointers, in unions and in mutable statics; nothing reads
    // them here. `loop` ends the borrows here. Otherwise an `async` block would hold them across
    // its next `await`, and would not be `Send` if the borrowed value is not. It also allows a
    // place that is mutably borrowed.
    quote_spanned! { Span::mixed_site()=> if false { #readable unsafe { #places } loop {} } }
}

/// `inner`, with every kept value evaluated, checked and bound to a name first, in the order of the
/// arguments.
fn bind_values(krate: &TokenTree, pairs: &[Pair<'_>], inner: TokenStream) -> TokenStream {
    let values = pairs.iter().enumerate().rev().filter_map(|(index, pair)| match pair.argument {
        Argument::KeptValue { value, .. } => Some((index, pair, value)),
        Argument::Place(_) | Argument::KeptPlace { .. } => None,
    });
    values.fold(inner, |inner, (index, pair, value)| {
        let binding = binding(krate, index, pair.argument);
        let check = check::value(krate, pair, &binding);
        quote_spanned! { Span::mixed_site()=> match #value { #binding => { if false { #check } #inner } } }
    })
}

/// The name that the kept value of argument number `index` is bound to.
fn binding(krate: &TokenTree, index: usize, argument: &Argument) -> Ident {
    format_ident!("kept{index}", span = krate.span().located_at(argument.span()))
}

/// The record of `__simple_marker.1`. It is at module level, so it exists even if every copy of the
/// code is removed.
fn declaration(krate: &TokenTree, marker: &Marker) -> TokenStream {
    let in_template = marker.arguments.iter().any(Argument::is_kept) || marker.format.has_values();
    let items = record::declaration(krate, marker, in_template);
    // The block hides the module from the user's arguments, which may name a `declaration` of their
    // own.
    quote_spanned! { Span::mixed_site()=> { mod declaration { #items } } }
}

/// The record of `.debug.simple_marker.2`, where the code is.
fn site(krate: &TokenTree, target: Target, marker: &Marker, pairs: &[Pair<'_>]) -> syn::Result<TokenStream> {
    let Operands { entries, operands } = operands(krate, target, pairs)?;
    let anchored = if marker.anchor.is_some() { site::ANCHORED } else { 0 };
    let has_operands = if operands.is_empty() { 0 } else { site::HAS_OPERANDS };
    let code = match marker.anchor {
        None => "",
        // What Linux 7.2 rewrites: `nopw %cs:0(%rax,%rax,1)`, in its one form with ten bytes.
        Some(Anchor::Fast) if target == Target::X86_64 => " nop\n.byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0",
        Some(Anchor::Plain | Anchor::Fast) => " nop",
    };
    let site = SiteRecord { target, flags: anchored | has_operands, entries: &entries, switch: None };
    let template = site.template(krate, code, marker);
    // A tool that stops here reads the arguments from memory, so pending stores must be done.
    let memory = if pairs.is_empty() {
        quote! { nomem }
    } else {
        quote! { readonly }
    };
    // A template with operands cannot be raw. A raw one uses AT&T syntax on x86, because LLVM
    // removes `$` from Intel syntax.
    let is_raw = operands.is_empty() && !marker.format.has_values();
    let syntax = match (is_raw, target.is_x86()) {
        (true, true) => quote! { , raw, att_syntax },
        (true, false) => quote! { , raw },
        (false, _) => TokenStream::new(),
    };
    let words = marker.format.operands();
    Ok(quote_spanned! { Span::mixed_site()=>
        // SAFETY: the template has only assembler directives and at most two instructions, which do
        // nothing. None changes any state.
        unsafe {
            #krate::__private::asm!(
                #template,
                #(#operands,)*
                #words
                options(#memory, nostack, preserves_flags #syntax)
            );
        }
    })
}

/// The kept arguments of a marker, for the assembly.
struct Operands {
    /// The operands string: one entry for each argument; empty if no argument is kept.
    entries: String,
    /// `in(class) value`, one for each kept argument.
    operands: Vec<TokenStream>,
}

fn operands(krate: &TokenTree, target: Target, pairs: &[Pair<'_>]) -> syn::Result<Operands> {
    let mut entries = Vec::new();
    let mut operands = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let argument = pair.argument;
        let expression = match argument {
            Argument::Place(_) => {
                entries.push("-".to_owned());
                continue;
            }
            Argument::KeptPlace { place, .. } => place.expression.to_token_stream(),
            Argument::KeptValue { .. } => {
                let binding = binding(krate, index, argument);
                quote_spanned! { Span::mixed_site()=> #binding }
            }
        };
        let operand = Operand::new(target, pair, operands.len())?;
        operands.push(operand.tokens(krate, argument.span(), &expression));
        entries.push(operand.entry);
    }
    let entries = if operands.is_empty() { String::new() } else { entries.join(" ") };
    Ok(Operands { entries, operands })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairing::pair;

    /// The entry and the operand of a marker's only argument, without spaces.
    fn operand(marker: &TokenStream) -> String {
        let invocation: Invocation = syn::parse2(quote! { crate x86_64 a:b, #marker }).expect("a marker");
        let pairs = pair(&invocation.marker).expect("pairs");
        let Operands { entries, operands } = operands(&invocation.krate, Target::X86_64, &pairs).expect("operands");
        format!("{entries} {}", quote! { #(#operands)* }.to_string().replace(' ', ""))
    }

    #[test]
    fn only_p_keeps_the_address_of_a_place() {
        assert_eq!(operand(&quote! { "%p", keep &x }), "8@{0:r} in(reg)&rawconstxas*const()");
        assert_eq!(operand(&quote! { "%p", keep x }), "8@{0:r} in(reg)&rawconst*xas*const()");
        for argument in [quote! { keep x }, quote! { keep &x }] {
            assert_eq!(operand(&quote! { "%s", #argument }), "8@{0:r} in(reg)&rawconst*xas*const()");
            assert_eq!(operand(&quote! { "%lu", #argument }), "8@{0:r} in(reg)xascrate::__private::primitive::u64");
        }
    }
}
