//! Why arguments have their verdicts, in English.

use std::fmt;
use std::ops::Range;

use crate::location::operand::OperandProblem;
use crate::location::{Location, PartError, PartProblem, Source};
use crate::resolve::{
    Argument, Encoding, EntryProblem, EntryReading, FrameEntry, Nearest, PlaceError, Reason, ResultProblem, Verdict,
};
use crate::text::shown;
use crate::verdicts::Code;

use super::{all_of, bytes, dwarf, probe, quoted, sites};

/// What is not certain about a value that is doubtful for this reason.
pub(super) fn doubt(reason: &str) -> &'static str {
    match reason {
        "replaced" => "its location changes at the site, and nothing tells whether before or after the marker",
        "begins_here" => "its location begins at the site, and there is none before it",
        "computed" => "the compiler describes it as a computation, in a form that was wrong before",
        "overwritten_unread" => "it is in memory that is overwritten before anything reads it",
        "never_read_again" => "it is in memory that nothing reads after the site",
        "assigned_late" => "an assignment before the marker has its instruction after the site",
        "parameter_in_loop" => "a loop assigns the parameter, and may have been a recursion",
        "overwritten" => "a call on another way to the marker overwrites the register",
        "stored_over" => "the function keeps the parameter in its frame too, and stores another value there",
        "copied_from" => "it begins to share a register with a variable that is declared later",
        "other_constant" => "it is described as a constant, and the code comes from where it is described otherwise",
        "other_offset" => "it is in a register of a loop that may count one step ahead of it",
        "step_ahead" => {
            "a loop steps its register, and the code uses the value before that too, so it may be a step ahead"
        }
        "same_in_copy" => {
            "two copies of the marker in an unrolled loop have one constant, and others have another one each"
        }
        "written_inlined" => "an inlined function may have assigned it through a pointer, and the constant is older",
        "not_tracked" => "gcc describes it for all of its scope in one place, which has other values too",
        "not_in_frame" => "it is behind a pointer into the frame, where the code has no such object",
        "code_not_followed" => "it is in memory, and the code after the site could not be followed",
        _ => "it is not known why",
    }
}

/// Why an argument is not readable, or not in full.
#[must_use]
pub fn reason(reason: &Reason) -> String {
    match reason {
        Reason::NotAPlace(error) => format!("not a place: {}", place_error(error)),
        Reason::LinesOnly => "the debug information here has lines only, and no variables".to_owned(),
        Reason::NoScope => "the debug information describes no function here".to_owned(),
        Reason::OtherFunctions => {
            "the debug information describes the code here as part of other functions than the marker's".to_owned()
        }
        Reason::NoVariable { name, similar } if similar.is_empty() => no_variable(name),
        Reason::NoVariable { name, similar } => format!("{}; there is {}", no_variable(name), quoted(similar)),
        Reason::DeclaredLater { name, line } => format!("`{name}` is declared in line {line}, after the marker"),
        Reason::UnnamedBinding { name, line } => {
            format!("line {line} binds names that the debug information does not have, and `{name}` may be one of them")
        }
        Reason::NoType { name } => format!("the debug information of this unit has no type `{name}`"),
        Reason::Cast { from, to } => format!("a cast from `{from}` to `{to}`, which is more than a change of size"),
        Reason::NoSuchPart(why) => dwarf::no_such_part(why),
        Reason::SeveralVariables { name, count } => {
            format!("{count} variables are called `{name}`, and nothing tells which one is meant")
        }
        Reason::OtherFrame => "a variable of the function around this one, in another frame".to_owned(),
        Reason::ReturnsNothing => "the function returns nothing".to_owned(),
        Reason::Result(problem) => result_problem(*problem).to_owned(),
        Reason::Unsupported(why) => dwarf::unsupported(why),
        Reason::Operand { operand, problem } => format!("`{operand}`: {}", operand_problem(problem)),
        Reason::Scattered(why) => why.to_string(),
        Reason::BigEndianPart => "a part of a register, or a bit-field, of a big-endian processor".to_owned(),
        Reason::BigEndianPointer => "a pointer of known bytes, of a big-endian processor".to_owned(),
        Reason::WidePointer => "a pointer of more than 255 bytes".to_owned(),
        Reason::WideOffset => "an offset of more than 63 bits".to_owned(),
        Reason::TooManySteps => TOO_MANY_STEPS.to_owned(),
        Reason::TooManyPointers { most } => format!("more than {most} pointers on the way to a member"),
        Reason::BeforeVariable => "an implicit pointer that points before the start of its variable".to_owned(),
        Reason::DebugInfo { message } => message.to_string(),
        Reason::EntryValue { text, .. } => format!("only known as {text}, which has been overwritten"),
        Reason::NotDescribedHere { nearest: None } => not_described().to_owned(),
        Reason::NotDescribedHere { nearest: Some(at) } => format!("{}; {}", not_described(), nearest_range(*at)),
        Reason::NeverDescribed => "the debug information describes no location of it anywhere".to_owned(),
        Reason::NoAddress => "it has no address: the linker dropped it, or another object defines it".to_owned(),
        Reason::OptimizedOut => "the optimiser removed it".to_owned(),
        Reason::PointerOptimizedOut => "the optimiser removed the pointer".to_owned(),
        Reason::ImplicitPointer => {
            "the optimiser removed the pointer; what it would point at may be readable (`*` before it)".to_owned()
        }
        Reason::NoPiece => "the debug information describes no piece of it here".to_owned(),
        Reason::NotInMemory => "it is not in memory here, so it has no address".to_owned(),
        Reason::MissingBytes { members, .. } if !members.is_empty() => {
            let (member, is) = if members.len() == 1 { ("member", "is") } else { ("members", "are") };
            format!("its {member} {} {is} optimised out", all_of(members))
        }
        Reason::MissingBytes { bytes, .. } => {
            let missing: Vec<String> = bytes.iter().map(|range| format!("{}..{}", range.start, range.end)).collect();
            format!("its bytes {} are optimised out", missing.join(", "))
        }
        Reason::NoSize => "the size of its type is not described".to_owned(),
        Reason::Replaced { text, .. } => {
            let before = text.as_deref().map(|text| format!(" (from {text})")).unwrap_or_default();
            format!("its location changes here{before}, and nothing tells whether before or after the marker")
        }
        Reason::BeginsHere => {
            "its location begins here, and nothing tells whether before or after the marker".to_owned()
        }
        Reason::Computed => {
            "the debug information computes it from other values, and this compiler often does so wrongly".to_owned()
        }
        Reason::OverwrittenUnread { at } => {
            format!("{at:#x} overwrites it before anything reads it, so the store before the marker may be missing")
        }
        Reason::NeverReadAgain => {
            "nothing reads it after the marker, so the store before the marker may be missing".to_owned()
        }
        Reason::AssignedLate { at } => {
            format!(
                "the instruction at {at:#x} is part of an assignment before the marker, so this may be the old value"
            )
        }
        Reason::OtherConstant { from } => {
            format!("the instruction at {from:#x} leads here too, and there the debug information has another value")
        }
        Reason::OtherOffset { from } => {
            format!("{from:#x} leads here too, and there the debug information adds a constant to this register")
        }
        Reason::StepAhead { at } => {
            format!("{at:#x} adds a constant to the register in a loop, and the code uses the value before that too")
        }
        Reason::SameInCopy { other } => {
            format!("the copy of the marker at {other:#x} has this constant too, and it changes from copy to copy")
        }
        Reason::WrittenInlined => {
            "a function that is inlined before the marker had a pointer to this type, and may have written it"
                .to_owned()
        }
        Reason::NotInFrame => {
            "the code has no such object in the frame, so the word there may be the pointer itself".to_owned()
        }
        Reason::ParameterInLoop => {
            "a loop assigns the parameter, and if that was a recursion, this may be the value of another call"
                .to_owned()
        }
        Reason::StoredOver { at } => {
            format!("{at:#x} stores another value over its copy in the frame, so the register may have the old one")
        }
        Reason::Overwritten { at } => {
            format!("the call at {at:#x}, on another way to the marker, overwrites the register")
        }
        Reason::CopiedFrom { name } => {
            format!("it has the register of `{name}` from the same place on, before or after the marker")
        }
        Reason::NotTracked => {
            "gcc describes it for all of its scope in one place that has other values too, so this may be one of them"
                .to_owned()
        }
        Reason::CodeNotFollowed => {
            "it is in memory, and the code after the marker could not be followed to see whether it is read".to_owned()
        }
    }
}

/// Why there is no result of a function, or it is not known where.
fn result_problem(problem: ResultProblem) -> &'static str {
    match problem {
        ResultProblem::NotAReturn => "there is a result only where the function returns",
        ResultProblem::OfTailCall => "the function ends in a call of another one, which returns the result",
        ResultProblem::NoFunction => "the debug information describes no function here",
        ResultProblem::X87 => "the result is on the stack of the x87 unit",
        ResultProblem::AddressLost => {
            "the result is in memory of the caller, and the function does not return its address"
        }
        ResultProblem::ClassUnknown => "the debug information does not say whether the class is returned in memory",
        ResultProblem::RustType => "how Rust returns this type is not documented",
        ResultProblem::Type => "how this type is returned is not supported",
        ResultProblem::Convention => "the calling convention is not known",
        ResultProblem::Changed => "the compiler changed how the function is called, and may have dropped the result",
    }
}

/// Why an operand does not say where a value is.
fn operand_problem(problem: &OperandProblem) -> String {
    match problem {
        OperandProblem::Processor => "the registers of this processor are not known".to_owned(),
        OperandProblem::Form => "an operand of an unknown form".to_owned(),
        OperandProblem::Size { size } => format!("a value of {size} bytes"),
        OperandProblem::SmallRegister { size } => {
            format!("the register has {}, and it is not known where the rest is", bytes(u64::from(*size)))
        }
        OperandProblem::NoSymbol { name } => format!("the image has no symbol `{name}`"),
        OperandProblem::SeveralSymbols { name } => format!("the image has several symbols `{name}`"),
        OperandProblem::Segment { name } => format!("an address in the segment `{name}` that no symbol names"),
        OperandProblem::Relocation { part } => format!("only the linker knew the value of `{part}`"),
        OperandProblem::TooManySteps => TOO_MANY_STEPS.to_owned(),
    }
}

/// Why a part of a value cannot be located.
fn part_error(error: &PartError) -> &'static str {
    match error {
        PartError::OptimizedOut => "the optimiser removed it",
        PartError::ImplicitPointer(..) => "the optimiser removed the pointer",
        PartError::Scattered(why) => scattered(*why),
    }
}

/// Why no single computation gives a part or a pointer.
fn scattered(why: PartProblem) -> &'static str {
    match why {
        PartProblem::TooManySteps => TOO_MANY_STEPS,
        PartProblem::BitFieldInPieces => "a bit-field in several pieces",
        PartProblem::WideBitField => "a bit-field that spans more than 8 bytes",
        PartProblem::PartOfImplicitPointer => "a part of a pointer that is not there",
        PartProblem::PointerInPieces => "a pointer in several pieces",
        PartProblem::PointerInUpperPart => "a pointer in the upper part of a register",
    }
}

const TOO_MANY_STEPS: &str = "a computation of too many steps";

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(part_error(self))
    }
}

impl std::error::Error for PartError {}

impl fmt::Display for PartProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(scattered(*self))
    }
}

impl std::error::Error for PartProblem {}

/// A text that is not a conversion.
pub(crate) fn no_conversion(text: &str) -> String {
    format!("`{text}` is no conversion")
}

fn no_variable(name: &str) -> String {
    format!("no variable `{name}` is described in this scope")
}

fn not_described() -> &'static str {
    "the debug information describes no location of it here"
}

fn nearest_range(nearest: Nearest) -> String {
    match nearest {
        Nearest::Begins { after } => format!("the nearest one begins {} later", bytes(after)),
        Nearest::Ends { before: 0 } => "the last one ends right here".to_owned(),
        Nearest::Ends { before } => format!("the nearest one ends {} before", bytes(before)),
    }
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&place_error(self))
    }
}

/// Why a text is not a place.
fn place_error(error: &PlaceError) -> String {
    match error {
        PlaceError::Call => "a call cannot be looked up".to_owned(),
        PlaceError::NotPart { character } => {
            format!("`{character}` is not part of a place (a variable, its members, elements and what it points at)")
        }
        PlaceError::TooManyOperators { most } => format!("more than {most} operators"),
        PlaceError::TooManyNames { most } => format!("a path of more than {most} names"),
        PlaceError::OpenParenthesis => "a parenthesis that is not closed around a place".to_owned(),
        PlaceError::Index => "an index that is not a number".to_owned(),
        PlaceError::Number { text } => format!("`{text}` is no variable"),
        PlaceError::Empty => "no variable".to_owned(),
        PlaceError::Start { character } => format!("`{character}` starts no place"),
        PlaceError::Member => "a member without a name".to_owned(),
        PlaceError::InnerAddress => "the address of a place must be the whole argument".to_owned(),
    }
}

/// Why an argument's verdict is not better: its reason, or else the meaning of the verdict. Empty
/// if it needs no reason.
pub(crate) fn why(argument: &Argument) -> String {
    match argument.verdict {
        Some(verdict) => unreadable(verdict, argument.reason.as_ref()),
        None => argument.reason.as_ref().map_or_else(|| NOT_RESOLVED.to_owned(), reason),
    }
}

const NOT_RESOLVED: &str = "there is no debug information, or it was not read";

/// Why an argument with this verdict is not better.
pub(super) fn unreadable(of: Verdict, why: Option<&Reason>) -> String {
    why.map_or_else(|| verdict(of).to_owned(), reason)
}

/// The meaning of a verdict without a reason.
fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Live | Verdict::Constant => "",
        Verdict::Partial => "some of its bytes are optimised out",
        Verdict::Doubtful => "may have another value than in the source",
        Verdict::Entry => "only known as what a register held when the function was entered",
        Verdict::Lost => "optimised out",
        Verdict::Absent => "no such variable in scope",
        Verdict::Unsupported => "described in a way that is not supported",
    }
}

/// Where an argument is and how it is read; `None` if it has no location.
pub(crate) fn place(argument: &Argument) -> Option<String> {
    let location = shown(argument.location_text.as_deref()?);
    let source = argument.location.as_ref().and_then(Location::source);
    let is_computed = matches!(source, Some(Source::Value(_)));
    let is_constant = argument.location.as_ref().is_some_and(Location::is_constant);
    Some(match argument.verdict? {
        Verdict::Constant => format!("constant {location}"),
        Verdict::Doubtful if is_constant => format!("constant {location}"),
        _ if argument.is_kept => format!("kept in {location}"),
        _ if is_computed => format!("computed as {location}"),
        _ => format!("in {location}"),
    })
}

/// How an argument is read at the entry of the function of its frame, or why it is not; `None` if it is read
/// at its site, or nothing is known of that.
pub(crate) fn at_entry(argument: &Argument, entry: Option<&FrameEntry>) -> Option<String> {
    match (argument.at_entry.as_ref()?, entry) {
        (EntryReading::Readable { location_text, .. }, Some(entry)) => {
            let function = entry.function.as_deref().map_or("its function".into(), shown);
            let place = sites::place(Some(&entry.place));
            let location = shown(location_text);
            Some(format!("read at the entry of {function}, {place}, by a probe that each call pays: {location}"))
        }
        (EntryReading::Readable { .. }, None) => None,
        (EntryReading::Refused(problem), _) => {
            Some(format!("not read at the entry of its function: {}", shown(&entry_problem(problem))))
        }
    }
}

/// Why no second probe reads an argument at the entry of its function.
pub(crate) fn entry_problem(problem: &EntryProblem) -> String {
    match problem {
        EntryProblem::Doubtful(why) => format!("it may have another value: {}", reason(why)),
        EntryProblem::CodeUnknown => "its code is not known, or may lead back to its first instruction".to_owned(),
        EntryProblem::NoCallFrame => {
            "call frame information does not say which stack pointer it was entered with".to_owned()
        }
        EntryProblem::NoProbe(None) => "what a probe there does is not known".to_owned(),
        EntryProblem::NoProbe(Some(why)) => format!("no probe can be put there: {}", probe::reason(*why)),
    }
}

/// The size, and how the bytes are read; `None` if not resolved.
pub(crate) fn size(argument: &Argument) -> Option<String> {
    let size = argument.size?;
    let encoding = match argument.encoding {
        Some(Encoding::Signed) => ", signed",
        Some(Encoding::Unsigned) => ", unsigned",
        Some(Encoding::Float) => ", float",
        None => "",
    };
    Some(format!("{}{encoding}", bytes(size)))
}

/// What follows from a value that is in a vector register.
pub(crate) fn in_vector_register(register: &str) -> String {
    format!("{register} is a vector register, which only a debugger reads; a kept value is in a general one")
}

/// An argument in one line: where it is and its type, or the verdict and the reason; `None` if
/// there is no verdict.
pub(crate) fn short(argument: &Argument) -> Option<String> {
    let Some(verdict) = argument.verdict else {
        let reason = argument.reason.as_ref()?;
        return Some(format!("{}: {}", Code::Undescribed.name(), shown(&self::reason(reason))));
    };
    let mut words = match (verdict, place(argument)) {
        (Verdict::Live | Verdict::Constant, Some(place)) => place,
        (Verdict::Partial | Verdict::Doubtful | Verdict::Entry, Some(place)) => {
            format!("{}: {place}; {}", verdict.as_str(), shown(&why(argument)))
        }
        _ => [verdict.as_str(), &shown(&why(argument))]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": "),
    };
    let type_name = argument.type_name.as_deref().map(|name| shown(name).into_owned());
    if let (true, Some(of)) = (argument.location_text.is_some(), type_name.or_else(|| size(argument))) {
        words.push_str(&format!(" ({of})"));
    }
    if argument.mismatch.is_some() {
        words.push_str(", not what its conversion expects");
    }
    Some(words)
}

/// The nearest range before and after an address that is in none of a variable's ranges, with the
/// distances. Empty if there is no range.
pub(crate) fn nearest(ranges: &[Range<u64>], address: u64) -> String {
    let ranges: Vec<&Range<u64>> = ranges.iter().filter(|range| range.start < range.end).collect();
    let before = ranges.iter().filter(|range| range.end <= address).max_by_key(|range| range.end);
    let after = ranges.iter().filter(|range| range.start > address).min_by_key(|range| range.start);
    let mut words = Vec::new();
    if let Some(range) = before {
        words.push(match address.saturating_sub(range.end) {
            0 => format!("{:#x}..{:#x}, which ends right here", range.start, range.end),
            gap => format!("{:#x}..{:#x}, which ends {gap:#x} before", range.start, range.end),
        });
    }
    if let Some(range) = after {
        let gap = range.start.saturating_sub(address);
        words.push(format!("{:#x}..{:#x}, which starts {gap:#x} after", range.start, range.end));
    }
    let more = ranges.len().saturating_sub(words.len());
    if more > 0 && !words.is_empty() {
        words.push(format!("{more} more"));
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_ranges_have_their_distances() {
        let nearest = |ranges: &[(u64, u64)], address| {
            nearest(&ranges.iter().map(|(start, end)| *start..*end).collect::<Vec<_>>(), address)
        };
        assert_eq!(nearest(&[], 5), "");
        assert_eq!(nearest(&[(3, 3)], 5), "");
        assert_eq!(nearest(&[(0x10, 0x20)], 0x20), "0x10..0x20, which ends right here");
        assert_eq!(nearest(&[(0x10, 0x20)], 0x24), "0x10..0x20, which ends 0x4 before");
        assert_eq!(nearest(&[(0x10, 0x20)], 0xc), "0x10..0x20, which starts 0x4 after");
        assert_eq!(
            nearest(&[(0, 1), (0x10, 0x20), (0x30, 0x40), (0x50, 0x60)], 0x24),
            "0x10..0x20, which ends 0x4 before; 0x30..0x40, which starts 0xc after; 2 more"
        );
        // A range that holds the address is not listed.
        assert_eq!(nearest(&[(0x10, 0x20)], 0x14), "");
    }
}
