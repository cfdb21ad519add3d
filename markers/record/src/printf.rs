//! The grammar of printf formats: `%[flags][width][.precision][length]conversion`, ISO C23 7.23.6.1
//! with the GNU flag `'`, and braces behind a conversion: words ([`crate::names`]) or the form of a
//! whole value ([`crate::value_form`]).
//!
//! The parser returns the pieces of a format with their byte ranges, so an error can point at a
//! conversion inside the format. [`crate::conversion`] has the types that a conversion accepts.

use core::fmt;
use core::ops::Range;

use crate::names::{self, Mistake, Words};
use crate::specifier::Specifier;
use crate::value_form::{self, ValueForm};

/// One piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal text.
    Literal(Range<usize>),
    /// `%%`.
    Percent(Range<usize>),
    /// A conversion. It takes one argument, and one more for each `*`.
    Conversion(Conversion),
}

/// One conversion of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// Its bytes in the format, from `%` to the conversion specifier, or to the braces behind it.
    pub range: Range<usize>,
    /// Its flags.
    pub flags: Flags,
    /// The minimum field width; `None` if there is none.
    pub width: Option<Count>,
    /// The precision; `None` if there is none. A lone `.` is 0.
    pub precision: Option<Count>,
    /// The length modifier.
    pub length: Length,
    /// The conversion specifier.
    pub specifier: Specifier,
    /// What is between the braces behind it; `None` if no words follow.
    pub words: Option<Range<usize>>,
    /// What is between the braces behind `%p`; `None` if it shows an address.
    pub form: Option<Range<usize>>,
}

impl Conversion {
    /// Its bytes in the format without its braces: from `%` to the conversion specifier.
    #[must_use]
    pub fn written(&self) -> Range<usize> {
        match self.words.as_ref().or(self.form.as_ref()) {
            Some(inner) => self.range.start..inner.start.saturating_sub(1),
            None => self.range.clone(),
        }
    }

    /// The names for the argument's values in the format that the conversion is in; `None` if there are
    /// none.
    #[must_use]
    pub fn words<'f>(&self, format: &'f [u8]) -> Option<Words<'f>> {
        names::words(format.get(self.words.clone()?)?)
    }

    /// How the conversion shows a whole value, in the format that it is in; `None` unless it is `%p{..}`.
    #[must_use]
    pub fn form<'f>(&self, format: &'f [u8]) -> Option<ValueForm<'f>> {
        value_form::value_form(format.get(self.form.clone()?)?)
    }

    /// What is wrong with the braces behind the conversion, in the format that it is in; `None` if there are
    /// none, if nothing is wrong with them, or if they are text.
    #[must_use]
    pub fn mistake(&self, format: &[u8]) -> Option<Mistake> {
        let written = self.written();
        match value_form::takes_form(self.specifier, &written) {
            true => value_form::mistake(format, written.end),
            false => None,
        }
        .or_else(|| names::mistake(format, written.end, self.specifier))
    }

    /// How many arguments of type `int` precede the conversion's own: one for each `*`.
    #[must_use]
    pub fn stars(&self) -> usize {
        [self.width, self.precision].into_iter().filter(|count| *count == Some(Count::Argument)).count()
    }
}

/// The flags of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `-`: left-justified.
    pub minus: bool,
    /// `+`: always a sign.
    pub plus: bool,
    /// ` `: a space instead of a plus sign.
    pub space: bool,
    /// `#`: the alternative form.
    pub alternative: bool,
    /// `0`: padded with zeros.
    pub zero: bool,
    /// `'`: digits grouped.
    pub group: bool,
}

/// A width or a precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The digits in the format.
    Digits(u32),
    /// `*`: an argument of type `int`.
    Argument,
}

/// A length modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Length {
    None,
    Hh,
    H,
    L,
    Ll,
    J,
    Z,
    T,
    /// `L`: long double.
    BigL,
}

impl Length {
    /// All of them, in the order of the standard.
    pub const ALL: [Self; 9] =
        [Self::None, Self::Hh, Self::H, Self::L, Self::Ll, Self::J, Self::Z, Self::T, Self::BigL];

    /// The modifier as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Hh => "hh",
            Self::H => "h",
            Self::L => "l",
            Self::Ll => "ll",
            Self::J => "j",
            Self::Z => "z",
            Self::T => "t",
            Self::BigL => "L",
        }
    }
}

/// How many arguments a format takes.
///
/// # Errors
///
/// A conversion is malformed; the first one.
pub fn arguments(format: &[u8]) -> Result<usize, FormatError> {
    parse(format).try_fold(0usize, |taken, piece| {
        Ok(match piece? {
            Piece::Conversion(conversion) => taken.saturating_add(conversion.stars()).saturating_add(1),
            Piece::Literal(_) | Piece::Percent(_) => taken,
        })
    })
}

/// What is wrong with a format, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatError {
    /// The bytes of the format from the `%` to the wrong byte.
    pub range: Range<usize>,
    /// What is wrong.
    pub kind: FormatErrorKind,
}

/// What is wrong with a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatErrorKind {
    /// The format ends inside a conversion.
    Incomplete,
    /// No conversion specifier has that byte.
    Unknown(u8),
    /// `%n` writes to memory; a marker only reads.
    WritesMemory,
    /// `%1$d`: arguments are taken only in order.
    Positional,
    /// The width or precision does not fit 32 bits.
    CountTooLarge,
    /// `%%` takes neither flags nor counts nor a length.
    PercentNotAlone,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FormatErrorKind::Incomplete => {
                f.write_str("the format ends inside a conversion: write `%%` for a percent sign")
            }
            FormatErrorKind::Unknown(byte) => {
                write!(
                    f,
                    "unknown conversion `{}`: use one of d i u o x X b B c s p e E f F g G a A, or `%%` for a percent sign",
                    byte.escape_ascii()
                )
            }
            FormatErrorKind::WritesMemory => f.write_str("`%n` writes to memory, and a marker only reads: remove it"),
            FormatErrorKind::Positional => f.write_str("arguments are taken in their order: `%1$d` is `%d`"),
            FormatErrorKind::CountTooLarge => f.write_str("the width or precision does not fit 32 bits"),
            FormatErrorKind::PercentNotAlone => f.write_str("a percent sign is `%%`, with nothing between"),
        }
    }
}

impl core::error::Error for FormatError {}

/// The pieces of a format, in order. Reading continues after an error, behind the bytes that it
/// names.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    format: &'a [u8],
    offset: usize,
}

/// Reads `format`.
#[must_use]
pub fn parse(format: &[u8]) -> Pieces<'_> {
    Pieces { format, offset: 0 }
}

impl Iterator for Pieces<'_> {
    type Item = Result<Piece, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.offset;
        if self.peek()? != b'%' {
            let rest = self.format.get(start..).unwrap_or_default();
            self.offset += rest.iter().take_while(|&&byte| byte != b'%').count();
            return Some(Ok(Piece::Literal(start..self.offset)));
        }
        self.offset += 1;
        Some(self.conversion(start).map_err(|kind| FormatError { range: start..self.offset, kind }))
    }
}

impl Pieces<'_> {
    fn peek(&self) -> Option<u8> {
        self.format.get(self.offset).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.offset += usize::from(taken);
        taken
    }

    fn conversion(&mut self, start: usize) -> Result<Piece, FormatErrorKind> {
        let flags = self.flags();
        let width = self.count()?;
        if self.take(b'$') {
            return Err(FormatErrorKind::Positional);
        }
        let precision = match self.take(b'.') {
            true => self.count()?.or(Some(Count::Digits(0))),
            false => None,
        };
        let length = self.length();
        let letter = self.peek().ok_or(FormatErrorKind::Incomplete)?;
        self.offset += 1;
        if letter == b'%' {
            return match self.offset - start {
                2 => Ok(Piece::Percent(start..self.offset)),
                _ => Err(FormatErrorKind::PercentNotAlone),
            };
        }
        let specifier = Specifier::new(letter).ok_or(match letter {
            b'n' => FormatErrorKind::WritesMemory,
            _ => FormatErrorKind::Unknown(letter),
        })?;
        let takes_form = value_form::takes_form(specifier, &(start..self.offset));
        let words = self.braces(names::takes_words(specifier), |inner| names::words(inner).is_some());
        let form = self.braces(takes_form, |inner| value_form::value_form(inner).is_some());
        let range = start..self.offset;
        Ok(Piece::Conversion(Conversion { range, flags, width, precision, length, specifier, words, form }))
    }

    /// Takes the braces that follow, if they may follow and are no text. Returns what is between them.
    fn braces(&mut self, may_follow: bool, is_no_text: impl Fn(&[u8]) -> bool) -> Option<Range<usize>> {
        if !may_follow {
            return None;
        }
        let inner = names::braced(self.format.get(self.offset..)?).filter(|inner| is_no_text(inner))?;
        let start = self.offset.checked_add(1)?;
        let end = start.checked_add(inner.len())?;
        self.offset = end.checked_add(1)?;
        Some(start..end)
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        while let Some(byte) = self.peek() {
            *match byte {
                b'-' => &mut flags.minus,
                b'+' => &mut flags.plus,
                b' ' => &mut flags.space,
                b'#' => &mut flags.alternative,
                b'0' => &mut flags.zero,
                b'\'' => &mut flags.group,
                _ => break,
            } = true;
            self.offset += 1;
        }
        flags
    }

    fn count(&mut self) -> Result<Option<Count>, FormatErrorKind> {
        if self.take(b'*') {
            return Ok(Some(Count::Argument));
        }
        let mut count = None;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            self.offset += 1;
            let value = u32::from(digit - b'0');
            let next = count.unwrap_or(0u32).checked_mul(10).and_then(|count| count.checked_add(value));
            count = Some(next.ok_or(FormatErrorKind::CountTooLarge)?);
        }
        Ok(count.map(Count::Digits))
    }

    fn length(&mut self) -> Length {
        match self.peek() {
            Some(b'h') => self.doubled(b'h', Length::H, Length::Hh),
            Some(b'l') => self.doubled(b'l', Length::L, Length::Ll),
            Some(b'j') => self.single(Length::J),
            Some(b'z') => self.single(Length::Z),
            Some(b't') => self.single(Length::T),
            Some(b'L') => self.single(Length::BigL),
            _ => Length::None,
        }
    }

    fn single(&mut self, length: Length) -> Length {
        self.offset += 1;
        length
    }

    fn doubled(&mut self, byte: u8, once: Length, twice: Length) -> Length {
        self.offset += 1;
        if self.take(byte) { twice } else { once }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec, vec::Vec};

    fn conversions(format: &str) -> Vec<Conversion> {
        parse(format.as_bytes())
            .filter_map(|piece| match piece.unwrap() {
                Piece::Conversion(conversion) => Some(conversion),
                Piece::Literal(_) | Piece::Percent(_) => None,
            })
            .collect()
    }

    fn errors(format: &[u8]) -> Vec<(Range<usize>, FormatErrorKind)> {
        parse(format).filter_map(Result::err).map(|error| (error.range, error.kind)).collect()
    }

    #[test]
    fn pieces_cover_the_format() {
        let pieces: Vec<_> = parse("a %% \u{e9}%-8.3ldb%p".as_bytes()).map(Result::unwrap).collect();
        assert_eq!(pieces[..3], [Piece::Literal(0..2), Piece::Percent(2..4), Piece::Literal(4..7)]);
        assert_eq!(
            pieces[3],
            Piece::Conversion(Conversion {
                range: 7..14,
                flags: Flags { minus: true, ..Flags::default() },
                width: Some(Count::Digits(8)),
                precision: Some(Count::Digits(3)),
                length: Length::L,
                specifier: Specifier::new(b'd').unwrap(),
                words: None,
                form: None,
            })
        );
        assert_eq!(pieces[4], Piece::Literal(14..15));
        assert_eq!(pieces.len(), 6);
        assert_eq!(parse(b"").count(), 0);
    }

    #[test]
    fn every_part_of_a_conversion_is_read() {
        let all = conversions("%-+ #0'*.*llX%.f%#018hhx%.5s");
        assert_eq!(
            all[0].flags,
            Flags { minus: true, plus: true, space: true, alternative: true, zero: true, group: true }
        );
        assert_eq!((all[0].width, all[0].precision, all[0].stars()), (Some(Count::Argument), Some(Count::Argument), 2));
        assert_eq!(all[1].precision, Some(Count::Digits(0)));
        assert_eq!((all[2].width, all[2].length), (Some(Count::Digits(18)), Length::Hh));
        assert_eq!((all[3].precision, all[3].stars()), (Some(Count::Digits(5)), 0));
    }

    #[test]
    fn words_belong_to_the_conversion_before_them() {
        let format = "a %-5u{IDLE=0,BUSY=1} %x{R=1|W=2}{} %d{} %d{ %s{} %d{a} %u{a=b}";
        let read = conversions(format);
        let words: Vec<_> = read.iter().map(|read| read.words.clone().map(|words| &format[words])).collect();
        assert_eq!(words, [Some("IDLE=0,BUSY=1"), Some("R=1|W=2"), Some(""), None, None, None, None]);
        assert_eq!(&format[read[0].range.clone()], "%-5u{IDLE=0,BUSY=1}");
        assert_eq!(read[1].words(format.as_bytes()).unwrap().iter().count(), 2);
        let pieces: Vec<_> = parse(format.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(pieces[4], Piece::Literal(33..36));
        assert_eq!(&format[33..36], "{} ");
    }

    #[test]
    fn the_form_of_a_value_belongs_to_a_plain_p() {
        let format = "a %p{} %p{*}{} %p{tag, owner.name} %p{:>8} %p %p{a b} %8p{} %-p{*} %lp{} %d{} %s{} %p{a%d} %p {}";
        let read = conversions(format);
        let forms: Vec<_> = read.iter().map(|read| read.form.clone().map(|form| &format[form])).collect();
        let mut expected = vec![Some(""), Some("*"), Some("tag, owner.name"), Some(":>8")];
        expected.resize(forms.len(), None);
        assert_eq!(forms, expected);
        assert_eq!((&format[read[2].range.clone()], &format[read[2].written()]), ("%p{tag, owner.name}", "%p"));
        assert_eq!(read[1].form(format.as_bytes()), Some(ValueForm::Levels(1)));
        assert_eq!((&format[read[4].range.clone()], read[4].form(format.as_bytes())), ("%p", None));
        assert_eq!(arguments(b"%p{a,b} %p{:5}"), Ok(2));
        let pieces: Vec<_> = parse(format.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(pieces[4], Piece::Literal(12..15));
        assert_eq!(&format[12..15], "{} ");
    }

    #[test]
    fn every_length_and_specifier_is_read_back() {
        for length in Length::ALL {
            for &letter in Specifier::ALL {
                let format = format!("%{}{}", length.as_str(), letter as char);
                let read = conversions(&format);
                assert_eq!((read[0].length, read[0].specifier), (length, Specifier::new(letter).unwrap()), "{format}");
            }
        }
    }

    #[test]
    fn errors_name_the_bytes_and_reading_goes_on() {
        assert_eq!(
            errors(b"a %d %y %n"),
            vec![(5..7, FormatErrorKind::Unknown(b'y')), (8..10, FormatErrorKind::WritesMemory)]
        );
        assert_eq!(errors(b"50%"), vec![(2..3, FormatErrorKind::Incomplete)]);
        assert_eq!(errors(b"%l"), vec![(0..2, FormatErrorKind::Incomplete)]);
        assert_eq!(errors(b"%1$d"), vec![(0..3, FormatErrorKind::Positional)]);
        assert_eq!(errors(b"%4294967296d"), vec![(0..11, FormatErrorKind::CountTooLarge)]);
        assert_eq!(errors(b"%4294967295d"), vec![]);
        assert_eq!(errors(b"%5%"), vec![(0..3, FormatErrorKind::PercentNotAlone)]);
        assert_eq!(errors(b"%\xff"), vec![(0..2, FormatErrorKind::Unknown(0xff))]);
    }
}
