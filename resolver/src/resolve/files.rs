//! The files beside an image that hold its debug information: asked for, checked, read (`docs/design.md`, "Separate debug information").
//!
//! What does not belong to the image is refused, with the two values that differ. Nothing that a companion names is asked for but what
//! it was made with: dwz's file and split units. So there is no chain of companions to follow.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use simple_markers_record::SITES;

use super::DebugSource;
use crate::Error;
use crate::debug_files::{DebugFiles, Opened, Store, Wanted};
use crate::dwarf::{Sections, SplitFiles, SplitUnit};
use crate::image::Image;
use crate::text;

/// Names of sections that notes are about.
const BUILD_ID: &str = ".note.gnu.build-id";
const LINK: &str = ".gnu_debuglink";
const ALTERNATE: &str = ".gnu_debugaltlink";
const INFO: &str = ".debug_info";

/// The files beside an image.
pub(super) struct Files<'i, 'b> {
    path: &'i str,
    image: &'i Image<'b>,
    beside: DebugFolders<'b>,
    companion: OnceCell<Option<Companion<'b>>>,
}

/// The file with the debug information of an image that has none.
pub(super) struct Companion<'b> {
    pub(super) image: Image<'b>,
    path: &'b str,
    source: &'static str,
}

/// The sections of debug information of an image.
#[derive(Default)]
pub(super) struct Loaded<'b> {
    /// `None` where they cannot be read.
    pub(super) sections: Option<Sections<'b>>,
    /// Those of the file of dwz.
    pub(super) alternate: Option<Sections<'b>>,
    pub(super) errors: Vec<Error>,
}

impl Loaded<'_> {
    /// Whether there is any debug information, not call frame information alone.
    pub(super) fn is_described(&self) -> bool {
        self.sections.as_ref().is_some_and(|sections| !sections.is_empty())
    }
}

impl<'i, 'b> Files<'i, 'b> {
    pub(super) fn new(
        path: &'i str,
        image: &'i Image<'b>,
        companions: &'b dyn DebugFiles,
        opened: &'b Store<Opened>,
    ) -> Self {
        let state = State { of: path.to_owned(), ..State::default() };
        let beside = DebugFolders { companions, opened, sections: Store::default(), state: Mutex::new(state) };
        Self { path, image, beside, companion: OnceCell::new() }
    }

    /// The file with the debug information of the image, looked for when it is first asked for; `None` where none was found.
    pub(super) fn companion(&self) -> Option<&Companion<'b>> {
        self.companion.get_or_init(|| self.find()).as_ref()
    }

    /// The companion, if it was asked for already.
    pub(super) fn known_companion(&self) -> Option<&Image<'b>> {
        Some(&self.companion.get()?.as_ref()?.image)
    }

    /// The image that has the symbols: the companion where that was asked for, and `strip` left the image none.
    pub(super) fn named(&self) -> &Image<'b> {
        let has_symbols = |image: &&Image<'b>| image.has_section(".symtab");
        let companion = self.known_companion().filter(|_| !has_symbols(&self.image)).filter(has_symbols);
        // Sections of a relocatable object have other numbers there.
        companion.filter(|companion| !companion.is_relocatable()).unwrap_or(self.image)
    }

    fn find(&self) -> Option<Companion<'b>> {
        let build_id = self.image.build_id();
        let link = self.image.debug_link();
        let is_path = |name: &[u8]| name.contains(&b'/') || name.is_empty();
        if let Some((name, _)) = link.filter(|(name, _)| is_path(name)) {
            self.beside
                .note(LINK, format!("`{}` is not the name of a file, it is not looked for", text::from_bytes(name)));
        }
        let link = link.filter(|(name, _)| !is_path(name));
        if build_id.is_none() && link.is_none() {
            return None;
        }
        let wanted = Wanted::Debug { build_id: build_id.as_deref(), link: link.map(|(name, _)| name) };
        let check = |opened: &Opened| self.check(opened, build_id.as_deref(), link.map(|(_, crc)| crc));
        let Some(opened) = self.beside.open(&wanted, check) else {
            if let Some((name, _)) = link {
                let name = text::from_bytes(name);
                self.beside.note(LINK, format!("the debug information is in {name}, which was not found"));
            }
            return None;
        };
        let image = Image::parse((*opened.bytes).as_ref()).ok()?;
        Some(Companion { image, path: &opened.path, source: opened.source })
    }

    /// Whether a file is the debug companion of the image.
    fn check(&self, opened: &Opened, build_id: Option<&str>, crc: Option<u32>) -> Result<(), Refused> {
        let bytes = (*opened.bytes).as_ref();
        let image = Image::parse(bytes).map_err(|error| (LINK, error.to_string()))?;
        let kind =
            |image: &Image<'_>| (image.processor(), image.address_size(), image.byte_order(), image.is_relocatable());
        match (build_id, image.build_id()) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                return Err((BUILD_ID, format!("its build id is {theirs}, the image's is {ours}")));
            }
            (Some(_), Some(_)) => {}
            _ => {
                let Some(ours) = crc.filter(|_| opened.source == DEBUG_LINK) else {
                    return Err((BUILD_ID, "it has no build id".to_owned()));
                };
                let theirs = crc32fast::hash(bytes);
                if ours != theirs {
                    return Err((LINK, format!("its CRC is {theirs:#010x}, the image says {ours:#010x}")));
                }
            }
        }
        if kind(&image) != kind(self.image) || image.architecture() != self.image.architecture() {
            return Err((LINK, "it is of another architecture".to_owned()));
        }
        if !image.has_section(INFO) && !image.has_section(SITES) {
            return Err((LINK, "it has no debug information".to_owned()));
        }
        if image.is_relocatable() && !image.is_laid_out_as(self.image) {
            return Err((LINK, "its sections are not those of the image".to_owned()));
        }
        Ok(())
    }

    /// The debug information, of the image or of its companion.
    pub(super) fn load(&self) -> Loaded<'b> {
        let companion = if self.image.has_section(INFO) { None } else { self.companion() };
        let (of, path) = companion.map_or((self.image, self.path), |companion| (&companion.image, companion.path));
        path.clone_into(&mut self.beside.state().of);
        let mut errors = Vec::new();
        let mut sections = Sections::load(of, |error| errors.push(error));
        if let (Ok(sections), Some(_)) = (&mut sections, companion) {
            if let Err(error) = sections.add_frames(self.image, |error| errors.push(error)) {
                errors.push(error);
            }
        }
        let sections = sections.map_err(|error| errors.push(error)).ok();
        // Of call frame information alone nothing is missing.
        if sections.as_ref().is_none_or(Sections::is_empty) {
            return Loaded { sections, alternate: None, errors };
        }
        let Some((name, build_id)) = of.alternate_link() else {
            return Loaded { sections, alternate: None, errors };
        };
        match self.alternate(path, name, &build_id, &mut errors) {
            Some(alternate) => Loaded { sections, alternate: Some(alternate), errors },
            // What is left refers to what is not there at every step.
            None => {
                let name = text::from_bytes(name);
                self.beside.note(
                    ALTERNATE,
                    format!("the debug information is not read: part of it is in {name} (dwz), which was not found"),
                );
                Loaded { sections: None, alternate: None, errors }
            }
        }
    }

    fn alternate(&self, of: &str, name: &[u8], build_id: &str, errors: &mut Vec<Error>) -> Option<Sections<'b>> {
        let check = |opened: &Opened| {
            let image = Image::parse((*opened.bytes).as_ref()).map_err(|error| (ALTERNATE, error.to_string()))?;
            match image.build_id() {
                Some(theirs) if theirs == build_id => Ok(()),
                Some(theirs) => Err((ALTERNATE, format!("its build id is {theirs}, {of} says {build_id}"))),
                None => Err((ALTERNATE, "it has no build id".to_owned())),
            }
        };
        let opened = self.beside.open(&Wanted::Alternate { of, name, build_id }, check)?;
        let image = Image::parse((*opened.bytes).as_ref()).ok()?;
        let sections = Sections::load(&image, |error| errors.push(error));
        let sections = sections.map_err(|error| errors.push(error)).ok()?;
        self.beside.used(opened);
        Some(sections)
    }

    /// Where the debug information was found.
    pub(super) fn source(&self) -> DebugSource {
        let companion = if self.image.has_section(INFO) { None } else { self.companion() };
        let (source, path) = companion.map_or(("file", self.path), |companion| (companion.source, companion.path));
        DebugSource { source, path: path.to_owned(), supplements: self.beside.state().used.clone() }
    }

    /// What there is to say of the files, each with the section that it is about.
    pub(super) fn notes(&self) -> Vec<(&'static str, String)> {
        self.beside.state().notes.clone()
    }

    /// The files of split units.
    pub(super) fn split(&self) -> &DebugFolders<'b> {
        &self.beside
    }
}

/// How a file that was found by `.gnu_debuglink` is called ([`Opened::source`]).
const DEBUG_LINK: &str = "debuglink";

/// Why a file is not the one that is wanted, and the section that says so.
type Refused = (&'static str, String);

/// The files that were opened.
#[derive(Debug)]
pub(super) struct DebugFolders<'b> {
    companions: &'b dyn DebugFiles,
    opened: &'b Store<Opened>,
    /// Those of split units, loaded.
    sections: Store<Sections<'b>>,
    state: Mutex<State>,
}

/// The name of a file of split units, and the folder that it is relative to.
type ObjectName = (Vec<u8>, Option<Vec<u8>>);

#[derive(Debug, Default)]
struct State {
    /// The file that has the debug information, and skeletons of what is not in it.
    of: String,
    notes: Vec<(&'static str, String)>,
    used: Vec<DebugSource>,
    /// The files of split units by their names and folders: their numbers, and paths.
    objects: HashMap<ObjectName, (usize, Arc<str>)>,
}

impl<'b> DebugFolders<'b> {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, section: &'static str, message: String) {
        let mut state = self.state();
        // The diagnostics would not take more.
        if state.notes.len() < 1000 && !state.notes.iter().any(|(_, known)| *known == message) {
            state.notes.push((section, message));
        }
    }

    fn used(&self, Opened { path, source, .. }: &Opened) {
        let used = DebugSource { source, path: path.clone(), supplements: Vec::new() };
        let mut state = self.state();
        if !state.used.contains(&used) {
            state.used.push(used);
        }
    }

    /// The first file that passes a check.
    fn open(&self, wanted: &Wanted<'_>, check: impl Fn(&Opened) -> Result<(), Refused>) -> Option<&'b Opened> {
        let mut take = |opened: &Opened| match check(opened) {
            Ok(()) => true,
            Err((section, why)) => {
                self.note(section, format!("{} is not used: {why}", opened.path));
                false
            }
        };
        let opened = self.companions.open(wanted, &mut take)?;
        self.opened.add(opened).map(|(_, opened)| opened)
    }

    fn load(&self, opened: &'b Opened) -> Option<(usize, &Sections<'b>)> {
        let image = Image::parse((*opened.bytes).as_ref()).ok()?;
        let note = |error: Error| self.note(INFO, format!("{}: {error}", opened.path));
        let sections = Sections::load_split(&image, note).map_err(note).ok()?;
        self.sections.add(sections)
    }
}

impl SplitFiles for DebugFolders<'_> {
    fn package(&self) -> Option<(&Sections<'_>, Arc<str>)> {
        let of = self.state().of.clone();
        let check = |opened: &Opened| {
            let image = Image::parse((*opened.bytes).as_ref()).map_err(|error| (INFO, error.to_string()))?;
            match image.has_section(".debug_cu_index") {
                true => Ok(()),
                false => Err((INFO, "it has no index of units".to_owned())),
            }
        };
        let opened = self.open(&Wanted::Package { of: &of }, check)?;
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
        let check = |opened: &Opened| {
            let image = Image::parse((*opened.bytes).as_ref()).map_err(|error| (INFO, error.to_string()))?;
            let sections = Sections::load_split(&image, |_| {}).map_err(|error| (INFO, error.to_string()))?;
            let (is_there, ids) = sections.split_unit(wanted.id);
            match (is_there, ids.as_slice()) {
                (true, _) => Ok(()),
                (false, []) => Err((INFO, "it has no split unit".to_owned())),
                (false, [id, ..]) => {
                    Err((INFO, format!("its unit is {id:#018x}, the image wants {:#018x}", wanted.id)))
                }
            }
        };
        let (name, comp_dir) = (wanted.name.as_slice(), wanted.comp_dir.as_deref());
        let Some(opened) = self.open(&Wanted::Split { of: &of, name, comp_dir }, check) else {
            let name = text::from_bytes(name);
            self.note(INFO, format!("part of the debug information is in {name}, which was not found"));
            return None;
        };
        let (number, sections) = self.load(opened)?;
        let path: Arc<str> = opened.path.as_str().into();
        self.state().objects.insert(key, (number, Arc::clone(&path)));
        self.used(opened);
        Some((number as u64, sections, path))
    }
}
