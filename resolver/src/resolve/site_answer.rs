//! What was found at a site, and how much is read to find it.

use std::sync::Arc;

use super::frame_entry::FoundEntry;
use super::instructions::ProbeFacts;
use super::operand_variables::OperandVariable;
use super::{Argument, InlinedFunction};
use crate::Error;
use crate::dwarf::Die;
use crate::location::Expr;

/// What the debug information says about a site, and what its instructions say.
pub(super) type SiteAnswer = (Result<Surroundings, Error>, ProbeFacts);

/// The entries and rows that may be read for each site and each argument, in addition to the budget
/// of the debug information as a whole. Usually 50 to 300 are read.
pub(super) const STEPS: u64 = 500;

/// What the debug information says about a site.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// The out-of-line function that holds it.
    pub(super) function: Option<Arc<str>>,
    /// Its entry.
    pub(super) instance: Option<Die>,
    /// Whether none of the functions there can have the marker.
    pub(super) is_not_there: bool,
    /// The line of the address, of a marker whose file is not known.
    pub(super) line: Option<(Arc<str>, u32)>,
    /// The stack pointer as it was at the entry of the function, where its entry is marked or it is left.
    pub(super) entry_stack_pointer: Option<Expr>,
    /// The entry of the function of the frame, if arguments are read there.
    pub(super) frame_entry: Option<FoundEntry>,
    pub(super) inlined: Vec<InlinedFunction>,
    pub(super) scope_ended: bool,
    pub(super) args: Vec<Argument>,
    /// Of a note: which variables its operands are.
    pub(super) variables: Vec<Option<OperandVariable>>,
    /// The path of the marker's file, if its name starts in a folder above.
    pub(super) path: Option<Arc<str>>,
}
