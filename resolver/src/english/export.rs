//! Why an export leaves something out.

use std::fmt;

use super::{arguments, exactness, probe};
use crate::export::{ArgumentOmission, ExportError, Note, SiteOmission, Tool};
use crate::image::ImageKind;
use crate::resolve::{Argument, Exactness, Verdict};
use crate::text::shown;

fn tool(tool: Tool) -> &'static str {
    match tool {
        Tool::Kernel => "the kernel",
        Tool::Perf => "perf",
        Tool::Bpftrace => "bpftrace",
        Tool::SystemTap => "SystemTap",
        Tool::Gdb => "gdb",
        Tool::SdtReaders => "a reader of SDT notes",
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&error(self))
    }
}

/// Why an image cannot be exported.
fn error(error: &ExportError) -> String {
    match error {
        ExportError::Kind(ImageKind::Relocatable) => {
            "a relocatable object has no addresses yet: export the program that it is linked into".to_owned()
        }
        ExportError::Kind(ImageKind::Kernel | ImageKind::Module) => {
            "kernel images and modules cannot be exported, only executables and shared objects".to_owned()
        }
        ExportError::Kind(_) => "it is neither an executable nor a shared object".to_owned(),
        ExportError::Processor { processor, supported } => {
            let supported: Vec<_> = supported.iter().map(|processor| processor.as_str()).collect();
            format!("not supported for {processor}, only for {}", supported.join(" and "))
        }
        ExportError::BigEndian => "not supported for big-endian images".to_owned(),
        ExportError::Path(Tool::Bpftrace) => {
            "bpftrace only accepts letters, digits, `/`, `.`, `_` and `-` in a path: make a link to the file".to_owned()
        }
        ExportError::Path(Tool::SystemTap) => {
            "SystemTap takes a path with any of `*?[]{}\"\\` as a pattern: make a link to the file".to_owned()
        }
        ExportError::Path(_) => {
            "uprobe_events accepts no path with white space, `:`, `(` or `#`: make a link to the file, or copy it"
                .to_owned()
        }
        ExportError::ControlCharacters => "its path has control characters".to_owned(),
        ExportError::Unreadable(error) => error.to_string(),
        ExportError::Not64Bit => "SDT notes can only be added to 64-bit little-endian ELF images".to_owned(),
        ExportError::SectionHeaders => "its section headers are malformed".to_owned(),
        ExportError::SectionCount => "it has no section headers, or too many".to_owned(),
    }
}

/// What the hits of a probe at a site that is not exact are.
pub(crate) fn hits(exactness: Exactness) -> &'static str {
    match exactness {
        Exactness::Likely => "a probe there is most likely exact",
        Exactness::Approximate => "the hits of a probe there are not its passes",
        _ => "a probe there may fire where the marker is not passed",
    }
}

/// Why a marker or a site is left out.
#[must_use]
pub fn site(omission: &SiteOmission) -> String {
    match omission {
        SiteOmission::NoSite(Some(survival)) => survival.as_str().to_owned(),
        SiteOmission::NoSite(None) => "its sites are unknown".to_owned(),
        SiteOmission::Relocatable => "a relocatable object has no addresses yet".to_owned(),
        SiteOmission::Discarded => "the linker discarded it".to_owned(),
        SiteOmission::NotInFile => "the file has no byte for it".to_owned(),
        SiteOmission::NotExact { exactness, reason } => format!(
            "{}{}; {} (--include {})",
            exactness.as_str(),
            because(reason.as_ref().map(exactness::reason)),
            hits(*exactness),
            exactness.as_str()
        ),
        SiteOmission::UnknownProbe => "what a uprobe does there is unknown (--include unknown-probe)".to_owned(),
        SiteOmission::ProbeMisbehaves(reason) => {
            format!("a uprobe does not work there{}", because(reason.map(probe::reason)))
        }
        SiteOmission::ProbeRefused(reason) => {
            format!("the kernel refuses a uprobe there{}", because(reason.map(probe::reason)))
        }
        SiteOmission::Switch(problem) => format!("its probe cannot be armed: {}", probe::switch(*problem)),
        SiteOmission::AddressOverflow => "its address is outside of the address space".to_owned(),
        SiteOmission::MalformedFormat => "its format is malformed".to_owned(),
        SiteOmission::NoSymbol(of) => format!("no symbol covers it{}", needs_symbol(*of)),
        SiteOmission::NoAnchor => {
            "the file has no symbol of a function by which gdb could find out where it is loaded".to_owned()
        }
        SiteOmission::OtherSegment => {
            "it is in another segment than the first site, and one base serves one segment".to_owned()
        }
    }
}

/// Why a tool needs a symbol to name a place.
fn needs_symbol(tool: Tool) -> &'static str {
    match tool {
        Tool::Bpftrace => ", and bpftrace would take its address for a file offset",
        Tool::Gdb | Tool::Perf | Tool::Kernel | Tool::SystemTap | Tool::SdtReaders => "",
    }
}

/// `: REASON`, or nothing.
fn because(reason: Option<impl AsRef<str>>) -> String {
    reason.map(|reason| format!(": {}", shown(reason.as_ref()))).unwrap_or_default()
}

/// Why an argument is left out.
#[must_use]
pub fn argument(omission: &ArgumentOmission) -> String {
    match omission {
        ArgumentOmission::Unresolved(Some(reason)) => arguments::reason(reason),
        ArgumentOmission::Unresolved(None) => "it was not resolved: there is no debug information for it".to_owned(),
        ArgumentOmission::Unavailable(verdict, reason) => arguments::unreadable(*verdict, reason.as_ref()),
        ArgumentOmission::Doubtful(reason) => {
            let why = arguments::unreadable(Verdict::Doubtful, reason.as_ref());
            format!("doubtful: {why} (--include doubtful)")
        }
        ArgumentOmission::NoLocation => "its location is unknown".to_owned(),
        ArgumentOmission::WideText => "its characters are wide".to_owned(),
        ArgumentOmission::WholeValue(of) => format!("{} does not show whole values", tool(*of)),
        ArgumentOmission::NotInMemory(of) => {
            format!("it is not in memory, and {} shows whole values only from there", tool(*of))
        }
        ArgumentOmission::NoTypeName(of) => format!("{} cannot find its type by a name", tool(*of)),
        ArgumentOmission::Conversion { letter, type_name } => {
            format!("`%{letter}` of `{}` is not supported", shown(type_name))
        }
        ArgumentOmission::TooManyReferences => "its references are nested too deeply".to_owned(),
        ArgumentOmission::TextNotInMemory => "its characters are not in memory".to_owned(),
        ArgumentOmission::TextAtOffset => "its text does not start where its pointer points".to_owned(),
        ArgumentOmission::TextParts => "its pointer or its length does not have 8 bytes".to_owned(),
        ArgumentOmission::ReferenceSize => "it is a reference of unknown size".to_owned(),
        ArgumentOmission::NumberSize(size) => format!("it is a number of {size} bytes"),
        ArgumentOmission::FloatSize(size) => format!("it is a floating-point number of {size} bytes"),
        ArgumentOmission::UnknownSize => "its size is unknown".to_owned(),
        ArgumentOmission::NarrowComputation => "its location computes fewer bits than its type has".to_owned(),
        ArgumentOmission::ImplicitPointer => {
            "the pointer was optimised out; only the value that it pointed to is described".to_owned()
        }
        ArgumentOmission::OptimizedOut => "optimised out".to_owned(),
        ArgumentOmission::UnreadRegister => "in a register that programs of the kernel cannot read".to_owned(),
        ArgumentOmission::Part(error) => error.to_string(),
        ArgumentOmission::Float(Tool::SdtReaders) => {
            "readers of SDT notes do not agree on the syntax of floating-point numbers".to_owned()
        }
        ArgumentOmission::Float(of) => format!("{} does not read floating-point numbers", tool(*of)),
        ArgumentOmission::FloatComputation => "it is computed with floating-point numbers".to_owned(),
        ArgumentOmission::ThreadLocal => "it is thread-local".to_owned(),
        ArgumentOmission::Computed(of) => {
            format!("it is computed, and {} only reads registers and memory", tool(*of))
        }
        ArgumentOmission::ComputedAddress => "its address is computed".to_owned(),
        ArgumentOmission::FixedAddress => "it is at a fixed address".to_owned(),
        ArgumentOmission::Address => "it is an address, which the kernel cannot compute".to_owned(),
        ArgumentOmission::Register(of, register, processor) => {
            format!("it is in {}, which {} does not read", register.name(*processor), tool(*of))
        }
        ArgumentOmission::FloatInRegister(register, processor) => {
            format!("it is a floating-point number in {}, which gdb takes for an integer", register.name(*processor))
        }
        ArgumentOmission::NoConversion(of, letter) => format!("{} has no conversion `%{letter}`", tool(*of)),
        ArgumentOmission::NonAscii(of) => format!("{} prints ASCII characters only", tool(*of)),
        ArgumentOmission::LongComputation => "its computation is too long".to_owned(),
        ArgumentOmission::ReadSize(size) => format!("its computation reads {size} bytes at once"),
        ArgumentOmission::AbsoluteValue => "its computation takes an absolute value".to_owned(),
        ArgumentOmission::Division => "its computation divides".to_owned(),
        ArgumentOmission::Comparison => "its computation compares".to_owned(),
        ArgumentOmission::VariableShift => "its computation shifts by a value that is not constant".to_owned(),
        ArgumentOmission::WideShift => "its computation shifts by its width or more".to_owned(),
        ArgumentOmission::TooManyReads(limit) => {
            format!("it needs more than {limit} reads of memory, one through the other")
        }
        ArgumentOmission::LongDefinition { definition, limit } => {
            format!("`{}` is longer than the {limit} characters that the kernel accepts", shown(definition))
        }
        ArgumentOmission::TooManyArguments => "the kernel accepts no more arguments in one line".to_owned(),
    }
}

/// A doubtful argument that is exported all the same.
pub(crate) fn doubtful(argument: &Argument) -> String {
    format!("{} is doubtful: {}", argument.text, arguments::why(argument))
}

/// A text that the kernel reads further than its precision says.
pub(crate) fn whole_text(argument: &str) -> String {
    format!("{argument} is the text up to its NUL: the kernel does not end a text at the precision of its conversion")
}

/// The same for a text with a length.
pub(crate) fn whole_length(argument: &str) -> String {
    format!("the length of {argument} is that of the whole text: the kernel does not compute its precision")
}

/// How a probe is armed that a tool does not arm. `is_note` says that the file has a note of it.
pub(crate) fn asleep(tool: Tool, is_note: bool) -> &'static str {
    match tool {
        Tool::Bpftrace if is_note => {
            "asleep: a uprobe of bpftrace does not count in its semaphore. Better: take usdt:FILE:PROVIDER:NAME (-p PID), which does"
        }
        _ if is_note => {
            "asleep: a statement probe of SystemTap does not count in its semaphore. Better: take process(\"FILE\").mark(\"NAME\"), \
             which does"
        }
        Tool::Bpftrace => {
            "asleep: a uprobe of bpftrace does not arm it, and keeps smark from doing so. Better: `smark export --to sdt`, run the \
             copy, and take usdt probes (-p PID), which arm it"
        }
        _ => {
            "asleep: a statement probe of SystemTap does not arm it, and keeps smark from doing so. Better: `smark export --to sdt`, \
             run the copy, and take process(\"COPY\").mark(\"NAME\"), which arms it"
        }
    }
}

/// A note on a copy with SDT notes.
#[must_use]
pub fn note(note: &Note) -> String {
    match note {
        Note::Site { marker, place, why } => format!("{} at {place} is left out: {}", shown(marker), site(why)),
        Note::Arguments { marker, at, from, why } => {
            format!("{} at {at}: without the arguments from {} on: {}", shown(marker), shown(from), argument(why))
        }
        Note::BaseInOtherSegment => "the image has a .stapsdt.base of its own in another segment: perf computes wrong \
                                     addresses from it, while gdb, bpftrace and SystemTap do not"
            .to_owned(),
    }
}
