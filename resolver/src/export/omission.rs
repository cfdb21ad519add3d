//! What an export leaves out, and why, as data. `english::export` renders it.

use std::sync::Arc;

use super::Tool;
use crate::Error;
use crate::address::Vaddr;
use crate::image::ImageKind;
use crate::location::{PartError, Register};
use crate::resolve::{Architecture, Exactness, ExactnessReason, ProbeReason, Reason, Survival, SwitchProblem, Verdict};

/// Why an image cannot be exported at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportError {
    /// The image is not an executable or a shared object.
    Kind(ImageKind),
    /// The tool's export does not support the processor.
    Processor {
        /// The processor of the image.
        processor: Architecture,
        /// The processors that are supported.
        supported: Vec<Architecture>,
    },
    /// The image is big-endian.
    BigEndian,
    /// The tool does not accept some character of the image's path.
    Path(Tool),
    /// The path has control characters.
    ControlCharacters,
    /// The bytes of the image cannot be read.
    Unreadable(Error),
    /// SDT notes can only be added to 64-bit ELF images.
    Not64Bit,
    /// The section headers of the image are malformed.
    SectionHeaders,
    /// The image has no section headers, or 65,024 or more.
    SectionCount,
}

/// Why a marker or a site is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SiteOmission {
    /// The marker has no site; its survival, `None` if that is unknown.
    NoSite(Option<Survival>),
    /// The site is in a relocatable object, which has no addresses.
    Relocatable,
    /// The linker discarded the site.
    Discarded,
    /// The file has no byte for the address.
    NotInFile,
    /// A probe may fire where the marker is not passed.
    NotExact {
        /// The exactness of the site.
        exactness: Exactness,
        /// Why it is not exact; `None` if nothing more is known.
        reason: Option<ExactnessReason>,
    },
    /// What a uprobe does at the instruction is unknown.
    UnknownProbe,
    /// The kernel accepts a uprobe at the instruction, and it does not work.
    ProbeMisbehaves(Option<ProbeReason>),
    /// The kernel refuses a uprobe at the instruction.
    ProbeRefused(Option<ProbeReason>),
    /// The switch of a probe cannot be armed.
    Switch(SwitchProblem),
    /// The address overflows.
    AddressOverflow,
    /// The marker's format is malformed.
    MalformedFormat,
    /// No symbol covers the address, and the tool needs one.
    NoSymbol(Tool),
    /// The image has no symbol of a function by which gdb can find out where it is loaded.
    NoAnchor,
    /// The site is in another segment than the first one, and one `.stapsdt.base` serves one segment.
    OtherSegment,
}

/// Why an argument is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentOmission {
    /// It was not resolved.
    Unresolved(Option<Reason>),
    /// It cannot be read at the site.
    Unavailable(Verdict, Option<Reason>),
    /// It may have another value than in the source.
    Doubtful(Option<Reason>),
    /// Its location is unknown.
    NoLocation,
    /// It is a text of wide characters (`%ls`).
    WideText,
    /// It is a whole value (`%p{}`), which the tool does not show.
    WholeValue(Tool),
    /// It is a whole value that is not in memory, and the tool shows only those that are.
    NotInMemory(Tool),
    /// It is a whole value of a type that the tool cannot find by a name.
    NoTypeName(Tool),
    /// The conversion of a value of this type is not supported.
    Conversion {
        /// The letter of the conversion.
        letter: char,
        /// The name of the type.
        type_name: Arc<str>,
    },
    /// References are nested too deeply.
    TooManyReferences,
    /// The characters of a text are not in memory.
    TextNotInMemory,
    /// A text starts at an offset that the tool cannot add.
    TextAtOffset,
    /// The pointer or the length of a text does not have 8 bytes.
    TextParts,
    /// It is a reference of unknown size.
    ReferenceSize,
    /// It is a number of unsupported size, in bytes.
    NumberSize(u64),
    /// It is a floating-point number of unsupported size, in bytes.
    FloatSize(u8),
    /// Its size is unknown.
    UnknownSize,
    /// Its location computes fewer bits than its type has.
    NarrowComputation,
    /// The pointer was optimised out. Only the value that it pointed to is described.
    ImplicitPointer,
    /// It was optimised out.
    OptimizedOut,
    /// It is in a register that programs of the kernel cannot read.
    UnreadRegister,
    /// A part of it has no single location.
    Part(PartError),
    /// It is a floating-point number, which the tool does not support.
    Float(Tool),
    /// It is computed with floating-point numbers.
    FloatComputation,
    /// It is thread-local.
    ThreadLocal,
    /// It is computed, and the tool only reads registers and memory.
    Computed(Tool),
    /// Its address is computed, and the tool has no syntax for it.
    ComputedAddress,
    /// It is at a fixed address, and the tool has no syntax for it.
    FixedAddress,
    /// It is an address, and the tool cannot compute addresses.
    Address,
    /// The tool cannot read the register that it is in.
    Register(Tool, Register, crate::location::Processor),
    /// It is a floating-point number in a general register, which gdb takes for an integer.
    FloatInRegister(Register, crate::location::Processor),
    /// The tool has no such conversion.
    NoConversion(Tool, char),
    /// The tool prints ASCII characters only.
    NonAscii(Tool),
    /// Its computation is too long.
    LongComputation,
    /// Its computation reads this many bytes at once.
    ReadSize(u8),
    /// Its computation takes an absolute value.
    AbsoluteValue,
    /// Its computation divides.
    Division,
    /// Its computation compares.
    Comparison,
    /// Its computation shifts by a value that is not constant.
    VariableShift,
    /// Its computation shifts by the width of the value or more.
    WideShift,
    /// It needs more reads of memory through one another than the kernel supports.
    TooManyReads(u32),
    /// Its definition is longer than the kernel accepts.
    LongDefinition {
        /// The definition.
        definition: String,
        /// The limit, in characters.
        limit: usize,
    },
    /// The kernel accepts no more arguments in a line.
    TooManyArguments,
}

impl From<PartError> for ArgumentOmission {
    fn from(error: PartError) -> Self {
        Self::Part(error)
    }
}

impl std::error::Error for ExportError {}

/// What a copy with SDT notes leaves out, or what its readers get wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A site is left out.
    Site {
        /// The marker.
        marker: Arc<str>,
        /// The address of the site, or `nowhere`.
        place: String,
        /// Why.
        why: SiteOmission,
    },
    /// An argument and those after it are left out.
    Arguments {
        /// The marker.
        marker: Arc<str>,
        /// The address of the probe.
        at: Vaddr,
        /// The first argument that is left out, as written.
        from: Arc<str>,
        /// Why.
        why: ArgumentOmission,
    },
    /// The image has a `.stapsdt.base` in another segment than the markers.
    BaseInOtherSegment,
}
