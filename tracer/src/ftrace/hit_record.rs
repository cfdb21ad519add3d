//! The record of a hit, as the BPF program of a site would write it, of what the kernel copied.

use std::sync::Arc;

use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_resolver::location::Machine as _;
use simple_markers_resolver::types::ReadTable;

use super::fetch::table;
use super::machine::Snapshot;
use super::whole;
use crate::bytes::put;
use crate::plan::Input;
use crate::record::{self, Layout};

/// What the start of a record says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordHeader<'a> {
    /// The time in ns.
    pub time: u64,
    /// The number of the thread.
    pub thread: u32,
    /// The number of the process.
    pub process: u32,
    /// The number of the site.
    pub site: u32,
    /// The number of the CPU.
    pub cpu: u32,
    /// The name of the thread.
    pub name: &'a [u8],
}

/// Writes the start of a record, and zeros for its fields.
pub fn start(header: &RecordHeader<'_>, layout: &Layout, record: &mut Vec<u8>) {
    record.clear();
    record.resize(layout.size().into(), 0);
    put(record, record::TIME.into(), &header.time.to_ne_bytes());
    put(record, record::THREAD.into(), &header.thread.to_ne_bytes());
    put(record, usize::from(record::THREAD) + 4, &header.process.to_ne_bytes());
    put(record, record::SITE.into(), &header.site.to_ne_bytes());
    put(record, record::CPU.into(), &header.cpu.to_ne_bytes());
    let longest = usize::from(record::NAME_SIZE) - 1;
    put(record, record::NAME.into(), header.name.get(..longest).unwrap_or(header.name));
}

/// Writes the record that the BPF program of a site would write. `reads` are the tables of the plan.
pub fn write(
    header: &RecordHeader<'_>,
    (inputs, reads): (&[Input], &[Arc<ReadTable>]),
    layout: &Layout,
    copied: &Snapshot<'_>,
    record: &mut Vec<u8>,
) {
    start(header, layout, record);
    let (mut unread, mut bytes) = (0u64, Vec::new());
    for (index, (input, (offset, _))) in inputs.iter().zip(layout.fields()).enumerate() {
        bytes.clear();
        if field((input, reads), copied, &mut bytes).is_none() {
            unread |= 1u64.checked_shl(u32::try_from(index).unwrap_or(u32::MAX)).unwrap_or(0);
        }
        put(record, (*offset).into(), &bytes);
    }
    put(record, record::UNREAD.into(), &unread.to_ne_bytes());
}

/// Appends the bytes of a field. `None` if its value is not known.
fn field((input, reads): (&Input, &[Arc<ReadTable>]), copied: &Snapshot<'_>, bytes: &mut Vec<u8>) -> Option<()> {
    match input {
        Input::Number(value) => bytes.extend(copied.value(value)?.to_ne_bytes()),
        Input::Text { address, limit, most } => {
            let address = copied.value(address)?;
            // A negative precision is none.
            let limit = match limit {
                Some(limit) => u16::try_from(copied.value(limit)? as u32 as i32).ok(),
                None => None,
            };
            let limit = limit.filter(|limit| *limit < most.saturating_sub(1));
            bytes.extend(address.to_ne_bytes());
            bytes.extend([0; 8]);
            if address == 0 {
                return Some(());
            }
            let Some(ends) = copied.text(address, limit.map_or(*most, |limit| limit + 1), bytes) else {
                bytes.truncate(16);
                return None;
            };
            let length =
                if ends || limit.is_some() { (bytes.len() as u64).saturating_sub(15) } else { u64::from(*most) };
            put(bytes, 8, &length.to_ne_bytes());
        }
        Input::Bytes { address, length, most } => {
            let (address, length) = (copied.value(address)?, copied.value(length)?);
            bytes.extend(address.to_ne_bytes());
            bytes.extend(length.to_ne_bytes());
            let stored = usize::try_from(length).unwrap_or(usize::MAX).min((*most).into());
            let mut text = vec![0; stored];
            if !copied.read(RuntimeAddress(address), &mut text) {
                return None;
            }
            bytes.extend(text);
        }
        Input::Whole(input) => bytes.extend(whole::chunks(input, table(reads, input), copied)?),
        // They are in the record of a kernel event, or of the program's recorder.
        Input::Field { .. } | Input::Recorded { .. } => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use simple_markers_resolver::address::Vaddr;
    use simple_markers_resolver::location::{Expr, Node, Register, ValueType};

    use super::super::fetch::Fetches;
    use super::super::machine::PAGE;
    use super::*;
    use crate::arch::Platform;
    use crate::record::{Field, Record};

    fn register(number: u16) -> Expr {
        Expr::new(Node::Register(Register(number), ValueType::Generic)).expect("a register")
    }

    /// The record for copies of `%ax`, `%di`, and of what the inputs need besides.
    fn record(inputs: &[Input], registers: [u64; 2], memory: &[&[u8]], mapped: &[u64]) -> (Layout, Vec<u8>) {
        let both = [Input::Number(register(0)), Input::Number(register(5))];
        let fetches = Fetches::new(&[&both, inputs].concat(), &[], Vaddr(0x1000), Platform::X86_64);
        let registers = registers.map(u64::to_ne_bytes);
        let copies = registers.iter().map(|register| &register[..]).chain(memory.iter().copied());
        let is_mapped = &mut |address: u64| mapped.contains(&(address / PAGE));
        let copied = Snapshot::new(&fetches, Vaddr(0x1000), 0x5000, copies, is_mapped);
        let layout = Layout::new(inputs.iter().map(Input::kind));
        let header = RecordHeader { time: 5, thread: 6, process: 7, site: 8, cpu: 9, name: b"a name of a thread" };
        let mut record = Vec::new();
        write(&header, (inputs, &[]), &layout, &copied, &mut record);
        (layout, record)
    }

    #[test]
    fn a_record_is_what_a_bpf_program_writes() {
        let place = Expr::new(Node::Address(Vaddr(0x1234))).expect("an address");
        let inputs = [
            Input::Number(register(0)),
            Input::Number(place),
            Input::Text { address: register(5), limit: None, most: 8 },
            Input::Bytes { address: register(5), length: register(0), most: 4 },
        ];
        let (layout, bytes) = record(&inputs, [6, 0x7000], &[b"text\0abc"], &[]);
        let record = Record(&bytes);
        assert_eq!((record.time(), record.thread(), record.process()), (5, 6, 7));
        assert_eq!((record.site(), record.cpu(), record.name()), (8, 9, &b"a name of a thr"[..]));
        let field = |index| record.field(&layout, index);
        assert_eq!((field(0), field(1)), (Field::Number(6), Field::Number(0x5234)));
        let text = |length, bytes, is_cut| Field::Bytes { address: 0x7000, length, bytes, is_cut };
        assert_eq!((field(2), field(3)), (text(4, b"text", false), text(6, b"text", true)));
        // A text without an end.
        let (layout, bytes) = self::record(&inputs[2..3], [6, 0x7000], &[b"12345678"], &[]);
        assert_eq!(Record(&bytes).field(&layout, 0), text(7, b"1234567", true));
    }

    #[test]
    fn zeros_are_values_only_where_memory_is() {
        let number = Expr::new(Node::Memory { address: register(5), size: 4, to: ValueType::Generic }).expect("memory");
        let read = |address, memory: &[u8], mapped: &[u64]| {
            let (layout, bytes) = record(&[Input::Number(number.clone())], [0, address], &[memory], mapped);
            match Record(&bytes).field(&layout, 0) {
                Field::Number(number) => Some(number),
                _ => None,
            }
        };
        assert_eq!(read(0x7000, &[0; 64], &[]), None);
        assert_eq!(read(0x7000, &[0; 64], &[7]), Some(0));
        let mut beside = [0; 64];
        beside[63] = 1;
        assert_eq!(read(0x7000, &beside, &[]), Some(0));
        // What is in the next page proves nothing.
        assert_eq!(read(0x7fe0, &beside, &[]), None);
        assert_eq!(read(0x7ffe, &[1, 0, 0, 0, 0, 0, 0, 0], &[]), None);
        assert_eq!(read(0x7ffe, &[1, 0, 0, 0, 0, 0, 0, 0], &[8]), Some(1));
        assert_eq!(read(0x7ffe, &[1, 0, 2, 0, 0, 0, 0, 0], &[]), Some(0x0002_0001));
    }

    #[test]
    fn a_precision_ends_a_text() {
        // `%eax` has the precision, an `int`.
        let text = [Input::Text { address: register(5), limit: Some(register(0)), most: 8 }];
        for (precision, expected, is_cut) in
            [(0, &b""[..], false), (3, b"123", false), (5, b"12345", false), (0xffff_ffff, b"1234567", true)]
        {
            let (layout, bytes) = record(&text, [precision, 0x7000], &[b"12345678"], &[]);
            let field = Field::Bytes { address: 0x7000, length: expected.len() as u64, bytes: expected, is_cut };
            assert_eq!(Record(&bytes).field(&layout, 0), field, "{precision}");
        }
    }

    #[test]
    fn a_null_pointer_has_no_text() {
        let text = [Input::Text { address: register(5), limit: None, most: 8 }];
        let (layout, bytes) = record(&text, [0, 0], &[&[0; 8]], &[]);
        let null = Field::Bytes { address: 0, length: 0, bytes: b"", is_cut: false };
        assert_eq!(Record(&bytes).field(&layout, 0), null);
        let (layout, bytes) = record(&text, [0, 0x7000], &[&[0; 8]], &[]);
        assert_eq!(Record(&bytes).field(&layout, 0), Field::Unread);
        assert_eq!(Record(&bytes).address(&layout, 0), Some(0x7000));
    }
}
