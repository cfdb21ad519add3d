//! The files that hold the debug information of an image outside of it: asked for, checked, read
//! (`docs/design.md`, "Separate debug information").
//!
//! A file that does not belong to the image is refused, with the two values that differ. A separate
//! debug file may refer to a supplementary file and to files of split units, and to nothing else.
//! So there is no chain of separate debug files.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use simple_markers_record::SITES;

use super::{DebugFileProblem, DebugFileRefusal, DebugSource};
use crate::Error;
use crate::debug_files::{DebugFile, DebugFileRequest, DebugFiles, DebugSourceKind, Store};
use crate::dwarf::{Sections, SplitFiles, SplitUnit};
use crate::image::Image;
use crate::text;

/// Names of sections that notes are about.
const BUILD_ID: &str = ".note.gnu.build-id";
const LINK: &str = ".gnu_debuglink";
const SUPPLEMENTARY: &str = ".gnu_debugaltlink";
const INFO: &str = ".debug_info";

/// The files outside of an image that hold its debug information.
pub(super) struct Files<'a> {
    path: &'a str,
    image: &'a Image<'a>,
    folders: DebugFolders<'a>,
    separate: OnceCell<Option<SeparateFile<'a>>>,
    loaded: OnceCell<LoadedFile<'a>>,
}

/// The file with the debug information of an image that has none.
pub(super) struct SeparateFile<'a> {
    pub(super) image: Image<'a>,
    path: &'a str,
    source: DebugSourceKind,
}

/// The sections of debug information of an image.
#[derive(Default)]
pub(super) struct LoadedFile<'a> {
    /// `None` if they cannot be read.
    pub(super) sections: Option<Sections<'a>>,
    /// Those of the supplementary file.
    pub(super) alternate: Option<Sections<'a>>,
    pub(super) errors: Vec<Error>,
}

impl LoadedFile<'_> {
    /// Whether there is more than call frame information.
    pub(super) fn is_described(&self) -> bool {
        self.sections.as_ref().is_some_and(|sections| !sections.is_empty())
    }
}

impl<'a> Files<'a> {
    pub(super) fn new(
        path: &'a str,
        image: &'a Image<'a>,
        debug_files: &'a dyn DebugFiles,
        opened: &'a Store<DebugFile>,
    ) -> Self {
        let state = DebugFileState { of: path.to_owned(), ..DebugFileState::default() };
        let folders = DebugFolders { debug_files, opened, sections: Store::default(), state: Mutex::new(state) };
        Self { path, image, folders, separate: OnceCell::new(), loaded: OnceCell::new() }
    }

    /// The separate debug file of the image, searched on the first call; `None` if none was found.
    pub(super) fn separate(&self) -> Option<&SeparateFile<'a>> {
        self.separate.get_or_init(|| self.find()).as_ref()
    }

    /// The separate debug file, if it was searched already.
    pub(super) fn known_separate(&self) -> Option<&Image<'a>> {
        Some(&self.separate.get()?.as_ref()?.image)
    }

    /// The file with the symbols: the separate debug file, if it was searched already and the image
    /// has no symbol table.
    pub(super) fn named(&self) -> &Image<'a> {
        let has_symbols = |image: &&Image<'a>| image.has_section(".symtab");
        let separate = self.known_separate().filter(|_| !has_symbols(&self.image)).filter(has_symbols);
        // In the separate debug file of a relocatable object the sections have other numbers.
        separate.filter(|separate| !separate.is_relocatable()).unwrap_or(self.image)
    }

    /// The separate debug file, unless the image has the debug information itself.
    fn separate_with_info(&self) -> Option<&SeparateFile<'a>> {
        if self.image.has_section(INFO) { None } else { self.separate() }
    }

    fn find(&self) -> Option<SeparateFile<'a>> {
        let build_id = self.image.build_id();
        let link = self.image.debug_link();
        let is_path = |name: &[u8]| name.contains(&b'/') || name.is_empty();
        if let Some((name, _)) = link.filter(|(name, _)| is_path(name)) {
            let name = text::from_bytes(name);
            self.folders.note(LINK, DebugFileProblem::LinkIsPath { name });
        }
        let link = link.filter(|(name, _)| !is_path(name));
        if build_id.is_none() && link.is_none() {
            return None;
        }
        let wanted = DebugFileRequest::Debug { build_id: build_id.as_deref(), link: link.map(|(name, _)| name) };
        let check = |opened: &DebugFile| self.check(opened, build_id.as_deref(), link.map(|(_, crc)| crc));
        let Some(opened) = self.folders.open(&wanted, check) else {
            if let Some((name, _)) = link {
                let name = text::from_bytes(name);
                self.folders.note(LINK, DebugFileProblem::NotFound { name });
            }
            return None;
        };
        let image = parse(opened, LINK).ok()?;
        Some(SeparateFile { image, path: &opened.path, source: opened.source })
    }

    /// Whether a file is the separate debug file of the image.
    fn check(&self, opened: &DebugFile, build_id: Option<&str>, crc: Option<u32>) -> Result<(), FileRefusal> {
        let image = parse(opened, LINK)?;
        let kind =
            |image: &Image<'_>| (image.processor(), image.address_size(), image.byte_order(), image.is_relocatable());
        match (build_id, image.build_id()) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                let wanted = ours.to_owned();
                return Err((BUILD_ID, DebugFileRefusal::BuildId { theirs, wanted, by: None }));
            }
            (Some(_), Some(_)) => {}
            _ => {
                let Some(ours) = crc.filter(|_| opened.source == DebugSourceKind::DebugLink) else {
                    return Err((BUILD_ID, DebugFileRefusal::NoBuildId));
                };
                let theirs = crc32fast::hash((*opened.bytes).as_ref());
                if ours != theirs {
                    return Err((LINK, DebugFileRefusal::Checksum { theirs, wanted: ours }));
                }
            }
        }
        if kind(&image) != kind(self.image) || image.architecture() != self.image.architecture() {
            return Err((LINK, DebugFileRefusal::Architecture));
        }
        if !image.has_section(INFO) && !image.has_section(SITES) {
            return Err((LINK, DebugFileRefusal::NoDebugInfo));
        }
        if image.is_relocatable() && !image.is_laid_out_as(self.image) {
            return Err((LINK, DebugFileRefusal::Sections));
        }
        Ok(())
    }

    /// The debug information of the image, or of its separate debug file, loaded on the first call.
    pub(super) fn loaded(&self) -> &LoadedFile<'a> {
        self.loaded.get_or_init(|| self.load())
    }

    /// The debug information, if it was loaded already.
    pub(super) fn known_loaded(&self) -> Option<&LoadedFile<'a>> {
        self.loaded.get()
    }

    fn load(&self) -> LoadedFile<'a> {
        let separate = self.separate_with_info();
        let (of, path) = separate.map_or((self.image, self.path), |separate| (&separate.image, separate.path));
        path.clone_into(&mut self.folders.state().of);
        let mut errors = Vec::new();
        let mut sections = Sections::load(of, |error| errors.push(error));
        if let (Ok(sections), Some(_)) = (&mut sections, separate) {
            if let Err(error) = sections.add_frames(self.image, |error| errors.push(error)) {
                errors.push(error);
            }
        }
        let sections = sections.map_err(|error| errors.push(error)).ok();
        // Call frame information alone refers to no other file.
        if sections.as_ref().is_none_or(Sections::is_empty) {
            return LoadedFile { sections, alternate: None, errors };
        }
        let Some((name, build_id)) = of.alternate_link() else {
            return LoadedFile { sections, alternate: None, errors };
        };
        match self.alternate(path, name, &build_id, &mut errors) {
            Some(alternate) => LoadedFile { sections, alternate: Some(alternate), errors },
            // The rest refers to the missing file everywhere.
            None => {
                let name = text::from_bytes(name);
                self.folders.note(SUPPLEMENTARY, DebugFileProblem::SupplementaryNotFound { name });
                LoadedFile { sections: None, alternate: None, errors }
            }
        }
    }

    fn alternate(&self, of: &str, name: &[u8], build_id: &str, errors: &mut Vec<Error>) -> Option<Sections<'a>> {
        let check = |opened: &DebugFile| match parse(opened, SUPPLEMENTARY)?.build_id() {
            Some(theirs) if theirs == build_id => Ok(()),
            Some(theirs) => {
                let (wanted, by) = (build_id.to_owned(), Some(of.to_owned()));
                Err((SUPPLEMENTARY, DebugFileRefusal::BuildId { theirs, wanted, by }))
            }
            None => Err((SUPPLEMENTARY, DebugFileRefusal::NoBuildId)),
        };
        let opened = self.folders.open(&DebugFileRequest::Alternate { of, name, build_id }, check)?;
        let image = parse(opened, SUPPLEMENTARY).ok()?;
        let sections = Sections::load(&image, |error| errors.push(error));
        let sections = sections.map_err(|error| errors.push(error)).ok()?;
        self.folders.used(opened);
        Some(sections)
    }

    /// Where the debug information was found.
    pub(super) fn source(&self) -> DebugSource {
        let separate = self.separate_with_info();
        let (source, path) =
            separate.map_or((DebugSourceKind::Image, self.path), |separate| (separate.source, separate.path));
        DebugSource { source, path: path.to_owned(), supplements: self.folders.state().used.clone() }
    }

    /// The problems with the files, each with the section that it is about.
    pub(super) fn notes(&self) -> Vec<(&'static str, DebugFileProblem)> {
        self.folders.state().notes.clone()
    }

    /// The files of split units.
    pub(super) fn split(&self) -> &DebugFolders<'a> {
        &self.folders
    }
}

/// Why a file is not the wanted one, and the section that shows it.
type FileRefusal = (&'static str, DebugFileRefusal);

/// The image in a file that `section` asked for.
fn parse<'b>(opened: &'b DebugFile, section: &'static str) -> Result<Image<'b>, FileRefusal> {
    Image::parse((*opened.bytes).as_ref()).map_err(|error| (section, DebugFileRefusal::Unreadable(error)))
}

/// The files that were opened.
#[derive(Debug)]
pub(super) struct DebugFolders<'b> {
    debug_files: &'b dyn DebugFiles,
    opened: &'b Store<DebugFile>,
    /// Those of split units, loaded.
    sections: Store<Sections<'b>>,
    state: Mutex<DebugFileState>,
}

/// The name of a file of split units, and the folder that it is relative to.
type ObjectName = (Vec<u8>, Option<Vec<u8>>);

#[derive(Debug, Default)]
struct DebugFileState {
    /// The file with the debug information, and with the skeletons of split units.
    of: String,
    notes: Vec<(&'static str, DebugFileProblem)>,
    used: Vec<DebugSource>,
    /// The files of split units by their names and folders: their numbers, and paths.
    objects: HashMap<ObjectName, (usize, Arc<str>)>,
}

impl<'b> DebugFolders<'b> {
    fn state(&self) -> std::sync::MutexGuard<'_, DebugFileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, section: &'static str, problem: DebugFileProblem) {
        let mut state = self.state();
        // There are fewer diagnostics than that anyway.
        if state.notes.len() < 1000 && !state.notes.iter().any(|(_, known)| *known == problem) {
            state.notes.push((section, problem));
        }
    }

    fn used(&self, &DebugFile { ref path, source, .. }: &DebugFile) {
        let used = DebugSource { source, path: path.clone(), supplements: Vec::new() };
        let mut state = self.state();
        if !state.used.contains(&used) {
            state.used.push(used);
        }
    }

    /// The first file that passes the check.
    fn open(
        &self,
        wanted: &DebugFileRequest<'_>,
        check: impl Fn(&DebugFile) -> Result<(), FileRefusal>,
    ) -> Option<&'b DebugFile> {
        let mut take = |opened: &DebugFile| match check(opened) {
            Ok(()) => true,
            Err((section, refusal)) => {
                self.note(section, DebugFileProblem::Refused { path: opened.path.clone(), refusal });
                false
            }
        };
        let opened = self.debug_files.open(wanted, &mut take)?;
        self.opened.add(opened).map(|(_, opened)| opened)
    }

    fn load(&self, opened: &'b DebugFile) -> Option<(usize, &Sections<'b>)> {
        let image = parse(opened, INFO).ok()?;
        let note = |error: Error| self.note(INFO, DebugFileProblem::Unreadable { path: opened.path.clone(), error });
        let sections = Sections::load_split(&image, note).map_err(note).ok()?;
        self.sections.add(sections)
    }
}

impl SplitFiles for DebugFolders<'_> {
    fn package(&self) -> Option<(&Sections<'_>, Arc<str>)> {
        let of = self.state().of.clone();
        let check = |opened: &DebugFile| match parse(opened, INFO)?.has_section(".debug_cu_index") {
            true => Ok(()),
            false => Err((INFO, DebugFileRefusal::NoIndex)),
        };
        let opened = self.open(&DebugFileRequest::Package { of: &of }, check)?;
        let (_, sections) = self.load(opened)?;
        self.used(opened);
        Some((sections, opened.path.as_str().into()))
    }

    fn object(&self, wanted: &SplitUnit) -> Option<(u64, &Sections<'_>, Arc<str>)> {
        let key = (wanted.name.clone(), wanted.comp_dir.clone());
        let known = self.state().objects.get(&key).cloned();
        let known = known.and_then(|(number, path)| Some((number, self.sections.get(number)?, path)));
        if let Some((number, sections, path)) = known.filter(|(_, sections, _)| sections.split_unit(wanted.id).0) {
            return Some((number as u64, sections, path));
        }
        let of = self.state().of.clone();
        let check = |opened: &DebugFile| {
            let sections = Sections::load_split(&parse(opened, INFO)?, |_| {})
                .map_err(|error| (INFO, DebugFileRefusal::Unreadable(error)))?;
            let (is_there, ids) = sections.split_unit(wanted.id);
            match (is_there, ids.as_slice()) {
                (true, _) => Ok(()),
                (false, []) => Err((INFO, DebugFileRefusal::NoSplitUnit)),
                (false, [id, ..]) => Err((INFO, DebugFileRefusal::SplitUnit { theirs: *id, wanted: wanted.id })),
            }
        };
        let (name, comp_dir) = (wanted.name.as_slice(), wanted.comp_dir.as_deref());
        let Some(opened) = self.open(&DebugFileRequest::Split { of: &of, name, comp_dir }, check) else {
            let name = text::from_bytes(name);
            self.note(INFO, DebugFileProblem::SplitNotFound { name });
            return None;
        };
        let (number, sections) = self.load(opened)?;
        let path: Arc<str> = opened.path.as_str().into();
        self.state().objects.insert(key, (number, Arc::clone(&path)));
        self.used(opened);
        Some((number as u64, sections, path))
    }
}
