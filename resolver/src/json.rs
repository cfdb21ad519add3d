//! Reads types from JSON, and says where something is wrong.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use crate::text::shown;

/// A value that cannot be, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", Self::prefix(.path))]
pub struct JsonError {
    /// Where the value is: `sites[3].inputs[0]`. Empty for the whole text.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
}

impl JsonError {
    /// An error in the value at a path, in words that are safe to print.
    #[must_use]
    pub fn new(path: &str, what: &str) -> Self {
        Self { path: shown(path).into_owned(), what: shown(what).into_owned() }
    }

    fn prefix(path: &str) -> String {
        if path.is_empty() { String::new() } else { format!("`{path}`: ") }
    }
}

/// Reads an object. Members that `T` does not have are passed over.
///
/// # Errors
///
/// The value is no object, or one of its members is missing or none that `T` can have.
pub fn read<'j, T: Deserialize<'j>>(json: &'j Json) -> Result<T, JsonError> {
    let read = serde_path_to_error::deserialize::<_, JsonObject<T>>(json);
    read.map(|JsonObject(value)| value).map_err(|error| {
        let path = Some(error.path().to_string()).filter(|path| path != ".");
        JsonError::new(&path.unwrap_or_default(), &error.inner().to_string())
    })
}

/// Whether a number is one of `count` values, which are `what`. `path` says where the number is.
///
/// # Errors
///
/// It is not.
pub fn exists(number: usize, what: &str, count: usize, path: impl FnOnce() -> String) -> Result<(), JsonError> {
    let wrong = || JsonError::new(&path(), &format!("there is no {what} {number}; there are {count}, counted from 0"));
    (number < count).then_some(()).ok_or_else(wrong)
}

/// An object. Without this, an array of the values of a struct stands for it too.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct JsonObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(JsonObjectVisitor(PhantomData)).map(Self)
    }
}

struct JsonObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for JsonObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Reads an array of objects.
///
/// # Errors
///
/// Those of the objects, and the value is no array.
pub fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let objects = Vec::<JsonObject<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|JsonObject(value)| value).collect())
}

/// Reads an object that may be missing.
///
/// # Errors
///
/// Those of the object.
pub fn maybe_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<JsonObject<T>>::deserialize(deserializer)?.map(|JsonObject(value)| value))
}

/// A number that is written as `"0x1f"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hexadecimal(#[serde(with = "hexadecimal")] pub u64);

/// Numbers that are written as `"0x1f"`.
pub(crate) mod hexadecimal {
    use serde::de::{Error, Unexpected};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:#x}"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").unwrap_or_default();
        // `from_str_radix` accepts a sign.
        let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| is_number);
        let expected = &"a hexadecimal number of 64 bits such as 0x1f";
        number.ok_or_else(|| Error::invalid_value(Unexpected::Str(&text), expected))
    }
}
