//! The names of the kernel that the texts of events used. A recording has them, so that its texts are
//! the same on another machine.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use simple_markers_events::{Integer, Names, Symbol, TypeSize};
use simple_markers_resolver::json::{Fault, JsonError, JsonObject, hexadecimal};

/// The most names of each kind that are kept.
const MOST: usize = 1 << 16;

/// Names of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    pub(crate) fn to_json(&self) -> Json {
        let address = |address: &u64| format!("{address:#x}");
        let enumerators: Map<String, Json> =
            self.enumerators.iter().map(|(name, value)| (name.clone(), value.to_string().into())).collect();
        let types = self.types.iter().map(|(name, TypeSize { size, integer })| {
            json!({ "name": name, "size": size, "signed": integer.map(|integer| integer.is_signed) })
        });
        let variables: Map<String, Json> =
            self.variables.iter().map(|(name, value)| (name.clone(), address(value).into())).collect();
        let symbols = self.symbols.iter().map(|(at, Symbol { name, offset, size, module })| {
            json!({
                "address": address(at), "name": name, "offset": address(offset), "size": address(size), "module": module,
            })
        });
        let texts: Map<String, Json> =
            self.texts.iter().map(|(at, text)| (address(at), text.as_str().into())).collect();
        json!({
            "enumerators": enumerators, "types": types.collect::<Vec<_>>(), "variables": variables,
            "symbols": symbols.collect::<Vec<_>>(), "texts": texts,
        })
    }

    pub(crate) fn read(json: JsonObject<'_>) -> Result<Self, JsonError> {
        let of_type = |json: JsonObject<'_>| {
            let size = json.number("size")?;
            let signed = json.some("signed").map(|_| json.get("signed", Json::as_bool)).transpose()?;
            let integer = signed.and_then(|is_signed| Integer::new(u32::try_from(size).ok()?, is_signed));
            Ok((json.text("name")?.to_owned(), TypeSize { size, integer }))
        };
        let symbol = |json: JsonObject<'_>| {
            let module = json.maybe_name("module")?.map(|module| Cow::Owned(module.to_string()));
            let name = Cow::Owned(json.text("name")?.to_owned());
            let (offset, size) = (json.get("offset", hexadecimal)?, json.get("size", hexadecimal)?);
            Ok((json.get("address", hexadecimal)?, Symbol { name, offset, size, module }))
        };
        let number = |value: &Json| value.as_str()?.parse().ok();
        Ok(Self {
            enumerators: map(json, "enumerators", |name, value| Some((name.to_owned(), number(value)?)))?,
            types: json.all("types", of_type)?.into_iter().collect(),
            variables: map(json, "variables", |name, value| Some((name.to_owned(), hexadecimal(value)?)))?,
            symbols: json.all("symbols", symbol)?.into_iter().collect(),
            texts: map(json, "texts", |at, text| Some((hexadecimal(&Json::from(at))?, text.as_str()?.to_owned())))?,
        })
    }
}

/// Reads a member whose members are pairs.
fn map<K: Ord, V>(
    json: JsonObject<'_>,
    name: &'static str,
    pair: impl Fn(&str, &Json) -> Option<(K, V)>,
) -> Result<BTreeMap<K, V>, JsonError> {
    let pairs = json.get(name, Json::as_object)?.iter().map(|(key, value)| pair(key, value));
    pairs.collect::<Option<_>>().ok_or_else(|| JsonError::new(Fault::Malformed).at(name))
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
