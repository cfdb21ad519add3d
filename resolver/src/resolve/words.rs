//! The words of formats: names for the values of arguments, and mistakes in braces.

use std::sync::Arc;

use simple_markers_record::printf::{self, Piece};

use super::conversions::given;
use super::{Argument, DeclaredArgument, DeclaredWords, Marker, Mismatch, Site};
use crate::types::Names;

/// Whether a format has a word whose value only the records of sites have.
pub(super) fn has_unknown(format: &[u8]) -> bool {
    // Few formats have words.
    format.windows(2).any(|pair| pair == b"=?")
        && printf::parse(format).filter_map(Result::ok).any(|piece| match piece {
            Piece::Conversion(conversion) => {
                conversion.words(format).is_some_and(|words| words.iter().any(|word| word.value.is_none()))
            }
            Piece::Literal(_) | Piece::Percent(_) => false,
        })
}

/// Gives the arguments of a site the names that their conversions have, and says what is wrong with
/// these.
pub(super) fn add_names(args: &mut [Argument], declared: &[DeclaredArgument]) {
    for (argument, declared) in args.iter_mut().zip(declared) {
        if let Some(DeclaredWords::Format(names)) = &declared.words {
            argument.names = Some(Arc::clone(names));
        }
        if let Some(mistake) = &declared.mistake {
            argument.mismatch.get_or_insert_with(|| Mismatch::Words(mistake.clone()));
        }
    }
}

/// Gives an argument with `{}` the names of its type.
pub(super) fn add_names_of_type(argument: &mut Argument) {
    let Some(of) = argument.ty.as_deref() else { return };
    match Names::of_type(of, argument.language) {
        Some(names) => argument.names = Some(Arc::new(names)),
        None => _ = argument.mismatch.get_or_insert_with(|| Mismatch::NoNames { given: given(of) }),
    }
}

/// The format of a marker at a site, with the names that the debug information has there as words.
#[must_use]
pub fn format_with_names(marker: &Marker, site: &Site) -> Arc<str> {
    let format = &*marker.format;
    let mut out = String::new();
    let mut index = 0usize;
    for piece in printf::parse(format.as_bytes()) {
        let (range, names) = match piece {
            Ok(Piece::Literal(range) | Piece::Percent(range)) => (range, None),
            Ok(Piece::Conversion(conversion)) => {
                let argument = site.args.get(index.saturating_add(conversion.stars()));
                index = index.saturating_add(conversion.stars()).saturating_add(1);
                let names = argument.and_then(|argument| argument.names.as_deref());
                match conversion.words {
                    Some(_) => (conversion.written(), names.map(Names::to_words).or(Some("{}".to_owned()))),
                    None => (conversion.range, None),
                }
            }
            Err(error) => (error.range, None),
        };
        out.push_str(format.get(range).unwrap_or_default());
        out.push_str(names.as_deref().unwrap_or_default());
    }
    if out == format { Arc::clone(&marker.format) } else { out.into() }
}

/// The names for the values of each argument that the words of a format have.
#[must_use]
pub fn names_of(format: &str) -> Vec<Option<Arc<Names>>> {
    let mut all = Vec::new();
    for piece in printf::parse(format.as_bytes()) {
        let Ok(Piece::Conversion(conversion)) = piece else { continue };
        all.extend((0..conversion.stars()).map(|_| None));
        let words = conversion.words(format.as_bytes()).filter(|words| !words.is_empty());
        all.push(words.map(|words| Arc::new(Names::of_words(&words))));
    }
    all
}
