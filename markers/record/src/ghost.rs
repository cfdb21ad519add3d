//! Names of ghosts in the debug information and in the symbol table (`docs/section-format.md`,
//! "Ghosts").

use alloc::format;
use alloc::string::String;

use crate::declaration::{Declaration, parse_line};

/// How the name of a ghost's variable starts. The number is the version of the names.
pub const VARIABLE: &str = "__simple_ghost_1_";

/// How the name of the variable starts that a ghost has in its block. The number is the version of the
/// names.
pub const BLOCK: &str = "__simple_ghost_block_1_";

/// What identifies a ghost within its line: the 64-bit FNV-1a hash of its name, format and arguments,
/// each with a NUL at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub u64);

impl Hash {
    /// The hash of a declaration's strings.
    #[must_use]
    pub fn new(name: &[u8], format: &[u8], args: &[u8]) -> Self {
        let strings = [name, format, args];
        let bytes = strings.into_iter().flat_map(|string| string.iter().chain(&[0]));
        Self(
            bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            }),
        )
    }

    /// The name of the variable in Rust: [`VARIABLE`] and 16 hexadecimal digits.
    #[must_use]
    pub fn variable(self) -> String {
        format!("{VARIABLE}{:016x}", self.0)
    }

    /// The name of the variable that the ghost has in its block: [`BLOCK`] and 16 hexadecimal digits.
    #[must_use]
    pub fn block(self) -> String {
        format!("{BLOCK}{:016x}", self.0)
    }

    /// The hash in the name of a variable; `None` if it is not the name of a ghost.
    #[must_use]
    pub fn from_variable(name: &[u8]) -> Option<Self> {
        Self::behind(VARIABLE, name)
    }

    /// The hash in the name of a variable; `None` if it is not that of a ghost in its block.
    #[must_use]
    pub fn from_block(name: &[u8]) -> Option<Self> {
        Self::behind(BLOCK, name)
    }

    fn behind(prefix: &str, name: &[u8]) -> Option<Self> {
        let digits = name.strip_prefix(prefix.as_bytes())?;
        let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 16 || !digits.iter().all(is_digit) {
            return None;
        }
        u64::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok().map(Self)
    }
}

/// How the symbol starts that clang writes for the declaration of a ghost. The number is the version.
const SYMBOL: &[u8] = b"simple_ghost.1";

/// What is behind each field of such a symbol. Other symbols do not have it.
pub const SEPARATOR: u8 = 0x1f;

/// The declaration in the name of a symbol; `None` if the symbol is not that of a ghost. `offset` is
/// where the name is, for messages.
///
/// The name is `simple_ghost.1`, name, file, line, format and args, with a [`SEPARATOR`] behind each.
/// What follows the last one is what a compiler adds to make names unique.
#[must_use]
pub fn from_symbol(offset: usize, symbol: &[u8]) -> Option<Declaration<'_>> {
    let fields = symbol.strip_prefix(SYMBOL)?.strip_prefix(&[SEPARATOR])?;
    let mut fields = fields.split(|&byte| byte == SEPARATOR);
    let (name, file, line) = (fields.next().filter(|name| !name.is_empty())?, fields.next()?, fields.next()?);
    let (format, args, _added) = (fields.next()?, fields.next()?, fields.next()?);
    if fields.next().is_some() {
        return None;
    }
    let (line, _) = parse_line(line)?;
    Some(Declaration { offset, name, file, line, is_ghost: true, format, args })
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn symbols_of_ghosts_are_declarations() {
        let declaration =
            Declaration { offset: 6, name: b"a:b", file: b"f.c", line: 12, is_ghost: true, format: b"%d", args: b"x" };
        let symbol = b"simple_ghost.1\x1fa:b\x1ff.c\x1f12\x1f%d\x1fx\x1f";
        assert_eq!(from_symbol(6, symbol), Some(declaration));
        assert_eq!(from_symbol(6, b"simple_ghost.1\x1fa:b\x1ff.c\x1f12\x1f%d\x1fx\x1f.7"), Some(declaration));
        let empty = Declaration { file: b"", line: 1, format: b"", args: b"", ..declaration };
        assert_eq!(from_symbol(6, b"simple_ghost.1\x1fa:b\x1f\x1f1\x1f\x1f\x1f"), Some(empty));
    }

    #[test]
    fn other_symbols_are_no_declarations() {
        for string in [
            "",
            "\x1f",
            "simple_ghost.1",
            "simple_ghost.1\x1f",
            "simple_ghost.1\x1fa\x1ff\x1f1\x1f\x1f",
            "simple_ghost.1\x1fa\x1ff\x1fx\x1f\x1f\x1f",
            "simple_ghost.1\x1f\x1ff\x1f1\x1f\x1f\x1f",
            "simple_ghost.1\x1fa\x1ff\x1f1\x1f\x1f\x1f\x1f",
            "simple_ghost.2\x1fa\x1ff\x1f1\x1f\x1f\x1f",
        ] {
            assert_eq!(from_symbol(0, string.as_bytes()), None, "{string:?}");
        }
    }

    #[test]
    fn a_name_has_the_hash_of_the_strings() {
        // The hash of no bytes is the offset basis; that of one NUL is the basis times the prime.
        let hash = Hash::new(b"a:b", b"%d", b"x");
        assert_eq!(hash.variable(), format!("__simple_ghost_1_{:016x}", hash.0));
        assert_eq!(Hash::from_variable(hash.variable().as_bytes()), Some(hash));
        assert_eq!(hash.block(), format!("__simple_ghost_block_1_{:016x}", hash.0));
        assert_eq!(Hash::from_block(hash.block().as_bytes()), Some(hash));
        assert_eq!(Hash::from_variable(hash.block().as_bytes()), None);
        assert_eq!(Hash::from_block(hash.variable().as_bytes()), None);
        assert_ne!(hash, Hash::new(b"a:b", b"%dx", b""));
    }

    #[test]
    fn other_names_are_no_ghosts() {
        for name in [
            "",
            "x",
            BLOCK,
            "__simple_ghost_1_",
            "__simple_ghost_1_+00000000000000f",
            "__simple_ghost_2_0000000000000000",
        ] {
            assert_eq!(Hash::from_variable(name.as_bytes()), None, "{name}");
        }
    }
}
