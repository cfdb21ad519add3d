//! Why an argument has its verdict: closed enums with their data. `english/arguments.rs` renders
//! them.

use std::ops::Range;
use std::sync::Arc;

use strum::VariantNames as _;

use crate::arch::returned_value::ResultProblem;
use crate::dwarf::{EntryValue, NoSuchPart, Unsupported};
use crate::location::operand::OperandProblem;
use crate::location::{Location, PartProblem};

use super::place::PlaceError;

/// Why an argument is not readable, or not in full.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Unsupported: the text of the argument is not a place that can be looked up.
    NotAPlace(PlaceError),
    /// Undescribed: the debug information of the marker's unit describes lines and no variables.
    LinesOnly,
    /// Absent: the debug information describes no function at the site.
    NoScope,
    /// Absent: the debug information describes the code at the site as part of other functions than
    /// the marker's.
    OtherFunctions,
    /// Absent: no variable of that name is in scope.
    NoVariable {
        /// The name.
        name: Arc<str>,
        /// Similar names in scope.
        similar: Vec<Arc<str>>,
    },
    /// Absent: the variable is declared only after the marker.
    DeclaredLater {
        /// The name.
        name: Arc<str>,
        /// The line that declares it, from 1.
        line: u32,
    },
    /// Unsupported: a structured binding whose names are not described, as those by LLVM before version
    /// 17, may have that name.
    UnnamedBinding {
        /// The name.
        name: Arc<str>,
        /// The line that declares it, from 1.
        line: u32,
    },
    /// Unsupported: a cast to a type that the unit of the marker does not describe.
    NoType {
        /// The name of the type.
        name: Arc<str>,
    },
    /// Unsupported: a cast that does not only convert integers and pointers.
    Cast {
        /// The type of the value.
        from: Arc<str>,
        /// The type that it is cast to.
        to: Arc<str>,
    },
    /// Absent: the type has no such member, element or target.
    NoSuchPart(NoSuchPart),
    /// Unsupported: several variables have that name, and nothing tells which one is meant.
    SeveralVariables {
        /// The name.
        name: Arc<str>,
        /// How many there are.
        count: usize,
    },
    /// Unsupported: the variable belongs to the function around the marker's, which has another
    /// frame.
    OtherFrame,
    /// Absent: the function returns nothing.
    ReturnsNothing,
    /// Absent or unsupported: there is no result at the site, or it is not known where.
    Result(ResultProblem),
    /// Unsupported: the debug information describes it in a way that is not supported.
    Unsupported(Unsupported),
    /// Unsupported: the operand of a note does not say where the value is.
    Operand {
        /// The operand.
        operand: Arc<str>,
        /// Why not.
        problem: OperandProblem,
    },
    /// Unsupported: the value is in several places that no single computation can join.
    Scattered(PartProblem),
    /// Unsupported: part of a register, or a bit-field, of a big-endian processor.
    BigEndianPart,
    /// Unsupported: a pointer of known bytes on a big-endian processor.
    BigEndianPointer,
    /// Unsupported: the pointer has more than 255 bytes.
    WidePointer,
    /// Unsupported: the offset of a member has more than 63 bits.
    WideOffset,
    /// Unsupported: the computation has too many steps.
    TooManySteps,
    /// Unsupported: too many pointers are on the way to a member.
    TooManyPointers {
        /// The most that are followed.
        most: usize,
    },
    /// Unsupported: the implicit pointer points before the start of its variable.
    BeforeVariable,
    /// Unsupported: the debug information cannot be read.
    DebugInfo {
        /// What the error says.
        message: Arc<str>,
    },
    /// Entry: known only by a value at the entry of the function, which was overwritten since.
    EntryValue {
        /// The value.
        value: EntryValue,
        /// The value as the assembler and C write it.
        text: Arc<str>,
    },
    /// Lost: it has a location elsewhere, not at the site.
    NotDescribedHere {
        /// The nearest address range with a location; `None` if there is none.
        nearest: Option<Nearest>,
    },
    /// Lost: the debug information describes no location of the variable anywhere.
    NeverDescribed,
    /// Lost: the variable has no address, because the linker dropped it or another object defines
    /// it.
    NoAddress,
    /// Lost: the part was optimised out.
    OptimizedOut,
    /// Lost: a pointer on the way was optimised out.
    PointerOptimizedOut,
    /// Lost: the pointer was optimised out. The value that it would point at may be readable.
    ImplicitPointer,
    /// Lost: the debug information describes no piece of the value.
    NoPiece,
    /// Lost: the value is not in memory, so it has no address.
    NotInMemory,
    /// Partial: some bytes were optimised out.
    MissingBytes {
        /// Which bytes, counted from the first of the value.
        bytes: Vec<Range<u64>>,
        /// The members that have one of them, as [`members_at`](crate::types::members_at) names them.
        /// Empty for a value without members.
        members: Vec<String>,
    },
    /// Live: the size of the type is not described.
    NoSize,
    /// Doubtful: one location ends at the site and another begins there. Nothing tells whether the
    /// variable changes before the marker or after it.
    Replaced {
        /// Where the argument is if the variable changes after the marker; `None` if it cannot be
        /// read there.
        before: Option<Location>,
        /// That place as the assembler and C write it.
        text: Option<Arc<str>>,
    },
    /// Doubtful: its location begins at the site. Nothing tells whether the variable changes before
    /// the marker or after it.
    BeginsHere,
    /// Doubtful: the compiler describes the value as a computation of other values, and such
    /// descriptions by this compiler were wrong.
    Computed,
    /// Doubtful: the memory is overwritten after the site, and nothing reads it before. The
    /// compiler may have dropped or delayed the store before the marker.
    OverwrittenUnread {
        /// The address of an instruction that overwrites it.
        at: u64,
    },
    /// Doubtful: nothing reads the memory after the site. The compiler may have dropped the store
    /// before the marker.
    NeverReadAgain,
    /// Doubtful: an assignment before the marker has its instruction after the site.
    AssignedLate {
        /// The address of the instruction.
        at: u64,
    },
    /// Doubtful: a loop assigns the parameter at its end. If the loop was a recursion, the value may
    /// be that of another call.
    ParameterInLoop,
    /// Doubtful: the function keeps the parameter in its frame too, and stores another value there.
    /// The register still has the value of the entry.
    StoredOver {
        /// The address of an instruction that stores it.
        at: u64,
    },
    /// Doubtful: its location begins where the same location of a variable begins that is declared
    /// later. It was assigned the other one, before the marker or after it.
    CopiedFrom {
        /// The name of the other variable.
        name: Arc<str>,
    },
    /// Doubtful: it is described as a constant, and the code also leads here from an instruction
    /// where it is described as another constant or, behind a jump back, in another place.
    OtherConstant {
        /// The address of that instruction.
        from: u64,
    },
    /// Doubtful: it is in a register of a loop, and the code also leads here from an instruction where it is
    /// described as that register plus a constant. No instruction changes the register between.
    OtherOffset {
        /// The address of that instruction.
        from: u64,
    },
    /// Doubtful: a loop adds a constant to its register, and the code uses the value before that too. The
    /// register may be a step ahead.
    StepAhead {
        /// The address of the instruction that adds it.
        at: u64,
    },
    /// Doubtful: a copy of the marker before or behind this one has the same constant, while the constant
    /// changes from copy to copy. One of the two has that of the other.
    SameInCopy {
        /// The address of the other copy; in a relocatable object the offset in its section.
        other: u64,
    },
    /// Doubtful: on a way to the site, a call overwrites the register, and the location does not go on over
    /// the call.
    Overwritten {
        /// The address of the call.
        at: u64,
    },
    /// Doubtful: it is described as a constant over the code of an inlined function that had a pointer to
    /// its type. That may have written it.
    WrittenInlined,
    /// Doubtful: it is behind a pointer into the frame, and nothing shows that the frame has such an
    /// object there. The compiler may mean the pointer in that word.
    NotInFrame,
    /// Doubtful: gcc did not track where the variable is, or any of the function, and describes it for
    /// all of its scope in a place that has other values too.
    NotTracked,
    /// Doubtful: it is in memory, and the code after the site could not be followed to see whether
    /// it is read again.
    CodeNotFollowed,
}

/// The nearest address range in which a variable has a location, seen from a site outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nearest {
    /// It begins after the site.
    Begins {
        /// Bytes from the site to its start.
        after: u64,
    },
    /// It ends at the site or before it.
    Ends {
        /// Bytes from its end to the site; 0 if it ends at the site.
        before: u64,
    },
}

impl Reason {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// The names of all reasons for a doubt, in the order of their documentation.
    #[must_use]
    pub fn doubts() -> &'static [&'static str] {
        // They are the last reasons.
        let first = Self::VARIANTS.iter().position(|name| *name == "replaced");
        first.and_then(|first| Self::VARIANTS.get(first..)).unwrap_or_default()
    }

    /// The name of a reason for a doubt, in any case; `None` if there is no such reason.
    #[must_use]
    pub fn doubt(name: &str) -> Option<&'static str> {
        Self::doubts().iter().find(|doubt| doubt.eq_ignore_ascii_case(name)).copied()
    }
}

impl Reason {
    /// The same with other addresses of instructions.
    pub(super) fn with_addresses(mut self, changed: impl Fn(u64) -> u64) -> Self {
        match &mut self {
            Self::OverwrittenUnread { at }
            | Self::AssignedLate { at }
            | Self::StoredOver { at }
            | Self::OtherConstant { from: at }
            | Self::OtherOffset { from: at }
            | Self::StepAhead { at }
            | Self::Overwritten { at } => *at = changed(*at),
            _ => {}
        }
        self
    }

    /// Whether the location of the argument changes at the site, so that an instruction of the
    /// marker would part the two values.
    #[must_use]
    pub fn is_change_at_site(&self) -> bool {
        matches!(self, Self::Replaced { .. } | Self::BeginsHere)
    }

    /// Where the argument is if it changes only after the marker, as the assembler and C write it;
    /// `None` if the reason is another one, or if it cannot be read there.
    #[must_use]
    pub fn location_before(&self) -> Option<&str> {
        match self {
            Self::Replaced { text, .. } => text.as_deref(),
            _ => None,
        }
    }
}
