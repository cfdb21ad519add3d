//! What a build has in memory, and its ghosts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use object::read::archive::ArchiveFile;
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, SectionFlags, SectionKind, SymbolKind, elf,
};

/// Bytes and relocations.
type Content = (Vec<u8>, Vec<String>);

/// The loaded content of an object, an archive of objects or a program.
#[derive(Default)]
pub(super) struct Image {
    sections: BTreeMap<String, Vec<Content>>,
    functions: BTreeMap<String, Vec<Content>>,
    /// The number of declared ghosts.
    pub(super) ghosts: usize,
}

impl Image {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let data = fs::read(path).with_context(|| path.display().to_string())?;
        let mut image = Self::default();
        match ArchiveFile::parse(&*data) {
            Ok(archive) => {
                for member in archive.members() {
                    let member = member?;
                    if member.name().ends_with(b".o") {
                        image.add(member.data(&*data)?)?;
                    }
                }
            }
            Err(_) => image.add(&data)?,
        }
        ensure!(!image.functions.is_empty(), "{}: no functions", path.display());
        Ok(image)
    }

    /// All of these files as one.
    pub(super) fn read_all(paths: &[impl AsRef<Path>]) -> Result<Self> {
        let mut all = Self::default();
        for path in paths {
            let data = fs::read(path).with_context(|| path.as_ref().display().to_string())?;
            all.add(&data)?;
        }
        Ok(all)
    }

    fn add(&mut self, data: &[u8]) -> Result<()> {
        let file = object::File::parse(data)?;
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let name = section.name()?;
            if name == "__simple_marker.1" {
                // A record has five strings, and the line of a ghost starts with a zero.
                let strings: Vec<_> = section.data()?.split(|byte| *byte == 0).collect();
                self.ghosts += strings.chunks_exact(5).filter(|record| record[2].starts_with(b"0")).count();
            }
            if !sh_flags.contains(elf::SHF_ALLOC) || section.size() == 0 || section.kind() == SectionKind::Note {
                continue;
            }
            let relocations = relocations(&file, &section, 0..section.size());
            self.sections.entry(name.to_owned()).or_default().push((section.data()?.to_vec(), relocations));
        }
        for symbol in file.symbols() {
            let name = symbol.name()?;
            self.ghosts += usize::from(name.starts_with("simple_ghost.1\x1f"));
            let Some(index) = symbol.section_index() else { continue };
            if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
                continue;
            }
            let section = file.section_by_index(index)?;
            let code = section.data_range(symbol.address(), symbol.size())?.context("a function's bytes")?;
            let start = symbol.address() - section.address();
            let relocations = relocations(&file, &section, start..start + symbol.size());
            self.functions.entry(name.to_owned()).or_default().push((code.to_vec(), relocations));
        }
        Ok(())
    }

    /// The number of functions.
    pub(super) fn functions(&self) -> usize {
        self.functions.values().map(Vec::len).sum()
    }

    /// The functions and the sections that differ.
    pub(super) fn differences<'a>(&'a self, other: &'a Self) -> Differences<'a> {
        Differences {
            functions: differ(&self.functions, &other.functions),
            sections: differ(&self.sections, &other.sections),
        }
    }
}

/// The names of what differs.
pub(super) struct Differences<'a> {
    pub(super) functions: Vec<&'a str>,
    pub(super) sections: Vec<&'a str>,
}

fn differ<'a>(one: &'a BTreeMap<String, Vec<Content>>, other: &'a BTreeMap<String, Vec<Content>>) -> Vec<&'a str> {
    let only_other = other.keys().filter(|name| !one.contains_key(*name));
    let names = one.keys().filter(|name| one.get(*name) != other.get(*name)).chain(only_other);
    names.map(String::as_str).collect()
}

/// The relocations in a range of a section, from its start. A ghost may add symbols, so a symbol is
/// written as its name. The names of literals have numbers, so there the place in its section is written.
fn relocations(file: &object::File<'_>, section: &object::Section<'_, '_>, range: std::ops::Range<u64>) -> Vec<String> {
    let inside = section.relocations().filter(|(offset, _)| range.contains(offset));
    let text = inside.map(|(offset, relocation)| {
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => file.symbol_by_index(index).ok().map(|symbol| match symbol.name() {
                Ok(name) if !name.is_empty() && !name.starts_with(".L") => name.to_owned(),
                _ => {
                    let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
                    let section = section.as_ref().and_then(|section| section.name().ok()).unwrap_or_default();
                    format!("{section} {}", symbol.address())
                }
            }),
            _ => None,
        };
        let (flags, addend) = (relocation.flags(), relocation.addend());
        format!("{} {flags:?} {} {addend}", offset - range.start, target.unwrap_or_default())
    });
    text.collect()
}
