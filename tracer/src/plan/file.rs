//! Plan files: a plan as JSON (`docs/plan.md`).
//!
//! A plan file does not depend on the machine that it is used on. What is asked at the sites, which
//! is the filter and what is counted, is not part of it.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value as Json, json};
use simple_markers_resolver::export::ValueBytes;
use simple_markers_resolver::json::{JsonError, exists, read};
use simple_markers_resolver::location::Expr;

use super::{
    Input, MAX_ENTRY_VALUES, MAX_TEXT, MAX_WHOLE, MAX_WORDS, Plan, PlannedArgument, PlannedEntry, PlannedMarker,
    PlannedSite, ReadLimits, Reading, ShownType, Source, WholeInput,
};
use crate::arch::Platform;
use crate::record::FieldKind;

/// The latest version of plan files. Version 2 has switches, version 3 doubtful values, version 4 whole
/// values, and version 5 values at the entry of functions. A reader refuses later versions: without the
/// switch it would wait for a probe that is asleep, and without the mark it would show a doubtful value as a
/// certain one.
pub const VERSION: u64 = 5;
/// The version of plan files without values at the entry of functions, which older readers know.
const WITHOUT_ENTRIES: u64 = 4;
/// The version of plan files without whole values, which older readers know.
const WITHOUT_WHOLE_VALUES: u64 = 3;
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
        let arguments = || self.sites.iter().flat_map(|site| &site.arguments);
        let version = match has_switches {
            _ if !self.entries.is_empty() => VERSION,
            _ if arguments().any(|argument| argument.shown.is_some()) => WITHOUT_ENTRIES,
            _ if arguments().any(|argument| matches!(argument.source, Source::Doubtful(_))) => WITHOUT_WHOLE_VALUES,
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
        plan.add_reads();
        let names: Vec<_> = plan.markers.iter().map(PlannedMarker::names).collect();
        for site in &mut plan.sites {
            site.image = plan.markers.get(site.marker).map_or(0, |marker| marker.image);
            for (argument, names) in site.arguments.iter_mut().zip(names.get(site.marker).into_iter().flatten()) {
                argument.names.clone_from(names);
            }
        }
        Ok(plan)
    }

    /// Adds the tables of what is read of whole values, which their types say.
    fn add_reads(&mut self) {
        let Self { sites, reads, .. } = self;
        for site in sites {
            for argument in &site.arguments {
                let Some(shown) = &argument.shown else { continue };
                let levels = ShownType::choice_of(&shown.form).levels;
                for (_, reading) in argument.source.readings() {
                    let Reading::Whole { field } = *reading else { continue };
                    let Some(Input::Whole(whole)) = site.inputs.get_mut(field) else { continue };
                    **whole = WholeInput::clone(whole).with_reads((&shown.of, shown.language, levels), reads);
                }
            }
        }
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
        for (number, entry) in self.entries.iter().enumerate() {
            exists(entry.image, "image", self.images.len(), || format!("entries[{number}].image"))?;
            entry.check(&format!("entries[{number}]"))?;
        }
        for (number, site) in self.sites.iter().enumerate() {
            exists(site.marker, "marker", self.markers.len(), || format!("sites[{number}].marker"))?;
            check_inputs(&site.inputs, &format!("sites[{number}].inputs"))?;
            self.check_frame(site, &format!("sites[{number}]"))?;
            for (argument, PlannedArgument { source, .. }) in site.arguments.iter().enumerate() {
                for (member, reading) in source.readings() {
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

impl PlannedEntry {
    fn check(&self, path: &str) -> Result<(), JsonError> {
        let what = match self.values.len() > MAX_ENTRY_VALUES {
            true => format!("it has {} values; {MAX_ENTRY_VALUES} are possible", self.values.len()),
            false if self.values.iter().chain([&self.stack_pointer]).all(Expr::is_of_registers) => return Ok(()),
            false => "it reads more than registers".to_owned(),
        };
        Err(JsonError::new(path, &what))
    }
}

impl Plan {
    /// Whether the values of the entry that a site needs are noted.
    fn check_frame(&self, site: &PlannedSite, path: &str) -> Result<(), JsonError> {
        let needed: Vec<Expr> = site.inputs.iter().flat_map(Input::entry_values).collect();
        let entry = match &site.frame {
            Some(frame) => {
                exists(frame.entry, "entry", self.entries.len(), || format!("{path}.frame.entry"))?;
                self.entries.get(frame.entry)
            }
            None => None,
        };
        let image = self.markers.get(site.marker).map(|marker| marker.image);
        let computed =
            site.frame.iter().map(|frame| &frame.stack_pointer).chain(&site.entry_stack_pointer).chain(&site.task);
        let mut nested = Vec::new();
        computed.for_each(|of| of.add_entry_values(&mut nested));
        let what = match entry {
            Some(entry) if Some(entry.image) != image => "its entry is in another image",
            _ if !nested.is_empty() => "a stack pointer has a value of the entry",
            Some(entry) if needed.iter().all(|value| entry.values.contains(value)) => return Ok(()),
            None if needed.is_empty() => return Ok(()),
            _ => "an input has a value of the entry that is not noted there",
        };
        Err(JsonError::new(path, what))
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
            FieldKind::Whole(_) if !is_bounded(input) => {
                return Err(JsonError::new(&format!("{path}[{number}]"), "it reads more than is possible"));
            }
            _ => {}
        }
    }
    let words: usize = inputs.iter().map(Input::words).sum();
    let what = || format!("they take {words} words; {MAX_WORDS} are possible");
    if words <= MAX_WORDS { Ok(()) } else { Err(JsonError::new(path, &what())) }
}

/// Whether a whole value has limits that the options can give.
fn is_bounded(input: &Input) -> bool {
    let Input::Whole(whole) = input else { return false };
    let ReadLimits { elements, depth, text } = whole.limits;
    let is_small = match &whole.bytes {
        ValueBytes::Memory { .. } => true,
        ValueBytes::Parts { parts, size } => parts.len() <= 8 && (*size as usize).div_ceil(8) == parts.len(),
    };
    is_small && (1..=MAX_WHOLE).contains(&whole.most) && elements <= 256 && depth <= 16 && text <= MAX_TEXT
}

/// Whether the input of a reading is there, and of its kind.
fn check_reading(reading: &Reading, inputs: &[Input], path: impl Fn() -> String) -> Result<(), JsonError> {
    let (Reading::Number { field, .. }
    | Reading::Text { field }
    | Reading::Array { field, .. }
    | Reading::Whole { field }) = *reading
    else {
        return Ok(());
    };
    exists(field, "input", inputs.len(), &path)?;
    match (reading, inputs.get(field)) {
        (Reading::Number { .. }, Some(Input::Number(_)))
        | (Reading::Whole { .. }, Some(Input::Whole(_)))
        | (Reading::Text { .. }, Some(Input::Text { .. } | Input::Bytes { .. })) => Ok(()),
        _ => Err(JsonError::new(&path(), &format!("the input {field} is of another kind than the value"))),
    }
}
