//! Whether an argument can be kept, from its conversion and the name of its type. The rules are
//! those of `markers/src/check/kept.rs` and `simple_marker.h`.
//!
//! If the type is unknown the answer is yes, and the compiler decides.

use std::sync::Arc;

use super::change::{FixRefusal, Keep, SourceLanguage};
use crate::resolve::{Argument, DeclaredArgument};

/// How an argument is kept.
///
/// # Errors
///
/// A register cannot hold it.
pub(super) fn keepable(
    language: SourceLanguage,
    declared: &DeclaredArgument,
    argument: Option<&Argument>,
) -> Result<Keep, FixRefusal> {
    if language == SourceLanguage::Rust && declared.form.is_some() {
        return Err(FixRefusal::WholeValue);
    }
    let type_name = argument.and_then(|argument| argument.type_name.clone());
    let letter = letter(declared);
    let is_address = declared.text.starts_with('&');
    let kept = match language {
        SourceLanguage::Rust => of_rust(letter, is_address, type_name.as_deref()),
        SourceLanguage::C => of_c(type_name.as_deref()),
    };
    kept.ok_or_else(|| FixRefusal::CannotKeep { argument: Arc::clone(&declared.text), type_name })
}

/// How an argument of a marker in Rust is kept that has this type, such as a compiler's message names it.
///
/// # Errors
///
/// A register cannot hold it.
pub fn keep_of_type(declared: &DeclaredArgument, type_name: &str) -> Result<Keep, FixRefusal> {
    of_rust(letter(declared), declared.text.starts_with('&'), Some(type_name)).ok_or_else(|| FixRefusal::CannotKeep {
        argument: Arc::clone(&declared.text),
        type_name: Some(type_name.into()),
    })
}

/// The last letter of the conversion of an argument.
pub(super) fn letter(declared: &DeclaredArgument) -> Option<char> {
    declared.conversion.as_deref().and_then(|conversion| conversion.chars().next_back())
}

fn of_rust(letter: Option<char>, is_address: bool, type_name: Option<&str>) -> Option<Keep> {
    match (letter, type_name) {
        (Some('p'), _) if is_address => Some(Keep::Value),
        (Some('s'), None) => None,
        (_, None) => Some(Keep::Value),
        (Some('p'), Some(name)) => pointer(name),
        (Some('s'), Some(name)) => text(name),
        (_, Some(name)) => number(name),
    }
}

/// A type without its references, and the number of references removed.
fn behind_references(mut name: &str) -> (&str, u8) {
    let mut references = 0_u8;
    while let Some(to) = name.strip_prefix('&') {
        name = to.strip_prefix("mut ").unwrap_or(to);
        references = references.saturating_add(1);
    }
    (name, references)
}

/// The last component of a type path, without its generic arguments.
fn last_component(name: &str) -> &str {
    let path = name.split('<').next().unwrap_or_default();
    path.rsplit("::").next().unwrap_or_default()
}

fn number(name: &str) -> Option<Keep> {
    let (name, references) = behind_references(name);
    match (last_component(name), references) {
        (scalar, 0) if is_scalar(scalar) => Some(Keep::Value),
        (scalar, _) if is_scalar(scalar) => Some(Keep::Pointee(references)),
        ("Wrapping", _) => Some(Keep::Inner),
        ("Cell", _) => Some(Keep::Get),
        (of, _) if of.starts_with("NonZero") => Some(Keep::Get),
        (of, _) if of.starts_with("Atomic") => Some(Keep::Load),
        _ => None,
    }
}

fn pointer(name: &str) -> Option<Keep> {
    let is_raw = name.starts_with("*const ") || name.starts_with("*mut ");
    let (to, references) = behind_references(name.trim_start_matches("*const ").trim_start_matches("*mut "));
    if references > 0 || is_raw {
        return Some(match to {
            "str" if references <= 1 && !is_raw => Keep::AsPointer,
            slice if slice.starts_with('[') && !slice.contains(';') && references <= 1 && !is_raw => Keep::AsPointer,
            wide if wide == "str" || wide.starts_with("dyn ") || wide.starts_with('[') && !wide.contains(';') => {
                if is_raw || references > 1 {
                    return None;
                }
                Keep::Address
            }
            _ => Keep::Value,
        });
    }
    match last_component(name) {
        "String" | "Vec" | "NonNull" => Some(Keep::AsPointer),
        "Box" | "Rc" | "Arc" => Some(Keep::Address),
        "Option" => name.split_once("<&").and_then(|(_, to)| {
            let to = to.strip_prefix("mut ").map_or(Some(to), |_| None)?;
            (to != "str>" && !to.starts_with("[") && !to.starts_with("dyn ")).then_some(Keep::Optional)
        }),
        _ => (name.starts_with("fn(") || name.contains(" fn(")).then_some(Keep::Function),
    }
}

/// For text, `keep` takes only a pointer to C characters.
fn text(name: &str) -> Option<Keep> {
    let (to, references) = behind_references(name);
    match last_component(to) {
        "CStr" if references == 1 => Some(Keep::AsPointer),
        "CString" => Some(Keep::AsPointer),
        _ => matches!(name, "*const i8" | "*const u8" | "*mut i8" | "*mut u8").then_some(Keep::Value),
    }
}

/// Whether a type of Rust has `as_ptr()` and `len()`.
pub(super) fn is_text(name: &str) -> bool {
    let (to, _) = behind_references(name);
    to == "str" || to.starts_with('[') || matches!(last_component(to), "String" | "Vec")
}

fn is_scalar(name: &str) -> bool {
    const SCALARS: [&str; 14] =
        ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "bool", "char", "f32", "f64"];
    SCALARS.contains(&name)
}

fn of_c(type_name: Option<&str>) -> Option<Keep> {
    let name = type_name.unwrap_or_default();
    let is_pointer = name.contains('*') || name.contains('[');
    let is_wide = ["struct ", "union ", "class "].iter().any(|kind| name.starts_with(kind))
        || ["long double", "_Complex", "complex ", "__int128", "_Float128"].iter().any(|wide| name.contains(wide));
    (is_pointer || !is_wide).then_some(Keep::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_register_holds_is_kept() {
        let rust = |letter: char, name: &str| of_rust(Some(letter), false, Some(name));
        assert_eq!(rust('u', "u64"), Some(Keep::Value));
        assert_eq!(rust('f', "f32"), Some(Keep::Value));
        assert_eq!(rust('u', "&u64"), Some(Keep::Pointee(1)));
        assert_eq!(rust('d', "&&mut i32"), Some(Keep::Pointee(2)));
        assert_eq!(rust('u', "core::num::wrapping::Wrapping<u32>"), Some(Keep::Inner));
        assert_eq!(rust('u', "&core::cell::Cell<u32>"), Some(Keep::Get));
        assert_eq!(rust('u', "NonZero<u32>"), Some(Keep::Get));
        assert_eq!(rust('d', "core::sync::atomic::AtomicBool"), Some(Keep::Load));
        assert_eq!(rust('d', "server::Queue"), None);
        for name in ["&str", "alloc::string::String", "&[u8]", "&[u8; 4]", "&&core::ffi::c_str::CStr"] {
            assert_eq!(rust('s', name), None, "{name}");
        }
        assert_eq!(rust('s', "*const i8"), Some(Keep::Value));
        assert_eq!(rust('s', "&core::ffi::c_str::CStr"), Some(Keep::AsPointer));
        for name in ["&u8", "&[u8; 4]", "*mut server::Queue", "&&str"] {
            let expected = if name == "&&str" { None } else { Some(Keep::Value) };
            assert_eq!(rust('p', name), expected, "{name}");
        }
        for name in ["&str", "&[u8]", "&mut [u8]", "core::ptr::non_null::NonNull<u8>", "alloc::vec::Vec<u8, A>"] {
            assert_eq!(rust('p', name), Some(Keep::AsPointer), "{name}");
        }
        for name in ["&dyn core::fmt::Debug", "alloc::boxed::Box<u8>", "alloc::sync::Arc<str>"] {
            assert_eq!(rust('p', name), Some(Keep::Address), "{name}");
        }
        assert_eq!(rust('p', "fn(u8) -> u8"), Some(Keep::Function));
        assert_eq!(rust('p', "unsafe extern \"C\" fn()"), Some(Keep::Function));
        assert_eq!(rust('p', "core::option::Option<&u8>"), Some(Keep::Optional));
        assert_eq!(rust('p', "core::option::Option<&str>"), None);
        assert_eq!(rust('p', "core::option::Option<u8>"), None);
        assert_eq!(of_rust(Some('p'), true, Some("&server::Queue")), Some(Keep::Value));
        assert_eq!(of_rust(Some('u'), false, None), Some(Keep::Value));
    }

    #[test]
    fn structures_of_c_are_not_kept_and_pointers_to_them_are() {
        let is_kept = |name: &str| of_c(Some(name)).is_some();
        for name in ["int", "struct request *", "enum state", "char [16]", "double", "_Bool"] {
            assert!(is_kept(name), "{name}");
        }
        for name in ["struct request", "union value", "long double", "__int128"] {
            assert!(!is_kept(name), "{name}");
        }
    }
}
