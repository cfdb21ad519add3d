//! Which variable a name means in a scope (`docs/design.md`, "The scope of a site"): the innermost
//! declaration before the marker.
//!
//! The search ends at the function of the scope, because the variables of its caller are not in
//! scope. Then it looks at statics, which have addresses of their own. `location` finds out where a
//! variable is.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use gimli::constants as dw;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::entries::behind;
use super::files::SourcePath;
use super::functions::{Kind, Variable};
use super::scopes::{Position, Scope, Scopes, is_file};
use super::unit::Die;
use super::units::{CHARGE_INTERVAL, Units};
use crate::Error;
use crate::text;

/// The result of looking up a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// A variable or parameter.
    Found {
        /// Its entry: that of the instance, or else that of the abstract instance.
        variable: Die,
        /// Whether it was found outside of the function: one for the whole program, or for each
        /// thread.
        is_static: bool,
        /// Whether the entry belongs to the instance or is a definition, so that its location is
        /// valid here. If not, the optimiser removed the variable from this instance, or it is only
        /// declared.
        is_placed: bool,
    },
    /// A variable of that name is in scope only after the marker.
    DeclaredLater {
        /// The line that declares it.
        line: u32,
    },
    /// The scope of the marker is not known ([`super::Doubt::NotThere`]).
    NoScope,
    /// Several variables match, and nothing distinguishes them. They are in one scope, or in
    /// several scopes that the marker may be in.
    Several(Vec<Die>),
    /// A variable of an enclosing function, in another frame (nested functions of GCC).
    OtherFrame {
        /// Its entry.
        variable: Die,
    },
    /// There is no such variable.
    Absent {
        /// Similar names in scope, the closest first.
        similar: Vec<String>,
    },
}

/// A variable outside of functions, or a static variable of a function.
#[derive(Clone, Debug)]
struct Static {
    die: Die,
    /// The namespaces, types and functions around it, outermost first.
    within: Vec<Box<[u8]>>,
    is_declaration: bool,
    is_external: bool,
}

/// A definition, with its name.
type Global = (Box<[u8]>, Static);

/// The names that enclose a function.
#[derive(Debug)]
struct FunctionPath {
    /// The names around it, outermost first, and its own.
    names: Vec<Box<[u8]>>,
    /// How many of the names belong to the module.
    module: usize,
}

/// The statics of all units, by name.
#[derive(Debug, Default)]
struct Globals {
    statics: HashMap<Box<[u8]>, Vec<Static>>,
}

/// If the debug information is larger than this, in bytes, other units are searched only for names
/// that the unit of the marker declares.
const SMALL: u64 = 64 << 20;

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
    Found { variable: Die, is_placed: bool },
    Several(Vec<Die>),
    Later(u32),
    None,
}

/// The layer that looks up names.
#[derive(Debug)]
pub(super) struct Names<'s> {
    pub(super) units: Arc<Units<'s>>,
    pub(super) scopes: Arc<Scopes<'s>>,
    globals: OnceLock<Globals>,
}

impl<'s> Names<'s> {
    pub(super) fn new(scopes: &Arc<Scopes<'s>>) -> Self {
        Self { units: Arc::clone(&scopes.units), scopes: Arc::clone(scopes), globals: OnceLock::new() }
    }
}

impl Names<'_> {
    /// Finds the variable that a path means in a scope, for a marker at `file` and `line`. Paths
    /// are `["cmd"]` or `["crate", "queue", "DEPTH"]`.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that was searched is malformed.
    pub(super) fn lookup(&self, scope: &Scope, name: &[&str], file: &str, line: u32) -> Result<Lookup, Error> {
        let file = SourcePath::new(file);
        let Some(last) = name.last() else { return Ok(Lookup::Absent { similar: Vec::new() }) };
        let mut later = None;
        if name.len() == 1 {
            if scope.positions.is_empty() {
                return Ok(Lookup::NoScope);
            }
            let mut found: Vec<(Die, bool)> = Vec::new();
            for &position in &scope.positions {
                match self.local(position, last.as_bytes(), &file, line)? {
                    Local::Found { variable, is_placed } => {
                        if !found.iter().any(|(die, _)| *die == variable) {
                            found.push((variable, is_placed));
                        }
                    }
                    Local::Several(several) => return Ok(Lookup::Several(several)),
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
                            return Ok(Lookup::Found { variable, is_static: false, is_placed: false });
                        }
                    }
                    return self.found(scope, *variable, *is_placed, name);
                }
                several => return Ok(Lookup::Several(several.iter().map(|(die, _)| *die).collect())),
            }
            for &position in &scope.positions {
                if let Some(variable) = self.without_scope(position, last.as_bytes(), &file, line)? {
                    return Ok(Lookup::Found { variable, is_static: false, is_placed: false });
                }
            }
            if let Some(variable) = self.in_outer_function(scope, last.as_bytes())? {
                return Ok(Lookup::OtherFrame { variable });
            }
        }
        if let Some(found) = self.in_statics(scope, name)? {
            return Ok(found);
        }
        if let Some(line) = later {
            return Ok(Lookup::DeclaredLater { line });
        }
        Ok(Lookup::Absent { similar: self.similar(scope, last, &file, line)? })
    }

    /// The result for a local variable. If it is only declared (`extern` in a block), its
    /// definition.
    fn found(&self, scope: &Scope, variable: Die, is_placed: bool, name: &[&str]) -> Result<Lookup, Error> {
        if self.units.flag(variable, dw::DW_AT_declaration)? {
            let defined = self.in_statics(scope, name)?;
            return Ok(defined.unwrap_or(Lookup::Found { variable, is_static: true, is_placed: false }));
        }
        Ok(Lookup::Found { variable, is_static: false, is_placed })
    }

    /// The declarations directly in a scope of an instance, and those of its abstract instance.
    fn declarations(&self, unit: usize, node: usize) -> Result<Declarations, Error> {
        let mut all = Declarations { own: self.scopes.functions.variables(unit, node)?, of_abstract: Arc::from([]) };
        let Some(die) = self.scopes.functions.of_unit(unit)?.node(node).map(|found| Die { unit, offset: found.offset })
        else {
            return Ok(all);
        };
        let Some(value) = self.units.own_attribute(die, dw::DW_AT_abstract_origin)? else {
            return Ok(all);
        };
        let origin = self.units.reference(die, &value)?;
        let Some(abstract_node) = self.scopes.functions.of_unit(origin.unit)?.at_offset(origin.offset) else {
            return Ok(all);
        };
        all.of_abstract = self.scopes.functions.variables(origin.unit, abstract_node)?;
        Ok(all)
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

    fn local(&self, position: Position, name: &[u8], file: &SourcePath, line: u32) -> Result<Local, Error> {
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

    /// A variable of a function that encloses the marker's function.
    fn in_outer_function(&self, scope: &Scope, name: &[u8]) -> Result<Option<Die>, Error> {
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
                    return Ok(Some(variable.die));
                }
            }
            at = found.parent;
        }
        Ok(None)
    }

    /// Looks a path up among statics: from the function outward in its own unit, then in the other
    /// units.
    fn in_statics(&self, scope: &Scope, name: &[&str]) -> Result<Option<Lookup>, Error> {
        let Some(frame) = scope.frames.first() else { return Ok(None) };
        let Some((last, path)) = name.split_last() else { return Ok(None) };
        let unit = frame.instance.unit;
        let around = self.around(frame.instance)?;
        let own = self.unit_statics(unit, last.as_bytes())?;
        let visible = nearest(&own, &around, path);
        let is_declared = visible.iter().any(|known| known.is_declaration);
        let defined: Vec<&Static> = visible.iter().copied().filter(|known| !known.is_declaration).collect();
        let found =
            |known: &Static| Lookup::Found { variable: known.die, is_static: true, is_placed: !known.is_declaration };
        match defined.as_slice() {
            [] => {}
            [one] => return Ok(Some(found(one))),
            several => return Ok(Some(Lookup::Several(several.iter().map(|known| known.die).collect()))),
        }
        let size = self.units.sections.get(".debug_info").len() as u64;
        if is_declared || size <= SMALL {
            let empty = Vec::new();
            let elsewhere = self.globals()?.statics.get(last.as_bytes()).unwrap_or(&empty);
            // A static that is internal to another unit is visible here only if it is not a C name,
            // because rustc makes many units for one crate.
            let elsewhere: Vec<Static> = elsewhere
                .iter()
                .filter(|known| known.die.unit != unit && (known.is_external || !known.within.is_empty()))
                .cloned()
                .collect();
            match nearest(&elsewhere, &around, path).as_slice() {
                [] => {}
                [one] => return Ok(Some(found(one))),
                several => return Ok(Some(Lookup::Several(several.iter().map(|known| known.die).collect()))),
            }
        }
        Ok(visible.first().map(|known| found(known)))
    }

    /// The names around a function, outermost first, and its own.
    fn around(&self, instance: Die) -> Result<FunctionPath, Error> {
        let root = self.units.root_origin(instance)?;
        let functions = self.scopes.functions.of_unit(root.unit)?;
        let (mut names, mut module) = (Vec::new(), 0);
        let mut at = functions.at_offset(root.offset);
        while let Some(found) = at.and_then(|at| functions.node(at)) {
            self.units.charge(1)?;
            if let Some(name) = self.path_part(root.unit, found.kind, found.offset)? {
                // rustc puts the contents of a method below `{impl#0}`, and the method itself below
                // its type.
                if !name.starts_with(b"{impl") {
                    module = if found.kind == Kind::Namespace { module + 1 } else { 0 };
                    // rustc puts a closure in a namespace that is named after the enclosing
                    // function. That namespace is not a module.
                    if name.starts_with(b"{") {
                        module = 0;
                    }
                    names.push(name);
                }
            }
            at = found.parent;
        }
        // For a closure, take what is outside of the function that contains it.
        if let Some(closure) = names.iter().rposition(|name| name.starts_with(b"{")) {
            module = names.len().saturating_sub(closure).saturating_sub(2);
        }
        names.reverse();
        Ok(FunctionPath { names, module })
    }

    /// The namespaces, types and functions around an entry, outermost first.
    fn path(&self, die: Die) -> Result<Vec<Box<[u8]>>, Error> {
        let functions = self.scopes.functions.of_unit(die.unit)?;
        let mut at = match functions.at_offset(die.offset) {
            Some(node) => functions.node(node).and_then(|node| node.parent),
            None => None,
        };
        let mut path = Vec::new();
        while let Some(found) = at.and_then(|at| functions.node(at)) {
            self.units.charge(1)?;
            path.extend(self.path_part(die.unit, found.kind, found.offset)?);
            at = found.parent;
        }
        path.reverse();
        Ok(path)
    }

    fn path_part(&self, unit: usize, kind: Kind, offset: usize) -> Result<Option<Box<[u8]>>, Error> {
        match kind {
            Kind::Namespace | Kind::Type | Kind::Function => {
                Ok(self.units.name(Die { unit, offset })?.map(|name| plain(&name)))
            }
            _ => Ok(None),
        }
    }

    /// The statics of a unit with a given name.
    fn unit_statics(&self, unit: usize, name: &[u8]) -> Result<Vec<Static>, Error> {
        let functions = self.scopes.functions.of_unit(unit)?;
        let mut statics = Vec::new();
        let (mut node, mut path_of) = (0, None);
        while let Some(found) = functions.node(node) {
            self.units.charge(1)?;
            let (index, kind) = (node, found.kind);
            // Statics inside functions are left out. `local` finds those.
            node = if matches!(kind, Kind::Unit | Kind::Namespace | Kind::Type) {
                index + 1
            } else {
                found.end.max(index + 1)
            };
            if !matches!(kind, Kind::Unit | Kind::Namespace | Kind::Type) {
                continue;
            }
            for variable in
                self.scopes.functions.variables(unit, index)?.iter().filter(|variable| *variable.name == *name)
            {
                // C++ defines members and variables of namespaces outside of them.
                let within = if variable.origin == variable.die {
                    match &path_of {
                        Some((known, path)) if *known == index => Vec::clone(path),
                        _ => {
                            let mut path = self.path(Die { unit, offset: found.offset })?;
                            path.extend(self.path_part(unit, kind, found.offset)?);
                            path_of = Some((index, path.clone()));
                            path
                        }
                    }
                } else {
                    self.path_of_variable(variable.origin)?
                };
                statics.push(self.as_static(variable.die, within)?);
            }
        }
        // A declaration is left out if a definition refers to it.
        let mut completed = BTreeSet::new();
        for known in statics.iter().filter(|known: &&Static| !known.is_declaration) {
            completed.insert(self.units.root_origin(known.die)?);
        }
        statics.retain(|known| !known.is_declaration || !completed.contains(&known.die));
        Ok(statics)
    }

    fn path_of_variable(&self, variable: Die) -> Result<Vec<Box<[u8]>>, Error> {
        let functions = self.scopes.functions.of_unit(variable.unit)?;
        // Entries are in order, so the enclosing scope is the last one that starts before it and
        // has not ended.
        let mut at = functions.before(variable.offset);
        while let Some((node, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            if self.scopes.functions.variables(variable.unit, node)?.iter().any(|known| known.die == variable) {
                let mut path = self.path(Die { unit: variable.unit, offset: found.offset })?;
                path.extend(self.path_part(variable.unit, found.kind, found.offset)?);
                return Ok(path);
            }
            at = node.checked_sub(1);
        }
        Ok(Vec::new())
    }

    fn as_static(&self, die: Die, within: Vec<Box<[u8]>>) -> Result<Static, Error> {
        let is_declaration =
            matches!(self.units.own_attribute(die, dw::DW_AT_declaration)?, Some(gimli::AttributeValue::Flag(true)));
        Ok(Static { die, within, is_declaration, is_external: self.units.flag(die, dw::DW_AT_external)? })
    }

    /// The definitions of all units, without those inside functions.
    fn globals(&self) -> Result<&Globals, Error> {
        if let Some(globals) = self.globals.get() {
            return Ok(globals);
        }
        let by_unit = (0..self.units.unit_count()).into_par_iter().map(|unit| self.unit_globals(unit));
        let mut globals = Globals::default();
        for (name, known) in by_unit.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
            globals.statics.entry(name).or_default().push(known);
        }
        Ok(self.globals.get_or_init(|| globals))
    }

    /// The definitions at the top level and in the namespaces of a unit.
    fn unit_globals(&self, index: usize) -> Result<Vec<Global>, Error> {
        let mut globals = Vec::new();
        // A unit that cannot be read has no definitions. If only its end cannot be read, the
        // definitions before that count.
        let Ok(unit) = self.units.unit(index) else {
            // If the work limit is reached, fail: half of the statics would give a wrong answer.
            self.units.check_work_left()?;
            return Ok(globals);
        };
        let Ok(mut entries) = unit.entries_raw(None) else { return Ok(globals) };
        // The depth where `entries` was restarted after entries that were skipped.
        let mut start_depth = 0isize;
        // The namespaces around the current entry. The unit's first entry has depth 0, and the
        // contents of a namespace are one deeper than the namespace.
        let mut within: Vec<Box<[u8]>> = Vec::new();
        let mut spaces: Vec<usize> = Vec::new();
        let mut uncharged = 0;
        while !entries.is_empty() {
            uncharged += 1;
            if uncharged >= CHARGE_INTERVAL {
                self.units.charge(std::mem::take(&mut uncharged))?;
            }
            let offset = entries.next_offset();
            let depth = start_depth.saturating_add(entries.next_depth());
            let Ok(abbreviation) = entries.read_abbreviation() else { break };
            let Some(abbreviation) = abbreviation else { continue };
            let inside = usize::try_from(depth).unwrap_or(0).saturating_sub(1);
            if inside < spaces.len() {
                within.truncate(spaces.get(inside).copied().unwrap_or(0));
                spaces.truncate(inside);
            }
            let Ok(next) = behind(unit, &mut entries, abbreviation) else { break };
            if depth == 0 || inside > spaces.len() {
                continue;
            }
            let die = Die { unit: index, offset: offset.0 };
            match abbreviation.tag() {
                dw::DW_TAG_variable => {
                    let Some(name) = self.units.name(die)? else { continue };
                    // Charges for copying the names.
                    uncharged += 4 * within.len() as u64;
                    let known = self.as_static(die, within.clone())?;
                    if !known.is_declaration {
                        globals.push(((*name).into(), known));
                    }
                }
                dw::DW_TAG_namespace | dw::DW_TAG_module if abbreviation.has_children() => {
                    spaces.push(within.len());
                    self.units.charge(1 + within.len() as u64)?;
                    within.extend(self.units.name(die)?.map(|name| plain(&name)));
                }
                // Other entries are skipped with their children.
                _ => {
                    if let Some(again) = next.and_then(|next| unit.entries_raw(Some(next)).ok()) {
                        (entries, start_depth) = (again, depth);
                    }
                }
            }
        }
        self.units.charge(uncharged)?;
        Ok(globals)
    }

    /// Names in scope that are similar to a name that is not.
    fn similar(&self, scope: &Scope, name: &str, file: &SourcePath, line: u32) -> Result<Vec<String>, Error> {
        let mut names = BTreeSet::new();
        let Some(&position) = scope.positions.first() else { return Ok(Vec::new()) };
        self.outward(position, |declarations| {
            for (variable, _) in declarations.iter() {
                let is_later = variable.declared.as_ref().is_some_and(|(known, at)| is_file(known, file) && *at > line);
                if !is_later && names.len() < 1 << 12 {
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

/// A name without generic arguments.
fn plain(name: &[u8]) -> Box<[u8]> {
    let end = name.iter().position(|byte| *byte == b'<').filter(|end| *end > 0).unwrap_or(name.len());
    name.get(..end).unwrap_or(name).into()
}

/// The names of a path that are written in the source.
fn written(path: &[Box<[u8]>]) -> impl Iterator<Item = &[u8]> {
    path.iter().map(|part| &**part).filter(|part| !part.starts_with(b"{impl"))
}

/// The statics that a path means as seen from a function: those in the innermost place that has
/// any.
fn nearest<'a>(statics: &'a [Static], around: &FunctionPath, path: &[&str]) -> Vec<&'a Static> {
    let (mut bases, mut path): (Vec<usize>, &[&str]) = ((0..=around.names.len()).rev().collect(), path);
    match path.first() {
        Some(&"crate") => (bases, path) = (vec![around.module.min(1)], path.get(1..).unwrap_or_default()),
        Some(&("self" | "super")) => {
            let mut module = around.module;
            while let Some(&first @ ("self" | "super")) = path.first() {
                module = module.saturating_sub(usize::from(first == "super"));
                path = path.get(1..).unwrap_or_default();
            }
            bases = vec![module];
        }
        _ => {}
    }
    let mut bases = bases.into_iter();
    bases
        .find_map(|base| {
            let base = around.names.get(..base).unwrap_or_default();
            let wanted: Vec<&[u8]> =
                base.iter().map(|part| &**part).chain(path.iter().map(|part| part.as_bytes())).collect();
            let is_there = |known: &&Static| written(&known.within).eq(wanted.iter().copied());
            let there: Vec<&Static> = statics.iter().filter(is_there).collect();
            (!there.is_empty()).then_some(there)
        })
        .unwrap_or_default()
}
