//! The names of the kernel that the texts of events used. A recording has them, so that its texts are
//! the same on another machine.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use simple_markers_events::{Integer, Names, Symbol, TypeSize};
use simple_markers_resolver::json::{Hexadecimal, objects};

/// The most names of each kind that are kept.
const MOST: usize = 1 << 16;

/// Names of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "KnownMembers", into = "KnownMembers")]
pub struct KnownNames {
    enumerators: BTreeMap<String, i64>,
    types: BTreeMap<String, TypeSize>,
    variables: BTreeMap<String, u64>,
    symbols: BTreeMap<u64, Symbol<'static>>,
    texts: BTreeMap<u64, String>,
}

impl KnownNames {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        let Self { enumerators, types, variables, symbols, texts } = self;
        [enumerators.len(), types.len(), variables.len(), symbols.len(), texts.len()].into_iter().sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Names of the kernel as a description has them.
#[derive(Serialize, Deserialize)]
struct KnownMembers {
    enumerators: BTreeMap<String, String>,
    #[serde(deserialize_with = "objects")]
    types: Vec<TypeMembers>,
    variables: BTreeMap<String, Hexadecimal>,
    #[serde(deserialize_with = "objects")]
    symbols: Vec<SymbolMembers>,
    texts: BTreeMap<Hexadecimal, String>,
}

#[derive(Serialize, Deserialize)]
struct TypeMembers {
    name: String,
    size: u64,
    signed: Option<bool>,
}

#[derive(Serialize, Deserialize)]
struct SymbolMembers {
    address: Hexadecimal,
    name: Cow<'static, str>,
    offset: Hexadecimal,
    size: Hexadecimal,
    module: Option<Cow<'static, str>>,
}

impl From<KnownNames> for KnownMembers {
    fn from(KnownNames { enumerators, types, variables, symbols, texts }: KnownNames) -> Self {
        let of_type = |(name, TypeSize { size, integer }): (_, TypeSize)| TypeMembers {
            name,
            size,
            signed: integer.map(|integer| integer.is_signed),
        };
        let symbol = |(address, Symbol { name, offset, size, module })| {
            let [address, offset, size] = [address, offset, size].map(Hexadecimal);
            SymbolMembers { address, name, offset, size, module }
        };
        Self {
            enumerators: enumerators.into_iter().map(|(name, value)| (name, value.to_string())).collect(),
            types: types.into_iter().map(of_type).collect(),
            variables: variables.into_iter().map(|(name, address)| (name, Hexadecimal(address))).collect(),
            symbols: symbols.into_iter().map(symbol).collect(),
            texts: texts.into_iter().map(|(address, text)| (Hexadecimal(address), text)).collect(),
        }
    }
}

impl TryFrom<KnownMembers> for KnownNames {
    type Error = String;

    fn try_from(KnownMembers { enumerators, types, variables, symbols, texts }: KnownMembers) -> Result<Self, String> {
        let enumerator = |(name, value): (String, String)| match value.parse() {
            Ok(number) => Ok((name, number)),
            Err(error) => Err(format!("`enumerators.{name}`: `{value}`: {error}")),
        };
        let of_type = |TypeMembers { name, size, signed }| {
            let integer = signed.and_then(|is_signed| Integer::new(u32::try_from(size).ok()?, is_signed));
            (name, TypeSize { size, integer })
        };
        let symbol = |SymbolMembers { address, name, offset, size, module }: SymbolMembers| {
            (address.0, Symbol { name, offset: offset.0, size: size.0, module })
        };
        Ok(Self {
            enumerators: enumerators.into_iter().map(enumerator).collect::<Result<_, _>>()?,
            types: types.into_iter().map(of_type).collect(),
            variables: variables.into_iter().map(|(name, Hexadecimal(address))| (name, address)).collect(),
            symbols: symbols.into_iter().map(symbol).collect(),
            texts: texts.into_iter().map(|(Hexadecimal(address), text)| (address, text)).collect(),
        })
    }
}

impl Names for KnownNames {
    fn enumerator(&self, name: &str) -> Option<i64> {
        self.enumerators.get(name).copied()
    }

    fn type_of(&self, name: &str) -> Option<TypeSize> {
        self.types.get(name).copied()
    }

    fn variable(&self, name: &str) -> Option<u64> {
        self.variables.get(name).copied()
    }

    fn symbol(&self, address: u64) -> Option<Symbol<'_>> {
        let Symbol { name, offset, size, module } = self.symbols.get(&address)?;
        let module = module.as_deref().map(Cow::Borrowed);
        Some(Symbol { name: Cow::Borrowed(name), offset: *offset, size: *size, module })
    }

    fn text_at(&self, address: u64) -> Option<Cow<'_, str>> {
        self.texts.get(&address).map(|text| Cow::Borrowed(text.as_str()))
    }
}

/// Names that notes what was asked for.
pub struct Noting<'n> {
    names: &'n dyn Names,
    known: &'n RefCell<KnownNames>,
}

impl<'n> Noting<'n> {
    /// The same names, which are noted in `known`.
    #[must_use]
    pub fn new(names: &'n dyn Names, known: &'n RefCell<KnownNames>) -> Self {
        Self { names, known }
    }
}

/// Adds a pair unless there are too many.
fn note<K: Ord, V>(to: &mut BTreeMap<K, V>, key: K, value: V) {
    if to.len() < MOST {
        to.entry(key).or_insert(value);
    }
}

impl Names for Noting<'_> {
    fn enumerator(&self, name: &str) -> Option<i64> {
        let value = self.names.enumerator(name)?;
        note(&mut self.known.borrow_mut().enumerators, name.to_owned(), value);
        Some(value)
    }

    fn type_of(&self, name: &str) -> Option<TypeSize> {
        let of = self.names.type_of(name)?;
        note(&mut self.known.borrow_mut().types, name.to_owned(), of);
        Some(of)
    }

    fn variable(&self, name: &str) -> Option<u64> {
        let value = self.names.variable(name)?;
        note(&mut self.known.borrow_mut().variables, name.to_owned(), value);
        Some(value)
    }

    fn symbol(&self, address: u64) -> Option<Symbol<'_>> {
        let symbol = self.names.symbol(address)?;
        let Symbol { name, offset, size, module } = symbol.clone();
        let module = module.map(|module| Cow::Owned(module.into_owned()));
        let owned = Symbol { name: Cow::Owned(name.into_owned()), offset, size, module };
        note(&mut self.known.borrow_mut().symbols, address, owned);
        Some(symbol)
    }

    fn text_at(&self, address: u64) -> Option<Cow<'_, str>> {
        let text = self.names.text_at(address)?;
        note(&mut self.known.borrow_mut().texts, address, text.clone().into_owned());
        Some(text)
    }
}
