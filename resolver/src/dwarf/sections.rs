//! The sections of debug information, ready to be read: decompressed, and relocated if the object
//! is relocatable (DWARF 5, 7.3).

use std::borrow::Cow;
use std::collections::HashMap;

use gimli::{EndianSlice, RunTimeEndian, SectionId};
use object::SectionIndex;
use simple_markers_record::ByteOrder;

use crate::address::Vaddr;
use crate::error::{DwarfProblem, Error};
use crate::image::{Image, Layout, ThreadLocalSymbols};
use crate::location::Processor;

/// The reader that all of `dwarf/` uses.
pub(super) type Reader<'s> = EndianSlice<'s, RunTimeEndian>;

impl From<gimli::Error> for DwarfProblem {
    fn from(error: gimli::Error) -> Self {
        Self::Parser { parser: error.to_string() }
    }
}

/// The sections of an image that hold debug information.
#[derive(Debug)]
pub struct Sections<'data> {
    sections: HashMap<&'static str, Cow<'data, [u8]>>,
    /// The addresses of `.eh_frame`, `.text` and `.got`. Pointers in `.eh_frame` may be relative to
    /// them.
    bases: [Option<Vaddr>; 3],
    endian: RunTimeEndian,
    processor: Processor,
    /// Bytes of an address.
    address_size: u8,
    /// Those of the symbol table, if compilers leave out their locations.
    thread_locals: ThreadLocalSymbols,
}

/// The sections of debug information that are read.
const IDS: [SectionId; 13] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTypes,
];

/// The sections of call frame information.
const FRAMES: [&str; 2] = [".eh_frame", ".debug_frame"];

impl<'data> Sections<'data> {
    /// Loads the sections. A missing section is empty.
    ///
    /// A relocation that cannot be applied is reported through `error` and skipped. The debug
    /// information that needs it is then wrong, and is most likely refused.
    ///
    /// # Errors
    ///
    /// A section cannot be read or decompressed.
    pub(crate) fn load(image: &Image<'data>, error: impl FnMut(Error)) -> Result<Self, Error> {
        let names = IDS.into_iter().map(SectionId::name).chain(FRAMES);
        let mut sections = Self::load_as(image, names.map(|name| (name, name)), error)?;
        if image.processor().set().is_some_and(|set| !set.describes_thread_locals()) {
            sections.thread_locals = image.thread_locals();
        }
        Ok(sections)
    }

    /// Loads the sections of a file of split units (`.dwo`, `.dwp`), under the names that they have
    /// in an image.
    ///
    /// # Errors
    ///
    /// A section cannot be read or decompressed.
    pub(crate) fn load_split(image: &Image<'data>, error: impl FnMut(Error)) -> Result<Self, Error> {
        let indices = [SectionId::DebugCuIndex, SectionId::DebugTuIndex].map(|id| (id.name(), id.name()));
        let names = IDS.into_iter().filter_map(|id| Some((id.name(), id.dwo_name()?)));
        Self::load_as(image, names.chain(indices), error)
    }

    /// Loads the call frame information, which is in the program and not in its separate debug
    /// file.
    ///
    /// # Errors
    ///
    /// A section cannot be read or decompressed.
    pub(crate) fn add_frames(&mut self, image: &Image<'data>, error: impl FnMut(Error)) -> Result<(), Error> {
        let frames = Self::load_as(image, FRAMES.map(|name| (name, name)).into_iter(), error)?;
        for (name, bytes) in frames.sections {
            if self.get(name).is_empty() {
                self.sections.insert(name, bytes);
            }
        }
        self.bases = frames.bases;
        Ok(())
    }

    /// Loads sections. Each pair is the name to keep a section under and its name in the file.
    fn load_as(
        image: &Image<'data>,
        names: impl Iterator<Item = (&'static str, &'static str)>,
        mut error: impl FnMut(Error),
    ) -> Result<Self, Error> {
        let layout = image.layout();
        let mut loaded: Vec<(&'static str, Vec<SectionPart<'data>>)> = Vec::new();
        // Where each section of the file starts in the concatenation of all sections of its name.
        let mut starts: HashMap<SectionIndex, u64> = HashMap::new();
        for (kept_as, name) in names {
            let (mut parts, mut size) = (Vec::new(), 0u64);
            for contents in image.contents(name) {
                let contents = contents?;
                starts.insert(contents.section, size);
                size = size.saturating_add(contents.bytes.len() as u64);
                parts.push(contents);
            }
            loaded.push((kept_as, parts));
        }
        let base = |name| image.section_address(name, layout.as_ref());
        let frames = base(FRAMES[0]);
        let mut sections = HashMap::new();
        for (name, mut parts) in loaded {
            if let Some(layout) = &layout {
                // A separate debug file keeps the relocations of sections whose bytes it does not
                // have.
                for part in parts.iter_mut().filter(|part| !part.bytes.is_empty()) {
                    image.relocate(
                        name,
                        part,
                        |section, offset| place(layout, frames, &starts, section, offset),
                        &mut error,
                    );
                }
            }
            let bytes = match parts.len() {
                0 | 1 => parts.pop().map_or(Cow::Borrowed(&[][..]), |part| part.bytes),
                _ => Cow::Owned(parts.iter().flat_map(|part| &*part.bytes).copied().collect()),
            };
            sections.insert(name, bytes);
        }
        Ok(Self {
            sections,
            bases: [frames, base(".text"), base(".got")],
            endian: match image.byte_order() {
                ByteOrder::Little => RunTimeEndian::Little,
                ByteOrder::Big => RunTimeEndian::Big,
            },
            processor: image.processor(),
            address_size: image.address_size(),
            thread_locals: ThreadLocalSymbols::new(),
        })
    }

    /// Makes sections from their bytes, by name (`.debug_info`), as they are in a linked image. A
    /// missing section is empty.
    #[must_use]
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn from_parts(
        parts: impl IntoIterator<Item = (&'static str, Cow<'data, [u8]>)>,
        order: ByteOrder,
        processor: Processor,
        address_size: u8,
    ) -> Self {
        let endian = match order {
            ByteOrder::Little => RunTimeEndian::Little,
            ByteOrder::Big => RunTimeEndian::Big,
        };
        Self {
            sections: parts.into_iter().collect(),
            bases: [None; 3],
            endian,
            processor,
            address_size,
            thread_locals: ThreadLocalSymbols::new(),
        }
    }

    /// Whether there is any debug information.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.get(SectionId::DebugInfo.name()).is_empty()
    }

    /// The work limit for this amount of debug information.
    pub(super) fn allowed_work(&self) -> u64 {
        let size = |names: &[&str]| names.iter().map(|name| self.get(name).len() as u64).sum::<u64>();
        let entries = size(&[".debug_info", ".debug_types"]).saturating_mul(8);
        let others = size(&[".debug_line", ".debug_loc", ".debug_loclists", ".debug_ranges", ".debug_rnglists"]);
        entries.saturating_add(others.saturating_mul(2))
    }

    /// The bytes of a section; empty if there is no such section.
    #[must_use]
    pub fn get(&self, name: &str) -> &[u8] {
        self.sections.get(name).map_or(&[], |bytes| bytes)
    }

    /// The thread-local variables of the symbol table; none where compilers write their locations.
    pub(super) fn thread_locals(&self) -> &ThreadLocalSymbols {
        &self.thread_locals
    }

    /// The processor.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.processor
    }

    /// Bytes of an address.
    #[must_use]
    pub fn address_size(&self) -> u8 {
        self.address_size
    }

    /// Whether the most significant byte comes first.
    #[must_use]
    pub fn is_big_endian(&self) -> bool {
        self.endian == RunTimeEndian::Big
    }

    pub(super) fn endian(&self) -> RunTimeEndian {
        self.endian
    }

    pub(super) fn reader(&self, name: &str) -> Reader<'_> {
        EndianSlice::new(self.get(name), self.endian)
    }

    pub(super) fn dwarf(&self) -> gimli::Dwarf<Reader<'_>> {
        let load = |id: SectionId| Ok::<_, std::convert::Infallible>(self.reader(id.name()));
        match gimli::Dwarf::load(load) {
            Ok(dwarf) => dwarf,
            Err(never) => match never {},
        }
    }

    pub(super) fn bases(&self) -> gimli::BaseAddresses {
        let [eh_frame, text, got] = self.bases;
        let mut bases = gimli::BaseAddresses::default();
        for (base, set) in [
            (eh_frame, gimli::BaseAddresses::set_eh_frame as fn(_, _) -> _),
            (text, gimli::BaseAddresses::set_text),
            (got, gimli::BaseAddresses::set_got),
        ] {
            if let Some(Vaddr(base)) = base {
                bases = set(bases, base);
            }
        }
        bases
    }
}

type SectionPart<'data> = crate::image::Contents<'data>;

/// The value of a place in a section. In a loaded section this is its address, and otherwise the
/// offset in the concatenation of all sections of its name. Sections of call frame information use
/// both: they are read as if they followed each other at the address of the first one.
fn place(
    layout: &Layout,
    frames: Option<Vaddr>,
    starts: &HashMap<SectionIndex, u64>,
    section: SectionIndex,
    offset: u64,
) -> u64 {
    match (starts.get(&section), layout.address(section, crate::address::SectionOffset(offset))) {
        (Some(start), Some(_)) => frames.map_or(0, |frames| frames.0).wrapping_add(*start).wrapping_add(offset),
        (Some(start), None) => start.wrapping_add(offset),
        (None, Some(address)) => address.0,
        (None, None) => offset,
    }
}
