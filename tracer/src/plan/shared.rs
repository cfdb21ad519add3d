//! What plan files and recordings say in the same words: images, markers, and types of values.

use serde_json::{Map, Value as Json, json};
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::json::{Fault, JsonError, JsonObject};

use super::{ImageFile, KernelEvent, Placeholder, PlannedImage, PlannedMarker, Reading};

/// The type of a value.
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
    /// Numbers.
    Array {
        /// The size of a number in bytes: 1, 2, 4 or 8.
        size: u8,
        /// How its bits are read.
        kind: NumberKind,
        /// How many there are; `None` if each value says it.
        count: Option<u16>,
    },
}

/// In place of the kind of a number.
const TEXT: &str = "text";

/// In place of the length of an array if each value has its own.
const DYNAMIC: &str = "dynamic";

impl FieldType {
    /// The type of what is read.
    #[must_use]
    pub fn of(reading: &Reading) -> Self {
        match *reading {
            Reading::Constant { size, kind, .. } | Reading::Number { size, kind, .. } => Self::Number { size, kind },
            Reading::Text { .. } => Self::Text,
            Reading::Array { size, kind, count, .. } => Self::Array { size, kind, count },
        }
    }

    /// Adds the members `kind` and `size` to an object, and `array` if it is one.
    pub(crate) fn write(self, object: &mut Map<String, Json>) {
        let (word, size) = match self {
            Self::Number { size, kind } | Self::Array { size, kind, .. } => (kind.into(), Json::from(size)),
            Self::Text => (TEXT, Json::Null),
        };
        if let Self::Array { count, .. } = self {
            object.insert("array".to_owned(), count.map_or(DYNAMIC.into(), Json::from));
        }
        object.insert("kind".to_owned(), word.into());
        object.insert("size".to_owned(), size);
    }

    pub(crate) fn read(json: JsonObject<'_>) -> Result<Self, JsonError> {
        let word = json.text("kind")?;
        if word == TEXT {
            return Ok(Self::Text);
        }
        let kind = word.parse().map_err(|_| JsonError::new(Fault::Malformed).at("kind"))?;
        let size @ (1u8 | 2 | 4 | 8) = json.number("size")? else {
            return Err(JsonError::new(Fault::Range).at("size"));
        };
        match json.some("array") {
            None => Ok(Self::Number { size, kind }),
            Some(array) if array == DYNAMIC => Ok(Self::Array { size, kind, count: None }),
            Some(_) => Ok(Self::Array { size, kind, count: Some(json.number("array")?) }),
        }
    }
}

impl Placeholder {
    /// The member `unread`; `None` if it is missing.
    pub(crate) fn read(json: JsonObject<'_>) -> Result<Option<Self>, JsonError> {
        let word = |value: &Json| value.as_str()?.parse().ok();
        json.some("unread").map(|_| json.get("unread", word)).transpose()
    }
}

impl PlannedImage {
    pub(crate) fn to_json(&self) -> Json {
        json!({ "path": self.path, "module": &*self.module, "build_id": self.build_id })
    }

    /// The image without its platform and the size of its thread-local storage.
    pub(crate) fn read(json: JsonObject<'_>) -> Result<Self, JsonError> {
        Ok(Self {
            path: json.text("path")?.to_owned(),
            file: ImageFile::default(),
            module: json.name("module")?,
            build_id: json.maybe_name("build_id")?.map(|id| id.to_string()),
            thread_local_size: None,
            platform: None,
        })
    }
}

impl PlannedMarker {
    pub(crate) fn to_json(&self) -> Json {
        let mut json = json!({
            "image": self.image, "name": &*self.name, "file": &*self.file, "line": self.line, "format": &*self.format,
            "sites": self.sites,
        });
        if let (Some(event), Some(object)) = (&self.event, json.as_object_mut()) {
            object.insert("event".to_owned(), event.to_json());
        }
        json
    }

    pub(crate) fn read(json: JsonObject<'_>, images: usize) -> Result<Self, JsonError> {
        Ok(Self {
            image: json.index("image", images)?,
            name: json.name("name")?,
            file: json.name("file")?,
            line: json.number("line")?,
            format: json.name("format")?,
            sites: json.number("sites")?,
            event: KernelEvent::read(json)?,
        })
    }
}
