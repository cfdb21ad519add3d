//! Pointers of Rust with a vtable, and the vtables of an image. rustc describes each vtable by a variable
//! `<shop::Circle as shop::Shape>::{vtable}`, whose type contains (`DW_AT_containing_type`) that of the
//! values.

use std::sync::Arc;

use gimli::{AttributeValue, Operation, constants as dw};

use super::entries::is_dropped;
use super::types::{TypeRef, Types};
use super::unit::Die;
use super::vtables::{VtableType, Vtables};
use crate::Error;
use crate::types::Language;

/// The most types of a trait of which values are shown.
const MOST: usize = 16;

/// The size of the pointers and counts. Other processors have no pointers with a vtable here.
const WORD: u64 = 8;

/// The size of a vtable with no more than the destructor, the size and the alignment of the values.
const WITHOUT_METHODS: u64 = 3 * WORD;

/// A pointer with a vtable.
#[derive(Clone, Debug)]
pub(super) struct RawTraitObject {
    /// `dyn shop::Shape`.
    pub(super) of: String,
    /// The first bit of the address of the value, or of the counts before it.
    pub(super) data: u64,
    /// The first bit of the address of the vtable.
    pub(super) vtable: u64,
    /// Whether there are counts.
    pub(super) is_counted: bool,
    /// The types that may be there.
    pub(super) types: Vec<RawDynamicType>,
}

/// A type that a pointer with a vtable may lead to.
#[derive(Clone, Debug)]
pub(super) struct RawDynamicType {
    pub(super) name: String,
    pub(super) of: TypeRef,
    pub(super) vtables: Vec<u64>,
    pub(super) align: u64,
}

impl Types<'_> {
    /// A pointer with a vtable: `&dyn T`, `Box<dyn T>`, `Rc<dyn T>`. `None` for every other type.
    pub(super) fn trait_object(&self, die: Die) -> Result<Option<RawTraitObject>, Error> {
        let name = self.text_name(die)?;
        if !name.contains("dyn ") || self.address_size(die)? != WORD {
            return Ok(None);
        }
        let is_counted = matches!(name.split_once('<'), Some(("Rc" | "Arc", _)));
        let (outer, pointer) = match is_counted {
            true => {
                let Some((outer, inner)) = self.part(die.into(), "ptr")? else { return Ok(None) };
                let Some((within, pointer)) = self.part(inner, "pointer")? else { return Ok(None) };
                (outer.saturating_add(within), pointer)
            }
            false => (0, die.into()),
        };
        let (Some(data), Some(vtable)) = (self.part(pointer, "pointer")?, self.part(pointer, "vtable")?) else {
            return Ok(None);
        };
        let Some(of) = dynamic_name(&name, is_counted) else { return Ok(None) };
        let types = self.implementors(of)?;
        let (data, vtable) = (outer.saturating_add(data.0), outer.saturating_add(vtable.0));
        Ok(Some(RawTraitObject { of: of.to_owned(), data, vtable, is_counted, types }))
    }

    /// The types with a vtable for a trait, in the order of their names.
    fn implementors(&self, of: &str) -> Result<Vec<RawDynamicType>, Error> {
        let vtables = match self.vtables.get() {
            Some(vtables) => Arc::clone(vtables),
            None => {
                let read = Arc::new(self.read_vtables()?);
                Arc::clone(self.vtables.get_or_init(|| read))
            }
        };
        let Some(known) = vtables.traits.get(&trait_of_object(of)) else { return Ok(Vec::new()) };
        let mut types = Vec::new();
        for (name, of) in known.iter().take(MOST) {
            let mut own = of.vtables.clone();
            if of.is_dropped {
                // That of another type may be kept for both.
                let same = known.values().filter(|other| other.layout == of.layout);
                own.extend(same.flat_map(|other| &other.vtables));
            }
            own.sort_unstable();
            own.dedup();
            if !own.is_empty() {
                types.push(RawDynamicType { name: name.clone(), of: of.of.into(), vtables: own, align: of.layout.2 });
            }
        }
        Ok(types)
    }

    fn read_vtables(&self) -> Result<Vtables, Error> {
        let mut vtables = Vtables::default();
        for unit in self.units.compiled_units() {
            let root = self.units.root(unit)?;
            if self.language(root) != Language::Rust {
                continue;
            }
            for (die, tag) in self.units.children(root)? {
                if tag != dw::DW_TAG_variable {
                    continue;
                }
                let name = self.text_name(die)?;
                let Some((of, object)) = name.strip_suffix("::{vtable}").and_then(names_of_vtable) else { continue };
                let Some(vtable) = self.type_of(die)? else { continue };
                let Some(target) = self.units.referred(vtable.die, dw::DW_AT_containing_type)? else { continue };
                let target_type = TypeRef::from(target);
                let alignment = match self.strip(target_type)? {
                    Some(of) => self.units.unsigned(of.die, dw::DW_AT_alignment)?.unwrap_or(1),
                    None => 1,
                };
                let layout = (self.type_size(vtable)?, self.type_size(target_type)?, alignment);
                let types = vtables.traits.entry(object.to_owned()).or_default();
                let known = types.entry(of.to_owned()).or_insert_with(|| VtableType {
                    of: target,
                    vtables: Vec::new(),
                    is_dropped: false,
                    layout,
                });
                match self.static_address(die)? {
                    Some(address) if is_dropped(address, 8) => known.is_dropped = true,
                    Some(address) => known.vtables.push(address),
                    // rustc describes only one of several vtables that it makes the same, which those with
                    // methods never are. Otherwise nothing uses it.
                    None => known.is_dropped |= layout.0.is_none_or(|size| size <= WITHOUT_METHODS),
                }
            }
        }
        Ok(vtables)
    }

    /// The link-time address of a static variable. `None` if it has none.
    fn static_address(&self, die: Die) -> Result<Option<u64>, Error> {
        let Some(AttributeValue::Exprloc(expression)) = self.units.own_attribute(die, dw::DW_AT_location)? else {
            return Ok(None);
        };
        let unit = self.units.unit(die.unit)?;
        let mut operations = expression.operations(unit.encoding());
        let first = operations.next().map_err(|error| self.units.error(die, error))?;
        Ok(match first {
            Some(Operation::Address { address }) => Some(address),
            Some(Operation::AddressIndex { index }) => {
                let address = self.units.dwarf_of(die.unit)?.address(unit, index);
                Some(address.map_err(|error| self.units.error(die, error))?)
            }
            _ => None,
        })
    }
}

/// The end of a name that begins a text: where a bracket closes that it did not open, or one of these
/// letters is outside of all brackets.
fn end_of(text: &str, letters: &[char]) -> usize {
    let (mut depth, mut before) = (0u32, ' ');
    for (at, letter) in text.char_indices() {
        match letter {
            _ if depth == 0 && letters.contains(&letter) => return at,
            '<' | '(' | '[' | '{' => depth = depth.saturating_add(1),
            // That of an arrow closes nothing.
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return at,
            },
            _ => {}
        }
        before = letter;
    }
    text.len()
}

/// The type and the trait of `<shop::Circle as shop::Shape>`.
fn names_of_vtable(name: &str) -> Option<(&str, &str)> {
    let inner = name.strip_prefix('<')?.strip_suffix('>')?;
    let mut from = 0;
    loop {
        let end = from + end_of(inner.get(from..)?, &[' ']);
        let rest = inner.get(end..)?;
        match rest.strip_prefix(" as ") {
            Some(object) => return Some((inner.get(..end)?, object)),
            None if rest.is_empty() => return None,
            None => from = end + 1,
        }
    }
}

/// What a pointer leads to: `dyn shop::Shape` of `&mut (dyn shop::Shape + core::marker::Send)`.
fn dynamic_name(pointer: &str, is_counted: bool) -> Option<&str> {
    let inner = match is_counted {
        true => pointer.split_once('<')?.1,
        false => super::rust_types::pointee_name(pointer),
    };
    let inner = inner.get(..end_of(inner, &[',']))?;
    let inner = inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(inner);
    inner.starts_with("dyn ").then_some(inner)
}

/// The traits that have no methods, and no vtable of their own.
const AUTO_TRAITS: [&str; 6] = [
    "core::marker::Send",
    "core::marker::Sync",
    "core::marker::Unpin",
    "core::marker::Freeze",
    "core::panic::unwind_safe::UnwindSafe",
    "core::panic::unwind_safe::RefUnwindSafe",
];

/// The trait of `dyn shop::Convert<u8, Out=u64> + core::marker::Send` as the name of a vtable has it:
/// `shop::Convert<u8>`.
fn trait_of_object(of: &str) -> String {
    let of = of.strip_prefix("dyn ").unwrap_or(of);
    let of = of.get(..end_of(of, &['+'])).unwrap_or(of).trim_end();
    if AUTO_TRAITS.contains(&of) {
        return "_".to_owned();
    }
    let Some((name, arguments)) = of.split_once('<').and_then(|(name, rest)| Some((name, rest.strip_suffix('>')?)))
    else {
        return of.to_owned();
    };
    let (mut kept, mut rest) = (Vec::new(), arguments);
    while !rest.is_empty() {
        let end = end_of(rest, &[',']);
        let argument = rest.get(..end).unwrap_or(rest);
        if end_of(argument, &['=']) == argument.len() {
            kept.push(argument.trim());
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    match kept.is_empty() {
        true => name.to_owned(),
        false => format!("{name}<{}>", kept.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_vtable_are_the_type_and_the_trait() {
        let of = |name| names_of_vtable(name);
        assert_eq!(of("<shop::Circle as shop::Shape>"), Some(("shop::Circle", "shop::Shape")));
        let closure = "main::main::{closure_env#0}<fn(u8) -> u8>";
        let call = "core::ops::function::Fn<(u32)>";
        assert_eq!(names_of_vtable(&format!("<{closure} as {call}>")), Some((closure, call)));
        let nested = "alloc::boxed::Box<(dyn a::B + core::marker::Send), alloc::alloc::Global>";
        assert_eq!(names_of_vtable(&format!("<{nested} as a::B>")), Some((nested, "a::B")));
        assert_eq!(of("<&mut u32 as _>"), Some(("&mut u32", "_")));
        assert_eq!((of("u32"), of("<u32>")), (None, None));
    }

    #[test]
    fn the_trait_of_a_pointer_is_that_of_the_vtables() {
        let of = |pointer, is_counted| dynamic_name(pointer, is_counted).map(trait_of_object);
        for (pointer, is_counted, expected) in [
            ("&dyn shop::Shape", false, "shop::Shape"),
            ("&mut (dyn shop::Shape + core::marker::Send)", false, "shop::Shape"),
            ("alloc::boxed::Box<dyn shop::Convert<u8, Out=u64>, alloc::alloc::Global>", false, "shop::Convert<u8>"),
            (
                "Box<(dyn core::ops::function::Fn<(u32), Output=u32> + core::marker::Send), alloc::alloc::Global>",
                false,
                "core::ops::function::Fn<(u32)>",
            ),
            (
                "Arc<dyn core::future::future::Future<Output=u32>, alloc::alloc::Global>",
                true,
                "core::future::future::Future",
            ),
            ("Box<dyn core::marker::Send, alloc::alloc::Global>", false, "_"),
        ] {
            assert_eq!(of(pointer, is_counted).as_deref(), Some(expected), "{pointer}");
        }
        assert_eq!((of("&shop::Shape", false), of("Rc<shop::Shape, alloc::alloc::Global>", true)), (None, None));
        assert_eq!(of("&alloc::boxed::Box<dyn a::B, alloc::alloc::Global>", false), None);
    }
}
