//! The scope that holds the site of a marker, with the inline instances around it
//! (`docs/design.md`, "The scope of a site").
//!
//! A site is between two instructions, which may belong to different scopes. The marker belongs to
//! one of these scopes, or to a scope without any instruction. So all scopes that hold the address
//! *or end there* are candidates, and the file and line of the marker decide. These facts decide;
//! none is a guess:
//!
//! - The function of a marker is the one declared last before its line in its file. DWARF does not
//!   say on which line a function ends: behind a closure or a nested function, the functions around
//!   it are possible too.
//! - A scope is contiguous in the source. If lines of its code are on both sides of the marker's
//!   line, the marker is in it. If a line of the code around it is between its last line and the
//!   marker's line, the marker is not in it.
//! - Compilers keep the scope of an `asm!` even if it holds nothing else: LLVM writes an empty
//!   range.
//!
//! If several scopes are possible, the answer has several positions, and `names` answers only what
//! is the same from all of them. `site_scope` makes the answer. `candidates` chooses among function
//! instances, `blocks` among the blocks of one, and `own_lines` knows the lines of each scope.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use super::files::SourcePath;
use super::functions::FunctionIndex;
use super::lines::Lines;
use super::per_unit::PerUnit;
use super::unit::Die;
use super::units::Units;
use crate::address::Vaddr;

mod blocks;
mod candidates;
mod own_lines;
mod site_scope;

/// The scope of an address in the code.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The function instances, innermost first; the last one is out of line.
    pub frames: Vec<ScopeFrame>,
    /// Whether the innermost function ends at the site: the marker is the last thing in it.
    pub ended: bool,
    /// What is not certain about the instances; `None` if they are certain. If only the block is
    /// uncertain, a lookup says so for the names that depend on it.
    pub doubt: Option<Doubt>,
    /// Each scope that the site may be in, that of the frames first. Empty if the marker's function
    /// is not at the address.
    pub(super) positions: Vec<Position>,
}

/// An instance of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeFrame {
    /// The name in the source, with the namespaces and types around it; `None` if it has none.
    pub function: Option<Arc<str>>,
    /// The name that the linker knows; `None` if the entry has none, as in C.
    pub linkage_name: Option<Arc<str>>,
    /// The entry of the instance.
    pub instance: Die,
    /// The file that declares the function; `None` if the entry does not say.
    pub decl_file: Option<Arc<str>>,
    /// The line, from 1.
    pub decl_line: Option<u32>,
    /// The file of the call that was inlined; `None` for the function out of line. A file below the
    /// folder that the compiler ran in is relative to that folder, like the marker's own file.
    pub call_file: Option<Arc<str>>,
    /// The line of the call, from 1.
    pub call_line: Option<u32>,
    /// The column of the call, from 1.
    pub call_column: Option<u32>,
    /// The blocks in the instance that hold the address, innermost first.
    pub blocks: Vec<Die>,
}

/// What is not certain about a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// No function that can hold the marker's line has an instance at the address. The frames are
    /// those of the code there.
    NotThere,
    /// The site can be in several instances. The frames are those of the likeliest.
    Several,
}

/// A scope that a site may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) unit: usize,
    pub(super) node: usize,
}

/// Where a marker is written, and the address of its site.
struct MarkerSite {
    pc: Vaddr,
    file: SourcePath,
    line: u32,
}

/// The lines of the scopes of a unit, as they were asked for.
type KnownLines = Mutex<HashMap<LinesKey, Arc<OwnLines>>>;

/// A scope, the scope below it that is left out, and a file.
type LinesKey = (usize, Option<usize>, SourcePath);

/// The lines of a scope, in the file of the marker.
#[derive(Debug, Default)]
pub(super) struct OwnLines {
    /// The lines on which its variables are declared.
    variables: BTreeSet<u32>,
    /// The lines of its code, and of the calls that were inlined.
    pub(super) code: BTreeSet<u32>,
}

impl OwnLines {
    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        self.variables.iter().chain(&self.code).copied()
    }
}

/// The functions of the units, the scopes in them, and the lines of these scopes.
#[derive(Debug)]
pub(super) struct Scopes<'s> {
    pub(super) units: Arc<Units<'s>>,
    pub(super) lines: Arc<Lines<'s>>,
    pub(super) functions: FunctionIndex<'s>,
    own_lines: PerUnit<KnownLines>,
}

impl<'s> Scopes<'s> {
    pub(super) fn new(lines: &Arc<Lines<'s>>) -> Self {
        let units = Arc::clone(&lines.units);
        let own_lines = PerUnit::new(units.unit_count());
        Self { units, lines: Arc::clone(lines), functions: FunctionIndex::new(lines), own_lines }
    }

    /// The number of units whose functions are known.
    pub(super) fn known_units(&self) -> usize {
        self.functions.known_units()
    }

    /// Drops the functions and lines of all units.
    pub(super) fn clear(&self) {
        self.functions.clear();
        self.own_lines.clear();
    }
}

/// Whether a file may be the one that a marker names.
pub(super) fn is_file(file: &SourcePath, name: &SourcePath) -> bool {
    file.has_last_of(name)
}

#[cfg(test)]
mod tests;
