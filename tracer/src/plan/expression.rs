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
//! | `["convert", A, TYPE]`, `["reinterpret", A, TYPE]` | a value of another type |
//!
//! A type is `i`, `u` or `f` and the size in bytes. Without one, the value is an integer of 8 bytes
//! of DWARF's generic type.

use serde_json::{Value as Json, json};
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::json::{Fault, JsonError, hexadecimal};
use simple_markers_resolver::location::{Expr, Node, Register, Value, ValueType};

use super::{MAX_DEPTH, MAX_NODES};

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

/// A computation as JSON. It must have passed `input::check`.
pub(super) fn to_json(of: &Expr) -> Json {
    let (mut array, of): (Vec<Json>, ValueType) = match of.node() {
        Node::Constant(Value { of, bits }) => (vec!["constant".into(), format!("{bits:#x}").into()], *of),
        Node::Address(address) => return json!(["address", address.to_string()]),
        Node::ThreadLocal(offset) => return json!(["thread_local", to_json(offset)]),
        Node::Register(register, of) => (vec!["register".into(), register.0.into()], *of),
        Node::Memory { address, size, to } => (vec!["memory".into(), to_json(address), (*size).into()], *to),
        Node::Unary(operation, a) => return json!([<&str>::from(operation), to_json(a)]),
        Node::Binary(operation, a, b) => return json!([<&str>::from(operation), to_json(a), to_json(b)]),
        Node::Convert(to, a) => (vec!["convert".into(), to_json(a)], *to),
        Node::Reinterpret(to, a) => (vec!["reinterpret".into(), to_json(a)], *to),
    };
    array.extend(TYPES.iter().find(|(known, _)| *known == of).map(|(_, word)| Json::from(*word)));
    array.into()
}

/// Reads a computation.
pub(super) fn from_json(json: &Json) -> Result<Expr, JsonError> {
    read(json, 1)
}

fn read(json: &Json, depth: u16) -> Result<Expr, JsonError> {
    if depth > MAX_DEPTH {
        return Err(JsonError::new(Fault::TooDeep));
    }
    let array = json.as_array().ok_or(JsonError::new(Fault::Malformed))?;
    let malformed = |index: usize| JsonError::new(Fault::Malformed).item(index);
    let name = array.first().and_then(Json::as_str).ok_or(malformed(0))?;
    let inner = |index: usize| {
        let value = array.get(index).ok_or(malformed(index))?;
        read(value, depth.saturating_add(1)).map_err(|error| error.item(index))
    };
    let number = |index: usize| array.get(index).and_then(hexadecimal).ok_or(malformed(index));
    // The type is the last item.
    let typed = |index: usize| match array.get(index) {
        None => Ok(ValueType::Generic),
        Some(value) => TYPES.iter().find(|(_, word)| value == word).map(|(of, _)| *of).ok_or(malformed(index)),
    };
    let (node, length) = match name {
        "constant" => {
            let (bits, of) = (number(1)?, typed(2)?);
            let value = Value::new(of, bits, 8);
            if value.bits != bits {
                return Err(JsonError::new(Fault::Range).item(1));
            }
            (Node::Constant(value), 3)
        }
        "address" => (Node::Address(Vaddr(number(1)?)), 2),
        "thread_local" => (Node::ThreadLocal(inner(1)?), 2),
        "register" => {
            let register = array.get(1).and_then(Json::as_u64).ok_or(malformed(1))?;
            let register = u16::try_from(register).map_err(|_| JsonError::new(Fault::Range).item(1))?;
            (Node::Register(Register(register), typed(2)?), 3)
        }
        "memory" => {
            let (address, to) = (inner(1)?, typed(3)?);
            let size = array.get(2).and_then(Json::as_u64).ok_or(malformed(2))?;
            let size = u8::try_from(size).ok().filter(|size| (1..=to.size(8)).contains(size));
            let size = size.ok_or(JsonError::new(Fault::Range).item(2))?;
            (Node::Memory { address, size, to }, 4)
        }
        "convert" => (Node::Convert(typed(2)?, inner(1)?), 3),
        "reinterpret" => (Node::Reinterpret(typed(2)?, inner(1)?), 3),
        name => match (name.parse(), name.parse()) {
            (Ok(operation), _) => (Node::Unary(operation, inner(1)?), 2),
            (_, Ok(operation)) => (Node::Binary(operation, inner(1)?, inner(2)?), 3),
            _ => return Err(malformed(0)),
        },
    };
    if array.len() > length {
        return Err(malformed(length));
    }
    Expr::new(node).filter(|expr| expr.node_count() <= MAX_NODES).ok_or(JsonError::new(Fault::TooLarge))
}
