//! Types of columns, and values of them.

use std::borrow::Cow;

use simple_markers_tracer::tree_shape::IntegerWidth;

/// A column, or a member of a group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) of: ColumnType,
    /// Whether no value of it is null.
    pub(super) is_required: bool,
}

/// The type of a column, of a member or of an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ColumnType {
    Boolean,
    Integer(IntegerWidth),
    Float32,
    Float64,
    Text,
    /// Nanoseconds since the start of 1970.
    Time,
    /// Its elements may be null.
    List(Box<ColumnType>),
    Group(Vec<Column>),
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Null,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(Cow<'a, [u8]>),
    List(Vec<Cell<'a>>),
    /// One for each member of the group.
    Group(Vec<Cell<'a>>),
}

/// A 32-bit integer with a sign.
pub(super) const INT32: ColumnType = ColumnType::Integer(IntegerWidth { is_signed: true, bits: 32 });
/// A 64-bit integer with a sign.
pub(super) const INT64: ColumnType = ColumnType::Integer(IntegerWidth { is_signed: true, bits: 64 });
/// A 64-bit integer without a sign.
pub(super) const UINT64: ColumnType = ColumnType::Integer(IntegerWidth { is_signed: false, bits: 64 });

impl Column {
    pub(super) fn required(name: &str, of: ColumnType) -> Self {
        Self { name: name.to_owned(), of, is_required: true }
    }

    pub(super) fn optional(name: &str, of: ColumnType) -> Self {
        Self { name: name.to_owned(), of, is_required: false }
    }
}

impl ColumnType {
    /// A list of groups of texts.
    pub(super) fn texts(members: &[&str]) -> Self {
        let members = members.iter().map(|name| Column::optional(name, Self::Text));
        Self::List(Box::new(Self::Group(members.collect())))
    }

    /// How many columns of the file it is.
    pub(super) fn leaves(&self) -> usize {
        match self {
            Self::List(element) => element.leaves(),
            Self::Group(members) => members.iter().map(|member| member.of.leaves()).sum(),
            _ => 1,
        }
    }
}

impl<'a> Cell<'a> {
    pub(super) fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text.as_bytes()))
    }

    pub(super) fn owned(text: String) -> Cell<'static> {
        Cell::Text(Cow::Owned(text.into_bytes()))
    }

    pub(super) fn maybe(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::text)
    }

    /// A text in UTF-8. Bytes that are none become `\xNN`.
    pub(super) fn of_bytes(bytes: Cow<'a, [u8]>) -> Self {
        match std::str::from_utf8(&bytes) {
            Ok(_) => Self::Text(bytes),
            Err(_) => Cell::owned(simple_markers_resolver::text::from_bytes(&bytes)),
        }
    }
}
