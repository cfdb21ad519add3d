//! What to check, and what to compare it with.

use std::sync::Arc;

use super::lock::Lock;
use super::policy::Policy;
use super::profile_settings::ProfileSettings;
use crate::dwarf::files::SourcePath;
use crate::resolve::{Marker, Resolution, ResolvedImage};

/// What to check, and what to compare it with.
pub struct Check<'a> {
    /// The resolved images, with [`crate::resolve::Detail::Places`] or more.
    pub resolution: &'a Resolution,
    /// Selects the markers to check.
    pub keep: &'a dyn Fn(&Marker) -> bool,
    /// Selects, by name, the markers to report as gone.
    pub keep_name: &'a dyn Fn(&str) -> bool,
    /// The absolute path of the folder that the check runs in. File names are relative to it.
    /// `None` leaves them as recorded.
    pub root: Option<&'a str>,
    /// The severity of each code.
    pub policy: &'a Policy,
    /// The lock file to compare with, and how to choose its sections.
    pub lock: Option<(&'a Lock, &'a Profile)>,
    /// What sets the debug information of the program; `None` if that is not known.
    pub debug_setting: Option<ProfileSettings>,
}

/// Which sections of a lock file to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name of the profile.
    pub name: String,
    /// The target; `None` for the architecture of each image.
    pub target: Option<String>,
}

impl Profile {
    /// The target of an image: the one given, or else its architecture.
    #[must_use]
    pub fn target<'p>(&'p self, image: &'p ResolvedImage) -> &'p str {
        self.target.as_deref().unwrap_or(image.arch.as_str())
    }
}

/// A source file name without the folder `root` and without `.` and `..`. Two names of one file
/// have one relative name, unless symbolic links are in them.
pub(super) fn relative(file: &Arc<str>, root: Option<&str>) -> Arc<str> {
    let path = SourcePath::new(file);
    let root = root.map(|root| root.trim_end_matches('/')).filter(|root| !root.is_empty());
    match root.and_then(|root| path.as_str().strip_prefix(root)?.strip_prefix('/')) {
        Some(inside) => inside.into(),
        None => Arc::clone(path.as_str()),
    }
}
