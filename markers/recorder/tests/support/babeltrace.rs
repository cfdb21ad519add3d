//! The recordings as babeltrace2 reads them.

use std::path::Path;
use std::process::Command;

/// What babeltrace2 prints for a folder, a line for each event; `None` without babeltrace2.
pub fn babeltrace(folder: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let babeltrace = tools::find("babeltrace2")?;
    let printed = tools::run(Command::new(babeltrace).args(arguments).arg(folder));
    Some(printed.lines().map(str::to_owned).collect())
}
