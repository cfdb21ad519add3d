//! Separate debug files: files beside an image that hold its debug information.
//!
//! The library opens no files. It describes the file that it wants ([`DebugFileRequest`]), and the caller offers
//! candidates ([`DebugFiles`]). `resolve` checks each one by its build id, its checksum or the id of a
//! split unit.

pub use crate::image::{MINI_DEBUG_INFO, unpack_mini_debug_info};

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file that is wanted.
///
/// The names come from the image, which may be hostile. Open regular files only: opening a named pipe
/// blocks, and opening a device can have effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugFileRequest<'a> {
    /// The debug information of the image.
    Debug {
        /// The image's build id in hexadecimal; `None` if it has none.
        build_id: Option<&'a str>,
        /// The file name in `.gnu_debuglink`, without `/`; `None` if there is no such section.
        link: Option<&'a [u8]>,
    },
    /// The supplementary file that dwz made for several files (`.gnu_debugaltlink`).
    Alternate {
        /// The file that refers to it.
        of: &'a str,
        /// Its path, absolute or relative to the folder of that file.
        name: &'a [u8],
        /// Its build id in hexadecimal.
        build_id: &'a str,
    },
    /// The package with the split units of the image (`.dwp`).
    Package {
        /// The file that has the skeletons.
        of: &'a str,
    },
    /// A split unit (`.dwo`).
    Split {
        /// The file that has the skeleton.
        of: &'a str,
        /// Its path, absolute or relative to `comp_dir`.
        name: &'a [u8],
        /// The folder of the compilation; `None` if it is unknown.
        comp_dir: Option<&'a [u8]>,
    },
}

/// How debug information was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum DebugSourceKind {
    /// In the image itself.
    #[strum(serialize = "file")]
    Image,
    /// By the build id of the image.
    #[strum(serialize = "build-id")]
    BuildId,
    /// By the name in `.gnu_debuglink`.
    DebugLink,
    /// From a debuginfod server.
    Debuginfod,
    /// By the name in `.gnu_debugaltlink`: the supplementary file of dwz.
    #[strum(serialize = "altlink")]
    Supplementary,
    /// A package of split units.
    #[strum(serialize = "dwp")]
    Package,
    /// The file of a split unit.
    #[strum(serialize = "dwo")]
    Split,
}

impl DebugSourceKind {
    /// The word in reports (`docs/json.md`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A file that was opened.
pub struct DebugFile {
    /// Its bytes.
    pub bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    /// Its path, for reading.
    pub path: String,
    /// How it was found.
    pub source: DebugSourceKind,
}

impl std::fmt::Debug for DebugFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DebugFile").field("path", &self.path).field("source", &self.source).finish_non_exhaustive()
    }
}

/// Opens files for the library.
pub trait DebugFiles: std::fmt::Debug + Sync {
    /// Offers candidates for a wanted file to `take`, the most likely first, and returns the first one that
    /// `take` accepts; `None` if it accepts none.
    fn open(&self, request: &DebugFileRequest<'_>, take: &mut dyn FnMut(&DebugFile) -> bool) -> Option<DebugFile>;
}

/// Offers no files: only the image itself is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDebugFiles;

impl DebugFiles for NoDebugFiles {
    fn open(&self, _: &DebugFileRequest<'_>, _: &mut dyn FnMut(&DebugFile) -> bool) -> Option<DebugFile> {
        None
    }
}

/// An append-only list whose elements never move.
pub(crate) struct Store<T> {
    next: AtomicUsize,
    /// Chunk n has room for 2^n elements.
    chunks: [OnceLock<Box<[OnceLock<T>]>>; 24],
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { next: AtomicUsize::new(1), chunks: [const { OnceLock::new() }; 24] }
    }
}

impl<T> std::fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl<T> Store<T> {
    /// Adds a value and returns its number; `None` if there are already sixteen million.
    pub(crate) fn add(&self, value: T) -> Option<(usize, &T)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let chunk = number.checked_ilog2()?;
        let places = self.chunks.get(chunk as usize)?;
        let places = places.get_or_init(|| (0..1usize << chunk).map(|_| OnceLock::new()).collect());
        let place = places.get(number.checked_sub(1 << chunk)?)?;
        Some((number, place.get_or_init(|| value)))
    }

    /// The value with a number.
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        let chunk = number.checked_ilog2()?;
        self.chunks.get(chunk as usize)?.get()?.get(number.checked_sub(1 << chunk)?)?.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_do_not_move() {
        let store = Store::default();
        let kept: Vec<(usize, &usize)> = (0..1000).filter_map(|value| store.add(value)).collect();
        assert_eq!(kept.len(), 1000);
        assert!(kept.iter().enumerate().all(|(value, (_, kept))| value == **kept));
        assert!(kept.iter().all(|(number, kept)| store.get(*number) == Some(kept)));
        assert_eq!((store.get(0), store.get(1001), store.get(usize::MAX)), (None, None, None));
    }
}
