//! Events in the description of a recording.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::KernelEvent;
use crate::ftrace::format::{Field, Format};
use crate::json::{Error, Object};

impl KernelEvent {
    pub(crate) fn to_json(&self) -> Json {
        let Format { group, name, id, fields, print } = &self.format;
        let field = |field: &Field| {
            json!({
                "name": field.name, "type": field.of, "offset": field.offset, "size": field.size,
                "signed": field.is_signed, "array": field.is_array, "element": field.element,
            })
        };
        let fields: Vec<Json> = fields.iter().map(field).collect();
        json!({ "group": group, "name": name, "id": id, "fields": fields, "print": print })
    }

    /// The member `event`, without the names of values; `None` if it is missing.
    pub(crate) fn read(json: Object<'_>) -> Result<Option<Arc<Self>>, Error> {
        let Some(value) = json.some("event") else { return Ok(None) };
        let read = |event: Object<'_>| {
            let format = Format {
                group: event.text("group")?.to_owned(),
                name: event.text("name")?.to_owned(),
                id: event.number("id")?,
                fields: event.all("fields", field)?,
                print: event.text("print")?.to_owned(),
            };
            Ok(Arc::new(Self { fields: super::fields::of_format(&format), format, choices: Vec::new() }))
        };
        let event = Object::of(value).and_then(read);
        event.map(Some).map_err(|error: Error| error.at("event"))
    }
}

fn field(json: Object<'_>) -> Result<Field, Error> {
    Ok(Field {
        name: json.text("name")?.to_owned(),
        of: json.text("type")?.to_owned(),
        offset: json.number("offset")?,
        size: json.number("size")?,
        is_signed: json.get("signed", Json::as_bool)?,
        is_array: json.get("array", Json::as_bool)?,
        element: json.number("element")?,
    })
}
