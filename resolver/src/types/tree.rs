//! A whole value as a tree of plain data. Text and JSON are written from it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use super::float::{Class, Float};
use super::wrappers::short_name;
use super::{FutureState, ValueProblem};

/// A value, with what its pointers lead to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ValueTree {
    /// A value of a type that has no values to tell apart (`()`, `void`).
    Void,
    /// An integer.
    Integer(IntegerValue),
    /// A Boolean.
    Boolean(bool),
    /// A Unicode scalar value.
    Character(char),
    /// A UTF-16 code unit that is half of a pair.
    HalfCharacter(u16),
    /// A floating-point number.
    Float(FloatValue),
    /// A text.
    Text(TextValue),
    /// An address.
    Address(Box<AddressValue>),
    /// A pointer to a value whose type only the vtable tells.
    Dynamic(Box<DynamicValue>),
    /// An enumerator.
    Enumerator {
        /// Its name.
        name: Arc<str>,
        /// Its value.
        value: i128,
    },
    /// Several enumerators, each of which stands for one bit.
    Flags {
        /// Their names with `|` between them, and the other bits in hexadecimal.
        names: String,
        /// All bits.
        bits: u64,
    },
    /// A structure, tuple, class or union.
    Structure(StructureValue),
    /// A value of a type with variants.
    Variant(Box<VariantValue>),
    /// The future of an `async` function or block.
    Future(Box<FutureValue>),
    /// An array, list or set.
    List(ListValue),
    /// A map.
    Map(MapValue),
    /// A span of time.
    Duration(Duration),
    /// An address of the internet.
    Internet(IpAddr),
    /// An address of the internet with a port.
    Socket(SocketAddr),
    /// A range of Rust.
    Interval(Box<IntervalValue>),
    /// A value that is made when it is needed first, and is not there yet.
    Uninitialized,
    /// It is not known.
    Problem(ValueProblem),
    /// It is omitted, because a limit was reached.
    Cut,
}

/// An integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerValue {
    /// The bits, extended with zeros.
    pub bits: u128,
    /// How many bits it has, at most 128.
    pub size: u64,
    /// Whether the bits are a two's complement.
    pub is_signed: bool,
}

/// A floating-point number.
#[derive(Clone, Debug, PartialEq)]
pub struct FloatValue {
    pub(super) number: Float,
    /// The shortest text that reads back as the same number: `0.1`, `inf`, `NaN`.
    pub text: String,
}

/// A text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextValue {
    /// The bytes, which need not be UTF-8.
    pub bytes: Vec<u8>,
    /// Whether a limit was reached before its end.
    pub is_cut: bool,
}

/// An address, and what is there.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressValue {
    /// The address.
    pub address: u64,
    /// What kind of pointer it is.
    pub kind: AddressKind,
    /// The value at the address. `None` if the pointer is not followed.
    pub to: Option<ValueTree>,
    /// The function that begins at the address; `None` if it is not known, and for other addresses.
    pub function: Option<Arc<str>>,
}

/// What kind of pointer holds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// A pointer of C, or a raw pointer of Rust.
    Raw,
    /// The address of a function.
    Function,
    /// A reference.
    Reference,
    /// A pointer that owns its target: `Box`, `Rc`.
    Owner,
}

/// A pointer of Rust to a value whose type only the vtable tells.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicValue {
    /// The trait: `dyn shop::Shape`.
    pub of: Arc<str>,
    /// The address of the value, or of the counts before it.
    pub address: u64,
    /// The address of the vtable.
    pub vtable: u64,
    /// What kind of pointer it is.
    pub kind: AddressKind,
    /// The types that have the vtable, by their names with scopes: several if they share it, and none if no
    /// type of the image has it.
    pub types: Vec<Arc<str>>,
    /// The value. `None` if the type is not known, the pointer is not followed, or nothing can be read there.
    pub value: Option<ValueTree>,
}

/// A structure, tuple, class or union.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureValue {
    /// The name of the type without path and parameters. Starts with `(` for a tuple without a name.
    pub name: Arc<str>,
    /// Whether the members have no names other than their positions.
    pub is_tuple: bool,
    /// The members, in declaration order.
    pub members: Vec<MemberValue>,
    /// Whether members are missing at the end, because a limit was reached.
    pub is_cut: bool,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberValue {
    /// Its name. Empty for an anonymous structure or union, and for a base class.
    pub name: Arc<str>,
    /// Its value.
    pub value: ValueTree,
}

/// A value of a type with variants.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantValue {
    /// The name of the type without path and parameters: `Option`.
    pub of: Arc<str>,
    /// The name of the variant. That of a `std::variant` is its number.
    pub name: Arc<str>,
    /// The members of the variant: a structure with the name of the variant. In C++ its value.
    pub value: ValueTree,
    /// The members that all variants have.
    pub common: Vec<MemberValue>,
}

/// The future of an `async` function or block of Rust.
#[derive(Clone, Debug, PartialEq)]
pub struct FutureValue {
    /// Its name with the scopes: `shop::fetch::{async_fn#0}`.
    pub name: Arc<str>,
    /// Its state.
    pub state: FutureState,
    /// The variables that it keeps.
    pub variables: Vec<MemberValue>,
    /// What it waits for; `None` if that is not known, and in other states.
    pub awaited: Option<ValueTree>,
    /// Whether variables are missing at the end, because a limit was reached.
    pub is_cut: bool,
}

/// An array, list or set.
#[derive(Clone, Debug, PartialEq)]
pub struct ListValue {
    /// The first elements, or all.
    pub items: Vec<ValueTree>,
    /// How many elements there are. `None` if that is not known; then some are missing.
    pub total: Option<u64>,
    /// Whether it is a set.
    pub is_set: bool,
}

/// A map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapValue {
    /// The first keys and their values, or all.
    pub entries: Vec<(ValueTree, ValueTree)>,
    /// How many keys there are. `None` if that is not known; then some are missing.
    pub total: Option<u64>,
    /// Whether the type of the keys is text.
    pub has_text_keys: bool,
}

/// A range of Rust: `1..5`, `..=5`.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalValue {
    /// The start; `None` if the type has none.
    pub start: Option<ValueTree>,
    /// The end; `None` if the type has none.
    pub end: Option<ValueTree>,
    /// Whether the end is part of it.
    pub is_closed: bool,
    /// Whether it was an iterator that came to its end: then nothing is part of it.
    pub is_exhausted: bool,
}

impl IntegerValue {
    /// The number. `None` if it does not fit, which an unsigned one of 128 bits may not.
    #[must_use]
    pub fn number(self) -> Option<i128> {
        match self.is_signed {
            true => Some(super::object::number(self.bits, self.size, true)),
            false => i128::try_from(self.bits).ok(),
        }
    }
}

impl FloatValue {
    /// The number, if its format has no numbers that are no `f64`; `None` otherwise, also if it is one.
    #[must_use]
    pub fn double(&self) -> Option<f64> {
        let is_wider = matches!(self.number.class, Class::Finite { fraction, .. } if fraction > 52);
        if is_wider { None } else { self.text.parse().ok() }
    }
}

impl From<f64> for FloatValue {
    fn from(number: f64) -> Self {
        Self { number: Float::double(number), text: format!("{number:?}") }
    }
}

impl DynamicValue {
    /// The name of the type, if it is known and the value does not say it itself.
    pub(super) fn untold_type(&self) -> Option<&str> {
        let [name] = &*self.types else { return None };
        match &self.value {
            // A closure and a future have the function in their names.
            Some(ValueTree::Structure(structure)) if structure.name.ends_with('}') => None,
            Some(ValueTree::Structure(structure)) if *structure.name == *short_name(name) => None,
            Some(ValueTree::Future(_)) => None,
            _ => Some(name),
        }
    }
}

impl ListValue {
    /// How many elements are missing: 0 if none is, `None` if that is not known.
    #[must_use]
    pub fn rest(&self) -> Option<u64> {
        Some(self.total?.saturating_sub(self.items.len() as u64))
    }
}

impl VariantValue {
    /// Whether it has a number in place of a name, as those of a `std::variant` have.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        self.name.starts_with(|first: char| first.is_ascii_digit())
    }
}

impl MapValue {
    /// How many keys are missing: 0 if none is, `None` if that is not known.
    #[must_use]
    pub fn rest(&self) -> Option<u64> {
        Some(self.total?.saturating_sub(self.entries.len() as u64))
    }
}

impl ValueTree {
    /// Whether a limit caused something to be omitted.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let any = |members: &[MemberValue]| members.iter().any(|member| member.value.is_cut());
        match self {
            Self::Cut => true,
            Self::Text(text) => text.is_cut,
            Self::Address(address) => address.to.as_ref().is_some_and(Self::is_cut),
            Self::Dynamic(dynamic) => dynamic.value.as_ref().is_some_and(Self::is_cut),
            Self::Structure(structure) => structure.is_cut || any(&structure.members),
            Self::Variant(variant) => variant.value.is_cut() || any(&variant.common),
            Self::Future(future) => {
                future.is_cut || any(&future.variables) || future.awaited.as_ref().is_some_and(Self::is_cut)
            }
            Self::Interval(interval) => [&interval.start, &interval.end].into_iter().flatten().any(Self::is_cut),
            Self::List(list) => list.rest() != Some(0) || list.items.iter().any(Self::is_cut),
            Self::Map(map) => {
                map.rest() != Some(0) || map.entries.iter().any(|(key, value)| key.is_cut() || value.is_cut())
            }
            _ => false,
        }
    }
}
