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
use crate::plan::{Placeholder, Plan, PlannedImage, PlannedMarker, PlannedSite, Reading, Source, Unread};

/// The version of the description. A reader refuses others.
pub const VERSION: u64 = 1;

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
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A number.
    Number {
        /// Its size in bytes: 1, 2, 4 or 8.
        size: u8,
        /// How its bits are read.
        kind: NumberKind,
    },
    /// A text.
    Text,
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
        let fields = fields(planned);
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
                let (kind, size) = match field.of {
                    FieldType::Number { size, kind } => (kind_word(kind), Some(size)),
                    FieldType::Text => ("text", None),
                };
                json!({ "argument": field.argument, "name": field.name, "kind": kind, "size": size })
            };
            let fields: Vec<Json> = class.fields.iter().map(field).collect();
            json!({ "marker": class.marker, "has_site": class.has_site, "fields": fields })
        };
        let image =
            |image: &PlannedImage| json!({ "path": image.path, "module": &*image.module, "build_id": image.build_id });
        let marker = |it: &PlannedMarker| {
            json!({
                "image": it.image, "name": &*it.name, "file": &*it.file, "line": it.line, "format": &*it.format,
                "sites": it.sites,
            })
        };
        let left_out = |it: &DescribedOmission| json!({ "image": it.image, "marker": &*it.marker, "place": it.place, "why": it.why });
        json!({
            "version": VERSION,
            "tool": self.tool,
            "uuid": self.uuid_text(),
            "clock_offset_ns": self.clock_offset,
            "start_ns": self.start,
            "images": self.images.iter().map(image).collect::<Vec<_>>(),
            "markers": self.markers.iter().map(marker).collect::<Vec<_>>(),
            "sites": self.sites.iter().map(site_json).collect::<Vec<_>>(),
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
        })
    }

    /// Reads a description.
    ///
    /// # Errors
    ///
    /// It is not JSON, has another version, or a member is missing, has another type, or refers to
    /// something that is not there.
    pub fn from_json(text: &[u8]) -> Result<Self, DescriptionError> {
        let json: Json = serde_json::from_slice(text).map_err(|error| DescriptionError::Json(error.to_string()))?;
        let json = Object::of(&json, "the description")?;
        match json.number("version")? {
            VERSION => {}
            version => return Err(DescriptionError::Version(version)),
        }
        let read = Self {
            uuid: uuid(json.text("uuid")?).ok_or(DescriptionError::Member("uuid"))?,
            tool: json.text("tool")?.to_owned(),
            clock_offset: json.number("clock_offset_ns")?,
            start: json.number("start_ns")?,
            images: json.all("images", image)?,
            markers: json.all("markers", marker)?,
            sites: json.all("sites", site)?,
            classes: json.all("classes", class)?,
            left_out: json.all("left_out", left_out)?,
        };
        read.check()?;
        Ok(read)
    }

    /// Whether all that is referred to is there.
    fn check(&self) -> Result<(), DescriptionError> {
        let has = |is_there: bool, what| if is_there { Ok(()) } else { Err(DescriptionError::Member(what)) };
        has(self.classes.len() <= MAX_CLASSES, "classes")?;
        for marker in &self.markers {
            has(marker.image < self.images.len(), "markers.image")?;
        }
        for class in &self.classes {
            has(class.marker < self.markers.len(), "classes.marker")?;
            has(class.fields.is_sorted_by(|one, next| one.argument < next.argument), "classes.fields.argument")?;
        }
        for site in &self.sites {
            has(site.image < self.images.len(), "sites.image")?;
            has(site.marker < self.markers.len(), "sites.marker")?;
            let Some(number) = site.class else { continue };
            let class = self.classes.get(number).ok_or(DescriptionError::Member("sites.class"))?;
            has(class.marker == site.marker, "sites.class")?;
            let of_arguments = class.fields.iter().all(|field| field.argument < site.arguments.len());
            has(of_arguments, "classes.fields.argument")?;
            let mut unread = site.arguments.iter().enumerate();
            let is_read = |number| class.fields.iter().any(|field| field.argument == number);
            has(unread.all(|(number, it)| it.unread.is_some() != is_read(number)), "sites.arguments.unread")?;
        }
        Ok(())
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
    #[error("`{0}` is missing or malformed")]
    Member(&'static str),
}

fn described(planned: &PlannedSite) -> DescribedSite {
    let argument = |argument: &crate::plan::PlannedArgument| {
        let (unread, why) = match &argument.source {
            Source::Unread(why @ Unread::Omitted(omission)) => (Some(why.placeholder()), Some(omission.to_string())),
            Source::Unread(why) => (Some(why.placeholder()), None),
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
fn fields(site: &PlannedSite) -> Vec<ClassField> {
    // The field with the address of the site has this name.
    let mut names = vec!["site".to_owned()];
    let mut fields = Vec::new();
    for (number, argument) in site.arguments.iter().enumerate() {
        let Some(of) = field_type(&argument.source) else { continue };
        let name = identifier(&argument.text, &names);
        names.push(name.clone());
        fields.push(ClassField { argument: number, name, of });
    }
    fields
}

/// The type of the field of an argument; `None` if it is not read.
pub(super) fn field_type(source: &Source) -> Option<FieldType> {
    let (Source::Read(reading) | Source::Either(reading, _)) = source else { return None };
    Some(match *reading {
        Reading::Constant { size, kind, .. } | Reading::Number { size, kind, .. } => FieldType::Number { size, kind },
        Reading::Text { .. } => FieldType::Text,
    })
}

fn kind_word(kind: NumberKind) -> &'static str {
    match kind {
        NumberKind::Signed => "signed",
        NumberKind::Unsigned => "unsigned",
        NumberKind::Float => "float",
        NumberKind::Pointer => "pointer",
        NumberKind::Unicode => "unicode",
    }
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

/// An object of the JSON.
#[derive(Clone, Copy)]
struct Object<'a>(&'a Map<String, Json>);

impl<'a> Object<'a> {
    fn of(json: &'a Json, what: &'static str) -> Result<Self, DescriptionError> {
        json.as_object().map(Self).ok_or(DescriptionError::Member(what))
    }

    /// A member that is not null.
    fn some(self, name: &'static str) -> Option<&'a Json> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn get<T>(self, name: &'static str, read: impl FnOnce(&'a Json) -> Option<T>) -> Result<T, DescriptionError> {
        self.some(name).and_then(read).ok_or(DescriptionError::Member(name))
    }

    fn text(self, name: &'static str) -> Result<&'a str, DescriptionError> {
        self.get(name, Json::as_str)
    }

    fn name(self, name: &'static str) -> Result<Arc<str>, DescriptionError> {
        self.text(name).map(Arc::from)
    }

    fn number(self, name: &'static str) -> Result<u64, DescriptionError> {
        self.get(name, Json::as_u64)
    }

    fn index(self, name: &'static str) -> Result<usize, DescriptionError> {
        self.get(name, |value| usize::try_from(value.as_u64()?).ok())
    }

    fn address(self, name: &'static str) -> Result<u64, DescriptionError> {
        self.get(name, |value| u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok())
    }

    /// Each object of an array.
    fn all<T>(
        self,
        name: &'static str,
        read: impl Fn(Self) -> Result<T, DescriptionError>,
    ) -> Result<Vec<T>, DescriptionError> {
        let values = self.get(name, Json::as_array)?;
        values.iter().map(|value| Self::of(value, name).and_then(&read)).collect()
    }
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    let is_it = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some(u128::from_str_radix(&digits, 16).ok().filter(|_| is_it)?.to_be_bytes())
}

fn image(json: Object<'_>) -> Result<PlannedImage, DescriptionError> {
    Ok(PlannedImage {
        path: json.text("path")?.to_owned(),
        module: json.name("module")?,
        build_id: json.some("build_id").and_then(Json::as_str).map(str::to_owned),
        thread_local_size: None,
    })
}

fn marker(json: Object<'_>) -> Result<PlannedMarker, DescriptionError> {
    Ok(PlannedMarker {
        image: json.index("image")?,
        name: json.name("name")?,
        file: json.name("file")?,
        line: u32::try_from(json.number("line")?).map_err(|_| DescriptionError::Member("line"))?,
        format: json.name("format")?,
        sites: json.index("sites")?,
    })
}

fn site(json: Object<'_>) -> Result<DescribedSite, DescriptionError> {
    let placeholder = |word: &str| Placeholder::ALL.into_iter().find(|it| it.as_str() == word);
    let argument = |json: Object<'_>| {
        let unread = match json.some("unread") {
            Some(why) => Some(why.as_str().and_then(placeholder).ok_or(DescriptionError::Member("unread"))?),
            None => None,
        };
        let why = json.some("why").and_then(Json::as_str).map(str::to_owned);
        Ok(DescribedArgument { text: json.name("text")?, unread, why })
    };
    Ok(DescribedSite {
        image: json.index("image")?,
        marker: json.index("marker")?,
        function: json.some("function").and_then(Json::as_str).map(Arc::from),
        address: Vaddr(json.address("address")?),
        probe: Vaddr(json.address("probe")?),
        offset: FileOffset(json.address("file_offset")?),
        class: json.some("class").map(|_| json.index("class")).transpose()?,
        arguments: json.all("arguments", argument)?,
    })
}

fn class(json: Object<'_>) -> Result<Class, DescriptionError> {
    let field = |json: Object<'_>| {
        let kind = match json.text("kind")? {
            "signed" => Some(NumberKind::Signed),
            "unsigned" => Some(NumberKind::Unsigned),
            "float" => Some(NumberKind::Float),
            "pointer" => Some(NumberKind::Pointer),
            "unicode" => Some(NumberKind::Unicode),
            "text" => None,
            _ => return Err(DescriptionError::Member("kind")),
        };
        let of = match kind {
            None => FieldType::Text,
            Some(kind) => match json.number("size")? {
                size @ (1 | 2 | 4 | 8) => FieldType::Number { size: size as u8, kind },
                _ => return Err(DescriptionError::Member("size")),
            },
        };
        Ok(ClassField { argument: json.index("argument")?, name: json.text("name")?.to_owned(), of })
    };
    let has_site = json.get("has_site", Json::as_bool)?;
    Ok(Class { marker: json.index("marker")?, has_site, fields: json.all("fields", field)? })
}

fn left_out(json: Object<'_>) -> Result<DescribedOmission, DescriptionError> {
    Ok(DescribedOmission {
        image: json.index("image")?,
        marker: json.name("marker")?,
        place: json.text("place")?.to_owned(),
        why: json.text("why")?.to_owned(),
    })
}
