//! Hits as Parquet files (`docs/parquet.md`; the format:
//! <https://parquet.apache.org/docs/file-format/>).
//!
//! A data set is a folder with a folder for each name of a marker, and in it one for each hour.
//! Nothing here reads a recording: [`DataSet`] takes its description and its hits.
//!
//! | file | what |
//! | --- | --- |
//! | `cell` | types of columns, and values of them |
//! | `leaf`, `rows` | rows as the values and levels of their leaves |
//! | `file` | a file with its row groups |
//! | `place`, `place_cell` | whole values: the column of a shape, and its cells |
//! | `argument` | the columns of an argument, and its cells |
//! | `layout` | the columns of a table |
//! | `table` | a table: its rows, and its files by the hour |
//! | `folder` | where the files are until they are complete |
//! | `recordings`, `end` | the table of recordings, and how a recording ended |
//! | `columns` | the table of columns |
//! | `small_table` | what these two tables have in common |
//! | `about` | what files say about themselves |

mod about;
mod argument;
mod cell;
mod columns;
mod data_set;
mod end;
mod file;
mod folder;
mod layout;
mod leaf;
mod name;
mod place;
mod place_cell;
mod recordings;
mod rows;
mod small_table;
mod table;

pub(crate) use self::data_set::DataSet;
pub(crate) use self::end::DataSetEnd;
pub(crate) use self::folder::DataSetFolder;
pub(crate) use self::layout::MarkerShapes;
