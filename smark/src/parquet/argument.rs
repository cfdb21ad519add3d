//! The columns of an argument, and its cells.

use std::borrow::Cow;
use std::sync::Arc;

use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::types::Names;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::plan::{DoubtfulValues, FieldType, PlannedArgument, Source};
use simple_markers_tracer::text::json_why;
use simple_markers_tracer::tree_shape::{IntegerWidth, TreeShape};
use simple_markers_tracer::{Hit, Missing, Value};

use super::cell::{Cell, Column, ColumnType, UINT64};
use super::name::column_name;
use super::place::ShapePlace;
use super::place_cell::{CellMaker, HitDoubt};

/// An argument of the markers of a table.
#[derive(Clone, Debug)]
pub(super) struct TableArgument {
    /// As written.
    pub(super) text: Arc<str>,
    /// The name of its columns.
    pub(super) name: String,
    form: ArgumentForm,
    /// The names of its values; `None` if it has none.
    names: Option<Arc<Names>>,
    /// Whether a site has doubtful values of it, which have a column of their own.
    has_maybe: bool,
}

/// What the values of an argument are.
#[derive(Clone, Debug)]
enum ArgumentForm {
    /// It is read nowhere.
    Unread,
    /// Numbers, texts and arrays.
    Plain(ColumnType),
    Whole(ShapePlace),
}

/// What a column of an argument has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ArgumentColumn {
    Value,
    /// The name of the value.
    Name,
    /// A doubtful value.
    Maybe,
}

impl ArgumentColumn {
    /// What it has, in words.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Value => "the value of the argument",
            Self::Name => "the name of the value",
            Self::Maybe => "a doubtful value of the argument",
        }
    }
}

/// The cells of an argument.
#[derive(Debug)]
pub(super) struct ArgumentCells<'h> {
    value: Cell<'h>,
    name: Cell<'h>,
    maybe: Cell<'h>,
}

impl TableArgument {
    /// An argument whose name is none of `used`.
    pub(super) fn new(argument: &PlannedArgument, used: &[&str]) -> Self {
        Self {
            text: Arc::clone(&argument.text),
            name: column_name(&argument.text, used),
            form: ArgumentForm::Unread,
            names: None,
            has_maybe: false,
        }
    }

    /// Adds a site. `shape` has what its whole values have in common.
    pub(super) fn add(&mut self, argument: &PlannedArgument, shape: Option<&TreeShape>, doubtful: DoubtfulValues) {
        let of = argument.source.field_type();
        let form = match (argument.shown.as_ref(), of) {
            (_, None) => ArgumentForm::Unread,
            (Some(_), Some(_)) => ArgumentForm::Whole(ShapePlace::new(shape.unwrap_or(&TreeShape::default()))),
            (None, Some(of)) => ArgumentForm::Plain(column_type(of)),
        };
        self.form = match (std::mem::replace(&mut self.form, ArgumentForm::Unread), form) {
            (ArgumentForm::Unread, form) | (form, ArgumentForm::Unread) => form,
            (ArgumentForm::Plain(one), ArgumentForm::Plain(other)) => ArgumentForm::Plain(joined(one, other)),
            // All sites have the same shape.
            (ArgumentForm::Whole(place), ArgumentForm::Whole(_)) => ArgumentForm::Whole(place),
            (ArgumentForm::Plain(_), ArgumentForm::Whole(_)) | (ArgumentForm::Whole(_), ArgumentForm::Plain(_)) => {
                ArgumentForm::Plain(ColumnType::Text)
            }
        };
        if self.names.is_none() {
            self.names.clone_from(&argument.names);
        }
        self.has_maybe |= doubtful == DoubtfulValues::Marked && matches!(argument.source, Source::Doubtful(_));
    }

    /// The type of its values; `None` if it has no column.
    fn column_type(&self) -> Option<ColumnType> {
        match &self.form {
            ArgumentForm::Unread => None,
            ArgumentForm::Plain(of) => Some(of.clone()),
            ArgumentForm::Whole(place) => place.column_type(),
        }
    }

    fn has_names(&self) -> bool {
        self.names.is_some() && matches!(self.form, ArgumentForm::Plain(ColumnType::Integer(_)))
    }

    /// Its columns.
    pub(super) fn columns(&self) -> Vec<(ArgumentColumn, Column)> {
        let Some(of) = self.column_type() else { return Vec::new() };
        let mut columns = vec![(ArgumentColumn::Value, Column::optional(&self.name, of.clone()))];
        if self.has_names() {
            let name = Column::optional(&format!("{}__name", self.name), ColumnType::Text);
            columns.push((ArgumentColumn::Name, name));
        }
        if self.has_maybe {
            columns.push((ArgumentColumn::Maybe, Column::optional(&format!("{}__maybe", self.name), of)));
        }
        columns
    }

    /// Its cells without a value.
    pub(super) fn absent(&self) -> ArgumentCells<'static> {
        ArgumentCells { value: Cell::Null, name: Cell::Null, maybe: Cell::Null }
    }

    /// The value of a hit. Doubtful values are taken or not as `doubtful` says.
    pub(super) fn cells<'h>(
        &self,
        hit: &Hit<'_>,
        argument: &PlannedArgument,
        value: Result<Value<'h>, Missing<'h>>,
        functions: &dyn FunctionNames,
        doubtful: DoubtfulValues,
        doubts: &mut Vec<HitDoubt>,
    ) -> ArgumentCells<'h> {
        let doubt = |why: &str| HitDoubt { place: self.name.clone(), words: why.to_owned() };
        let (value, is_doubtful) = match value {
            Ok(value) => (value, false),
            Err(missing) => {
                doubts.push(doubt(&json_why(&missing)));
                match missing {
                    Missing::Doubtful(Some(value)) => (value, true),
                    _ => return self.absent(),
                }
            }
        };
        if value.is_cut() {
            doubts.push(doubt("cut"));
        }
        if value.is_changing() {
            doubts.push(doubt("changing"));
        }
        let cell = self.cell(hit, argument, &value, functions, doubts);
        let name = || self.names.as_ref().and_then(|names| value.name(names)).map_or(Cell::Null, Cell::owned);
        match is_doubtful && doubtful != DoubtfulValues::Taken {
            true => ArgumentCells { value: Cell::Null, name: Cell::Null, maybe: cell },
            false => ArgumentCells { value: cell, name: name(), maybe: Cell::Null },
        }
    }

    fn cell<'h>(
        &self,
        hit: &Hit<'_>,
        argument: &PlannedArgument,
        value: &Value<'h>,
        functions: &dyn FunctionNames,
        doubts: &mut Vec<HitDoubt>,
    ) -> Cell<'h> {
        let shown = argument.shown.as_ref();
        match (&self.form, shown) {
            (ArgumentForm::Unread, _) => Cell::Null,
            (ArgumentForm::Whole(place), Some(shown)) => match shown.named_tree(value, hit, functions) {
                Some(tree) => {
                    CellMaker { language: shown.language, path: self.name.clone(), doubts }.cell(place, &tree)
                }
                // A null pointer.
                None => Cell::Null,
            },
            (ArgumentForm::Plain(of), Some(shown)) => match (of, shown.named_tree(value, hit, functions)) {
                (ColumnType::Text, Some(tree)) => {
                    let mut text = String::new();
                    simple_markers_resolver::types::write_text(&tree, shown.language, &mut text);
                    Cell::owned(text)
                }
                _ => Cell::Null,
            },
            (ArgumentForm::Plain(of), None) => plain(value, of),
            (ArgumentForm::Whole(_), None) => Cell::Null,
        }
    }
}

impl<'h> ArgumentCells<'h> {
    /// The cells of the columns, in their order.
    pub(super) fn of(&self, argument: &TableArgument) -> impl Iterator<Item = &Cell<'h>> {
        let name = argument.has_names().then_some(&self.name);
        let maybe = argument.has_maybe.then_some(&self.maybe);
        let value = (!matches!(argument.form, ArgumentForm::Unread)).then_some(&self.value);
        value.into_iter().chain(name).chain(maybe)
    }
}

/// The value of an argument that is no whole value.
fn plain<'h>(value: &Value<'h>, of: &ColumnType) -> Cell<'h> {
    match *value {
        Value::Text { bytes, .. } => Cell::of_bytes(Cow::Borrowed(bytes)),
        Value::Null | Value::Whole(_) => Cell::Null,
        Value::Array { .. } => match of {
            ColumnType::List(element) => Cell::List(value.numbers().map(|number| plain(&number, element)).collect()),
            _ => Cell::owned(format!("{:?}", value.numbers().filter_map(|it| it.integer()).collect::<Vec<_>>())),
        },
        Value::Number { bits, kind, .. } => match (of, value.float(), value.integer()) {
            (ColumnType::Text, None, Some(number)) => match (kind, u32::try_from(number).ok().and_then(char::from_u32))
            {
                (NumberKind::Unicode, Some(letter)) => Cell::owned(letter.to_string()),
                _ => Cell::owned(number.to_string()),
            },
            (ColumnType::Text, Some(number), _) => Cell::owned(number.to_string()),
            (ColumnType::Float32 | ColumnType::Float64, Some(number), _) => Cell::Float(number),
            (ColumnType::Float32 | ColumnType::Float64, None, Some(number)) => Cell::Float(number as f64),
            (_, None, Some(number)) => Cell::Integer(number),
            // Half a float has its bits.
            _ => Cell::Integer(bits.into()),
        },
    }
}

fn column_type(of: FieldType) -> ColumnType {
    match of {
        FieldType::Number { size, kind } => number_type(size, kind),
        FieldType::Text | FieldType::Whole => ColumnType::Text,
        FieldType::Array { size, kind, .. } => ColumnType::List(Box::new(number_type(size, kind))),
    }
}

fn number_type(size: u8, kind: NumberKind) -> ColumnType {
    let integer = |is_signed| {
        let bits = match size {
            0 | 1 => 8,
            2 => 16,
            3 | 4 => 32,
            _ => 64,
        };
        ColumnType::Integer(IntegerWidth { is_signed, bits })
    };
    match (kind, size) {
        (NumberKind::Signed, _) => integer(true),
        (NumberKind::Float, 4) => ColumnType::Float32,
        (NumberKind::Float, 8) => ColumnType::Float64,
        (NumberKind::Pointer, _) => UINT64,
        (NumberKind::Unicode, _) => ColumnType::Text,
        (NumberKind::Unsigned | NumberKind::Float, _) => integer(false),
    }
}

/// The type that has the values of both.
fn joined(one: ColumnType, other: ColumnType) -> ColumnType {
    use ColumnType::{Float32, Float64, Integer, List, Text};
    match (one, other) {
        (one, other) if one == other => one,
        (Integer(one), Integer(other)) => {
            let (signed, unsigned) = if one.is_signed { (one, other) } else { (other, one) };
            let bits = match one.is_signed == other.is_signed {
                true => one.bits.max(other.bits),
                false => signed.bits.max(unsigned.bits.saturating_mul(2)),
            };
            let is_signed = one.is_signed || other.is_signed;
            if bits <= 64 { Integer(IntegerWidth { is_signed, bits }) } else { Text }
        }
        (Float32 | Float64, Float32 | Float64 | Integer(_)) | (Integer(_), Float32 | Float64) => Float64,
        (List(one), List(other)) => List(Box::new(joined(*one, *other))),
        _ => Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_sites_have_are_joined() {
        let integer = |is_signed, bits| ColumnType::Integer(IntegerWidth { is_signed, bits });
        assert_eq!(joined(integer(true, 32), integer(false, 16)), integer(true, 32));
        assert_eq!(joined(integer(false, 32), integer(true, 8)), integer(true, 64));
        assert_eq!(joined(integer(false, 64), integer(true, 8)), ColumnType::Text);
        assert_eq!(joined(integer(false, 64), integer(false, 8)), integer(false, 64));
        assert_eq!(joined(integer(false, 64), ColumnType::Float32), ColumnType::Float64);
        assert_eq!(joined(ColumnType::Text, ColumnType::Float32), ColumnType::Text);
    }
}
