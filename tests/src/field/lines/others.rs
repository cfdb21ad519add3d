//! Reads lines of a program by gdb and by perf, as their users name them: `break FILE:LINE`, and `perf
//! probe 'FILE:LINE VARIABLE ..'`.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use super::NumberedLine;
use super::judged::{LineReading, ReadValue};
use crate::field::compare::{self, Run};
use crate::field::program::at;
use crate::fixture::workspace;

/// The hits of each line in a run under gdb, in the order of `lines`; of one with more than `most` hits
/// only the first `most` and one.
///
/// # Errors
///
/// gdb cannot be run, or the program fails.
pub fn by_gdb(run: Run<'_>, lines: &[NumberedLine], most: usize, folder: &Path) -> Result<Vec<LineReading>, String> {
    let (asked, answered) = (folder.join("gdb-lines"), folder.join("gdb-hits"));
    let all: Vec<Json> = lines
        .iter()
        .map(|line| {
            let texts: Vec<&String> = line.arguments.iter().map(|(text, _)| text).collect();
            json!({ "place": line.place(), "texts": texts })
        })
        .collect();
    at(&asked, fs::write(&asked, Json::from(all).to_string()))?;
    let printed = at(run.printed, File::create(run.printed))?;
    let mut command = Command::new("gdb");
    command.args(["-nx", "-q", "-batch", "-x"]).arg(workspace().join("tests/field/lines-gdb.py"));
    command.env("LINES_ASKED", &asked).env("LINES_ANSWERED", &answered).env("DEBUGINFOD_URLS", "");
    command.env("LINES_MOST", most.to_string());
    command.arg("--args").arg(run.image).args(run.arguments).stdin(Stdio::null()).stdout(printed);
    let output = command.stderr(Stdio::piped()).output().map_err(|why| format!("{command:?}: {why}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut readings = vec![LineReading::default(); lines.len()];
    let mut unanswered = lines.len();
    for text in at(&answered, fs::read_to_string(&answered))?.lines() {
        let said: Json = serde_json::from_str(text).map_err(|why| format!("{}: {why}", answered.display()))?;
        let index = said["line"].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(usize::MAX);
        let (Some(reading), Some(line)) = (readings.get_mut(index), lines.get(index)) else { continue };
        if let Some(places) = said["places"].as_u64() {
            reading.places = usize::try_from(places).unwrap_or(usize::MAX);
            reading.is_nearest = said["is_nearest"] == true;
            unanswered = unanswered.saturating_sub(1);
            continue;
        }
        let values = said["values"].as_array().into_iter().flatten().zip(&line.arguments);
        let value = |(value, (_, conversion)): (&Json, &(String, &str))| ReadValue {
            verdict: String::new(),
            value: compare::read(conversion, &json!({ "value": value })),
        };
        reading.hits.push(values.map(value).collect());
    }
    // gdb succeeds if its script fails.
    match unanswered {
        0 => Ok(readings),
        _ => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The hits of each line in a run under perf, in the order of `lines`.
///
/// # Errors
///
/// perf cannot be run, or loses hits.
pub fn by_perf(run: Run<'_>, lines: &[NumberedLine], folder: &Path) -> Result<Vec<LineReading>, String> {
    let group = format!("lines{}", std::process::id());
    let result = with_probes(run, lines, folder, &group);
    let _ = Command::new("perf").args(["probe", "-q", "-d", &format!("{group}:*")]).output();
    result
}

fn with_probes(run: Run<'_>, lines: &[NumberedLine], folder: &Path, group: &str) -> Result<Vec<LineReading>, String> {
    let mut readings = vec![LineReading::default(); lines.len()];
    // What is read at each line: perf takes no probe of which one variable is lost.
    let mut read: Vec<Vec<usize>> = vec![Vec::new(); lines.len()];
    for (index, line) in lines.iter().enumerate() {
        let all: Vec<usize> = (0..line.arguments.len()).collect();
        let single = || all.iter().map(|one| vec![*one]);
        for arguments in std::iter::once(all.clone()).chain(single().filter(|_| all.len() > 1)).chain([Vec::new()]) {
            let values: String =
                arguments.iter().filter_map(|one| Some(format!(" a{one}={}", line.arguments.get(*one)?.0))).collect();
            let mut command = Command::new("perf");
            command.args(["probe", "-q", "-f", "-x"]).arg(run.image).arg("-a");
            command.arg(format!("{group}:l{index}={}{values}", line.place())).stdin(Stdio::null());
            let output = command.output().map_err(|why| format!("{command:?}: {why}"))?;
            if output.status.success() {
                read.get_mut(index).into_iter().for_each(|read| read.clone_from(&arguments));
                break;
            }
        }
    }
    let mut listing = Command::new("perf");
    let listed = listing.args(["probe", "-l"]).output().map_err(|why| format!("{listing:?}: {why}"))?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let line_of = |event: &str| -> Option<usize> {
        let number = event.trim().strip_prefix(group)?.strip_prefix(":l")?;
        number.split(|at: char| !at.is_ascii_digit()).next()?.parse().ok()
    };
    for index in names.lines().filter_map(line_of) {
        readings.get_mut(index).into_iter().for_each(|reading| reading.places += 1);
    }
    let data = folder.join("perf.data");
    let printed = at(run.printed, File::create(run.printed))?;
    let mut record = Command::new("perf");
    record.args(["record", "-q", "-m", "8192", "-e", &format!("{group}:*"), "-o"]).arg(&data).arg("--");
    record.arg(run.image).args(run.arguments).stdin(Stdio::null()).stdout(printed);
    let output = record.stderr(Stdio::piped()).output().map_err(|why| format!("{record:?}: {why}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || said.contains("lost") {
        return Err(format!("{record:?}: {said}"));
    }
    let mut script = Command::new("perf");
    script.args(["script", "-F", "event,trace", "-i"]).arg(&data);
    let output = script.output().map_err(|why| format!("{script:?}: {why}"))?;
    for text in String::from_utf8_lossy(&output.stdout).lines() {
        let mut words = text.split_whitespace();
        let Some(index) = words.next().and_then(line_of) else { continue };
        let (Some(reading), Some(line)) = (readings.get_mut(index), lines.get(index)) else { continue };
        let said: HashMap<&str, &str> = words.filter_map(|word| word.split_once('=')).collect();
        let values = line.arguments.iter().enumerate().map(|(at, (_, conversion))| {
            let value = read.get(index).filter(|read| read.contains(&at)).and_then(|_| said.get(&*format!("a{at}")));
            ReadValue { verdict: String::new(), value: value.and_then(|value| number(conversion, value)) }
        });
        reading.hits.push(values.collect());
    }
    Ok(readings)
}

/// A number of perf, which shows an address and what it takes as bits in hexadecimal.
fn number(conversion: &str, text: &str) -> Option<Json> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => i128::from(u64::from_str_radix(digits, 16).ok()?),
        None => text.parse().ok()?,
    };
    compare::read(conversion, &json!({ "value": value.to_string() }))
}
