//! Whole values (`%p{..}`): what is read for one, and how it is shown.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simple_markers_resolver::export::ValueBytes;
use simple_markers_resolver::types::{Language, Limits, NO_STEPS, ReadTable, Type, TypeTable, needs_load_bias};

/// The most bytes that are read for the whole values of a hit, with 16 bytes for each read.
pub const MAX_WHOLE: u16 = 4096 - 8;

/// What is read for a whole value: its bytes, and what its pointers lead to.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeInput {
    /// Where its bytes are.
    pub bytes: ValueBytes,
    /// The table of the plan that says what else is read ([`Plan::reads`](super::Plan::reads)).
    pub reads: usize,
    /// The first step for the value.
    pub start: u16,
    /// The most bytes that are read, with 16 bytes for each read.
    pub most: u16,
    /// How much is read of what its pointers lead to.
    pub limits: ReadLimits,
    /// Whether it is noted where the image is loaded.
    pub has_load_bias: bool,
}

/// How much is read of what the pointers of a value lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadLimits {
    /// The most elements of a collection.
    pub elements: u16,
    /// How many pointers are followed, if the form does not say it.
    pub depth: u32,
    /// The most bytes of a text.
    pub text: u16,
}

impl WholeInput {
    /// An input that reads a value without what it refers to.
    #[must_use]
    pub fn new(bytes: ValueBytes, most: u16, limits: ReadLimits) -> Self {
        Self { bytes, reads: usize::MAX, start: NO_STEPS, most, limits, has_load_bias: false }
    }

    /// The same with what a value of a type refers to. `levels` are those of the form. The table is
    /// one of `tables`, where it is added if it is not there.
    #[must_use]
    pub fn with_reads(
        self,
        (of, language, levels): (&Arc<Type>, Language, Option<u8>),
        tables: &mut Vec<Arc<ReadTable>>,
    ) -> Self {
        let ReadLimits { elements, depth, text } = self.limits;
        let limits = Limits { depth, elements: elements.into(), text: text.into(), ..Limits::default() };
        let mut table = ReadTable::new();
        let start = table.add(of, language, &limits, levels);
        let has_load_bias = needs_load_bias(of);
        Self { reads: table_number(tables, &Arc::new(table)), start, has_load_bias, ..self }
    }
}

/// How an argument is shown by its type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FiledType", into = "FiledType")]
pub struct ShownType {
    /// The type.
    pub of: Arc<Type>,
    /// The language in which it is written.
    pub language: Language,
    /// What is between the braces of `%p{..}` ([`simple_markers_resolver::record::value_form`]).
    pub form: Arc<str>,
    /// The bits of the value that were optimised out.
    pub gone: Vec<Range<u64>>,
    /// Those in registers that programs of the kernel cannot read.
    pub unread: Vec<Range<u64>>,
}

/// How an argument is shown, in plan files and recordings.
#[derive(Serialize, Deserialize)]
struct FiledType {
    form: Arc<str>,
    language: Language,
    /// The number of the type.
    of: usize,
    types: TypeTable,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unread: Vec<(u64, u64)>,
}

impl From<ShownType> for FiledType {
    fn from(ShownType { of, language, form, gone, unread }: ShownType) -> Self {
        let (types, numbers) = TypeTable::new(&[of]);
        let of = numbers.first().copied().flatten().unwrap_or(usize::MAX);
        let pairs = |ranges: Vec<Range<u64>>| ranges.into_iter().map(|range| (range.start, range.end)).collect();
        Self { form, language, of, types, gone: pairs(gone), unread: pairs(unread) }
    }
}

impl TryFrom<FiledType> for ShownType {
    type Error = String;

    fn try_from(FiledType { form, language, of, types, gone, unread }: FiledType) -> Result<Self, String> {
        let types = types.types("types").map_err(|error| error.to_string())?;
        let of = types.get(of).ok_or("`of` is the number of no type")?;
        let ranges = |pairs: Vec<(u64, u64)>| pairs.into_iter().map(|(start, end)| start..end).collect();
        Ok(Self { of: Arc::clone(of), language, form, gone: ranges(gone), unread: ranges(unread) })
    }
}

/// The number of a table among those of a plan. It is added if it is not there.
pub(crate) fn table_number(tables: &mut Vec<Arc<ReadTable>>, table: &Arc<ReadTable>) -> usize {
    tables.iter().position(|known| known == table).unwrap_or_else(|| {
        tables.push(Arc::clone(table));
        tables.len() - 1
    })
}
