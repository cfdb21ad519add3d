//! What goblin reads in an image: sections, segments, notes and symbols.

use std::collections::BTreeSet;

use goblin::elf::program_header::PT_LOAD;
use goblin::elf::section_header::{SHF_ALLOC, SHF_COMPRESSED, SHF_EXECINSTR, SHT_NOBITS, SHT_PROGBITS, SectionHeader};
use goblin::elf::sym::{STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, Sym};
use goblin::elf::{header, note};
use simple_markers_resolver::resolve::ImageKind;
use simple_markers_resolver::resolve::{Origin, ResolvedImage, Site, SitePlace};

use super::{Case, address, live};

/// An image.
pub(super) struct Elf<'a> {
    elf: goblin::elf::Elf<'a>,
    bytes: &'a [u8],
}

impl<'a> Elf<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, goblin::error::Error> {
        Ok(Self { elf: goblin::elf::Elf::parse(bytes)?, bytes })
    }

    fn is_relocatable(&self) -> bool {
        self.elf.header.e_type == header::ET_REL
    }

    fn name(&self, section: &SectionHeader) -> &str {
        self.elf.shdr_strtab.get_at(section.sh_name).unwrap_or_default()
    }

    fn is_code(section: &SectionHeader) -> bool {
        let flags = u64::from(SHF_ALLOC | SHF_EXECINSTR);
        section.sh_flags & flags == flags
    }

    /// Compares the resolver's facts about the whole image, and the addresses of its sites.
    pub(super) fn image(&self, ours: &ResolvedImage) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut is = |what: &str, ours: String, theirs: String| {
            if ours != theirs {
                complaints.push(format!("{what}: {ours}; goblin: {theirs}"));
            }
        };
        is("build id", format!("{:?}", ours.build_id), format!("{:?}", self.build_id()));
        is("architecture", ours.arch.to_string(), self.architecture().to_owned());
        let kinds: &[u16] = match ours.kind {
            ImageKind::Executable => &[header::ET_EXEC],
            ImageKind::Pie | ImageKind::Shared => &[header::ET_DYN],
            ImageKind::Kernel => &[header::ET_EXEC, header::ET_DYN],
            ImageKind::Relocatable | ImageKind::Module => &[header::ET_REL],
            _ => &[],
        };
        if !kinds.contains(&self.elf.header.e_type) {
            complaints.push(format!("{:?}; goblin: e_type {}", ours.kind, self.elf.header.e_type));
        }
        complaints.extend(self.records(ours));
        complaints
    }

    fn build_id(&self) -> Option<String> {
        let mut notes = self.elf.iter_note_headers(self.bytes).into_iter().flatten();
        let mut sections = self.elf.iter_note_sections(self.bytes, None).into_iter().flatten();
        let is_id = |found: &goblin::elf::note::Note<'_>| {
            found.n_type == note::NT_GNU_BUILD_ID && found.name.trim_end_matches('\0') == "GNU"
        };
        let id = notes.by_ref().flatten().find(is_id).or_else(|| sections.by_ref().flatten().find(is_id))?;
        Some(id.desc.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn architecture(&self) -> &'static str {
        match (self.elf.header.e_machine, self.elf.is_64) {
            (header::EM_X86_64, true) => "x86_64",
            (header::EM_X86_64, false) => "x32",
            (header::EM_386, _) => "i386",
            (header::EM_AARCH64, _) => "aarch64",
            (header::EM_ARM, _) => "arm",
            (header::EM_RISCV, true) => "riscv64",
            (header::EM_RISCV, false) => "riscv32",
            (header::EM_PPC64, _) => "ppc64",
            (header::EM_S390, _) => "s390x",
            _ => "unknown",
        }
    }

    /// Compares the addresses in the site records that are in code with those of the live sites.
    /// Skips relocatable objects, whose records need relocations, and compressed sections.
    fn records(&self, ours: &ResolvedImage) -> Vec<String> {
        let records = |section: &&SectionHeader| self.name(section) == ".debug.simple_marker.2";
        let Some(section) = self.elf.section_headers.iter().find(records) else { return Vec::new() };
        if self.is_relocatable() || section.sh_flags & u64::from(SHF_COMPRESSED) != 0 || section.sh_type != SHT_PROGBITS
        {
            return Vec::new();
        }
        let Some(mut rest) = section.file_range().and_then(|range| self.bytes.get(range)) else {
            return vec!["the records are not in the file".to_owned()];
        };
        let mut theirs = BTreeSet::new();
        let number = |bytes: &[u8]| match self.elf.little_endian {
            true => bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
            false => bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
        };
        while rest.len() >= 4 {
            let (length, size) = (number(&rest[..2]) as usize + 2, usize::from(rest[3]));
            let (Some(record), Some(behind)) = (rest.get(..length), rest.get(length..)) else { break };
            let Some(pc) = record.get(4..4 + size) else { break };
            theirs.extend(Some(number(pc)).filter(|pc| self.code_at(*pc).is_some()));
            rest = behind;
        }
        let sites = live(ours).filter(|(_, site)| site.origin == Origin::Record);
        let ours: BTreeSet<u64> = sites.filter_map(|(_, site)| address(site)).map(|address| address.0).collect();
        let odd: Vec<_> = ours.symmetric_difference(&theirs).map(|pc| format!("{pc:#x}")).collect();
        if odd.is_empty() { odd } else { vec![format!("addresses that only one reader has: {odd:?}")] }
    }

    /// The code section that contains an address or ends there.
    fn code_at(&self, address: u64) -> Option<&SectionHeader> {
        let sections = || self.elf.section_headers.iter().filter(|section| Self::is_code(section));
        let holds = |section: &&SectionHeader| section.vm_range().contains(&(address as usize));
        let ends = |section: &&SectionHeader| section.sh_size > 0 && section.sh_addr + section.sh_size == address;
        sections().find(holds).or_else(|| sections().find(ends))
    }

    /// Checks that a site is in a code section, and that its file offset matches the segments and
    /// sections.
    pub(super) fn place(&self, site: &Site) -> Result<(), String> {
        let ours = site.file_offset.map(|offset| offset.0);
        let theirs = match &site.place {
            Some(SitePlace::Address(address)) => {
                let section = self.code_at(address.0).ok_or_else(|| format!("{address} is in no section of code"))?;
                let by_section = match address.0 - section.sh_addr {
                    offset if section.sh_type != SHT_NOBITS && offset < section.sh_size => {
                        Some(section.sh_offset + offset)
                    }
                    _ => None,
                };
                let by_segment =
                    self.elf.program_headers.iter().filter(|header| header.p_type == PT_LOAD).find_map(|header| {
                        let offset =
                            address.0.checked_sub(header.p_vaddr).filter(|offset| *offset < header.p_filesz)?;
                        Some(header.p_offset + offset)
                    });
                if section.sh_type == SHT_NOBITS { by_section } else { by_segment.or(by_section) }
            }
            Some(SitePlace::Section { section, offset }) => {
                let mut sections = self.elf.section_headers.iter().filter(|header| self.name(header) == &**section);
                let holds = |header: &&SectionHeader| Self::is_code(header) && offset.0 <= header.sh_size;
                let candidates: Vec<_> = sections.by_ref().filter(holds).collect();
                if candidates.is_empty() {
                    return Err(format!("{section}+{offset} is in no section of code"));
                }
                let in_file =
                    candidates.iter().filter(|header| header.sh_type != SHT_NOBITS && offset.0 < header.sh_size);
                let offsets: Vec<_> = in_file.map(|header| header.sh_offset + offset.0).collect();
                // Several sections may have the same name: groups of functions that are inlined
                // everywhere.
                ours.filter(|ours| offsets.contains(ours)).or(offsets.first().copied())
            }
            None => None,
        };
        match ours == theirs {
            true => Ok(()),
            false => Err(format!("file offset {ours:x?}; goblin: {theirs:x?}")),
        }
    }

    /// The names of the functions that start at the same address as the symbol of a site.
    pub(super) fn aliases(&self, site: &Site) -> Vec<String> {
        let (Some(address), Some(offset)) = (address(site), site.symbol_offset) else { return Vec::new() };
        let here = |symbol: &Sym| symbol.is_function() && address.0.checked_sub(offset) == Some(symbol.st_value);
        let names = self.elf.syms.iter().filter(here).map(|symbol| self.elf.strtab.get_at(symbol.st_name));
        names.flatten().map(str::to_owned).collect()
    }

    /// Checks that a site's symbol contains its address.
    pub(super) fn symbol(&self, site: &Site, is_separate: bool) -> Result<Option<Case>, String> {
        let (address, section) = match &site.place {
            Some(SitePlace::Address(address)) => (address.0, None),
            Some(SitePlace::Section { section, offset }) => (offset.0, Some(&**section)),
            None => return Ok(None),
        };
        let (table, strings) = match self.elf.syms.is_empty() {
            false => (&self.elf.syms, &self.elf.strtab),
            true => (&self.elf.dynsyms, &self.elf.dynstrtab),
        };
        let mask = if self.elf.header.e_machine == header::EM_ARM { !1 } else { !0 };
        let is_function = |symbol: &Sym| match symbol.st_type() {
            STT_FUNC | STT_GNU_IFUNC => true,
            STT_NOTYPE => symbol.st_size > 0,
            _ => false,
        };
        let is_here = |symbol: &Sym| {
            let header = self.elf.section_headers.get(symbol.st_shndx);
            symbol.st_shndx != 0 && section.is_none_or(|name| header.is_some_and(|header| self.name(header) == name))
        };
        let functions = table.iter().filter(|symbol| is_function(symbol) && is_here(symbol));
        let functions: Vec<_> = functions.map(|symbol| (symbol.st_value & mask, symbol)).collect();
        let holding = functions.iter().filter(|(start, symbol)| (*start..start + symbol.st_size).contains(&address));
        let holding: Vec<_> = holding.collect();
        let name = |symbol: &Sym| strings.get_at(symbol.st_name).unwrap_or_default();
        let (Some(ours), Some(offset)) = (&site.symbol, site.symbol_offset) else {
            return match holding.first() {
                None => Ok(None),
                Some((_, symbol)) => Err(format!("no symbol; goblin: {}", name(symbol))),
            };
        };
        let is_ours = |(start, symbol): &&(u64, Sym)| name(symbol) == &**ours && start + offset == address;
        let innermost = holding.iter().map(|(start, _)| *start).max();
        if let Some((start, _)) = holding.iter().copied().find(is_ours) {
            if innermost != Some(*start) {
                return Err(format!("{ours}+{offset:#x}, and a symbol that starts at {innermost:x?} holds it too"));
            }
            return Ok(None);
        }
        match functions.iter().find(is_ours) {
            // A marker after a call that does not return, at the very end of a function. The
            // functions of crt have no size.
            Some((start, symbol)) if start + symbol.st_size == address || symbol.st_size == 0 => {
                Ok(Some(Case::SymbolEnd))
            }
            None if is_separate && table.is_empty() => Ok(Some(Case::SymbolElsewhere)),
            _ => Err(format!(
                "{ours}+{offset:#x}; goblin: {:?}",
                holding.iter().map(|(_, it)| name(it)).collect::<Vec<_>>()
            )),
        }
    }
}
