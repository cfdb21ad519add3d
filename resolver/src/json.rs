//! Reads objects of JSON, and says where something is wrong.

use std::fmt::{self, Display};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

/// A value that cannot be, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The way to the value, the last step first.
    steps: Vec<JsonStep>,
    /// What is wrong with it.
    pub what: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonStep {
    Member(&'static str),
    Item(usize),
}

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is missing, has another type, or is no value of this member.
    Malformed,
    /// It refers to something that is not there.
    Dangling,
    /// A number is too small or too large.
    Range,
    /// Another one has the same value.
    Twice,
    /// An expression is nested too deep.
    TooDeep,
    /// An expression has too many steps.
    TooLarge,
}

impl JsonError {
    /// An error in the whole value.
    #[must_use]
    pub fn new(what: Fault) -> Self {
        Self { steps: Vec::new(), what }
    }

    /// The error as one of a member.
    #[must_use]
    pub fn at(mut self, name: &'static str) -> Self {
        self.steps.push(JsonStep::Member(name));
        self
    }

    /// The error as one of an item of an array.
    #[must_use]
    pub fn item(mut self, index: usize) -> Self {
        self.steps.push(JsonStep::Item(index));
        self
    }

    /// Where the value is: `sites[3].inputs[0]`. Empty for the whole text.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            match step {
                JsonStep::Member(name) if path.is_empty() => path.push_str(name),
                JsonStep::Member(name) => path.push_str(&format!(".{name}")),
                JsonStep::Item(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }
}

impl Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path().as_str() {
            "" => f.write_str("the text")?,
            path => write!(f, "`{path}`")?,
        }
        f.write_str(match self.what {
            Fault::Malformed => " is missing or malformed",
            Fault::Dangling => " refers to something that is not there",
            Fault::Range => " is out of range",
            Fault::Twice => " is there twice",
            Fault::TooDeep => " is nested too deep",
            Fault::TooLarge => " has too many steps",
        })
    }
}

impl std::error::Error for JsonError {}

/// An object.
#[derive(Clone, Copy, Debug)]
pub struct JsonObject<'a>(&'a Map<String, Json>);

impl<'a> JsonObject<'a> {
    /// The object.
    ///
    /// # Errors
    ///
    /// The value is another one.
    pub fn of(json: &'a Json) -> Result<Self, JsonError> {
        json.as_object().map(Self).ok_or(JsonError::new(Fault::Malformed))
    }

    /// A member; `None` if it is missing or null.
    #[must_use]
    pub fn some(self, name: &str) -> Option<&'a Json> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A member that `read` accepts.
    ///
    /// # Errors
    ///
    /// It is missing, null, or `read` gives `None`.
    pub fn get<T>(self, name: &'static str, read: impl FnOnce(&'a Json) -> Option<T>) -> Result<T, JsonError> {
        self.some(name).and_then(read).ok_or_else(|| JsonError::new(Fault::Malformed).at(name))
    }

    /// A text.
    ///
    /// # Errors
    ///
    /// It is missing, or no text.
    pub fn text(self, name: &'static str) -> Result<&'a str, JsonError> {
        self.get(name, Json::as_str)
    }

    /// A text that is shared.
    ///
    /// # Errors
    ///
    /// It is missing, or no text.
    pub fn name(self, name: &'static str) -> Result<Arc<str>, JsonError> {
        self.text(name).map(Arc::from)
    }

    /// A text that may be missing.
    ///
    /// # Errors
    ///
    /// It is another value.
    pub fn maybe_name(self, name: &'static str) -> Result<Option<Arc<str>>, JsonError> {
        self.some(name).map(|_| self.name(name)).transpose()
    }

    /// A number.
    ///
    /// # Errors
    ///
    /// It is missing, no whole number, or out of the range of `T`.
    pub fn number<T: TryFrom<u64>>(self, name: &'static str) -> Result<T, JsonError> {
        let number = self.get(name, Json::as_u64)?;
        T::try_from(number).map_err(|_| JsonError::new(Fault::Range).at(name))
    }

    /// The number of something of which there are `count`.
    ///
    /// # Errors
    ///
    /// It is missing, no whole number, or not below `count`.
    pub fn index(self, name: &'static str, count: usize) -> Result<usize, JsonError> {
        let index = self.get(name, Json::as_u64)?;
        let there = usize::try_from(index).ok().filter(|index| *index < count);
        there.ok_or_else(|| JsonError::new(Fault::Dangling).at(name))
    }

    /// A number as hexadecimal text ([`hexadecimal`]).
    ///
    /// # Errors
    ///
    /// It is missing, or written otherwise.
    pub fn address(self, name: &'static str) -> Result<u64, JsonError> {
        self.get(name, hexadecimal)
    }

    /// Each item of an array, read by `read`.
    ///
    /// # Errors
    ///
    /// It is missing or no array; those of `read`, with the place of the item.
    pub fn items<T>(
        self,
        name: &'static str,
        mut read: impl FnMut(&'a Json) -> Result<T, JsonError>,
    ) -> Result<Vec<T>, JsonError> {
        let values = self.get(name, Json::as_array)?.iter().enumerate();
        values.map(|(index, value)| read(value).map_err(|error| error.item(index).at(name))).collect()
    }

    /// Each object of an array, read by `read`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::items`], and an item is no object.
    pub fn all<T>(
        self,
        name: &'static str,
        mut read: impl FnMut(Self) -> Result<T, JsonError>,
    ) -> Result<Vec<T>, JsonError> {
        self.items(name, |value| Self::of(value).and_then(&mut read))
    }
}

/// A number that is written as `"0x1f"`; `None` for any other value.
#[must_use]
pub fn hexadecimal(value: &Json) -> Option<u64> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    // `from_str_radix` accepts a sign.
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| is_number)
}
