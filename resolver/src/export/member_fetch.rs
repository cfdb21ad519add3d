//! How a member of a whole value is fetched: computations that follow its pointers, one read for each.
//!
//! What a variant decides is a divisor: the computation divides by 0, and so has no value, where the
//! value has another variant. So a member that is not there is one that cannot be read.

use std::ops::Range;

use super::ArgumentOmission;
use super::fetch::NumberKind;
use super::value_bytes::ValueBytes;
use crate::location::{Binary, Expr, Node, Value, ValueType};
use crate::types::{MemberContent, MemberPlace, PlaceStep, Shape, VariantTest, variant_numbers};

/// What to fetch for a member.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberFetch {
    /// A number.
    Number {
        /// Its bits.
        value: Expr,
        /// Its size in bytes: 1, 2, 4 or 8.
        size: u8,
        /// How its bits are read.
        kind: NumberKind,
    },
    /// A text that ends with a NUL or after so many bytes.
    Letters {
        /// The address.
        address: Expr,
        /// How many bytes there are; `None` if only a NUL ends it.
        size: Option<u64>,
    },
    /// A text of a length.
    Text {
        /// The address.
        address: Expr,
        /// How many bytes there are.
        length: Expr,
    },
}

/// The type that all numbers are computed in.
const WORD: ValueType = ValueType::Unsigned(8);

/// What to fetch for a member of a value whose bytes are known. `gone` are the bits of the value that were
/// optimised out.
///
/// # Errors
///
/// Why it cannot be fetched.
pub fn fetch_member(
    bytes: &ValueBytes,
    gone: &[Range<u64>],
    place: &MemberPlace,
    content: &MemberContent,
) -> Result<MemberFetch, ArgumentOmission> {
    let walk = MemberWalk::new(bytes, gone, &place.steps)?;
    match content {
        MemberContent::Number => {
            let bits = place.bits.or(place.of.size.map(|size| size.saturating_mul(8))).unwrap_or(0);
            let kind = kind(&place.of.shape, place.of.size);
            let is_plain = place.bits.is_none() && place.bit % 8 == 0;
            let size = u8::try_from(bits / 8).ok().filter(|size| is_plain && matches!(size, 1 | 2 | 4 | 8));
            let value = match size {
                Some(size) => walk.read(place.bit / 8, size)?,
                None => walk.bits(place.bit, bits, kind == NumberKind::Signed)?,
            };
            Ok(MemberFetch::Number { value: walk.guarded(value)?, size: size.unwrap_or(8), kind })
        }
        MemberContent::TextPointer => {
            let address = generic(walk.guarded(walk.read(place.bit / 8, 8)?)?)?;
            Ok(MemberFetch::Letters { address, size: None })
        }
        MemberContent::Letters(size) => {
            let address = walk.address(place.bit / 8)?;
            Ok(MemberFetch::Letters { address: generic(walk.guarded(address)?)?, size: Some(*size) })
        }
        MemberContent::Text { pointer, add, length } => {
            let data = plus(generic(walk.read(*pointer, 8)?)?, *add)?;
            let length = walk.read(*length, 8)?;
            Ok(MemberFetch::Text { address: generic(walk.guarded(data)?)?, length })
        }
        MemberContent::Variants(variants) => {
            let (numbers, plain) = variant_numbers(variants);
            if let Some((offset, size)) = plain {
                let value = walk.guarded(walk.read(offset, size)?)?;
                return Ok(MemberFetch::Number { value, size, kind: NumberKind::Unsigned });
            }
            let mut sum: Option<Expr> = None;
            for (number, (_, test)) in numbers.into_iter().zip(variants) {
                let Some(test) = test.as_ref().filter(|test| test.is_in) else { continue };
                let one = node(Node::Convert(WORD, walk.test(test)?))?;
                let number = node(Node::Binary(Binary::Mul, one, word(number as u64)))?;
                sum = Some(match sum {
                    Some(sum) => node(Node::Binary(Binary::Plus, sum, number))?,
                    None => number,
                });
            }
            let value = walk.guarded(sum.unwrap_or_else(|| word(0)))?;
            Ok(MemberFetch::Number { value, size: 8, kind: NumberKind::Unsigned })
        }
    }
}

/// What to fetch to see whether a value has a variant: 1 if it does, otherwise 0.
///
/// # Errors
///
/// Why it cannot be fetched.
pub fn fetch_variant(
    bytes: &ValueBytes,
    gone: &[Range<u64>],
    place: &MemberPlace,
    test: Option<&VariantTest>,
) -> Result<MemberFetch, ArgumentOmission> {
    let walk = MemberWalk::new(bytes, gone, &place.steps)?;
    let value = match test {
        Some(test) => node(Node::Convert(WORD, walk.test(test)?))?,
        None => word(1),
    };
    Ok(MemberFetch::Number { value: walk.guarded(value)?, size: 8, kind: NumberKind::Unsigned })
}

/// How the bits of a number are read.
fn kind(of: &Shape, size: Option<u64>) -> NumberKind {
    match of {
        Shape::Integer { signed: true } | Shape::Enumeration { signed: true, .. } => NumberKind::Signed,
        Shape::Character { signed: true } if size == Some(1) => NumberKind::Signed,
        Shape::Character { .. } if size != Some(1) => NumberKind::Unicode,
        Shape::Float => NumberKind::Float,
        Shape::Pointer { .. } | Shape::Function | Shape::Collection(_) => NumberKind::Pointer,
        _ => NumberKind::Unsigned,
    }
}

/// The way to a member.
struct MemberWalk<'b> {
    at: WalkOrigin<'b>,
    /// Whether all variants on the way are those of the value; `None` if there is none.
    guard: Option<Expr>,
}

/// Where the bytes are that offsets count from.
enum WalkOrigin<'b> {
    Memory { address: Expr, gone: &'b [Range<u64>] },
    Parts { parts: &'b [Option<Expr>], gone: &'b [Range<u64>] },
}

impl<'b> MemberWalk<'b> {
    fn new(bytes: &'b ValueBytes, gone: &'b [Range<u64>], steps: &[PlaceStep]) -> Result<Self, ArgumentOmission> {
        let at = match bytes {
            ValueBytes::Memory { address, .. } => WalkOrigin::Memory { address: generic(address.clone())?, gone },
            ValueBytes::Parts { parts, .. } => WalkOrigin::Parts { parts, gone },
        };
        let mut walk = Self { at, guard: None };
        for step in steps {
            match step {
                PlaceStep::Follow { pointer, add } => {
                    let address = plus(generic(walk.read(*pointer, 8)?)?, *add)?;
                    walk.at = WalkOrigin::Memory { address, gone: &[] };
                }
                PlaceStep::Require(test) => {
                    let holds = walk.test(test)?;
                    walk.guard = Some(match walk.guard.take() {
                        Some(before) => node(Node::Binary(Binary::And, before, holds))?,
                        None => holds,
                    });
                }
            }
        }
        Ok(walk)
    }

    /// The address of a byte.
    fn address(&self, offset: u64) -> Result<Expr, ArgumentOmission> {
        match &self.at {
            WalkOrigin::Memory { address, .. } => plus(address.clone(), offset),
            WalkOrigin::Parts { .. } => Err(ArgumentOmission::TextNotInMemory),
        }
    }

    /// A number of so many bytes.
    fn read(&self, offset: u64, size: u8) -> Result<Expr, ArgumentOmission> {
        match &self.at {
            WalkOrigin::Memory { address, gone } => {
                are_there(gone, offset.saturating_mul(8), u64::from(size) * 8)?;
                // An address is read as one, so that tools see that it is followed.
                let to = if size == 8 { ValueType::Generic } else { WORD };
                let memory = node(Node::Memory { address: plus(address.clone(), offset)?, size, to })?;
                if size == 8 { Ok(memory) } else { converted(memory) }
            }
            WalkOrigin::Parts { .. } => self.bits(offset.saturating_mul(8), u64::from(size) * 8, false),
        }
    }

    /// A number of at most 64 bits that may begin in a byte.
    fn bits(&self, bit: u64, bits: u64, is_signed: bool) -> Result<Expr, ArgumentOmission> {
        let number = |size| ArgumentOmission::NumberSize(size);
        let (from, whole) = match &self.at {
            WalkOrigin::Memory { .. } => {
                let (first, last) = (bit / 8, bit.saturating_add(bits).saturating_sub(1) / 8);
                let size = u8::try_from(last.saturating_sub(first) + 1).ok().filter(|size| *size <= 8);
                (bit % 8, converted(self.read(first, size.ok_or(number(bits / 8))?)?)?)
            }
            WalkOrigin::Parts { parts, gone } => {
                are_there(gone, bit, bits)?;
                let index = usize::try_from(bit / 64).unwrap_or(usize::MAX);
                let part = parts.get(index).and_then(Option::as_ref).ok_or(ArgumentOmission::UnreadRegister)?;
                if (bit % 64).saturating_add(bits) > 64 {
                    return Err(number(bits / 8));
                }
                (bit % 64, converted(part.clone())?)
            }
        };
        let unused = 64u64.saturating_sub(bits);
        if unused == 0 {
            return Ok(whole);
        }
        let high = match unused.saturating_sub(from) {
            0 => whole,
            up => node(Node::Binary(Binary::Shl, whole, word(up)))?,
        };
        if !is_signed {
            return node(Node::Binary(Binary::Shr, high, word(unused)));
        }
        let high = node(Node::Reinterpret(ValueType::Signed(8), high))?;
        node(Node::Reinterpret(WORD, node(Node::Binary(Binary::Shra, high, word(unused)))?))
    }

    /// 1 if a test holds, otherwise 0.
    fn test(&self, test: &VariantTest) -> Result<Expr, ArgumentOmission> {
        let number = converted(self.read(test.offset, test.size)?)?;
        let compare = |operation, with| node(Node::Binary(operation, number.clone(), word(with)));
        let mut any: Option<Expr> = None;
        for (low, high) in &test.ranges {
            let within = match (low, high) {
                (low, high) if low == high => compare(Binary::Eq, *low)?,
                (0, high) => compare(Binary::Le, *high)?,
                (low, high) if low < high => {
                    let distance = compare(Binary::Minus, *low)?;
                    node(Node::Binary(Binary::Le, distance, word(high.wrapping_sub(*low))))?
                }
                (low, high) => node(Node::Binary(Binary::Or, compare(Binary::Ge, *low)?, compare(Binary::Le, *high)?))?,
            };
            any = Some(match any {
                Some(before) => node(Node::Binary(Binary::Or, before, within))?,
                None => within,
            });
        }
        let any = any.unwrap_or_else(|| Expr::constant(0));
        if test.is_in { Ok(any) } else { node(Node::Binary(Binary::Eq, any, Expr::constant(0))) }
    }

    /// A number that there is only if the value has the variants.
    fn guarded(&self, value: Expr) -> Result<Expr, ArgumentOmission> {
        match &self.guard {
            Some(guard) => {
                let divisor = node(Node::Convert(WORD, guard.clone()))?;
                node(Node::Binary(Binary::Div, converted(value)?, divisor))
            }
            None => Ok(value),
        }
    }
}

/// Fails if one of these bits is nowhere.
fn are_there(gone: &[Range<u64>], start: u64, bits: u64) -> Result<(), ArgumentOmission> {
    let end = start.saturating_add(bits);
    match gone.iter().any(|gone| gone.start < end && start < gone.end) {
        true => Err(ArgumentOmission::OptimizedOut),
        false => Ok(()),
    }
}

fn node(of: Node) -> Result<Expr, ArgumentOmission> {
    Expr::new(of).ok_or(ArgumentOmission::TooManyReferences)
}

fn word(bits: u64) -> Expr {
    Expr::of(Value { of: WORD, bits })
}

/// A value as a number of 8 bytes.
fn converted(value: Expr) -> Result<Expr, ArgumentOmission> {
    if value.value_type() == WORD { Ok(value) } else { node(Node::Convert(WORD, value)) }
}

/// A value as an address.
fn generic(value: Expr) -> Result<Expr, ArgumentOmission> {
    match value.value_type() {
        ValueType::Generic => Ok(value),
        _ => node(Node::Convert(ValueType::Generic, value)),
    }
}

fn plus(address: Expr, offset: u64) -> Result<Expr, ArgumentOmission> {
    let offset = i64::try_from(offset).map_err(|_| ArgumentOmission::TooManyReferences)?;
    generic(address)?.plus(offset).ok_or(ArgumentOmission::TooManyReferences)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::address::RuntimeAddress;
    use crate::location::{Machine, Register};
    use crate::types::{Language, Member, Type, Variant, Variants};

    /// Memory at 0x1000, and the address of the value in a register.
    struct Given(Vec<u8>);

    impl Machine for Given {
        fn register(&self, _: Register) -> Option<Vec<u8>> {
            Some(0x1000u64.to_le_bytes().to_vec())
        }

        fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
            let from = address.0.checked_sub(0x1000).and_then(|from| usize::try_from(from).ok());
            let bytes = from.and_then(|from| self.0.get(from..from + into.len()));
            bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
        }

        fn bias(&self) -> u64 {
            0
        }

        fn thread_local(&self, _: u64) -> Option<RuntimeAddress> {
            None
        }

        fn address_size(&self) -> u8 {
            8
        }

        fn is_big_endian(&self) -> bool {
            false
        }
    }

    fn of(name: &str, size: u64, shape: Shape) -> Arc<Type> {
        Arc::new(Type { name: name.into(), size: Some(size), shape })
    }

    fn member(name: &str, byte: u64, of: &Arc<Type>) -> Member {
        Member { name: name.into(), bit_offset: 8 * byte, bit_size: None, of: Arc::clone(of) }
    }

    fn bytes() -> ValueBytes {
        let address = Expr::new(Node::Register(Register(0), ValueType::Generic)).expect("a register");
        ValueBytes::Memory { address, size: 32 }
    }

    /// The number at a path, sign-extended; `None` if it is not there.
    fn number(of: &Arc<Type>, path: &[&str], is_optional: bool, memory: &[u8]) -> Option<i64> {
        let start = MemberPlace::new(of);
        let place = path.iter().try_fold(start, |place, name| place.member(name, Language::Rust)).expect("a member");
        let (place, content) = place.content(Language::Rust, is_optional).expect("a number");
        let MemberFetch::Number { value, size, kind } =
            fetch_member(&bytes(), &[], &place, &content).expect("it is fetched")
        else {
            panic!("{content:?}")
        };
        let bits = value.evaluate(&Given(memory.to_vec())).ok()?.bits;
        let unused = 64 - 8 * u32::from(size);
        Some(if kind == NumberKind::Signed {
            (bits << unused) as i64 >> unused
        } else {
            (bits << unused >> unused) as i64
        })
    }

    #[test]
    fn bits_are_extended_by_their_sign() {
        let word = of("i32", 4, Shape::Integer { signed: true });
        let bits = Member { bit_offset: 3, bit_size: Some(5), ..member("bits", 0, &word) };
        let far = Member {
            bit_offset: 34,
            bit_size: Some(4),
            ..member("far", 0, &of("u32", 4, Shape::Integer { signed: false }))
        };
        let structure = of("S", 8, Shape::Struct { members: [bits, far].into() });
        let memory = [0b1011_0111, 0, 0, 0, 0b0011_0100, 0, 0, 0];
        assert_eq!(number(&structure, &["bits"], false, &memory), Some(-10));
        assert_eq!(number(&structure, &["far"], false, &memory), Some(0b1101));
    }

    #[test]
    fn pointers_are_followed_and_may_lead_nowhere() {
        let byte = of("u8", 1, Shape::Integer { signed: false });
        let inner = of("T", 2, Shape::Struct { members: [member("x", 1, &byte)].into() });
        let pointer = of("*const T", 8, Shape::Pointer { to: Some(inner) });
        let outer = of("S", 8, Shape::Struct { members: [member("p", 0, &pointer)].into() });
        let mut memory = [0; 16];
        memory[..8].copy_from_slice(&0x100au64.to_le_bytes());
        memory[11] = 9;
        assert_eq!(number(&outer, &["p", "x"], false, &memory), Some(9));
        assert_eq!(number(&outer, &["p"], false, &memory), Some(0x100a));
        memory[..8].fill(0);
        assert_eq!(number(&outer, &["p", "x"], false, &memory), None);
    }

    /// An `Option` whose `None` is a value of what is in its `Some`, and a range that goes past the end.
    #[test]
    fn a_member_is_there_in_its_variant_only() {
        let tag = of("u8", 1, Shape::Integer { signed: false });
        let variant = |name: &str, values, members: Vec<Member>| {
            let of = of(name, 8, Shape::Struct { members: members.into() });
            Variant { values, name: name.into(), members: vec![member(name, 0, &of)], state: None }
        };
        let value = member("__0", 1, &tag);
        let variants = vec![variant("None", Some(vec![(0xfe, 0x101)]), vec![]), variant("Some", None, vec![value])];
        let variants = Variants { discriminant: Some(member("", 0, &tag)), variants, common: vec![] };
        let option = of("Option<u8>", 8, Shape::Variants(Arc::new(variants)));
        for (tag, is_there) in [(0, false), (1, false), (2, true), (0xfd, true), (0xfe, false), (0xff, false)] {
            let memory = [tag, 7, 0, 0];
            let payload = is_there.then_some(7);
            assert_eq!(number(&option, &["Some", "0"], false, &memory), payload, "{tag}");
            assert_eq!(number(&option, &["Some", "__0"], false, &memory), payload, "{tag}");
            assert_eq!(number(&option, &[], true, &memory), payload, "{tag}");
            // `Some` has no numbers of its own.
            assert_eq!(number(&option, &[], false, &memory), Some(if is_there { 0 } else { 1 }), "{tag}");
        }
    }
}
