//! A Parquet file: its schema, its row groups, and how it is encoded.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::Result;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::cell::{Column, ColumnType};
use super::leaf::DICTIONARY;
use super::rows::RowBuffer;

/// The key of what a file says about itself.
const ABOUT: &str = "smark";

/// A file that is written.
pub(super) struct TableFile {
    writer: SerializedFileWriter<File>,
    path: PathBuf,
}

impl TableFile {
    /// Creates a file. The values of the first row group say how it is encoded; if `is_sorted`,
    /// they are in the order of the first column.
    pub(super) fn create(path: PathBuf, schema: &TypePtr, first: &RowBuffer, is_sorted: bool) -> anyhow::Result<Self> {
        let shown = || path.display().to_string();
        let file = File::options().write(true).create_new(true).open(&path).with_context(shown)?;
        let properties = properties(schema, first, is_sorted);
        let writer = SerializedFileWriter::new(file, Arc::clone(schema), properties).with_context(shown)?;
        Ok(Self { writer, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes so far.
    pub(super) fn size(&self) -> usize {
        self.writer.bytes_written()
    }

    /// Writes rows as a row group, and forgets them.
    pub(super) fn write(&mut self, rows: &mut RowBuffer) -> anyhow::Result<()> {
        self.write_group(rows).with_context(|| self.path.display().to_string())
    }

    fn write_group(&mut self, rows: &mut RowBuffer) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for leaf in &mut rows.leaves {
            let Some(mut column) = group.next_column()? else { break };
            leaf.write(&mut column)?;
            column.close()?;
        }
        group.close()?;
        rows.count = 0;
        Ok(())
    }

    /// Ends the file with what it says about itself.
    pub(super) fn finish(mut self, about: String) -> anyhow::Result<()> {
        self.writer.append_key_value_metadata(KeyValue::new(ABOUT.to_owned(), about));
        let file = self.writer.into_inner();
        file.map(|_| ()).with_context(|| self.path.display().to_string())
    }
}

/// How the columns are encoded.
fn properties(schema: &TypePtr, first: &RowBuffer, is_sorted: bool) -> WriterPropertiesPtr {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("smark version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(None);
    if is_sorted {
        let order = SortingColumn { column_idx: 0, descending: false, nulls_first: false };
        properties = properties.set_sorting_columns(Some(vec![order]));
    }
    let columns = SchemaDescriptor::new(Arc::clone(schema));
    for (column, leaf) in columns.columns().iter().zip(&first.leaves) {
        let path = column.path().clone();
        properties = properties.set_column_dictionary_enabled(path.clone(), leaf.has_few_values());
        // What follows a dictionary that became too large too.
        if let PhysicalType::INT32 | PhysicalType::INT64 = column.physical_type() {
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Arc::new(properties.build())
}

/// The schema of columns.
pub(super) fn schema(columns: &[Column]) -> Result<TypePtr> {
    let fields = columns.iter().map(|column| field(&column.name, &column.of, column.is_required));
    Ok(Arc::new(Type::group_type_builder("hit").with_fields(fields.collect::<Result<_>>()?).build()?))
}

fn field(name: &str, of: &ColumnType, is_required: bool) -> Result<TypePtr> {
    let repetition = if is_required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let primitive = |physical, logical| {
        let column = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        column.with_logical_type(logical).build()
    };
    let of = match of {
        ColumnType::Boolean => primitive(PhysicalType::BOOLEAN, None),
        ColumnType::Float32 => primitive(PhysicalType::FLOAT, None),
        ColumnType::Float64 => primitive(PhysicalType::DOUBLE, None),
        ColumnType::Text => primitive(PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnType::Time => primitive(PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
        ColumnType::Integer(width) => {
            let physical = if width.bits <= 32 { PhysicalType::INT32 } else { PhysicalType::INT64 };
            let bits = i8::try_from(width.bits).unwrap_or(64);
            primitive(physical, Some(LogicalType::integer(bits, width.is_signed)))
        }
        ColumnType::List(element) => {
            let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
            let list = list.with_fields(vec![field("element", element, false)?]).build()?;
            let group = Type::group_type_builder(name).with_repetition(repetition);
            group.with_logical_type(Some(LogicalType::List)).with_fields(vec![Arc::new(list)]).build()
        }
        ColumnType::Group(members) => {
            let fields = members.iter().map(|member| field(&member.name, &member.of, member.is_required));
            let group = Type::group_type_builder(name).with_repetition(repetition);
            group.with_fields(fields.collect::<Result<_>>()?).build()
        }
    };
    Ok(Arc::new(of?))
}
