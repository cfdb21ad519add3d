//! Files beside an image that hold its debug information: which are wanted, and who gives them.
//!
//! The library opens nothing. It says what it wants ([`Wanted`]), whoever uses it offers files ([`DebugFiles`]), and each is checked
//! here before it is believed (`resolve`): by build id, by checksum, by the identity of a split unit.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file that is wanted.
///
/// Names come from the image: whoever opens them opens regular files only, and nothing that waits or counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wanted<'a> {
    /// The debug information of the image.
    Debug {
        /// The image's build id in hexadecimal; `None` where it has none.
        build_id: Option<&'a str>,
        /// The name of a file in the image's folder or one that belongs to it (`.gnu_debuglink`), never with a `/`; `None` where it
        /// names none.
        link: Option<&'a [u8]>,
    },
    /// What dwz moved from several files to one (`.gnu_debugaltlink`).
    Alternate {
        /// The file that names it.
        of: &'a str,
        /// Its path, absolute or from that file's folder.
        name: &'a [u8],
        /// Its build id in hexadecimal.
        build_id: &'a str,
    },
    /// The package of the image's split units (`.dwp`).
    Package {
        /// The file that has the skeletons.
        of: &'a str,
    },
    /// A split unit (`.dwo`).
    Split {
        /// The file that has the skeleton.
        of: &'a str,
        /// Its path, absolute or from the folder that it was compiled in.
        name: &'a [u8],
        /// That folder; `None` where it is not known.
        comp_dir: Option<&'a [u8]>,
    },
}

/// How debug information was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DebugSourceKind {
    /// In the image itself.
    Image,
    /// By the build id of the image.
    BuildId,
    /// By the name in `.gnu_debuglink`.
    DebugLink,
    /// From a debuginfod server.
    Debuginfod,
    /// By the name in `.gnu_debugaltlink`: the supplementary file of dwz.
    Supplementary,
    /// A package of split units.
    Package,
    /// The file of a split unit.
    Split,
}

impl DebugSourceKind {
    /// The word in reports (`docs/json.md`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "file",
            Self::BuildId => "build-id",
            Self::DebugLink => "debuglink",
            Self::Debuginfod => "debuginfod",
            Self::Supplementary => "altlink",
            Self::Package => "dwp",
            Self::Split => "dwo",
        }
    }
}

/// A file that was opened.
pub struct Opened {
    /// Its bytes.
    pub bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    /// Its path, for reading.
    pub path: String,
    /// How it was found.
    pub source: DebugSourceKind,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("path", &self.path).field("source", &self.source).finish_non_exhaustive()
    }
}

/// Whoever opens files.
pub trait DebugFiles: std::fmt::Debug + Sync {
    /// Offers the files that may be the one that is wanted, the likeliest first, until one is taken, which is given back; `None` where
    /// none is.
    fn open(&self, wanted: &Wanted<'_>, take: &mut dyn FnMut(&Opened) -> bool) -> Option<Opened>;
}

/// No files: everything is in the image, or is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDebugFiles;

impl DebugFiles for NoDebugFiles {
    fn open(&self, _: &Wanted<'_>, _: &mut dyn FnMut(&Opened) -> bool) -> Option<Opened> {
        None
    }
}

/// Values that stay where they are while more are added.
pub(crate) struct Store<T> {
    next: AtomicUsize,
    /// The nth has 2^n places.
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
    /// Adds a value and says its number; `None` where there are sixteen million.
    pub(crate) fn add(&self, value: T) -> Option<(usize, &T)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let chunk = number.checked_ilog2()?;
        let places = self.chunks.get(chunk as usize)?;
        let places = places.get_or_init(|| (0..1usize << chunk).map(|_| OnceLock::new()).collect());
        let place = places.get(number.checked_sub(1 << chunk)?)?;
        Some((number, place.get_or_init(|| value)))
    }

    /// The value of a number.
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        let chunk = number.checked_ilog2()?;
        self.chunks.get(chunk as usize)?.get()?.get(number.checked_sub(1 << chunk)?)?.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_stays() {
        let store = Store::default();
        let kept: Vec<(usize, &usize)> = (0..1000).filter_map(|value| store.add(value)).collect();
        assert_eq!(kept.len(), 1000);
        assert!(kept.iter().enumerate().all(|(value, (_, kept))| value == **kept));
        assert!(kept.iter().all(|(number, kept)| store.get(*number) == Some(kept)));
        assert_eq!((store.get(0), store.get(1001), store.get(usize::MAX)), (None, None, None));
    }
}
