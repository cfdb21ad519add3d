//! How an argument is read that is only known as what registers had when the function of its frame was
//! entered: plain values (`docs/live.md`, "Values at the entry").

use std::sync::Arc;

use strum::IntoStaticStr;

use super::pc::Pc;
use super::{ProbeReason, ProbeVerdict, Reason, SitePlace};
use crate::address::FileOffset;
use crate::location::{Expr, Location};

/// How a second probe reads an argument at the entry of its function.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryReading {
    /// It reads the argument.
    Readable {
        /// Where the argument is, with values of the entry ([`Node::AtEntry`](crate::location::Node::AtEntry)).
        location: Location,
        /// The location as the assembler and C write it.
        location_text: Arc<str>,
    },
    /// It does not.
    Refused(EntryProblem),
}

/// Why no second probe reads an argument at the entry of its function.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum EntryProblem {
    /// The value may be another one than in the source.
    #[strum(serialize = "doubtful")]
    Doubtful(Box<Reason>),
    /// The code of the function is not known, or it may lead back to the first instruction.
    CodeUnknown,
    /// Call frame information does not say what the stack pointer was at the entry.
    NoCallFrame,
    /// No probe can be put at the entry, for a reason that may be known.
    NoProbe(Option<ProbeReason>),
}

impl EntryProblem {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

/// The entry of the function of a frame, where a second probe reads arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameEntry {
    /// Where the function is entered.
    pub place: SitePlace,
    /// Where that is in the file; `None` if the file has no byte for it.
    pub file_offset: Option<FileOffset>,
    /// The function; `None` if nothing names it.
    pub function: Option<Arc<str>>,
    /// What a probe there does. The registers that are read are the same at its best address.
    pub probe: ProbeVerdict,
    /// The stack pointer, read at the entry.
    pub entry_stack_pointer: Expr,
    /// At the site, the stack pointer as it was at the entry. It tells the frames of the function apart.
    pub stack_pointer: Expr,
}

/// The same before its place in the file is known.
#[derive(Clone, Debug)]
pub(super) struct FoundEntry {
    pub(super) pc: Pc,
    pub(super) probe: ProbeVerdict,
    pub(super) entry_stack_pointer: Expr,
    pub(super) stack_pointer: Expr,
}

impl EntryReading {
    /// Why the argument is not read; `None` if it is.
    #[must_use]
    pub fn problem(&self) -> Option<&EntryProblem> {
        match self {
            Self::Readable { .. } => None,
            Self::Refused(problem) => Some(problem),
        }
    }

    /// Where the argument is, as the assembler and C write it; `None` if it is not read.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Readable { location_text, .. } => Some(location_text),
            Self::Refused(_) => None,
        }
    }

    /// Where the argument is, with values of the entry; `None` if it is not read.
    #[must_use]
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Readable { location, .. } => Some(location),
            Self::Refused(_) => None,
        }
    }
}
