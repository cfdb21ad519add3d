//! What the debug information says: units, functions and scopes, lines, variables, their locations and types (DWARF 2 to 5).
//!
//! Owns gimli: none of its types leaves this folder. It knows nothing of markers: it answers for addresses, names, files and lines.
//!
//! Layers, each of which owns its cache and uses only those to its left: `Units` (`units.rs`) <- `Lines` (`lines.rs`) <- `Scopes`
//! (`scopes.rs`) <- `Names` (`names.rs`), and `Units` <- `Types` (`types.rs`) <- `Locations` (`locations.rs`). [`DebugInfo`]
//! (`debug_info.rs`) stands in front of them.

mod aranges;
mod debug_info;
mod definitions;
mod describe;
mod entries;
mod entry_value;
mod expression;
pub(crate) mod files;
mod frame;
mod functions;
mod landing_pads;
#[cfg(test)]
mod layers;
mod line_absence;
pub(crate) mod lines;
mod location_list;
mod locations;
#[cfg(test)]
mod maker;
mod members;
mod names;
mod next_line;
mod per_unit;
mod rust_types;
mod scopes;
mod sections;
mod shared_place;
mod split;
mod steps;
mod tables;
#[cfg(test)]
mod testing;
mod type_names;
#[cfg(test)]
mod type_tests;
mod types;
mod units;
mod unsupported;
mod variable;
mod variants;

pub use debug_info::DebugInfo;
pub(crate) use definitions::Definition;
pub use frame::Frame;
pub(crate) use line_absence::{CodeState, LineAbsence};
pub use location_list::Described;
pub use names::Lookup;
pub(crate) use next_line::NoLine;
pub use scopes::{Doubt, Scope};
pub use sections::Sections;
pub use split::{SplitFiles, SplitUnit};
pub use steps::{Projection, Step};
pub use types::TypeRef;
pub use units::Die;
pub use unsupported::{
    ArrayProblem, BaseTypeProblem, ConstantProblem, EntryValue, ExceptionTableProblem, FrameBaseProblem, Malformed,
    NoSuchPart, Operation, PlaceProblem, Unsupported,
};
