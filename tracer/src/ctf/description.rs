//! The description of a recording: what its events mean, and what CTF cannot say. It is written to
//! the recording as JSON.
//!
//! Each site has a class, which says what fields its events have. Sites of one marker whose
//! arguments have the same types share a class. An event of a class has one of two forms:
//!
//! - the plain form, if all of its fields have a value: the values;
//! - the full form otherwise: for each argument its state, and its value if it has one.
//!
//! The plain events of class `n` have the number `2 n` in the stream, the full ones `2 n + 1`.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::fetch::NumberKind;

use super::identifier::identifier;
use crate::event::{KernelEvent, Known};
use crate::ftrace::print::Choices;
use crate::json::{Error, Fault, Object, hexadecimal};
use crate::plan::{Placeholder, Plan, PlannedImage, PlannedMarker, PlannedSite, Source};

pub use crate::plan::FieldType;

/// The version of the description. A reader refuses later ones.
pub const VERSION: u64 = 2;

/// The version of a description without events of the kernel, which earlier readers know.
const WITHOUT_EVENTS: u64 = 1;

/// The most classes: the number of an event has 16 bits.
pub const MAX_CLASSES: usize = 1 << 15;

/// What the events of a recording mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The identity of the trace. Every packet repeats it.
    pub uuid: [u8; 16],
    /// The version of `smark` that writes the recording.
    pub tool: String,
    /// The time in ns since the start of 1970 at which the clock of the events was 0.
    pub clock_offset: u64,
    /// When the recording started, by the clock of the events, in ns.
    pub start: u64,
    /// The programs and shared objects.
    pub images: Vec<PlannedImage>,
    /// The markers.
    pub markers: Vec<PlannedMarker>,
    /// The sites, by their number in the plan.
    pub sites: Vec<DescribedSite>,
    /// The classes. Their position is their number.
    pub classes: Vec<Class>,
    /// The sites that were not watched.
    pub left_out: Vec<DescribedOmission>,
    /// The names of the kernel that the texts of its events used.
    pub kernel: Known,
}

/// A site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedSite {
    /// The image.
    pub image: usize,
    /// The marker.
    pub marker: usize,
    /// The out-of-line function that holds it; `None` if nothing names it.
    pub function: Option<Arc<str>>,
    /// Its link-time address.
    pub address: Vaddr,
    /// The link-time address of the probe.
    pub probe: Vaddr,
    /// The probe's offset in the file.
    pub offset: FileOffset,
    /// The class of its events; `None` if there are too many classes.
    pub class: Option<usize>,
    /// The arguments, in the order of the format.
    pub arguments: Vec<DescribedArgument>,
}

/// An argument at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedArgument {
    /// The argument as written.
    pub text: Arc<str>,
    /// What stands in its place, as it is never read there; `None` if it is.
    pub unread: Option<Placeholder>,
    /// Why it is never read, if there is more to say.
    pub why: Option<String>,
}

/// A site that was not watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedOmission {
    /// The image.
    pub image: usize,
    /// The name of the marker.
    pub marker: Arc<str>,
    /// The site.
    pub place: String,
    /// Why.
    pub why: String,
}

/// The events of the sites of one marker whose arguments have the same types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The marker.
    pub marker: usize,
    /// Whether an event has the address of its site, because several sites have this class.
    pub has_site: bool,
    /// The fields, in the order of the arguments.
    pub fields: Vec<ClassField>,
}

/// A field of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassField {
    /// The argument.
    pub argument: usize,
    /// The name of the field: letters, digits and `_`.
    pub name: String,
    /// Its type.
    pub of: FieldType,
    /// Values that have names, each once, with their bits; and the names, each once.
    pub labels: Vec<(u64, Arc<str>)>,
}

impl Description {
    /// Adds what the plan has and the description has not.
    pub fn add(&mut self, plan: &Plan) {
        self.images.extend(plan.images.iter().skip(self.images.len()).cloned());
        self.markers.extend(plan.markers.iter().skip(self.markers.len()).cloned());
        let first = self.sites.len();
        self.sites.extend(plan.sites.iter().skip(first).map(described));
        let first_class = self.classes.len();
        for (number, planned) in plan.sites.iter().enumerate().skip(first) {
            let class = self.class(first_class, number, planned);
            if let Some(site) = self.sites.get_mut(number) {
                site.class = class;
            }
        }
        for (number, class) in self.classes.iter_mut().enumerate().skip(first_class) {
            class.has_site = self.sites.iter().skip(first).filter(|site| site.class == Some(number)).count() > 1;
        }
        let known = self.left_out.len();
        self.left_out.extend(plan.left_out.iter().skip(known).map(|it| DescribedOmission {
            image: it.image,
            marker: Arc::clone(&it.marker),
            place: it.place.clone(),
            why: it.why.to_string(),
        }));
    }

    /// The class of a site. `first` is the first class that may get more sites.
    fn class(&mut self, first: usize, number: usize, planned: &PlannedSite) -> Option<usize> {
        let event = self.markers.get(planned.marker).and_then(|marker| marker.event.as_deref());
        let fields = fields(planned, event);
        let has_it = |class: &Class| class.marker == planned.marker && class.fields == fields;
        // Its address says which of the sites of a class it is. Two sites can have the same address.
        let shares_address = |class: usize| {
            let others = self.sites.iter().take(number);
            others.filter(|site| site.class == Some(class)).any(|site| site.address == planned.address)
        };
        let mut known = self.classes.iter().enumerate().skip(first);
        if let Some((known, _)) = known.find(|(known, class)| has_it(class) && !shares_address(*known)) {
            return Some(known);
        }
        if self.classes.len() >= MAX_CLASSES {
            return None;
        }
        self.classes.push(Class { marker: planned.marker, has_site: false, fields });
        Some(self.classes.len() - 1)
    }

    /// The identity as it is usually written.
    #[must_use]
    pub fn uuid_text(&self) -> String {
        let digits = format!("{:032x}", u128::from_be_bytes(self.uuid));
        let part = |from, to| digits.get(from..to).unwrap_or_default();
        format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
    }

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
        let version = if has_events { VERSION } else { WITHOUT_EVENTS };
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
        let json = Object::of(&json)?;
        match json.number("version")? {
            WITHOUT_EVENTS..=VERSION => {}
            version => return Err(DescriptionError::Version(version)),
        }
        let images = json.all("images", PlannedImage::read)?;
        let markers = json.all("markers", |json| PlannedMarker::read(json, images.len()))?;
        let classes = json.all("classes", |json| class(json, markers.len()))?;
        if classes.len() > MAX_CLASSES {
            return Err(Error::new(Fault::Range).at("classes").into());
        }
        Ok(Self {
            uuid: json.get("uuid", |value| uuid(value.as_str()?))?,
            tool: json.text("tool")?.to_owned(),
            clock_offset: json.number("clock_offset_ns")?,
            start: json.number("start_ns")?,
            sites: json.all("sites", |json| site(json, &images, &markers, &classes))?,
            left_out: json.all("left_out", left_out)?,
            kernel: kernel(json)?,
            images,
            markers,
            classes,
        })
    }
}

/// Why a description cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// Another version of the description.
    #[error("version {0} of the description; this smark reads version {VERSION}")]
    Version(u64),
    /// A member is missing, or its value cannot be.
    #[error(transparent)]
    Member(#[from] Error),
}

fn kernel(json: Object<'_>) -> Result<Known, Error> {
    let Some(kernel) = json.some("kernel") else { return Ok(Known::default()) };
    Object::of(kernel).and_then(Known::read).map_err(|error| error.at("kernel"))
}

fn described(planned: &PlannedSite) -> DescribedSite {
    let argument = |argument: &crate::plan::PlannedArgument| {
        let (unread, why) = match &argument.source {
            Source::Unread(why) => (Some(why.placeholder()), why.words()),
            Source::Read(_) | Source::Either(..) => (None, None),
        };
        DescribedArgument { text: Arc::clone(&argument.text), unread, why }
    };
    DescribedSite {
        image: planned.image,
        marker: planned.marker,
        function: planned.function.clone(),
        address: planned.address,
        probe: planned.probe,
        offset: planned.offset,
        class: None,
        arguments: planned.arguments.iter().map(argument).collect(),
    }
}

/// The fields of the arguments that are read.
fn fields(site: &PlannedSite, event: Option<&KernelEvent>) -> Vec<ClassField> {
    // The field with the address of the site has this name.
    let mut names = vec!["site".to_owned()];
    let mut fields = Vec::new();
    for (number, argument) in site.arguments.iter().enumerate() {
        let Some(of) = field_type(&argument.source) else { continue };
        let name = identifier(&argument.text, &names);
        names.push(name.clone());
        let choices = event.and_then(|event| event.choices_of(&argument.text));
        fields.push(ClassField { argument: number, name, of, labels: labels(choices, of) });
    }
    fields
}

/// The names of the values of a field of this type.
fn labels(choices: Option<&Choices>, of: FieldType) -> Vec<(u64, Arc<str>)> {
    let mut labels: Vec<(u64, Arc<str>)> = Vec::new();
    let (Some(choices), FieldType::Number { size, kind: NumberKind::Signed | NumberKind::Unsigned }) = (choices, of)
    else {
        return labels;
    };
    let all = u64::MAX.checked_shr(64 - u32::from(size.clamp(1, 8)) * 8).unwrap_or(0);
    // A name of a part of the value says nothing about the whole.
    if choices.delimiter.is_none() && choices.mask & all != all {
        return labels;
    }
    for (bits, name) in &choices.pairs {
        let bits = bits & all;
        let is_new = labels.iter().all(|(known, of)| *known != bits && **of != **name);
        if is_new && !name.is_empty() {
            labels.push((bits, Arc::from(name.as_str())));
        }
    }
    labels
}

/// The type of the field of an argument; `None` if it is not read.
pub(super) fn field_type(source: &Source) -> Option<FieldType> {
    let (Source::Read(reading) | Source::Either(reading, _)) = source else { return None };
    Some(FieldType::of(reading))
}

fn site_json(site: &DescribedSite) -> Json {
    let argument = |argument: &DescribedArgument| {
        let unread = argument.unread.map(Placeholder::as_str);
        json!({ "text": &*argument.text, "unread": unread, "why": argument.why })
    };
    json!({
        "image": site.image,
        "marker": site.marker,
        "function": site.function.as_deref(),
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
    json: Object<'_>,
    images: &[PlannedImage],
    markers: &[PlannedMarker],
    classes: &[Class],
) -> Result<DescribedSite, Error> {
    let argument = |json: Object<'_>| {
        let why = json.maybe_name("why")?.map(|why| why.to_string());
        Ok(DescribedArgument { text: json.name("text")?, unread: Placeholder::read(json)?, why })
    };
    let site = DescribedSite {
        image: json.index("image", images.len())?,
        marker: json.index("marker", markers.len())?,
        function: json.maybe_name("function")?,
        address: Vaddr(json.address("address")?),
        probe: Vaddr(json.address("probe")?),
        offset: FileOffset(json.address("file_offset")?),
        class: json.some("class").map(|_| json.index("class", classes.len())).transpose()?,
        arguments: json.all("arguments", argument)?,
    };
    let Some(class) = site.class.and_then(|number| classes.get(number)) else { return Ok(site) };
    let is_read = |number| class.fields.iter().any(|field| field.argument == number);
    let of_arguments = class.fields.iter().all(|field| field.argument < site.arguments.len());
    if class.marker != site.marker || !of_arguments {
        return Err(Error::new(Fault::Dangling).at("class"));
    }
    match site.arguments.iter().enumerate().position(|(number, it)| it.unread.is_some() == is_read(number)) {
        Some(wrong) => Err(Error::new(Fault::Malformed).at("unread").item(wrong).at("arguments")),
        None => Ok(site),
    }
}

fn class(json: Object<'_>, markers: usize) -> Result<Class, Error> {
    let field = |json: Object<'_>| {
        let (argument, name) = (json.number("argument")?, json.text("name")?.to_owned());
        let label = |json: &Json| {
            let pair = json.as_array().map_or(&[][..], Vec::as_slice);
            let [bits, name] = pair else { return Err(Error::new(Fault::Malformed)) };
            let label = hexadecimal(bits).zip(name.as_str().map(Arc::from));
            label.ok_or(Error::new(Fault::Malformed))
        };
        let labels = if json.some("labels").is_some() { json.items("labels", label)? } else { Vec::new() };
        Ok(ClassField { argument, name, of: FieldType::read(json)?, labels })
    };
    let fields = json.all("fields", field)?;
    if !fields.is_sorted_by(|one, next| one.argument < next.argument) {
        return Err(Error::new(Fault::Malformed).at("fields"));
    }
    Ok(Class { marker: json.index("marker", markers)?, has_site: json.get("has_site", Json::as_bool)?, fields })
}

fn left_out(json: Object<'_>) -> Result<DescribedOmission, Error> {
    Ok(DescribedOmission {
        image: json.number("image")?,
        marker: json.name("marker")?,
        place: json.text("place")?.to_owned(),
        why: json.text("why")?.to_owned(),
    })
}
