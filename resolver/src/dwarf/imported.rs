//! Names that are no variables of the scope that has them: what C++ imports from other scopes (DWARF 5,
//! 3.2.3 and 3.2.4), and the enumerators of C and C++ (5.7). They hide variables of outer scopes.

use gimli::constants as dw;

use super::files::SourcePath;
use super::functions::Kind;
use super::scopes::{Position, Scopes, is_file};
use super::unit::Die;
use crate::Error;

/// How many imports of imports are followed.
const IMPORTS: usize = 4;

/// An import.
pub(super) enum Import {
    /// `using other::total;`: what it names.
    Declaration(Die),
    /// `using namespace other;`: the namespace.
    Directive(Die),
    /// `namespace short = other;`: the new name, and the namespace.
    Alias(Box<[u8]>, Die),
}

/// The entries of variables, functions and enumerators that a scope calls by a name.
#[derive(Default)]
pub(super) struct NamedEntries {
    pub(super) entries: Vec<Die>,
    /// Those that may be declared only after the marker: g++ gives the using-declarations of a function
    /// the line of its end.
    pub(super) perhaps: Vec<Die>,
}

impl Scopes<'_> {
    /// The imports directly in a scope, each with its entry.
    pub(super) fn imports(&self, unit: usize, node: usize) -> Result<Vec<(Die, Import)>, Error> {
        let mut imports = Vec::new();
        for offset in self.functions.of_unit(unit)?.names_of(node) {
            self.units.charge(1)?;
            let die = Die { unit, offset };
            let Some(of) = self.units.referred(die, dw::DW_AT_import)? else { continue };
            let import = match (self.units.tag(die)?, self.units.name(die)?) {
                (dw::DW_TAG_imported_module, _) => Import::Directive(of),
                (dw::DW_TAG_imported_declaration, Some(name)) => Import::Alias((*name).into(), of),
                (dw::DW_TAG_imported_declaration, None) => Import::Declaration(self.last_import(of)?),
                _ => continue,
            };
            imports.push((die, import));
        }
        Ok(imports)
    }

    /// What an import of an import names.
    fn last_import(&self, die: Die) -> Result<Die, Error> {
        let mut die = die;
        for _ in 0..IMPORTS {
            match self.units.referred(die, dw::DW_AT_import)? {
                Some(of) => die = of,
                None => break,
            }
        }
        Ok(die)
    }

    /// What using-declarations and enumerations directly in a scope call by a name; with a file and line
    /// only enumerations declared up to there.
    pub(super) fn named(
        &self,
        unit: usize,
        node: usize,
        name: &[u8],
        until: Option<(&SourcePath, u32)>,
    ) -> Result<NamedEntries, Error> {
        let mut named = NamedEntries::default();
        for (die, import) in self.imports(unit, node)? {
            let Import::Declaration(of) = import else { continue };
            let found = match self.units.tag(of)? {
                dw::DW_TAG_enumeration_type => self.enumerator(of, name)?,
                dw::DW_TAG_variable | dw::DW_TAG_member | dw::DW_TAG_enumerator | dw::DW_TAG_subprogram => {
                    Some(of).filter(|_| self.units.name(of).is_ok_and(|known| known.as_deref() == Some(name)))
                }
                _ => None,
            };
            let Some(found) = found else { continue };
            match self.is_declared(die, until)? {
                true => named.entries.push(found),
                false => named.perhaps.push(found),
            }
        }
        for (of, found) in self.enumerators(unit, node, name)? {
            if self.is_declared(of, until)? {
                named.entries.push(found);
            }
        }
        Ok(named)
    }

    /// Whether an entry is declared up to a file and line. Lines of another file cannot be compared.
    fn is_declared(&self, die: Die, until: Option<(&SourcePath, u32)>) -> Result<bool, Error> {
        let Some((file, line)) = until else { return Ok(true) };
        let declared = self.lines.declared(die)?;
        Ok(declared.is_none_or(|(known, declared)| !is_file(&known, file) || declared <= line))
    }

    /// The enumerators of a name in the enumerations directly in a scope, each with its enumeration.
    fn enumerators(&self, unit: usize, node: usize, name: &[u8]) -> Result<Vec<(Die, Die)>, Error> {
        let mut found = Vec::new();
        for offset in self.functions.of_unit(unit)?.names_of(node) {
            self.units.charge(1)?;
            let die = Die { unit, offset };
            if self.units.tag(die)? == dw::DW_TAG_enumeration_type && !self.units.flag(die, dw::DW_AT_enum_class)? {
                found.extend(self.enumerator(die, name)?.map(|enumerator| (die, enumerator)));
            }
        }
        Ok(found)
    }

    fn enumerator(&self, enumeration: Die, name: &[u8]) -> Result<Option<Die>, Error> {
        for (child, _) in self.units.children(enumeration)? {
            if self.units.name(child)?.as_deref() == Some(name) {
                return Ok(Some(child));
            }
        }
        Ok(None)
    }

    /// An enumerator of a name in an enumeration of the function around a position, with the line of
    /// the enumeration (0 if it has none), if that is declared up to a file and line. In which block
    /// is not known: g++ puts an enumeration into the function, and LLVM that of an inlined function
    /// into a function without a name.
    pub(super) fn enumerator_in_function(
        &self,
        position: Position,
        name: &[u8],
        until: (&SourcePath, u32),
    ) -> Result<Option<(Die, u32)>, Error> {
        let unit = position.unit;
        let functions = self.functions.of_unit(unit)?;
        let Some(instance) = functions.instance(position.node).and_then(|instance| functions.node(instance)) else {
            return Ok(None);
        };
        let instance = Die { unit, offset: instance.offset };
        let origin = self.units.root_origin(instance)?;
        let mut found = Vec::new();
        for function in if origin == instance { vec![instance] } else { vec![instance, origin] } {
            for node in self.nodes_of_function(function)? {
                found.extend(self.enumerators(function.unit, node, name)?);
            }
        }
        let start = self.lines.declared(origin)?;
        let functions = self.functions.of_unit(origin.unit)?;
        for &node in functions.codeless_with_names() {
            self.units.charge(1)?;
            let Some(known) = functions.node(node) else { continue };
            let function = Die { unit: origin.unit, offset: known.offset };
            if self.units.origin(function)?.is_some() || self.units.name(function)?.is_some() {
                continue;
            }
            for (of, enumerator) in self.enumerators(origin.unit, node, name)? {
                let declared = self.lines.declared(of)?;
                let is_before = matches!((&start, &declared), (Some((file, line)), Some((known, declared)))
                    if file == known && declared < line);
                if !is_before {
                    found.push((of, enumerator));
                }
            }
        }
        for (of, enumerator) in found {
            if self.is_declared(of, Some(until))? {
                return Ok(Some((enumerator, self.lines.declared(of)?.map_or(0, |(_, line)| line))));
            }
        }
        Ok(None)
    }

    /// The nodes of a function and its blocks, each once.
    fn nodes_of_function(&self, function: Die) -> Result<Vec<usize>, Error> {
        let functions = self.functions.of_unit(function.unit)?;
        let Some(start) = functions.at_offset(function.offset) else { return Ok(Vec::new()) };
        let (end, mut node, mut nodes) = (functions.below(start).end, start, Vec::new());
        while let Some(found) = functions.node(node).filter(|_| node < end) {
            self.units.charge(1)?;
            let is_part = node == start || found.kind == Kind::Block;
            nodes.extend(is_part.then_some(node));
            node = if is_part { node + 1 } else { found.end.max(node + 1) };
        }
        Ok(nodes)
    }

    /// The scope of the abstract instance that a scope of an instance refers to; `None` if there is
    /// none.
    pub(super) fn of_abstract(&self, unit: usize, node: usize) -> Result<Option<Position>, Error> {
        let Some(offset) = self.functions.of_unit(unit)?.node(node).map(|found| found.offset) else {
            return Ok(None);
        };
        let die = Die { unit, offset };
        let Some(value) = self.units.own_attribute(die, dw::DW_AT_abstract_origin)? else { return Ok(None) };
        let origin = self.units.reference(die, &value)?;
        let node = self.functions.of_unit(origin.unit)?.at_offset(origin.offset);
        Ok(node.map(|node| Position { unit: origin.unit, node }))
    }
}
