//! The names that the texts of events use: enumerators, types and symbols of the kernel.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use super::print::Integer;
use super::symbols::{Symbol, Symbols, texts};
use crate::btf::Btf;

/// What is known about the kernel whose events are printed.
pub trait Names {
    /// The value of an enumerator. `None` if there is none, or two with different values.
    fn enumerator(&self, name: &str) -> Option<i64>;

    /// The size of a type by its name, `gfp_t` or `struct page`.
    fn type_of(&self, name: &str) -> Option<TypeSize>;

    /// The value of a variable of the kernel, or of `HZ`.
    fn variable(&self, name: &str) -> Option<u64>;

    /// The symbol that contains an address.
    fn symbol(&self, address: u64) -> Option<Symbol<'_>>;

    /// The text at an address.
    fn text_at(&self, address: u64) -> Option<Cow<'_, str>>;
}

/// The size of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeSize {
    /// Its size in bytes.
    pub size: u64,
    /// The integer that it is; `None` for structures.
    pub integer: Option<Integer>,
}

/// No names.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {
    fn enumerator(&self, _: &str) -> Option<i64> {
        None
    }

    fn type_of(&self, _: &str) -> Option<TypeSize> {
        None
    }

    fn variable(&self, _: &str) -> Option<u64> {
        None
    }

    fn symbol(&self, _: u64) -> Option<Symbol<'_>> {
        None
    }

    fn text_at(&self, _: u64) -> Option<Cow<'_, str>> {
        None
    }
}

/// Where the names of a kernel come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// `/sys/kernel/btf/vmlinux`: enumerators and types.
    Types,
    /// `/proc/kallsyms`: symbols.
    Symbols,
    /// `printk_formats` of tracefs: texts.
    Texts,
    /// The numbers of the kernel: lines of `name=value`.
    Variables,
}

/// Reads a source; `None` if it cannot be read.
pub type SourceReader = Box<dyn Fn(Source) -> Option<Vec<u8>> + Send + Sync>;

/// The names of a kernel. A source is read when it is first needed.
pub struct KernelNames {
    read: SourceReader,
    types: OnceLock<Types>,
    symbols: OnceLock<Symbols>,
    texts: OnceLock<HashMap<u64, String>>,
    variables: OnceLock<HashMap<String, u64>>,
}

/// What is known of the types.
#[derive(Default)]
struct Types {
    /// `None` if there are several values.
    enumerators: HashMap<String, Option<i64>>,
    sizes: HashMap<String, TypeSize>,
}

impl Types {
    fn parse(bytes: &[u8]) -> Self {
        let mut types = Self::default();
        let Ok(btf) = Btf::new(bytes) else { return types };
        for (name, value) in btf.enumerators() {
            let known = types.enumerators.entry(name.to_owned()).or_insert(Some(value));
            if *known != Some(value) {
                *known = None;
            }
        }
        for (name, size) in btf.sizes() {
            let (size, is_signed) = size;
            let integer = is_signed.and_then(|is_signed| Integer::new(u32::try_from(size).ok()?, is_signed));
            types.sizes.entry(name).or_insert(TypeSize { size, integer });
        }
        types
    }
}

impl std::fmt::Debug for KernelNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelNames").finish_non_exhaustive()
    }
}

impl KernelNames {
    /// The names of the kernel whose sources `read` reads.
    #[must_use]
    pub fn new(read: SourceReader) -> Self {
        let (types, symbols, texts, variables) = Default::default();
        Self { read, types, symbols, texts, variables }
    }

    fn text(&self, source: Source) -> String {
        let bytes = (self.read)(source).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    fn types(&self) -> &Types {
        self.types.get_or_init(|| Types::parse(&(self.read)(Source::Types).unwrap_or_default()))
    }
}

impl Names for KernelNames {
    fn enumerator(&self, name: &str) -> Option<i64> {
        *self.types().enumerators.get(name)?
    }

    fn type_of(&self, name: &str) -> Option<TypeSize> {
        self.types().sizes.get(name).copied()
    }

    fn variable(&self, name: &str) -> Option<u64> {
        let variables = self.variables.get_or_init(|| variables(&self.text(Source::Variables)));
        variables.get(name).copied()
    }

    fn symbol(&self, address: u64) -> Option<Symbol<'_>> {
        self.symbols.get_or_init(|| Symbols::parse(self.text(Source::Symbols))).get(address)
    }

    fn text_at(&self, address: u64) -> Option<Cow<'_, str>> {
        let texts = self.texts.get_or_init(|| texts(&self.text(Source::Texts)));
        texts.get(&address).map(|text| Cow::Borrowed(text.as_str()))
    }
}

/// Lines of `name=value`, with the value in decimal.
fn variables(text: &str) -> HashMap<String, u64> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}
