//! Reads lines of a program by `smark list` and `smark trace`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use super::NumberedLine;
use super::judged::{LineReading, ReadValue};
use crate::field::compare::{self, Run};
use crate::field::program::at;

/// What is watched, of all verdicts.
const ALL: [&str; 8] =
    ["--include", "approximate", "--include", "shared", "--include", "unproven", "--include", "folded"];

/// The verdicts on a place, the best first.
const VERDICTS: [&str; 6] = ["exact", "likely", "folded", "shared", "approximate", "unproven"];

/// The hits of each line in a run, of all places that `smark` finds, in the order of `lines`.
///
/// # Errors
///
/// `smark` cannot be run, or loses hits.
pub fn read(run: Run<'_>, lines: &[NumberedLine], marks: &Path) -> Result<Vec<LineReading>, String> {
    let text: String = lines.iter().map(|line| line.mark() + "\n").collect();
    at(marks, fs::write(marks, text))?;
    let marks = marks.to_string_lossy();
    let mut command = Command::new(run.smark);
    let output = command.args(["list", "--json", "--marks", &marks]).arg(run.image).output();
    let output = output.map_err(|why| format!("{command:?}: {why}"))?;
    let document: Json = serde_json::from_slice(&output.stdout)
        .map_err(|why| format!("{command:?}: {why}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let by_name: HashMap<String, usize> = lines.iter().enumerate().map(|(at, line)| (line.place(), at)).collect();
    let mut readings = vec![LineReading::default(); lines.len()];
    let markers = document["images"].as_array().into_iter().flatten().flat_map(|image| elements(&image["markers"]));
    let mut verdicts: HashMap<(usize, String), Vec<String>> = HashMap::new();
    for marker in markers {
        let Some(index) = marker["name"].as_str().and_then(|name| by_name.get(name)) else { continue };
        let Some(reading) = readings.get_mut(*index) else { continue };
        let mut worst = 0;
        for site in elements(&marker["sites"]) {
            let of = |key: &str| site[key].as_str().unwrap_or_default();
            let rank = VERDICTS.iter().position(|verdict| *verdict == of("exactness")).unwrap_or(VERDICTS.len() - 1);
            worst = worst.max(rank);
            reading.places += 1;
            reading.is_nearest |= of("origin") == "nearest";
            reading.is_refused |= site["probe"]["accepted"] != true;
            reading.reasons.insert(of("exactness_reason").to_owned());
            let of_site = elements(&site["args"]).map(|argument| {
                let text = |key: &str| argument[key].as_str().unwrap_or_default();
                match text("verdict") {
                    "doubtful" => format!("doubtful {}", text("reason")),
                    other => other.to_owned(),
                }
            });
            let of_site: Vec<String> = of_site.collect();
            verdicts.insert((*index, of("address").to_owned()), of_site);
        }
        reading.verdict = if reading.places == 0 { "" } else { VERDICTS.get(worst).copied().unwrap_or_default() };
    }
    let mut options = vec!["--marks", &*marks];
    options.extend(ALL);
    for hit in run.hits(&options)? {
        let Some(index) = hit["marker"].as_str().and_then(|name| by_name.get(name)) else { continue };
        let (Some(reading), Some(line)) = (readings.get_mut(*index), lines.get(*index)) else { continue };
        let of_site = verdicts.get(&(*index, hit["site"].as_str().unwrap_or_default().to_owned()));
        let values = elements(&hit["args"]).zip(&line.arguments).enumerate();
        reading.hits.push(
            values
                .map(|(number, (value, (_, conversion)))| ReadValue {
                    verdict: of_site.and_then(|all| all.get(number)).cloned().unwrap_or_default(),
                    value: compare::read(conversion, value),
                })
                .collect(),
        );
    }
    Ok(readings)
}

fn elements(list: &Json) -> impl Iterator<Item = &Json> {
    list.as_array().into_iter().flatten()
}
