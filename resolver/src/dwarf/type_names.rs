//! The names of types in the syntax of their language (C: ISO C23 6.7.7, "Type names"; Rust: the
//! names that rustc writes into debug information).

use gimli::{AttributeValue, DwTag, constants as dw};

use super::types::Types;
use super::types::{TypeRef, is_pointer};
use super::unit::Die;
use crate::Error;
use crate::types::Language;

/// How deeply a name is nested. Deeper parts are written as `..`.
const NESTING: u32 = 32;

/// The most parameters of a function that are named.
const PARAMETERS: usize = 16;

/// The longest name in bytes. Longer names are cut.
const LONGEST: usize = 2048;

impl Types<'_> {
    /// The name of a type; `void` for `None`. For C: `struct foo *`, `unsigned int[4]`, `int
    /// (*)(int)`. For Rust, the name in the debug information (`&str`).
    ///
    /// # Errors
    ///
    /// The debug information cannot be read there.
    pub(super) fn type_name(&self, of: Option<TypeRef>) -> Result<String, Error> {
        self.declare(of, String::new(), 0).map(cut)
    }

    /// A declaration with a type. `declarator` is what C writes around the declared name.
    fn declare(&self, of: Option<TypeRef>, declarator: String, nesting: u32) -> Result<String, Error> {
        let Some(of) = of else { return Ok(joined("void", &declarator)) };
        if nesting > NESTING || declarator.len() > LONGEST {
            return Ok(joined("..", &declarator));
        }
        let TypeRef { die, dimension } = of;
        let tag = self.units.tag(die)?;
        let mut name = cut(self.text_name(die)?);
        if let (true, Some(value)) = (name.is_empty(), self.units.own_attribute(die, dw::DW_AT_signature)?) {
            return self.declare(Some(self.units.reference(die, &value)?.into()), declarator, nesting + 1);
        }
        let rust = self.language(die) == Language::Rust;
        if tag == dw::DW_TAG_base_type && !rust {
            name = canonical(name);
        }
        if !name.is_empty() && dimension == 0 {
            return Ok(joined(&format!("{}{name}", self.keyword(die, tag)), &declarator));
        }
        let inner = || self.type_of(die);
        let next = nesting + 1;
        if is_pointer(tag) {
            let target = inner()?;
            let sign = match tag {
                dw::DW_TAG_reference_type => "&",
                dw::DW_TAG_rvalue_reference_type => "&&",
                _ => "*",
            };
            return match target {
                // The pointer inside a slice has no name.
                _ if rust => Ok(format!("{sign}{}", self.declare(target, String::new(), next)?)),
                Some(target) if self.binds_closer(target)? => {
                    self.declare(Some(target), format!("({sign}{declarator})"), next)
                }
                _ => self.declare(target, format!("{sign}{declarator}"), next),
            };
        }
        match tag {
            _ if is_c_qualifier(tag) => self.qualified(of, declarator, next),
            dw::DW_TAG_packed_type | dw::DW_TAG_immutable_type | dw::DW_TAG_template_alias | dw::DW_TAG_typedef => {
                self.declare(inner()?, declarator, next)
            }
            dw::DW_TAG_array_type => {
                let dimensions = self.dimensions(die)?;
                let counts = dimensions.iter().skip(dimension).map(|dimension| dimension.count);
                if rust {
                    let mut name = self.declare(inner()?, String::new(), next)?;
                    for count in counts.rev() {
                        name = count.map_or_else(|| format!("[{name}]"), |count| format!("[{name}; {count}]"));
                    }
                    return Ok(name);
                }
                let suffix = |count: Option<u64>| count.map_or_else(|| "[]".to_owned(), |count| format!("[{count}]"));
                let suffix: String = counts.map(suffix).collect();
                self.declare(inner()?, format!("{declarator}{suffix}"), next)
            }
            dw::DW_TAG_subroutine_type => {
                let parameters = self.parameters(die, next)?;
                self.declare(inner()?, format!("{declarator}({parameters})"), next)
            }
            dw::DW_TAG_ptr_to_member_type => {
                let class = self.units.referred(die, dw::DW_AT_containing_type)?.map(TypeRef::from);
                let class = self.declare(class, String::new(), next)?;
                self.declare(inner()?, format!("{class}::*{declarator}"), next)
            }
            _ => Ok(joined(&format!("{}{{..}}", self.word(tag)), &declarator)),
        }
    }

    /// A qualified type. C writes the qualifier before the type, or after the `*` of a pointer.
    fn qualified(&self, of: TypeRef, declarator: String, nesting: u32) -> Result<String, Error> {
        // All qualifiers of one type, each once, in the usual order.
        let (mut inner, mut words) = (Some(of), [None; 4]);
        for _ in 0..NESTING {
            let Some(of) = inner else { break };
            let (place, word) = match self.units.tag(of.die)? {
                dw::DW_TAG_const_type => (0, "const"),
                dw::DW_TAG_volatile_type => (1, "volatile"),
                dw::DW_TAG_restrict_type => (2, "restrict"),
                dw::DW_TAG_atomic_type => (3, "_Atomic"),
                // A qualifier of an array belongs to its elements in C. gcc writes it for both.
                dw::DW_TAG_array_type if self.units.name(of.die)?.is_none() && self.is_qualified(of)? => {
                    return self.declare(inner, declarator, nesting);
                }
                _ => break,
            };
            if let Some(slot) = words.get_mut(place) {
                *slot = Some(word);
            }
            inner = self.type_of(of.die)?;
        }
        let words: Vec<&str> = words.into_iter().flatten().collect();
        let words = words.join(" ");
        let is_pointer = match inner {
            Some(of) => self.units.name(of.die)?.is_none() && is_pointer(self.units.tag(of.die)?),
            None => false,
        };
        match is_pointer {
            true => {
                let space = if declarator.is_empty() || declarator.starts_with('[') { "" } else { " " };
                self.declare(inner, format!("{words}{space}{declarator}"), nesting)
            }
            false => Ok(format!("{words} {}", self.declare(inner, declarator, nesting)?)),
        }
    }

    /// Whether the elements of an array have a qualifier.
    fn is_qualified(&self, array: TypeRef) -> Result<bool, Error> {
        Ok(match self.type_of(array.die)? {
            Some(element) => is_c_qualifier(self.units.tag(element.die)?),
            None => false,
        })
    }

    /// Whether the suffix of the declarator, `[4]` or `(int)`, binds more tightly than a `*` before
    /// it.
    fn binds_closer(&self, of: TypeRef) -> Result<bool, Error> {
        let mut of = of;
        for _ in 0..NESTING {
            match self.units.tag(of.die)? {
                dw::DW_TAG_array_type | dw::DW_TAG_subroutine_type => return Ok(self.units.name(of.die)?.is_none()),
                dw::DW_TAG_const_type | dw::DW_TAG_volatile_type => match self.type_of(of.die)? {
                    Some(inner) => of = inner,
                    None => break,
                },
                _ => break,
            }
        }
        Ok(false)
    }

    fn parameters(&self, function: Die, nesting: u32) -> Result<String, Error> {
        let mut parameters = Vec::new();
        for (child, tag) in self.units.children(function)? {
            match tag {
                dw::DW_TAG_formal_parameter if parameters.len() < PARAMETERS => {
                    parameters.push(self.declare(self.type_of(child)?, String::new(), nesting)?);
                }
                dw::DW_TAG_unspecified_parameters => parameters.push("...".to_owned()),
                _ => {}
            }
        }
        let is_prototype =
            matches!(self.units.own_attribute(function, dw::DW_AT_prototyped)?, Some(AttributeValue::Flag(true)));
        Ok(match parameters.is_empty() && is_prototype {
            true => "void".to_owned(),
            false => cut(parameters.join(", ")),
        })
    }

    /// The keyword that C writes before the name of a structure.
    pub(super) fn keyword(&self, die: Die, tag: DwTag) -> &'static str {
        match self.dwarf_language(die) {
            Some(
                dw::DW_LANG_C89
                | dw::DW_LANG_C
                | dw::DW_LANG_C99
                | dw::DW_LANG_C11
                | dw::DW_LANG_C17
                | dw::DW_LANG_ObjC,
            ) => self.word(tag),
            _ => "",
        }
    }

    #[allow(clippy::unused_self, reason = "reads like its neighbours")]
    fn word(&self, tag: DwTag) -> &'static str {
        match tag {
            dw::DW_TAG_structure_type => "struct ",
            dw::DW_TAG_class_type => "class ",
            dw::DW_TAG_union_type => "union ",
            dw::DW_TAG_enumeration_type => "enum ",
            _ => "",
        }
    }
}

/// Joins a type and a declarator. `int[4]` has no space, `int *` and `int (*)(int)` have one.
fn joined(name: &str, declarator: &str) -> String {
    match declarator.is_empty() || declarator.starts_with('[') {
        true => format!("{name}{declarator}"),
        false => format!("{name} {declarator}"),
    }
}

/// Cuts a name that is too long.
fn cut(mut name: String) -> String {
    if let Some((end, _)) = name.char_indices().nth(LONGEST) {
        name.truncate(end);
        name.push_str("..");
    }
    name
}

fn is_c_qualifier(tag: DwTag) -> bool {
    matches!(tag, dw::DW_TAG_const_type | dw::DW_TAG_volatile_type | dw::DW_TAG_restrict_type | dw::DW_TAG_atomic_type)
}

/// The usual name of a number type. gcc writes `long unsigned int`, and clang `unsigned long`.
fn canonical(name: String) -> String {
    let short = match &*name {
        "short int" => "short",
        "short unsigned int" => "unsigned short",
        "long int" => "long",
        "long unsigned int" => "unsigned long",
        "long long int" => "long long",
        "long long unsigned int" => "unsigned long long",
        "__int128 unsigned" => "unsigned __int128",
        _ => return name,
    };
    short.to_owned()
}
