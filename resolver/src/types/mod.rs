//! The type of an argument, as plain data that suffices to read and print a value.
//!
//! A type is a tree that is cut off behind pointers at a fixed depth. Types may refer to each other
//! in cycles; a tree may not.

mod choice;
mod chosen_reader;
mod collection;
mod collection_reader;
mod decimal;
mod dynamic;
mod float;
mod functions;
mod holes;
mod layout;
mod limits;
mod member_place;
mod memory;
mod names;
mod notation;
mod object;
mod printf;
mod problem;
mod quote;
mod read_collection;
mod read_dynamic;
mod read_table;
mod render;
mod shape;
mod table;
mod tree;
mod tree_json;
mod tree_members;
mod tree_reader;
#[cfg(test)]
mod tree_tests;
mod tree_text;
mod type_path;
mod wrappers;

pub use choice::MemberChoice;
pub use collection::{BitPlace, BlockPosition, Collection, CollectionLayout, CollectionPart, NumberPlace};
pub use dynamic::{Dynamic, DynamicType};
pub use functions::{name_functions, needs_load_bias};
pub use holes::members_at;
pub use limits::Limits;
pub use member_place::{
    MemberContent, MemberPlace, MemberProblem, PlaceStep, VariantTest, is_name_of, variant_numbers,
};
pub use memory::{MemoryChunk, MemoryFunction, MemoryRead, MemorySnapshot, ValueMemory};
pub use names::Names;
pub use object::{Object, ReadContext};
pub use printf::printf;
pub use problem::ValueProblem;
pub use read_table::{FollowStep, MAX_READ_STEPS, NO_STEPS, ReadCount, ReadPlace, ReadStep, ReadTable};
pub use render::{RenderedText, render};
pub(crate) use shape::{AWAITED, NULLOPT, NULLPTR, OPTIONAL, TARGET, VALUELESS};
pub use shape::{FutureState, Language, Member, OpaqueReason, Sequence, SequenceKind, Shape, Type, Variant, Variants};
pub use table::{MAX_TYPE_NESTING, MAX_TYPES, TypeTable};
pub use tree::{
    AddressKind, AddressValue, DynamicValue, FloatValue, FutureValue, IntegerValue, IntervalValue, ListValue, MapValue,
    MemberValue, StructureValue, TextValue, ValueTree, VariantValue,
};
pub use tree_json::write_json;
pub use tree_members::VariantRole;
pub use tree_reader::{tree, tree_of};
pub use tree_text::{write_lines, write_text};
pub use type_path::{TypeNotation, TypePath};
pub use wrappers::short_name;
pub(crate) use wrappers::{is_letter, is_library_name, names_text, pointee, transparent};
