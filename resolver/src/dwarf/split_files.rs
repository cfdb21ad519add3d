//! The files with split units, and what was found in them (DWARF 5, 7.3.2).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};

use super::sections::{Reader, Sections};
use super::unit::TypeUnits;

/// Gives the files with the split units of skeleton units.
pub trait SplitFiles: std::fmt::Debug + Sync {
    /// The package of the image's split units, and its path; `None` if there is no package.
    fn package(&self) -> Option<(&Sections<'_>, Arc<str>)>;

    /// The file that holds a split unit, with a number that identifies the file, and its path;
    /// `None` if it was not found.
    fn object(&self, wanted: &SplitUnit) -> Option<(u64, &Sections<'_>, Arc<str>)>;
}

/// A split unit, as its skeleton unit names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitUnit {
    /// The name of its file (`DW_AT_dwo_name`).
    pub name: Vec<u8>,
    /// The directory that the name is relative to; `None` if the skeleton unit does not state it.
    pub comp_dir: Option<Vec<u8>>,
    /// Its identity (`dwo_id`).
    pub id: u64,
}

/// A package of split units.
#[derive(Debug)]
pub(super) struct Package<'s> {
    pub(super) index: gimli::DwarfPackage<Reader<'s>>,
    pub(super) sections: &'s Sections<'s>,
    pub(super) empty: Reader<'s>,
    pub(super) path: Arc<str>,
}

/// The split files of an image, as far as they were asked for. `split.rs` fills it.
#[derive(Debug)]
pub(super) struct OpenedFiles<'s> {
    /// `None` if the split units are not wanted.
    pub(super) files: Option<&'s dyn SplitFiles>,
    /// The files and the parts of a package whose size was added to the work limit.
    pub(super) credited: Mutex<HashSet<(bool, u64)>>,
    pub(super) package: OnceLock<Option<Package<'s>>>,
    /// The type units of the package.
    pub(super) package_types: OnceLock<TypeUnits<'s>>,
    /// The skeleton units, by the identities of their split units.
    pub(super) skeletons: OnceLock<HashMap<u64, usize>>,
}

impl<'s> OpenedFiles<'s> {
    pub(super) fn new(files: Option<&'s dyn SplitFiles>) -> Self {
        Self {
            files,
            credited: Mutex::default(),
            package: OnceLock::new(),
            package_types: OnceLock::new(),
            skeletons: OnceLock::new(),
        }
    }
}
