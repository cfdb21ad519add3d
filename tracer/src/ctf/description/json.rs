//! A description as JSON.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::json::{Fault, JsonError, JsonObject, hexadecimal};
use simple_markers_resolver::types::Names;

use super::{
    Class, ClassField, DescribedArgument, DescribedOmission, DescribedSite, Description, DescriptionError, Doubt,
    FieldType, MAX_CLASSES, VERSION,
};
use crate::event::KnownNames;
use crate::plan::{Placeholder, PlannedImage, PlannedMarker};

/// The version of a description without doubtful values, which earlier readers know.
const WITHOUT_DOUBT: u64 = 2;
/// The version of a description without events of the kernel, which earlier readers know.
const WITHOUT_EVENTS: u64 = 1;

impl Description {
    /// The description as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let class = |class: &Class| {
            let field = |field: &ClassField| {
                let mut json = Map::new();
                json.insert("argument".to_owned(), field.argument.into());
                json.insert("name".to_owned(), field.name.as_str().into());
                field.of.write(&mut json);
                if !field.labels.is_empty() {
                    let pair = |(bits, name): &(u64, Arc<str>)| json!([format!("{bits:#x}"), &**name]);
                    json.insert("labels".to_owned(), field.labels.iter().map(pair).collect());
                }
                Json::from(json)
            };
            let fields: Vec<Json> = class.fields.iter().map(field).collect();
            json!({ "marker": class.marker, "has_site": class.has_site, "fields": fields })
        };
        let has_events = self.markers.iter().any(|marker| marker.event.is_some());
        let mut arguments = self.sites.iter().flat_map(|site| &site.arguments);
        let version = match has_events {
            _ if arguments.any(|argument| argument.doubt.is_some()) => VERSION,
            true => WITHOUT_DOUBT,
            false => WITHOUT_EVENTS,
        };
        let left_out = |it: &DescribedOmission| json!({ "image": it.image, "marker": &*it.marker, "place": it.place, "why": it.why });
        let mut json = json!({
            "version": version,
            "tool": self.tool,
            "uuid": self.uuid_text(),
            "clock_offset_ns": self.clock_offset,
            "start_ns": self.start,
            "images": self.images.iter().map(PlannedImage::to_json).collect::<Vec<_>>(),
            "markers": self.markers.iter().map(PlannedMarker::to_json).collect::<Vec<_>>(),
            "sites": self.sites.iter().map(site_json).collect::<Vec<_>>(),
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
        });
        if let (true, Some(object)) = (has_events, json.as_object_mut()) {
            object.insert("kernel".to_owned(), self.kernel.to_json());
        }
        json
    }

    /// Reads a description.
    ///
    /// # Errors
    ///
    /// It is not JSON, has another version, or a member is missing, has another type, or refers to
    /// something that is not there.
    pub fn from_json(text: &[u8]) -> Result<Self, DescriptionError> {
        let json: Json = serde_json::from_slice(text).map_err(|error| DescriptionError::Json(error.to_string()))?;
        let json = JsonObject::of(&json)?;
        match json.number("version")? {
            WITHOUT_EVENTS..=VERSION => {}
            version => return Err(DescriptionError::Version(version)),
        }
        let images = json.all("images", PlannedImage::read)?;
        let markers = json.all("markers", |json| PlannedMarker::read(json, images.len()))?;
        let classes = json.all("classes", |json| class(json, markers.len()))?;
        if classes.len() > MAX_CLASSES {
            return Err(JsonError::new(Fault::Range).at("classes").into());
        }
        let names: Vec<_> = markers.iter().map(PlannedMarker::names).collect();
        Ok(Self {
            uuid: json.get("uuid", |value| uuid(value.as_str()?))?,
            tool: json.text("tool")?.to_owned(),
            clock_offset: json.number("clock_offset_ns")?,
            start: json.number("start_ns")?,
            sites: json.all("sites", |json| site(json, &images, &markers, &names, &classes))?,
            left_out: json.all("left_out", left_out)?,
            kernel: kernel(json)?,
            images,
            markers,
            classes,
        })
    }
}

fn kernel(json: JsonObject<'_>) -> Result<KnownNames, JsonError> {
    let Some(kernel) = json.some("kernel") else { return Ok(KnownNames::default()) };
    JsonObject::of(kernel).and_then(KnownNames::read).map_err(|error| error.at("kernel"))
}

fn site_json(site: &DescribedSite) -> Json {
    let argument = |argument: &DescribedArgument| {
        let unread = argument.unread.map(Placeholder::as_str);
        let mut json = json!({ "text": &*argument.text, "unread": unread, "why": argument.why });
        if let (Some(doubt), Some(object)) = (argument.doubt, json.as_object_mut()) {
            object.insert("doubtful".to_owned(), doubt.as_str().into());
        }
        json
    };
    json!({
        "image": site.image,
        "marker": site.marker,
        "function": site.function.as_deref(),
        "copies": site.copies,
        "address": site.address.to_string(),
        "probe": site.probe.to_string(),
        "file_offset": site.offset.to_string(),
        "class": site.class,
        "arguments": site.arguments.iter().map(argument).collect::<Vec<_>>(),
    })
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    let is_it = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some(u128::from_str_radix(&digits, 16).ok().filter(|_| is_it)?.to_be_bytes())
}

fn site(
    json: JsonObject<'_>,
    images: &[PlannedImage],
    markers: &[PlannedMarker],
    names: &[Vec<Option<Arc<Names>>>],
    classes: &[Class],
) -> Result<DescribedSite, JsonError> {
    let argument = |json: JsonObject<'_>| {
        let why = json.maybe_name("why")?.map(|why| why.to_string());
        let doubt = |value: &Json| value.as_str()?.parse::<Doubt>().ok();
        let doubt = json.some("doubtful").map(|_| json.get("doubtful", doubt)).transpose()?;
        Ok(DescribedArgument { text: json.name("text")?, unread: Placeholder::read(json)?, doubt, why, names: None })
    };
    let mut site = DescribedSite {
        image: json.index("image", images.len())?,
        marker: json.index("marker", markers.len())?,
        function: json.maybe_name("function")?,
        copies: if json.some("copies").is_some() { json.number("copies")? } else { 1 },
        address: Vaddr(json.address("address")?),
        probe: Vaddr(json.address("probe")?),
        offset: FileOffset(json.address("file_offset")?),
        class: json.some("class").map(|_| json.index("class", classes.len())).transpose()?,
        arguments: json.all("arguments", argument)?,
    };
    for (argument, names) in site.arguments.iter_mut().zip(names.get(site.marker).into_iter().flatten()) {
        argument.names.clone_from(names);
    }
    let Some(class) = site.class.and_then(|number| classes.get(number)) else { return Ok(site) };
    let is_read = |number| class.fields.iter().any(|field| field.argument == number);
    let of_arguments = class.fields.iter().all(|field| field.argument < site.arguments.len());
    if class.marker != site.marker || !of_arguments {
        return Err(JsonError::new(Fault::Dangling).at("class"));
    }
    match site.arguments.iter().enumerate().position(|(number, it)| it.unread.is_some() == is_read(number)) {
        Some(wrong) => Err(JsonError::new(Fault::Malformed).at("unread").item(wrong).at("arguments")),
        None => Ok(site),
    }
}

fn class(json: JsonObject<'_>, markers: usize) -> Result<Class, JsonError> {
    let field = |json: JsonObject<'_>| {
        let (argument, name) = (json.number("argument")?, json.text("name")?.to_owned());
        let label = |json: &Json| {
            let pair = json.as_array().map_or(&[][..], Vec::as_slice);
            let [bits, name] = pair else { return Err(JsonError::new(Fault::Malformed)) };
            let label = hexadecimal(bits).zip(name.as_str().map(Arc::from));
            label.ok_or(JsonError::new(Fault::Malformed))
        };
        let labels = if json.some("labels").is_some() { json.items("labels", label)? } else { Vec::new() };
        Ok(ClassField { argument, name, of: FieldType::read(json)?, labels })
    };
    let fields = json.all("fields", field)?;
    if !fields.is_sorted_by(|one, next| one.argument < next.argument) {
        return Err(JsonError::new(Fault::Malformed).at("fields"));
    }
    Ok(Class { marker: json.index("marker", markers)?, has_site: json.get("has_site", Json::as_bool)?, fields })
}

fn left_out(json: JsonObject<'_>) -> Result<DescribedOmission, JsonError> {
    Ok(DescribedOmission {
        image: json.number("image")?,
        marker: json.name("marker")?,
        place: json.text("place")?.to_owned(),
        why: json.text("why")?.to_owned(),
    })
}
