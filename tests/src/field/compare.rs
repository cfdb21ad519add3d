//! Compares what `smark trace` prints of a program with what its twin prints.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use super::wholes;
use crate::oracle::twin::{Passes, Truth};

/// An argument at a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of the list")]
pub struct Argument {
    pub text: String,
    pub conversion: String,
    /// The path in the whole value that the argument is a member of.
    pub member: Option<String>,
    pub verdict: String,
    pub reason: Option<String>,
    pub location: String,
    /// Whether it is read at the entry of its function, and the reason if it is not.
    pub is_at_entry: bool,
    pub entry_problem: Option<String>,
    /// Values that were compared.
    pub right: u64,
    pub wrong: u64,
    /// Values that the source does not define, and that could not be read.
    pub undefined: u64,
    pub unread: u64,
    /// The pass, the value of the twin and the one that was read, of the first wrong one.
    pub first: Option<(usize, String, String)>,
    /// What was read at each hit, without what the source does not define.
    pub read: Vec<Option<Json>>,
    /// Of the values that were read at the site itself too, how many, and how many are others there.
    pub at_site: u64,
    pub other_at_site: u64,
}

impl Argument {
    /// Whether the resolver says that the value is the program's.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        matches!(&*self.verdict, "live" | "constant") || self.is_at_entry
    }
}

/// A site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of the list")]
pub struct Site {
    pub address: String,
    pub function: String,
    pub is_exact: bool,
    /// Whether the kernel takes a probe there.
    pub is_accepted: bool,
    pub hits: u64,
    pub arguments: Vec<Argument>,
}

/// A marker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of the list")]
pub struct Marker {
    pub name: String,
    pub file: String,
    pub line: u64,
    pub sites: Vec<Site>,
    /// How often the twin passes it.
    pub passes: u64,
    /// Whether a second run of the twin passes it another number of times: it depends on addresses or
    /// on the time, and nothing is compared.
    pub is_unsteady: bool,
}

impl Marker {
    /// Whether each pass is a hit.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.sites.iter().all(|site| site.is_exact && site.is_accepted)
    }

    /// The hits at exact sites.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.sites.iter().map(|site| site.hits).sum()
    }

    /// Whether exact sites have other hits than passes.
    #[must_use]
    pub fn has_wrong_hits(&self) -> bool {
        match self.is_watched() {
            _ if self.is_unsteady => false,
            true => self.hits() != self.passes,
            false => self.hits() > self.passes,
        }
    }
}

/// The markers of an image, by `smark list --json`.
///
/// # Errors
///
/// It fails.
pub fn list(smark: &Path, image: &Path) -> Result<Vec<Marker>, String> {
    let mut command = Command::new(smark);
    let output = command.args(["list", "--json"]).arg(image).output().map_err(|why| format!("{command:?}: {why}"))?;
    let document: Json = serde_json::from_slice(&output.stdout)
        .map_err(|why| format!("{command:?}: {why}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let text = |of: &Json| of.as_str().unwrap_or_default().to_owned();
    let list = |of: &Json| of.as_array().cloned().unwrap_or_default();
    let argument = |(of, conversion): (&Json, &str)| Argument {
        text: text(&of["text"]),
        conversion: conversion.to_owned(),
        verdict: text(&of["verdict"]),
        reason: of["reason"].as_str().map(str::to_owned),
        location: text(&of["location"]),
        is_at_entry: of["at_entry"]["location"].is_string(),
        entry_problem: of["at_entry"]["reason"].as_str().map(str::to_owned),
        ..Argument::default()
    };
    let marker = |of: &Json| {
        let format = text(&of["format"]);
        let conversions: Vec<&str> = format.split(", ").filter_map(|part| part.rsplit(' ').next()).collect();
        let site = |of: &Json| Site {
            address: text(&of["address"]),
            function: text(&of["function"]),
            is_exact: of["exactness"] == "exact",
            is_accepted: of["probe"]["accepted"] == true,
            hits: 0,
            arguments: list(&of["args"]).iter().zip(conversions.iter().copied()).map(argument).collect(),
        };
        Marker {
            name: text(&of["name"]),
            file: text(&of["file"]),
            line: of["line"].as_u64().unwrap_or(0),
            sites: list(&of["sites"]).iter().filter(|site| !site["address"].is_null()).map(site).collect(),
            passes: 0,
            is_unsteady: false,
        }
    };
    Ok(list(&document["images"]).iter().flat_map(|image| list(&image["markers"])).map(|of| marker(&of)).collect())
}

/// A run of an image under `smark trace`.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// `smark`.
    pub smark: &'a Path,
    /// The program.
    pub image: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// The file for what it prints.
    pub printed: &'a Path,
    /// The file for the hits.
    pub hits: &'a Path,
}

impl Run<'_> {
    /// Runs it with these further options, and returns each hit.
    pub(super) fn hits(&self, options: &[&str]) -> Result<impl Iterator<Item = Json>, String> {
        let printed = File::create(self.printed).map_err(|why| format!("{}: {why}", self.printed.display()))?;
        let mut command = Command::new(self.smark);
        command.args(["trace", "--json", "--include", "doubtful", "--buffer", "1G", "--bytes", "4088"]);
        command.args(["--force", "-o"]);
        command.arg(self.hits).args(options).arg("--").arg(self.image).args(self.arguments);
        let output = command.stdin(Stdio::null()).stdout(printed).stderr(Stdio::piped()).output();
        let output = output.map_err(|why| format!("{command:?}: {why}"))?;
        let file = File::open(self.hits).map_err(|why| format!("{}: {why}", self.hits.display()))?;
        let mut lines: Vec<String> = Vec::new();
        for line in BufReader::new(file).lines() {
            lines.push(line.map_err(|why| format!("{}: {why}", self.hits.display()))?);
        }
        let end: Json = lines.pop().and_then(|line| serde_json::from_str(&line).ok()).unwrap_or_default();
        match (end["end"]["lost"].as_u64(), output.status.success()) {
            (Some(0), true) => Ok(lines.into_iter().filter_map(|line| serde_json::from_str(&line).ok())),
            (lost, _) => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(format!("{command:?}: {}, {lost:?} lost: {said}", output.status))
            }
        }
    }
}

/// The site of a hit, of which the marker must be known.
fn site_of<'m>(hit: &Json, marker: &'m mut Marker) -> Result<&'m mut Site, String> {
    let name = &marker.name;
    let site = marker.sites.iter_mut().find(|site| hit["site"] == *site.address);
    site.ok_or_else(|| format!("{name}: a hit at {}, where it has no site", hit["site"]))
}

/// Runs a program under `smark trace`, and compares its hits with the passes of two runs of the twin.
/// What differs between these has no value in the source.
///
/// # Errors
///
/// `smark` cannot be run, or loses hits.
pub fn watch(run: Run<'_>, twins: (&Passes, &Passes), markers: &mut [Marker]) -> Result<(), String> {
    let by_name: HashMap<String, usize> =
        markers.iter().enumerate().map(|(index, marker)| (marker.name.clone(), index)).collect();
    let passes: Vec<_> =
        markers.iter().map(|marker| [twins.0, twins.1].map(|twin| passes(twin, &marker.name))).collect();
    for (marker, [one, other]) in markers.iter_mut().zip(&passes) {
        marker.passes = one.len() as u64;
        marker.is_unsteady = one.len() != other.len();
    }
    let mut seen = vec![0; markers.len()];
    for hit in run.hits(&[])? {
        let Some(index) = hit["marker"].as_str().and_then(|name| by_name.get(name)) else { continue };
        let (Some(marker), Some(pass)) = (markers.get_mut(*index), seen.get_mut(*index)) else { continue };
        let is_watched = marker.is_watched() && !marker.is_unsteady;
        let truth = passes.get(*index).map_or([None; 2], |twins| twins.map(|twin| twin.get(*pass)));
        let site = site_of(&hit, marker)?;
        site.hits += 1;
        let values = wholes::values(&site.arguments, &hit);
        for (number, (argument, value)) in site.arguments.iter_mut().zip(&values).enumerate() {
            let of = truth.map(|pass| pass.and_then(|pass| pass.get(number)));
            let truth = of.map(|of| of.map(|of| shown(&argument.conversion, of)));
            let read = read(&argument.conversion, value);
            argument.read.push(read.clone().filter(|_| truth[0] == truth[1]));
            if let ([Some(one), Some(other)], true) = (truth, is_watched) {
                argument.record(*pass, (&one, &other), read, value);
            }
        }
        *pass += 1;
    }
    Ok(())
}

/// Runs a program that was watched once more, with the probes at the sites themselves, and compares the
/// values of each hit.
///
/// # Errors
///
/// `smark` cannot be run, or loses hits.
pub fn watch_at_site(run: Run<'_>, markers: &mut [Marker]) -> Result<(), String> {
    let by_name: HashMap<String, usize> =
        markers.iter().enumerate().map(|(index, marker)| (marker.name.clone(), index)).collect();
    let mut seen: HashMap<(usize, String), usize> = HashMap::new();
    for hit in run.hits(&["--at", "site"])? {
        let Some(index) = hit["marker"].as_str().and_then(|name| by_name.get(name)) else { continue };
        let Some(marker) = markers.get_mut(*index) else { continue };
        let site = site_of(&hit, marker)?;
        let number = seen.entry((*index, site.address.clone())).or_default();
        let values = wholes::values(&site.arguments, &hit);
        for (argument, value) in site.arguments.iter_mut().zip(&values) {
            let best = argument.read.get(*number).cloned().flatten();
            if let (Some(best), Some(here)) = (best, read(&argument.conversion, value)) {
                argument.at_site += 1;
                argument.other_at_site += u64::from(best != here);
            }
        }
        *number += 1;
    }
    Ok(())
}

/// The passes of a marker.
pub(super) fn passes<'a>(twin: &'a Passes, name: &str) -> &'a [Vec<Truth>] {
    twin.of.iter().find(|((of, _, _), _)| of == name).map_or(&[], |(_, passes)| passes)
}

impl Argument {
    fn record(&mut self, pass: usize, (truth, again): (&Json, &Json), read: Option<Json>, value: &Json) {
        let Some(read) = read else {
            self.unread += 1;
            return;
        };
        if truth != again {
            self.undefined += 1;
        } else if *truth == read {
            self.right += 1;
        } else {
            self.wrong += 1;
            if self.first.is_none() {
                self.first = Some((pass, truth.to_string(), said(value).to_string()));
            }
        }
    }
}

/// The value of an argument of a hit. A doubtful one has its own member.
pub(super) fn said(value: &Json) -> &Json {
    value.get("maybe").unwrap_or(&value["value"])
}

/// The value in the form of [`shown`]; `None` if it was not read.
pub(super) fn read(conversion: &str, value: &Json) -> Option<Json> {
    Some(match said(value) {
        Json::Null => return None,
        Json::String(text) if conversion == "%p" => json!(!is_null(text)),
        Json::String(text) if conversion == "%g" => json!(text.parse().ok().map(bits)),
        Json::String(text) => text.parse::<i128>().map_or_else(|_| json!(text), |number| json!(number.to_string())),
        Json::Number(number) if conversion == "%p" => json!(number.as_u64() != Some(0)),
        Json::Number(number) if conversion == "%g" => json!(number.as_f64().map(bits)),
        other => json!(other.to_string()),
    })
}

/// The bits of a number, the same for all that are none.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

fn is_null(text: &str) -> bool {
    matches!(text, "0x0" | "0" | "(nil)" | "0x0000000000000000")
}

/// The value that a conversion shows of these bytes, or of those behind a reference. Of an address only
/// whether it is null.
pub(super) fn shown(conversion: &str, of: &Truth) -> Json {
    let conversion = conversion.trim_end_matches("{}");
    let behind = of.behind.as_ref().filter(|_| conversion != "%p");
    let bytes = behind.unwrap_or(&of.bytes);
    let number = bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    match conversion.chars().last() {
        Some('p') => json!(number != 0),
        Some('g') if bytes.len() == 4 => json!(bits(f64::from(f32::from_bits(number as u32)))),
        Some('g') => json!(bits(f64::from_bits(number))),
        Some('d') => json!((((number << unused) as i64) >> unused).to_string()),
        _ => json!(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_the_twin_is_in_the_form_of_one_that_was_read() {
        let truth =
            |bytes: &[u8], behind: Option<&[u8]>| Truth { bytes: bytes.to_vec(), behind: behind.map(<[u8]>::to_vec) };
        let value = |value: Json| json!({ "text": "x", "value": value, "why": null });
        let same = [
            ("%hhd", truth(&[0xfe], None), json!(-2)),
            ("%lu", truth(&[0xff; 8], None), json!("18446744073709551615")),
            // A reference to a number, and an address.
            ("%u", truth(&[8, 0, 0, 0, 1, 0, 0, 0], Some(&[7, 1, 0, 0])), json!(263)),
            ("%p", truth(&[8, 0, 0, 0, 1, 0, 0, 0], Some(&[0])), json!("0x7f0000000000")),
            ("%c", truth(&[0xe4, 0, 0, 0], None), json!(0xe4)),
            ("%d{}", truth(&[2], None), json!(2)),
            ("%d{}", truth(&[0xff], None), json!(-1)),
            ("%g", truth(&1.5f32.to_le_bytes(), None), json!(1.5)),
            ("%g", truth(&f64::NAN.to_le_bytes(), None), json!("NaN")),
        ];
        for (conversion, truth, said) in same {
            assert_eq!(read(conversion, &value(said)), Some(shown(conversion, &truth)), "{conversion}");
        }
        let doubtful = json!({ "text": "x", "value": null, "maybe": 3, "why": "doubtful" });
        assert_eq!(read("%d", &doubtful), Some(shown("%d", &truth(&[3, 0, 0, 0], None))));
        assert_eq!(read("%d", &json!({ "text": "x", "value": null, "why": "lost" })), None);
        assert_ne!(read("%u", &value(json!(8))), Some(shown("%u", &truth(&[8, 0, 0, 0], Some(&[7, 0, 0, 0])))));
    }

    #[test]
    fn a_number_of_17_digits_is_read_to_its_last_bit() {
        for number in [1234.0000000000023, 449.49106478873813, 5e-324, f64::MAX] {
            let hit: Json = serde_json::from_str(&format!(r#"{{"text":"x","value":{number:?}}}"#)).expect("JSON");
            let truth = Truth { bytes: number.to_le_bytes().to_vec(), behind: None };
            assert_eq!(read("%g", &hit), Some(shown("%g", &truth)), "{number:?}");
        }
    }

    #[test]
    fn hits_are_compared_with_passes_and_with_those_at_the_site() {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        // Stands for `smark trace`: the file behind `-o` gets the hits.
        let script = "#!/bin/sh\ncase \"$*\" in *--at*) from=site;; *) from=best;; esac\ncp $0.$from ${11}\n";
        std::fs::write(file("smark"), script).expect("a script");
        std::fs::set_permissions(file("smark"), Permissions::from_mode(0o755)).expect("it is executable");
        let hits = |values: [u32; 3], name: &str| {
            let hit = |value| format!(r#"{{"marker":"m","site":"0x10","args":[{{"text":"a","value":{value}}}]}}"#);
            let lines = values.map(hit).join("\n");
            std::fs::write(file(name), format!("{lines}\n{{\"end\":{{\"lost\":0}}}}\n")).expect("a file");
        };
        hits([1, 2, 3], "smark.best");
        hits([1, 5, 7], "smark.site");
        let twin = |values: &[u32]| {
            let pass = |value: &u32| vec![Truth { bytes: value.to_le_bytes().to_vec(), behind: None }];
            let of = [(("m".to_owned(), "f".to_owned(), 1), values.iter().map(pass).collect())].into();
            Passes { of, ..Passes::default() }
        };
        let argument = Argument { conversion: "%u".to_owned(), verdict: "live".to_owned(), ..Argument::default() };
        let site = Site {
            address: "0x10".to_owned(),
            is_exact: true,
            is_accepted: true,
            arguments: vec![argument],
            ..Site::default()
        };
        let mut markers = vec![Marker { name: "m".to_owned(), sites: vec![site], ..Marker::default() }];
        let image = file("image");
        let run = Run {
            smark: &file("smark"),
            image: &image,
            arguments: &[],
            printed: &file("printed"),
            hits: &file("hits"),
        };
        // The third pass has no value in the source, and the fourth one no hit.
        watch(run, (&twin(&[1, 4, 3, 9]), &twin(&[1, 4, 8, 9])), &mut markers).expect("hits");
        watch_at_site(run, &mut markers).expect("hits");
        assert!(markers[0].has_wrong_hits());
        let found = &markers[0].sites[0].arguments[0];
        assert_eq!((found.right, found.wrong, found.undefined), (1, 1, 1));
        assert_eq!(found.first, Some((1, "\"4\"".to_owned(), "2".to_owned())));
        assert_eq!((found.at_site, found.other_at_site), (2, 1));
    }
}
