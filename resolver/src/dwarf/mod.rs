//! What the debug information says: units, functions and scopes, lines, variables, their locations and types (DWARF 2 to 5).
//!
//! Owns gimli; no type of its leaves this folder. It knows nothing of markers: it answers for addresses, names, files and lines.

mod aranges;
mod definitions;
mod describe;
mod entries;
mod entry_value;
mod expression;
mod fate;
pub(crate) mod files;
mod frame;
mod functions;
mod landing_pads;
pub(crate) mod lines;
mod location_list;
#[cfg(test)]
mod maker;
mod members;
mod names;
mod next_line;
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

pub(crate) use definitions::Definition;
pub(crate) use fate::{LineFate, State};
pub use frame::Frame;
pub use location_list::Described;
pub use names::Lookup;
pub(crate) use next_line::NoLine;
pub use scopes::{Doubt, Scope, ScopeFrame};
pub use sections::Sections;
pub use split::{SplitFiles, SplitUnit};
pub use steps::{Projection, Step};
pub use types::TypeRef;
pub use units::{DebugInfo, Die};
pub use unsupported::{
    ArrayProblem, BaseTypeProblem, ConstantProblem, EntryValue, ExceptionTableProblem, FrameBaseProblem, Malformed,
    NoSuchPart, Operation, PlaceProblem, Unsupported,
};
