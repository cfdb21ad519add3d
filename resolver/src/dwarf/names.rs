//! Which variable a name means in a scope (`docs/design.md`, "The scope of a site"): the innermost
//! declaration before the marker.
//!
//! The search ends at the function of the scope, because the variables of its caller are not in
//! scope. Then it looks at statics (`statics.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use gimli::constants as dw;

use super::files::SourcePath;
use super::functions::{Kind, Variable};
use super::lookup::Lookup;
use super::scopes::{Position, Scope, Scopes, is_file};
use super::statics::Statics;
use super::unit::Die;
use super::units::Units;
use crate::Error;
use crate::text;

/// The variables directly in a scope of an instance.
pub(super) struct Declarations {
    own: Arc<[Variable]>,
    /// The variables of the abstract instance.
    of_abstract: Arc<[Variable]>,
}

impl Declarations {
    /// Each variable, with whether it belongs to the instance itself. A variable of the abstract
    /// instance is included only if the instance does not repeat it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Variable, bool)> {
        let known: BTreeSet<Die> = match self.of_abstract.is_empty() {
            true => BTreeSet::new(),
            false => self.own.iter().map(|variable| variable.origin).collect(),
        };
        let rest = self.of_abstract.iter().filter(move |variable| !known.contains(&variable.origin));
        self.own.iter().map(|variable| (variable, true)).chain(rest.map(|variable| (variable, false)))
    }
}

/// The result of looking up a name in one scope.
enum Local {
    Found {
        variable: Die,
        is_placed: bool,
    },
    Several(Vec<Die>),
    Unnamed(u32),
    /// What a using-declaration or an enumeration has: their entries.
    Named(Vec<Die>),
    Later(u32),
    None,
}

/// The line of a structured binding before `line` whose names are not described. LLVM since 17 declares
/// the names on the same line; g++ gives its object no line.
fn unnamed(declarations: &Declarations, line: u32) -> Option<u32> {
    let lines = |is_named: bool| {
        let variables = declarations.iter().filter(move |(variable, _)| variable.name.is_empty() != is_named);
        variables.filter_map(|(variable, _)| Some(variable.declared.as_ref()?.1))
    };
    lines(false).find(|&declared| declared <= line && !lines(true).any(|named| named == declared))
}

/// The layer that looks up names.
#[derive(Debug)]
pub(super) struct ScopeNames<'s> {
    pub(super) units: Arc<Units<'s>>,
    pub(super) scopes: Arc<Scopes<'s>>,
    pub(super) statics: Statics<'s>,
}

impl<'s> ScopeNames<'s> {
    pub(super) fn new(scopes: &Arc<Scopes<'s>>) -> Self {
        Self { units: Arc::clone(&scopes.units), scopes: Arc::clone(scopes), statics: Statics::new(scopes) }
    }
}

impl ScopeNames<'_> {
    /// Finds the variable that a path means in a scope, for a marker at `file` and `line`. Paths
    /// are `["cmd"]` or `["crate", "queue", "DEPTH"]`.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that was searched is malformed.
    pub(super) fn lookup(&self, scope: &Scope, name: &[&str], file: &str, line: u32) -> Result<Lookup, Error> {
        match self.lookup_in_function(scope, name, file, line)? {
            Some(found) if !matches!(found, Lookup::DeclaredLater { .. }) => Ok(found),
            later => self.lookup_outside(scope, name, file, line, later),
        }
    }

    /// The same among the variables of the marker's function alone. Only if nothing outside of it
    /// has the name does [`Lookup::DeclaredLater`] hold.
    ///
    /// # Errors
    ///
    /// Those of [`ScopeNames::lookup`].
    pub(super) fn lookup_in_function(
        &self,
        scope: &Scope,
        name: &[&str],
        file: &str,
        line: u32,
    ) -> Result<Option<Lookup>, Error> {
        let file = SourcePath::new(file);
        let &[last] = name else { return Ok(None) };
        if scope.positions.is_empty() {
            return Ok(Some(Lookup::NoScope));
        }
        let mut later = None;
        let mut found: Vec<(Die, bool)> = Vec::new();
        for &position in &scope.positions {
            let mut perhaps = Vec::new();
            let local = self.local(position, last.as_bytes(), (&file, line), &mut perhaps)?;
            if self.is_enumerator(&local, position, last.as_bytes(), (&file, line))? {
                return Ok(Some(Lookup::Absent { similar: Vec::new() }));
            }
            if !perhaps.is_empty() {
                return self.imported_or(scope, name, &local, (position.unit, &perhaps)).map(Some);
            }
            match local {
                Local::Found { variable, is_placed } => {
                    if !found.iter().any(|(die, _)| *die == variable) {
                        found.push((variable, is_placed));
                    }
                }
                Local::Several(several) => return Ok(Some(Lookup::Several(several))),
                Local::Unnamed(line) => return Ok(Some(Lookup::Unnamed { line })),
                Local::Named(entries) => return self.statics.meant(position.unit, &entries).map(Some),
                Local::Later(line) => later = later.or(Some(line)),
                Local::None => {}
            }
            self.units.charge(found.len() as u64)?;
        }
        match found.as_slice() {
            [] => {}
            [(variable, is_placed)] => {
                for &position in &scope.positions {
                    if let Some(variable) = self.in_missing_block(position, *variable, &file, line)? {
                        return Ok(Some(Lookup::Found { variable, is_static: false, is_placed: false }));
                    }
                }
                return self.found(scope, *variable, *is_placed, name).map(Some);
            }
            several => return Ok(Some(Lookup::Several(several.iter().map(|(die, _)| *die).collect()))),
        }
        for &position in &scope.positions {
            if let Some(variable) = self.without_scope(position, last.as_bytes(), &file, line)? {
                return Ok(Some(Lookup::Found { variable, is_static: false, is_placed: false }));
            }
        }
        Ok(later.map(|line| Lookup::DeclaredLater { line }))
    }

    /// The same outside of the marker's function. `later` is what is left to say if nothing there has
    /// the name.
    ///
    /// # Errors
    ///
    /// Those of [`ScopeNames::lookup`].
    pub(super) fn lookup_outside(
        &self,
        scope: &Scope,
        name: &[&str],
        file: &str,
        line: u32,
        later: Option<Lookup>,
    ) -> Result<Lookup, Error> {
        let Some(last) = name.last() else { return Ok(Lookup::Absent { similar: Vec::new() }) };
        if name.len() == 1 {
            if let Some(found) = self.in_outer_function(scope, last.as_bytes())? {
                return Ok(found);
            }
        }
        if let Some(found) = self.statics.lookup(scope, name)? {
            return Ok(found);
        }
        match later {
            Some(later) => Ok(later),
            None => Ok(Lookup::Absent { similar: self.similar(scope, last, &SourcePath::new(file), line)? }),
        }
    }

    /// The result for a local variable. If it is only declared (`extern` in a block), its
    /// definition.
    fn found(&self, scope: &Scope, variable: Die, is_placed: bool, name: &[&str]) -> Result<Lookup, Error> {
        if self.units.flag(variable, dw::DW_AT_declaration)? {
            let defined = self.statics.lookup(scope, name)?;
            return Ok(defined.unwrap_or(Lookup::Found { variable, is_static: true, is_placed: false }));
        }
        Ok(Lookup::Found { variable, is_static: false, is_placed })
    }

    /// What entries mean that using-declarations around the marker or behind it have, if without them the
    /// name means nothing else.
    fn imported_or(
        &self,
        scope: &Scope,
        name: &[&str],
        local: &Local,
        (unit, entries): (usize, &[Die]),
    ) -> Result<Lookup, Error> {
        let imported = self.statics.meant(unit, entries)?;
        let Lookup::Found { variable, .. } = imported else { return Ok(imported) };
        let other = match local {
            Local::Found { variable, .. } => {
                Some(Lookup::Found { variable: *variable, is_static: false, is_placed: true })
            }
            Local::Named(entries) => Some(self.statics.meant(unit, entries)?),
            Local::Several(_) | Local::Unnamed(_) => Some(Lookup::NoScope),
            Local::Later(_) | Local::None => self.statics.lookup(scope, name)?,
        };
        Ok(match other {
            None => imported,
            Some(Lookup::Found { variable: other, .. }) if other == variable => imported,
            Some(Lookup::Found { variable: other, .. }) => Lookup::Several(vec![variable, other]),
            Some(_) => Lookup::Absent { similar: Vec::new() },
        })
    }

    /// The declarations directly in a scope of an instance, and those of its abstract instance.
    fn declarations(&self, unit: usize, node: usize) -> Result<Declarations, Error> {
        let of_abstract = match self.scopes.of_abstract(unit, node)? {
            Some(Position { unit, node }) => self.scopes.functions.variables(unit, node)?,
            None => Arc::from([]),
        };
        Ok(Declarations { own: self.scopes.functions.variables(unit, node)?, of_abstract })
    }

    /// Whether a name means an enumerator of the marker's function. A variable that is declared after
    /// it hides it, or is in another block.
    fn is_enumerator(
        &self,
        local: &Local,
        position: Position,
        name: &[u8],
        until: (&SourcePath, u32),
    ) -> Result<bool, Error> {
        let Some((_, line)) = self.scopes.enumerator_in_function(position, name, until)? else { return Ok(false) };
        let Local::Found { variable, .. } = local else { return Ok(true) };
        Ok(self.scopes.lines.declared(*variable)?.is_none_or(|(_, declared)| declared < line))
    }

    /// The scopes from a position out to its function, with the declarations of each.
    pub(super) fn outward(
        &self,
        position: Position,
        mut each: impl FnMut(&Declarations) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let functions = self.scopes.functions.of_unit(position.unit)?;
        let mut at = Some(position.node);
        while let Some((node, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            if !each(&self.declarations(position.unit, node)?)? || found.kind.is_instance() {
                break;
            }
            at = found.parent;
        }
        Ok(())
    }

    /// What a name means in the scopes from a position out to its function. What using-declarations of
    /// them perhaps mean goes to `perhaps`.
    fn local(
        &self,
        position: Position,
        name: &[u8],
        (file, line): (&SourcePath, u32),
        perhaps: &mut Vec<Die>,
    ) -> Result<Local, Error> {
        let functions = self.scopes.functions.of_unit(position.unit)?;
        let (mut at, mut later) = (Some(position.node), None);
        while let Some((node, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            let mut last: Vec<(u32, &Variable, bool)> = Vec::new();
            let declarations = self.declarations(position.unit, node)?;
            for (variable, is_placed) in declarations.iter() {
                if *variable.name != *name {
                    continue;
                }
                // Lines of another file (of a macro or an included file) cannot be compared. The
                // name then counts as declared.
                let declared =
                    variable.declared.as_ref().filter(|(known, _)| is_file(known, file)).map_or(0, |(_, line)| *line);
                if declared > line {
                    later = later.or(Some(declared));
                    continue;
                }
                match last.first().map_or(std::cmp::Ordering::Greater, |(known, _, _)| declared.cmp(known)) {
                    std::cmp::Ordering::Greater => last = vec![(declared, variable, is_placed)],
                    std::cmp::Ordering::Equal => last.push((declared, variable, is_placed)),
                    std::cmp::Ordering::Less => {}
                }
            }
            match last.as_slice() {
                [] => {}
                [(_, variable, is_placed)] => {
                    return Ok(Local::Found { variable: variable.die, is_placed: *is_placed });
                }
                several => return Ok(Local::Several(several.iter().map(|(_, variable, _)| variable.die).collect())),
            }
            let mut named = self.scopes.named(position.unit, node, name, Some((file, line)))?;
            if let Some(of) = self
                .scopes
                .of_abstract(position.unit, node)?
                .filter(|_| named.entries.is_empty() && named.perhaps.is_empty())
            {
                named = self.scopes.named(of.unit, of.node, name, Some((file, line)))?;
            }
            perhaps.extend(named.perhaps);
            if !named.entries.is_empty() {
                return Ok(Local::Named(named.entries));
            }
            if let Some(line) = unnamed(&declarations, line) {
                return Ok(Local::Unnamed(line));
            }
            if found.kind.is_instance() {
                break;
            }
            at = found.parent;
        }
        Ok(later.map_or(Local::None, Local::Later))
    }

    /// A variable of a block that has no code, or no code around the marker: the last one that the
    /// function declares before the line. Whether the marker can see it is not known.
    fn without_scope(
        &self,
        position: Position,
        name: &[u8],
        file: &SourcePath,
        line: u32,
    ) -> Result<Option<Die>, Error> {
        let Some(instance) = self.scopes.functions.of_unit(position.unit)?.instance(position.node) else {
            return Ok(None);
        };
        let offset = self.scopes.functions.of_unit(position.unit)?.node(instance).map_or(0, |found| found.offset);
        let die = Die { unit: position.unit, offset };
        let origin = match self.units.own_attribute(die, dw::DW_AT_abstract_origin)? {
            Some(value) => self.units.reference(die, &value)?,
            None => die,
        };
        let functions = self.scopes.functions.of_unit(origin.unit)?;
        let Some(start) = functions.at_offset(origin.offset) else { return Ok(None) };
        let (end, mut node) = (functions.below(start).end, start);
        let mut last: Option<(u32, Die)> = None;
        while node < end {
            self.units.charge(1)?;
            let Some(found) = functions.node(node) else { break };
            if node != start && found.kind != Kind::Block {
                node = found.end;
                continue;
            }
            for variable in
                self.scopes.functions.variables(origin.unit, node)?.iter().filter(|variable| *variable.name == *name)
            {
                let declared =
                    variable.declared.as_ref().filter(|(known, _)| is_file(known, file)).map_or(0, |(_, line)| *line);
                if declared <= line && last.is_none_or(|(known, _)| declared >= known) {
                    last = Some((declared, variable.die));
                }
            }
            node += 1;
        }
        Ok(last.map(|(_, die)| die))
    }

    /// What a name means in the functions that enclose the marker's function.
    fn in_outer_function(&self, scope: &Scope, name: &[u8]) -> Result<Option<Lookup>, Error> {
        let Some(frame) = scope.frames.first() else { return Ok(None) };
        let origin = self.units.root_origin(frame.instance)?;
        let functions = self.scopes.functions.of_unit(origin.unit)?;
        let mut at = functions.at_offset(origin.offset).and_then(|at| functions.node(at)?.parent);
        while let Some((node, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            if matches!(found.kind, Kind::Function | Kind::Block) {
                if let Some(variable) =
                    self.scopes.functions.variables(origin.unit, node)?.iter().find(|variable| *variable.name == *name)
                {
                    return Ok(Some(Lookup::OtherFrame { variable: variable.die }));
                }
                let named = self.scopes.named(origin.unit, node, name, None)?;
                if !named.entries.is_empty() {
                    return self.statics.meant(origin.unit, &named.entries).map(Some);
                }
            }
            at = found.parent;
        }
        Ok(None)
    }

    /// Names in scope that are similar to a name that is not.
    fn similar(&self, scope: &Scope, name: &str, file: &SourcePath, line: u32) -> Result<Vec<String>, Error> {
        let mut names = BTreeSet::new();
        let Some(&position) = scope.positions.first() else { return Ok(Vec::new()) };
        self.outward(position, |declarations| {
            for (variable, _) in declarations.iter() {
                let is_later = variable.declared.as_ref().is_some_and(|(known, at)| is_file(known, file) && *at > line);
                if !is_later && !variable.name.is_empty() && names.len() < 1 << 12 {
                    names.insert(text::from_bytes(&variable.name));
                }
            }
            Ok(true)
        })?;
        let mut close: Vec<(usize, String)> = Vec::new();
        for known in names.into_iter().filter(|known| known.len() < 256 && name.len() < 256) {
            let distance = strsim::damerau_levenshtein(name, &known);
            if distance <= (name.chars().count() / 3).max(1) {
                close.push((distance, known));
            }
        }
        close.sort();
        Ok(close.into_iter().take(3).map(|(_, name)| name).collect())
    }
}
