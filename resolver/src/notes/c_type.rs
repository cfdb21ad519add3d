//! The types of parameters as provider files write them: declarations of C with at most one name.
//! Only what decides how a value is shown is kept of a type.

use std::collections::HashMap;
use std::sync::Arc;

use super::token::ProviderToken;

/// A type of C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CType {
    /// As it is written, with one space between words (`const char *`).
    pub name: Arc<str>,
    /// What its values are.
    pub class: CClass,
}

/// What the values of a type are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CClass {
    /// Pointers to a text that ends with a NUL.
    Text,
    /// Other pointers.
    Pointer,
    /// Integers.
    Integer {
        /// How large they are.
        size: CSize,
        /// Whether they are signed; `None` if the processor decides (`char`).
        is_signed: Option<bool>,
    },
    /// Floating-point numbers.
    Float {
        /// In bytes.
        size: u8,
    },
    /// Truth values.
    Boolean,
    /// A type that the file does not describe.
    Unknown,
}

/// The size of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CSize {
    /// In bytes.
    Bytes(u8),
    /// That of an address, which `long` has.
    Address,
}

impl CClass {
    /// The size of a value in bytes; `None` if it is not known.
    #[must_use]
    pub fn size(self, address_size: u8) -> Option<u8> {
        match self {
            Self::Text | Self::Pointer | Self::Integer { size: CSize::Address, .. } => Some(address_size),
            Self::Integer { size: CSize::Bytes(size), .. } | Self::Float { size } => Some(size),
            Self::Boolean => Some(1),
            Self::Unknown => None,
        }
    }
}

/// Types that have a name of their own, by `typedef` and `#define`.
pub(super) type TypeAliases<'t> = HashMap<&'t str, CClass>;

/// Words that say nothing about the values.
const QUALIFIERS: [&str; 8] = ["const", "volatile", "restrict", "__restrict", "register", "static", "extern", "inline"];

/// Words of which several make a type.
const BASE: [&str; 10] = ["unsigned", "signed", "int", "char", "short", "long", "float", "double", "void", "_Bool"];

/// A parameter: its name, if it has one, and its type. `None` if the tokens are no declaration.
pub(super) fn parameter<'t>(
    tokens: &[ProviderToken<'t>],
    aliases: &TypeAliases<'t>,
) -> Option<(Option<&'t str>, CType)> {
    let mut declaration = ParameterDeclaration { tokens, at: 0, written: String::new() };
    let class = declaration.base(aliases)?;
    let (name, class) = declaration.declarator(class)?;
    Some((name, CType { name: declaration.written.into(), class }))
}

struct ParameterDeclaration<'d, 't> {
    tokens: &'d [ProviderToken<'t>],
    at: usize,
    /// The type as far as it was read.
    written: String,
}

impl<'t> ParameterDeclaration<'_, 't> {
    fn peek(&self) -> Option<&'t str> {
        self.tokens.get(self.at).map(|token| token.text)
    }

    /// The next token, if it is a word.
    fn word(&self) -> Option<&'t str> {
        self.tokens.get(self.at).filter(|token| token.is_word()).map(|token| token.text)
    }

    /// Takes a token that belongs to the type.
    fn take(&mut self, text: &str) {
        if !self.written.is_empty() && !self.written.ends_with('*') {
            self.written.push(' ');
        }
        self.written.push_str(text);
        self.at = self.at.saturating_add(1);
    }

    fn qualifiers(&mut self) {
        while let Some(word) = self.word().filter(|word| QUALIFIERS.contains(word)) {
            self.take(word);
        }
    }

    /// The type before the declarator.
    fn base(&mut self, aliases: &TypeAliases<'t>) -> Option<CClass> {
        let mut words: Vec<&str> = Vec::new();
        loop {
            self.qualifiers();
            let Some(word) = self.word() else { break };
            // A name of the file's own may be a keyword.
            let is_own = aliases.contains_key(word);
            match words.is_empty() {
                true if matches!(word, "struct" | "union" | "enum") => {
                    self.take(word);
                    let tag = self.word()?;
                    self.take(tag);
                    self.qualifiers();
                    let integer = CClass::Integer { size: CSize::Bytes(4), is_signed: None };
                    return Some(if word == "enum" { integer } else { CClass::Unknown });
                }
                true if is_own || !BASE.contains(&word) => {
                    self.take(word);
                    self.qualifiers();
                    return Some(aliases.get(word).copied().unwrap_or_else(|| class_of_name(word)));
                }
                _ if BASE.contains(&word) && !is_own => {
                    self.take(word);
                    words.push(word);
                }
                _ => break,
            }
        }
        class_of_words(&words)
    }

    /// Pointers, the name, and what follows it.
    fn declarator(&mut self, base: CClass) -> Option<(Option<&'t str>, CClass)> {
        let is_char = self.written.split(' ').filter(|word| !QUALIFIERS.contains(word)).collect::<Vec<_>>();
        let is_char = matches!(&is_char[..], ["char"] | ["signed", "char"]);
        let (mut class, mut depth) = (base, 0u32);
        while self.peek() == Some("*") {
            if depth == 0 && !self.written.ends_with(' ') {
                self.written.push(' ');
            }
            self.written.push('*');
            self.at = self.at.saturating_add(1);
            depth = depth.saturating_add(1);
            self.qualifiers();
        }
        // A pointer to a function: `void (*name)(int)`.
        if self.peek() == Some("(") {
            let name = self.tokens.iter().skip(self.at).find(|token| token.is_word()).map(|token| token.text);
            let is_pointer = self.tokens.get(self.at.saturating_add(1)).is_some_and(|token| token.text == "*");
            self.written.push_str(" (*)()");
            return is_pointer.then_some((name, CClass::Pointer));
        }
        let name = self.word();
        if name.is_some() {
            self.at = self.at.saturating_add(1);
        }
        if self.peek() == Some("[") {
            // An array is passed as a pointer.
            self.written.push_str(if depth == 0 { " *" } else { "*" });
            depth = depth.saturating_add(1);
            let is_inside = |token: &&ProviderToken<'_>| matches!(token.text, "[" | "]") || token.is_word();
            self.at = self.at.saturating_add(self.tokens.iter().skip(self.at).take_while(is_inside).count());
        }
        match depth {
            0 if self.written.contains("void") && base == CClass::Unknown => return None,
            0 => {}
            1 if is_char => class = CClass::Text,
            _ => class = CClass::Pointer,
        }
        self.peek().is_none().then_some((name, class))
    }
}

/// The type of keywords. `None` if they make none.
fn class_of_words(words: &[&str]) -> Option<CClass> {
    let count = |word: &str| words.iter().filter(|it| **it == word).count();
    let is_signed = Some(count("unsigned") == 0);
    let integer = |size, is_signed| Some(CClass::Integer { size, is_signed });
    match () {
        () if words.is_empty() => None,
        () if count("void") > 0 => (words.len() == 1).then_some(CClass::Unknown),
        () if count("_Bool") > 0 => (words.len() == 1).then_some(CClass::Boolean),
        () if count("float") > 0 => (words.len() == 1).then_some(CClass::Float { size: 4 }),
        // A `long double` has a size that no note has.
        () if count("double") > 0 && count("long") > 0 => Some(CClass::Unknown),
        () if count("double") > 0 => (words.len() == 1).then_some(CClass::Float { size: 8 }),
        () if count("char") > 0 => {
            let is_said = count("unsigned").saturating_add(count("signed")) > 0;
            integer(CSize::Bytes(1), is_signed.filter(|_| is_said))
        }
        () if count("short") > 0 => integer(CSize::Bytes(2), is_signed),
        () if count("long") > 1 => integer(CSize::Bytes(8), is_signed),
        () if count("long") > 0 => integer(CSize::Address, is_signed),
        () => integer(CSize::Bytes(4), is_signed),
    }
}

/// The type of a name that a header of C or DTrace itself defines.
fn class_of_name(name: &str) -> CClass {
    let integer = |size, is_signed| CClass::Integer { size, is_signed: Some(is_signed) };
    match name {
        "string" => CClass::Text,
        "bool" => CClass::Boolean,
        "int8_t" => integer(CSize::Bytes(1), true),
        "uint8_t" => integer(CSize::Bytes(1), false),
        "int16_t" => integer(CSize::Bytes(2), true),
        "uint16_t" => integer(CSize::Bytes(2), false),
        "int32_t" => integer(CSize::Bytes(4), true),
        "uint32_t" => integer(CSize::Bytes(4), false),
        "int64_t" => integer(CSize::Bytes(8), true),
        "uint64_t" => integer(CSize::Bytes(8), false),
        "ssize_t" | "intptr_t" | "ptrdiff_t" => integer(CSize::Address, true),
        "size_t" | "uintptr_t" => integer(CSize::Address, false),
        _ => CClass::Unknown,
    }
}
