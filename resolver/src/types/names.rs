//! Names for the values of an integer: from the words of a format, or from an enumeration of the debug
//! information.

use std::fmt::Write as _;
use std::sync::Arc;

use simple_markers_record::names::{Words, is_in_name, write_flags};

use super::{Language, Shape, Type};
use crate::text;

/// Names for the values of an integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Whether each name stands for some bits, and not for the whole value.
    pub is_flags: bool,
    /// The values and their names, in order. Of two names for a value the first one counts.
    pub pairs: Vec<(i128, Arc<str>)>,
}

impl Names {
    /// The names in the words of a format, without those whose value is not known.
    #[must_use]
    pub fn of_words(words: &Words<'_>) -> Self {
        let pair =
            |word: simple_markers_record::names::Word<'_>| Some((word.value?, text::from_bytes(word.name).into()));
        Self { is_flags: words.is_flags, pairs: words.iter().filter_map(pair).collect() }
    }

    /// The enumerators of a type: flags if each of them has at most one bit, except in Rust. `None` if
    /// the type is no enumeration.
    #[must_use]
    pub fn of_type(of: &Type, language: Language) -> Option<Self> {
        let Shape::Enumeration { enumerators, .. } = &of.shape else { return None };
        let is_flags = language == Language::C && are_flags(enumerators);
        Some(Self { is_flags, pairs: enumerators.iter().map(|(name, value)| (*value, Arc::clone(name))).collect() })
    }

    /// What stands for a value of `size` bytes, from 1 to 8. `None` if it has no name; flags always have
    /// one, if only hexadecimal.
    #[must_use]
    pub fn name(&self, value: i128, size: u8) -> Option<String> {
        let all = all_bits(size);
        let bits = |value: i128| value as u64 & all;
        let value = bits(value);
        if !self.is_flags || value == 0 {
            return self.pairs.iter().find(|(known, _)| bits(*known) == value).map(|(_, name)| name.to_string());
        }
        let masks = self.pairs.iter().map(|(mask, name)| (bits(*mask), &**name));
        let mut out = String::new();
        write_flags(value, "|", masks.filter(|(mask, _)| *mask != 0), &mut out);
        Some(out)
    }

    /// The value with a name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<i128> {
        self.pairs.iter().find(|(_, known)| **known == *name).map(|(value, _)| *value)
    }

    /// The names as the words of a format, with their braces. Names that words cannot have are left out,
    /// and of two equal names the second.
    #[must_use]
    pub fn to_words(&self) -> String {
        let separator = if self.is_flags { '|' } else { ',' };
        let mut out = String::from("{");
        for (index, (value, name)) in self.pairs.iter().enumerate() {
            let is_known = self.pairs.iter().take(index).any(|(_, known)| known == name);
            if is_known || name.is_empty() || name.trim() != &**name || !name.bytes().all(is_in_name) {
                continue;
            }
            // Writing to a String cannot fail. The separator behind the last one says that it is a flag.
            let _ = write!(out, "{name}={value}{separator}");
        }
        if out.ends_with(',') {
            out.pop();
        }
        out.push('}');
        out
    }
}

/// The bits of a number of `size` bytes.
fn all_bits(size: u8) -> u64 {
    u64::MAX.checked_shr(64 - u32::from(size.clamp(1, 8)) * 8).unwrap_or(0)
}

/// Whether the enumerators of a type of C are flags: none has several bits or a sign.
#[must_use]
pub(super) fn are_flags(enumerators: &[(Arc<str>, i128)]) -> bool {
    enumerators.iter().all(|(_, known)| *known >= 0 && known.count_ones() <= 1)
}

#[cfg(test)]
mod tests {
    use simple_markers_record::names::words;

    use super::*;

    fn names(inner: &str) -> Names {
        Names::of_words(&words(inner.as_bytes()).unwrap())
    }

    fn shown(inner: &str, values: &[i128]) -> Vec<String> {
        let names = names(inner);
        values.iter().map(|value| names.name(*value, 4).unwrap_or_else(|| "-".to_owned())).collect()
    }

    #[test]
    fn one_of_several_words_is_the_value() {
        assert_eq!(
            shown("IDLE=0,BUSY=1,LATE=1,BAD=-1", &[0, 1, -1, 0xffff_ffff, 2]),
            ["IDLE", "BUSY", "BAD", "BAD", "-"]
        );
        assert_eq!(names("IDLE=0,BAD=-1").name(-1, 8).as_deref(), Some("BAD"));
        assert_eq!(names("A=?,B=1").pairs, [(1, "B".into())]);
    }

    #[test]
    fn flags_are_those_of_the_kernel() {
        assert_eq!(shown("READ=1|WRITE=2", &[1, 3, 0x41, 0x40, 0]), ["READ", "READ|WRITE", "READ|0x40", "0x40", "-"]);
        assert_eq!(shown("NONE=0|RW=3|R=1|W=2", &[0, 1, 3, 7]), ["NONE", "R", "RW", "RW|0x4"]);
        assert_eq!(shown("TOP=0x80000000|", &[-0x8000_0000]), ["TOP"]);
    }

    #[test]
    fn enumerators_become_words_and_names_again() {
        let of = |values: &[(&str, i128)]| Type {
            name: "enum e".into(),
            size: Some(4),
            shape: Shape::Enumeration {
                signed: false,
                enumerators: values.iter().map(|(name, value)| ((*name).into(), *value)).collect(),
            },
        };
        let text = |values: &[(&str, i128)], language| Names::of_type(&of(values), language).unwrap().to_words();
        assert_eq!(text(&[("A", 0), ("B", 3)], Language::C), "{A=0,B=3}");
        assert_eq!(text(&[("A", 1), ("B", 2)], Language::C), "{A=1|B=2|}");
        assert_eq!(text(&[("A", 1)], Language::C), "{A=1|}");
        assert_eq!(text(&[("A", 1), ("B", 2)], Language::Rust), "{A=1,B=2}");
        assert_eq!(text(&[("A,", 1), ("B", -2), ("B", 2)], Language::Rust), "{B=-2}");
        assert_eq!(names("A=1|").name(1, 4).as_deref(), Some("A"));
        assert_eq!(names("A=1|B=2|").value("B"), Some(2));
    }
}
