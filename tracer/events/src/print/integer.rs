//! C's integers on 64-bit Linux, and the names of types.

use simple_markers_record::integer;

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// Its size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Whether it is signed.
    pub is_signed: bool,
}

impl Integer {
    pub(super) const CHAR: Self = Self { size: 1, is_signed: true };
    pub(super) const INT: Self = Self { size: 4, is_signed: true };
    pub(super) const UNSIGNED: Self = Self { size: 4, is_signed: false };
    pub(super) const LONG: Self = Self { size: 8, is_signed: true };
    pub(super) const UNSIGNED_LONG: Self = Self { size: 8, is_signed: false };

    /// The integer type of a size in bytes. `None` if there is none.
    #[must_use]
    pub fn new(size: u32, is_signed: bool) -> Option<Self> {
        matches!(size, 1 | 2 | 4 | 8).then_some(Self { size: size as u8, is_signed })
    }

    /// The integer type with a name that every kernel has; `None` for another name.
    #[must_use]
    pub fn of_type(name: &str) -> Option<Self> {
        if name.contains('*') {
            return Some(Self::UNSIGNED_LONG);
        }
        match known(&name.split_whitespace().collect::<Vec<_>>())? {
            BaseType::Integer(of) => Some(of),
            BaseType::Bool => Some(Self { size: 1, is_signed: false }),
            BaseType::Void | BaseType::Other(_) => None,
        }
    }

    /// The value that fits the type, extended to 8 bytes.
    pub(super) fn wrap(self, value: u64) -> u64 {
        match self.is_signed {
            true => integer::signed(value, self.size) as u64,
            false => integer::unsigned(value, self.size),
        }
    }

    /// The type after integer promotion (C11 6.3.1.1).
    pub(super) fn promoted(self) -> Self {
        if self.size < 4 { Self::INT } else { self }
    }

    /// The type of an operation on two types (C11 6.3.1.8).
    pub(super) fn common(self, other: Self) -> Self {
        let (a, b) = (self.promoted(), other.promoted());
        match a.size.cmp(&b.size) {
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal => Self { size: a.size, is_signed: a.is_signed && b.is_signed },
        }
    }

    /// The number in the first bytes. `None` if there are too few.
    pub(super) fn read(self, bytes: &[u8]) -> Option<u64> {
        let value = match self.size {
            1 => u64::from(*bytes.first()?),
            2 => u16::from_ne_bytes(*bytes.first_chunk()?).into(),
            4 => u32::from_ne_bytes(*bytes.first_chunk()?).into(),
            _ => u64::from_ne_bytes(*bytes.first_chunk()?),
        };
        Some(self.wrap(value))
    }
}

/// What a name of a type without `*` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BaseType {
    Integer(Integer),
    Bool,
    Void,
    /// Something else of a size in bytes.
    Other(u64),
}

/// Words that only stand in types.
pub(super) fn is_word_of_type(word: &str) -> bool {
    matches!(
        word,
        "unsigned"
            | "signed"
            | "char"
            | "short"
            | "int"
            | "long"
            | "void"
            | "bool"
            | "_Bool"
            | "const"
            | "volatile"
            | "struct"
            | "union"
            | "enum"
            | "__user"
            | "__force"
            | "__bitwise"
            | "static"
    )
}

/// The type that some words stand for, if C or every kernel has it.
pub(super) fn known(words: &[&str]) -> Option<BaseType> {
    let is_noise = |word: &&str| matches!(*word, "const" | "volatile" | "__user" | "__force" | "__bitwise" | "static");
    let words: Vec<&str> = words.iter().filter(|word| !is_noise(word)).copied().collect();
    if let ["enum", _] = *words {
        return Some(BaseType::Integer(Integer::UNSIGNED));
    }
    if let [word] = *words {
        let of = |size, is_signed| Some(BaseType::Integer(Integer { size, is_signed }));
        match word {
            "void" => return Some(BaseType::Void),
            "bool" | "_Bool" => return Some(BaseType::Bool),
            "u8" | "__u8" | "uint8_t" | "u_char" | "uchar" | "unchar" => return of(1, false),
            "s8" | "__s8" | "int8_t" => return of(1, true),
            "u16" | "__u16" | "uint16_t" | "__be16" | "__le16" | "ushort" | "u_short" | "umode_t" => {
                return of(2, false);
            }
            "s16" | "__s16" | "int16_t" => return of(2, true),
            "u32" | "__u32" | "uint32_t" | "__be32" | "__le32" | "uint" | "u_int" | "gfp_t" | "dev_t" | "uid_t"
            | "gid_t" => {
                return of(4, false);
            }
            "s32" | "__s32" | "int32_t" | "pid_t" | "__kernel_rwf_t" => return of(4, true),
            "u64" | "__u64" | "uint64_t" | "__be64" | "__le64" | "sector_t" | "size_t" | "ulong" | "u_long"
            | "uintptr_t" | "dma_addr_t" | "phys_addr_t" | "resource_size_t" | "ino_t" => return of(8, false),
            "s64" | "__s64" | "int64_t" | "ssize_t" | "loff_t" | "off_t" | "ktime_t" | "time64_t" => {
                return of(8, true);
            }
            _ => {}
        }
    }
    let is_number = |word: &str| matches!(word, "unsigned" | "signed" | "char" | "short" | "int" | "long");
    if words.is_empty() || !words.iter().all(|word| is_number(word)) {
        return None;
    }
    let has = |wanted: &str| words.contains(&wanted);
    let size = match () {
        () if has("char") => 1,
        () if has("short") => 2,
        () if has("long") => 8,
        () => 4,
    };
    Some(BaseType::Integer(Integer { size, is_signed: !has("unsigned") }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_wrap_and_types_are_promoted() {
        assert_eq!(Integer::INT.wrap(0xffff_ffff), u64::MAX);
        assert_eq!(Integer::UNSIGNED.wrap(u64::MAX), 0xffff_ffff);
        assert_eq!(Integer::CHAR.wrap(0x1ff), u64::MAX);
        assert_eq!(Integer::CHAR.promoted(), Integer::INT);
        assert_eq!(Integer::INT.common(Integer::UNSIGNED), Integer::UNSIGNED);
        assert_eq!(Integer::UNSIGNED.common(Integer::LONG), Integer::LONG);
        assert_eq!(Integer::LONG.common(Integer::UNSIGNED_LONG), Integer::UNSIGNED_LONG);
        assert_eq!(Integer { size: 2, is_signed: true }.read(&[0xfe, 0xff]), Some(-2i64 as u64));
        assert_eq!(Integer::INT.read(&[1, 2, 3]), None);
    }

    #[test]
    fn types_are_known() {
        let integer = |size, is_signed| Some(BaseType::Integer(Integer { size, is_signed }));
        assert_eq!(known(&["unsigned", "long", "long", "int"]), integer(8, false));
        assert_eq!(known(&["unsigned"]), integer(4, false));
        assert_eq!(known(&["const", "char"]), integer(1, true));
        assert_eq!(known(&["u16"]), integer(2, false));
        assert_eq!(known(&["enum", "zone_type"]), integer(4, false));
        assert_eq!(known(&["const", "void"]), Some(BaseType::Void));
        assert_eq!(known(&["struct", "page"]), None);
        assert_eq!(known(&["xfs_ino_t"]), None);
        assert_eq!(known(&[]), None);
    }
}
