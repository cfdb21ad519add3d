//! Plan files: a plan as JSON (`docs/plan.md`).
//!
//! A plan file does not depend on the machine that it is used on. What is asked at the sites, which
//! is the filter and what is counted, is not part of it.

use std::collections::HashSet;
use std::iter;

use serde::Serialize;
use serde_json::{Value as Json, json};
use simple_markers_resolver::json::{JsonError, exists, read};

use super::{Input, MAX_TEXT, MAX_WORDS, Plan, PlannedArgument, PlannedMarker, Reading, Source};
use crate::arch::Platform;
use crate::record::FieldKind;

/// The latest version of plan files. Version 2 has switches, and version 3 doubtful values. A reader
/// refuses later versions: without the switch it would wait for a probe that is asleep, and without
/// the mark it would show a doubtful value as a certain one.
pub const VERSION: u64 = 3;
/// The version of plan files without doubtful values, which older readers know.
const WITHOUT_DOUBT: u64 = 2;
/// The version of plan files without switches, which older readers know.
const WITHOUT_SWITCHES: u64 = 1;

/// A plan file.
#[derive(Serialize)]
struct PlanFile<'p> {
    plan: u64,
    tool: &'static str,
    #[serde(flatten)]
    content: &'p Plan,
}

/// Why a plan file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// It is JSON, and not a plan.
    #[error("not a plan")]
    NotAPlan,
    /// Another version of the format.
    #[error("version {0} of the format of plans; this smark reads the versions up to {VERSION}")]
    Version(u64),
    /// A value cannot be.
    #[error(transparent)]
    Value(#[from] JsonError),
}

impl Plan {
    /// The plan as JSON, without what is asked at its sites. Reasons are kept as their words.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let has_switches = self.sites.iter().any(|site| site.switch.is_some());
        let mut arguments = self.sites.iter().flat_map(|site| &site.arguments);
        let version = match has_switches {
            _ if arguments.any(|argument| matches!(argument.source, Source::Doubtful(_))) => VERSION,
            true => WITHOUT_DOUBT,
            false => WITHOUT_SWITCHES,
        };
        json!(PlanFile { plan: version, tool: env!("CARGO_PKG_VERSION"), content: self })
    }

    /// Reads a plan.
    ///
    /// # Errors
    ///
    /// It is not JSON, has another version, or a value is missing, malformed, out of range, or refers
    /// to something that is not there. An image has no build id, or that of another image.
    pub fn from_json(text: &[u8]) -> Result<Self, FileError> {
        let json: Json = serde_json::from_slice(text).map_err(|error| FileError::Json(error.to_string()))?;
        let version = json.get("plan").and_then(Json::as_u64).ok_or(FileError::NotAPlan)?;
        if !(WITHOUT_SWITCHES..=VERSION).contains(&version) {
            return Err(FileError::Version(version));
        }
        let mut plan: Self = read(&json)?;
        plan.check()?;
        for image in &mut plan.images {
            image.platform.get_or_insert(Platform::OF_OLD_PLANS);
        }
        let names: Vec<_> = plan.markers.iter().map(PlannedMarker::names).collect();
        for site in &mut plan.sites {
            site.image = plan.markers.get(site.marker).map_or(0, |marker| marker.image);
            for (argument, names) in site.arguments.iter_mut().zip(names.get(site.marker).into_iter().flatten()) {
                argument.names.clone_from(names);
            }
        }
        Ok(plan)
    }

    /// Whether all that is referred to is there, and nothing is too large.
    fn check(&self) -> Result<(), JsonError> {
        let mut known = HashSet::new();
        for (number, image) in self.images.iter().enumerate() {
            let what = match &image.build_id {
                None => "it is missing",
                Some(id) if !is_build_id(id) => "it is no hexadecimal text in lower case",
                Some(id) if !known.insert(id) => "another image has it too",
                Some(_) => continue,
            };
            return Err(JsonError::new(&format!("images[{number}].build_id"), what));
        }
        for (number, marker) in self.markers.iter().enumerate() {
            exists(marker.image, "image", self.images.len(), || format!("markers[{number}].image"))?;
            if marker.event.is_some() {
                let path = format!("markers[{number}].event");
                return Err(JsonError::new(&path, "a plan file has no events of the kernel"));
            }
        }
        for (number, site) in self.sites.iter().enumerate() {
            exists(site.marker, "marker", self.markers.len(), || format!("sites[{number}].marker"))?;
            check_inputs(&site.inputs, &format!("sites[{number}].inputs"))?;
            for (argument, PlannedArgument { source, .. }) in site.arguments.iter().enumerate() {
                let readings = match source {
                    Source::Read(here) => vec![("", here)],
                    Source::Either(here, before) => vec![(".either[0]", here), (".either[1]", before)],
                    Source::Doubtful(of) => {
                        iter::once(("", &of.here)).chain(of.before.iter().map(|before| (".before", before))).collect()
                    }
                    Source::Unread(_) => Vec::new(),
                };
                for (member, reading) in readings {
                    let path = || format!("sites[{number}].arguments[{argument}]{member}.input");
                    check_reading(reading, &site.inputs, path)?;
                }
            }
        }
        for (number, left_out) in self.left_out.iter().enumerate() {
            exists(left_out.image, "image", self.images.len(), || format!("left_out[{number}].image"))?;
        }
        Ok(())
    }
}

fn is_build_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn check_inputs(inputs: &[Input], path: &str) -> Result<(), JsonError> {
    for (number, input) in inputs.iter().enumerate() {
        match input.kind() {
            FieldKind::Text(most) | FieldKind::Bytes(most) if !(1..=MAX_TEXT).contains(&most) => {
                let what = format!("it reads {most} bytes at most; 1 to {MAX_TEXT} are possible");
                return Err(JsonError::new(&format!("{path}[{number}]"), &what));
            }
            _ => {}
        }
    }
    let words: usize = inputs.iter().map(Input::words).sum();
    let what = || format!("they take {words} words; {MAX_WORDS} are possible");
    if words <= MAX_WORDS { Ok(()) } else { Err(JsonError::new(path, &what())) }
}

/// Whether the input of a reading is there, and of its kind.
fn check_reading(reading: &Reading, inputs: &[Input], path: impl Fn() -> String) -> Result<(), JsonError> {
    let (Reading::Number { field, .. } | Reading::Text { field } | Reading::Array { field, .. }) = *reading else {
        return Ok(());
    };
    exists(field, "input", inputs.len(), &path)?;
    match (reading, inputs.get(field)) {
        (Reading::Number { .. }, Some(Input::Number(_)))
        | (Reading::Text { .. }, Some(Input::Text { .. } | Input::Bytes { .. })) => Ok(()),
        _ => Err(JsonError::new(&path(), &format!("the input {field} is of another kind than the value"))),
    }
}
