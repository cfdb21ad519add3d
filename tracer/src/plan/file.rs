//! Plan files: a plan as JSON (`docs/plan.md`).
//!
//! A plan file does not depend on the machine that it is used on. What is asked at the sites, which
//! is the filter and what is counted, is not part of it.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::json::{Fault, JsonError, JsonObject, hexadecimal};
use simple_markers_resolver::types::Names;

use crate::arch::Platform;

use super::{
    Aggregate, DoubtfulSource, FieldType, Input, LeftOut, MAX_TEXT, MAX_WORDS, Placeholder, Plan, PlannedArgument,
    PlannedImage, PlannedMarker, PlannedSite, Reading, Source, UnreadReason, UnwatchedKind, UnwatchedReason,
    expression,
};

/// The latest version of plan files. Version 2 has switches, and version 3 doubtful values. A reader
/// refuses later versions: without the switch it would wait for a probe that is asleep, and without
/// the mark it would show a doubtful value as a certain one.
pub const VERSION: u64 = 3;
/// The version of plan files without doubtful values, which older readers know.
const WITHOUT_DOUBT: u64 = 2;
/// The version of plan files without switches, which older readers know.
const WITHOUT_SWITCHES: u64 = 1;

/// The names for the values of each argument of a marker.
type NamesOfMarker = Vec<Option<Arc<Names>>>;

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
        json!({
            "plan": version,
            "tool": env!("CARGO_PKG_VERSION"),
            "images": self.images.iter().map(image_json).collect::<Vec<_>>(),
            "markers": self.markers.iter().map(PlannedMarker::to_json).collect::<Vec<_>>(),
            "sites": self.sites.iter().map(site_json).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(left_out_json).collect::<Vec<_>>(),
        })
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
        let json = JsonObject::of(&json)?;
        let images = json.all("images", image)?;
        let mut known = HashSet::new();
        if let Some(index) = images.iter().position(|image| !known.insert(&image.build_id)) {
            return Err(JsonError::new(Fault::Twice).at("build_id").item(index).at("images").into());
        }
        let markers = json.all("markers", |json| match PlannedMarker::read(json, images.len())? {
            PlannedMarker { event: Some(_), .. } => Err(JsonError::new(Fault::Malformed).at("event")),
            marker => Ok(marker),
        })?;
        let names: Vec<_> = markers.iter().map(PlannedMarker::names).collect();
        let sites = json.all("sites", |json| site(json, &markers, &names))?;
        let left_out = json.all("left_out", |json| left_out(json, images.len()))?;
        Ok(Self { images, markers, sites, left_out })
    }
}

fn image_json(image: &PlannedImage) -> Json {
    let mut json = image.to_json();
    if let Some(object) = json.as_object_mut() {
        if let Some(size) = image.thread_local_size {
            object.insert("thread_local_size".to_owned(), size.into());
        }
        if let Some(platform) = image.platform {
            object.insert("machine".to_owned(), platform.architecture().as_str().into());
        }
    }
    json
}

fn image(json: JsonObject<'_>) -> Result<PlannedImage, JsonError> {
    let thread_local_size = json.some("thread_local_size").map(|_| json.number("thread_local_size")).transpose()?;
    let platform = match json.some("machine") {
        Some(_) => json.get("machine", |name| Platform::from_name(name.as_str()?))?,
        None => Platform::OF_OLD_PLANS,
    };
    let image = PlannedImage { thread_local_size, platform: Some(platform), ..PlannedImage::read(json)? };
    let is_hexadecimal = |id: &String| !id.is_empty() && id.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    match image.build_id.as_ref().is_some_and(is_hexadecimal) {
        true => Ok(image),
        false => Err(JsonError::new(Fault::Malformed).at("build_id")),
    }
}

fn site_json(site: &PlannedSite) -> Json {
    let mut json = json!({
        "marker": site.marker,
        "function": site.function.as_deref(),
        "address": site.address.to_string(),
        "probe": site.probe.to_string(),
        "file_offset": site.offset.to_string(),
        "inputs": site.inputs.iter().map(input_json).collect::<Vec<_>>(),
        "arguments": site.arguments.iter().map(argument_json).collect::<Vec<_>>(),
    });
    if let (Some(object), Some(switch)) = (json.as_object_mut(), site.switch) {
        object.insert("switch".to_owned(), switch.to_string().into());
    }
    json
}

fn site(json: JsonObject<'_>, markers: &[PlannedMarker], names: &[NamesOfMarker]) -> Result<PlannedSite, JsonError> {
    let marker = json.index("marker", markers.len())?;
    let inputs = json.items("inputs", input)?;
    if inputs.iter().map(Input::words).sum::<usize>() > MAX_WORDS {
        return Err(JsonError::new(Fault::Range).at("inputs"));
    }
    let mut arguments = json.all("arguments", |json| argument(json, &inputs))?;
    for (argument, names) in arguments.iter_mut().zip(names.get(marker).into_iter().flatten()) {
        argument.names.clone_from(names);
    }
    Ok(PlannedSite {
        image: markers.get(marker).map_or(0, |marker| marker.image),
        marker,
        function: json.maybe_name("function")?,
        address: Vaddr(json.address("address")?),
        probe: Vaddr(json.address("probe")?),
        offset: FileOffset(json.address("file_offset")?),
        switch: json.some("switch").map(|_| json.address("switch").map(FileOffset)).transpose()?,
        arguments,
        inputs,
        filter: None,
        aggregate: Aggregate::Hits,
        recorded: None,
    })
}

fn input_json(input: &Input) -> Json {
    match input {
        Input::Number(value) => json!(["number", expression::to_json(value)]),
        Input::Text { address, limit: None, most } => json!(["text", expression::to_json(address), most]),
        Input::Text { address, limit: Some(limit), most } => {
            json!(["text", expression::to_json(address), most, expression::to_json(limit)])
        }
        Input::Bytes { address, length, most } => {
            json!(["bytes", expression::to_json(address), expression::to_json(length), most])
        }
        // A plan file has neither events of the kernel nor what programs record.
        Input::Field { .. } | Input::Recorded { .. } => Json::Null,
    }
}

fn input(json: &Json) -> Result<Input, JsonError> {
    let array = json.as_array().map_or(&[][..], Vec::as_slice);
    let expression = |index: usize, of| expression::from_json(of).map_err(|error| error.item(index));
    let most = |index: usize, of: &Json| {
        let most = of.as_u64().ok_or(JsonError::new(Fault::Malformed).item(index))?;
        let most = u16::try_from(most).ok().filter(|most| (1..=MAX_TEXT).contains(most));
        most.ok_or(JsonError::new(Fault::Range).item(index))
    };
    match (array.first().and_then(Json::as_str), array) {
        (Some("number"), [_, value]) => Ok(Input::Number(expression(1, value)?)),
        (Some("text"), [_, address, count]) => {
            Ok(Input::Text { address: expression(1, address)?, limit: None, most: most(2, count)? })
        }
        (Some("text"), [_, address, count, limit]) => {
            let (address, limit) = (expression(1, address)?, Some(expression(3, limit)?));
            Ok(Input::Text { address, limit, most: most(2, count)? })
        }
        (Some("bytes"), [_, address, length, count]) => {
            Ok(Input::Bytes { address: expression(1, address)?, length: expression(2, length)?, most: most(3, count)? })
        }
        _ => Err(JsonError::new(Fault::Malformed)),
    }
}

fn argument_json(argument: &PlannedArgument) -> Json {
    let mut json = Map::new();
    match &argument.source {
        Source::Read(reading) => write(reading, &mut json),
        Source::Either(here, before) => {
            json.insert("either".to_owned(), Json::from([here, before].map(reading_json).to_vec()));
        }
        Source::Doubtful(doubtful) => {
            write(&doubtful.here, &mut json);
            json.insert("doubtful".to_owned(), true.into());
            if let Some(before) = &doubtful.before {
                json.insert("before".to_owned(), reading_json(before));
            }
            if let Some(words) = doubtful.why.words() {
                json.insert("why".to_owned(), words.into());
            }
        }
        Source::Unread(why) => {
            json.insert("unread".to_owned(), why.placeholder().as_str().into());
            if let Some(words) = why.words() {
                json.insert("why".to_owned(), words.into());
            }
        }
    }
    json.insert("text".to_owned(), (&*argument.text).into());
    json.into()
}

fn reading_json(reading: &Reading) -> Json {
    let mut json = Map::new();
    write(reading, &mut json);
    json.into()
}

/// Adds the members of a reading to an object.
fn write(reading: &Reading, json: &mut Map<String, Json>) {
    FieldType::of(reading).write(json);
    let (name, value) = match reading {
        Reading::Constant { bits, .. } => ("constant", format!("{bits:#x}").into()),
        Reading::Number { field, .. } | Reading::Text { field } | Reading::Array { field, .. } => {
            ("input", Json::from(*field))
        }
    };
    json.insert(name.to_owned(), value);
}

fn argument(json: JsonObject<'_>, inputs: &[Input]) -> Result<PlannedArgument, JsonError> {
    let source = match (Placeholder::read(json)?, json.some("either")) {
        (Some(placeholder), _) => Source::Unread(UnreadReason::Filed { placeholder, words: json.maybe_name("why")? }),
        (None, None) if json.some("doubtful").is_some() => doubtful(json, inputs)?,
        (None, None) => Source::Read(reading(json, inputs)?),
        (None, Some(_)) => match <[Reading; 2]>::try_from(json.all("either", |json| reading(json, inputs))?) {
            Ok([here, before]) => Source::Either(here, before),
            Err(_) => return Err(JsonError::new(Fault::Malformed).at("either")),
        },
    };
    Ok(PlannedArgument { text: json.name("text")?, source, names: None })
}

fn doubtful(json: JsonObject<'_>, inputs: &[Input]) -> Result<Source, JsonError> {
    if json.some("doubtful") != Some(&Json::Bool(true)) {
        return Err(JsonError::new(Fault::Malformed).at("doubtful"));
    }
    let before = json.some("before").map(|before| reading(JsonObject::of(before)?, inputs)).transpose();
    let before = before.map_err(|error| error.at("before"))?;
    let why = UnreadReason::Filed { placeholder: Placeholder::Doubtful, words: json.maybe_name("why")? };
    Ok(Source::Doubtful(Box::new(DoubtfulSource { here: reading(json, inputs)?, before, why, is_taken: false })))
}

fn reading(json: JsonObject<'_>, inputs: &[Input]) -> Result<Reading, JsonError> {
    let of = FieldType::read(json)?;
    if let (FieldType::Number { size, kind }, Some(_)) = (of, json.some("constant")) {
        return Ok(Reading::Constant { bits: json.get("constant", hexadecimal)?, size, kind });
    }
    let field = json.index("input", inputs.len())?;
    match (of, inputs.get(field)) {
        (FieldType::Number { size, kind }, Some(Input::Number(_))) => Ok(Reading::Number { field, size, kind }),
        (FieldType::Text, Some(Input::Text { .. } | Input::Bytes { .. })) => Ok(Reading::Text { field }),
        _ => Err(JsonError::new(Fault::Malformed).at("input")),
    }
}

fn left_out_json(left_out: &LeftOut) -> Json {
    let LeftOut { image, marker, place, why } = left_out;
    let kind = match why.kind() {
        UnwatchedKind::NoSite => "no site",
        UnwatchedKind::NotExact(exactness) => exactness.as_str(),
        UnwatchedKind::Other => "other",
    };
    json!({ "image": image, "marker": &**marker, "place": place, "kind": kind, "why": why.to_string() })
}

fn left_out(json: JsonObject<'_>, images: usize) -> Result<LeftOut, JsonError> {
    let kind = match json.text("kind")? {
        "no site" => UnwatchedKind::NoSite,
        "other" => UnwatchedKind::Other,
        word => UnwatchedKind::NotExact(word.parse().map_err(|_| JsonError::new(Fault::Malformed).at("kind"))?),
    };
    Ok(LeftOut {
        image: json.index("image", images)?,
        marker: json.name("marker")?,
        place: json.text("place")?.to_owned(),
        why: UnwatchedReason::Filed { kind, words: json.name("why")? },
    })
}
