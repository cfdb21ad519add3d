//! Statics: variables outside of functions. Which of them a path means as seen from a function.
//!
//! The unit of the function is searched first, then the definitions of all units.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use gimli::constants as dw;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::entry_walk::{EntryWalk, WalkStep};
use super::functions::{Kind, ScopeNode};
use super::imported::Import;
use super::lookup::Lookup;
use super::scopes::{Position, Scope, Scopes};
use super::unit::Die;
use super::units::Units;
use crate::Error;

/// The names of the namespaces, types and functions around something, outermost first.
type NamePath = Vec<Box<[u8]>>;

/// A variable outside of functions, or a static variable of a function.
#[derive(Clone, Debug)]
struct Static {
    die: Die,
    /// Not if it is an enumerator or a function, which hide variables.
    is_variable: bool,
    /// The namespaces, types and functions around it, outermost first.
    within: NamePath,
    is_declaration: bool,
    is_external: bool,
}

/// A definition, with its name.
type Global = (Box<[u8]>, Static);

/// The names that enclose a function.
#[derive(Debug, Default)]
struct FunctionPath {
    /// The names around it, outermost first, and its own.
    names: NamePath,
    /// How many of the names belong to the module.
    module: usize,
    /// The namespaces of using-directives around it, each with the names around it and its own.
    directives: Vec<NamePath>,
    /// Other names of namespaces, innermost first.
    aliases: Vec<(Box<[u8]>, NamePath)>,
}

/// The statics of all units, by name.
type Globals = HashMap<Box<[u8]>, Vec<Static>>;

/// The layer that looks up statics.
#[derive(Debug)]
pub(super) struct Statics<'s> {
    units: Arc<Units<'s>>,
    scopes: Arc<Scopes<'s>>,
    globals: OnceLock<Globals>,
}

impl<'s> Statics<'s> {
    pub(super) fn new(scopes: &Arc<Scopes<'s>>) -> Self {
        Self { units: Arc::clone(&scopes.units), scopes: Arc::clone(scopes), globals: OnceLock::new() }
    }
}

/// If the debug information is larger than this, in bytes, other units are searched only for names
/// that the unit of the marker declares.
const SMALL: u64 = 64 << 20;

/// What the name of an inline namespace begins with in a path.
const INLINE: &[u8] = b"inline ";

impl Statics<'_> {
    /// Looks a path up among statics: from the function outward in its own unit, then in the other
    /// units.
    pub(super) fn lookup(&self, scope: &Scope, name: &[&str]) -> Result<Option<Lookup>, Error> {
        let Some(frame) = scope.frames.first() else { return Ok(None) };
        let Some((last, path)) = name.split_last() else { return Ok(None) };
        let unit = frame.instance.unit;
        let around = self.around(scope, frame.instance)?;
        let own = self.unit_names(unit, last.as_bytes())?;
        let visible = nearest(&own, &around, path);
        if visible.iter().any(|known| !known.is_variable) {
            return Ok(Some(Lookup::Absent { similar: Vec::new() }));
        }
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
            let elsewhere = self.globals()?.get(last.as_bytes()).unwrap_or(&empty);
            // A static that is internal to another unit is visible here only if it is not a C name,
            // because rustc makes many units for one crate.
            let elsewhere: Vec<Static> = elsewhere
                .iter()
                .filter(|known| known.die.unit != unit && (known.is_external || !known.within.is_empty()))
                .map(|known| self.declared_within(known))
                .collect::<Result<_, Error>>()?;
            match nearest(&elsewhere, &around, path).as_slice() {
                [] => {}
                [one] => return Ok(Some(found(one))),
                several => return Ok(Some(Lookup::Several(several.iter().map(|known| known.die).collect()))),
            }
        }
        Ok(visible.first().map(|known| found(known)))
    }

    /// The names around a function, outermost first, and its own.
    fn around(&self, scope: &Scope, instance: Die) -> Result<FunctionPath, Error> {
        let root = self.units.root_origin(instance)?;
        let functions = self.scopes.functions.of_unit(root.unit)?;
        let (mut names, mut module) = (Vec::new(), 0);
        let mut around = FunctionPath::default();
        for position in &scope.positions {
            self.add_imports_of_blocks(*position, &mut around)?;
        }
        let mut at = functions.at_offset(root.offset);
        while let Some((node, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            self.add_imports(root.unit, node, &mut around)?;
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
            at = self.parent(root.unit, found)?;
        }
        // For a closure, take what is outside of the function that contains it.
        if let Some(closure) = names.iter().rposition(|name| name.starts_with(b"{")) {
            module = names.len().saturating_sub(closure).saturating_sub(2);
        }
        names.reverse();
        Ok(FunctionPath { names, module, ..around })
    }

    /// Adds the imports of the blocks from a position out to its function.
    fn add_imports_of_blocks(&self, position: Position, around: &mut FunctionPath) -> Result<(), Error> {
        let functions = self.scopes.functions.of_unit(position.unit)?;
        let mut at = Some(position.node);
        while let Some((node, found)) = at.and_then(|at| Some((at, functions.node(at)?))) {
            self.units.charge(1)?;
            self.add_imports(position.unit, node, around)?;
            if let Some(of) = self.scopes.of_abstract(position.unit, node)? {
                self.add_imports(of.unit, of.node, around)?;
            }
            at = found.parent.filter(|_| !found.kind.is_instance());
        }
        Ok(())
    }

    /// Adds the using-directives and the names of namespaces of a scope, and those of the namespaces that
    /// the directives name.
    fn add_imports(&self, unit: usize, node: usize, around: &mut FunctionPath) -> Result<(), Error> {
        let mut open = vec![(unit, node)];
        while let Some((unit, node)) = open.pop() {
            for (_, import) in self.scopes.imports(unit, node)? {
                match import {
                    Import::Directive(of) => {
                        let path = self.path_of_namespace(of)?;
                        self.units.charge(around.directives.len() as u64)?;
                        if !around.directives.contains(&path) {
                            around.directives.push(path);
                            let node = self.scopes.functions.of_unit(of.unit)?.at_offset(of.offset);
                            open.extend(node.map(|node| (of.unit, node)));
                        }
                    }
                    Import::Alias(name, of) => around.aliases.push((name, self.path_of_namespace(of)?)),
                    Import::Declaration(_) => {}
                }
            }
        }
        Ok(())
    }

    /// The names around a namespace, outermost first, and its own.
    fn path_of_namespace(&self, namespace: Die) -> Result<NamePath, Error> {
        let mut path = self.path(namespace)?;
        path.extend(self.namespace(namespace)?);
        Ok(path)
    }

    /// The namespaces, types and functions around an entry, outermost first.
    fn path(&self, die: Die) -> Result<NamePath, Error> {
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
            Kind::Namespace => self.namespace(Die { unit, offset }),
            Kind::Type | Kind::Function => Ok(self.units.name(Die { unit, offset })?.map(|name| plain(&name))),
            _ => Ok(None),
        }
    }

    /// The name of a namespace, with [`INLINE`] before that of an inline one.
    fn namespace(&self, die: Die) -> Result<Option<Box<[u8]>>, Error> {
        let Some(name) = self.units.name(die)? else { return Ok(None) };
        Ok(Some(match self.units.flag(die, dw::DW_AT_export_symbols)? {
            true => [INLINE, &*name].concat().into(),
            false => plain(&name),
        }))
    }

    /// The statics of a unit with a given name, and what else has it: what using-declarations name, as
    /// if it were declared there, and enumerators.
    fn unit_names(&self, unit: usize, name: &[u8]) -> Result<Vec<Static>, Error> {
        let mut all = self.unit_statics(unit, name)?;
        let functions = self.scopes.functions.of_unit(unit)?;
        for &node in functions.spaces_with_names() {
            let Some(found) = functions.node(node) else { continue };
            for named in self.scopes.named(unit, node, name, None)?.entries {
                let mut within = self.path(Die { unit, offset: found.offset })?;
                within.extend(self.path_part(unit, found.kind, found.offset)?);
                all.push(match self.meant(unit, &[named])? {
                    Lookup::Found { variable, .. } => self.as_static(variable, within)?,
                    _ => Static { is_variable: false, ..self.as_static(named, within)? },
                });
            }
        }
        Ok(all)
    }

    /// What entries mean that using-declarations and enumerations of one scope have, as seen from a unit.
    pub(super) fn meant(&self, unit: usize, entries: &[Die]) -> Result<Lookup, Error> {
        let mut variables = BTreeSet::new();
        for &entry in entries {
            if !matches!(self.units.tag(entry)?, dw::DW_TAG_variable | dw::DW_TAG_member) {
                return Ok(Lookup::Absent { similar: Vec::new() });
            }
            let definition = self.definition_of_member(unit, entry)?;
            variables.insert(definition.map_or((entry, false), |definition| (definition, true)));
        }
        Ok(match (variables.len(), variables.first()) {
            (1, Some(&(variable, is_placed))) => Lookup::Found { variable, is_static: true, is_placed },
            _ => Lookup::Several(variables.into_iter().map(|(variable, _)| variable).collect()),
        })
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

    /// A static with the names around its declaration, which are not those around its definition.
    fn declared_within(&self, known: &Static) -> Result<Static, Error> {
        let origin = self.units.root_origin(known.die)?;
        let within = if origin == known.die { known.within.clone() } else { self.path_of_variable(origin)? };
        Ok(Static { within, ..known.clone() })
    }

    /// The names around a variable or a static member.
    fn path_of_variable(&self, variable: Die) -> Result<NamePath, Error> {
        let functions = self.scopes.functions.of_unit(variable.unit)?;
        // Entries are in order, so the scope around it is the last one that starts before it, or is
        // around that one.
        let mut at = functions.before(variable.offset);
        while let Some(found) = at.and_then(|at| functions.node(at)) {
            let scope = Die { unit: variable.unit, offset: found.offset };
            let children = self.units.children(scope)?;
            self.units.charge(children.len() as u64)?;
            if children.iter().any(|(child, _)| *child == variable) {
                let mut path = self.path(scope)?;
                path.extend(self.path_part(variable.unit, found.kind, found.offset)?);
                return Ok(path);
            }
            at = found.parent;
        }
        Ok(Vec::new())
    }

    /// The definition of a static member of a class of C++, or of a variable of a namespace, as seen from a unit: by the declaration
    /// that it completes, in another unit by its path. `None` if there is none, or several.
    pub(super) fn definition_of_member(&self, unit: usize, member: Die) -> Result<Option<Die>, Error> {
        let Some(name) = self.units.name(member)? else { return Ok(None) };
        let member = self.units.root_origin(member)?;
        let mut found = BTreeSet::new();
        for known in self.unit_statics(unit, &name)?.iter().filter(|known| !known.is_declaration) {
            if self.units.root_origin(known.die)? == member {
                found.insert(known.die);
            }
        }
        if found.is_empty() {
            let within = self.path_of_variable(member)?;
            for known in self.globals()?.get(&*name).into_iter().flatten().filter(|known| known.is_external) {
                if self.declared_within(known)?.within == within {
                    found.insert(known.die);
                }
            }
        }
        Ok(if found.len() == 1 { found.pop_first() } else { None })
    }

    /// The classes of C++ around a function, the innermost first.
    pub(super) fn classes_around(&self, instance: Die) -> Result<Vec<Die>, Error> {
        let root = self.units.root_origin(instance)?;
        let functions = self.scopes.functions.of_unit(root.unit)?;
        let mut classes = Vec::new();
        let mut at = functions.at_offset(root.offset);
        while let Some(found) = at.and_then(|at| functions.node(at)) {
            self.units.charge(1)?;
            if found.kind == Kind::Type {
                classes.push(Die { unit: root.unit, offset: found.offset });
            }
            at = self.parent(root.unit, found)?;
        }
        Ok(classes)
    }

    /// The node around another one, as the source has them: C++ defines functions outside of their classes.
    fn parent(&self, unit: usize, node: &ScopeNode) -> Result<Option<usize>, Error> {
        let origin = match node.kind {
            Kind::Function => self.units.root_origin(Die { unit, offset: node.offset })?,
            _ => return Ok(node.parent),
        };
        let functions = self.scopes.functions.of_unit(unit)?;
        let declared = functions.at_offset(origin.offset).filter(|_| origin.unit == unit);
        Ok(declared.and_then(|at| functions.node(at)).unwrap_or(node).parent)
    }

    fn as_static(&self, die: Die, within: NamePath) -> Result<Static, Error> {
        let is_declaration =
            matches!(self.units.own_attribute(die, dw::DW_AT_declaration)?, Some(gimli::AttributeValue::Flag(true)));
        let is_external = self.units.flag(die, dw::DW_AT_external)?;
        Ok(Static { die, is_variable: true, within, is_declaration, is_external })
    }

    /// The statics of all units that have these names in their path, in this order: of their scopes, or their own.
    /// In Rust the variable of a `thread_local!` is in a scope with the name that the source gives it.
    pub(super) fn below(&self, path: &[&str]) -> Result<Vec<Die>, Error> {
        let mut found = Vec::new();
        for (name, known) in self.globals()?.iter().flat_map(|(name, all)| all.iter().map(move |known| (name, known))) {
            let mut names = known.within.iter().chain([name]);
            if path.iter().all(|wanted| names.any(|name| **name == *wanted.as_bytes())) {
                found.push(known.die);
            }
        }
        // The order of the table differs from run to run.
        found.sort_unstable();
        Ok(found)
    }

    /// The definitions of all units, without those inside functions.
    fn globals(&self) -> Result<&Globals, Error> {
        if let Some(globals) = self.globals.get() {
            return Ok(globals);
        }
        let by_unit = (0..self.units.unit_count()).into_par_iter().map(|unit| self.unit_globals(unit));
        let mut globals = Globals::default();
        for (name, known) in by_unit.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
            globals.entry(name).or_default().push(known);
        }
        Ok(self.globals.get_or_init(|| globals))
    }

    /// The definitions at the top level and in the namespaces of a unit.
    fn unit_globals(&self, index: usize) -> Result<Vec<Global>, Error> {
        let mut globals = Vec::new();
        // A unit that cannot be read has no definitions. If only its end cannot be read, the
        // definitions before that count.
        let Ok(mut walk) = EntryWalk::start(&self.units, index) else {
            // If the work limit is reached, fail: half of the statics would give a wrong answer.
            self.units.check_work_left()?;
            return Ok(globals);
        };
        // The namespaces around the current entry. The unit's first entry has depth 0, and the
        // contents of a namespace are one deeper than the namespace.
        let mut within: NamePath = Vec::new();
        let mut spaces: Vec<usize> = Vec::new();
        while let Ok(Some(WalkStep { die, depth, abbreviation })) = walk.next() {
            let inside = usize::try_from(depth).unwrap_or(0).saturating_sub(1);
            if inside < spaces.len() {
                within.truncate(spaces.get(inside).copied().unwrap_or(0));
                spaces.truncate(inside);
            }
            let Ok(sibling) = walk.read_sibling(abbreviation) else { break };
            if depth == 0 || inside > spaces.len() {
                continue;
            }
            match abbreviation.tag() {
                dw::DW_TAG_variable => {
                    let Some(name) = self.units.name(die)? else { continue };
                    // Charges for copying the names.
                    walk.charge(4 * within.len() as u64)?;
                    let known = self.as_static(die, within.clone())?;
                    if !known.is_declaration {
                        globals.push(((*name).into(), known));
                    }
                }
                dw::DW_TAG_namespace | dw::DW_TAG_module if abbreviation.has_children() => {
                    spaces.push(within.len());
                    self.units.charge(1 + within.len() as u64)?;
                    within.extend(self.namespace(die)?);
                }
                // Other entries are skipped with their children.
                _ => {
                    // If the sibling cannot be read, the children are.
                    let _ = sibling.map(|sibling| walk.continue_at(sibling, depth));
                }
            }
        }
        walk.finish()?;
        Ok(globals)
    }
}

/// A name without generic arguments.
fn plain(name: &[u8]) -> Box<[u8]> {
    let end = name.iter().position(|byte| *byte == b'<').filter(|end| *end > 0).unwrap_or(name.len());
    name.get(..end).unwrap_or(name).into()
}

/// Whether the names of a path are those that the source writes, which may leave out inline namespaces.
fn is_written(path: &[Box<[u8]>], names: &[&[u8]]) -> bool {
    let mut names = names;
    for part in path.iter().filter(|part| !part.starts_with(b"{impl")) {
        let inline = part.strip_prefix(INLINE);
        match names.split_first() {
            Some((name, rest)) if **name == **part || Some(*name) == inline => names = rest,
            _ if inline.is_some() => {}
            _ => return false,
        }
    }
    names.is_empty()
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
    let is_in = |known: &Static, space: &[Box<[u8]>], path: &[&str]| {
        let wanted: Vec<&[u8]> =
            space.iter().map(|part| &**part).chain(path.iter().map(|part| part.as_bytes())).collect();
        is_written(&known.within, &wanted)
    };
    if let Some((first, rest)) = path.split_first() {
        if let Some((_, of)) = around.aliases.iter().find(|(name, _)| **name == *first.as_bytes()) {
            return statics.iter().filter(|known| is_in(known, of, rest)).collect();
        }
    }
    for base in bases {
        // The names of a directive are as if declared in the innermost namespace around it and them.
        let directives = around.directives.iter().filter(|of| shared(of, &around.names) == base);
        let spaces: Vec<&[Box<[u8]>]> =
            around.names.get(..base).into_iter().chain(directives.map(|of| &**of)).collect();
        let mut there: Vec<&Static> =
            statics.iter().filter(|known| spaces.iter().any(|space| is_in(known, space, path))).collect();
        there.sort_by_key(|known| known.die);
        there.dedup_by_key(|known| known.die);
        if !there.is_empty() {
            return there;
        }
    }
    Vec::new()
}

/// How many names two paths share from the start.
fn shared(one: &[Box<[u8]>], other: &[Box<[u8]>]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
