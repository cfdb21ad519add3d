//! The arguments of a format in Rust's notation, one for each placeholder.
//!
//! What the compiler's own `format_args!` refuses too it reports itself: its errors point into the
//! format, which no procedural macro can.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use simple_markers_record::rust_format::{
    self, ArgumentReference, RustFormatError, RustFormatErrorKind, RustPiece, ValuePlaceholder,
};
use simple_markers_record::value_form::MemberPath;
use syn::ext::IdentExt as _;
use syn::{Expr, ExprField, LitStr};

use crate::argument::Argument;
use crate::errors::Errors;
use crate::member;
use crate::place::Place;

/// An argument, perhaps with a name: `name = place`.
pub(crate) struct NamedArgument {
    pub(crate) name: Option<Ident>,
    pub(crate) argument: Argument,
}

/// What a format and its arguments come to.
pub(crate) enum Arrangement {
    /// The arguments in the order of the placeholders.
    Arguments(Vec<Argument>),
    /// An invocation of `format_args!` that the compiler refuses.
    Refusal(TokenStream),
}

/// Fails if a marker does not take a format that `format!` takes, or if only the macro can say what is
/// wrong with it.
pub(crate) fn check(format: &LitStr) -> syn::Result<()> {
    let text = format.value();
    let (mut placeholders, mut wrong) = (Vec::new(), Vec::new());
    for piece in rust_format::pieces(&text) {
        match piece {
            Ok(RustPiece::Text(_)) => {}
            Ok(RustPiece::Value(placeholder)) => placeholders.push(placeholder),
            Err(error) => wrong.push(error),
        }
    }
    let mut errors = Errors::default();
    if has_members(&placeholders) || !wrong.iter().all(is_refused_by_compiler) {
        for RustFormatError { range, kind } in wrong {
            errors.push(format.span(), format!("{kind}, at `{}`", text.get(range).unwrap_or_default()));
        }
    }
    errors.finish()
}

/// Arranges the arguments of a format in Rust's notation, which [`check`] found right.
///
/// Fails if a marker does not take what `format!` takes.
pub(crate) fn arrange(format: &LitStr, arguments: Vec<NamedArgument>) -> syn::Result<Arrangement> {
    let text = format.value();
    let mut placeholders = Vec::new();
    for piece in rust_format::pieces(&text) {
        match piece {
            Ok(RustPiece::Text(_)) => {}
            Ok(RustPiece::Value(placeholder)) => placeholders.push(placeholder),
            Err(_) => return Ok(Arrangement::Refusal(refused(format, &arguments, &[]))),
        }
    }
    let mut uses = vec![0usize; arguments.len()];
    let mut captured = Vec::new();
    let (mut next, mut missing) = (0usize, Vec::new());
    let indexes: Vec<Option<usize>> = placeholders
        .iter()
        .map(|placeholder| {
            let index = match placeholder.of {
                ArgumentReference::Next => {
                    next += 1;
                    Some(next - 1)
                }
                ArgumentReference::Number(number) => Some(number),
                ArgumentReference::Place(path) => {
                    let kept = arguments.iter().position(|argument| is_kept_place(argument, path));
                    captured.extend(kept);
                    arguments.iter().position(|argument| is_named(argument, path)).or(kept)
                }
            };
            match index.map(|index| (index, uses.get_mut(index))) {
                Some((_, Some(uses))) => *uses += 1,
                Some((index, None)) => missing.push((placeholder.of, index)),
                None => {}
            }
            index
        })
        .collect();
    let has_unused = uses.contains(&0);
    if !missing.is_empty() || has_unused {
        if !has_members(&placeholders) {
            return Ok(Arrangement::Refusal(refused(format, &arguments, &captured)));
        }
        return Err(miscounted(format.span(), &placeholders, &arguments, &uses, &missing));
    }
    let mut errors = Errors::default();
    for (NamedArgument { argument, .. }, uses) in arguments.iter().zip(&uses) {
        if matches!(argument, Argument::KeptValue { .. }) && *uses > 1 {
            let name = argument.text();
            errors.push(
                argument.span(),
                format!("`{name}` would be evaluated for each placeholder: bind it to a variable first, and write `keep {name}`"),
            );
        }
    }
    errors.finish()?;
    let mut arguments: Vec<Option<Argument>> = arguments.into_iter().map(|it| Some(it.argument)).collect();
    let mut arranged = Vec::with_capacity(placeholders.len());
    for (placeholder, index) in placeholders.iter().zip(indexes) {
        let known = index.and_then(|index| Some((uses.get_mut(index)?, arguments.get_mut(index)?)));
        arranged.push(match known {
            None => Argument::Place(place(placeholder, format.span())?),
            Some((uses, argument)) => {
                *uses -= 1;
                // Only the last one need not be a copy.
                let again = if *uses == 0 { None } else { argument.as_ref().map(copy).transpose()? };
                let this = std::mem::replace(argument, again);
                this.ok_or_else(|| syn::Error::new(format.span(), "an argument is used more often than counted"))?
            }
        });
    }
    Ok(Arrangement::Arguments(arranged))
}

/// The error of a format with another number of arguments than given, in the words of the compiler.
fn miscounted(
    span: Span,
    placeholders: &[ValuePlaceholder<'_>],
    arguments: &[NamedArgument],
    uses: &[usize],
    missing: &[(ArgumentReference<'_>, usize)],
) -> syn::Error {
    let given = match arguments.len() {
        1 => "there is 1 argument".to_owned(),
        given => format!("there are {given} arguments"),
    };
    let mut all = Vec::new();
    if missing.iter().any(|(of, _)| *of == ArgumentReference::Next) {
        let next = placeholders.iter().filter(|placeholder| placeholder.of == ArgumentReference::Next).count();
        let arguments = if next == 1 { "argument" } else { "arguments" };
        all.push((span, format!("{next} positional {arguments} in the format, but {given}")));
    }
    for (_, index) in missing.iter().filter(|(of, _)| *of != ArgumentReference::Next) {
        all.push((span, format!("invalid reference to positional argument {index} ({given})")));
    }
    for (NamedArgument { argument, .. }, _) in arguments.iter().zip(uses).filter(|(_, uses)| **uses == 0) {
        let is_in_format = |it: &ValuePlaceholder<'_>| it.of == ArgumentReference::Place(&argument.text());
        let message = match placeholders.iter().any(is_in_format) {
            true => format!("redundant argument: the format has `{{{}}}`, remove it", argument.text()),
            false => "argument never used: write `{}` into the format".to_owned(),
        };
        all.push((argument.span(), message));
    }
    let mut all = all.into_iter().map(|(span, message)| syn::Error::new(span, message));
    let first = all.next().unwrap_or_else(|| syn::Error::new(span, "another number of arguments"));
    all.fold(first, |mut errors, error| {
        errors.combine(error);
        errors
    })
}

/// Whether a placeholder has a place with members, which `format_args!` does not take.
fn has_members(placeholders: &[ValuePlaceholder<'_>]) -> bool {
    placeholders.iter().any(|it| matches!(it.of, ArgumentReference::Place(path) if path.contains('.')))
}

/// Whether every version of the compiler refuses the format for this reason.
fn is_refused_by_compiler(error: &RustFormatError) -> bool {
    matches!(error.kind, RustFormatErrorKind::Unopened | RustFormatErrorKind::Unclosed)
}

/// Whether a placeholder `{name}` stands for an argument: `name = place`, `keep name = value`.
fn is_named(argument: &NamedArgument, name: &str) -> bool {
    match (&argument.name, &argument.argument) {
        (Some(ident), _) => ident.unraw() == name,
        (None, Argument::KeptValue { name: of_value, .. }) => of_value == name,
        (None, Argument::Place(_) | Argument::KeptPlace { .. }) => false,
    }
}

/// Whether an argument says that the place in a placeholder is kept: `keep self.depth`.
fn is_kept_place(argument: &NamedArgument, path: &str) -> bool {
    matches!(&argument.argument, Argument::KeptPlace { place, .. } if argument.name.is_none() && place.text == path)
}

/// The place in a placeholder, with the names that are known where the format is written.
fn place(placeholder: &ValuePlaceholder<'_>, span: Span) -> syn::Result<Place> {
    let ArgumentReference::Place(path) = placeholder.of else {
        return Err(syn::Error::new(span, "a placeholder without a name"));
    };
    let wrong = || syn::Error::new(span, format!("`{path}` in the format is no place"));
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let mut expression: Expr = match first {
        "self" => {
            let this = Ident::new("self", span);
            syn::parse2(quote! { #this })?
        }
        _ => {
            let name = member::name(first, span).ok_or_else(wrong)?;
            syn::parse2(quote! { #name })?
        }
    };
    if let Some(rest) = rest {
        let span = member::of_member(span);
        let members = MemberPath::new(rest).and_then(|rest| member::members(rest, span)).ok_or_else(wrong)?;
        for member in members {
            let dot_token = syn::token::Dot(span);
            expression = ExprField { attrs: Vec::new(), base: Box::new(expression), dot_token, member }.into();
        }
    }
    Place::new(expression)
}

/// The same argument once more.
fn copy(argument: &Argument) -> syn::Result<Argument> {
    let place = |place: &Place| {
        Ok::<_, syn::Error>(Place {
            expression: syn::parse2(place.expression.to_token_stream())?,
            is_address: place.is_address,
            text: place.text.clone(),
        })
    };
    let width = argument.width().map(|width| syn::parse2(width.to_token_stream())).transpose()?;
    Ok(match argument {
        Argument::Place(of) => Argument::Place(place(of)?),
        Argument::KeptPlace { place: of, .. } => Argument::KeptPlace { place: place(of)?, width },
        Argument::KeptValue { name, span, value, .. } => {
            let value = Box::new(syn::parse2(value.to_token_stream())?);
            Argument::KeptValue { name: name.clone(), span: *span, width, value }
        }
    })
}

/// `format_args!` of a format and its arguments, without those that a placeholder names by their place.
fn refused(format: &LitStr, arguments: &[NamedArgument], captured: &[usize]) -> TokenStream {
    let arguments = arguments.iter().enumerate().filter(|(index, _)| !captured.contains(index));
    let arguments = arguments.map(|(_, NamedArgument { name, argument })| match argument {
        Argument::Place(place) | Argument::KeptPlace { place, .. } => {
            let (name, expression) = (name.iter(), &place.expression);
            quote! { #(#name =)* #expression }
        }
        Argument::KeptValue { name, span, value, .. } => match member::name(name, *span) {
            Some(name) => quote! { #name = #value },
            None => quote! { #value },
        },
    });
    quote_spanned! { Span::mixed_site()=> ::core::format_args!(#format, #(#arguments),*) }
}
