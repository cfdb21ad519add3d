//! The text that says where the fields of an event are
//! (Documentation/trace/events.rst, "Event formats").

use std::ops::Range;

use serde::{Deserialize, Serialize};
use simple_markers_record::integer;

use super::print::Integer;

/// Where the fields of an event are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// The group of the event, also called its subsystem. The text does not have it: it is empty
    /// unless [`Format::of`] got it.
    pub group: String,
    /// The name of the event.
    pub name: String,
    /// The number at the start of each of its records.
    pub id: u16,
    /// The fields in the order of the text.
    pub fields: Vec<Field>,
    /// How the kernel prints the event: a format string and its arguments. Empty if the text does
    /// not say it.
    pub print: String,
}

/// A field of an event. serde has it as recordings do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type as C writes it, without the name and the length of an array.
    #[serde(rename = "type")]
    pub of: String,
    /// Its offset in the record in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// Whether it is signed.
    #[serde(rename = "signed")]
    pub is_signed: bool,
    /// Whether it is an array.
    #[serde(rename = "array")]
    pub is_array: bool,
    /// The size of an element of an array in bytes, or that of the field.
    pub element: u32,
}

/// Why a text is not a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It does not have the number of the event.
    #[error("the format has no ID")]
    NoId,
    /// A line of a field cannot be read.
    #[error("line {0} of the format is not a field")]
    Field(usize),
}

impl Format {
    /// The format of an event, as `events/GROUP/EVENT/format` has it.
    ///
    /// # Errors
    ///
    /// The text has no number of the event, or a field that cannot be read.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let name = of("name:").unwrap_or_default().to_owned();
        let id = of("ID:").and_then(|id| id.parse().ok()).ok_or(FormatError::NoId)?;
        // It is the last part, and its strings may have line breaks.
        let print = text.split_once("\nprint fmt:").map_or("", |(_, print)| print.trim()).to_owned();
        Ok(Self { group: String::new(), name, id, fields: fields(text)?, print })
    }

    /// The format of an event of a group.
    ///
    /// # Errors
    ///
    /// Those of [`Format::parse`].
    pub fn of(group: &str, text: &str) -> Result<Self, FormatError> {
        Ok(Self { group: group.to_owned(), ..Self::parse(text)? })
    }

    /// A field by its name; `None` if there is none.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// The fields in a text.
///
/// # Errors
///
/// A field cannot be read.
pub fn fields(text: &str) -> Result<Vec<Field>, FormatError> {
    let lines = text.lines().enumerate();
    // What follows is the kernel's way to print the event.
    let before = lines.take_while(|(_, line)| !line.starts_with("print fmt:"));
    let fields = before.filter_map(|(number, line)| Some((number, line.trim_start().strip_prefix("field:")?)));
    fields.map(|(number, line)| field(line).ok_or(FormatError::Field(number.saturating_add(1)))).collect()
}

/// `int common_pid; offset:4; size:4; signed:1;`, with tabs.
fn field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let (mut offset, mut size, mut is_signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", number)) => offset = number.parse().ok(),
            Some(("size", number)) => size = number.parse().ok(),
            Some(("signed", number)) => is_signed = number == "1",
            _ => {}
        }
    }
    // An array has its length after the name, `char comm[16]`, or before it, `__data_loc char[] text`.
    let mut length = None;
    let (of, name) = match declaration.rsplit_once('[') {
        Some((before, after)) if after.ends_with(']') => {
            length = after.strip_suffix(']');
            before.rsplit_once(char::is_whitespace)?
        }
        _ => declaration.rsplit_once(char::is_whitespace)?,
    };
    let name = name.trim_start_matches('*');
    let is_name = !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || character == '_');
    let (name, of) = (name.to_owned(), of.trim().to_owned());
    let size: u32 = size?;
    let element = length.map_or(size, |length| element(&of, size, length.trim()));
    is_name.then_some(Field { name, of, offset: offset?, size, is_signed, is_array: length.is_some(), element })
}

/// The size of an element of an array of some bytes. Its length may be the name of a constant.
fn element(of: &str, size: u32, length: &str) -> u32 {
    let by_length = length.parse().ok().and_then(|length| size.checked_div(length)).filter(|size| *size > 0);
    by_length.or_else(|| Integer::of_type(of).map(|of| of.size.into())).unwrap_or(1)
}

impl Field {
    fn range(&self) -> Option<Range<usize>> {
        let start = usize::try_from(self.offset).ok()?;
        Some(start..start.checked_add(usize::try_from(self.size).ok()?)?)
    }

    /// The bytes of the field in a record. `None` if the record is too short.
    #[must_use]
    pub fn bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(self.range()?)
    }

    /// The number in the field, with its sign extended to 8 bytes. `None` if the record is too short,
    /// or the field does not have 1, 2, 4 or 8 bytes.
    #[must_use]
    pub fn number(&self, record: &[u8]) -> Option<u64> {
        let bytes = self.bytes(record)?;
        let unsigned = match *bytes {
            [a] => a.into(),
            [a, b] => u16::from_ne_bytes([a, b]).into(),
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
            _ => u64::from_ne_bytes(bytes.try_into().ok()?),
        };
        let size = u8::try_from(self.size).unwrap_or(u8::MAX);
        Some(if self.is_signed { integer::signed(unsigned, size) as u64 } else { unsigned })
    }

    /// Whether the record has the data of the field somewhere else (`__data_loc`).
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        self.of.starts_with("__data_loc") || self.of.starts_with("__rel_loc")
    }

    /// The data of a dynamic field. `None` if the field is not dynamic, or the data are not in the
    /// record.
    #[must_use]
    pub fn data<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let place = u32::try_from(self.number(record)? & 0xffff_ffff).ok()?;
        let from = match self.of.split_whitespace().next()? {
            "__data_loc" => 0,
            "__rel_loc" => self.range()?.end,
            _ => return None,
        };
        let start = from.checked_add(usize::try_from(place & 0xffff).ok()?)?;
        record.get(start..start.checked_add(usize::try_from(place >> 16).ok()?)?)
    }

    /// The text in a field of characters, up to its NUL. `None` if it is not in the record.
    #[must_use]
    pub fn text<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = if self.is_dynamic() { self.data(record)? } else { self.bytes(record)? };
        bytes.split(|byte| *byte == 0).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
name: e0
ID: 2326
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:unsigned long __probe_ip;	offset:8;	size:8;	signed:0;
	field:u64 a1[];	offset:16;	size:16;	signed:0;
	field:char comm[16];	offset:32;	size:16;	signed:0;
	field:const char * path;	offset:48;	size:8;	signed:0;
	field:__data_loc char[] text;	offset:56;	size:4;	signed:1;
	field:__rel_loc char[] near;	offset:60;	size:4;	signed:1;

print fmt: \"field:no\", REC->comm
";

    #[test]
    fn a_format_of_the_kernel_is_read() {
        let format = Format::parse(TEXT).expect("a format");
        assert_eq!((format.name.as_str(), format.id, format.fields.len()), ("e0", 2326, 8));
        let what = |field: &Field| (field.name.clone(), field.of.clone(), field.offset, field.size, field.is_signed);
        let expected = [
            ("common_type", "unsigned short", 0, 2, false),
            ("common_pid", "int", 4, 4, true),
            ("__probe_ip", "unsigned long", 8, 8, false),
            ("a1", "u64", 16, 16, false),
            ("comm", "char", 32, 16, false),
            ("path", "const char *", 48, 8, false),
            ("text", "__data_loc char[]", 56, 4, true),
            ("near", "__rel_loc char[]", 60, 4, true),
        ];
        let expected = expected.map(|(name, of, offset, size, signed)| (name.into(), of.into(), offset, size, signed));
        assert_eq!(format.fields.iter().map(what).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn fields_are_read_from_a_record() {
        let format = Format::parse(TEXT).expect("a format");
        let mut record = vec![0; 75];
        record[4..8].copy_from_slice(&(-5i32).to_ne_bytes());
        record[32..36].copy_from_slice(b"name");
        record[56..60].copy_from_slice(&(64u32 | 5 << 16).to_ne_bytes());
        record[60..64].copy_from_slice(&(5u32 | 6 << 16).to_ne_bytes());
        record[64..75].copy_from_slice(b"text\0other\0");
        let field = |name| format.field(name).expect("a field");
        assert_eq!(field("common_pid").number(&record), Some(-5i64 as u64));
        assert_eq!(field("a1").number(&record), None);
        assert_eq!(field("comm").text(&record), Some(&b"name"[..]));
        assert_eq!(field("comm").data(&record), None);
        assert_eq!(
            (field("text").text(&record), field("near").text(&record)),
            (Some(&b"text"[..]), Some(&b"other"[..]))
        );
        // The data would end behind the record.
        assert_eq!(field("near").text(&record[..74]), None);
        assert_eq!(field("near").text(&record[..62]), None);
    }

    #[test]
    fn what_is_not_a_format_is_refused() {
        assert_eq!(Format::parse("name: x\n"), Err(FormatError::NoId));
        for line in [
            "field:int;\toffset:0;\tsize:4;",
            "field:int a;\tsize:4;",
            "field:int a;\toffset:-1;\tsize:4;",
            "field:int a[;",
        ] {
            assert_eq!(Format::parse(&format!("ID: 1\n\t{line}\n")), Err(FormatError::Field(2)), "{line}");
        }
    }
}
