//! Whole values in a command file for gdb: gdb prints them itself, with its printers for types of libraries.

use super::ArgumentOmission;
use super::arithmetic::{self, Syntax};
use super::tool::Tool;
use super::value_bytes::{ValueBytes, WholeFetch};
use crate::types::TypeNotation;

/// A value in memory, which gdb prints by its type.
pub(super) struct GdbValue {
    /// The expression of its address.
    address: String,
    /// Its type, as the language C of gdb takes it.
    of: String,
    size: u32,
    notation: TypeNotation,
}

impl GdbValue {
    /// # Errors
    ///
    /// Why gdb cannot print the value.
    pub(super) fn new(syntax: &impl Syntax, fetch: &WholeFetch) -> Result<Self, ArgumentOmission> {
        let ValueBytes::Memory { address, size } = &fetch.bytes else {
            return Err(ArgumentOmission::NotInMemory(Tool::Gdb));
        };
        // What ends or changes the quoted name, and what a user-defined command replaces.
        let is_quoted = |name: &str| !name.contains(['\'', '"', '\\', '$']) && !name.contains(char::is_control);
        let path = fetch.path.as_ref().filter(|path| is_quoted(&path.name));
        let path = path.ok_or(ArgumentOmission::NoTypeName(Tool::Gdb))?;
        let of = match path.notation {
            TypeNotation::C => path.name.clone(),
            TypeNotation::Cxx | TypeNotation::Rust => format!("'{}'", path.name),
        };
        Ok(Self { address: arithmetic::expr(syntax, address)?, of, size: *size, notation: path.notation })
    }

    /// The commands that print it. A type that has another size is another one of the same name.
    pub(super) fn commands(&self) -> Vec<String> {
        let Self { address, of, size, notation } = self;
        let with = match notation {
            TypeNotation::C => "",
            TypeNotation::Cxx => "with language c++ -- ",
            TypeNotation::Rust => "with language rust -- ",
        };
        vec![
            format!("if sizeof({of}) == {size}"),
            format!("set $smark_value = ({of} *)({address})"),
            format!("{with}output *$smark_value"),
            "else".to_owned(),
            "printf \"?\"".to_owned(),
            "end".to_owned(),
        ]
    }
}
