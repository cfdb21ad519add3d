//! Members of whole values in recordings, and in what programs record themselves: the computations that a
//! program would do in its memory, done on the bytes that were recorded.

use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_resolver::location::{Expr, Machine, Register};

use crate::filter::{Fields, Inputs, MEMBER_TEXT, Text, VALUE_ADDRESS};
use crate::hit::Hit;
use crate::plan::{ContextNumber, Input, LONGEST_TEXT, PlannedSite};
use crate::record::Field;
use crate::value::until_nul;
use crate::whole::chunks;

/// How many bytes of a text suffice, if more follow that were not recorded: more than are compared or
/// counted.
const ENOUGH: usize = LONGEST_TEXT + 1;

/// The values of arguments, with the bytes of whole values.
pub trait WholeInputs: Inputs {
    /// The chunks of the whole value of an argument; `None` if it has none.
    fn whole(&self, argument: usize) -> Option<&[u8]>;
}

impl WholeInputs for Hit<'_> {
    fn whole(&self, argument: usize) -> Option<&[u8]> {
        self.whole(argument)
    }
}

impl WholeInputs for Fields<'_> {
    fn whole(&self, argument: usize) -> Option<&[u8]> {
        match self.record.field(self.layout, argument) {
            Field::Whole(chunks) => Some(chunks),
            _ => None,
        }
    }
}

/// What a hit has for the inputs of a site whose values were recorded: the values of the arguments, and
/// members of them.
#[derive(Debug)]
pub struct RecordedInputs<'h, V> {
    values: &'h V,
    site: &'h PlannedSite,
}

impl<'h, V: WholeInputs> RecordedInputs<'h, V> {
    /// The inputs of a hit at a site.
    #[must_use]
    pub fn new(values: &'h V, site: &'h PlannedSite) -> Self {
        Self { values, site }
    }

    /// The computation for a field, and the memory for it. `None` if the field is that of an argument.
    fn member(&self, field: usize) -> Option<(&'h Input, Option<RecordedMemory<'h>>)> {
        let member = self.site.members.get(field.checked_sub(self.site.arguments.len())?)?;
        Some((&member.input, self.values.whole(member.field).and_then(RecordedMemory::new)))
    }
}

impl<V: WholeInputs> Inputs for RecordedInputs<'_, V> {
    fn number(&self, field: usize) -> Option<u64> {
        match self.member(field) {
            None => self.values.number(field),
            Some((Input::Number(value), memory)) => memory?.value(value),
            Some(_) => None,
        }
    }

    fn text(&self, field: usize) -> Option<Text<'_>> {
        match self.member(field) {
            None => self.values.text(field),
            Some((Input::Text { address, most, .. }, memory)) => {
                let memory = memory?;
                let address = memory.value(address)?;
                if address == 0 {
                    return Some(Text::Null);
                }
                let bytes = memory.from(address)?;
                let space = usize::from(*most).saturating_sub(1);
                // All of an array may be text.
                let is_array = *most < MEMBER_TEXT;
                let is_open = !(is_array && bytes.len() >= space);
                let (bytes, is_cut) = until_nul(bytes.get(..space).unwrap_or(bytes), is_open);
                if is_cut && bytes.len() < ENOUGH {
                    return None;
                }
                Some(Text::Bytes { bytes, length: bytes.len() as u64 + u64::from(is_cut) })
            }
            Some((Input::Bytes { address, length, .. }, memory)) => {
                let memory = memory?;
                let (address, length) = (memory.value(address)?, memory.value(length)?);
                if length == 0 {
                    return Some(Text::Bytes { bytes: &[], length });
                }
                let bytes = memory.from(address)?;
                let whole = usize::try_from(length).unwrap_or(usize::MAX);
                let is_enough = bytes.len() >= whole.min(ENOUGH);
                is_enough.then_some(Text::Bytes { bytes: bytes.get(..whole).unwrap_or(bytes), length })
            }
            Some(_) => None,
        }
    }

    fn context(&self, of: ContextNumber) -> Option<u64> {
        self.values.context(of)
    }

    fn thread_name(&self) -> Option<&[u8]> {
        self.values.thread_name()
    }
}

/// The memory that was recorded of a whole value.
struct RecordedMemory<'c> {
    /// The address of the value.
    address: u64,
    /// Its bytes.
    bytes: &'c [u8],
    /// All chunks.
    all: &'c [u8],
}

/// In place of the address of a value that was not in memory: one that no program has.
const NOWHERE: u64 = 0xffff_ff00_0000_0000;

impl<'c> RecordedMemory<'c> {
    fn new(all: &'c [u8]) -> Option<Self> {
        let first = chunks(all).next()?;
        let address = if first.address == 0 { NOWHERE } else { first.address };
        Some(Self { address, bytes: first.bytes, all })
    }

    /// The bytes from an address on, at least one.
    fn from(&self, address: u64) -> Option<&'c [u8]> {
        let within = |start: u64, bytes: &'c [u8]| {
            let offset = usize::try_from(address.checked_sub(start)?).ok()?;
            bytes.get(offset..).filter(|bytes| !bytes.is_empty())
        };
        let others = chunks(self.all).skip(1).filter_map(|chunk| within(chunk.address, chunk.bytes));
        within(self.address, self.bytes).into_iter().chain(others).max_by_key(|bytes| bytes.len())
    }

    fn value(&self, of: &Expr) -> Option<u64> {
        of.evaluate(self).ok().map(|value| value.bits)
    }
}

impl Machine for RecordedMemory<'_> {
    fn register(&self, register: Register) -> Option<Vec<u8>> {
        (register == VALUE_ADDRESS).then(|| self.address.to_le_bytes().to_vec())
    }

    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
        let bytes = self.from(address.0).and_then(|bytes| bytes.get(..into.len()));
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
