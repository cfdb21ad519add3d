//! The letters of conversions (C17, 7.21.6.1).

/// A conversion specifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Specifier(u8);

impl Specifier {
    /// All of them, in the order of the table in `docs/section-format.md`.
    pub const ALL: &'static [u8] = b"diuoxXbBcspeEfFgGaA";

    /// The specifier `letter`; `None` if there is no such specifier.
    #[must_use]
    pub fn new(letter: u8) -> Option<Self> {
        Self::ALL.contains(&letter).then_some(Self(letter))
    }

    /// The letter.
    #[must_use]
    pub const fn letter(self) -> char {
        self.0 as char
    }
}
