//! The result of a resolution: plain values with public fields. Every command reads these values,
//! and so does a user's own program.
//!
//! Text is UTF-8. Bytes of the image that are not UTF-8 are escaped (`\xNN`).

use std::ops::Range;
use std::sync::Arc;

use strum::{EnumString, IntoStaticStr, VariantArray};

use super::mark_problem::UnplacedMark;
use super::note_facts::{NoteDescription, NoteSections};
use super::site_place::SitePlace;
use super::tasks::RuntimeTask;
use super::words_mistake::WordsMistake;
use super::{
    Diagnostic, EntryReading, Exactness, ExactnessReason, FrameEntry, LineProblem, Mismatch, Predecessor, ProbeVerdict,
    Reason, Switch,
};
use crate::Error;
use crate::address::{FileOffset, Vaddr};
use crate::debug_files::DebugSourceKind;
use crate::image::{Architecture, ImageKind};
use crate::location::{Expr, Location};
use crate::marks::TaskPoint;
use crate::rates::Compiler;
use crate::types::{Language, Names, Type, TypePath};
use crate::verdicts::Code;

/// Everything that was found in the files that were looked at.
///
/// The probe addresses of some markers, and what can be read there (the example `probe_addresses`):
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
    /// The images, in the order of the files; the members of an archive in the order of the
    /// archive.
    pub images: Vec<ResolvedImage>,
    /// The files and members that could not be read at all.
    pub failures: Vec<Failure>,
}

/// A file, or a member of an archive, that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file, or `archive(member)`.
    pub path: String,
    /// What is wrong with it.
    pub error: Error,
}

/// One image and its markers.
#[derive(Clone, Debug)]
pub struct ResolvedImage {
    /// The file, or `archive(member)`.
    pub path: String,
    /// The name of the file, or of the archive, without folder and extension.
    pub module: Arc<str>,
    /// The GNU build id in hexadecimal; `None` if the image has none.
    pub build_id: Option<String>,
    /// The architecture.
    pub arch: Architecture,
    /// What kind of file it is.
    pub kind: ImageKind,
    /// Where debug information was read from; `None` if there is none, or none was needed.
    pub debug: Option<DebugSource>,
    /// The markers, in the order of their declarations in the image. Markers without a declaration
    /// follow, in the order of their sites.
    pub markers: Vec<Marker>,
    /// What is wrong with the image or its records, and why an answer is missing.
    pub diagnostics: Vec<Diagnostic>,
    /// The offset in the file of the control block of the program's recorder, which records armed
    /// probes (`simple_markers_record::buffer`); `None` if the image has no recorder.
    pub recorder: Option<FileOffset>,
    /// The marks that have no place in the image.
    pub unplaced: Vec<UnplacedMark>,
    /// Which sections it has that come with notes of static probes.
    pub note_sections: NoteSections,
    /// Where async runtimes keep which task a thread runs, if it was asked for.
    pub tasks: Vec<RuntimeTask>,
}

/// Where the debug information of an image was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugSource {
    /// How it was found.
    pub source: DebugSourceKind,
    /// The file that it is in.
    pub path: String,
    /// The other files that have parts of it (dwz, split units), in the order in which they were
    /// read. Files that no marker needed are not listed.
    pub supplements: Vec<DebugSource>,
}

/// Whether a marker is in the image (`docs/design.md`, "Survival").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Survival {
    /// It has at least one site in a function that is in the image.
    Live,
    /// It is declared and has no site: the compiler removed every copy, or never instantiated the
    /// generic function.
    Eliminated,
    /// It has sites, and the linker dropped all their functions.
    Discarded,
}

impl Survival {
    /// The word for the verdict in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The code of the verdict, stable over versions (`docs/verdicts.md`); `None` for
    /// [`Survival::Live`].
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
    /// The number of the marker's first row in a list, from 1, over all images. It is 0 until
    /// [`Resolution::number`] is called.
    pub id: u64,
    /// Its name.
    pub name: Arc<str>,
    /// The source file; empty if it is not known.
    pub file: Arc<str>,
    /// The path of the file from its compilation directory on, if its name starts in a folder above
    /// (`../inc/m.h`); `None` if it does not, or if the debug information was not read or does not say.
    pub path: Option<Arc<str>>,
    /// The source line, from 1; 0 if it is not known.
    pub line: u32,
    /// The source column, from 1; `None` if no site has one.
    pub column: Option<u32>,
    /// The printf format.
    pub format: Arc<str>,
    /// The format with each conversion replaced by its argument (`$name`); of a note the format itself.
    pub description: Arc<str>,
    /// The arguments as written in the source, with their conversions.
    pub args: Arc<[DeclaredArgument]>,
    /// Whether the image has a declaration of the marker. A site alone is also a marker.
    pub declared: bool,
    /// Whether the marker is in the image; `None` if the image does not tell. A diagnostic then
    /// says why.
    pub survival: Option<Survival>,
    /// Whether it is a probe: one of its sites has a switch. A probe without a site cannot be told from
    /// a marker.
    pub is_probe: bool,
    /// Whether it is a ghost: a marker that is no code, and so has no site record.
    pub is_ghost: bool,
    /// Whether it is the static probe of notes (`<sys/sdt.h>`). Its file and line are those of the
    /// line table, if all sites have the same.
    pub is_note: bool,
    /// Whether a user named its place ([`Mark`](crate::marks::Mark)), and the image has no record of it.
    pub is_mark: bool,
    /// How many inlined copies of its function are left out: of the entry of calls that are timed.
    pub inlined_copies: u32,
    /// What a task of an async runtime does there, if a view of a runtime names the function.
    pub task_point: Option<TaskPoint>,
    /// Of such a probe: what is known of its arguments; `None` for other markers.
    pub note: Option<Arc<NoteDescription>>,
    /// The live sites by address, then the dead ones.
    pub sites: Vec<Site>,
    /// Why the marker has no live site; `None` if it has one, or if the reason is not known.
    pub absence: Option<Absence>,
}

impl Marker {
    /// The sites that are in the image.
    pub fn live_sites(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(|site| site.place.is_some())
    }
}

/// Why a marker has no live site. A reason that is only likely is not given.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Absence {
    /// Its function has code on lines before and after the marker's line. The compiler removed the
    /// code between them.
    DeadBranch {
        /// The function.
        function: Arc<str>,
        /// The nearest line before the marker that has code of the function, or the line of the
        /// function's declaration.
        before: u32,
        /// The nearest line after the marker that has code of the function.
        behind: u32,
    },
    /// The last function declared before the marker has code only on lines before it. Either the
    /// compiler removed the end of that function, or the marker is in a function that was never
    /// compiled to code.
    BehindCode {
        /// The function.
        function: Arc<str>,
        /// The last line that has code of the function.
        last: u32,
    },
    /// The last function declared before the marker has no code: it was never used, or all its uses
    /// were optimised out.
    NoCode {
        /// The function.
        function: Arc<str>,
    },
    /// The debug information describes no function that is declared before the marker in its file:
    /// its function was never compiled to code.
    NotCompiled,
    /// The linker dropped all copies of its function.
    Dropped {
        /// The function.
        function: Arc<str>,
        /// The functions that it was inlined into. The linker dropped them too.
        into: Vec<Arc<str>>,
    },
    /// Its function has the same code as another one, and the linker kept only the other one.
    Folded {
        /// The function.
        function: Arc<str>,
        /// The function that was kept; `None` if the debug information does not name it.
        into: Option<Arc<str>>,
        /// The link-time address of the function that was kept.
        address: Vaddr,
    },
    /// It has no site record, and the line table has no place for it.
    #[strum(transparent)]
    Unresolved {
        /// Why it has none.
        problem: LineProblem,
    },
    /// It has no site record, and several files of the line table match its file.
    #[strum(serialize = "several_files")]
    Ambiguous {
        /// The files.
        files: Vec<Arc<str>>,
    },
    /// It is a ghost, and its place is not known.
    #[strum(transparent)]
    Ghost {
        /// Why not.
        problem: GhostProblem,
    },
}

/// Why the place of a ghost is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case", prefix = "ghost_")]
#[non_exhaustive]
pub enum GhostProblem {
    /// There is no debug information of its file.
    NoDebugInfo,
    /// Debug information of its file cannot be read. A diagnostic says why.
    Unreadable,
    /// The debug information of its file has lines only.
    LinesOnly,
    /// Places of ghosts are not looked up in what its compiler writes.
    Unsupported,
    /// Another ghost is on its line, and the debug information names ghosts by their line.
    SharedLine,
    /// Other code is on its line, and the line table does not tell them apart.
    CodeOnLine,
    /// gcc compiled it without optimisation, and then writes no row for a statement without code.
    Unoptimized,
    /// gcc was told to write no row for a statement without code (`-gno-statement-frontiers`).
    NoStatements,
    /// Its function has code, and the debug information has no place for it in any copy of that.
    NoPlace,
}

impl GhostProblem {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Absence {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// The marker's function, or the last function declared before the marker; `None` if neither is
    /// known.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::DeadBranch { function, .. }
            | Self::BehindCode { function, .. }
            | Self::NoCode { function }
            | Self::Dropped { function, .. }
            | Self::Folded { function, .. } => Some(function),
            Self::NotCompiled | Self::Unresolved { .. } | Self::Ambiguous { .. } | Self::Ghost { .. } => None,
        }
    }
}

/// An argument as a marker declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredArgument {
    /// The argument as written.
    pub text: Arc<str>,
    /// Its conversion (`%d`; `*` for a width or precision); `None` if the format has none for it.
    pub conversion: Option<Arc<str>>,
    /// Where the names for its values come from; `None` if its conversion has no braces.
    pub words: Option<DeclaredWords>,
    /// What is wrong with the braces behind its conversion.
    pub mistake: Option<WordsMistake>,
    /// What is between the braces of `%p{..}` ([`simple_markers_record::value_form`]): it is shown as a
    /// whole value. `None` for another conversion.
    pub form: Option<Arc<str>>,
}

/// Where the names for the values of an argument come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredWords {
    /// `{}`: from the type of the argument.
    Type,
    /// `{IDLE=0,BUSY=1}`: from the format. Values that only a site has are left out.
    Format(Arc<Names>),
}

/// How a site was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum Origin {
    /// From a site record.
    Record,
    /// From the line table: a row of the marker's line.
    Line,
    /// From the line table: the marker's line has no row, so this is the next line of its function
    /// that has one.
    Nearest {
        /// The line of that row, from 1.
        line: u32,
    },
    /// Of a ghost: from its label in the debug information, as clang writes it.
    Label,
    /// Of a ghost: from a statement of its line in the line table, as gcc writes it.
    Statement,
    /// Of a ghost: from the blocks of its function in the debug information, as rustc writes them.
    Block,
    /// From the note of a static probe (`<sys/sdt.h>`).
    Note,
    /// From the code: an instruction with which the function returns.
    Return,
    /// From the code: a jump with which the function leaves for another one, which returns for it.
    #[strum(serialize = "tail_call")]
    TailCall,
    /// Where a function is entered that a user named.
    Entry,
}

impl Origin {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A function that was inlined into another one (DWARF 5, 3.3.8.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedFunction {
    /// The function that was inlined.
    pub function: Arc<str>,
    /// The file of the call that it replaces; `None` if the debug information does not tell.
    pub call_file: Option<Arc<str>>,
    /// The line of that call, from 1; `None` if the debug information does not tell.
    pub call_line: Option<u32>,
}

/// A copy of a marker in the machine code.
#[derive(Clone, Debug)]
pub struct Site {
    /// Where it is; `None` for a dead site, whose function the linker dropped.
    pub place: Option<SitePlace>,
    /// Where that is in the file; `None` for a dead site, and if the file has no byte for it (a
    /// separate debug file).
    pub file_offset: Option<FileOffset>,
    /// The symbol of the function that holds it, mangled; `None` if there is no such symbol.
    pub symbol: Option<Arc<str>>,
    /// Bytes from the start of that symbol; `None` if there is no such symbol.
    pub symbol_offset: Option<u64>,
    /// The out-of-line function that holds it, demangled; `None` if neither a symbol nor the debug
    /// information names it.
    pub function: Option<Arc<str>>,
    /// What the source calls that function, if it is an async function, an async block or a closure of
    /// Rust: `path::deliver::{async}` where the symbol says `path::deliver::{{closure}}`. `None` for
    /// other functions, and if the debug information does not tell.
    pub source_function: Option<Arc<str>>,
    /// The inlined functions that the marker is in, innermost first. The first one is the marker's
    /// function; the last one is called in [`Site::function`]. Empty if the marker's function was
    /// not inlined, or the debug information does not tell.
    pub inlined: Vec<InlinedFunction>,
    /// Whether the marker's function ends at the site's address. The marker is then the last thing
    /// in its function, and the instruction at the address belongs to another one.
    pub scope_ended: bool,
    /// The source column, from 1; `None` if it is not known.
    pub column: Option<u32>,
    /// How the site was found.
    pub origin: Origin,
    /// The function that a tail call there leads to, demangled; `None` if there is none, or it is not known.
    pub callee: Option<Arc<str>>,
    /// Where the entry of a function is marked, or where it is left: the stack pointer as it was at the
    /// entry. It tells the calls of the function apart. `None` at other sites, and if it is not known.
    pub entry_stack_pointer: Option<Expr>,
    /// The entry of the function of the frame, if arguments are read there by a second probe; `None` if
    /// none is.
    pub frame_entry: Option<FrameEntry>,
    /// The offset of its record among the site records; `None` if it has none. A compiler writes
    /// the records of a function in the order of the code, so markers with one address are passed in
    /// this order.
    pub record_offset: Option<u64>,
    /// Whether the marker has its own instruction there (`options(anchor)`).
    pub anchored: bool,
    /// Whether a probe there fires exactly when the marker is passed; `None` if not resolved.
    pub exactness: Option<Exactness>,
    /// Why that is so; `None` if not resolved.
    pub exactness_reason: Option<ExactnessReason>,
    /// The known predecessors of the address, at most 64; empty if not resolved.
    pub predecessors: Vec<Predecessor>,
    /// The instruction there, as objdump writes it; `None` if not resolved, or if there is none.
    pub instruction: Option<Arc<str>>,
    /// What a uprobe there does; `None` if not resolved or not known, and in a kernel image.
    pub probe: Option<ProbeVerdict>,
    /// The switch that arms it; `None` if the marker is not a probe, and the note has no semaphore.
    pub switch: Option<Switch>,
    /// The arguments at the site, one for each of [`Marker::args`].
    pub args: Vec<Argument>,
}

/// Whether an argument can be read at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum Verdict {
    /// Readable: in a register, in memory, computed from these, or kept by the program.
    Live,
    /// Known without reading anything.
    Constant,
    /// Some of its bytes are optimised out.
    Partial,
    /// It has a location, which may hold another value than the variable has in the source.
    Doubtful,
    /// Known only as the value of a register when the function was entered, and not recoverable at
    /// the site. A second probe may read it at the entry ([`Argument::at_entry`]).
    Entry,
    /// The variable exists, and the debug information describes no location for it at the site: it
    /// was optimised out.
    Lost,
    /// No such variable is in scope.
    Absent,
    /// The debug information describes it in a way that is not supported.
    Unsupported,
}

impl Site {
    /// Whether the marker's function is async: a function, a block or a closure, or a closure in one.
    #[must_use]
    pub fn is_async(&self) -> bool {
        let inlined = self.inlined.first().map(|inlined| &inlined.function);
        let function = inlined.or(self.source_function.as_ref()).or(self.function.as_ref());
        function.is_some_and(|function| super::is_async(function))
    }
}

impl Verdict {
    /// The word for the verdict in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The code of the verdict, stable over versions (`docs/verdicts.md`).
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Live => Code::Live,
            Self::Constant => Code::Constant,
            Self::Doubtful => Code::Doubtful,
            Self::Partial => Code::Partial,
            Self::Entry => Code::Entry,
            Self::Lost => Code::Lost,
            Self::Absent => Code::Absent,
            Self::Unsupported => Code::Unsupported,
        }
    }
}

/// How the bytes of a number are read.
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
    /// The variable that it starts from (`self` in `self.queue.depth`). It is the whole text if the
    /// program keeps the argument, or the text is not a place.
    pub name: Arc<str>,
    /// Another name of it: `arg0` of a note whose first argument has a name. `None` if there is none.
    pub alias: Option<Arc<str>>,
    /// The name of its type, as the language writes it; `None` if not resolved.
    pub type_name: Option<Arc<str>>,
    /// Its size in bytes; `None` if not resolved, or if its type has no size.
    pub size: Option<u64>,
    /// How its bytes are read; `None` if it is not a number, or not resolved.
    pub encoding: Option<Encoding>,
    /// Whether it can be read; `None` if there is no debug information, or it was not read.
    pub verdict: Option<Verdict>,
    /// Whether the program keeps it for the marker (`keep`), or for a note.
    pub is_kept: bool,
    /// Where it is, as a value that can be evaluated; `None` if it cannot be read, or its operand
    /// is malformed.
    pub location: Option<Location>,
    /// Where it is, as the assembler and C write it (`%rdi`, `-4(%rbp)`, `= 5`); `None` if it
    /// cannot be read.
    ///
    /// This is text because the names of symbols and registers come from the image.
    pub location_text: Option<Arc<str>>,
    /// Its type, which says how its bytes are read; `None` if not resolved.
    pub ty: Option<Arc<Type>>,
    /// The name by which a debugger finds the type of a whole value (`%p{}`). `None` for other
    /// arguments, if the type has no such name, and if less than
    /// [`crate::resolve::Detail::Everything`] was asked for.
    pub type_path: Option<Arc<TypePath>>,
    /// The language in whose notation its value is shown.
    pub language: Language,
    /// Why the verdict is not better; `None` if it needs no reason.
    pub reason: Option<Reason>,
    /// Of an argument with the verdict [`Verdict::Entry`]: whether a second probe reads it at the entry of
    /// the function. `None` for other arguments, and if the debug information needs more than registers of
    /// the entry.
    pub at_entry: Option<EntryReading>,
    /// The address ranges in which its variable has a location, ascending: link-time addresses, in
    /// a relocatable object offsets in the site's section. Empty if one location holds for the
    /// whole scope, or if there is no location.
    pub ranges: Vec<Range<u64>>,
    /// The vector register that has to be read for it, by its name; `None` if none has. Tools of the
    /// kernel do not read vector registers.
    pub vector_register: Option<Arc<str>>,
    /// Why its conversion does not fit its type; `None` if it fits.
    pub mismatch: Option<Mismatch>,
    /// Names for its values, from the words of the format, or from its type if the format has `{}`;
    /// `None` if it has none.
    pub names: Option<Arc<Names>>,
    /// For a lost argument, where its last location before the site ended; `None` if it had none
    /// there, and for other arguments.
    pub ended: Option<LocationEnd>,
    /// For a doubtful or constant argument, the compiler of the function that holds the site; `None` if it
    /// is not known, or not one of which it was measured how often doubtful values are wrong
    /// ([`crate::rates`]), and for other arguments.
    pub compiler: Option<Compiler>,
}

/// Where the last location of a variable before a site ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationEnd {
    /// Bytes from the end to the site; 0 if it ends at the site.
    pub distance: u64,
    /// The instruction that ends it, as objdump writes it. A call has the name of its function
    /// (`call work`). `None` if the instructions are not known.
    pub instruction: Option<Arc<str>>,
    /// The source file of that instruction; `None` if the debug information does not tell.
    pub file: Option<Arc<str>>,
    /// The source line of that instruction, from 1.
    pub line: Option<u32>,
    /// Another variable in scope that was in the same place until the end and has a location at the
    /// site. Its value may have changed since. `None` if there is none, or if the argument is more
    /// than the name of a variable.
    pub shared: Option<Arc<str>>,
}

impl Argument {
    /// An argument that is not resolved: only its text is known.
    #[must_use]
    pub fn unresolved(text: &Arc<str>) -> Self {
        Self {
            text: Arc::clone(text),
            name: Arc::clone(text),
            alias: None,
            type_name: None,
            size: None,
            encoding: None,
            verdict: None,
            is_kept: false,
            location: None,
            location_text: None,
            ty: None,
            type_path: None,
            language: Language::default(),
            reason: None,
            at_entry: None,
            ranges: Vec::new(),
            vector_register: None,
            mismatch: None,
            names: None,
            ended: None,
            compiler: None,
        }
    }
}

impl Resolution {
    /// Appends the images and failures of another resolution. Call [`Resolution::number`] after it.
    pub fn append(&mut self, mut other: Self) {
        self.images.append(&mut other.images);
        self.failures.append(&mut other.failures);
    }
}
