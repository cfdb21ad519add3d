//! Writes what `%s` prints: texts of the record, and those that the functions of a format make.

use std::fmt::Write as _;

use simple_markers_record::names::write_flags;

use super::integer::Integer;
use super::node::{Dump, Fault, Node, Scope, TextFunction};
use super::pointer::{write_bitmap, write_hex};

/// The most bytes that one function writes.
const MOST: usize = 8192;

impl Node {
    /// Writes the text, of which only `most` bytes are wanted.
    pub(super) fn text(&self, scope: Scope<'_>, most: usize, out: &mut String) -> Result<(), Fault> {
        match self {
            Self::Text(text) => {
                out.push_str(text);
                Ok(())
            }
            Self::Place(_) | Self::Skip { .. } => {
                let bytes = self.bytes(scope)?;
                let bytes = bytes.get(..most.min(MOST)).unwrap_or(bytes);
                push_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default(), out);
                Ok(())
            }
            Self::Conditional(parts) => {
                let chosen = if parts.0.is_true(scope)? { &parts.1 } else { &parts.2 };
                chosen.text(scope, most, out)
            }
            Self::Function(made) => made.write(scope, out),
            _ => {
                write_text_at(self.number(scope)?, scope, out);
                Ok(())
            }
        }
    }
}

/// A text in the memory of the kernel.
fn write_text_at(address: u64, scope: Scope<'_>, out: &mut String) {
    const PAGE: u64 = 4096;
    match address {
        0 => out.push_str("(null)"),
        1..PAGE | 0xffff_ffff_ffff_f001.. => out.push_str("(efault)"),
        _ => match scope.names.text_at(address) {
            Some(text) => out.push_str(&text),
            None => {
                let _ = write!(out, "{address:#x}");
            }
        },
    }
}

/// The bytes as text. What is not UTF-8 becomes U+FFFD.
pub(super) fn push_lossy(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            out.push('\u{fffd}');
        }
    }
}

impl TextFunction {
    fn write(&self, scope: Scope<'_>, out: &mut String) -> Result<(), Fault> {
        match self {
            Self::Flags { value, delimiter, pairs } => {
                let masks = pairs.iter().map(|(mask, name)| (*mask, &**name));
                write_flags(value.number(scope)?, delimiter, masks, out);
            }
            Self::Symbolic { value, pairs } => {
                let value = value.number(scope)?;
                match pairs.iter().find(|(of, _)| *of == value).filter(|(_, name)| !name.is_empty()) {
                    Some((_, name)) => out.push_str(name),
                    None => {
                        let _ = write!(out, "{value:#x}");
                    }
                }
            }
            Self::Array { place, count, size } => {
                write_array(place.bytes(scope)?, count.number(scope)?, size.number(scope)?, out)?;
            }
            Self::Hex { place, length, has_spaces } => {
                let length = usize::try_from(length.number(scope)? as i64).unwrap_or(0).min(MOST);
                let bytes = place.bytes(scope)?.get(..length).ok_or(Fault::Short)?;
                write_hex(bytes, has_spaces.then_some(' '), out);
            }
            Self::Dump(dump) => dump.write(scope, out)?,
            Self::Bitmask(place) => {
                let bytes = place.bytes(scope.record)?;
                write_bitmap(bytes, bytes.len().saturating_mul(8), out)?;
            }
            Self::MemoryError(value) => out.push_str(match value.number(scope)? {
                0 => "Corrected",
                1 => "Uncorrected",
                2 => "Deferred",
                3 => "Fatal",
                _ => "Info",
            }),
        }
        Ok(())
    }
}

/// `trace_print_array_seq`
fn write_array(bytes: &[u8], count: u64, size: u64, out: &mut String) -> Result<(), Fault> {
    // The kernel takes the count for an `int`.
    let length = usize::try_from(count as i64).unwrap_or(0).saturating_mul(usize::try_from(size).unwrap_or(usize::MAX));
    let bytes = bytes.get(..length.min(MOST)).ok_or(Fault::Short)?;
    out.push('{');
    let mut separator = "";
    match u32::try_from(size).ok().and_then(|size| Integer::new(size, false)) {
        Some(of) => {
            for element in bytes.chunks_exact(of.size.into()) {
                let value = of.read(element).ok_or(Fault::Short)?;
                let _ = write!(out, "{separator}{value:#x}");
                separator = ",";
            }
        }
        // The kernel's own message for the first element; then it goes on with bytes.
        None => {
            for byte in bytes {
                let _ = match separator {
                    "" => write!(out, "BAD SIZE:{size} {byte:#x}"),
                    _ => write!(out, ",{byte:#x}"),
                };
                separator = ",";
            }
        }
    }
    out.push('}');
    Ok(())
}

impl Dump {
    /// Rows of hexadecimal numbers (`seq_buf_hex_dump`).
    fn write(&self, scope: Scope<'_>, out: &mut String) -> Result<(), Fault> {
        let number = |node: &Node| Ok(usize::try_from(node.number(scope)? as i64).unwrap_or(0));
        let row = if number(&self.row)? == 32 { 32 } else { 16 };
        let length = number(&self.length)?.min(MOST);
        let bytes = self.place.bytes(scope)?.get(..length).ok_or(Fault::Short)?;
        let (kind, group) = (number(&self.kind)?, number(&self.group)?);
        let has_text = self.has_text.is_true(scope)?;
        out.push('\n');
        for (index, line) in bytes.chunks(row).enumerate() {
            // The kernel prints the address of its buffer for the kind 1, which nobody knows.
            let _ = match kind {
                0 => write!(out, "{}", self.prefix),
                1 => write!(out, "{}?: ", self.prefix),
                _ => write!(out, "{}{:08x}: ", self.prefix, index * row),
            };
            write_row(line, row, group, has_text, out);
            out.push('\n');
        }
        Ok(())
    }
}

/// A row with groups of 1, 2, 4 or 8 bytes (`hex_dump_to_buffer`).
fn write_row(line: &[u8], row: usize, group: usize, has_text: bool, out: &mut String) {
    let start = out.len();
    let of = u32::try_from(group).ok().and_then(|size| Integer::new(size, false));
    let of = of.filter(|of| line.len() % usize::from(of.size) == 0).unwrap_or(Integer { size: 1, is_signed: false });
    let size = usize::from(of.size);
    for (index, element) in line.chunks_exact(size).enumerate() {
        let value = of.read(element).unwrap_or(0);
        let space = if index == 0 { "" } else { " " };
        let _ = write!(out, "{space}{value:0width$x}", width = size * 2);
    }
    if has_text {
        // The column is where a full row ends.
        let column = row * 2 + row / size + 1;
        let used = out.len() - start;
        out.extend(std::iter::repeat_n(' ', column.saturating_sub(used)));
        out.extend(
            line.iter().map(|byte| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '.' }),
        );
    }
}
