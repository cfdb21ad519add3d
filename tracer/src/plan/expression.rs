//! Computations in plan files: nested arrays that start with the name of the operation.
//!
//! | array | value |
//! | --- | --- |
//! | `["constant", "0x1f", TYPE]` | a constant |
//! | `["address", "0x4010"]` | a link-time address |
//! | `["thread_local", A]` | the address at an offset in the thread-local storage |
//! | `["register", 5, TYPE]` | a register by its number in DWARF |
//! | `["memory", A, 4, TYPE]` | so many bytes at an address |
//! | `["neg", A]` | an operation on one value: `abs`, `neg`, `not` |
//! | `["plus", A, B]` | an operation on two values, with its name in DWARF |
//! | `["at_entry", A]` | the value at the entry of the function of the frame |
//! | `["convert", A, TYPE]`, `["reinterpret", A, TYPE]` | a value of another type |
//!
//! A type is `i`, `u` or `f` and the size in bytes. Without one, the value is an integer of 8 bytes
//! of DWARF's generic type.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value as Json, json};
use simple_markers_resolver::json::Hexadecimal;
use simple_markers_resolver::location::{Expr, Node, Register, Value, ValueType};

/// The most steps of one computation.
pub(crate) const MAX_NODES: u32 = 512;

/// How deep a computation is nested at most. Readers of JSON, which plan files are, follow 128 levels.
pub(crate) const MAX_DEPTH: u16 = 96;

const TYPES: [(ValueType, &str); 10] = [
    (ValueType::Signed(1), "i1"),
    (ValueType::Signed(2), "i2"),
    (ValueType::Signed(4), "i4"),
    (ValueType::Signed(8), "i8"),
    (ValueType::Unsigned(1), "u1"),
    (ValueType::Unsigned(2), "u2"),
    (ValueType::Unsigned(4), "u4"),
    (ValueType::Unsigned(8), "u8"),
    (ValueType::Float(4), "f4"),
    (ValueType::Float(8), "f8"),
];

/// A computation as a plan file has it.
pub(super) struct Computation<E>(pub(super) E);

impl Serialize for Computation<&Expr> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        to_json(self.0).serialize(serializer)
    }
}

fn to_json(of: &Expr) -> Json {
    let (mut array, of) = match of.node() {
        Node::Constant(Value { of, bits }) => (vec![json!("constant"), json!(Hexadecimal(*bits))], *of),
        Node::Address(address) => return json!(["address", address]),
        Node::ThreadLocal(offset) => return json!(["thread_local", to_json(offset)]),
        Node::Register(register, of) => (vec![json!("register"), json!(register.0)], *of),
        Node::Memory { address, size, to } => (vec![json!("memory"), to_json(address), json!(size)], *to),
        Node::AtEntry(a) => return json!(["at_entry", to_json(a)]),
        Node::Unary(operation, a) => return json!([<&str>::from(operation), to_json(a)]),
        Node::Binary(operation, a, b) => return json!([<&str>::from(operation), to_json(a), to_json(b)]),
        Node::Convert(to, a) => (vec![json!("convert"), to_json(a)], *to),
        Node::Reinterpret(to, a) => (vec![json!("reinterpret"), to_json(a)], *to),
    };
    array.extend(TYPES.iter().find(|(known, _)| *known == of).map(|(_, word)| json!(word)));
    array.into()
}

impl<'de> Deserialize<'de> for Computation<Expr> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ComputationVisitor).map(Self)
    }
}

struct ComputationVisitor;

impl<'de> Visitor<'de> for ComputationVisitor {
    type Value = Expr;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array with the name of an operation and what it applies to")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Expr, A::Error> {
        let inner = |items: &mut A| item(items).map(|Computation(expr)| expr);
        // The type is the last item.
        let typed = |items: &mut A| {
            let Some(word) = items.next_element::<String>()? else { return Ok(ValueType::Generic) };
            let known = TYPES.iter().find(|(_, known)| *known == word).map(|(of, _)| *of);
            known.ok_or_else(|| A::Error::custom(format_args!("`{word}` is no type")))
        };
        let name: String = item(&mut items)?;
        let node = match name.as_str() {
            "constant" => {
                let (Hexadecimal(bits), of) = (item(&mut items)?, typed(&mut items)?);
                let value = Some(Value::new(of, bits, 8)).filter(|value| value.bits == bits);
                let too_large = || A::Error::custom(format_args!("its type does not hold the constant {bits:#x}"));
                Node::Constant(value.ok_or_else(too_large)?)
            }
            "address" => Node::Address(item(&mut items)?),
            "at_entry" => Node::AtEntry(inner(&mut items)?),
            "thread_local" => Node::ThreadLocal(inner(&mut items)?),
            "register" => Node::Register(Register(item(&mut items)?), typed(&mut items)?),
            "memory" => {
                let (address, size, to) = (inner(&mut items)?, item(&mut items)?, typed(&mut items)?);
                if !(1..=to.size(8)).contains(&size) {
                    return Err(A::Error::custom(format_args!("its type does not hold {size} bytes of memory")));
                }
                Node::Memory { address, size, to }
            }
            "convert" | "reinterpret" => {
                let (a, to) = (inner(&mut items)?, typed(&mut items)?);
                if name == "convert" { Node::Convert(to, a) } else { Node::Reinterpret(to, a) }
            }
            name => match (name.parse(), name.parse()) {
                (Ok(operation), _) => Node::Unary(operation, inner(&mut items)?),
                (_, Ok(operation)) => Node::Binary(operation, inner(&mut items)?, inner(&mut items)?),
                _ => return Err(A::Error::custom(format_args!("`{name}` is no operation"))),
            },
        };
        let expr = Expr::new(node).filter(|expr| expr.node_count() <= MAX_NODES && expr.depth() <= MAX_DEPTH);
        let too_large = || {
            A::Error::custom(format_args!("it has more than {MAX_NODES} operations, or {MAX_DEPTH} inside each other"))
        };
        expr.ok_or_else(too_large)
    }
}

/// Writes a computation that may be missing.
pub(super) fn serialize_maybe<S: Serializer>(of: &Option<Expr>, serializer: S) -> Result<S::Ok, S::Error> {
    of.as_ref().map(Computation).serialize(serializer)
}

/// Reads a computation that may be missing.
pub(super) fn deserialize_maybe<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Expr>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(|Computation(of)| of))
}

/// The next item of an array.
pub(super) fn item<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(items: &mut A) -> Result<T, A::Error> {
    items.next_element()?.ok_or_else(|| A::Error::custom("the array is too short"))
}
