//! The members of the kernel's structures, its enumerators, and the numbers and sizes of its
//! types, from its type information (BTF, `Documentation/bpf/btf.rst`).

/// Type information in the byte order of the machine.
#[derive(Clone, Debug)]
pub struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// The offset of each type in `types`; the type number 0 is `void`.
    offsets: Vec<usize>,
}

/// A member of a structure, or of one in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The offset in bytes.
    pub offset: u32,
    /// The size in bytes; `None` for an array.
    pub size: Option<u64>,
}

/// Why type information cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// The header is malformed.
    #[error("malformed BTF header")]
    Header,
    /// A type is malformed.
    #[error("malformed BTF type at offset {0:#x}")]
    Type(usize),
}

/// A kind of type that has a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BtfKind {
    /// A `typedef`. The arguments of a tracepoint are described by one.
    Typedef = TYPEDEF as isize,
    /// A function.
    Function = FUNCTION as isize,
}

const MAGIC: u16 = 0xeb9f;
const INTEGER: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUMERATION: u32 = 6;
const FORWARD: u32 = 7;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
const FUNCTION: u32 = 12;
const PROTOTYPE: u32 = 13;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;
const FLOAT: u32 = 16;
const DECLARATION_TAG: u32 = 17;
const TYPE_TAG: u32 = 18;
const LONG_ENUMERATION: u32 = 19;
/// How deep unnamed members and qualifiers are followed.
const NESTING: u32 = 16;

impl<'a> Btf<'a> {
    /// Reads the header, and finds the types.
    ///
    /// # Errors
    ///
    /// The header or a type is malformed.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BtfError> {
        let half = |at: usize| Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let section = |at: usize| {
            let start = (word(bytes, 4)? as usize).checked_add(word(bytes, at)? as usize)?;
            bytes.get(start..start.checked_add(word(bytes, at + 4)? as usize)?)
        };
        let (Some(MAGIC), Some(types), Some(strings)) = (half(0), section(8), section(16)) else {
            return Err(BtfError::Header);
        };
        let mut offsets = vec![0];
        let mut at = 0usize;
        while at < types.len() {
            let malformed = BtfError::Type(at);
            let info = word(types, at.saturating_add(4)).ok_or(malformed)?;
            let count = (info & 0xffff) as usize;
            let more = match info >> 24 & 0x1f {
                INTEGER | VARIABLE | DECLARATION_TAG => 4,
                ARRAY => 12,
                STRUCT | UNION | SECTION | LONG_ENUMERATION => count.saturating_mul(12),
                ENUMERATION | PROTOTYPE => count.saturating_mul(8),
                POINTER | FORWARD | TYPEDEF | VOLATILE | CONST | RESTRICT | FUNCTION | FLOAT | TYPE_TAG => 0,
                _ => return Err(malformed),
            };
            offsets.push(at);
            at = at.saturating_add(12).saturating_add(more);
        }
        Ok(Self { types, strings, offsets })
    }

    /// A member: `["thread", "fsbase"]` of `task_struct`. `None` if there is no such structure or member, or
    /// the member is a bit-field.
    #[must_use]
    pub fn member(&self, structure: &str, path: &[&str]) -> Option<Member> {
        let is_it = |at: &usize| self.kind(*at) == Some(STRUCT) && self.name(*at) == Some(structure.as_bytes());
        let mut at = *self.offsets.iter().skip(1).find(|at| is_it(at))?;
        let (mut bits, mut size) = (0u32, None);
        for name in path {
            let (offset, of) = self.find(at, name.as_bytes(), 0)?;
            bits = bits.checked_add(offset)?;
            at = self.unqualified(of)?;
            size = self.size(of).map(|(size, _)| size);
        }
        (bits % 8 == 0).then_some(Member { offset: bits / 8, size })
    }

    /// The enumerators of all enumerations, with their values.
    pub fn enumerators(&self) -> impl Iterator<Item = (&'a str, i64)> + '_ {
        self.offsets.iter().skip(1).flat_map(move |at| {
            let info = word(self.types, at.saturating_add(4)).unwrap_or(0);
            let (count, is_signed) = (info & 0xffff, info >> 31 == 1);
            let size = match info >> 24 & 0x1f {
                ENUMERATION => 8,
                LONG_ENUMERATION => 12,
                _ => 0,
            };
            let start = at.saturating_add(12);
            (0..if size == 0 { 0 } else { count as usize }).filter_map(move |index| {
                let at = start.checked_add(index.checked_mul(size)?)?;
                let name = std::str::from_utf8(self.name(at)?).ok()?;
                let low = word(self.types, at.checked_add(4)?)?;
                let value = match size {
                    8 if is_signed => i64::from(low as i32),
                    8 => low.into(),
                    _ => (u64::from(word(self.types, at.checked_add(8)?)?) << 32 | u64::from(low)) as i64,
                };
                Some((name, value))
            })
        })
    }

    /// The names of types and structures (`gfp_t`, `struct page`), the size of each in bytes, and whether
    /// it is a signed integer; `None` if it is none.
    pub fn sizes(&self) -> impl Iterator<Item = (String, (u64, Option<bool>))> + '_ {
        self.offsets.iter().enumerate().skip(1).filter_map(|(number, at)| {
            let before = match self.kind(*at)? {
                STRUCT => "struct ",
                UNION => "union ",
                INTEGER | TYPEDEF => "",
                _ => return None,
            };
            let name = std::str::from_utf8(self.name(*at)?).ok().filter(|name| !name.is_empty())?;
            Some((format!("{before}{name}"), self.size(u32::try_from(number).ok()?)?))
        })
    }

    /// The size of a type, and whether it is a signed integer.
    fn size(&self, number: u32) -> Option<(u64, Option<bool>)> {
        let at = self.unqualified(number)?;
        let size = u64::from(word(self.types, at.checked_add(8)?)?);
        let info = word(self.types, at.checked_add(4)?)?;
        Some(match info >> 24 & 0x1f {
            INTEGER => (size, Some(word(self.types, at.checked_add(12)?)? >> 24 & 1 == 1)),
            POINTER => (8, Some(false)),
            STRUCT | UNION => (size, None),
            ENUMERATION | LONG_ENUMERATION => (size, Some(info >> 31 == 1)),
            _ => return None,
        })
    }

    /// The number of a type; `None` if there is no such type.
    #[must_use]
    pub fn number(&self, kind: BtfKind, name: &str) -> Option<u32> {
        let is_it = |at: &usize| self.kind(*at) == Some(kind as u32) && self.name(*at) == Some(name.as_bytes());
        u32::try_from(self.offsets.iter().skip(1).position(is_it)? + 1).ok()
    }

    fn kind(&self, at: usize) -> Option<u32> {
        Some(word(self.types, at.checked_add(4)?)? >> 24 & 0x1f)
    }

    fn name(&self, at: usize) -> Option<&'a [u8]> {
        let rest = self.strings.get(word(self.types, at)? as usize..)?;
        rest.get(..rest.iter().position(|byte| *byte == 0)?)
    }

    /// The type without `typedef`, `const` and the like.
    fn unqualified(&self, number: u32) -> Option<usize> {
        let mut number = number;
        for _ in 0..NESTING {
            let at = *self.offsets.get(number as usize).filter(|_| number != 0)?;
            match self.kind(at)? {
                TYPEDEF | VOLATILE | CONST | RESTRICT | TYPE_TAG => number = word(self.types, at.checked_add(8)?)?,
                _ => return Some(at),
            }
        }
        None
    }

    /// The offset in bits and the type of a member, also of one in an unnamed structure.
    fn find(&self, at: usize, name: &[u8], nesting: u32) -> Option<(u32, u32)> {
        let info = word(self.types, at.checked_add(4)?)?;
        if !matches!(info >> 24 & 0x1f, STRUCT | UNION) || nesting > NESTING {
            return None;
        }
        let members = at.checked_add(12)?;
        for index in 0..(info & 0xffff) as usize {
            let member = members.checked_add(index.checked_mul(12)?)?;
            let of = word(self.types, member.checked_add(4)?)?;
            let offset = word(self.types, member.checked_add(8)?)?;
            // With the flag, the upper 8 bits are the size of a bit-field.
            let (offset, size) = if info >> 31 == 1 { (offset & 0x00ff_ffff, offset >> 24) } else { (offset, 0) };
            match self.name(member)? {
                [] => {
                    let inner = self.unqualified(of).and_then(|inner| self.find(inner, name, nesting + 1));
                    if let Some((inner, of)) = inner {
                        return Some((offset.checked_add(inner)?, of));
                    }
                }
                found if found == name && size == 0 => return Some((offset, of)),
                _ => {}
            }
        }
        None
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct task { struct { int pid; }; const struct inner in; int flag: 3; int name[1]; };
    /// struct inner { int pad; int base; };`
    fn bytes() -> Vec<u8> {
        let strings = b"\0int\0task\0pid\0in\0flag\0inner\0pad\0base\0start\0name\0";
        let name = |text: &str| {
            let wanted = format!("\0{text}\0");
            strings.windows(wanted.len()).position(|at| at == wanted.as_bytes()).unwrap() as u32 + 1
        };
        let info = |kind: u32, count: u32, flag: u32| flag << 31 | kind << 24 | count;
        let types: Vec<u32> = [
            vec![name("int"), info(1, 0, 0), 4, 32],
            vec![0, info(STRUCT, 1, 0), 4, name("pid"), 1, 0],
            vec![name("inner"), info(STRUCT, 2, 0), 8, name("pad"), 1, 0, name("base"), 1, 32],
            vec![0, info(10, 0, 0), 3],
            [
                vec![name("task"), info(STRUCT, 4, 1), 24, 0, 2, 32, name("in"), 4, 64],
                vec![name("flag"), 1, 3 << 24 | 128, name("name"), 7, 160],
            ]
            .concat(),
            vec![name("start"), info(12, 0, 0), 1],
            vec![0, info(ARRAY, 0, 0), 0, 1, 1, 1],
        ]
        .concat();
        let types: Vec<u8> = types.into_iter().flat_map(u32::to_ne_bytes).collect();
        let header = [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32];
        let mut bytes = [MAGIC.to_ne_bytes(), [1, 0]].concat();
        bytes.extend(header.into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend(types);
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn members_are_found() {
        let bytes = bytes();
        let btf = Btf::new(&bytes).unwrap();
        let at = |offset| Some(Member { offset, size: Some(4) });
        assert_eq!(btf.member("task", &["pid"]), at(4));
        assert_eq!(btf.member("task", &["in", "base"]), at(12));
        assert_eq!(btf.member("task", &["in"]), Some(Member { offset: 8, size: Some(8) }));
        assert_eq!(btf.member("inner", &["base"]), at(4));
        assert_eq!(btf.member("task", &["name"]), Some(Member { offset: 20, size: None }));
        assert_eq!(btf.member("task", &["flag"]), None);
        assert_eq!(btf.member("task", &["pid", "base"]), None);
        assert_eq!(btf.member("tusk", &["pid"]), None);
        assert_eq!(btf.number(BtfKind::Function, "start"), Some(6));
        assert_eq!(btf.number(BtfKind::Typedef, "start"), None);
        for end in 0..bytes.len() {
            if let Ok(btf) = Btf::new(&bytes[..end]) {
                assert_eq!(btf.member("task", &["in", "nothing"]), None);
            }
        }
        assert_eq!(Btf::new(&bytes[..20]).unwrap_err(), BtfError::Header);
    }
}
