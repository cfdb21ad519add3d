//! The notes of static probes (`<sys/sdt.h>`) become markers. Notes of one provider and name with
//! the same number of arguments are sites of one marker.
//!
//! `smark export --to sdt` writes notes for markers that have records: a note with the name of such
//! a marker is left out.

use std::collections::{HashMap, HashSet};

use super::code_bytes::CodeBytes;
use super::diagnostics::Diagnostics;
use super::files::Files;
use super::join::{RawMarker, RawMarkers, RawSite};
use super::note_arguments::NoteArgument;
use super::pc::Pc;
use super::{Origin, text};
use crate::Error;
use crate::address::SectionOffset;
use crate::code::instruction::InstructionKind;
use crate::image::{Image, RelocationTarget, RelocationTargets, SDT_BASE, SDT_NOTES, SdtNote, SdtNotes};

/// The notes of one marker.
#[derive(Debug, Default)]
pub(super) struct NoteMarker {
    name: Vec<u8>,
    arguments: Vec<NoteArgument>,
    sites: Vec<NoteSite>,
}

#[derive(Debug)]
struct NoteSite {
    offset: u64,
    /// `None` if the linker dropped the function.
    pc: Option<Pc>,
    /// Where its semaphore is, if it has one.
    switch: Option<Pc>,
    operands: Vec<u8>,
}

/// The notes that have a name which `is_wanted`, in the order of the first ones. They are in the
/// image, or, if a tool removed them there, in the separate debug file.
pub(super) fn read(
    image: &Image<'_>,
    files: &Files<'_>,
    is_wanted: &dyn Fn(&str) -> bool,
    diagnostics: &mut Diagnostics,
) -> Vec<NoteMarker> {
    let source = match () {
        () if image.has_section(SDT_NOTES) => image,
        () if image.has_section(SDT_BASE) && !image.is_relocatable() => match files.separate() {
            Some(separate) => &separate.image,
            None => return Vec::new(),
        },
        () => return Vec::new(),
    };
    let address_size = image.address_size();
    let mut reader = NoteReader {
        is_relocatable: image.is_relocatable(),
        all_ones: if address_size == 4 { u32::MAX.into() } else { u64::MAX },
        base: image.section_address(SDT_BASE, None).map_or(0, |base| base.0),
        by_identity: HashMap::new(),
        markers: Vec::new(),
    };
    for contents in source.contents(SDT_NOTES) {
        let contents = match contents {
            Ok(contents) => contents,
            Err(error) => {
                diagnostics.error(&error);
                continue;
            }
        };
        let relocated = source.relocated(SDT_NOTES, &contents, |error| diagnostics.error(&error));
        for note in SdtNotes::new(&contents.bytes, image.byte_order(), address_size) {
            match note {
                Ok(note) => reader.add(&note, &relocated, address_size, is_wanted),
                Err(error) => diagnostics.error(&error),
            }
        }
    }
    reader.markers
}

struct NoteReader {
    is_relocatable: bool,
    /// The largest address.
    all_ones: u64,
    /// Where `.stapsdt.base` is.
    base: u64,
    /// Indices of markers by name and number of arguments.
    by_identity: HashMap<(Vec<u8>, usize), usize>,
    markers: Vec<NoteMarker>,
}

impl NoteReader {
    fn add(
        &mut self,
        note: &SdtNote<'_>,
        relocated: &RelocationTargets,
        address_size: u8,
        is_wanted: &dyn Fn(&str) -> bool,
    ) {
        let mut name = note.provider.to_vec();
        if !name.is_empty() {
            name.push(b':');
        }
        name.extend(note.name);
        if !is_wanted(&text::from_bytes(&name)) {
            return;
        }
        let arguments = NoteArgument::all(note.arguments, address_size);
        let identity = (name.clone(), arguments.len());
        let index = *self.by_identity.entry(identity).or_insert(self.markers.len());
        if index == self.markers.len() {
            self.markers.push(NoteMarker { name, arguments: arguments.clone(), ..NoteMarker::default() });
        }
        let at = |index: u64| note.addresses.saturating_add(index.saturating_mul(address_size.into()));
        let site = NoteSite {
            offset: note.offset,
            pc: self.place(note, note.pc, relocated.target(at(0))),
            switch: self.place(note, note.semaphore, relocated.target(at(2))),
            operands: note.arguments.to_vec(),
        };
        let Some(marker) = self.markers.get_mut(index) else { return };
        for (known, new) in marker.arguments.iter_mut().zip(arguments) {
            *known = known.or(new);
        }
        marker.sites.push(site);
    }

    /// Where an address of a note leads; `None` if the linker dropped what is there, or if there is
    /// nothing.
    fn place(&self, note: &SdtNote<'_>, address: u64, target: Option<RelocationTarget>) -> Option<Pc> {
        if self.is_relocatable {
            return match target? {
                RelocationTarget::Section(section, offset) => Some(Pc::in_section(section, SectionOffset(offset))),
                RelocationTarget::Nowhere => None,
            };
        }
        let is_tombstone = address == 0 || address >= self.all_ones - 1;
        let moved = match (self.base, note.base) {
            (0, _) | (_, 0) => 0,
            (now, then) => now.wrapping_sub(then),
        };
        (!is_tombstone).then(|| Pc::linked(address.wrapping_add(moved) & self.all_ones))
    }
}

/// Adds the markers of the notes to those that have records.
pub(super) fn join<'a>(
    notes: &'a [NoteMarker],
    joined: &mut RawMarkers<'a>,
    code: &CodeBytes<'_>,
    diagnostics: &mut Diagnostics,
) {
    let texts = &mut joined.texts;
    // Each argument has a name and a conversion.
    let sizes = notes.iter().map(|note| note.name.len().saturating_add(note.arguments.len().saturating_mul(32)));
    let operands = notes.iter().flat_map(|note| &note.sites).map(|site| site.operands.len());
    texts.raise(sizes.chain(operands).fold(0, |size, next| size.saturating_add(next as u64)));
    let recorded: HashSet<&[u8]> = joined.markers.iter().map(|marker| texts.bytes(marker.name)).collect();
    let folded = FoldedNotes::of(notes);
    let mut run = 0u32;
    for note in notes.iter().filter(|note| !recorded.contains(&*note.name)) {
        let first = note.sites.first().map_or(0, |site| site.offset);
        let mut marker = || {
            let (name, nothing) = (texts.intern(&note.name)?, texts.intern(b"")?);
            let mut sites = Vec::with_capacity(note.sites.len());
            for site in &note.sites {
                run = run.wrapping_add(1);
                let anchored = site.pc.is_some_and(|pc| has_no_operation(code, pc));
                sites.push(RawSite {
                    offset: usize::try_from(site.offset).unwrap_or(usize::MAX),
                    anchored,
                    owns_instruction: anchored && !folded.may_be(note, site),
                    operands: Some(texts.intern(&site.operands)?),
                    switch: site.switch.map(Some),
                    run,
                    ..RawSite::without_record(site.pc, Origin::Note)
                });
            }
            // What is known of it may come from the debug information of its sites.
            let marker = RawMarker::new([name, nothing, nothing, nothing], 0);
            Some(RawMarker { sites, note: Some(note.arguments.as_slice().into()), ..marker })
        };
        match marker() {
            Some(marker) => joined.markers.push(marker),
            None => {
                let (section, offset, bound) = (SDT_NOTES, SectionOffset(first), texts.bound());
                return diagnostics.error(&Error::TooMuchText { section, offset, bound });
            }
        }
    }
}

/// Which functions with notes the linker may have folded. Some linkers leave a note of each at the
/// code that they kept, others drop the notes of the other functions.
struct FoldedNotes<'n> {
    /// The notes at each place, by the names of their markers.
    at: HashMap<Pc, HashSet<&'n [u8]>>,
    /// The names of those that were dropped, by number of arguments: code that is the same has as
    /// many.
    dropped: HashMap<usize, HashSet<&'n [u8]>>,
}

impl<'n> FoldedNotes<'n> {
    fn of(notes: &'n [NoteMarker]) -> Self {
        let mut folded = Self { at: HashMap::new(), dropped: HashMap::new() };
        for (note, site) in notes.iter().flat_map(|note| note.sites.iter().map(move |site| (note, site))) {
            match site.pc {
                Some(pc) => folded.at.entry(pc).or_default().insert(&note.name),
                None => folded.dropped.entry(note.arguments.len()).or_default().insert(&note.name),
            };
        }
        folded
    }

    /// Whether a function with a note of another name may have the code of this one.
    fn may_be(&self, note: &NoteMarker, site: &NoteSite) -> bool {
        let at = site.pc.and_then(|pc| self.at.get(&pc));
        let names = at.into_iter().chain(self.dropped.get(&note.arguments.len()));
        names.flatten().any(|name| *name != &*note.name)
    }
}

/// Whether the instruction at a place is a no-operation as an anchored marker has it: then it was
/// written for the note.
fn has_no_operation(code: &CodeBytes<'_>, pc: Pc) -> bool {
    let found = || {
        let set = code.image().processor().set()?;
        let at = pc.vaddr(code.layout())?;
        let mut is_it = false;
        set.decode(at.0, code.from(at)?.get(..16).or(code.from(at))?, &mut |instruction| {
            is_it = instruction.kind == InstructionKind::Padding && instruction.size == set.anchor_size();
            false
        });
        Some(is_it)
    };
    found().unwrap_or(false)
}
