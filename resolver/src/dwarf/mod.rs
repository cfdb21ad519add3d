//! Debug information: units, functions and scopes, lines, variables, their locations and types
//! (DWARF 2 to 5).
//!
//! This folder owns gimli: none of gimli's types leaves it. It knows nothing about markers. It
//! answers questions about addresses, names, files and lines.
//!
//! Each layer owns its cache and uses only the layers to its left: `Units` (`units.rs`) <- `Lines`
//! (`lines.rs`) <- `Scopes` (`scopes.rs`) <- `Names` (`names.rs`), and `Units` <- `Types`
//! (`types.rs`) <- `Locations` (`locations.rs`). [`DebugInfo`] (`debug_info.rs`) is the facade.

mod aranges;
mod call_frames;
mod coroutines;
mod debug_info;
mod declaring_block;
mod definitions;
mod describe;
mod entries;
mod entry_value;
mod entry_walk;
mod expression;
mod file_tables;
pub(crate) mod files;
mod frame;
mod function_result;
mod function_search;
mod functions;
mod imported;
mod labels;
mod landing_pads;
#[cfg(test)]
mod layers;
mod line_absence;
mod line_code;
pub(crate) mod lines;
mod list_start;
mod location_list;
mod locations;
mod lookup;
mod marked_blocks;
mod members;
mod missing_block;
mod names;
mod next_line;
mod object_block;
mod per_unit;
mod producer;
mod rust_types;
mod scopes;
mod sections;
mod shared_place;
mod split;
mod split_files;
mod statements;
mod statics;
mod steps;
mod tables;
#[cfg(test)]
mod test_dwarf;
#[cfg(test)]
mod test_machine;
mod thread_locals;
mod trait_objects;
mod type_names;
mod type_path;
mod type_scopes;
#[cfg(test)]
mod type_tests;
mod types;
mod unit;
mod units;
mod unoptimized;
mod unsupported;
mod variable;
mod variable_location;
mod variables_at;
mod variants;
mod views;
mod visible_names;
mod vtables;
mod whole_scope;
mod written_inlined;

pub use debug_info::DebugInfo;
pub(crate) use definitions::{Definition, DefinitionFilter};
pub(crate) use describe::{encoding_name, tag_name};
pub use frame::{Frame, Moment};
pub(crate) use function_result::FunctionResult;
pub(crate) use function_search::{FoundFunction, FunctionInstance};
pub(crate) use labels::{CodeAtLabel, Label, LabelCopy, LinePlaces};
pub(crate) use line_absence::{CodeState, LineAbsence};
pub(crate) use line_code::{LineCode, LinePiece};
pub use lookup::Lookup;
pub(crate) use marked_blocks::MarkedBlock;
pub(crate) use members::ClassMember;
pub(crate) use next_line::NoLine;
pub(crate) use producer::{Frontiers, Producer};
pub use scopes::{Doubt, Scope};
pub use sections::Sections;
pub use shared_place::SharingVariable;
pub use split_files::{SplitFiles, SplitUnit};
pub(crate) use statements::StatementRows;
pub use steps::{Projection, Step};
pub use types::TypeRef;
pub use unit::Die;
pub use unsupported::{
    ArrayProblem, BaseTypeProblem, ConstantProblem, EntryValue, ExceptionTableProblem, FrameBaseProblem, Malformed,
    NoSuchPart, Operation, PlaceProblem, Unsupported,
};
pub use variable_location::{Change, VariableLocation};
