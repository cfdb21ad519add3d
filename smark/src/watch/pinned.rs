//! The file of an image of the plan, which is kept open while it is watched.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use simple_markers_tracer::sys::lease::Lease;
use simple_markers_tracer::sys::mapped::{FileId, MappedFile};

/// The files that nobody writes to for now.
pub(super) type Leases = HashMap<FileId, Arc<Lease>>;

/// The file of an image of the plan.
pub(super) struct PinnedFile {
    pub(super) image: usize,
    pub(super) id: FileId,
    /// Its path, in the mount namespace of the process that has mapped it.
    pub(super) path: PathBuf,
    /// Whether the path led to it here.
    is_here: bool,
    /// While it is open, no other file gets its number.
    _file: Arc<File>,
    /// While somebody has it, nobody writes to the file.
    pub(super) lease: Option<Arc<Lease>>,
}

impl PinnedFile {
    pub(super) fn new(image: usize, file: &MappedFile, leases: &Leases) -> Option<Self> {
        let is_here = file.opened_as().is_none();
        let lease = leases.get(&file.id).cloned();
        Some(Self { image, id: file.id, path: file.path.clone(), is_here, _file: file.pin()?, lease })
    }

    /// Whether the path led to the file here.
    pub(super) fn is_here_at(&self, path: &Path) -> bool {
        self.is_here && self.path == path
    }
}
