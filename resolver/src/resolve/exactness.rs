//! Whether a probe at a site is exact, and why: plain values (`docs/design.md`, "Exactness").

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

pub use crate::code::EdgeKind;
use crate::dwarf::ExceptionTableProblem;
use crate::verdicts::Code;

/// Whether a probe at a site fires exactly when the marker is passed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray, Serialize, Deserialize,
)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Exactness {
    /// It does.
    Exact,
    /// It most likely does. The place is a fact of the debug information alone, which does not prove
    /// it: that of a ghost, or of a line that a user named.
    Likely,
    /// The address has two or more predecessors, so the probe may also fire on a path without the
    /// marker. Or several copies of the marker are there, and it fires once for all of them.
    /// [`Site::exactness_reason`](super::Site::exactness_reason) says which.
    Shared,
    /// A hit may stand for several passes, or some passes have no hit: the compiler unrolled or
    /// vectorised the code of a ghost, or merged copies of it.
    Approximate,
    /// Markers of different functions are at the address, because the linker folded the functions.
    Folded,
    /// The address is in no function, or not in the marker's: there is nothing to probe.
    Outside,
    /// Not known.
    Unproven,
}

impl Exactness {
    /// The word for the verdict in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The code of the verdict, stable over versions (`docs/verdicts.md`).
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Exact => Code::Exact,
            Self::Likely => Code::Likely,
            Self::Shared => Code::Shared,
            Self::Approximate => Code::Approximate,
            Self::Folded => Code::Folded,
            Self::Outside => Code::Outside,
            Self::Unproven => Code::Unproven,
        }
    }
}

/// Why a site has its [`Exactness`]. `Display` gives the sentence.
///
/// Addresses are link-time addresses, in a relocatable object offsets in the site's section.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum ExactnessReason {
    /// Exact: the instruction there is the marker's own.
    Anchored,
    /// Exact: the function is entered there, and nothing else leads there.
    Entry,
    /// Exact: the preceding instruction continues there, and nothing else leads there.
    FallThrough,
    /// Exact: one branch leads there, and nothing else.
    OnePredecessor,
    /// Likely: the place of a ghost, and why it is not proven.
    #[strum(transparent)]
    Likely(LikelyReason),
    /// Approximate: the place of a ghost, and why its hits are not its passes.
    #[strum(transparent)]
    Approximate(ApproximateReason),
    /// The place that a user named, and what is known of it.
    #[strum(transparent)]
    Mark(MarkReason),
    /// Shared: the address has several predecessors, and not all of them need pass the marker.
    SeveralPredecessors {
        /// How many are known; [`Site::predecessors`](super::Site::predecessors) lists at most 64.
        count: usize,
    },
    /// Shared: copies of the marker are at the address, and a probe fires once for all of them.
    SeveralCopies {
        /// How many.
        copies: u32,
    },
    /// Unproven: records of the marker are at the address. They are copies in a row, or the one
    /// copy of a function that several files have.
    SeveralRecords {
        /// How many.
        records: u32,
    },
    /// Shared or unproven for a reason of its own, and several records of the marker are there as
    /// well.
    AndSeveralRecords {
        /// The first reason.
        reason: Box<ExactnessReason>,
        /// How many records.
        records: u32,
    },
    /// Folded: markers of different functions are at the address.
    FoldedMarkers,
    /// Folded: the linker folded functions, and a probe fires for each.
    FoldedFunctions {
        /// The functions.
        functions: FunctionNames,
    },
    /// Unproven: the linker folded functions, and not all of them need pass the marker.
    FoldedFunctionsMayDiffer {
        /// The functions.
        functions: FunctionNames,
    },
    /// Unproven: names at one address. They are names of one function, or of functions that the
    /// linker folded.
    SeveralNames {
        /// The names.
        functions: FunctionNames,
    },
    /// Unproven: it is not known whether the linker folded the function with another one.
    #[strum(transparent)]
    FoldingUnknown(FoldingUnknown),
    /// Outside: the marker's function ends before the address.
    FunctionEnds,
    /// Outside: this function ends before the address, and no other one holds it.
    NamedFunctionEnds {
        /// The function's name, demangled.
        function: Arc<str>,
    },
    /// Outside: the address is behind the last instruction of its section.
    SectionEnds,
    /// Unproven: some bytes of the function are no instruction.
    Undecoded {
        /// Where they are.
        address: u64,
    },
    /// Unproven: the address is in the middle of an instruction.
    InsideInstruction,
    /// Unproven: an indirect jump may lead there.
    IndirectJump {
        /// Where the jump is.
        address: u64,
    },
    /// Unproven: no known edge leads there.
    NoPredecessor,
    /// Unproven: the debug information has another function than the marker's at the address.
    AnotherFunction,
    /// Unproven: the landing pads of the function are not known.
    LandingPadsUnknown {
        /// Why not; `None` if there is no call frame information that can be read.
        why: Option<ExceptionTableProblem>,
    },
    /// Unproven: what the kernel patches is not known.
    #[strum(transparent)]
    PatchesUnknown(PatchesUnknown),
    /// Unproven: the kernel may replace the instructions there by others.
    ReplacedInstructions,
    /// Unproven: no symbol and no debug information says which function the address is in.
    NoFunction,
    /// Unproven: one function ends and another starts at the address, and no debug information says
    /// which one has the marker.
    BetweenFunctions {
        /// The one that ends, demangled.
        before: Arc<str>,
    },
    /// Unproven: the symbol of the function has no size.
    SymbolWithoutSize,
    /// Unproven: the address is in a part that was split off a function, and it is not known from
    /// which.
    PartOfUnknown,
    /// Unproven: there is no debug information.
    NoDebugInfo,
    /// Unproven: the debug information cannot be read.
    DebugInfo {
        /// What the error says.
        message: Arc<str>,
    },
    /// Unproven: the debug information has no code for the function.
    NoCode,
    /// Unproven: functions claim more code than the image has.
    TooMuchCode,
    /// Unproven: not all of the function is in the file.
    CodeNotInFile,
}

impl ExactnessReason {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AndSeveralRecords { reason, .. } => reason.name(),
            _ => self.into(),
        }
    }
}

/// What is known of the place of a line or of an inlined function that a user named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case", prefix = "mark_")]
#[non_exhaustive]
pub enum MarkReason {
    /// Exact: the code of the line begins there, and was compiled without optimisation.
    Begins,
    /// Exact: the instruction there leaves the function.
    Leaves,
    /// Likely: the code of the line begins there, as far as the line table says. The optimiser may have
    /// moved it. `docs/measured/marks.md` has how often such lines are hit as often as passed.
    MayBeMoved,
    /// Likely: the code of an inlined function begins there. The optimiser may have moved it, and a copy
    /// without code leaves no trace.
    Inlined,
    /// Approximate: the function is left there, and may be left elsewhere too, because not all of its code could
    /// be followed.
    MayLeaveElsewhere,
    /// Approximate: code of the line, or of the inlined function, leads back to where it begins.
    Repeats,
    /// Approximate: the line has code in several places of one function: parts of it, or copies.
    SeveralPlaces {
        /// How many.
        count: u32,
    },
    /// Approximate: it is in a closure that begins on the line, and the line has no other code.
    Closure,
    /// Approximate: no statement begins on the line. What is there is part of another one.
    NoStatement,
    /// Approximate: the optimiser left no code of the line. It is the next line of the block that has some.
    OtherLine,
    /// Approximate: code of the line runs on a way that avoids the places where the line begins.
    CodeElsewhere,
    /// Approximate: a way that avoids the places leads to the statements inside that of the line, or to
    /// those beside it.
    WayAround,
    /// Approximate: so many copies of the function have code, and none of the line.
    MissingCopies {
        /// How many.
        count: u32,
    },
    /// Unproven: the code of the function could not be followed.
    CodeUnknown,
}

impl MarkReason {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The verdict for which it is the reason.
    #[must_use]
    pub fn exactness(self) -> Exactness {
        match self {
            Self::Begins | Self::Leaves => Exactness::Exact,
            Self::MayBeMoved | Self::Inlined => Exactness::Likely,
            Self::MayLeaveElsewhere
            | Self::Repeats
            | Self::SeveralPlaces { .. }
            | Self::Closure
            | Self::NoStatement
            | Self::OtherLine
            | Self::CodeElsewhere
            | Self::WayAround
            | Self::MissingCopies { .. } => Exactness::Approximate,
            Self::CodeUnknown => Exactness::Unproven,
        }
    }
}

/// Why the place of a ghost is likely, and not exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case", prefix = "likely_")]
#[non_exhaustive]
pub enum LikelyReason {
    /// It has a label, which the optimiser may have moved; and code that it copied has one label.
    Label,
    /// The optimiser at link time may have moved the label.
    LinkTime,
    /// It has a label where its function is inlined. An inlined copy that has no code left is in no
    /// debug information, and its passes have no hit.
    Inlined,
    /// The compiler may have removed the code behind the ghost on some ways, and kept it on others.
    RemovableCode,
    /// Copies of the function are inlined where the ghost has no place: their passes have no hit.
    MissingCopies {
        /// How many are known.
        count: u32,
    },
    /// The place is that of a statement in the line table, which gcc may have moved. In generated
    /// programs, 93 of 100 such ghosts were hit as often as passed.
    Statement,
}

impl LikelyReason {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why the hits at the place of a ghost are not its passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case", prefix = "approximate_")]
#[non_exhaustive]
pub enum ApproximateReason {
    /// The line that follows the ghost has code in several places of the function: they may be copies
    /// of the code around the ghost.
    RepeatedLine {
        /// How many places.
        places: u32,
    },
    /// The ghost's statement has several copies in its function: the compiler unrolled a loop, or
    /// copied code.
    RepeatedStatement {
        /// How many copies are in the function.
        copies: u32,
    },
    /// Copies of the function are inlined where the ghost has no place.
    MissingCopies {
        /// How many are known.
        count: u32,
    },
    /// The ghost's statement is in straight code behind a statement that begins further left: a branch
    /// that led to the ghost may be gone.
    StraightCode,
    /// The code before the ghost's statement is of no statement of its function: it was moved there.
    MovedCode,
    /// Several ways lead to the ghost's statement, and it may be missing on others.
    SeveralWays,
    /// The code behind the ghost is entered in several places.
    SeveralEntries {
        /// How many places.
        entries: u32,
    },
    /// The code behind the ghost begins with a loop: each of its passes is a hit.
    Loop,
    /// Nothing follows the ghost in its block, and the place is that where control leaves the block.
    NothingFollows,
    /// Nothing follows the ghost in its block, and control leaves the block in several places.
    SeveralExits {
        /// How many places.
        exits: u32,
    },
    /// Nothing follows the ghost in its block, and other ways also lead to where control leaves it.
    SharedExit,
    /// The label of the ghost is inside the code of a statement, which may be several copies of one
    /// piece of code.
    InsideStatement,
    /// The label of the ghost is at a branch of a statement before the ghost.
    EarlierBranch,
    /// The ghost's function is inlined there. Other ways lead there, too, and an inlined copy that has
    /// no code left is in no debug information.
    SharedInlined,
}

impl ApproximateReason {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Names of functions, demangled: the first few, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionNames {
    /// The first ones; the one that the linker kept is the first of all.
    pub first: Arc<[Arc<str>]>,
    /// How many there are, those of `first` included.
    pub count: usize,
}

/// Why it is not known whether the linker folded a function with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case", prefix = "folding_unknown_")]
#[non_exhaustive]
pub enum FoldingUnknown {
    /// A function of the same size was dropped, and this linker keeps no symbol of a folded
    /// function.
    SameSizeDropped,
    /// The function has no symbol.
    NoSymbol,
    /// The image has no local symbols.
    NoLocalSymbols,
}

impl FoldingUnknown {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why it is not known what a kernel patches in its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case", prefix = "patches_unknown_")]
#[non_exhaustive]
pub enum PatchesUnknown {
    /// The entries of a table have no known size.
    EntrySize {
        /// The table's section.
        section: &'static str,
    },
    /// A section that a table refers to is not in the file.
    NotInFile {
        /// That section.
        section: &'static str,
    },
    /// What replaces instructions may lead anywhere.
    #[strum(serialize = "replacement")]
    ReplacementLeadsAnywhere {
        /// The link-time address of the replaced instructions.
        address: u64,
    },
}

impl PatchesUnknown {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A known predecessor of a site: an instruction that leads to its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predecessor {
    /// The instruction that leads there, the function's first one where it is entered there: a
    /// link-time address, in a relocatable object an offset in its section.
    pub address: u64,
    /// The source file of that instruction; `None` where the debug information does not say.
    pub file: Option<Arc<str>>,
    /// Its source line, from 1.
    pub line: Option<u32>,
    /// How it leads there.
    pub kind: EdgeKind,
}
