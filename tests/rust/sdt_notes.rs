//! Notes of static probes in all files of this machine: what the resolver reads is what readelf
//! prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::resolve::{
    Argument, Detail, Encoding, Marker, Reason, ResolvedImage, Site, SitePlace, resolve_with,
};
use simple_markers_tests::tools::{find, run, skipped, tries_everything};

/// A note: name, address, semaphore, and the operands of its arguments. A place that the linker
/// dropped has no address.
type Note = (String, Option<u64>, Option<u64>, Vec<String>);

/// The executables and shared objects below a folder that name the section.
fn files(folder: &str) -> Vec<PathBuf> {
    let searched = Command::new("grep").args(["-rlaF", ".note.stapsdt", folder]).output().expect("grep runs");
    let listed = String::from_utf8(searched.stdout).expect("UTF-8");
    let is_linked = |path: &PathBuf| {
        let start = fs::read(path).unwrap_or_default();
        start.starts_with(b"\x7fELF") && matches!(start.get(16), Some(2 | 3)) && !path.is_symlink()
    };
    listed.lines().map(PathBuf::from).filter(is_linked).collect()
}

/// How far the image was moved: from the address in its notes to that of the section.
fn moved(path: &Path, base: u64) -> u64 {
    let sections = run(Command::new("readelf").args(["--sections", "--wide"]).arg(path));
    let line = sections.lines().find(|line| line.contains(" .stapsdt.base "));
    let address = line.and_then(|line| line.split_whitespace().skip_while(|word| *word != "PROGBITS").nth(1));
    let now = address.and_then(|address| u64::from_str_radix(address, 16).ok());
    now.filter(|_| base != 0).map_or(0, |now| now.wrapping_sub(base))
}

/// The notes that readelf prints.
fn theirs(path: &Path) -> BTreeSet<Note> {
    let printed = run(Command::new("readelf").arg("--notes").arg(path));
    let value = |line: &str, name: &str| {
        let rest = line.split_once(name)?.1.trim_start();
        Some(rest.split([',', '\n']).next()?.trim().to_owned())
    };
    let (mut found, mut name) = (BTreeSet::new(), String::new());
    let mut addresses = (None, None);
    for line in printed.lines().map(str::trim) {
        if let Some(provider) = line.strip_prefix("Provider: ") {
            name = format!("{provider}:");
        } else if let Some(rest) = line.strip_prefix("Name: ") {
            name.push_str(rest);
        } else if line.starts_with("Location: ") {
            let number = |of| u64::from_str_radix(value(line, of)?.strip_prefix("0x")?, 16).ok();
            let (place, base) = (number("Location:").expect("an address"), number("Base:").expect("a base"));
            let moved = moved(path, base);
            let at = |address: u64| (address != 0).then(|| address.wrapping_add(moved));
            addresses = (at(place), number("Semaphore:").and_then(at));
        } else if let Some(operands) = line.strip_prefix("Arguments:") {
            // Only brackets have a space inside.
            let joined = operands.replace(", ", ",");
            let operands = joined.split_whitespace().map(str::to_owned).collect();
            found.insert((name.clone(), addresses.0, addresses.1, operands));
        }
    }
    found
}

/// An argument as its note has it.
fn operand(argument: &Argument) -> String {
    let place = match &argument.reason {
        Some(Reason::Operand { operand, .. }) => operand.to_string(),
        _ => argument.location_text.as_deref().unwrap_or_default().replace("= ", "$"),
    };
    let sign = if argument.encoding == Some(Encoding::Signed) { "-" } else { "" };
    let float = if argument.encoding == Some(Encoding::Float) { "f" } else { "" };
    let size = argument.size.map(|size| size.to_string()).unwrap_or_default();
    format!("{sign}{size}{float}@{}", place.replace(", ", ","))
}

fn ours(image: &ResolvedImage) -> BTreeSet<Note> {
    let at = |place: &SitePlace| match place {
        SitePlace::Address(address) => address.0,
        SitePlace::Section { .. } => panic!("it is linked"),
    };
    let note = |marker: &Marker, site: &Site| {
        let switch = site.switch.as_ref().and_then(|switch| switch.place.as_ref()).map(at);
        (marker.name.to_string(), site.place.as_ref().map(at), switch, site.args.iter().map(operand).collect())
    };
    let notes = image.markers.iter().filter(|marker| marker.is_note);
    notes.flat_map(|marker| marker.sites.iter().map(|site| note(marker, site))).collect()
}

#[test]
fn notes_are_those_that_readelf_prints() {
    if ["readelf", "grep"].iter().any(|tool| find(tool).is_none()) {
        return;
    }
    // To search all files takes a while.
    let files = files(if tries_everything() { "/usr" } else { "/usr/bin" });
    if files.is_empty() {
        return skipped("no file below /usr has notes of static probes");
    }
    let compare = |path: &PathBuf| {
        let bytes = fs::read(path).expect("the file");
        let resolution = resolve_with(&path.display().to_string(), &bytes, Detail::Names);
        let [image] = &*resolution.images else { panic!("{}: {:?}", path.display(), resolution.failures) };
        let (theirs, ours) = (theirs(path), ours(image));
        let only = |one: &BTreeSet<Note>, other| one.difference(other).take(3).cloned().collect::<Vec<_>>();
        let (missing, more) = (only(&theirs, &ours), only(&ours, &theirs));
        assert!(
            missing.is_empty() && more.is_empty(),
            "{}: only readelf has {missing:?}, only smark has {more:?}",
            path.display()
        );
        theirs.len()
    };
    let notes: usize = files.iter().map(compare).sum();
    note!("{notes} notes of {} files", files.len());
    assert!(notes > 0);
}
