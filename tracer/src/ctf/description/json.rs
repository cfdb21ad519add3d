//! A description as JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use simple_markers_resolver::json::{JsonError, exists, maybe_object, read};

use super::{Class, DescribedSite, Description, DescriptionError, MAX_CLASSES, VERSION};
use crate::event::KnownNames;
use crate::plan::PlannedMarker;

/// The version of a description without stacks, which earlier readers know.
const WITHOUT_STACKS: u64 = 4;
/// The version of a description without whole values, which earlier readers know.
const WITHOUT_WHOLE_VALUES: u64 = 3;
/// The version of a description without doubtful values, which earlier readers know.
const WITHOUT_DOUBT: u64 = 2;
/// The version of a description without events of the kernel, which earlier readers know.
const WITHOUT_EVENTS: u64 = 1;

/// A description with what its version decides.
#[derive(Serialize)]
struct DescriptionFile<'d> {
    version: u64,
    uuid: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'d KnownNames>,
    #[serde(flatten)]
    content: &'d Description,
}

#[derive(Deserialize)]
struct VersionMember {
    version: u64,
}

/// What a description has besides its content.
#[derive(Deserialize)]
struct OtherMembers {
    uuid: String,
    #[serde(default, deserialize_with = "maybe_object")]
    kernel: Option<KnownNames>,
}

impl Description {
    /// The description as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let has_events = self.markers.iter().any(|marker| marker.event.is_some());
        let arguments = || self.sites.iter().flat_map(|site| &site.arguments);
        let version = match has_events {
            _ if self.stacks.is_some() => VERSION,
            _ if arguments().any(|argument| argument.shown.is_some()) => WITHOUT_STACKS,
            _ if arguments().any(|argument| argument.doubt.is_some()) => WITHOUT_WHOLE_VALUES,
            true => WITHOUT_DOUBT,
            false => WITHOUT_EVENTS,
        };
        let kernel = has_events.then_some(&self.kernel);
        json!(DescriptionFile { version, uuid: self.uuid_text(), kernel, content: self })
    }

    /// Reads a description.
    ///
    /// # Errors
    ///
    /// It is not JSON, has another version, or a member is missing, has another type, or refers to
    /// something that is not there.
    pub fn from_json(text: &[u8]) -> Result<Self, DescriptionError> {
        let json: Json = serde_json::from_slice(text).map_err(|error| DescriptionError::Json(error.to_string()))?;
        match read(&json)? {
            VersionMember { version: WITHOUT_EVENTS..=VERSION } => {}
            VersionMember { version } => return Err(DescriptionError::Version(version)),
        }
        let OtherMembers { uuid: digits, kernel } = read(&json)?;
        let uuid = uuid(&digits).ok_or_else(|| JsonError::new("uuid", &format!("`{digits}` is no UUID")))?;
        let mut description = Self { uuid, kernel: kernel.unwrap_or_default(), ..read(&json)? };
        description.check()?;
        for image in &mut description.images {
            (image.thread_local_size, image.platform) = (None, None);
        }
        let names: Vec<_> = description.markers.iter().map(PlannedMarker::names).collect();
        for site in &mut description.sites {
            for (argument, names) in site.arguments.iter_mut().zip(names.get(site.marker).into_iter().flatten()) {
                argument.names.clone_from(names);
            }
        }
        Ok(description)
    }

    /// Whether all that is referred to is there, and nothing contradicts itself.
    fn check(&self) -> Result<(), JsonError> {
        let (images, markers) = (self.images.len(), self.markers.len());
        for (number, marker) in self.markers.iter().enumerate() {
            exists(marker.image, "image", images, || format!("markers[{number}].image"))?;
        }
        if self.classes.len() > MAX_CLASSES {
            let what = format!("there are {}; {MAX_CLASSES} are possible", self.classes.len());
            return Err(JsonError::new("classes", &what));
        }
        for (number, class) in self.classes.iter().enumerate() {
            exists(class.marker, "marker", markers, || format!("classes[{number}].marker"))?;
            if !class.fields.is_sorted_by(|one, next| one.argument < next.argument) {
                let path = format!("classes[{number}].fields");
                return Err(JsonError::new(&path, "they are not in the order of the arguments"));
            }
        }
        for (number, site) in self.sites.iter().enumerate() {
            let path = |member: &str| format!("sites[{number}].{member}");
            exists(site.image, "image", images, || path("image"))?;
            exists(site.marker, "marker", markers, || path("marker"))?;
            let Some(class) = site.class else { continue };
            exists(class, "class", self.classes.len(), || path("class"))?;
            let Some(class) = self.classes.get(class) else { continue };
            site.fits(class).map_err(|(member, what)| JsonError::new(&path(&member), what))?;
        }
        Ok(())
    }
}

impl DescribedSite {
    /// Whether its arguments are those of its class; otherwise which member is wrong.
    fn fits(&self, class: &Class) -> Result<(), (String, &'static str)> {
        if class.marker != self.marker || class.fields.iter().any(|field| field.argument >= self.arguments.len()) {
            return Err(("class".to_owned(), "it is a class of other arguments"));
        }
        let is_read = |number| class.fields.iter().any(|field| field.argument == number);
        match self.arguments.iter().enumerate().find(|(number, it)| it.unread.is_some() == is_read(*number)) {
            Some((number, _)) => Err((format!("arguments[{number}].unread"), "the class says otherwise")),
            None => Ok(()),
        }
    }
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    let is_it = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some(u128::from_str_radix(&digits, 16).ok().filter(|_| is_it)?.to_be_bytes())
}
