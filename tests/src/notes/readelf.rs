//! The notes that readelf prints.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::Note;
use crate::tools::run;

/// How far the image was moved: from the address in its notes to that of the section.
fn moved(path: &Path, base: u64) -> u64 {
    let sections = run(Command::new("readelf").args(["--sections", "--wide"]).arg(path));
    let line = sections.lines().find(|line| line.contains(" .stapsdt.base "));
    let address = line.and_then(|line| line.split_whitespace().skip_while(|word| *word != "PROGBITS").nth(1));
    let now = address.and_then(|address| u64::from_str_radix(address, 16).ok());
    now.filter(|_| base != 0).map_or(0, |now| now.wrapping_sub(base))
}

/// The notes of a linked file.
///
/// # Panics
///
/// readelf cannot be started, fails, or prints something else.
#[must_use]
pub fn notes(path: &Path) -> BTreeSet<Note> {
    let printed = run(Command::new("readelf").arg("--notes").arg(path));
    let value = |line: &str, name: &str| {
        let rest = line.split_once(name)?.1.trim_start();
        Some(rest.split([',', '\n']).next()?.trim().to_owned())
    };
    let (mut found, mut name) = (BTreeSet::new(), String::new());
    let mut addresses = (None, None);
    let mut moves: Option<(u64, u64)> = None;
    for line in printed.lines().map(str::trim) {
        if let Some(provider) = line.strip_prefix("Provider: ") {
            name = format!("{provider}:");
        } else if let Some(rest) = line.strip_prefix("Name: ") {
            name.push_str(rest);
        } else if line.starts_with("Location: ") {
            let number = |of| u64::from_str_radix(value(line, of)?.strip_prefix("0x")?, 16).ok();
            let (place, base) = (number("Location:").expect("an address"), number("Base:").expect("a base"));
            let known = moves.filter(|(of, _)| *of == base).unwrap_or_else(|| (base, moved(path, base)));
            moves = Some(known);
            let at = |address: u64| (address != 0).then(|| address.wrapping_add(known.1));
            addresses = (at(place), number("Semaphore:").and_then(at));
        } else if let Some(operands) = line.strip_prefix("Arguments:") {
            // Only brackets have a space inside.
            let joined = operands.replace(", ", ",").replace("@$", "@").replace("@#", "@");
            let operands = joined.split_whitespace().map(str::to_owned).collect();
            found.insert((name.clone(), addresses.0, addresses.1, operands));
        }
    }
    found
}
