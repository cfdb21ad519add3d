//! The variables that are in scope at a line of a program, by the debug information of a build
//! without optimisation, and the conversion that shows each.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use gimli::{AttributeValue, EndianSlice, LittleEndian, constants as dw};
use object::{Object as _, ObjectSection as _};

pub(super) type Reader<'a> = EndianSlice<'a, LittleEndian>;
pub(super) type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;
pub(super) type Unit<'a> = gimli::Unit<Reader<'a>>;
pub(super) type Entry<'a, 'u> = gimli::DebuggingInformationEntry<'u, 'u, Reader<'a>>;
pub(super) type Offset = gimli::UnitOffset;

/// A variable or parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The line of its declaration.
    pub line: u32,
    /// Its type.
    pub of: Type,
}

/// What matters of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A scalar with this conversion.
    Scalar(&'static str),
    /// A structure or what points at one.
    Structure {
        /// The conversion of what points at it.
        pointer: Option<&'static str>,
        /// The scalars in it, as they are written behind the variable, and their conversions.
        members: Vec<(String, &'static str)>,
    },
    /// Another one.
    Other,
}

/// What a language makes of types.
pub(super) trait Types {
    /// Begins with a unit.
    ///
    /// # Errors
    ///
    /// It is malformed.
    fn unit(&mut self, dwarf: &Dwarf<'_>, unit: &Unit<'_>) -> gimli::Result<()>;

    /// The type at an offset in that unit; `None` if a marker can name nothing of it.
    fn describe(&self, dwarf: &Dwarf<'_>, unit: &Unit<'_>, offset: Offset) -> Option<Type>;
}

/// The types of a unit, as far as they are known.
struct Known<'t> {
    language: &'t dyn Types,
    types: HashMap<Offset, Type>,
}

impl Known<'_> {
    fn at(&mut self, dwarf: &Dwarf<'_>, unit: &Unit<'_>, offset: Offset) -> Type {
        let describe = || self.language.describe(dwarf, unit, offset).unwrap_or(Type::Other);
        self.types.entry(offset).or_insert_with(describe).clone()
    }
}

/// A function or a block in it.
#[derive(Debug, Default)]
struct Block {
    ranges: Vec<(u64, u64)>,
    variables: Vec<Variable>,
    blocks: Vec<Block>,
}

impl Block {
    fn contains(&self, address: u64) -> bool {
        self.ranges.iter().any(|(start, end)| (*start..*end).contains(&address))
    }
}

/// The variables of a program.
#[derive(Debug, Default)]
pub struct Scopes {
    /// The lowest address of each line of each file.
    lines: HashMap<PathBuf, BTreeMap<u32, u64>>,
    /// By the start of their first range.
    functions: BTreeMap<u64, (String, Block)>,
}

impl Scopes {
    /// Reads the debug information of an image.
    ///
    /// # Errors
    ///
    /// It is no ELF image with debug information.
    pub(super) fn read(bytes: &[u8], language: &mut dyn Types) -> Result<Self, String> {
        let file = object::File::parse(bytes).map_err(|why| why.to_string())?;
        let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, String> {
            let section = file.section_by_name(id.name());
            section.map_or(Ok(Cow::Borrowed(&[][..])), |section| {
                section.uncompressed_data().map_err(|why| why.to_string())
            })
        };
        let sections = gimli::DwarfSections::load(load)?;
        let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
        let mut scopes = Self::default();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().map_err(|why| why.to_string())? {
            let unit = dwarf.unit(header).map_err(|why| why.to_string())?;
            scopes.unit(&dwarf, &unit, language).map_err(|why| why.to_string())?;
        }
        Ok(scopes)
    }

    /// The function at a line, and the variables that are declared before it and in scope there, the
    /// innermost of each name.
    #[must_use]
    pub fn at(&self, file: &Path, line: u32) -> Option<(&str, Vec<&Variable>)> {
        let address = *self.lines.get(file)?.get(&line)?;
        let (_, (name, function)) = self.functions.range(..=address).next_back()?;
        let mut of: BTreeMap<&str, &Variable> = BTreeMap::new();
        let mut block = function.contains(address).then_some(function)?;
        loop {
            of.extend(block.variables.iter().filter(|of| of.line < line).map(|of| (&*of.name, of)));
            match block.blocks.iter().find(|inner| inner.contains(address)) {
                Some(inner) => block = inner,
                None => return Some((name, of.into_values().collect())),
            }
        }
    }

    /// The files with code.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.lines.keys().map(PathBuf::as_path)
    }

    fn unit(&mut self, dwarf: &Dwarf<'_>, unit: &Unit<'_>, language: &mut dyn Types) -> gimli::Result<()> {
        let text = |reader: Reader<'_>| reader.to_string_lossy().into_owned();
        let folder = PathBuf::from(unit.comp_dir.map(text).unwrap_or_default());
        if let Some(program) = unit.line_program.clone() {
            let mut paths: HashMap<u64, PathBuf> = HashMap::new();
            let mut rows = program.rows();
            while let Some((header, row)) = rows.next_row()? {
                let Some(line) = row.line().filter(|_| row.is_stmt() && !row.end_sequence()) else { continue };
                let path = paths.entry(row.file_index()).or_insert_with(|| {
                    let Some(file) = row.file(header) else { return PathBuf::new() };
                    let string = |value| dwarf.attr_string(unit, value).map(text).unwrap_or_default();
                    let of = file.directory(header).map(string).unwrap_or_default();
                    folder.join(of).join(string(file.path_name()))
                });
                let line = u32::try_from(line.get()).unwrap_or(0);
                let lowest = self.lines.entry(path.clone()).or_default().entry(line).or_insert(row.address());
                *lowest = row.address().min(*lowest);
            }
        }
        let mut tree = unit.entries_tree(None)?;
        language.unit(dwarf, unit)?;
        let mut types = Known { language, types: HashMap::new() };
        self.functions_of(dwarf, unit, tree.root()?, &mut types)
    }

    /// The functions below a node, which may be a namespace or a structure.
    fn functions_of(
        &mut self,
        dwarf: &Dwarf<'_>,
        unit: &Unit<'_>,
        node: gimli::EntriesTreeNode<'_, '_, '_, Reader<'_>>,
        types: &mut Known<'_>,
    ) -> gimli::Result<()> {
        let mut children = node.children();
        while let Some(child) = children.next()? {
            match child.entry().tag() {
                dw::DW_TAG_subprogram => {
                    let entry = child.entry();
                    let mut name = name(dwarf, unit, entry);
                    if let (None, Some(of)) = (
                        &name,
                        reference(entry, dw::DW_AT_specification)
                            .or_else(|| reference(entry, dw::DW_AT_abstract_origin)),
                    ) {
                        name = self::name(dwarf, unit, &unit.entry(of)?);
                    }
                    let function = block(dwarf, unit, child, types)?;
                    if let Some((start, _)) = function.ranges.iter().min() {
                        self.functions.insert(*start, (name.unwrap_or_default(), function));
                    }
                }
                dw::DW_TAG_namespace | dw::DW_TAG_structure_type | dw::DW_TAG_class_type => {
                    self.functions_of(dwarf, unit, child, types)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

pub(super) fn name(
    dwarf: &Dwarf<'_>,
    unit: &Unit<'_>,
    entry: &gimli::DebuggingInformationEntry<'_, '_, Reader<'_>>,
) -> Option<String> {
    let value = entry.attr_value(dw::DW_AT_name).ok()??;
    Some(dwarf.attr_string(unit, value).ok()?.to_string_lossy().into_owned())
}

pub(super) fn reference(
    entry: &gimli::DebuggingInformationEntry<'_, '_, Reader<'_>>,
    attribute: gimli::DwAt,
) -> Option<Offset> {
    match entry.attr_value(attribute).ok()?? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

pub(super) fn number(
    entry: &gimli::DebuggingInformationEntry<'_, '_, Reader<'_>>,
    attribute: gimli::DwAt,
) -> Option<u64> {
    entry.attr_value(attribute).ok()??.udata_value()
}

fn block(
    dwarf: &Dwarf<'_>,
    unit: &Unit<'_>,
    node: gimli::EntriesTreeNode<'_, '_, '_, Reader<'_>>,
    types: &mut Known<'_>,
) -> gimli::Result<Block> {
    let mut of = Block::default();
    let mut ranges = dwarf.die_ranges(unit, node.entry())?;
    while let Some(range) = ranges.next()? {
        of.ranges.push((range.begin, range.end));
    }
    let mut children = node.children();
    while let Some(child) = children.next()? {
        let entry = child.entry();
        match entry.tag() {
            dw::DW_TAG_lexical_block => of.blocks.push(block(dwarf, unit, child, types)?),
            dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                let line = number(entry, dw::DW_AT_decl_line).and_then(|line| u32::try_from(line).ok());
                if let (Some(name), Some(line), Some(ty)) =
                    (name(dwarf, unit, entry), line, reference(entry, dw::DW_AT_type))
                {
                    let is_static = entry.attr(dw::DW_AT_const_value)?.is_some();
                    if !is_static {
                        of.variables.push(Variable { name, line, of: types.at(dwarf, unit, ty) });
                    }
                }
            }
            _ => {}
        }
    }
    Ok(of)
}

pub(super) fn encoding(entry: &gimli::DebuggingInformationEntry<'_, '_, Reader<'_>>) -> Option<gimli::DwAte> {
    match entry.attr_value(dw::DW_AT_encoding).ok()?? {
        AttributeValue::Encoding(encoding) => Some(encoding),
        _ => None,
    }
}
