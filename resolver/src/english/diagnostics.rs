//! What is wrong with an image, in English.

use std::fmt;

use crate::Error;
use crate::address::SectionOffset;
use crate::error::{OtherFormat, RelocationProblem, SdtNoteProblem};
use crate::resolve::{DebugFileProblem, DebugFileRefusal, Diagnostic, DiagnosticKind, SurvivalUnknown};

use super::absence::line_problem;
use super::dwarf;

/// The place of an error or a diagnostic, and a colon. Empty for an image as a whole.
fn place(section: Option<&str>, offset: Option<SectionOffset>) -> String {
    match (section, offset) {
        (Some(section), Some(offset)) => format!("{section} at {offset}: "),
        (Some(section), None) => format!("{section}: "),
        (None, _) => String::new(),
    }
}

impl fmt::Display for Error {
    /// The section and offset, if there are any, then what is wrong.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", place(self.section(), self.offset()), error(self))
    }
}

/// An error without its place.
pub(crate) fn error(error: &Error) -> String {
    match error {
        Error::NotElf { format: None } => "not an ELF file".to_owned(),
        Error::NotElf { format: Some(format) } => format!("not an ELF file: it is {}", other_format(*format)),
        Error::Elf { what } => format!("malformed ELF file: {what}"),
        Error::Truncated { offset, size, file } => format!(
            "truncated ELF file: its section headers, {size:#x} bytes at {offset}, lie outside of its {file:#x} bytes"
        ),
        Error::Archive { what } => format!("malformed archive: {what}"),
        Error::ThinArchive => "thin archive: its members are files of their own, give those instead".to_owned(),
        Error::Section { what, .. } => format!("cannot be read: {what}"),
        Error::Outside { file_offset, size, .. } => {
            format!("its {size:#x} bytes at {file_offset} of the file lie outside of it")
        }
        Error::TooLarge { compressed, uncompressed, bound, .. } => format!(
            "{uncompressed:#x} bytes uncompressed from {compressed:#x} is refused: above {bound:#x}, \
             which is 1032 times as much (the most that deflate reaches) and 64 KiB, or 4 GiB"
        ),
        Error::Relocation { problem, .. } => format!("relocation {}", relocation(problem)),
        Error::NotRelocated { pc, .. } => format!("pc {pc:#x} without a relocation"),
        Error::Record(error) => error.kind.to_string(),
        Error::Operand { entry, .. } => format!("operand `{entry}` is not [-]SIZE[f]@OPERAND"),
        Error::SdtNote { problem, .. } => sdt_note(*problem),
        Error::TooMuchText { bound, .. } => {
            format!("text of the records is above the bound of {bound:#x} bytes for this image, the rest is not read")
        }
        Error::Dwarf { offset: Some(_), problem } => dwarf::problem(problem),
        Error::Dwarf { offset: None, problem } => format!("debug information: {}", dwarf::problem(problem)),
        Error::Unread { what } => what.clone(),
        Error::Pattern { pattern, what } => format!("pattern `{pattern}`: {what}"),
    }
}

fn other_format(format: OtherFormat) -> &'static str {
    match format {
        OtherFormat::Empty => "empty",
        OtherFormat::Xz => "compressed (xz), unpack it first",
        OtherFormat::Zstd => "compressed (zstd), unpack it first",
        OtherFormat::Gzip => "compressed (gzip), unpack it first",
        OtherFormat::LlvmBitcode => "LLVM bitcode",
        OtherFormat::Pe => "a PE image",
        OtherFormat::MachO => "a Mach-O image",
        OtherFormat::Script => "a script",
    }
}

fn sdt_note(problem: SdtNoteProblem) -> String {
    match problem {
        SdtNoteProblem::Truncated { needed, available } => {
            format!("the note has {needed:#x} bytes, and the section ends after {available:#x}")
        }
        SdtNoteProblem::NoAddresses { size } => format!("{size:#x} bytes are too few for the addresses of a probe"),
        SdtNoteProblem::Unterminated => "a text of the note has no end".to_owned(),
        SdtNoteProblem::NoName => "the probe has no name".to_owned(),
    }
}

fn relocation(problem: &RelocationProblem) -> String {
    match problem {
        RelocationProblem::PastEnd => "past the end of the section".to_owned(),
        RelocationProblem::NoSymbol { symbol } => format!("against symbol {symbol}, which is not there"),
        RelocationProblem::NoSection { symbol } => format!("against symbol {symbol}, which is in no section"),
        RelocationProblem::Kind { number: Some(number) } => format!("of an unknown kind, number {number}"),
        RelocationProblem::Kind { number: None } => "of an unknown kind".to_owned(),
        RelocationProblem::NoStrings => "of a string points into a section that holds none".to_owned(),
        RelocationProblem::WideString => "of a string points past 32 bits".to_owned(),
        RelocationProblem::NoTarget => "of a string points nowhere".to_owned(),
    }
}

/// A diagnostic, with its place.
#[must_use]
pub fn diagnostic(diagnostic: &Diagnostic) -> String {
    format!("{}{}", place(diagnostic.section.as_deref(), diagnostic.offset), kind(&diagnostic.kind))
}

/// A diagnostic without its place.
#[must_use]
pub fn kind(kind: &DiagnosticKind) -> String {
    match kind {
        DiagnosticKind::Error(error) => self::error(error),
        DiagnosticKind::More { count } => format!("{count} more like these"),
        DiagnosticKind::SurvivalUnknown(why) => survival_unknown(*why).to_owned(),
        DiagnosticKind::NoSite { name, file, line, problem } => {
            format!("{name} ({file}:{line}): {}", line_problem(problem))
        }
        DiagnosticKind::BetweenFunctions { address, before, after, more } => {
            let more = if *more == 0 { String::new() } else { format!(", and {more} more like it") };
            format!(
                "the site at {address:#x} is at the end of `{before}` and the start of `{after}`, it is taken to be in \
                 the latter{more}"
            )
        }
        DiagnosticKind::Switch { name, file, line, problem } => {
            format!("{}: uprobes cannot arm the probe: {}", at(name, file, *line), super::probe::switch(*problem))
        }
        DiagnosticKind::SwitchSharesPage { name, file, line } => format!(
            "{}: uprobes arm the probe in running processes only, not in those that start later: two \
             writable segments share the page of the file that its switch is in (link with -z separate-loadable-segments)",
            at(name, file, *line)
        ),
        DiagnosticKind::Words { name, file, line, mistake } => {
            format!("{name} ({file}:{line}): {}", super::mismatch::words(mistake))
        }
        DiagnosticKind::Note { name, problem } => format!("{name}: {}", super::notes::problem(problem)),
        DiagnosticKind::UnnamedFunctions { error } => format!("functions without symbols are not named: {error}"),
        DiagnosticKind::DebugFile(problem) => debug_file(problem),
    }
}

/// A marker, with its place in the source if that is known.
fn at(name: &str, file: &str, line: u32) -> String {
    if file.is_empty() { name.to_owned() } else { format!("{name} ({file}:{line})") }
}

fn survival_unknown(why: SurvivalUnknown) -> &'static str {
    match why {
        SurvivalUnknown::UnreadRecords => {
            "not all records could be read, whether markers without one survived is unknown"
        }
        SurvivalUnknown::NoSites => {
            "no such section, whether markers survived is unknown (removed by strip, or a macro that records no sites)"
        }
        SurvivalUnknown::OtherObjects => {
            "markers without a site here may have one in another object of the program, whether they survived is unknown"
        }
    }
}

fn debug_file(problem: &DebugFileProblem) -> String {
    match problem {
        DebugFileProblem::LinkIsPath { name } => format!("`{name}` is not the name of a file, it is not looked for"),
        DebugFileProblem::NotFound { name } => format!("the debug information is in {name}, which was not found"),
        DebugFileProblem::SupplementaryNotFound { name } => {
            format!("the debug information is not read: part of it is in {name} (dwz), which was not found")
        }
        DebugFileProblem::SplitNotFound { name } => {
            format!("part of the debug information is in {name}, which was not found")
        }
        DebugFileProblem::Refused { path, refusal: why } => format!("{path} is not used: {}", refusal(why)),
        DebugFileProblem::Unreadable { path, error } => format!("{path}: {error}"),
    }
}

fn refusal(refusal: &DebugFileRefusal) -> String {
    match refusal {
        DebugFileRefusal::Unreadable(error) => error.to_string(),
        DebugFileRefusal::BuildId { theirs, wanted, by: None } => {
            format!("its build id is {theirs}, the image's is {wanted}")
        }
        DebugFileRefusal::BuildId { theirs, wanted, by: Some(by) } => {
            format!("its build id is {theirs}, {by} says {wanted}")
        }
        DebugFileRefusal::NoBuildId => "it has no build id".to_owned(),
        DebugFileRefusal::Checksum { theirs, wanted } => {
            format!("its CRC is {theirs:#010x}, the image says {wanted:#010x}")
        }
        DebugFileRefusal::Architecture => "it is of another architecture".to_owned(),
        DebugFileRefusal::NoDebugInfo => "it has no debug information".to_owned(),
        DebugFileRefusal::Sections => "its sections are not those of the image".to_owned(),
        DebugFileRefusal::NoIndex => "it has no index of units".to_owned(),
        DebugFileRefusal::NoSplitUnit => "it has no split unit".to_owned(),
        DebugFileRefusal::SplitUnit { theirs, wanted } => {
            format!("its unit is {theirs:#018x}, the image wants {wanted:#018x}")
        }
    }
}
