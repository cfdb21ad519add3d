//! The verdict on an argument as a lock file accepts it, with its code and its rank.

use crate::resolve::Verdict;
use crate::verdicts::Code;

/// A verdict on an argument, or its absence. It has a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least(Option<Verdict>);

impl Least {
    /// The recorded form of an observed verdict.
    #[must_use]
    pub fn new(verdict: Option<Verdict>) -> Self {
        Self(verdict)
    }

    /// Parses the word of a verdict; `None` for any other word.
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word == Code::Undescribed.name() {
            true => Some(Self(None)),
            false => word.parse().ok().map(Some).map(Self),
        }
    }

    /// The word in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self.0 {
            Some(verdict) => verdict.as_str(),
            None => Code::Undescribed.name(),
        }
    }

    /// Its code.
    #[must_use]
    pub fn code(self) -> Code {
        code_of(self.0)
    }

    /// The rank, 0 for the best. Live and constant rank the same.
    #[must_use]
    pub fn rank(self) -> u8 {
        match self.0 {
            Some(Verdict::Live | Verdict::Constant) => 0,
            Some(Verdict::Partial) => 1,
            Some(Verdict::Doubtful) => 2,
            Some(Verdict::Entry) => 3,
            Some(Verdict::Lost) => 4,
            Some(Verdict::Absent) => 5,
            Some(Verdict::Unsupported) => 6,
            None => 7,
        }
    }
}

/// The code of the verdict on an argument, or of a missing verdict.
pub(super) fn code_of(verdict: Option<Verdict>) -> Code {
    verdict.map_or(Code::Undescribed, Verdict::code)
}
