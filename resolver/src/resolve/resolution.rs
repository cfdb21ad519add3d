//! What resolution finds out: plain values, with public fields. Every command, and a user's own program, reads the same ones.
//!
//! Text is UTF-8; bytes of the image that were not are escaped (`\xNN`).

use std::ops::Range;
use std::sync::Arc;

use super::{Diagnostic, Exactness, ExactnessReason, LineProblem, Mismatch, Predecessor, ProbeVerdict, Reason};
use crate::Error;
use crate::address::{FileOffset, SectionOffset, Vaddr};
use crate::debug_files::DebugSourceKind;
use crate::image::ImageKind;
use crate::location::Location;
use crate::types::{Language, Type};
use crate::verdicts::Code;

/// Everything that was found in the files that were looked at.
///
/// The probe addresses of some markers, and what can be read there (`examples/probe_addresses.rs` is the whole program):
///
/// ```no_run
/// use simple_markers_resolver::resolve::{SitePlace, resolve};
/// use simple_markers_resolver::select::{Field, Selection};
///
/// let path = "drivers/scsi/scsi_mod.ko";
/// let resolution = resolve(path, &std::fs::read(path)?);
/// let mut wanted = Selection::default();
/// wanted.add(Field::Name, "scsi:*")?;
/// for row in resolution.rows().iter().filter(|row| wanted.matches(row)) {
///     for site in &row.sites {
///         let Some(SitePlace::Section { section, offset }) = &site.place else { continue };
///         println!("{} {section}+{offset} in {}", row.marker.name, row.function);
///         for argument in &site.args {
///             println!("  {}: {:?} {:?}", argument.text, argument.verdict, argument.location_text);
///         }
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Resolution {
    /// The images, in the order in which the files were given, and of an archive in its own.
    pub images: Vec<ResolvedImage>,
    /// What could not be read at all.
    pub failures: Vec<Failure>,
}

/// A file, or a member of an archive, that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file, or `archive(member)`.
    pub path: String,
    /// Why.
    pub error: Error,
}

/// One image and its markers.
#[derive(Clone, Debug)]
pub struct ResolvedImage {
    /// The file, or `archive(member)`.
    pub path: String,
    /// The file's name (of an archive: the archive's) without folder and extension.
    pub module: Arc<str>,
    /// The GNU build id in hexadecimal; `None` where the image has none.
    pub build_id: Option<String>,
    /// The architecture as `uname -m` names it, `unknown` where we do not know it.
    pub arch: &'static str,
    /// What the file is.
    pub kind: ImageKind,
    /// Where debug information was read from; `None` where there is none, or none was needed.
    pub debug: Option<DebugSource>,
    /// In the order of their first declarations in the image, then those that have none, in the order of their first sites.
    pub markers: Vec<Marker>,
    /// What is wrong with the image or its records, and what keeps us from an answer.
    pub diagnostics: Vec<Diagnostic>,
}

/// Where the debug information of an image was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugSource {
    /// How it was found.
    pub source: DebugSourceKind,
    /// The file that it is in.
    pub path: String,
    /// The files that parts of it are in, in the order in which they were read; those that no marker needed are not among them.
    pub supplements: Vec<DebugSource>,
}

/// Whether a marker made it into the image (`docs/design.md`, "Survival").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Survival {
    /// At least one site, in a function that is in the image.
    Live,
    /// Declared, no site: the compiler removed every copy, or never instantiated the generic.
    Eliminated,
    /// Sites, all of functions that the linker dropped.
    Discarded,
}

impl Survival {
    /// The word for the verdict in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Eliminated => "eliminated",
            Self::Discarded => "discarded",
        }
    }

    /// The code of the verdict, stable over versions (`docs/verdicts.md`); `None` where nothing is to be found fault with.
    #[must_use]
    pub fn code(self) -> Option<Code> {
        match self {
            Self::Live => None,
            Self::Eliminated => Some(Code::Eliminated),
            Self::Discarded => Some(Code::Discarded),
        }
    }
}

/// One marker: a name, a file and a line.
#[derive(Clone, Debug)]
pub struct Marker {
    /// Number of the marker's first row in a list, from 1 over all images; 0 until [`Resolution::number`] ran.
    pub id: u64,
    /// Its name.
    pub name: Arc<str>,
    /// The source file.
    pub file: Arc<str>,
    /// The source line, from 1.
    pub line: u32,
    /// The source column, from 1; `None` where no site says.
    pub column: Option<u32>,
    /// The printf format.
    pub format: Arc<str>,
    /// The format with each conversion replaced by its argument (`$name`).
    pub description: Arc<str>,
    /// The arguments as written, with their conversions.
    pub args: Arc<[DeclaredArgument]>,
    /// Whether there is a declaration; a site alone makes a marker too.
    pub declared: bool,
    /// The verdict; `None` where the image cannot say, and a diagnostic says why.
    pub survival: Option<Survival>,
    /// Live ones by address, then dead ones.
    pub sites: Vec<Site>,
    /// What became of a marker that has no live site, as far as it is known; `None` for others, and where nothing is.
    pub absence: Option<Absence>,
}

/// What became of a marker that has no live site: what is known, nothing that is only likely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// Its function is in the image, with code on lines before and behind the marker's: the compiler removed what is between.
    DeadBranch {
        /// The function.
        function: Arc<str>,
        /// The nearest line with code of the function that is before the marker, or its declaration.
        before: u32,
        /// The nearest that is behind.
        behind: u32,
    },
    /// The function that is declared last before it has code on lines before it only: the marker was in a part at its end that the compiler
    /// removed, or in a function that was never compiled to code.
    BehindCode {
        /// The function.
        function: Arc<str>,
        /// The last line of its code.
        last: u32,
    },
    /// The function that is declared last before it has no code: it was never used, or only where it came to nothing.
    NoCode {
        /// The function.
        function: Arc<str>,
    },
    /// No function is described that is declared in its file before it: its own was never compiled to code.
    NotCompiled,
    /// Its function was compiled, and the linker dropped all copies of it.
    Dropped {
        /// The function.
        function: Arc<str>,
        /// The functions that it was inlined into, which were dropped with it.
        into: Vec<Arc<str>>,
    },
    /// Its function has the same code as another one, and the linker kept that one for both.
    Folded {
        /// The function.
        function: Arc<str>,
        /// The one that was kept; `None` where debug information names none.
        into: Option<Arc<str>>,
        /// Where that is.
        address: Vaddr,
    },
    /// It has no site record, and the line table has no place for it.
    Unresolved {
        /// Why not.
        problem: LineProblem,
    },
    /// It has no site record, and several files may be its own.
    Ambiguous {
        /// The files.
        files: Vec<Arc<str>>,
    },
}

impl Absence {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::DeadBranch { .. } => "dead_branch",
            Self::BehindCode { .. } => "behind_code",
            Self::NoCode { .. } => "no_code",
            Self::NotCompiled => "not_compiled",
            Self::Dropped { .. } => "dropped",
            Self::Folded { .. } => "folded",
            Self::Unresolved { problem } => problem.name(),
            Self::Ambiguous { .. } => "several_files",
        }
    }

    /// The function that the marker is in, or that is declared last before it; `None` where none is known.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::DeadBranch { function, .. }
            | Self::BehindCode { function, .. }
            | Self::NoCode { function }
            | Self::Dropped { function, .. }
            | Self::Folded { function, .. } => Some(function),
            Self::NotCompiled | Self::Unresolved { .. } | Self::Ambiguous { .. } => None,
        }
    }
}

/// An argument as a marker declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredArgument {
    /// The argument as written.
    pub text: Arc<str>,
    /// Its conversion (`%d`; `*` for a width or precision); `None` where the format has none for it.
    pub conversion: Option<Arc<str>>,
}

/// Where in an image a site is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SitePlace {
    /// At a link-time address.
    Address(Vaddr),
    /// In a section of a relocatable object.
    Section {
        /// The section's name.
        section: Arc<str>,
        /// Where in it.
        offset: SectionOffset,
    },
}

/// Where a site is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A site record.
    Record,
    /// The line table: a row of the marker's own line.
    Line,
    /// The line table: the marker's line has no row, and this is the next line of its function that has one.
    Nearest {
        /// That line.
        line: u32,
    },
}

impl Origin {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Line => "line",
            Self::Nearest { .. } => "nearest",
        }
    }
}

/// A function that was inlined into another one (DWARF 5, 3.3.8.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The function that was inlined.
    pub function: Arc<str>,
    /// The file of the call that it replaces; `None` where the debug information does not say.
    pub call_file: Option<Arc<str>>,
    /// The line of that call, from 1.
    pub call_line: Option<u32>,
}

/// One place in the machine code that stands for a marker.
#[derive(Clone, Debug)]
pub struct Site {
    /// Where it is; `None` for a dead site: its function was dropped.
    pub place: Option<SitePlace>,
    /// Where that is in the file; `None` for a dead site, and where the file has no byte for it (a debug companion).
    pub file_offset: Option<FileOffset>,
    /// The symbol of the function that holds it, mangled; `None` where no symbol does.
    pub symbol: Option<Arc<str>>,
    /// How far into the symbol, in bytes; `None` where there is none.
    pub symbol_offset: Option<u64>,
    /// The function that holds it, demangled, not an inlined one; `None` where neither a symbol nor the debug information names one.
    pub function: Option<Arc<str>>,
    /// The inlined functions that the marker is in, innermost first: the first is the marker's own, and the last one's call stands in
    /// [`Site::function`]. Empty where the marker's function was not inlined, or the debug information does not say.
    pub inlined: Vec<Inlined>,
    /// Whether the marker's function ends at the site's address: the marker is the last thing in it, and what stands there is of another one.
    pub scope_ended: bool,
    /// The source column, from 1; `None` where unknown.
    pub column: Option<u32>,
    /// Where the site is known from.
    pub origin: Origin,
    /// Whether an instruction of the marker's own stands there.
    pub anchored: bool,
    /// Whether a probe there fires when, and only when, the marker is passed; `None` where not resolved.
    pub exactness: Option<Exactness>,
    /// Why that is so; `None` where not resolved.
    pub exactness_reason: Option<ExactnessReason>,
    /// The known predecessors of the address, at most 64; empty where not resolved.
    pub predecessors: Vec<Predecessor>,
    /// The instruction there, as objdump writes it; `None` where not resolved, or there is none.
    pub instruction: Option<Arc<str>>,
    /// What a uprobe there does; `None` where not resolved or not known, and in a kernel.
    pub probe: Option<ProbeVerdict>,
    /// What can be read there, one for each of [`Marker::args`].
    pub args: Vec<Argument>,
}

/// Whether an argument can be read at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Readable: in a register, in memory, computed from those, or kept by the program.
    Live,
    /// Known without reading.
    Constant,
    /// Some pieces of it are gone.
    Partial,
    /// Only known as what a register held when the function was entered, and not recoverable here.
    Entry,
    /// The variable exists, and the debug information describes no location here: optimised out.
    Lost,
    /// No such variable is in scope.
    Absent,
    /// The debug information says it in a way that we cannot stand for.
    Unsupported,
}

impl Verdict {
    /// All of them, the best first.
    pub const ALL: [Self; 7] =
        [Self::Live, Self::Constant, Self::Partial, Self::Entry, Self::Lost, Self::Absent, Self::Unsupported];

    /// The word for the verdict in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Constant => "constant",
            Self::Partial => "partial",
            Self::Entry => "entry",
            Self::Lost => "lost",
            Self::Absent => "absent",
            Self::Unsupported => "unsupported",
        }
    }

    /// The code of the verdict, stable over versions (`docs/verdicts.md`).
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Live => Code::Live,
            Self::Constant => Code::Constant,
            Self::Partial => Code::Partial,
            Self::Entry => Code::Entry,
            Self::Lost => Code::Lost,
            Self::Absent => Code::Absent,
            Self::Unsupported => Code::Unsupported,
        }
    }
}

/// How the bytes of an argument are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the encodings")]
pub enum Encoding {
    Signed,
    Unsigned,
    Float,
}

/// An argument at a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The argument as written.
    pub text: Arc<str>,
    /// The variable that it starts from (`self` of `self.queue.depth`); the text where it is kept by the program, or is no place.
    pub name: Arc<str>,
    /// Its type's name, as the language writes it; `None` where not resolved.
    pub type_name: Option<Arc<str>>,
    /// Its size in bytes; `None` where not resolved, or its type has none.
    pub size: Option<u64>,
    /// How its bytes are to be read, where it is a number; `None` where not resolved.
    pub encoding: Option<Encoding>,
    /// The verdict; `None` where nothing was asked: there is no debug information, or it was not read.
    pub verdict: Option<Verdict>,
    /// Whether the program keeps it at hand (an operand of the marker).
    pub is_kept: bool,
    /// Where it is, to be evaluated; `None` where it cannot be read, or its operand is not understood.
    pub location: Option<Location>,
    /// Where it is, as the assembler and C write it (`%rdi`, `-4(%rbp)`, `= 5`); `None` where it cannot be read.
    ///
    /// Stored as text because the names of symbols and registers come from the image.
    pub location_text: Option<Arc<str>>,
    /// Its type, to read its bytes by; `None` where not resolved.
    pub ty: Option<Arc<Type>>,
    /// The language that its value is written in.
    pub language: Language,
    /// Why the verdict is not better; `None` where there is nothing to say.
    pub reason: Option<Reason>,
    /// Where its variable is described, ascending: link-time addresses, in a relocatable object offsets in the site's section. Empty where
    /// it has one location for all of its scope, or none.
    pub ranges: Vec<Range<u64>>,
    /// What is wrong with its conversion for a value of that type; `None` where nothing is.
    pub mismatch: Option<Mismatch>,
    /// Where a lost one was last described before the site; `None` where it was not, and for others.
    pub ended: Option<Ended>,
}

/// The end of the last place of a variable before a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How many bytes before the site; 0 where it ends right there.
    pub distance: u64,
    /// The instruction that ends it, as objdump writes it, a call with the name of what it calls (`call work`); `None` where the
    /// instructions are not known.
    pub instruction: Option<Arc<str>>,
    /// The source file of that instruction; `None` where the debug information does not say.
    pub file: Option<Arc<str>>,
    /// Its source line, from 1.
    pub line: Option<u32>,
    /// Another variable in scope that was in the same place up to the end, and is described at the site, whatever it is by then; `None`
    /// where there is none, or the argument is more than a variable's name.
    pub shared: Option<Arc<str>>,
}

impl Argument {
    /// An argument of which nothing is known but what was written.
    #[must_use]
    pub fn unresolved(text: &Arc<str>) -> Self {
        Self {
            text: Arc::clone(text),
            name: Arc::clone(text),
            type_name: None,
            size: None,
            encoding: None,
            verdict: None,
            is_kept: false,
            location: None,
            location_text: None,
            ty: None,
            language: Language::default(),
            reason: None,
            ranges: Vec::new(),
            mismatch: None,
            ended: None,
        }
    }
}

impl Resolution {
    /// Appends what was found elsewhere. Numbers are to be given anew.
    pub fn append(&mut self, mut other: Self) {
        self.images.append(&mut other.images);
        self.failures.append(&mut other.failures);
    }

    /// Numbers the rows of the markers, from 1: a marker's row for each function that holds it, at least one.
    pub fn number(&mut self) {
        let mut next = 1;
        for marker in self.images.iter_mut().flat_map(|image| &mut image.markers) {
            marker.id = next;
            next += super::rows::count(marker) as u64;
        }
    }
}
