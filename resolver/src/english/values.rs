//! What stands in place of a value that is not known, in English.

use std::fmt::Write as _;

use crate::types::ValueProblem;

use super::types::opaque;

/// What stands in place of a value: `<optimised out>`.
pub(crate) fn problem(problem: &ValueProblem) -> String {
    let text = match problem {
        ValueProblem::OptimizedOut => "<optimised out>",
        ValueProblem::UnreadRegister => "<unreadable>",
        ValueProblem::Incomplete => "<not all of it was read>",
        ValueProblem::NotAligned => "<not at a whole byte>",
        ValueProblem::NoSize => "<of no known size>",
        ValueProblem::TooLarge => "<too large>",
        ValueProblem::Unreadable { address, length } => return format!("<unreadable: {length} at {address:#x}>"),
        ValueProblem::NotCaptured => "..",
        ValueProblem::NoLength => "<an array of no known length>",
        ValueProblem::NoElementSize => "<elements of no known size>",
        ValueProblem::InvalidBoolean(bits) => return format!("<invalid bool {bits}>"),
        ValueProblem::InvalidCharacter(code) => return format!("<invalid char {code:#x}>"),
        ValueProblem::InvalidFloat(bits) => return format!("<invalid float {bits:#x}>"),
        ValueProblem::FloatFormat => "<a float of another format>",
        ValueProblem::InvalidEnumerator(value) => return format!("<invalid enum {value}>"),
        ValueProblem::InvalidDiscriminant { of, value } => return format!("<invalid {of}: discriminant {value}>"),
        ValueProblem::DiscriminantKind => "<a discriminant of an unknown kind>",
        ValueProblem::Opaque { reason, bytes } => {
            let mut text = format!("<{}>", opaque(reason));
            for (index, byte) in bytes.iter().enumerate() {
                let space = if index == 0 { " bytes " } else { " " };
                // Writing to a String cannot fail.
                let _ = write!(text, "{space}{byte:02x}");
            }
            return text;
        }
        ValueProblem::MaybeUninitialized { of } => return of.to_string(),
        ValueProblem::NoMember(name) => return format!("<no member {name}>"),
        ValueProblem::Inconsistent => "<inconsistent>",
    };
    text.to_owned()
}
