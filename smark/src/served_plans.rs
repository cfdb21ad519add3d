//! Where a folder that is served has the plan of a build id. The path begins as the paths of debuginfod(8) do.

use std::path::PathBuf;

/// The name of a plan.
pub(crate) const SERVED: &str = "smark-plan";

/// The path of the plan of a build id in the folder.
pub(crate) fn served_path(build_id: &str) -> PathBuf {
    ["buildid", build_id, SERVED].iter().collect()
}
