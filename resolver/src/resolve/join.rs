//! The join: declarations and site records of one image become markers, by name, file and line.
//!
//! A header that is reached by two paths (`a/../c/m.h`, `./c/m.h`) is one file: paths are compared
//! without `.` and `..`. Symbolic links are not followed, so the marker keeps the first path.

use std::collections::HashMap;
use std::sync::Arc;

use object::SectionIndex;
use simple_markers_record::declaration::{Declaration, Declarations};
use simple_markers_record::ghost;
use simple_markers_record::site::{Site, Sites};
use simple_markers_record::strings::Strings;
use simple_markers_record::{ByteOrder, DECLARATIONS, SITES, STRINGS};

use super::diagnostics::Diagnostics;
use super::interner::{Interner, TextId};
use super::note_arguments::NoteArgument;
use super::pc::Pc;
use super::site_answer::SiteAnswer;
use super::{GhostProblem, LineProblem, Origin};
use crate::address::SectionOffset;
use crate::dwarf::files::SourcePath;
use crate::error::{Error, RelocationProblem};
use crate::image::{Contents, Image, Layout, RelocationTarget, RelocationTargets};
use crate::marks::TaskPoint;

/// A site record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawSite {
    /// Offset of the record in its section.
    pub(super) offset: usize,
    /// `None` if the site is dead.
    pub(super) pc: Option<Pc>,
    pub(super) column: u32,
    pub(super) anchored: bool,
    pub(super) operands: Option<TextId>,
    /// The format of its record. Words in it may have values that the declaration does not know.
    pub(super) format: Option<TextId>,
    /// Of a probe: where its switch is. The inner value is `None` if the linker dropped the switch.
    pub(super) switch: Option<Option<Pc>>,
    /// The number of its run of records with one address. A compiler writes records in the order of
    /// the code, so the records of one function are one run. A copy of the function in another file
    /// is another run.
    pub(super) run: u32,
    /// The most records of the marker that one run has here. Counted after all records were read.
    pub(super) copies: u32,
    /// The records of the marker that all runs have here.
    pub(super) records: u32,
    /// Whether the instruction there was written for it, and is in no function that the linker folded
    /// with another one. Only notes say so much.
    pub(super) owns_instruction: bool,
    pub(super) origin: Origin,
    /// The function that a tail call there leads to, if its name is known.
    pub(super) callee: Option<TextId>,
}

impl RawSite {
    /// A site that no record describes.
    pub(super) fn without_record(pc: Option<Pc>, origin: Origin) -> Self {
        Self {
            offset: 0,
            pc,
            column: 0,
            anchored: false,
            operands: None,
            format: None,
            switch: None,
            run: 0,
            copies: 1,
            records: 1,
            owns_instruction: false,
            origin,
            callee: None,
        }
    }
}

/// A marker, joined.
#[derive(Debug)]
pub(super) struct RawMarker {
    pub(super) name: TextId,
    pub(super) file: TextId,
    pub(super) line: u32,
    pub(super) format: TextId,
    pub(super) args: TextId,
    pub(super) declared: bool,
    pub(super) is_ghost: bool,
    /// Whether a user named its place.
    pub(super) is_mark: bool,
    /// How many inlined copies of its function are left out.
    pub(super) inlined_copies: u32,
    /// What a task does there.
    pub(super) task_point: Option<TaskPoint>,
    pub(super) sites: Vec<RawSite>,
    /// Why the line table has no site for it; `None` if it has one, or was not asked.
    pub(super) problem: Option<LineProblem>,
    /// Of a ghost: why its place is not known; `None` if it is known that these are its sites.
    pub(super) ghost: Option<GhostProblem>,
    /// Of a note: its arguments.
    pub(super) note: Option<Arc<[NoteArgument]>>,
    /// What was found at each site; empty if nothing was looked up yet.
    pub(super) found: Vec<SiteAnswer>,
}

impl RawMarker {
    /// A marker of which nothing else is known.
    pub(super) fn new([name, file, format, args]: [TextId; 4], line: u32) -> Self {
        Self {
            name,
            file,
            line,
            format,
            args,
            declared: false,
            is_ghost: false,
            is_mark: false,
            inlined_copies: 0,
            task_point: None,
            sites: Vec::new(),
            problem: None,
            ghost: None,
            note: None,
            found: Vec::new(),
        }
    }

    /// Whether it is of notes, and of no record.
    pub(super) fn is_note(&self) -> bool {
        self.note.is_some()
    }
}

/// The marker sections of an image, loaded.
#[derive(Debug)]
pub(super) struct RecordSections<'data> {
    pub(super) declarations: Vec<Contents<'data>>,
    pub(super) sites: Vec<Contents<'data>>,
    pub(super) strings: Vec<Contents<'data>>,
    /// The declarations of ghosts that are symbols.
    pub(super) ghosts: Vec<Declaration<'data>>,
    /// Whether sites and strings are from the separate debug file.
    pub(super) are_separate: bool,
}

impl<'data> RecordSections<'data> {
    /// Loads the sections. A section that cannot be read is reported and left out.
    pub(super) fn load(image: &'data Image<'data>, diagnostics: &mut Diagnostics) -> Self {
        let mut load = |name| {
            let contents = image.contents(name);
            contents.filter_map(|contents| contents.map_err(|error| diagnostics.error(&error)).ok()).collect()
        };
        let (declarations, sites, strings) = (load(DECLARATIONS), load(SITES), load(STRINGS));
        let ghosts = image.ghosts().filter_map(|(offset, symbol)| ghost::from_symbol(offset, symbol)).collect();
        Self { declarations, sites, strings, ghosts, are_separate: false }
    }

    /// These sections, with the sites of the separate debug file. `strip` moves the sites there;
    /// `eu-strip` also moves the declarations.
    pub(super) fn with_those_of(self, separate: &'data Image<'data>, diagnostics: &mut Diagnostics) -> Self {
        let theirs = Self::load(separate, diagnostics);
        let declarations = if self.declarations.is_empty() { theirs.declarations } else { self.declarations };
        let ghosts = if self.ghosts.is_empty() { theirs.ghosts } else { self.ghosts };
        let are_separate = !theirs.sites.is_empty();
        Self { declarations, sites: theirs.sites, strings: theirs.strings, ghosts, are_separate }
    }

    /// The size of all sections in bytes.
    pub(super) fn size(&self) -> u64 {
        let all = self.declarations.iter().chain(&self.sites).chain(&self.strings);
        let ghosts =
            self.ghosts.iter().map(|ghost| ghost.name.len() + ghost.file.len() + ghost.format.len() + ghost.args.len());
        all.map(|contents| contents.bytes.len()).chain(ghosts).fold(0, |size, next| size.saturating_add(next as u64))
    }
}

/// The joined records.
#[derive(Debug)]
pub(super) struct RawMarkers<'a> {
    pub(super) texts: Interner<'a>,
    /// In the order of first declarations, then of first sites.
    pub(super) markers: Vec<RawMarker>,
}

/// Joins the records of `sections`. `separate` is the separate debug file, which may have the
/// sites.
pub(super) fn join<'a>(
    image: &Image<'_>,
    separate: Option<&Image<'_>>,
    sections: &'a RecordSections<'_>,
    diagnostics: &mut Diagnostics,
) -> RawMarkers<'a> {
    let separate = separate.filter(|_| sections.are_separate);
    let mut join = Join {
        layouts: separate.and_then(|separate| Some([separate.layout()?, image.layout()?])),
        order: image.byte_order(),
        is_relocatable: image.is_relocatable(),
        tables: sections.strings.iter().enumerate().map(|(index, contents)| (contents.section, index)).collect(),
        strings: sections.strings.iter().map(|contents| terminated(&contents.bytes)).collect(),
        texts: Interner::new(sections.size()),
        by_offset: HashMap::new(),
        last: (None, 0),
        files: HashMap::new(),
        by_path: HashMap::new(),
        by_identity: HashMap::new(),
        markers: Vec::new(),
    };
    for contents in &sections.declarations {
        for declaration in Declarations::new(&contents.bytes) {
            let added = declaration.map_err(Error::from).and_then(|declaration| join.declare(&declaration));
            if !carry_on(added, diagnostics) {
                break;
            }
        }
    }
    for ghost in &sections.ghosts {
        if !carry_on(join.declare(ghost), diagnostics) {
            break;
        }
    }
    for contents in &sections.sites {
        let relocated = separate.unwrap_or(image).relocated(SITES, contents, |error| diagnostics.error(&error));
        for site in Sites::new(&contents.bytes, join.order) {
            let added = site.map_err(Error::from).and_then(|site| join.add_site(&site, &relocated));
            if !carry_on(added, diagnostics) {
                break;
            }
        }
    }
    RawMarkers { texts: join.texts, markers: join.markers }
}

/// Reports an error; `false` if reading must stop after it.
fn carry_on(result: Result<(), Error>, diagnostics: &mut Diagnostics) -> bool {
    let Err(error) = result else { return true };
    diagnostics.error(&error);
    !matches!(error, Error::TooMuchText { .. })
}

/// The strings of a table up to its last NUL. The rest has no end, and a million records could each
/// search for it.
fn terminated(table: &[u8]) -> Strings<'_> {
    let end = table.iter().rposition(|&byte| byte == 0).map_or(0, |last| last + 1);
    Strings::new(table.get(..end).unwrap_or_default())
}

struct Join<'a> {
    order: ByteOrder,
    is_relocatable: bool,
    /// The layouts of the separate debug file and of the image, if the sites are in the former.
    layouts: Option<[Layout; 2]>,
    /// The string tables.
    strings: Vec<Strings<'a>>,
    /// The index in `strings` of each section.
    tables: HashMap<SectionIndex, usize>,
    texts: Interner<'a>,
    /// Strings that were read already, by index in `strings` and offset.
    by_offset: HashMap<(usize, u32), TextId>,
    /// The place of the last record, and its run.
    last: (Option<Pc>, u32),
    /// The first name of each file, by each of its names.
    files: HashMap<TextId, TextId>,
    /// The first name of each file, by its path without `.` and `..`.
    by_path: HashMap<Arc<str>, TextId>,
    /// Markers by name, file and line.
    by_identity: HashMap<(TextId, TextId, u32), usize>,
    markers: Vec<RawMarker>,
}

impl<'a> Join<'a> {
    fn declare(&mut self, declaration: &Declaration<'a>) -> Result<(), Error> {
        let mut intern = |bytes| {
            let offset = SectionOffset(declaration.offset as u64);
            let bound = self.texts.bound();
            self.texts.intern(bytes).ok_or(Error::TooMuchText { section: DECLARATIONS, offset, bound })
        };
        let (name, file) = (intern(declaration.name)?, intern(declaration.file)?);
        let (format, args) = (intern(declaration.format)?, intern(declaration.args)?);
        let is_ghost = declaration.is_ghost;
        let ghost = is_ghost.then_some(GhostProblem::NoDebugInfo);
        let marker = RawMarker::new([name, file, format, args], declaration.line);
        self.marker(RawMarker { declared: true, is_ghost, ghost, ..marker });
        Ok(())
    }

    /// The marker with the same name, file and line, which is `marker` if there is none yet.
    fn marker(&mut self, mut marker: RawMarker) -> Option<&mut RawMarker> {
        marker.file = self.file(marker.file);
        let identity = (marker.name, marker.file, marker.line);
        let index = *self.by_identity.entry(identity).or_insert(self.markers.len());
        if index == self.markers.len() {
            self.markers.push(marker);
        }
        self.markers.get_mut(index)
    }

    /// The name under which a file was met first.
    fn file(&mut self, file: TextId) -> TextId {
        if let Some(&first) = self.files.get(&file) {
            return first;
        }
        let path = SourcePath::new(&self.texts.text(file));
        let first = *self.by_path.entry(Arc::clone(path.as_str())).or_insert(file);
        self.files.insert(file, first);
        first
    }

    fn add_site(&mut self, site: &Site, relocated: &RelocationTargets) -> Result<(), Error> {
        let pc = self.pc(site, relocated)?;
        // The strings' offsets stand after pc, line and column, four bytes each.
        let after_pc = site.pc_offset().saturating_add(usize::from(site.address_size)) as u64;
        let mut string = |value, index: u64| {
            let field = after_pc.saturating_add(8).saturating_add(index.saturating_mul(4));
            self.string(site, value, relocated.target(field))
        };
        let (name, file) = (string(site.name, 0)?, string(site.file, 1)?);
        let (format, args) = (string(site.format, 2)?, string(site.args, 3)?);
        let operands = if site.has_operands() { Some(string(site.operands, 4)?) } else { None };
        let switch = site.switch.map(|switch| self.switch(site, switch, relocated));
        if pc.is_none() || self.last.0 != pc {
            self.last = (pc, self.last.1.wrapping_add(1));
        }
        let raw = RawSite {
            offset: site.offset,
            column: site.column,
            anchored: site.is_anchored(),
            operands,
            format: Some(format),
            switch,
            run: self.last.1,
            ..RawSite::without_record(pc, Origin::Record)
        };
        let marker = RawMarker::new([name, file, format, args], site.line);
        if let Some(marker) = self.marker(marker) {
            marker.sites.push(raw);
        }
        Ok(())
    }

    /// Where a site is; `None` if it is dead.
    fn pc(&self, site: &Site, relocated: &RelocationTargets) -> Result<Option<Pc>, Error> {
        if !self.is_relocatable {
            return Ok((!site.is_dead()).then_some(Pc::linked(site.pc)));
        }
        match relocated.target(site.pc_offset() as u64) {
            Some(RelocationTarget::Section(section, offset)) => Ok(self.in_section(section, offset)),
            Some(RelocationTarget::Nowhere) => Ok(None),
            None if site.is_dead() => Ok(None),
            None => {
                let offset = SectionOffset(site.offset as u64);
                Err(Error::NotRelocated { section: SITES, offset, pc: site.pc })
            }
        }
    }

    /// Where the switch of a probe is; `None` if the linker dropped it.
    fn switch(&self, site: &Site, switch: u64, relocated: &RelocationTargets) -> Option<Pc> {
        if !self.is_relocatable {
            return (!site.is_tombstone(switch)).then_some(Pc::linked(switch));
        }
        match relocated.target(site.switch_offset()? as u64)? {
            RelocationTarget::Section(section, offset) => self.in_section(section, offset),
            RelocationTarget::Nowhere => None,
        }
    }

    /// A place in a section of the object that has the records.
    fn in_section(&self, section: SectionIndex, offset: u64) -> Option<Pc> {
        // Sections have other numbers in the separate debug file.
        let (section, offset) = match &self.layouts {
            Some([theirs, ours]) => ours.section_offset(theirs.address(section, SectionOffset(offset))?)?,
            None => (section, SectionOffset(offset)),
        };
        Some(Pc::in_section(section, offset))
    }

    /// The string that a field of `site` refers to: by its relocation, or else by its value.
    fn string(&mut self, site: &Site, value: u32, target: Option<RelocationTarget>) -> Result<TextId, Error> {
        let error = |problem| {
            let offset = SectionOffset(site.offset as u64);
            Error::Relocation { section: SITES, offset, problem }
        };
        let (table, offset) = match target {
            Some(RelocationTarget::Section(section, offset)) => {
                let table = self.tables.get(&section).copied();
                let table = table.ok_or_else(|| error(RelocationProblem::NoStrings))?;
                (table, u32::try_from(offset).map_err(|_| error(RelocationProblem::WideString))?)
            }
            Some(RelocationTarget::Nowhere) => return Err(error(RelocationProblem::NoTarget)),
            None => (0, value),
        };
        if let Some(&text) = self.by_offset.get(&(table, offset)) {
            return Ok(text);
        }
        let strings = self.strings.get(table).copied().unwrap_or(Strings::new(&[]));
        let bytes = strings.get(offset)?;
        let text = self.texts.intern(bytes).ok_or_else(|| Error::TooMuchText {
            section: SITES,
            offset: SectionOffset(site.offset as u64),
            bound: self.texts.bound(),
        })?;
        self.by_offset.insert((table, offset), text);
        Ok(text)
    }
}
