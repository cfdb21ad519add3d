//! The names that a format has for the values of an argument, as an enumeration of CTF.

use core::fmt;

use simple_markers_record::names::{Word, Words};
use simple_markers_record::printf::{self, Piece};
use simple_markers_record::tsdl::StringLiteral;

/// The names of the values of one argument.
pub(super) struct Labels<'a> {
    words: Words<'a>,
    /// The bits of a value.
    all: u64,
    is_signed: bool,
}

/// The names that a format has for the values of an argument; `None` if it has none. CTF 1.8 has no
/// flags, so these are none. `all` are the bits of a value.
pub(super) fn labels(format: &str, argument: usize, all: u64, is_signed: bool) -> Option<Labels<'_>> {
    let mut next = 0usize;
    for piece in printf::parse(format.as_bytes()) {
        let Ok(Piece::Conversion(conversion)) = piece else { continue };
        let index = next.saturating_add(conversion.stars());
        next = index.saturating_add(1);
        if index == argument {
            let words = conversion.words(format.as_bytes()).filter(|words| !words.is_flags)?;
            let labels = Labels { words, all, is_signed };
            return labels.each().next().is_some().then_some(labels);
        }
    }
    None
}

impl<'a> Labels<'a> {
    /// The words with values.
    fn each(&self) -> impl Iterator<Item = (Word<'a>, u64)> + use<'a> {
        let all = self.all;
        self.words.iter().filter_map(move |word| Some((word, word.value? as u64 & all)))
    }
}

impl fmt::Display for Labels<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (index, (word, value)) in self.each().enumerate() {
            // Each value and each name once.
            let mut before = self.each().take(index);
            let Ok(name) = core::str::from_utf8(word.name) else { continue };
            if before.any(|(other, known)| other.name == word.name || known == value) {
                continue;
            }
            write!(out, "{separator}{} = ", StringLiteral(name))?;
            match self.is_signed {
                true => write!(out, "{}", value as i64)?,
                false => write!(out, "{value}")?,
            }
            separator = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn words_become_labels() {
        let of = |format, argument, all, is_signed| {
            labels(format, argument, all, is_signed).map(|labels| labels.to_string())
        };
        let format = "%*d %d{A=1,B=-1,A=2,C=1} %u{B=-1} %x{A=1|B=2} %d{} %d";
        assert_eq!(of(format, 2, u64::MAX, true).as_deref(), Some("\"A\" = 1, \"B\" = -1"));
        assert_eq!(of(format, 3, 0xffff_ffff, false).as_deref(), Some("\"B\" = 4294967295"));
        assert_eq!([0, 1, 4, 5, 6, 7].map(|argument| of(format, argument, u64::MAX, true)), [const { None }; 6]);
    }
}
