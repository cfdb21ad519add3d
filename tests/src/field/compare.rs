//! Compares what `smark trace` prints of a program with what its twin prints.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use crate::oracle::twin::{Passes, Truth};

/// An argument at a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields of the list")]
pub struct Argument {
    pub text: String,
    pub conversion: String,
    pub verdict: String,
    pub reason: Option<String>,
    pub location: String,
    /// Values that were compared.
    pub right: u64,
    pub wrong: u64,
    /// Values that the source does not define, and that could not be read.
    pub undefined: u64,
    pub unread: u64,
    /// The pass, the value of the twin and the one that was read, of the first wrong one.
    pub first: Option<(usize, String, String)>,
}

impl Argument {
    /// Whether the resolver says that the value is the program's.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        matches!(&*self.verdict, "live" | "constant")
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

/// Runs a program under `smark trace`, and compares its hits with the passes of two runs of the twin.
/// What differs between these has no value in the source.
///
/// # Errors
///
/// `smark` cannot be run, or loses hits.
pub fn watch(
    (smark, image): (&Path, &Path),
    arguments: &[String],
    twins: (&Passes, &Passes),
    markers: &mut [Marker],
) -> Result<(), String> {
    let mut command = Command::new(smark);
    command.args(["trace", "--json", "--include", "doubtful", "--buffer", "1048576", "--"]).arg(image).args(arguments);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|why| format!("{command:?}: {why}"))?;
    let by_name: HashMap<String, usize> =
        markers.iter().enumerate().map(|(index, marker)| (marker.name.clone(), index)).collect();
    for marker in &mut *markers {
        marker.passes = passes(twins.0, &marker.name).len() as u64;
        marker.is_unsteady = passes(twins.1, &marker.name).len() as u64 != marker.passes;
    }
    let mut seen = vec![0; markers.len()];
    let mut end = Json::Null;
    for line in BufReader::new(child.stdout.take().ok_or("no output")?).lines() {
        let line = line.map_err(|why| format!("{command:?}: {why}"))?;
        let Ok(mut hit) = serde_json::from_str::<Json>(&line) else { continue };
        if let Some(last) = hit.get_mut("end") {
            end = last.take();
        }
        let Some(index) = hit["marker"].as_str().and_then(|name| by_name.get(name)) else { continue };
        let (Some(marker), Some(pass)) = (markers.get_mut(*index), seen.get_mut(*index)) else { continue };
        let is_watched = marker.is_watched() && !marker.is_unsteady;
        let Some(site) = marker.sites.iter_mut().find(|site| hit["site"] == *site.address) else {
            return Err(format!("{}: a hit at {}, where it has no site", marker.name, hit["site"]));
        };
        site.hits += 1;
        let truth = [twins.0, twins.1].map(|twin| passes(twin, &marker.name).get(*pass));
        if let ([Some(one), Some(other)], true, Some(values)) = (truth, is_watched, hit["args"].as_array()) {
            for (argument, ((one, other), value)) in site.arguments.iter_mut().zip(one.iter().zip(other).zip(values)) {
                record(argument, *pass, (one, other), value);
            }
        }
        *pass += 1;
    }
    let output = child.wait_with_output().map_err(|why| format!("{command:?}: {why}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match (end["lost"].as_u64(), output.status.success()) {
        (Some(0), true) => Ok(()),
        (lost, _) => Err(format!("{command:?}: {}, {lost:?} lost: {said}", output.status)),
    }
}

/// The passes of a marker.
fn passes<'a>(twin: &'a Passes, name: &str) -> &'a [Vec<Truth>] {
    twin.of.iter().find(|((of, _, _), _)| of == name).map_or(&[], |(_, passes)| passes)
}

fn record(argument: &mut Argument, pass: usize, (one, other): (&Truth, &Truth), value: &Json) {
    let (truth, again) = (shown(&argument.conversion, &one.bytes), shown(&argument.conversion, &other.bytes));
    // A doubtful value has its own member.
    let said = value.get("maybe").unwrap_or(&value["value"]);
    let read = match said {
        Json::Null => {
            argument.unread += 1;
            return;
        }
        Json::String(text) if argument.conversion == "%p" => json!(!is_null(text)),
        Json::String(text) if argument.conversion == "%g" => json!(text.parse().ok().map(bits)),
        Json::String(text) => text.parse::<i128>().map_or_else(|_| json!(text), |number| json!(number.to_string())),
        Json::Number(number) if argument.conversion == "%p" => json!(number.as_u64() != Some(0)),
        Json::Number(number) if argument.conversion == "%g" => json!(number.as_f64().map(bits)),
        other => json!(other.to_string()),
    };
    if truth != again {
        argument.undefined += 1;
    } else if truth == read {
        argument.right += 1;
    } else {
        argument.wrong += 1;
        if argument.first.is_none() {
            argument.first = Some((pass, truth.to_string(), said.to_string()));
        }
    }
}

/// The bits of a number, the same for all that are none.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

fn is_null(text: &str) -> bool {
    matches!(text, "0x0" | "0" | "(nil)" | "0x0000000000000000")
}

/// The value that a conversion shows of these bytes. Of an address only whether it is null.
fn shown(conversion: &str, bytes: &[u8]) -> Json {
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
