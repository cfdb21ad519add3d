//! Why the structure of a type is not known, in English.

use std::borrow::Cow;

use crate::dwarf::{encoding_name, tag_name};
use crate::types::OpaqueReason;

use super::dwarf::{array, place};

/// Why the structure of a type is not known.
pub(crate) fn opaque(why: &OpaqueReason) -> Cow<'static, str> {
    let text = match why {
        OpaqueReason::Unreadable(error) => return error.to_string().into(),
        OpaqueReason::Encoding(encoding) => return encoding_name(*encoding).into(),
        OpaqueReason::Entry(tag) => return tag_name(*tag).into(),
        OpaqueReason::Filed(words) => return words.to_string().into(),
        OpaqueReason::Uninitialized => "uninit",
        OpaqueReason::OnlyDeclared => "declared only",
        OpaqueReason::TooManyTypes => "too many types",
        OpaqueReason::TooDeep => "nested too deep",
        OpaqueReason::NullPointer => "nullptr",
        OpaqueReason::MemberPointer => "a pointer to a member",
        OpaqueReason::PointerAddressSpace => "a pointer into an address space of its own",
        OpaqueReason::ByteOrder => "a number with its own byte order",
        OpaqueReason::NumberSize => "a number of unknown size",
        OpaqueReason::BitSize => "a number with an explicit bit size",
        OpaqueReason::NoEncoding => "a number of unknown encoding",
        OpaqueReason::FloatFormat => "a float of another format",
        OpaqueReason::Array(problem) => array(*problem),
        OpaqueReason::EnumerationSize => "an enumeration of unknown size",
        OpaqueReason::DiscriminantPlace => "a discriminant at an unknown place",
        OpaqueReason::NoDiscriminant => "several variants without a discriminant",
        OpaqueReason::MemberPlace(problem) => place(*problem),
    };
    text.into()
}
