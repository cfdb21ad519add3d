//! The braces of `%p{..}`: a whole value, of any type, and how it is shown.
//!
//! ```text
//! form    = "" | stars | path ("," path)* | ":" spec
//! stars   = "*" .. "*********"
//! path    = member ("." member)*
//! member  = identifier | digits
//! spec    = [[fill] align] [sign] ["#"] ["0"] [width] ["." precision] [type]
//! ```
//!
//! `%p{}` shows the whole value by its type in the debug information, `%p{*}` one level of it, and
//! `%p{tag,owner.name}` two of its members. `%p{:>8}` shows it as Rust's `{:>8}` does; `spec` is that of
//! `std::fmt` without arguments (`$`, `*`).
//!
//! Braces that break these rules are text. [`mistake`] says what is wrong with those that look like a
//! form.

use core::ops::Range;

use crate::names::{self, Mistake, MistakeKind};
use crate::specifier::Specifier;

/// The most levels that stars ask for.
pub const MAX_LEVELS: u8 = 9;

/// How `%p{..}` shows a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm<'a> {
    /// `{}`: the whole value.
    Whole,
    /// `{*}`, `{**}`: so many levels of it, at least 1 and at most [`MAX_LEVELS`].
    Levels(u8),
    /// `{tag,owner.name}`: some of its members.
    Members(MemberPaths<'a>),
    /// `{:SPEC}`: as Rust's `{:SPEC}`.
    Formatted(FormatSpec),
}

/// The members that `%p{a,b.c}` shows; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPaths<'a>(&'a str);

/// The path from a value to one of its members: `b.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberPath<'a>(&'a str);

/// How Rust shows a value: `format_spec` of `std::fmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatSpec {
    /// What fills the width.
    pub fill: char,
    /// `<`, `^` or `>`; `None` for that of the type: right for numbers, left for others.
    pub align: Option<Alignment>,
    /// `+`: always a sign.
    pub plus: bool,
    /// `#`: the alternate form.
    pub alternate: bool,
    /// `0`: zeros behind the sign fill the width.
    pub zero: bool,
    /// The minimum width in characters; `None` if there is none.
    pub width: Option<u16>,
    /// The precision; `None` if there is none.
    pub precision: Option<u16>,
    /// The trait that shows the value.
    pub kind: FormatTrait,
}

/// Where a value is in its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the sides")]
pub enum Alignment {
    Left,
    Center,
    Right,
}

/// A trait of `std::fmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatTrait {
    /// No letter.
    Display,
    /// `?`.
    Debug,
    /// `x?`: `Debug` with integers in hexadecimal.
    DebugLowerHex,
    /// `X?`.
    DebugUpperHex,
    /// `x`.
    LowerHex,
    /// `X`.
    UpperHex,
    /// `o`.
    Octal,
    /// `b`.
    Binary,
    /// `e`.
    LowerExp,
    /// `E`.
    UpperExp,
    /// `p`.
    Pointer,
}

/// The form between braces; `None` if the bytes are text.
#[must_use]
pub fn value_form(inner: &[u8]) -> Option<ValueForm<'_>> {
    let inner = core::str::from_utf8(inner).ok()?;
    if inner.is_empty() {
        return Some(ValueForm::Whole);
    }
    if inner.bytes().all(|byte| byte == b'*') {
        let levels = u8::try_from(inner.len()).ok().filter(|levels| *levels <= MAX_LEVELS)?;
        return Some(ValueForm::Levels(levels));
    }
    if let Some(spec) = inner.strip_prefix(':') {
        return FormatSpec::new(spec).map(ValueForm::Formatted);
    }
    let paths = MemberPaths(inner);
    paths.iter().all(|path| path.members().all(is_member)).then_some(ValueForm::Members(paths))
}

/// Whether a conversion is `%p` and nothing else, which `{..}` may follow. `range` are its bytes in the
/// format.
#[must_use]
pub fn takes_form(specifier: Specifier, range: &Range<usize>) -> bool {
    specifier.letter() == 'p' && range.len() == 2
}

/// What is wrong with the braces at `at` of `format`, directly behind a plain `%p`; `None` if they hold a
/// form, or text.
#[must_use]
pub fn mistake(format: &[u8], at: usize) -> Option<Mistake> {
    let inner = names::braced(format.get(at..)?)?;
    if value_form(inner).is_some() {
        return None;
    }
    let start = at.checked_add(1)?;
    let found = |range: Range<usize>, kind| {
        let (from, to) = (start.saturating_add(range.start), start.saturating_add(range.end));
        Some(Mistake { range: from..to, kind })
    };
    let text = core::str::from_utf8(inner).ok()?;
    if text.starts_with(':') {
        return found(0..inner.len(), MistakeKind::Specification);
    }
    if text.bytes().all(|byte| byte == b'*') {
        return found(0..inner.len(), MistakeKind::Levels);
    }
    let is_of_path = |each: char| each.is_alphanumeric() || matches!(each, '_' | '$' | '.' | ',' | ' ' | '*');
    if text.trim().is_empty() || !text.chars().all(is_of_path) {
        return None;
    }
    let mut end = 0usize;
    let parts = text.split(',').map(|part| {
        let from = end;
        end = from.saturating_add(part.len()).saturating_add(1);
        (from..from.saturating_add(part.len()), MemberPath(part.trim_matches(' ')))
    });
    let (wrong, _) = parts.into_iter().find(|(_, path)| !path.members().all(is_member))?;
    // Nothing between two commas is shown with what is around it.
    found(if wrong.is_empty() { 0..inner.len() } else { wrong }, MistakeKind::Path)
}

/// Whether a text is the name of a member, or the number of one without a name.
fn is_member(text: &str) -> bool {
    let is_first = |first: char| first == '_' || first == '$' || first.is_alphabetic();
    let is_name = text.starts_with(is_first) && text.chars().all(|each| is_first(each) || each.is_alphanumeric());
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_name || is_number
}

impl<'a> MemberPaths<'a> {
    /// The paths in their order.
    pub fn iter(&self) -> impl Iterator<Item = MemberPath<'a>> + use<'a> {
        self.0.split(',').map(|path| MemberPath(path.trim_matches(' ')))
    }
}

impl<'a> MemberPath<'a> {
    /// Reads a path; `None` if it is none.
    #[must_use]
    pub fn new(text: &'a str) -> Option<Self> {
        Some(Self(text)).filter(|path| path.members().all(is_member))
    }

    /// The path as written: `b.c`.
    #[must_use]
    pub const fn as_str(&self) -> &'a str {
        self.0
    }

    /// The names on the path: first the member of the value. The number of a member is its name in a
    /// tuple.
    pub fn members(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.0.split('.')
    }
}

impl Default for FormatSpec {
    /// `{}`.
    fn default() -> Self {
        Self {
            fill: ' ',
            align: None,
            plus: false,
            alternate: false,
            zero: false,
            width: None,
            precision: None,
            kind: FormatTrait::Display,
        }
    }
}

impl FormatSpec {
    /// Reads what is behind the colon of `{:SPEC}`; `None` if it is no specification, or takes an
    /// argument (`$`, `*`).
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let mut spec = Self::default();
        let mut rest = text;
        let mut letters = text.chars();
        let fill = letters.next().zip(letters.next().and_then(Alignment::new));
        if let Some((fill, align)) = fill.filter(|(fill, _)| !matches!(fill, '{' | '}' | '%' | '\0')) {
            (spec.fill, spec.align) = (fill, Some(align));
            rest = letters.as_str();
        } else if let Some(align) = text.chars().next().and_then(Alignment::new) {
            spec.align = Some(align);
            rest = text.get(1..)?;
        }
        spec.plus = take(&mut rest, "+");
        // Rust takes a minus sign, which means nothing.
        let _ = !spec.plus && take(&mut rest, "-");
        spec.alternate = take(&mut rest, "#");
        spec.zero = take(&mut rest, "0");
        spec.width = count(&mut rest)?;
        if take(&mut rest, ".") {
            spec.precision = Some(count(&mut rest)??);
        }
        spec.kind = FormatTrait::new(rest)?;
        Some(spec)
    }
}

/// Takes `text` from the start of `rest`, if it is there.
fn take(rest: &mut &str, text: &str) -> bool {
    rest.strip_prefix(text).is_some_and(|behind| {
        *rest = behind;
        true
    })
}

/// The number at the start of `rest`: `None` inside if there is no digit, outside if it is too large.
#[allow(clippy::option_option, reason = "no number and a number that is too large differ")]
fn count(rest: &mut &str) -> Option<Option<u16>> {
    let end = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, behind) = rest.split_at_checked(end)?;
    *rest = behind;
    if digits.is_empty() {
        return Some(None);
    }
    digits.parse().ok().map(Some)
}

impl Alignment {
    fn new(letter: char) -> Option<Self> {
        match letter {
            '<' => Some(Self::Left),
            '^' => Some(Self::Center),
            '>' => Some(Self::Right),
            _ => None,
        }
    }
}

impl FormatTrait {
    fn new(text: &str) -> Option<Self> {
        Some(match text {
            "" => Self::Display,
            "?" => Self::Debug,
            "x?" => Self::DebugLowerHex,
            "X?" => Self::DebugUpperHex,
            "x" => Self::LowerHex,
            "X" => Self::UpperHex,
            "o" => Self::Octal,
            "b" => Self::Binary,
            "e" => Self::LowerExp,
            "E" => Self::UpperExp,
            "p" => Self::Pointer,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn paths(inner: &str) -> Option<Vec<Vec<&str>>> {
        match value_form(inner.as_bytes())? {
            ValueForm::Members(paths) => Some(paths.iter().map(|path| path.members().collect()).collect()),
            ValueForm::Whole | ValueForm::Levels(_) | ValueForm::Formatted(_) => None,
        }
    }

    #[test]
    fn whole_values_and_levels_are_read() {
        assert_eq!(value_form(b""), Some(ValueForm::Whole));
        assert_eq!(value_form(b"*"), Some(ValueForm::Levels(1)));
        assert_eq!(value_form(b"*********"), Some(ValueForm::Levels(9)));
        for text in ["**********", "* *", " *", " ", "*,a", "a,*", "*.a"] {
            assert_eq!(value_form(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn members_are_paths_of_names_and_numbers() {
        assert_eq!(paths("tag"), Some([["tag"].into()].into()));
        assert_eq!(
            paths("tag, owner.name ,0.x"),
            Some([["tag"].into(), ["owner", "name"].into(), ["0", "x"].into()].into())
        );
        assert_eq!(paths("_a1.\u{e9}t\u{e9}.$b.12"), Some([["_a1", "\u{e9}t\u{e9}", "$b", "12"].into()].into()));
        for text in ["a,", ",a", "a,,b", "a.", ".a", "a..b", "a b", "a. b", "1a", "a-b", "a=1", "a->b", "a[0]", "\ta"] {
            assert_eq!(value_form(text.as_bytes()), None, "{text}");
        }
        assert_eq!(value_form(b"\xff"), None);
    }

    #[test]
    fn mistakes_are_found_where_they_are() {
        fn of(format: &str) -> Option<(&str, MistakeKind)> {
            mistake(format.as_bytes(), 2).map(|mistake| (&format[mistake.range], mistake.kind))
        }
        assert_eq!(of("%p{a, b..c}"), Some((" b..c", MistakeKind::Path)));
        assert_eq!(of("%p{a,}"), Some(("a,", MistakeKind::Path)));
        assert_eq!(of("%p{a b}"), Some(("a b", MistakeKind::Path)));
        assert_eq!(of("%p{a,*}"), Some(("*", MistakeKind::Path)));
        assert_eq!(of("%p{**********}"), Some(("**********", MistakeKind::Levels)));
        assert_eq!(of("%p{:>1$}"), Some((":>1$", MistakeKind::Specification)));
        for text in
            ["%p{}", "%p{a}", "%p{:>8}", "%p{ }", "%p{", "%p{a=1}", "%p{a-b}", "%p {a b}", "%p{\"a\"}", "%p{a%d}"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn rusts_specifications_are_read() {
        let plain = FormatSpec::default();
        let reads =
            |text: &str, spec| assert_eq!(value_form(text.as_bytes()), Some(ValueForm::Formatted(spec)), "{text}");
        reads(":", plain);
        reads(":-", plain);
        reads(":>8", FormatSpec { align: Some(Alignment::Right), width: Some(8), ..plain });
        reads(
            ":\u{e9}^+#09.3e",
            FormatSpec {
                fill: '\u{e9}',
                align: Some(Alignment::Center),
                plus: true,
                alternate: true,
                zero: true,
                width: Some(9),
                precision: Some(3),
                kind: FormatTrait::LowerExp,
            },
        );
        reads(":<<", FormatSpec { fill: '<', align: Some(Alignment::Left), ..plain });
        reads(":.0", FormatSpec { precision: Some(0), ..plain });
        reads(":0", FormatSpec { zero: true, ..plain });
        reads(":08x", FormatSpec { zero: true, width: Some(8), kind: FormatTrait::LowerHex, ..plain });
        reads(":#?", FormatSpec { alternate: true, kind: FormatTrait::Debug, ..plain });
        for (letters, kind) in [
            ("?", FormatTrait::Debug),
            ("x?", FormatTrait::DebugLowerHex),
            ("X?", FormatTrait::DebugUpperHex),
            ("x", FormatTrait::LowerHex),
            ("X", FormatTrait::UpperHex),
            ("o", FormatTrait::Octal),
            ("b", FormatTrait::Binary),
            ("e", FormatTrait::LowerExp),
            ("E", FormatTrait::UpperExp),
            ("p", FormatTrait::Pointer),
        ] {
            assert_eq!(FormatSpec::new(letters), Some(FormatSpec { kind, ..plain }));
        }
        for text in [":y", ":?x", ":1$", ":w$", ":.*", ":.", ":*", ":65536", ":.65536", ":+-", ": ", ":? ", ":{<", "::"]
        {
            assert_eq!(value_form(text.as_bytes()), None, "{text}");
        }
        reads(":65535", FormatSpec { width: Some(65535), ..plain });
    }
}
