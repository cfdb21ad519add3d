//! Plan files by build id: in a folder as `smark plan --serve` writes it, or on a server that hands out such a folder.

use std::path::PathBuf;

use super::rules::PlanStore;
use crate::served_plans::served_path;

/// Where the plan of a build id is; `None` if there is none.
pub(super) fn find(store: &PlanStore, build_id: &str) -> Option<PathBuf> {
    match store {
        PlanStore::Folder(folder) => Some(folder.join(served_path(build_id))).filter(|path| path.is_file()),
        PlanStore::Server(url) => fetch(url, build_id),
    }
}

#[cfg(feature = "debuginfod")]
fn fetch(url: &str, build_id: &str) -> Option<PathBuf> {
    crate::debuginfod::fetch_plan(url, build_id)
}

#[cfg(not(feature = "debuginfod"))]
fn fetch(_: &str, _: &str) -> Option<PathBuf> {
    None
}
