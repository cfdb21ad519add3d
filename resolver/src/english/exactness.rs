//! Why a probe at a site is exact, or is not.

use std::fmt;

use super::dwarf;
use crate::resolve::{ApproximateReason, ExactnessReason, FoldingUnknown, FunctionNames, LikelyReason, PatchesUnknown};

const NO_CALL_FRAMES: &str = "the call frame information cannot be read";

impl fmt::Display for ExactnessReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anchored => out.write_str("the instruction there is the marker's own"),
            Self::Entry => out.write_str("the function is entered there, and nothing else leads there"),
            Self::FallThrough => out.write_str("the instruction before it goes on there, and nothing else leads there"),
            Self::OnePredecessor => out.write_str("one branch leads there, and nothing else"),
            Self::Likely(reason) => likely(out, *reason),
            Self::Approximate(reason) => approximate(out, *reason),
            Self::SeveralPredecessors { count } => {
                write!(out, "{count} ways in, and not all of them need pass the marker")
            }
            Self::SeveralCopies { copies } => {
                write!(out, "{copies} copies of the marker are there, and a probe fires once for all of them")
            }
            Self::SeveralRecords { records } => write!(
                out,
                "{records} records of the marker are there: copies in a row, or the one of a function that several files have"
            ),
            Self::AndSeveralRecords { reason, records } => {
                write!(out, "{reason}; and {records} records of the marker are there")
            }
            Self::FoldedMarkers => {
                out.write_str("markers of different functions are at the address: the linker made one of the functions")
            }
            Self::FoldedFunctions { functions } => {
                write!(out, "the linker made one of {functions}, and a probe fires for each")
            }
            Self::FoldedFunctionsMayDiffer { functions } => {
                write!(out, "the linker made one of {functions}, which need not all pass the marker")
            }
            Self::SeveralNames { functions } => write!(
                out,
                "{functions} are at one address: names of one function, or functions that the linker made one of"
            ),
            Self::FoldingUnknown(unknown) => out.write_str(folding(*unknown)),
            Self::FunctionEnds => out.write_str("the marker's function ends before the address"),
            Self::NamedFunctionEnds { function } => write!(out, "`{function}` ends before the address"),
            Self::SectionEnds => out.write_str("the address is behind the last instruction of its section"),
            Self::Undecoded { address } => {
                write!(out, "the bytes at {address:#x} of its function are no instruction")
            }
            Self::InsideInstruction => out.write_str("the address is in the middle of an instruction"),
            Self::IndirectJump { address } => write!(out, "the indirect jump at {address:#x} may lead there"),
            Self::NoPredecessor => out.write_str("nothing that is known leads there"),
            Self::AnotherFunction => {
                out.write_str("the debug information has another function than the marker's at the address")
            }
            Self::LandingPadsUnknown { why } => {
                let why = why.as_ref().map_or_else(|| NO_CALL_FRAMES.to_owned(), dwarf::exception_table);
                write!(out, "where exceptions lead is not known: {why}")
            }
            Self::PatchesUnknown(unknown) => {
                out.write_str("what the kernel patches is not known: ")?;
                patches(out, *unknown)
            }
            Self::ReplacedInstructions => out.write_str("the kernel may replace the instructions there by others"),
            Self::NoFunction => {
                out.write_str("no symbol and no debug information says which function the address is in")
            }
            Self::BetweenFunctions { before } => write!(
                out,
                "`{before}` ends where this function starts, and no debug information says whose the marker is"
            ),
            Self::SymbolWithoutSize => out.write_str("the symbol of its function has no size"),
            Self::PartOfUnknown => out.write_str("it is not known which function this is the cold part of"),
            Self::NoDebugInfo => out.write_str("no debug information"),
            Self::DebugInfo { message } => out.write_str(message),
            Self::NoCode => out.write_str("its function has no code"),
            Self::TooMuchCode => out.write_str("more code is said to be in functions than the image has"),
            Self::CodeNotInFile => out.write_str("not all of its function is in the file"),
        }
    }
}

impl fmt::Display for FunctionNames {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.first {
            [] => write!(out, "{} functions", self.count),
            [one] if self.count == 1 => write!(out, "`{one}`"),
            [one] => write!(out, "`{one}` and {} more", self.count.saturating_sub(1)),
            [one, other, ..] if self.count <= 2 => write!(out, "`{one}` and `{other}`"),
            [one, other, ..] => write!(out, "`{one}`, `{other}` and {} more", self.count.saturating_sub(2)),
        }
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

fn patches(out: &mut fmt::Formatter<'_>, unknown: PatchesUnknown) -> fmt::Result {
    match unknown {
        PatchesUnknown::EntrySize { section } => write!(out, "the entries of `{section}` are of no known size"),
        PatchesUnknown::NotInFile { section } => write!(out, "`{section}` is not in the file"),
        PatchesUnknown::ReplacementLeadsAnywhere { address } => {
            write!(out, "what replaces the instructions at {address:#x} may lead anywhere")
        }
    }
}

/// Why a place of a ghost is likely.
fn likely(out: &mut fmt::Formatter<'_>, reason: LikelyReason) -> fmt::Result {
    match reason {
        LikelyReason::Label => {
            out.write_str("the optimiser may have moved the label of the ghost, or copied the code around it")
        }
        LikelyReason::LinkTime => out.write_str("link-time optimisation may have moved the label of the ghost"),
        LikelyReason::Inlined => {
            out.write_str("its function is inlined there, and an inlined copy that has no code left leaves no trace")
        }
        LikelyReason::RemovableCode => {
            out.write_str("the compiler may have removed the code behind the ghost on some ways that lead there")
        }
        LikelyReason::MissingCopies { count } => {
            write!(out, "{} of its function without a place for the ghost", counted_are(count))
        }
        LikelyReason::Statement => {
            out.write_str("the line table has the ghost's statement there, which the compiler may have moved")
        }
    }
}

/// Why the hits at a place of a ghost are not its passes.
fn approximate(out: &mut fmt::Formatter<'_>, reason: ApproximateReason) -> fmt::Result {
    match reason {
        ApproximateReason::RepeatedLine { places } => write!(
            out,
            "the line that follows has code in {places} places of the function, which may be copies of one piece of code"
        ),
        ApproximateReason::RepeatedStatement { copies } => write!(
            out,
            "its function has {copies} copies of the ghost's statement: a loop was unrolled, or code was copied"
        ),
        ApproximateReason::MissingCopies { count } => {
            write!(out, "{} of its function without a place for the ghost", counted_are(count))
        }
        ApproximateReason::StraightCode => {
            out.write_str("code further left leads straight there: a branch that led to the ghost may be gone")
        }
        ApproximateReason::MovedCode => out.write_str("the code before it was moved there, as far as its lines show"),
        ApproximateReason::SeveralWays => {
            out.write_str("several ways lead there, and the ghost's statement may be missing on others")
        }
        ApproximateReason::SeveralEntries { entries } => {
            write!(out, "control enters the code behind the ghost in {entries} places")
        }
        ApproximateReason::SeveralExits { exits } => {
            write!(out, "nothing follows the ghost in its block, and control leaves the block in {exits} places")
        }
        ApproximateReason::InsideStatement => out.write_str(
            "the label of the ghost is inside the code of a statement, which may be several copies of one piece of code",
        ),
        ApproximateReason::EarlierBranch => {
            out.write_str("the label of the ghost is at a branch of a statement before the ghost")
        }
        ApproximateReason::SharedInlined => out.write_str(
            "its function is inlined there, other ways lead there, and an inlined copy that has no code left leaves no trace",
        ),
        ApproximateReason::Loop => {
            out.write_str("the code behind the ghost begins with a loop, and each of its passes is a hit")
        }
        ApproximateReason::NothingFollows => {
            out.write_str("nothing follows the ghost in its block, and control leaves the block there")
        }
        ApproximateReason::SharedExit => out.write_str(
            "nothing follows the ghost in its block, and other ways also lead to where control leaves the block",
        ),
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
            FunctionNames { first: first.iter().map(|name| (*name).into()).collect(), count }.to_string()
        };
        assert_eq!(names(&["a", "S::S"], 2), "`a` and `S::S`");
        assert_eq!(names(&["a", "b", "c"], 3), "`a`, `b` and 1 more");
        assert_eq!(names(&["a", "b", "c", "d"], 9), "`a`, `b` and 7 more");
        assert_eq!(names(&["a"], 1), "`a`");
    }

    #[test]
    fn a_second_reason_follows_the_first() {
        let reason =
            ExactnessReason::AndSeveralRecords { reason: Box::new(ExactnessReason::NoPredecessor), records: 3 };
        assert_eq!(reason.to_string(), "nothing that is known leads there; and 3 records of the marker are there");
        assert_eq!(reason.name(), "no_predecessor");
    }
}
