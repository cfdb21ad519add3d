//! Assigns the arguments of a marker to the conversions of its format.

use proc_macro2::Span;
use simple_markers_record::conversion;
use simple_markers_record::printf::{self, Length, Piece, Specifier};

use crate::syntax::{Argument, Marker};

/// An argument with its conversion.
pub(crate) struct Pair<'a> {
    pub(crate) shown: Shown,
    pub(crate) argument: &'a Argument,
}

impl Pair<'_> {
    /// Whether `%p` shows the address of a place: `&x`. Every other conversion shows the place.
    pub(crate) fn shows_address(&self) -> bool {
        self.argument.is_address() && matches!(self.shown, Shown::By(_, specifier) if specifier.letter() == 'p')
    }
}

/// How the format uses an argument.
#[derive(Clone, Copy)]
pub(crate) enum Shown {
    /// A conversion prints it.
    By(Length, Specifier),
    /// It is a width or a precision, written `*`.
    Star,
}

/// The arguments of `marker`, each with its conversion, in their order.
///
/// Fails if the format is malformed, has a conversion without a Rust type, or takes another number
/// of arguments than the marker has. All errors are reported at once.
pub(crate) fn pair(marker: &Marker) -> syn::Result<Vec<Pair<'_>>> {
    let format = marker.format.value();
    let mut errors = Errors(None);
    let mut wanted = Vec::new();
    for piece in printf::parse(format.as_bytes()) {
        match piece {
            Ok(Piece::Literal(_) | Piece::Percent(_)) => {}
            Ok(Piece::Conversion(conversion)) => {
                let text = format.get(conversion.range.clone()).unwrap_or_default().to_owned();
                if conversion::accepts(conversion.length, conversion.specifier).is_empty() {
                    errors.push(marker.format.span(), no_such_type(&text, conversion.length, conversion.specifier));
                }
                wanted.extend((0..conversion.stars()).map(|_| (Shown::Star, text.clone())));
                wanted.push((Shown::By(conversion.length, conversion.specifier), text));
            }
            Err(error) => {
                let bytes = format.as_bytes().get(error.range.clone()).unwrap_or_default();
                errors.push(marker.format.span(), format!("{error}, at `{}`", String::from_utf8_lossy(bytes)));
            }
        }
    }
    errors.finish()?;
    let mut errors = Errors(None);
    for (shown, text) in wanted.iter().skip(marker.arguments.len()) {
        let what = if matches!(shown, Shown::Star) { format!("the `*` of `{text}`") } else { format!("`{text}`") };
        errors.push(
            marker.format.span(),
            format!(
                "{what} has no argument: the format wants {}, given {}: add one",
                wanted.len(),
                marker.arguments.len()
            ),
        );
    }
    for extra in marker.arguments.iter().skip(wanted.len()) {
        errors.push(
            extra.span(),
            format!(
                "no conversion shows `{}`: the format wants {}, given {}: add one to the format",
                extra.text(),
                arguments(wanted.len()),
                marker.arguments.len()
            ),
        );
    }
    errors.finish()?;
    Ok(wanted.into_iter().zip(&marker.arguments).map(|((shown, _), argument)| Pair { shown, argument }).collect())
}

fn arguments(count: usize) -> String {
    match count {
        0 => "no argument".to_owned(),
        1 => "1 argument".to_owned(),
        count => format!("{count} arguments"),
    }
}

fn no_such_type(text: &str, length: Length, specifier: Specifier) -> String {
    let plain = specifier.letter();
    match length {
        Length::BigL => format!("`{text}` is for C's long double, which Rust does not have: use `%{plain}`"),
        _ => format!("`{text}`: `%{plain}` takes no length modifier `{}`: use `%{plain}`", length.as_str()),
    }
}

/// Errors, combined into one.
struct Errors(Option<syn::Error>);

impl Errors {
    fn push(&mut self, span: Span, message: String) {
        let error = syn::Error::new(span, message);
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    fn finish(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
