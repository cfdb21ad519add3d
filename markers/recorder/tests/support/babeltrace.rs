//! The recordings as babeltrace2 reads them.

use std::path::Path;
use std::process::Command;

use super::child::succeeded;

/// What babeltrace2 prints for a folder, a line for each event; `None` without babeltrace2.
pub fn babeltrace(folder: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let output = match Command::new("babeltrace2").args(arguments).arg(folder).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            tools::skipped("babeltrace2 is missing");
            return None;
        }
        output => output.unwrap(),
    };
    succeeded(&output);
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}
