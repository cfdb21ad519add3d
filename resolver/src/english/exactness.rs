//! Why a probe at a site is exact, or is not.

use super::dwarf;
use crate::resolve::{
    ApproximateReason, ExactnessReason, FoldingUnknown, FunctionNames, LikelyReason, MarkReason, PatchesUnknown,
};

const NO_CALL_FRAMES: &str = "the call frame information cannot be read";

/// Why a probe at a site is exact, or is not.
#[must_use]
pub fn reason(reason: &ExactnessReason) -> String {
    match reason {
        ExactnessReason::Anchored => "the instruction there is the marker's own".to_owned(),
        ExactnessReason::Entry => "the function is entered there, and nothing else leads there".to_owned(),
        ExactnessReason::FallThrough => {
            "the instruction before it goes on there, and nothing else leads there".to_owned()
        }
        ExactnessReason::OnePredecessor => "one branch leads there, and nothing else".to_owned(),
        ExactnessReason::Likely(reason) => likely(*reason),
        ExactnessReason::Mark(reason) => mark(*reason),
        ExactnessReason::Approximate(reason) => approximate(*reason),
        ExactnessReason::SeveralPredecessors { count } => {
            format!("{count} ways in, and not all of them need pass the marker")
        }
        ExactnessReason::SeveralCopies { copies } => {
            format!("{copies} copies of the marker are there, and a probe fires once for all of them")
        }
        ExactnessReason::SeveralRecords { records } => format!(
            "{records} records of the marker are there: copies in a row, or the one of a function that several files have"
        ),
        ExactnessReason::AndSeveralRecords { reason, records } => {
            format!("{}; and {records} records of the marker are there", self::reason(reason))
        }
        ExactnessReason::FoldedMarkers => {
            "markers of different functions are at the address: the linker made one of the functions".to_owned()
        }
        ExactnessReason::FoldedFunctions { functions } => {
            format!("the linker made one of {}, and a probe fires for each", names(functions))
        }
        ExactnessReason::FoldedFunctionsMayDiffer { functions } => {
            format!("the linker made one of {}, which need not all pass the marker", names(functions))
        }
        ExactnessReason::SeveralNames { functions } => format!(
            "{} are at one address: names of one function, or functions that the linker made one of",
            names(functions)
        ),
        ExactnessReason::FoldingUnknown(unknown) => folding(*unknown).to_owned(),
        ExactnessReason::FunctionEnds => "the marker's function ends before the address".to_owned(),
        ExactnessReason::NamedFunctionEnds { function } => format!("`{function}` ends before the address"),
        ExactnessReason::SectionEnds => "the address is behind the last instruction of its section".to_owned(),
        ExactnessReason::Undecoded { address } => {
            format!("the bytes at {address:#x} of its function are no instruction")
        }
        ExactnessReason::InsideInstruction => "the address is in the middle of an instruction".to_owned(),
        ExactnessReason::IndirectJump { address } => format!("the indirect jump at {address:#x} may lead there"),
        ExactnessReason::NoPredecessor => "nothing that is known leads there".to_owned(),
        ExactnessReason::AnotherFunction => {
            "the debug information has another function than the marker's at the address".to_owned()
        }
        ExactnessReason::LandingPadsUnknown { why } => {
            let why = why.as_ref().map_or_else(|| NO_CALL_FRAMES.to_owned(), dwarf::exception_table);
            format!("where exceptions lead is not known: {why}")
        }
        ExactnessReason::PatchesUnknown(unknown) => {
            format!("what the kernel patches is not known: {}", patches(*unknown))
        }
        ExactnessReason::ReplacedInstructions => "the kernel may replace the instructions there by others".to_owned(),
        ExactnessReason::NoFunction => {
            "no symbol and no debug information says which function the address is in".to_owned()
        }
        ExactnessReason::BetweenFunctions { before } => {
            format!("`{before}` ends where this function starts, and no debug information says whose the marker is")
        }
        ExactnessReason::SymbolWithoutSize => "the symbol of its function has no size".to_owned(),
        ExactnessReason::PartOfUnknown => "it is not known which function this is the cold part of".to_owned(),
        ExactnessReason::NoDebugInfo => "no debug information".to_owned(),
        ExactnessReason::DebugInfo { message } => message.to_string(),
        ExactnessReason::NoCode => "its function has no code".to_owned(),
        ExactnessReason::TooMuchCode => "more code is said to be in functions than the image has".to_owned(),
        ExactnessReason::CodeNotInFile => "not all of its function is in the file".to_owned(),
    }
}

/// Functions, of which some are named.
pub(crate) fn names(functions: &FunctionNames) -> String {
    match &*functions.first {
        [] => format!("{} functions", functions.count),
        [one] if functions.count == 1 => format!("`{one}`"),
        [one] => format!("`{one}` and {} more", functions.count.saturating_sub(1)),
        [one, other, ..] if functions.count <= 2 => format!("`{one}` and `{other}`"),
        [one, other, ..] => format!("`{one}`, `{other}` and {} more", functions.count.saturating_sub(2)),
    }
}

fn folding(unknown: FoldingUnknown) -> &'static str {
    match unknown {
        FoldingUnknown::SameSizeDropped => {
            "a function of the same size was dropped, and this linker leaves no symbol of one that it made one with another"
        }
        FoldingUnknown::NoSymbol => "no symbol says whether the linker made its function one with another",
        FoldingUnknown::NoLocalSymbols => {
            "local symbols were left out, so nothing says whether the linker made its function one with another"
        }
    }
}

fn patches(unknown: PatchesUnknown) -> String {
    match unknown {
        PatchesUnknown::EntrySize { section } => format!("the entries of `{section}` are of no known size"),
        PatchesUnknown::NotInFile { section } => format!("`{section}` is not in the file"),
        PatchesUnknown::ReplacementLeadsAnywhere { address } => {
            format!("what replaces the instructions at {address:#x} may lead anywhere")
        }
    }
}

/// What is known of a place that a user named.
fn mark(reason: MarkReason) -> String {
    match reason {
        MarkReason::Leaves => "the instruction there leaves the function".to_owned(),
        MarkReason::Begins => "the code of the line begins there, and was compiled without optimisation".to_owned(),
        MarkReason::MayBeMoved => {
            "the code of the line begins there, as far as the line table says: the optimiser may have moved it"
                .to_owned()
        }
        MarkReason::Inlined => {
            "an inlined copy of the function begins there, as far as the debug information says: the optimiser may \
             have moved it"
                .to_owned()
        }
        MarkReason::MayLeaveElsewhere => {
            "the function is left there, and may be left elsewhere too: not all of its code could be followed"
                .to_owned()
        }
        MarkReason::Repeats => "code of the line leads back there, and each pass is a hit".to_owned(),
        MarkReason::SeveralPlaces { count } => {
            format!("the line has code in {count} places of the function, which may be parts of it or copies")
        }
        MarkReason::Closure => {
            "it is in a closure that begins on the line, which need not run as often as the line".to_owned()
        }
        MarkReason::NoStatement => "no statement begins on the line: what is there is part of another one".to_owned(),
        MarkReason::OtherLine => {
            "the optimiser left no code of the line, and the next line that has some need not run as often".to_owned()
        }
        MarkReason::CodeElsewhere => {
            "code of the line runs on a way that avoids the place: copies of the line lost their beginning".to_owned()
        }
        MarkReason::WayAround => {
            "a way that avoids the place leads to the statements inside or beside it: the optimiser dropped copies of \
             the line, or moved it"
                .to_owned()
        }
        MarkReason::MissingCopies { count } => {
            format!("the line has no code in {} of its function", super::counted(count as usize, "other instance"))
        }
        MarkReason::CodeUnknown => "the code of the function could not be followed".to_owned(),
    }
}

/// Why a place of a ghost is likely.
fn likely(reason: LikelyReason) -> String {
    match reason {
        LikelyReason::Label => {
            "the optimiser may have moved the label of the ghost, or copied the code around it".to_owned()
        }
        LikelyReason::LinkTime => "link-time optimisation may have moved the label of the ghost".to_owned(),
        LikelyReason::Inlined => {
            "its function is inlined there, and an inlined copy that has no code left leaves no trace".to_owned()
        }
        LikelyReason::RemovableCode => {
            "the compiler may have removed the code behind the ghost on some ways that lead there".to_owned()
        }
        LikelyReason::MissingCopies { count } => {
            format!("{} of its function without a place for the ghost", counted_are(count))
        }
        LikelyReason::Statement => {
            "the line table has the ghost's statement there, which the compiler may have moved".to_owned()
        }
    }
}

/// Why the hits at a place of a ghost are not its passes.
fn approximate(reason: ApproximateReason) -> String {
    match reason {
        ApproximateReason::RepeatedLine { places } => format!(
            "the line that follows has code in {places} places of the function, which may be copies of one piece of code"
        ),
        ApproximateReason::RepeatedStatement { copies } => format!(
            "its function has {copies} copies of the ghost's statement: a loop was unrolled, or code was copied"
        ),
        ApproximateReason::MissingCopies { count } => {
            format!("{} of its function without a place for the ghost", counted_are(count))
        }
        ApproximateReason::StraightCode => {
            "code further left leads straight there: a branch that led to the ghost may be gone".to_owned()
        }
        ApproximateReason::MovedCode => "the code before it was moved there, as far as its lines show".to_owned(),
        ApproximateReason::SeveralWays => {
            "several ways lead there, and the ghost's statement may be missing on others".to_owned()
        }
        ApproximateReason::SeveralEntries { entries } => {
            format!("control enters the code behind the ghost in {entries} places")
        }
        ApproximateReason::SeveralExits { exits } => {
            format!("nothing follows the ghost in its block, and control leaves the block in {exits} places")
        }
        ApproximateReason::InsideStatement => {
            "the label of the ghost is inside the code of a statement, which may be several copies of one piece \
             of code"
                .to_owned()
        }
        ApproximateReason::EarlierBranch => {
            "the label of the ghost is at a branch of a statement before the ghost".to_owned()
        }
        ApproximateReason::SharedInlined => {
            "its function is inlined there, other ways lead there, and an inlined copy that has no code left \
             leaves no trace"
                .to_owned()
        }
        ApproximateReason::Loop => {
            "the code behind the ghost begins with a loop, and each of its passes is a hit".to_owned()
        }
        ApproximateReason::NothingFollows => {
            "nothing follows the ghost in its block, and control leaves the block there".to_owned()
        }
        ApproximateReason::SharedExit => {
            "nothing follows the ghost in its block, and other ways also lead to where control leaves the \
             block"
                .to_owned()
        }
    }
}

fn counted_are(count: u32) -> String {
    match count {
        1 => "there is 1 inlined copy".to_owned(),
        _ => format!("there are {count} inlined copies"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_up_to_two() {
        let names = |first: &[&str], count| {
            super::names(&FunctionNames { first: first.iter().map(|name| (*name).into()).collect(), count })
        };
        assert_eq!(names(&["a", "S::S"], 2), "`a` and `S::S`");
        assert_eq!(names(&["a", "b", "c"], 3), "`a`, `b` and 1 more");
        assert_eq!(names(&["a", "b", "c", "d"], 9), "`a`, `b` and 7 more");
        assert_eq!(names(&["a"], 1), "`a`");
    }

    #[test]
    fn a_second_reason_follows_the_first() {
        let both = ExactnessReason::AndSeveralRecords { reason: Box::new(ExactnessReason::NoPredecessor), records: 3 };
        assert_eq!(reason(&both), "nothing that is known leads there; and 3 records of the marker are there");
        assert_eq!(both.name(), "no_predecessor");
    }
}
