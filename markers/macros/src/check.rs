//! The type checks of a marker: calls that are compiled and never executed.
//!
//! A check takes `&raw const ARGUMENT`. To the compiler this is a shared use, and it also works for
//! a packed field and behind a raw pointer.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use simple_markers_record::buffer::value;
use syn::spanned::Spanned;

use crate::argument::Argument;
use crate::operand::promoted;
use crate::pairing::{FormatUse, Pair};
use crate::place::Place;

/// The checks of all places. The caller puts them into an `unsafe` block.
pub(crate) fn places(krate: &TokenTree, pairs: &[Pair<'_>]) -> TokenStream {
    let check = |pair: &Pair<'_>| match pair.argument {
        Argument::Place(place) | Argument::KeptPlace { place, .. } => Some(self::place(krate, pair, place)),
        Argument::KeptValue { .. } => None,
    };
    pairs.iter().filter_map(check).collect()
}

/// The check of a place, marked or kept. The caller puts it into an `unsafe` block, see
/// [`safely_readable`].
fn place(krate: &TokenTree, pair: &Pair<'_>, place: &Place) -> TokenStream {
    let (expression, span) = (&place.expression, place.span());
    if pair.is_named {
        return named(krate, pair, place);
    }
    let place = call(krate, pair, &quote_spanned! { span=> &raw const #expression });
    // A member is named in the format, so an error about it points there.
    let members = pair.members.iter().map(|path| {
        let span = path.first().map_or(span, Spanned::span);
        quote_spanned! { span=> let _ = &raw const (#expression) #(.#path)*; }
    });
    quote_spanned! { span=> #place #(#members)* }
}

/// The check of an enumeration or a number for `%d{}`. The cast compiles for no other type.
fn named(krate: &TokenTree, pair: &Pair<'_>, place: &Place) -> TokenStream {
    let span = krate.span().located_at(place.span());
    let mut krate = krate.clone();
    krate.set_span(span);
    let (expression, conversion) = (&place.expression, conversion(&krate, pair, span));
    let value = cast(&krate, pair, &quote_spanned! { place.span()=> &raw const #expression });
    quote_spanned! { span=>
        {
            use #krate::__private::OtherKind as _;
            #krate::__private::named::<#conversion, _>(&raw const #expression).kind().right();
            let _ = #value;
        }
    }
}

/// The value of an enumeration behind a pointer, as the conversion takes it. Reading it does not move
/// it.
pub(crate) fn cast(krate: &TokenTree, pair: &Pair<'_>, pointer: &TokenStream) -> TokenStream {
    let span = pair.argument.span();
    let width = match pair.argument.width() {
        Some(width) => quote_spanned! { span=> #width },
        None => {
            let promoted = Ident::new(promoted(pair.shown), span);
            quote_spanned! { span=> #krate::__private::primitive::#promoted }
        }
    };
    quote_spanned! { span=> #krate::__private::read(#pointer) as #width }
}

/// The check that a kept place can be read without `unsafe`; empty for a place that is not read.
pub(crate) fn safely_readable(pair: &Pair<'_>) -> TokenStream {
    match pair.argument {
        Argument::KeptPlace { place, .. } if !pair.shows_address() => {
            let expression = &place.expression;
            quote_spanned! { Span::mixed_site()=> let _ = #expression; }
        }
        _ => TokenStream::new(),
    }
}

/// A read of a kept place as an operand of the assembly would do it; empty for a place that is not
/// read. The borrow checker refuses the same places with it when nothing is emitted.
pub(crate) fn read(pair: &Pair<'_>) -> TokenStream {
    let Argument::KeptPlace { place, .. } = pair.argument else { return TokenStream::new() };
    let expression = &place.expression;
    match pair.shown {
        _ if pair.shows_address() || pair.is_named => TokenStream::new(),
        FormatUse::By(_, specifier) if matches!(specifier.letter(), 'p' | 's') => {
            quote_spanned! { Span::mixed_site()=> let _ = &raw const *#expression; }
        }
        _ => quote_spanned! { Span::mixed_site()=> let _kept = #expression; },
    }
}

/// The check of a kept value that is bound to `binding`.
pub(crate) fn value(krate: &TokenTree, pair: &Pair<'_>, binding: &Ident) -> TokenStream {
    call(krate, pair, &quote_spanned! { binding.span()=> &raw const #binding })
}

/// The value of a probe's argument with `{}`, behind the reference `binding`, as a word.
pub(crate) fn named_word(krate: &TokenTree, pair: &Pair<'_>, binding: &Ident) -> TokenStream {
    let span = krate.span().located_at(pair.argument.span());
    let mut krate = krate.clone();
    krate.set_span(span);
    let (conversion, value) = (conversion(&krate, pair, span), cast(&krate, pair, &quote_spanned! { span=> #binding }));
    quote_spanned! { Span::mixed_site()=>
        {
            use #krate::__private::OtherKind as _;
            #krate::__private::named::<#conversion, _>(#binding).kind().right();
            // SAFETY: a value of this type, behind a reference, has no destructor: the cast takes no other.
            let value = unsafe { #value };
            value as i64 as u64
        }
    }
}

/// The two words of a probe's whole value, whose place is behind the pointer `binding`.
pub(crate) fn whole_words(krate: &TokenTree, pair: &Pair<'_>, binding: &Ident) -> TokenStream {
    let span = krate.span().located_at(pair.argument.span());
    let mut krate = krate.clone();
    krate.set_span(span);
    let (in_place, behind) = (value::word(0, None), value::word(0, Some(0)));
    let (next, largest) = (value::word(0, Some(1)) - behind, u64::from(value::NO_SIZE));
    let words = quote_spanned! { span=> words::<#in_place, #behind, #next, #largest> };
    // The checks of members and of a place that only unsafe code may read are never executed.
    let read = match pair.argument {
        Argument::Place(place) | Argument::KeptPlace { place, .. } => {
            let (expression, of_place) = (&place.expression, place.span());
            let members = pair.members.iter().map(|path| {
                let span = path.first().map_or(of_place, Spanned::span);
                quote_spanned! { span=> let _ = &raw const (#expression) #(.#path)*; }
            });
            let members: TokenStream = members.collect();
            quote_spanned! { Span::mixed_site()=> if false { let _ = #expression; #members } }
        }
        Argument::KeptValue { .. } => TokenStream::new(),
    };
    quote_spanned! { Span::mixed_site()=>
        {
            #[allow(unused_imports)]
            use #krate::__private::OtherPlace as _;
            #read
            let place = #krate::__private::value_place(#binding);
            // SAFETY: the place can be read, as was checked, and has a value.
            unsafe { place.extent() }.#words()
        }
    }
}

/// The function that makes the value of a probe's argument a word, or two of text. It compiles if
/// the argument's conversion shows the target of its parameter.
pub(crate) fn word(krate: &TokenTree, pair: &Pair<'_>) -> TokenStream {
    let span = krate.span().located_at(pair.argument.span());
    let mut krate = krate.clone();
    krate.set_span(span);
    let FormatUse::By(_, specifier) = pair.shown else {
        return quote_spanned! { span=> #krate::__private::star_word };
    };
    match specifier.letter() {
        'p' if pair.argument.is_address() => quote_spanned! { span=> #krate::__private::address_word },
        'p' => quote_spanned! { span=> #krate::__private::pointer_word },
        's' => quote_spanned! { span=> #krate::__private::text_words },
        _ => {
            let conversion = conversion(&krate, pair, span);
            quote_spanned! { span=> #krate::__private::word::<#conversion, _> }
        }
    }
}

/// The type of an argument's conversion.
fn conversion(krate: &TokenTree, pair: &Pair<'_>, span: Span) -> TokenStream {
    let FormatUse::By(length, specifier) = pair.shown else { return TokenStream::new() };
    let conversion = Ident::new(&format!("{}{}", length.as_str(), specifier.letter()), span);
    quote_spanned! { span=> #krate::conversion::#conversion }
}

/// A call that compiles if the argument's conversion shows the target of `pointer`. Errors point at
/// the argument.
fn call(krate: &TokenTree, pair: &Pair<'_>, pointer: &TokenStream) -> TokenStream {
    // All tokens get the context of `$crate`: an error whose span mixes two contexts is reported at
    // the whole macro.
    let span = krate.span().located_at(pair.argument.span());
    let mut krate = krate.clone();
    krate.set_span(span);
    let check = function(&krate, pair, span);
    quote_spanned! { span=> #check(#pointer); }
}

/// The function to call with a pointer to the argument.
///
/// For `&x` this is a pointer to `x`: every conversion except `%p` shows the target of a reference.
fn function(krate: &TokenTree, pair: &Pair<'_>, span: Span) -> TokenStream {
    let kept = pair.argument.is_kept();
    let width =
        pair.argument.width().map_or_else(|| quote_spanned! { span=> _ }, |width| quote_spanned! { span=> #width });
    let specifier = match pair.shown {
        FormatUse::By(_, specifier) => specifier,
        FormatUse::Star if kept => return quote_spanned! { span=> #krate::__private::kept_star::<#width> },
        FormatUse::Star => return quote_spanned! { span=> #krate::__private::star },
        // Any type, but the one that is written.
        FormatUse::Whole | FormatUse::Formatted if kept => {
            return quote_spanned! { span=> #krate::__private::kept_address::<#width> };
        }
        FormatUse::Whole | FormatUse::Formatted => return quote_spanned! { span=> #krate::__private::address },
    };
    match specifier.letter() {
        'p' if pair.argument.is_address() && kept => quote_spanned! { span=> #krate::__private::kept_address },
        'p' if pair.argument.is_address() => quote_spanned! { span=> #krate::__private::address },
        'p' if kept => quote_spanned! { span=> #krate::__private::kept_pointer::<#width> },
        'p' => quote_spanned! { span=> #krate::__private::pointer },
        's' if kept => quote_spanned! { span=> #krate::__private::kept_text::<#width> },
        's' => quote_spanned! { span=> #krate::__private::text },
        _ => {
            let conversion = conversion(krate, pair, span);
            if kept {
                quote_spanned! { span=> #krate::__private::kept_scalar::<#conversion, #width> }
            } else {
                quote_spanned! { span=> #krate::__private::shown::<#conversion, _> }
            }
        }
    }
}
