//! The scope of a site: the function instances around it, and the positions that are possible.

use std::collections::BTreeSet;
use std::sync::Arc;

use gimli::constants as dw;

use super::super::files::SourcePath;
use super::super::functions::Kind;
use super::super::unit::Die;
use super::candidates::{Candidate, Lies};
use super::{Doubt, MarkerSite, Position, Scope, ScopeFrame, Scopes};
use crate::Error;
use crate::address::Vaddr;
use crate::text;

impl Scopes<'_> {
    /// The scope of a marker of `file` and `line` whose site is at `pc`; `None` if no function is
    /// there (`docs/design.md`, "The scope of a site").
    ///
    /// # Errors
    ///
    /// The debug information of a unit at the address is malformed.
    pub(in crate::dwarf) fn scope_at(&self, pc: Vaddr, file: &str, line: u32) -> Result<Option<Scope>, Error> {
        let candidates = self.candidates(pc, self.instances(pc)?)?;
        let (chosen, positions) = self.chosen(&candidates, pc, file, line)?;
        let Some(shown) = positions.first().copied().or_else(|| innermost(&candidates)) else { return Ok(None) };
        let functions = self.functions.of_unit(shown.unit)?;
        let instance = functions.instance(shown.node).unwrap_or(shown.node);
        let ended = matches!(Lies::of(&functions, instance, pc.0), Lies::Before | Lies::Empty);
        Ok(Some(Scope { frames: self.frames(shown)?, ended, doubt: doubt(&chosen), positions }))
    }

    /// The innermost function instance of [`scope_at`](Self::scope_at); `None` if no function is there.
    ///
    /// # Errors
    ///
    /// The debug information of a unit at the address is malformed.
    pub(in crate::dwarf) fn instance_at(&self, pc: Vaddr, file: &str, line: u32) -> Result<Option<Die>, Error> {
        let instances = self.instances(pc)?;
        if let [only] = &*instances {
            return Ok(Some(only.die));
        }
        let candidates = self.candidates(pc, instances)?;
        let (_, positions) = self.chosen(&candidates, pc, file, line)?;
        let Some(shown) = positions.first().copied().or_else(|| innermost(&candidates)) else { return Ok(None) };
        let functions = self.functions.of_unit(shown.unit)?;
        let instance = functions.instance(shown.node).and_then(|instance| functions.node(instance));
        Ok(instance.map(|found| Die { unit: shown.unit, offset: found.offset }))
    }

    /// The candidates that the marker may be in, and its scopes in them.
    fn chosen<'c>(
        &self,
        candidates: &'c [Candidate],
        pc: Vaddr,
        file: &str,
        line: u32,
    ) -> Result<(Vec<&'c Candidate>, Vec<Position>), Error> {
        let site = MarkerSite { pc, file: SourcePath::new(file), line };
        let chosen = self.choose(candidates, &site)?;
        let positions = self.positions(&chosen, &site)?;
        Ok((chosen, positions))
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
    pub(in crate::dwarf) fn function_name(&self, instance: Die) -> Result<Option<Arc<str>>, Error> {
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
