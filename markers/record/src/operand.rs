//! The operands string of a site: where its kept arguments are.
//!
//! The string has one entry for each argument, separated by one space. An entry is `-` if the
//! argument is not kept, else an operand in the syntax of SystemTap's SDT, `[-]SIZE[f]@OPERAND`:
//! the size in bytes, `-` for signed, `f` for floating point, and an assembler operand. The text of
//! a probe is two of them, joined by `+`: where it starts, and its length in bytes. A whole value of a
//! probe is two of them, joined by `&`: the address of its place, and which bytes belong to it
//! ([`crate::buffer::value`]).

/// One entry of an operands string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand<'a> {
    /// Nothing is kept (`-`).
    None,
    /// The argument is at `place`.
    Kept(KeptValue<'a>),
    /// The argument is text in memory.
    Text {
        /// The address of its first byte.
        pointer: KeptValue<'a>,
        /// Its length in bytes; all ones if it ends at the first NUL.
        length: KeptValue<'a>,
    },
    /// The argument is a value of any type.
    Whole {
        /// The address of its place.
        place: KeptValue<'a>,
        /// Which bytes belong to it.
        extent: KeptValue<'a>,
    },
}

/// The location and type of a kept argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeptValue<'a> {
    /// Size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Whether it is a signed integer.
    pub signed: bool,
    /// Whether it is a floating-point number.
    pub float: bool,
    /// The assembler's operand: a register with or without `%`, an immediate, or memory.
    pub place: &'a [u8],
}

/// The entries of an operands string; an empty string has none. An entry that is not an operand is
/// an error with its bytes.
pub fn parse(operands: &[u8]) -> impl Iterator<Item = Result<Operand<'_>, &[u8]>> {
    operands.split(|&byte| byte == b' ').filter(|entry| !entry.is_empty()).map(|entry| parse_entry(entry).ok_or(entry))
}

fn parse_entry(entry: &[u8]) -> Option<Operand<'_>> {
    if entry == b"-" {
        return Some(Operand::None);
    }
    // An operand can have a `+` itself (`4@table+8(%rip)`), but no size follows it.
    let joined = entry.windows(3).position(|window| matches!(window, [b'+' | b'&', b'4' | b'8', b'@']));
    match joined.and_then(|at| Some((entry.get(..at)?, entry.get(at)?, entry.get(at + 1..)?))) {
        Some((place, b'&', extent)) => Some(Operand::Whole { place: kept(place)?, extent: kept(extent)? }),
        Some((pointer, _, length)) => Some(Operand::Text { pointer: kept(pointer)?, length: kept(length)? }),
        None => kept(entry).map(Operand::Kept),
    }
}

fn kept(entry: &[u8]) -> Option<KeptValue<'_>> {
    let (signed, rest) = match entry.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, entry),
    };
    let (&digit, rest) = rest.split_first()?;
    let size = match digit {
        b'1' | b'2' | b'4' | b'8' => digit - b'0',
        _ => return None,
    };
    let (float, rest) = match rest.strip_prefix(b"f") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let place = rest.strip_prefix(b"@").filter(|place| !place.is_empty())?;
    Some(KeptValue { size, signed, float, place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    #[test]
    fn text_has_an_address_and_a_length() {
        let kept = |place| KeptValue { size: 8, signed: false, float: false, place };
        assert_eq!(
            parse(b"8@rax+8@rdx 8@rax&8@rdx 4@table+8(%rip)").collect::<Vec<_>>(),
            vec![
                Ok(Operand::Text { pointer: kept(b"rax"), length: kept(b"rdx") }),
                Ok(Operand::Whole { place: kept(b"rax"), extent: kept(b"rdx") }),
                Ok(Operand::Kept(KeptValue { size: 4, ..kept(b"table+8(%rip)") })),
            ]
        );
        for bad in ["8@+8@rdx", "8@rax+8@", "+8@rax", "8@rax&8@", "&8@rax"] {
            assert_eq!(parse(bad.as_bytes()).collect::<Vec<_>>(), vec![Err(bad.as_bytes())], "{bad}");
        }
    }

    #[test]
    fn operands_are_read_as_sdt_has_them() {
        let kept = |size, signed, float, place| Ok(Operand::Kept(KeptValue { size, signed, float, place }));
        assert_eq!(
            parse(b"-4@eax - 8@%rdi 8f@xmm1 1@-4(%rbp) -8@$-5").collect::<Vec<_>>(),
            vec![
                kept(4, true, false, &b"eax"[..]),
                Ok(Operand::None),
                kept(8, false, false, b"%rdi"),
                kept(8, false, true, b"xmm1"),
                kept(1, false, false, b"-4(%rbp)"),
                kept(8, true, false, b"$-5"),
            ]
        );
        assert_eq!(parse(b"").count(), 0);
        for bad in ["3@eax", "4@", "@eax", "4eax", "--4@eax", "4ff@x", "x"] {
            assert_eq!(parse(bad.as_bytes()).collect::<Vec<_>>(), vec![Err(bad.as_bytes())], "{bad}");
        }
    }
}
