//! The kernel's `%p` with a letter (Documentation/core-api/printk-formats.rst).

use std::fmt::Write as _;

use super::integer::Integer;
use super::layout::{Layout, WIDEST, lay_out, write_number};
use super::node::{Fault, Node, Scope};
use crate::symbols::Symbol;

/// What is printed for a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer {
    /// The address. The kernel prints a hash if the option `hash-ptr` is set.
    Address,
    Symbol {
        has_offset: bool,
    },
    /// `%pB`: the symbol of the instruction before.
    Backtrace,
    Ip4 {
        has_zeros: bool,
        is_reversed: bool,
    },
    Ip6(Ip6),
    Socket {
        ip6: Ip6,
        has_zeros: bool,
        extra: Extra,
    },
    Mac {
        separator: Option<char>,
        is_reversed: bool,
    },
    Uuid {
        is_little: bool,
        is_large: bool,
    },
    Hex {
        separator: Option<char>,
    },
    Bitmap,
    List,
}

/// How an IPv6 address is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ip6 {
    Plain,
    Colons,
    Compressed,
}

/// What follows the address of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extra {
    port: bool,
    flow: bool,
    scope: bool,
}

impl Pointer {
    /// The letters behind `%p`. `None` for those that read the memory of the kernel.
    pub(super) fn new(letters: &str, has_width: bool) -> Option<Self> {
        let mut each = letters.chars();
        let first = each.next();
        let rest = each.as_str();
        Some(match first {
            None | Some('x' | 'K') => Self::Address,
            Some('S' | 'F') => Self::Symbol { has_offset: true },
            Some('s' | 'f') => Self::Symbol { has_offset: false },
            Some('B') => Self::Backtrace,
            Some(letter @ ('I' | 'i')) => {
                let is_compressed = rest.contains('c') && letter == 'I';
                let ip6 = match letter {
                    'i' => Ip6::Plain,
                    _ if is_compressed => Ip6::Compressed,
                    _ => Ip6::Colons,
                };
                let has_zeros = letter == 'i';
                match rest.chars().next()? {
                    '4' => Self::Ip4 { has_zeros, is_reversed: rest.contains(['l', 'h']) && is_little_endian(rest) },
                    '6' => Self::Ip6(ip6),
                    'S' => {
                        let has = |letter| rest.contains(letter);
                        Self::Socket {
                            ip6,
                            has_zeros,
                            extra: Extra { port: has('p'), flow: has('f'), scope: has('s') },
                        }
                    }
                    _ => return None,
                }
            }
            Some(letter @ ('M' | 'm')) => {
                let separator = if rest.starts_with('F') { '-' } else { ':' };
                let is_reversed = rest.starts_with('R');
                Self::Mac { separator: (letter == 'M').then_some(separator), is_reversed }
            }
            Some('U') => match rest.chars().next() {
                Some('L') => Self::Uuid { is_little: true, is_large: true },
                Some('l') => Self::Uuid { is_little: true, is_large: false },
                Some('B') => Self::Uuid { is_little: false, is_large: true },
                _ => Self::Uuid { is_little: false, is_large: false },
            },
            Some('h') => Self::Hex {
                separator: match rest.chars().next() {
                    Some('C') => Some(':'),
                    Some('D') => Some('-'),
                    Some('N') => None,
                    _ => Some(' '),
                },
            },
            Some('b') if has_width && rest.starts_with('l') => Self::List,
            Some('b') if has_width => Self::Bitmap,
            _ => return None,
        })
    }

    /// Whether it prints what is at the address, so that this has to be in the record.
    pub(super) fn needs_bytes(self) -> bool {
        !matches!(self, Self::Address | Self::Symbol { .. } | Self::Backtrace)
    }

    pub(super) fn needs_symbols(self) -> bool {
        matches!(self, Self::Symbol { .. } | Self::Backtrace)
    }

    pub(super) fn write(self, node: &Node, scope: Scope<'_>, layout: Layout, out: &mut String) -> Result<(), Fault> {
        let start = out.len();
        if !self.needs_bytes() {
            let address = node.number(scope)?;
            match self {
                Self::Address => {
                    write_address(address, layout, out);
                    return Ok(());
                }
                Self::Symbol { has_offset } => write_symbol(scope.names.symbol(address), address, has_offset, out),
                // The symbol of the call, and the offset of the return address.
                _ => {
                    let before = scope.names.symbol(address.wrapping_sub(1));
                    let symbol = before.map(|symbol| Symbol { offset: symbol.offset.wrapping_add(1), ..symbol });
                    write_symbol(symbol, address, true, out);
                }
            }
            lay_out(start, layout, out);
            return Ok(());
        }
        let bytes = node.bytes(scope)?;
        match self {
            // The width is the number of bytes or bits, and nothing is padded.
            Self::Hex { separator } => {
                let count = layout.width.unwrap_or(1).min(64);
                write_hex(bytes.get(..count).ok_or(Fault::Short)?, separator, out);
                return Ok(());
            }
            Self::Bitmap => return write_bitmap(bytes, layout.width.unwrap_or(0), out),
            Self::List => return write_list(bytes, layout.width.unwrap_or(0), out),
            Self::Ip4 { has_zeros, is_reversed } => {
                let mut address = *bytes.first_chunk().ok_or(Fault::Short)?;
                if is_reversed {
                    address.reverse();
                }
                write_ip4(address, has_zeros, out);
            }
            Self::Ip6(ip6) => write_ip6(*bytes.first_chunk().ok_or(Fault::Short)?, ip6, out),
            Self::Socket { ip6, has_zeros, extra } => write_socket(bytes, ip6, has_zeros, extra, out)?,
            Self::Mac { separator, is_reversed } => {
                let mut address: [u8; 6] = *bytes.first_chunk().ok_or(Fault::Short)?;
                if is_reversed {
                    address.reverse();
                }
                write_hex(&address, separator, out);
            }
            Self::Uuid { is_little, is_large } => {
                write_uuid(*bytes.first_chunk().ok_or(Fault::Short)?, is_little, is_large, out);
            }
            Self::Address | Self::Symbol { .. } | Self::Backtrace => {}
        }
        lay_out(start, layout, out);
        Ok(())
    }
}

/// Whether the letters mean the little-endian order: `h` is that of the machine.
fn is_little_endian(letters: &str) -> bool {
    letters.contains('l') || cfg!(target_endian = "little")
}

/// An address as `%px` has it.
fn write_address(address: u64, mut layout: Layout, out: &mut String) {
    if layout.width.is_none() {
        layout.width = Some(if layout.flags.special { 18 } else { 16 });
        layout.flags.zero = true;
    }
    write_number(address, Integer::UNSIGNED_LONG, 16, false, layout, out);
}

/// `name+0x10/0x20 [module]` (`sprint_symbol`).
pub(super) fn write_symbol(symbol: Option<Symbol<'_>>, address: u64, has_offset: bool, out: &mut String) {
    // Writing to a string does not fail.
    let _ = match &symbol {
        None => write!(out, "{address:#x}"),
        Some(symbol) => {
            out.push_str(&symbol.name);
            match has_offset {
                true => write!(out, "+{:#x}/{:#x}", symbol.offset, symbol.size),
                false => Ok(()),
            }
        }
    };
    if let Some(module) = symbol.and_then(|symbol| symbol.module) {
        let _ = write!(out, " [{module}]");
    }
}

/// Two digits for each byte.
pub(super) fn write_hex(bytes: &[u8], separator: Option<char>, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (index, byte) in bytes.iter().enumerate() {
        if let Some(separator) = separator.filter(|_| index > 0) {
            out.push(separator);
        }
        for digit in [byte >> 4, byte & 15] {
            out.push(char::from(DIGITS.get(usize::from(digit)).copied().unwrap_or(b'0')));
        }
    }
}

/// Groups of 32 bits in hexadecimal, the highest first.
pub(super) fn write_bitmap(bytes: &[u8], bits: usize, out: &mut String) -> Result<(), Fault> {
    let groups = bits.min(WIDEST).div_ceil(32);
    for group in (0..groups).rev() {
        let valid = bits.saturating_sub(group.saturating_mul(32)).min(32);
        let mut value = 0u32;
        for byte in 0..valid.div_ceil(8) {
            value |= u32::from(bitmap_byte(bytes, group * 4 + byte).ok_or(Fault::Short)?) << (8 * byte);
        }
        let value = value & u32::MAX.checked_shr(32 - valid as u32).unwrap_or(0);
        let separator = if group + 1 == groups { "" } else { "," };
        let _ = write!(out, "{separator}{value:0width$x}", width = valid.div_ceil(4));
    }
    Ok(())
}

/// `0-3,7`
fn write_list(bytes: &[u8], bits: usize, out: &mut String) -> Result<(), Fault> {
    let bits = bits.min(WIDEST);
    let mut is_set = Vec::with_capacity(bits);
    for bit in 0..bits {
        is_set.push(bitmap_byte(bytes, bit / 8).ok_or(Fault::Short)? >> (bit % 8) & 1 == 1);
    }
    let mut separator = "";
    let mut at = 0;
    for range in is_set.chunk_by(|a, b| a == b) {
        if range.first() == Some(&true) {
            let last = at + range.len() - 1;
            let _ = match range.len() {
                1 => write!(out, "{separator}{at}"),
                _ => write!(out, "{separator}{at}-{last}"),
            };
            separator = ",";
        }
        at += range.len();
    }
    Ok(())
}

/// A byte of a bitmap, which consists of words in the order of the machine.
fn bitmap_byte(bytes: &[u8], index: usize) -> Option<u8> {
    let index = if cfg!(target_endian = "little") { index } else { index ^ 7 };
    bytes.get(index).copied()
}

fn write_ip4(address: [u8; 4], has_zeros: bool, out: &mut String) {
    for (index, byte) in address.into_iter().enumerate() {
        let dot = if index == 0 { "" } else { "." };
        let _ = if has_zeros { write!(out, "{dot}{byte:03}") } else { write!(out, "{dot}{byte}") };
    }
}

fn write_ip6(address: [u8; 16], form: Ip6, out: &mut String) {
    if form == Ip6::Compressed {
        return write_compressed(address, out);
    }
    for (index, pair) in address.chunks(2).enumerate() {
        if index > 0 && form == Ip6::Colons {
            out.push(':');
        }
        write_hex(pair, None, out);
    }
}

/// The longest run of zeros becomes `::` (`ip6_compressed_string`).
fn write_compressed(address: [u8; 16], out: &mut String) {
    let words: Vec<u16> =
        address.chunks_exact(2).map(|pair| pair.iter().fold(0, |sum, byte| sum << 8 | u16::from(*byte))).collect();
    let is_mapped = address.starts_with(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
    let is_isatap = matches!(address.get(8..12), Some([0 | 2, 0, 0x5e, 0xfe]));
    let has_ip4 = is_mapped || is_isatap;
    let words = words.get(..if has_ip4 { 6 } else { 8 }).unwrap_or_default();
    let (mut at, mut longest, mut start) = (0, 1, usize::MAX);
    for range in words.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        if range.first() == Some(&0) && range.len() > longest {
            (longest, start) = (range.len(), at);
        }
        at += range.len();
    }
    let mut needs_colon = false;
    let mut index = 0;
    while let Some(word) = words.get(index) {
        if index == start {
            out.push_str(if needs_colon || index == 0 { "::" } else { ":" });
            needs_colon = false;
            index += longest;
            continue;
        }
        let _ = write!(out, "{}{word:x}", if needs_colon { ":" } else { "" });
        needs_colon = true;
        index += 1;
    }
    if has_ip4 {
        out.push_str(if needs_colon { ":" } else { "" });
        write_ip4(address.last_chunk().copied().unwrap_or_default(), false, out);
    }
}

/// A `struct sockaddr_in` or `struct sockaddr_in6`.
fn write_socket(bytes: &[u8], ip6: Ip6, has_zeros: bool, extra: Extra, out: &mut String) -> Result<(), Fault> {
    let big = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let family = u16::from_ne_bytes(*bytes.first_chunk().ok_or(Fault::Short)?);
    match i32::from(family) {
        libc::AF_INET => {
            let address = bytes.get(4..).and_then(<[u8]>::first_chunk).ok_or(Fault::Short)?;
            write_ip4(*address, has_zeros, out);
            if extra.port {
                let _ = write!(out, ":{}", big(2).ok_or(Fault::Short)?);
            }
        }
        libc::AF_INET6 => {
            let address = bytes.get(8..).and_then(<[u8]>::first_chunk).ok_or(Fault::Short)?;
            let has_brackets = extra != Extra::default();
            out.push_str(if has_brackets { "[" } else { "" });
            write_ip6(*address, ip6, out);
            out.push_str(if has_brackets { "]" } else { "" });
            if extra.port {
                let _ = write!(out, ":{}", big(2).ok_or(Fault::Short)?);
            }
            if extra.flow {
                let flow = bytes.get(4..).and_then(<[u8]>::first_chunk).ok_or(Fault::Short)?;
                let _ = write!(out, "/{}", u32::from_be_bytes(*flow) & 0x0fff_ffff);
            }
            if extra.scope {
                let scope = bytes.get(24..).and_then(<[u8]>::first_chunk).ok_or(Fault::Short)?;
                let _ = write!(out, "%{}", u32::from_ne_bytes(*scope));
            }
        }
        _ => out.push_str("(einval)"),
    }
    Ok(())
}

fn write_uuid(bytes: [u8; 16], is_little: bool, is_large: bool, out: &mut String) {
    let order = match is_little {
        true => [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15],
        false => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    };
    for (index, at) in order.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        let byte = bytes.get(at).copied().unwrap_or(0);
        let _ = if is_large { write!(out, "{byte:02X}") } else { write!(out, "{byte:02x}") };
    }
}
