//! The values of a leaf of a schema, with their levels (the nested encoding of the Parquet
//! specification, after Dremel).

use std::collections::HashMap;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedColumnWriter;

use super::cell::{Cell, ColumnType};

/// The values of a leaf in the rows of a row group.
#[derive(Debug)]
pub(super) struct Leaf {
    values: LeafValues,
    /// Missing if no value can be null.
    definition: Option<Vec<i16>>,
    /// Missing if it is in no list.
    repetition: Option<Vec<i16>>,
    /// Bytes of the values without encoding.
    size: usize,
}

#[derive(Debug)]
enum LeafValues {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Text(LeafTexts),
}

/// Texts, each once, and which of them the values are.
#[derive(Debug, Default)]
struct LeafTexts {
    values: Vec<u32>,
    texts: Vec<ByteArray>,
    numbers: HashMap<Vec<u8>, u32>,
    /// The bytes of the texts.
    size: usize,
}

/// The most bytes of a dictionary.
pub(super) const DICTIONARY: usize = 1 << 20;

/// How many texts are written at once.
const BATCH: usize = 1 << 10;

impl LeafTexts {
    /// Adds a text. Returns how many bytes it takes in a file at most.
    fn push(&mut self, text: &[u8]) -> usize {
        let known = self.texts.len();
        self.add(text);
        if self.texts.len() > known {
            self.size += text.len();
        }
        // A dictionary that becomes too large ends, and each text is written.
        if self.texts.len() > known || self.size > DICTIONARY / 2 { text.len() + 8 } else { 8 }
    }

    fn add(&mut self, text: &[u8]) {
        // Most rows have the text of the row before.
        let last = self.values.last().copied();
        if let Some(last) = last.filter(|last| self.text(*last).is_some_and(|known| known.data() == text)) {
            self.values.push(last);
            return;
        }
        let number = match self.numbers.get(text) {
            Some(number) => *number,
            None => {
                // A row group has fewer rows.
                let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
                self.texts.push(ByteArray::from(text.to_vec()));
                self.numbers.insert(text.to_vec(), number);
                number
            }
        };
        self.values.push(number);
    }

    fn text(&self, number: u32) -> Option<&ByteArray> {
        self.texts.get(usize::try_from(number).ok()?)
    }
}

impl Leaf {
    /// No values of a type that is neither a list nor a group.
    pub(super) fn new(of: &ColumnType, may_be_null: bool, is_repeated: bool) -> Self {
        let values = match of {
            ColumnType::Boolean => LeafValues::Boolean(Vec::new()),
            ColumnType::Integer(width) if width.bits <= 32 => LeafValues::Int32(Vec::new()),
            ColumnType::Integer(_) | ColumnType::Time => LeafValues::Int64(Vec::new()),
            ColumnType::Float32 => LeafValues::Float(Vec::new()),
            ColumnType::Float64 => LeafValues::Double(Vec::new()),
            ColumnType::Text | ColumnType::List(_) | ColumnType::Group(_) => LeafValues::Text(LeafTexts::default()),
        };
        let (definition, repetition) = (may_be_null.then(Vec::new), is_repeated.then(Vec::new));
        Self { values, definition, repetition, size: 0 }
    }

    /// The most bytes that the values can have in a file.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    fn push_levels(&mut self, definition: i16, repetition: i16) {
        self.size += 4;
        if let Some(levels) = &mut self.definition {
            levels.push(definition);
        }
        if let Some(levels) = &mut self.repetition {
            levels.push(repetition);
        }
    }

    /// Adds a place without a value.
    pub(super) fn push_null(&mut self, definition: i16, repetition: i16) {
        self.push_levels(definition, repetition);
    }

    /// Adds a value, or returns `false` for one of another type.
    pub(super) fn push(&mut self, cell: &Cell<'_>, definition: i16, repetition: i16) -> bool {
        match (&mut self.values, cell) {
            (LeafValues::Boolean(values), Cell::Boolean(value)) => values.push(*value),
            // The bits of an integer without a sign, as the specification has it.
            (LeafValues::Int32(values), Cell::Integer(value)) => values.push(low_bits(*value) as i32),
            (LeafValues::Int64(values), Cell::Integer(value)) => values.push(low_bits(*value)),
            (LeafValues::Float(values), Cell::Float(value)) => values.push(*value as f32),
            (LeafValues::Double(values), Cell::Float(value)) => values.push(*value),
            (LeafValues::Text(values), Cell::Text(text)) => {
                self.size += values.push(text);
            }
            _ => return false,
        }
        self.size += 8;
        self.push_levels(definition, repetition);
        true
    }

    /// Adds a time or another integer of 64 bits to a leaf that is required.
    pub(super) fn push_int64(&mut self, value: i64) {
        if let LeafValues::Int64(values) = &mut self.values {
            values.push(value);
            self.size += 8;
        }
    }

    /// Adds an integer of 32 bits to a leaf that is required.
    pub(super) fn push_int32(&mut self, value: i32) {
        if let LeafValues::Int32(values) = &mut self.values {
            values.push(value);
            self.size += 8;
        }
    }

    /// Adds a text; `None` to a leaf that is not required.
    pub(super) fn push_text(&mut self, text: Option<&[u8]>) {
        if let (LeafValues::Text(values), Some(text)) = (&mut self.values, text) {
            self.size += values.push(text);
        }
        self.push_levels(text.is_some().into(), 0);
    }

    /// Whether few of its values differ.
    pub(super) fn has_few_values(&self) -> bool {
        match &self.values {
            LeafValues::Boolean(_) => false,
            LeafValues::Int32(values) => has_few(values, |value| i64::from(*value)),
            LeafValues::Int64(values) => has_few(values, |value| *value),
            LeafValues::Float(_) | LeafValues::Double(_) => true,
            LeafValues::Text(values) => values.texts.len() <= 1 + values.values.len() / 2,
        }
    }

    /// Writes the values to a column, and forgets them.
    pub(super) fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let levels = (self.definition.as_deref(), self.repetition.as_deref());
        match &mut self.values {
            LeafValues::Boolean(values) => write::<BoolType>(column, values, levels)?,
            LeafValues::Int32(values) => write::<Int32Type>(column, values, levels)?,
            LeafValues::Int64(values) => write::<Int64Type>(column, values, levels)?,
            LeafValues::Float(values) => write::<FloatType>(column, values, levels)?,
            LeafValues::Double(values) => write::<DoubleType>(column, values, levels)?,
            LeafValues::Text(texts) => {
                write_texts(column, texts, levels)?;
                *texts = LeafTexts::default();
            }
        }
        self.definition.iter_mut().chain(&mut self.repetition).for_each(Vec::clear);
        self.size = 0;
        Ok(())
    }
}

/// The definition levels and the repetition levels.
type LeafLevels<'l> = (Option<&'l [i16]>, Option<&'l [i16]>);

/// The lower 64 bits.
fn low_bits(value: i128) -> i64 {
    value as i64
}

/// How many values are looked at.
const SAMPLE: usize = 1 << 12;

fn has_few<T>(values: &[T], number: impl Fn(&T) -> i64) -> bool {
    let step = (values.len() / SAMPLE).max(1);
    let mut sample: Vec<i64> = values.iter().step_by(step).map(number).collect();
    let count = sample.len();
    sample.sort_unstable();
    sample.dedup();
    sample.len() <= 1 + count / 16
}

fn write<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &mut Vec<T::T>,
    levels: LeafLevels<'_>,
) -> Result<()> {
    column.typed::<T>().write_batch(values, levels.0, levels.1)?;
    values.clear();
    Ok(())
}

/// Writes texts in batches: as values they take more room.
fn write_texts(column: &mut SerializedColumnWriter<'_>, texts: &LeafTexts, levels: LeafLevels<'_>) -> Result<()> {
    let column = column.typed::<ByteArrayType>();
    let mut numbers = texts.values.iter();
    let most = column.get_descriptor().max_def_level();
    let rows = levels.0.map_or(texts.values.len(), <[i16]>::len);
    let mut batch = Vec::with_capacity(BATCH);
    // What all texts of the batch are, if they are the same.
    let mut only = None;
    let mut from = 0;
    while from < rows {
        let mut to = (from + BATCH).min(rows);
        // A batch has whole rows.
        while levels.1.is_some_and(|levels| levels.get(to).is_some_and(|level| *level > 0)) {
            to += 1;
        }
        let part = |levels: Option<&'_ [i16]>| levels.and_then(|levels| levels.get(from..to).map(<[i16]>::to_vec));
        let (definition, repetition) = (part(levels.0), part(levels.1));
        let count = definition.as_ref().map_or(to - from, |part| part.iter().filter(|level| **level == most).count());
        let (own, rest) = numbers.as_slice().split_at_checked(count).unwrap_or((numbers.as_slice(), &[]));
        numbers = rest.iter();
        let first = own.first().filter(|first| own.iter().all(|number| number == *first));
        if first.is_none() || only != first || batch.len() != own.len() {
            batch.clear();
            batch.extend(own.iter().filter_map(|number| texts.text(*number).cloned()));
        }
        only = first;
        column.write_batch(&batch, definition.as_deref(), repetition.as_deref())?;
        from = to;
    }
    Ok(())
}
