//! Static probes in files of this machine or of packages: what the resolver reads of their notes
//! ([`ours`]), and what [`readelf`] prints, [`gdb`] reads and bpftrace lists.

pub mod gdb;
pub mod readelf;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::resolve::{
    Argument, Detail, Encoding, Marker, Reason, ResolvedImage, Site, SitePlace, resolve_with,
};

use crate::tools::output;

/// A note: name, address, semaphore, and the operands of its arguments. A place that the linker
/// dropped has no address.
pub type Note = (String, Option<u64>, Option<u64>, Vec<String>);

/// The executables and shared objects below a folder that name the section, without separate debug
/// files.
///
/// # Panics
///
/// `grep` cannot be started.
#[must_use]
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let searched = Command::new("grep").args(["-rlaF", ".note.stapsdt"]).arg(folder).output().expect("grep runs");
    let listed = String::from_utf8_lossy(&searched.stdout);
    let is_linked = |path: &PathBuf| {
        let start = fs::read(path).unwrap_or_default();
        // Both byte orders have the type of the file in these two bytes.
        let is_program = matches!(start.get(16..18), Some([0, 2 | 3] | [2 | 3, 0]));
        let is_debug_file = path.components().any(|part| part.as_os_str() == ".build-id");
        start.starts_with(b"\x7fELF") && is_program && !path.is_symlink() && !is_debug_file
    };
    let mut files: Vec<_> = listed.lines().map(PathBuf::from).filter(is_linked).collect();
    files.sort();
    files
}

/// The image in a file, resolved.
///
/// # Panics
///
/// It has no image.
#[must_use]
pub fn resolved(path: &Path, detail: Detail) -> ResolvedImage {
    let bytes = fs::read(path).expect("the file");
    let mut resolution = resolve_with(&path.display().to_string(), &bytes, detail);
    resolution.images.pop().unwrap_or_else(|| panic!("{}: {:?}", path.display(), resolution.failures))
}

/// The notes that the resolver read.
#[must_use]
pub fn ours(image: &ResolvedImage) -> BTreeSet<Note> {
    let note = |marker: &Marker, site: &Site| {
        let switch = site.switch.as_ref().and_then(|switch| switch.place.as_ref()).map(address);
        (marker.name.to_string(), site.place.as_ref().map(address), switch, site.args.iter().map(operand).collect())
    };
    let notes = image.markers.iter().filter(|marker| marker.is_note);
    notes.flat_map(|marker| marker.sites.iter().map(|site| note(marker, site))).collect()
}

/// The link-time address of a place in a linked image.
///
/// # Panics
///
/// The image is not linked.
#[must_use]
pub fn address(place: &SitePlace) -> u64 {
    match place {
        SitePlace::Address(address) => address.0,
        SitePlace::Section { .. } => panic!("it is linked"),
    }
}

/// An argument as its note has it.
fn operand(argument: &Argument) -> String {
    let place = match &argument.reason {
        Some(Reason::Operand { operand, .. }) => operand.to_string(),
        _ => argument.location_text.as_deref().unwrap_or_default().replace("= ", ""),
    };
    let sign = if argument.encoding == Some(Encoding::Signed) { "-" } else { "" };
    let float = if argument.encoding == Some(Encoding::Float) { "f" } else { "" };
    let size = argument.size.map(|size| size.to_string()).unwrap_or_default();
    format!("{sign}{size}{float}@{}", place.replace(", ", ","))
}

/// The names that bpftrace lists.
///
/// # Panics
///
/// bpftrace cannot be started.
#[must_use]
pub fn listed_by_bpftrace(path: &Path) -> BTreeSet<String> {
    // It parses no path with a `+`.
    let folder = tempfile::tempdir().expect("a folder");
    let named = folder.path().join("file");
    std::os::unix::fs::symlink(fs::canonicalize(path).expect("the file"), &named).expect("a link");
    let mut bpftrace = Command::new("bpftrace");
    bpftrace.arg("-l").arg(format!("usdt:{}:*", named.display()));
    let printed = String::from_utf8_lossy(&output(&mut bpftrace).stdout).into_owned();
    let names = printed.lines().filter_map(|line| {
        let mut parts = line.strip_prefix("usdt:")?.rsplitn(3, ':');
        let (name, provider) = (parts.next()?, parts.next()?);
        Some(format!("{provider}:{name}"))
    });
    names.collect()
}
