//! The arguments of a site: where their values come from, or why they are not read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simple_markers_resolver::english;
use simple_markers_resolver::export::ArgumentOmission;
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::json::{Hexadecimal, JsonObject};
use simple_markers_resolver::location::Register;
use simple_markers_resolver::resolve::Verdict;
use simple_markers_resolver::types::Names;
use strum::IntoStaticStr;

use super::field_type::{FieldType, Length, ValueKind};
use super::whole::ShownType;

/// The most bytes of a text that are read. So the layout of a record cannot overflow.
pub const MAX_TEXT: u16 = 1024;

/// An argument at a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ArgumentMembers", into = "ArgumentMembers")]
pub struct PlannedArgument {
    /// The argument as written.
    pub text: Arc<str>,
    /// Another name of it: `arg0` of a note whose first argument has a name. `None` if there is none.
    pub alias: Option<Arc<str>>,
    /// Where its value comes from.
    pub source: Source,
    /// Names for its values: the words of the marker's format.
    pub names: Option<Arc<Names>>,
    /// How it is shown by its type; `None` if a conversion shows it.
    pub shown: Option<Arc<ShownType>>,
}

impl PlannedArgument {
    /// An argument with nothing but a text and a source.
    #[must_use]
    pub fn new(text: Arc<str>, source: Source) -> Self {
        Self { text, alias: None, source, names: None, shown: None }
    }
}

/// Where the value of an argument comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// It is read.
    Read(Reading),
    /// The variable changes at the site, and nothing tells whether before or after the marker. The
    /// value is known if both readings are equal, and not shown otherwise.
    Either(Reading, Reading),
    /// It is read, and may have another value than in the source.
    Doubtful(Box<DoubtfulSource>),
    /// It cannot be read.
    Unread(UnreadReason),
}

/// What becomes of doubtful arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DoubtfulValues {
    /// They are not read. One that is at two places is known where both have the same value.
    Strict,
    /// They are read and marked. Filters, keys and counts refuse them.
    #[default]
    Marked,
    /// They are read and marked, and filters, keys and counts take them.
    Taken,
}

/// How a doubtful value is read.
#[derive(Clone, Debug, PartialEq)]
pub struct DoubtfulSource {
    /// What the debug information says of the site.
    pub here: Reading,
    /// Where the value is if the variable changes after the marker. If both are equal, there is no
    /// doubt. `None` if it is not known, or cannot be read.
    pub before: Option<Reading>,
    /// Why it is doubtful.
    pub why: UnreadReason,
    /// Whether filters, keys and counts take it.
    pub is_taken: bool,
}

/// How a value is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A number that is always the same.
    Constant {
        /// Its bits.
        bits: u64,
        /// Its size in bytes.
        size: u8,
        /// How the bits are read.
        kind: NumberKind,
    },
    /// A number in a field of the record.
    Number {
        /// The field.
        field: usize,
        /// Its size in bytes.
        size: u8,
        /// How the bits are read.
        kind: NumberKind,
    },
    /// A text in a field of the record.
    Text {
        /// The field.
        field: usize,
    },
    /// Numbers of one type in a field of the record.
    Array {
        /// The field.
        field: usize,
        /// The size of a number in bytes.
        size: u8,
        /// How its bits are read.
        kind: NumberKind,
        /// How many there are; `None` if each record says it.
        count: Option<u16>,
    },
    /// A whole value in a field of the record.
    Whole {
        /// The field.
        field: usize,
    },
}

impl Source {
    /// The type of its values; `None` if it is not read.
    #[must_use]
    pub fn field_type(&self) -> Option<FieldType> {
        self.readings().first().map(|(_, reading)| reading.field_type())
    }

    /// How it is read, each with the member of a plan file that has it.
    pub(crate) fn readings(&self) -> Vec<(&'static str, &Reading)> {
        match self {
            Self::Read(here) => vec![("", here)],
            Self::Either(here, before) => vec![(".either[0]", here), (".either[1]", before)],
            Self::Doubtful(of) => {
                std::iter::once(("", &of.here)).chain(of.before.iter().map(|before| (".before", before))).collect()
            }
            Self::Unread(_) => Vec::new(),
        }
    }

    /// Whether the value is in a field.
    #[must_use]
    pub fn is_in(&self, field: usize) -> bool {
        self.readings().iter().any(|(_, reading)| reading.field() == Some(field))
    }
}

impl Reading {
    /// The field that has it; `None` for a constant.
    #[must_use]
    pub fn field(&self) -> Option<usize> {
        match *self {
            Self::Constant { .. } => None,
            Self::Number { field, .. } | Self::Text { field } | Self::Array { field, .. } | Self::Whole { field } => {
                Some(field)
            }
        }
    }

    /// The type of what is read.
    #[must_use]
    pub fn field_type(&self) -> FieldType {
        match *self {
            Self::Constant { size, kind, .. } | Self::Number { size, kind, .. } => FieldType::Number { size, kind },
            Self::Text { .. } => FieldType::Text,
            Self::Array { size, kind, count, .. } => FieldType::Array { size, kind, count },
            Self::Whole { .. } => FieldType::Whole,
        }
    }
}

/// Why an argument is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadReason {
    /// The resolution does not say where it is.
    Omitted(ArgumentOmission),
    /// A BPF program cannot read it.
    Uncompilable(Uncompilable),
    /// The site has more arguments than one program can read.
    TooMany,
    /// As a plan file or a recording says it.
    Filed {
        /// What stands in place of the value.
        placeholder: Placeholder,
        /// Why, for people, if there is more to say.
        words: Option<Arc<str>>,
    },
}

/// What stands in place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, Serialize, Deserialize)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Placeholder {
    /// The argument has no location at the site.
    Lost,
    /// It may have another value than in the source.
    Doubtful,
    /// It has a location that cannot be read.
    Unreadable,
}

impl Placeholder {
    /// The word that people and programs read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl UnreadReason {
    /// What stands in place of the value.
    #[must_use]
    pub fn placeholder(&self) -> Placeholder {
        match self {
            Self::Omitted(ArgumentOmission::Doubtful(_)) => Placeholder::Doubtful,
            Self::Omitted(ArgumentOmission::Unavailable(Verdict::Unsupported, _)) => Placeholder::Unreadable,
            Self::Omitted(ArgumentOmission::Unavailable(..) | ArgumentOmission::OptimizedOut)
            | Self::Uncompilable(Uncompilable::EntryValue) => Placeholder::Lost,
            Self::Omitted(_) | Self::Uncompilable(_) | Self::TooMany => Placeholder::Unreadable,
            Self::Filed { placeholder, .. } => *placeholder,
        }
    }

    /// Why it is not read, for people; `None` if the placeholder says it all.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        match self {
            Self::Omitted(ArgumentOmission::Doubtful(reason)) => reason.as_ref().map(english::arguments::reason),
            Self::Omitted(omission) => Some(english::export::argument(omission)),
            Self::Uncompilable(_) | Self::TooMany => None,
            Self::Filed { words, .. } => words.as_deref().map(str::to_owned),
        }
    }
}

/// Why a computation cannot be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Uncompilable {
    /// It computes with floating-point numbers, which BPF does not have.
    Float,
    /// It reads a register that the kernel does not hand to BPF programs: a vector register.
    Register(Register),
    /// It needs the address of thread-local storage of a shared object.
    ThreadLocal,
    /// It reads a register or an address of an image without machine code.
    Platform,
    /// It applies an operation to types for which the operation is not defined.
    Types,
    /// It reads this many bytes at once.
    ReadSize(u8),
    /// It has too many steps.
    TooLarge,
    /// It has a value of the entry of its function, and none is noted there.
    EntryValue,
}

/// An argument as a plan file has it, or one of its readings. Which members it has says where the value
/// is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ArgumentMembers {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<Arc<ShownType>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Placeholder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    either: Option<Box<[JsonObject<Self>; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubtful: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Box<JsonObject<Self>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<ValueKind>,
    /// `Some(None)` is the size of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Option<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    array: Option<Length>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constant: Option<Hexadecimal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<usize>,
}

impl From<&Reading> for ArgumentMembers {
    fn from(reading: &Reading) -> Self {
        let (kind, size, array) = reading.field_type().members();
        let (constant, input) = match *reading {
            Reading::Constant { bits, .. } => (Some(Hexadecimal(bits)), None),
            Reading::Number { field, .. }
            | Reading::Text { field }
            | Reading::Array { field, .. }
            | Reading::Whole { field } => (None, Some(field)),
        };
        Self { kind: Some(kind), size: Some(size), array, constant, input, ..Self::default() }
    }
}

impl From<PlannedArgument> for ArgumentMembers {
    fn from(argument: PlannedArgument) -> Self {
        let members = match &argument.source {
            Source::Read(here) => here.into(),
            Source::Either(here, before) => {
                let either = [here, before].map(|reading| JsonObject(reading.into()));
                Self { either: Some(Box::new(either)), ..Self::default() }
            }
            Source::Doubtful(of) => {
                let before = of.before.as_ref().map(|before| Box::new(JsonObject(before.into())));
                Self { doubtful: Some(true), before, why: of.why.words(), ..(&of.here).into() }
            }
            Source::Unread(why) => Self { unread: Some(why.placeholder()), why: why.words(), ..Self::default() },
        };
        Self { text: Some(argument.text), alias: argument.alias, shown: argument.shown, ..members }
    }
}

impl TryFrom<&ArgumentMembers> for Reading {
    type Error = &'static str;

    fn try_from(members: &ArgumentMembers) -> Result<Self, Self::Error> {
        let kind = members.kind.ok_or("missing field `kind`")?;
        let of = FieldType::of(kind, members.size.flatten(), members.array)?;
        match (of, members.constant, members.input) {
            (FieldType::Number { size, kind }, Some(Hexadecimal(bits)), _) => Ok(Self::Constant { bits, size, kind }),
            (FieldType::Number { size, kind }, None, Some(field)) => Ok(Self::Number { field, size, kind }),
            (FieldType::Text, _, Some(field)) => Ok(Self::Text { field }),
            (FieldType::Array { size, kind, count }, _, Some(field)) => Ok(Self::Array { field, size, kind, count }),
            (FieldType::Whole, _, Some(field)) => Ok(Self::Whole { field }),
            (_, _, None) => Err("missing field `input`"),
        }
    }
}

impl TryFrom<ArgumentMembers> for PlannedArgument {
    type Error = String;

    fn try_from(members: ArgumentMembers) -> Result<Self, String> {
        let of = |name: &str, JsonObject(members): &JsonObject<_>| {
            Reading::try_from(members).map_err(|error| format!("`{name}`: {error}"))
        };
        let unread = |placeholder| UnreadReason::Filed { placeholder, words: members.why.as_deref().map(Arc::from) };
        let source = match (members.unread, members.either.as_deref(), members.doubtful) {
            (Some(placeholder), ..) => Source::Unread(unread(placeholder)),
            (None, Some([here, before]), _) => Source::Either(of("either[0]", here)?, of("either[1]", before)?),
            (None, None, Some(true)) => {
                let before = members.before.as_deref().map(|before| of("before", before)).transpose()?;
                let (here, why) = (Reading::try_from(&members)?, unread(Placeholder::Doubtful));
                Source::Doubtful(Box::new(DoubtfulSource { here, before, why, is_taken: false }))
            }
            (None, None, Some(false)) => return Err("`doubtful` is false".to_owned()),
            (None, None, None) => Source::Read(Reading::try_from(&members)?),
        };
        let text = members.text.ok_or("missing field `text`")?;
        Ok(Self { alias: members.alias, shown: members.shown, ..Self::new(text, source) })
    }
}
