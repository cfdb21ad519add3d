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
//! is the same from all of them. `candidates` chooses among function instances, `blocks` among the
//! blocks of one, and `own_lines` knows the lines of each scope.

use std::collections::BTreeSet;
use std::sync::Arc;

use gimli::constants as dw;

use self::candidates::{Candidate, Lies};
use self::own_lines::KnownLines;
use super::files::SourcePath;
use super::functions::{FunctionIndex, Kind};
use super::lines::Lines;
use super::per_unit::PerUnit;
use super::unit::Die;
use super::units::Units;
use crate::Error;
use crate::address::Vaddr;
use crate::text;

mod blocks;
mod candidates;
mod own_lines;

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

impl Scopes<'_> {
    /// The scope of a marker of `file` and `line` whose site is at `pc`; `None` if no function is
    /// there (`docs/design.md`, "The scope of a site").
    ///
    /// # Errors
    ///
    /// The debug information of a unit at the address is malformed.
    pub(super) fn scope_at(&self, pc: Vaddr, file: &str, line: u32) -> Result<Option<Scope>, Error> {
        let site = MarkerSite { pc, file: SourcePath::new(file), line };
        let candidates = self.candidates(pc)?;
        let chosen = self.choose(&candidates, &site)?;
        let positions = self.positions(&chosen, &site)?;
        let Some(shown) = positions.first().copied().or_else(|| innermost(&candidates)) else { return Ok(None) };
        let functions = self.functions.of_unit(shown.unit)?;
        let instance = functions.instance(shown.node).unwrap_or(shown.node);
        let ended = matches!(Lies::of(&functions, instance, pc.0), Lies::Before | Lies::Empty);
        Ok(Some(Scope { frames: self.frames(shown)?, ended, doubt: doubt(&chosen), positions }))
    }

    /// The scopes that a marker may be in, each once, the likeliest first.
    fn positions(&self, chosen: &[&Candidate], site: &MarkerSite) -> Result<Vec<Position>, Error> {
        let mut positions: Vec<Position> = Vec::new();
        for candidate in chosen {
            for node in self.scopes_of_marker(candidate, site)? {
                self.units.charge(positions.len() as u64)?;
                let position = Position { unit: candidate.unit, node };
                if !positions.contains(&position) {
                    positions.push(position);
                }
            }
        }
        Ok(positions)
    }

    /// The name of the function of an instance, as in [`ScopeFrame::function`].
    pub(super) fn function_name(&self, instance: Die) -> Result<Option<Arc<str>>, Error> {
        Ok(self.functions.qualified_name(instance)?.map(Into::into))
    }

    /// The function instances around a position, innermost first.
    fn frames(&self, position: Position) -> Result<Vec<ScopeFrame>, Error> {
        let Position { unit, node } = position;
        let functions = self.functions.of_unit(unit)?;
        let (mut frames, mut blocks, mut at) = (Vec::new(), Vec::new(), Some(node));
        while let Some(found) = at.and_then(|at| functions.node(at)) {
            let die = Die { unit, offset: found.offset };
            at = found.parent;
            match found.kind {
                Kind::Block => blocks.push(die),
                Kind::Function | Kind::Inlined => {
                    frames.push(self.frame(die, std::mem::take(&mut blocks))?);
                    if found.kind == Kind::Function {
                        break;
                    }
                }
                _ => break,
            }
        }
        Ok(frames)
    }

    fn frame(&self, instance: Die, blocks: Vec<Die>) -> Result<ScopeFrame, Error> {
        let linkage_name = match self.units.string(instance, dw::DW_AT_linkage_name)? {
            Some(name) => Some(name),
            None => self.units.string(instance, dw::DW_AT_MIPS_linkage_name)?,
        };
        let declared = self.lines.declared(instance)?;
        let call = self.lines.position(instance, dw::DW_AT_call_file, dw::DW_AT_call_line)?;
        let column = self.units.unsigned(instance, dw::DW_AT_call_column)?.filter(|column| *column != 0);
        Ok(ScopeFrame {
            function: self.functions.qualified_name(instance)?.map(Into::into),
            linkage_name: linkage_name.map(|name| text::from_bytes(&name).into()),
            instance,
            decl_file: declared.as_ref().map(|(file, _)| Arc::clone(file.as_str())),
            decl_line: declared.map(|(_, line)| line),
            call_file: call.as_ref().map(|(file, _)| self.lines.as_written(instance.unit, file)),
            call_line: call.map(|(_, line)| line),
            call_column: column.and_then(|column| u32::try_from(column).ok()),
            blocks,
        })
    }
}

/// The innermost instance at the site, for a marker whose function is not there.
fn innermost(candidates: &[Candidate]) -> Option<Position> {
    let holding = candidates.iter().filter(|candidate| matches!(candidate.lies, Lies::Around | Lies::Behind));
    let innermost = holding.max_by_key(|candidate| candidate.node).or(candidates.last())?;
    Some(Position { unit: innermost.unit, node: innermost.node })
}

fn doubt(chosen: &[&Candidate]) -> Option<Doubt> {
    let instances: BTreeSet<_> = chosen.iter().map(|candidate| (candidate.unit, candidate.node)).collect();
    match instances.len() {
        0 => Some(Doubt::NotThere),
        1 => None,
        _ => Some(Doubt::Several),
    }
}

/// Whether a file may be the one that a marker names.
pub(super) fn is_file(file: &SourcePath, name: &SourcePath) -> bool {
    file.agreement(name).is_some()
}

#[cfg(test)]
mod tests;
