//! The codes of verdicts: `SM` and three digits, stable over versions.
//!
//! [`crate::verdicts`] explains each one. A code that is no longer used is not used again.

use std::fmt;
use std::str::FromStr;

use strum::{IntoStaticStr, VariantArray};

/// The code of a verdict (`docs/verdicts.md`), in the order of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray)]
#[non_exhaustive]
pub enum Code {
    /// SM001: a marker that was compiled and has no copy in the image.
    Eliminated,
    /// SM002: a marker whose functions the linker dropped, all of them.
    Discarded,
    /// SM003: a marker of an image that does not tell whether the marker is in the program.
    UnknownSurvival,
    /// SM010: a site that was found with the line table, on another line than the marker's.
    Nearest,
    /// SM011: a marker without a site record whose line has no place in the line table.
    Unresolved,
    /// SM012: a marker whose file matches several files of the line table.
    Ambiguous,
    /// SM020: a site where a probe fires exactly when the marker is passed.
    Exact,
    /// SM021: a site where a probe may also fire when the marker is not passed.
    Shared,
    /// SM022: a site that markers of different functions share.
    Folded,
    /// SM023: a site outside of the marker's function.
    Outside,
    /// SM024: a site that is not known to be exact.
    Unproven,
    /// SM025: a site of a ghost where a probe most likely fires exactly when the marker is passed.
    Likely,
    /// SM026: a site of a ghost where the hits are not the passes.
    Approximate,
    /// SM027: an exact site where the kernel takes no sound probe, and no other address is as good.
    Refused,
    /// SM030: an argument that is readable.
    Live,
    /// SM031: an argument that is known without reading anything.
    Constant,
    /// SM032: an argument with some bytes optimised out.
    Partial,
    /// SM033: an argument that is known only as the value of a register at the function's entry.
    Entry,
    /// SM034: an argument that was optimised out.
    Lost,
    /// SM035: an argument that names nothing in scope.
    Absent,
    /// SM036: an argument that the debug information describes in a way that is not supported.
    Unsupported,
    /// SM037: an argument at a site without debug information.
    Undescribed,
    /// SM038: an argument that may have another value than in the source.
    Doubtful,
    /// SM039: an argument in a vector register, which tools of the kernel do not read.
    InVectorRegister,
    /// SM040: an argument whose type its conversion does not expect.
    FormatMismatch,
    /// SM050: a name of several markers of an image.
    Duplicate,
    /// SM060: a marker or argument that is in the lock file and not in the program.
    Gone,
    /// SM061: a marker or argument that is in the program and not in the lock file.
    New,
    /// SM062: a marker that has another name in the lock file.
    Renamed,
    /// SM063: an argument whose verdict is below the least that the lock file accepts.
    Worse,
    /// SM064: an argument whose verdict is above the least that the lock file accepts.
    Better,
    /// SM065: a marker that has fewer sites than in the lock file.
    FewerCopies,
    /// SM066: a static probe that is in the lock file and not in the program.
    NoteGone,
    /// SM067: a static probe that has other arguments than in the lock file, or lost its semaphore.
    NoteChanged,
}

/// What a code is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum Group {
    /// Whether a marker is in the image.
    Survival,
    /// Where a site is.
    Place,
    /// Whether a probe at a site fires exactly when the marker is passed.
    Exactness,
    /// What can be read at a site.
    Arguments,
    /// Whether an argument has the type that its conversion expects.
    Format,
    /// Names of markers.
    Names,
    /// What changed since the lock file was written.
    Baseline,
}

impl Group {
    /// The word for the group, as options and reports have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Code {
    /// The code as reports, options and lock files write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.parts().0
    }

    /// The word for the verdict in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.parts().1
    }

    /// What the code is about.
    #[must_use]
    pub fn group(self) -> Group {
        self.parts().2
    }

    /// The one table of codes.
    fn parts(self) -> (&'static str, &'static str, Group) {
        match self {
            Self::Eliminated => ("SM001", "eliminated", Group::Survival),
            Self::Discarded => ("SM002", "discarded", Group::Survival),
            Self::UnknownSurvival => ("SM003", "unknown survival", Group::Survival),
            Self::Nearest => ("SM010", "nearest", Group::Place),
            Self::Unresolved => ("SM011", "unresolved", Group::Place),
            Self::Ambiguous => ("SM012", "ambiguous", Group::Place),
            Self::Exact => ("SM020", "exact", Group::Exactness),
            Self::Shared => ("SM021", "shared", Group::Exactness),
            Self::Folded => ("SM022", "folded", Group::Exactness),
            Self::Outside => ("SM023", "outside", Group::Exactness),
            Self::Unproven => ("SM024", "unproven", Group::Exactness),
            Self::Likely => ("SM025", "likely", Group::Exactness),
            Self::Approximate => ("SM026", "approximate", Group::Exactness),
            Self::Refused => ("SM027", "refused", Group::Exactness),
            Self::Live => ("SM030", "live", Group::Arguments),
            Self::Constant => ("SM031", "constant", Group::Arguments),
            Self::Partial => ("SM032", "partial", Group::Arguments),
            Self::Entry => ("SM033", "entry", Group::Arguments),
            Self::Lost => ("SM034", "lost", Group::Arguments),
            Self::Absent => ("SM035", "absent", Group::Arguments),
            Self::Unsupported => ("SM036", "unsupported", Group::Arguments),
            Self::Undescribed => ("SM037", "undescribed", Group::Arguments),
            Self::Doubtful => ("SM038", "doubtful", Group::Arguments),
            Self::InVectorRegister => ("SM039", "in a vector register", Group::Arguments),
            Self::FormatMismatch => ("SM040", "format mismatch", Group::Format),
            Self::Duplicate => ("SM050", "duplicate", Group::Names),
            Self::Gone => ("SM060", "gone", Group::Baseline),
            Self::New => ("SM061", "new", Group::Baseline),
            Self::Renamed => ("SM062", "renamed", Group::Baseline),
            Self::Worse => ("SM063", "worse", Group::Baseline),
            Self::Better => ("SM064", "better", Group::Baseline),
            Self::FewerCopies => ("SM065", "fewer copies", Group::Baseline),
            Self::NoteGone => ("SM066", "note gone", Group::Baseline),
            Self::NoteChanged => ("SM067", "note changed", Group::Baseline),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that is neither a code nor the name of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no code `{0}`")]
pub struct UnknownCode(pub String);

impl FromStr for Code {
    type Err = UnknownCode;

    /// The code that is written as `text`, or whose name is `text`, in upper or lower case.
    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let is_it = |code: &&Self| code.as_str().eq_ignore_ascii_case(text) || code.name().eq_ignore_ascii_case(text);
        Self::VARIANTS.iter().find(is_it).copied().ok_or_else(|| UnknownCode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_found_by_what_they_are_called() {
        assert!(Code::VARIANTS.is_sorted_by(|one, two| one < two && one.as_str() < two.as_str()));
        for &code in Code::VARIANTS {
            assert_eq!(code.as_str().parse(), Ok(code));
            assert_eq!(code.name().to_ascii_uppercase().parse(), Ok(code));
        }
        assert_eq!("SM999".parse::<Code>(), Err(UnknownCode("SM999".to_owned())));
        assert!(Group::VARIANTS.is_sorted());
    }
}
