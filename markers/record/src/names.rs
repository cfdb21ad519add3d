//! The words of a conversion: names for the values of an integer, in braces behind the conversion.
//!
//! ```text
//! words = [word ("," word)* [","]] | word "|" [word ("|" word)* ["|"]]
//! word  = name "=" (constant | "?")
//! ```
//!
//! `%u{IDLE=0,BUSY=1}` prints one of the names, `%x{READ=1|WRITE=2}` the names of the bits that are
//! set, and `%d{}` the names that the debug information has for the argument's type. A value that
//! only the site record of a marker has is `?` in its declaration.
//!
//! Braces are words only if all of them can be read. [`mistake`] says what is wrong with braces that
//! look like words.

mod constant;

use alloc::string::String;
use core::fmt::{self, Write as _};
use core::ops::Range;

use crate::specifier::Specifier;

pub use constant::constant;

/// The value of a word that the declaration does not know.
pub const UNKNOWN: &str = "?";

/// The words of a conversion. There are none in `{}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words<'a> {
    inner: &'a [u8],
    /// Whether each name stands for some bits, and not for the whole value.
    pub is_flags: bool,
}

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// Its name, which is not empty.
    pub name: &'a [u8],
    /// The value, between -2^63 and 2^64 - 1; `None` if only the site record has it.
    pub value: Option<i128>,
}

/// What is wrong with braces that look like words, or like the form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The wrong bytes of the format.
    pub range: Range<usize>,
    /// What is wrong.
    pub kind: MistakeKind,
}

/// What is wrong with braces that look like words, or like the form of a value ([`crate::value_form`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MistakeKind {
    /// A word has no name.
    NoName,
    /// A name has a byte that no name has.
    Name,
    /// A word has no `=`, and others have one.
    NoValue,
    /// A value is no constant.
    NotConstant,
    /// Words are separated by both `,` and `|`.
    Separators,
    /// Two words have the same name.
    Twice,
    /// The conversion takes no integer.
    NotAnInteger,
    /// More than nine stars in `%p{***}`.
    Levels,
    /// What is in `%p{..}` is no path to a member.
    Path,
    /// What is behind the colon of `%p{:..}` is no specification of Rust's.
    Specification,
}

impl fmt::Display for MistakeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoName => "a word in braces has no name before its `=`",
            Self::Name => "a name in braces has a character that is not allowed: use letters, digits and `_`",
            Self::NoValue => "a word in braces has no value: write `NAME=VALUE`",
            Self::NotConstant => "a value in braces is not an integer constant",
            Self::Separators => {
                "words in braces are separated either by `,` (one of them) or by `|` (flags): write one of the two, \
                 and parentheses around a value with `|`"
            }
            Self::Twice => "a name is twice in the braces: remove one",
            Self::NotAnInteger => "only an integer conversion (d i u o x X b B) takes words in braces",
            Self::Levels => "`%p{*}` has at most nine stars",
            Self::Path => "`%p{..}` takes members with `,` between them, as in `%p{tag,owner.name}`",
            Self::Specification => {
                "`%p{:..}` takes what stands behind the `:` in Rust's formats, as in `%p{:>8}`, without `$` and `*`"
            }
        })
    }
}

/// The bytes between braces at the start of `text`; `None` if there are none that could hold words.
#[must_use]
pub fn braced(text: &[u8]) -> Option<&[u8]> {
    let inner = text.strip_prefix(b"{")?;
    let end = inner.iter().position(|byte| matches!(byte, b'}' | b'{' | b'%' | 0))?;
    if inner.get(end) != Some(&b'}') {
        return None;
    }
    inner.get(..end)
}

/// Whether a conversion with this specifier takes words.
#[must_use]
pub fn takes_words(specifier: Specifier) -> bool {
    matches!(specifier.letter(), 'd' | 'i' | 'u' | 'o' | 'x' | 'X' | 'b' | 'B')
}

/// The words between braces; `None` if the bytes are text.
#[must_use]
pub fn words(inner: &[u8]) -> Option<Words<'_>> {
    let is_flags = separator(inner) == Some(b'|');
    let words = Words { inner, is_flags };
    let is_word = |part: Range<usize>| read(inner, &part).is_ok_and(|(_, separates)| separates != Some(!is_flags));
    (inner.is_empty() || parts(inner).all(is_word)).then_some(words)
}

/// What is wrong with the braces at `at` of `format`, directly behind a conversion with that
/// specifier; `None` if they hold words without a mistake, or text.
#[must_use]
pub fn mistake(format: &[u8], at: usize, specifier: Specifier) -> Option<Mistake> {
    let inner = braced(format.get(at..)?)?;
    let start = at.checked_add(1)?;
    let found = |range: Range<usize>, kind| {
        let (from, to) = (start.saturating_add(range.start), start.saturating_add(range.end));
        Some(Mistake { range: from..to, kind })
    };
    if !inner.contains(&b'=') {
        return None;
    }
    if !takes_words(specifier) {
        return words(inner).and_then(|_| found(0..inner.len(), MistakeKind::NotAnInteger));
    }
    let is_flags = separator(inner) == Some(b'|');
    for part in parts(inner) {
        match read(inner, &part) {
            Err(kind) => return found(part, kind),
            Ok((_, Some(separates))) if separates != is_flags => return found(part, MistakeKind::Separators),
            Ok((word, _)) => {
                let mut before = parts(inner).take_while(|other| other.start < part.start);
                if before.any(|other| read(inner, &other).is_ok_and(|(other, _)| other.name == word.name)) {
                    return found(part, MistakeKind::Twice);
                }
            }
        }
    }
    None
}

impl<'a> Words<'a> {
    /// The words in their order.
    pub fn iter(&self) -> impl Iterator<Item = Word<'a>> + use<'a> {
        let inner = self.inner;
        parts(inner).filter_map(move |part| Some(read(inner, &part).ok()?.0))
    }

    /// Whether there are no words: the debug information has the names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }
}

/// Whether a byte can be in a name.
#[must_use]
pub fn is_in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'$' | b'#' | b' ' | 0x80..)
}

/// The first separator outside of parentheses.
fn separator(inner: &[u8]) -> Option<u8> {
    let end = parts(inner).next()?.end;
    inner.get(end).copied()
}

/// The parts between separators. A separator may stand behind the last one.
pub fn parts(inner: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    core::iter::from_fn(move || {
        let start = next;
        let rest = inner.get(start..).filter(|rest| !rest.is_empty())?;
        let mut depth = 0usize;
        let is_end = |byte: &u8| {
            match byte {
                b'(' => depth = depth.saturating_add(1),
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(byte, b',' | b'|')
        };
        let end = start + rest.iter().position(is_end).unwrap_or(rest.len());
        next = end.saturating_add(1);
        Some(start..end)
    })
}

/// The word in a part, and whether the separator behind it is that of flags.
fn read<'a>(inner: &'a [u8], part: &Range<usize>) -> Result<(Word<'a>, Option<bool>), MistakeKind> {
    let separates = inner.get(part.end).map(|separator| *separator == b'|');
    let text = inner.get(part.clone()).unwrap_or_default();
    let Some(equals) = text.iter().position(|byte| *byte == b'=') else { return Err(MistakeKind::NoValue) };
    let (name, value) = text.split_at(equals);
    let (name, value) = (name.trim_ascii(), value.get(1..).unwrap_or_default().trim_ascii());
    if name.is_empty() {
        return Err(MistakeKind::NoName);
    }
    if !name.iter().copied().all(is_in_name) {
        return Err(MistakeKind::Name);
    }
    let value = match value == UNKNOWN.as_bytes() {
        true => None,
        false => Some(constant(value).ok_or(MistakeKind::NotConstant)?),
    };
    Ok((Word { name, value }, separates))
}

/// Appends the names of the bits that are set, as the kernel's `__print_flags` does: each mask whose
/// bits are all left, in their order, and the rest in hexadecimal (`trace_print_flags_seq`).
pub fn write_flags<'n>(value: u64, delimiter: &str, masks: impl IntoIterator<Item = (u64, &'n str)>, out: &mut String) {
    let mut left = value;
    let mut separator = "";
    for (mask, name) in masks {
        if left == 0 {
            break;
        }
        if left & mask == mask {
            left &= !mask;
            out.push_str(separator);
            out.push_str(name);
            separator = delimiter;
        }
    }
    if left != 0 {
        let _ = write!(out, "{separator}{left:#x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    type Read<'a> = (bool, Vec<(&'a str, Option<i128>)>);

    fn read_all(inner: &str) -> Option<Read<'_>> {
        let words = words(inner.as_bytes())?;
        let each = words.iter().map(|word| (core::str::from_utf8(word.name).unwrap(), word.value));
        Some((words.is_flags, each.collect()))
    }

    #[test]
    fn words_have_names_and_values() {
        assert_eq!(read_all(""), Some((false, Vec::new())));
        assert_eq!(read_all("IDLE=0,BUSY=1"), Some((false, [("IDLE", Some(0)), ("BUSY", Some(1))].into())));
        assert_eq!(read_all("R=1|W=(1 << 1)|"), Some((true, [("R", Some(1)), ("W", Some(2))].into())));
        assert_eq!(read_all("RW=(1|2)"), Some((false, [("RW", Some(3))].into())));
        assert_eq!(read_all("A = ?, B = -1,"), Some((false, [("A", None), ("B", Some(-1))].into())));
        assert_eq!(read_all("a b=0x10u|c=1"), Some((true, [("a b", Some(16)), ("c", Some(1))].into())));
        for text in [" ", "a", "a=b", "=1", "a=1,b", "a=1,,b=2", "a=1|b=2,c=3", "a=1,b=2|", "a\"=1", ",", "a==1"] {
            assert_eq!(read_all(text), None, "{text}");
        }
    }

    #[test]
    fn mistakes_are_found_where_they_are() {
        use MistakeKind as Kind;
        fn of(format: &str, at: usize) -> Option<(&str, Kind)> {
            let specifier = Specifier::new(format.as_bytes()[at - 1]).unwrap();
            mistake(format.as_bytes(), at, specifier).map(|mistake| (&format[mistake.range], mistake.kind))
        }
        assert_eq!(of("%d{A=1,=2}", 2), Some(("=2", Kind::NoName)));
        assert_eq!(of("%d{A=1,B}", 2), Some(("B", Kind::NoValue)));
        assert_eq!(of("%d{A=1,B=x} {", 2), Some(("B=x", Kind::NotConstant)));
        assert_eq!(of("%d{A=1|B=2,C=3}", 2), Some(("B=2", Kind::Separators)));
        assert_eq!(of("%d{A=1,B=2,A=3}", 2), Some(("A=3", Kind::Twice)));
        assert_eq!(of("%d{A!=1}", 2), Some(("A!=1", Kind::Name)));
        assert_eq!(of("%s{A=1}", 2), Some(("A=1", Kind::NotAnInteger)));
        for format in ["%d{A=1,B=1}", "%d{}", "%d{a}", "%d{", "%d{a=%d}", "%s{}", "%s{a=b}", "%d{a={b}"] {
            assert_eq!(of(format, 2), None, "{format}");
        }
    }
}
