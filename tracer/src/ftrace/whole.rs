//! Whole values as far as the kernel copies them: the value, and what its pointers lead to where the
//! kernel can compute the address, which is a pointer plus a number. The limits of an event leave out
//! what is deeper. `fetches` says what is copied, and [`chunks`] makes of it what the BPF program of a
//! site would have copied.

use std::collections::VecDeque;

use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_resolver::export::ValueBytes;
use simple_markers_resolver::location::{Expr, Node, ValueType};
use simple_markers_resolver::types::{FollowStep, NO_STEPS, ReadCount, ReadPlace, ReadStep, ReadTable};

use super::fetch::{AROUND, Fetches, LONGEST, ProbePlace};
use super::machine::Snapshot;
use crate::plan::WholeInput;
use crate::whole::{CHUNK_HEADER, LOAD_BIAS_BIT, UNREADABLE_BIT, UNREADABLE_SIZE_BIT, add_chunk, root_room};

/// The most bytes of a text that are copied. The kernel copies so many of a short one, too.
const TEXT: u64 = 128;
/// The most steps that are taken for a value.
const STEPS: usize = 4096;

/// Elements in a row.
struct ElementRow {
    address: Expr,
    /// Their first step.
    steps: u16,
    /// How many there are at most.
    count: u16,
}

impl Fetches {
    /// Adds the bytes of a value and what they refer to, the nearest first, in at most so many words.
    pub(super) fn add_whole(&mut self, input: &WholeInput, table: &ReadTable, most: u16, at: ProbePlace) {
        let end = self.words().saturating_add(most);
        let mut rows = VecDeque::new();
        match &input.bytes {
            ValueBytes::Memory { address, size } => {
                self.add(address, at);
                self.add_bytes(address, u64::from(*size), end, at);
                rows.push_back(ElementRow { address: address.clone(), steps: input.start, count: 1 });
            }
            ValueBytes::Parts { parts, .. } => {
                parts.iter().flatten().for_each(|part| self.add(part, at));
                for step in steps(table, input.start) {
                    let ReadStep::Follow(step) = step else { continue };
                    let part = parts.get(usize::try_from(step.pointer / 8).unwrap_or(usize::MAX));
                    if let Some(Some(part)) = part.filter(|_| step.pointer % 8 == 0) {
                        rows.extend(self.add_followed(part, step, end, at));
                    }
                }
            }
        }
        while let Some(ElementRow { address, steps: start, count }) = rows.pop_front() {
            let Some(size) = steps(table, start).find_map(end_size) else { continue };
            let elements = (0..count).map_while(|index| address.plus(i64::from(index) * i64::from(size)));
            for element in elements {
                for step in steps(table, start) {
                    let ReadStep::Follow(step) = step else { continue };
                    let pointer = element.plus(step.pointer.into());
                    let pointer = pointer.map(|address| Node::Memory { address, size: 8, to: ValueType::Generic });
                    let Some(pointer) = pointer.and_then(Expr::new) else { continue };
                    if self.words() >= end {
                        return;
                    }
                    rows.extend(self.add_followed(&pointer, step, end, at));
                }
            }
        }
    }

    /// Adds what a pointer leads to. `None` if the kernel cannot compute where that is.
    fn add_followed(&mut self, pointer: &Expr, step: &FollowStep, end: u16, at: ProbePlace) -> Option<ElementRow> {
        let address = pointer.plus(step.add.into()).filter(|_| step.place == ReadPlace::First)?;
        let bytes = match step.count {
            ReadCount::One => u64::from(step.stride),
            _ if step.stride == 1 => u64::from(step.most).min(TEXT),
            _ => u64::from(step.stride) * u64::from(step.most),
        };
        self.add_bytes(&address, bytes, end, at).then(|| {
            let count = if step.count == ReadCount::One { 1 } else { step.most };
            ElementRow { address, steps: step.steps, count }
        })
    }

    /// Adds memory. Returns whether some of it is copied.
    fn add_bytes(&mut self, address: &Expr, bytes: u64, end: u16, at: ProbePlace) -> bool {
        // What is beside zeros may prove that they were read.
        let mut left = u16::try_from(bytes.div_ceil(8)).unwrap_or(u16::MAX).max(AROUND);
        let mut next = Some(address.clone());
        let first = self.windows.len();
        while let Some(address) = next.filter(|_| left > 0) {
            let words = left.min(LONGEST).min(end.saturating_sub(self.words()));
            if words == 0 {
                break;
            }
            self.add_window(&address, words, at);
            left -= words;
            next = address.plus(i64::from(words) * 8);
        }
        self.windows.len() > first
    }
}

/// The steps of an element. None of one of which nothing is followed.
fn steps(table: &ReadTable, start: u16) -> impl Iterator<Item = &ReadStep> {
    let rest = table.steps.get(usize::from(start)..).filter(|_| start != NO_STEPS).unwrap_or_default();
    let end = rest.iter().position(|step| end_size(step).is_some());
    rest.get(..=end.unwrap_or(0)).unwrap_or_default().iter()
}

fn end_size(step: &ReadStep) -> Option<u32> {
    match step {
        ReadStep::End { size } => Some(*size),
        ReadStep::Test { .. } | ReadStep::Follow(_) => None,
    }
}

/// The chunks of a value ([`crate::whole`]) behind their size, as a field of a record has them. `None` if
/// no byte of the value is known.
pub(super) fn chunks(input: &WholeInput, table: &ReadTable, copied: &Snapshot<'_>) -> Option<Vec<u8>> {
    let most = usize::from(root_room(input));
    let mut chunks = Chunks { bytes: Vec::new(), most: usize::from(input.most.saturating_sub(CHUNK_HEADER)) };
    let (ValueBytes::Memory { size, .. } | ValueBytes::Parts { size, .. }) = &input.bytes;
    let size = usize::try_from(*size).unwrap_or(usize::MAX);
    let (address, bytes, unreadable) = match &input.bytes {
        ValueBytes::Memory { address, .. } => {
            let address = copied.value(address)?;
            let (bytes, unreadable) = copied.copy(address, size.min(most));
            (address, bytes, unreadable)
        }
        ValueBytes::Parts { parts, .. } => {
            let parts = parts.iter().map(|part| part.as_ref().map_or(Some(0), |part| copied.value(part)));
            let words = parts.collect::<Option<Vec<u64>>>()?;
            let bytes = words.into_iter().flat_map(u64::to_le_bytes).take(size.min(most)).collect();
            (0, bytes, 0)
        }
    };
    if bytes.is_empty() && size > 0 {
        return None;
    }
    // Without all of the bytes, the steps would look behind them.
    let start = if bytes.len() == size { input.start } else { NO_STEPS };
    let mut rows = VecDeque::from([(chunks.add(address, &bytes, unreadable), bytes.len(), start)]);
    if input.has_load_bias {
        add_chunk(&mut chunks.bytes, copied.bias, &[], 1 << LOAD_BIAS_BIT);
    }
    let mut taken = 0;
    while let Some((offset, length, start)) = rows.pop_front() {
        let Some(size) = steps(table, start).find_map(end_size).filter(|size| *size > 0) else { continue };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        for element in (0..length / size).map(|index| offset + index * size) {
            let mut skip = 0u16;
            for step in steps(table, start) {
                taken += 1;
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                match step {
                    ReadStep::Test { offset, bits, low, span, is_in, skip: others } => {
                        let unused = 64 - u32::from((*bits).clamp(1, 64));
                        let distance = chunks.number(element, *offset).wrapping_sub(*low) << unused >> unused;
                        skip = if (distance <= *span) == *is_in { 0 } else { *others };
                    }
                    ReadStep::Follow(step) => rows.extend(chunks.follow(element, step, copied)),
                    ReadStep::End { .. } => {}
                }
            }
            if taken > STEPS {
                break;
            }
        }
    }
    let size = (chunks.bytes.len() as u64).to_ne_bytes();
    chunks.bytes.splice(..0, size);
    Some(chunks.bytes)
}

/// The chunks that there are.
struct Chunks {
    bytes: Vec<u8>,
    /// The most bytes, without one header.
    most: usize,
}

impl Chunks {
    /// Adds a chunk, and returns the offset of its bytes.
    fn add(&mut self, address: u64, bytes: &[u8], unreadable: u64) -> usize {
        let flags = match unreadable {
            0 => 0,
            size => size.min(0xfff) << UNREADABLE_SIZE_BIT | 1 << UNREADABLE_BIT,
        };
        let offset = self.bytes.len() + usize::from(CHUNK_HEADER);
        add_chunk(&mut self.bytes, address, bytes, flags);
        offset
    }

    /// The number of 8 bytes at an offset of an element.
    fn number(&self, element: usize, offset: u32) -> u64 {
        let at = element.saturating_add(usize::try_from(offset).unwrap_or(usize::MAX));
        let bytes = self.bytes.get(at..).unwrap_or_default();
        let mut word = [0; 8];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(word)
    }

    /// Adds what a pointer of an element leads to: the offset of its bytes, how many there are, and the
    /// first step of its elements. `None` if nothing of it is wanted, or nothing was copied.
    fn follow(&mut self, element: usize, step: &FollowStep, copied: &Snapshot<'_>) -> Option<(usize, usize, u16)> {
        let pointer = self.number(element, step.pointer);
        let room = self.most.checked_sub(self.bytes.len()).filter(|room| *room > 0)?;
        if pointer == 0 || step.place != ReadPlace::First {
            return None;
        }
        let address = pointer.wrapping_add_signed(step.add.into());
        let stride = u64::from(step.stride).max(1);
        let count = match step.count {
            ReadCount::One => 1,
            ReadCount::Number(at) => self.number(element, at),
            ReadCount::NumberAndOne(at) => self.number(element, at).wrapping_add(1),
            ReadCount::Until(at) => self.number(element, at).wrapping_sub(address) / stride,
            ReadCount::Text => u64::from(step.most),
        };
        let whole = count.min(step.most.into()).saturating_mul(stride);
        let wanted = usize::try_from(whole).unwrap_or(usize::MAX).min(room);
        let (mut bytes, mut unreadable) = copied.copy(address, wanted);
        match step.count {
            // With its NUL, as the kernel reads a text.
            ReadCount::Text => match bytes.iter().position(|byte| *byte == 0) {
                Some(nul) => {
                    bytes.truncate(nul + 1);
                    unreadable = 0;
                }
                None if bytes.len() == wanted => bytes.truncate(wanted.saturating_sub(1)),
                None => {}
            },
            ReadCount::One => {}
            // Whole elements.
            _ => bytes.truncate(bytes.len() - bytes.len() % usize::try_from(stride).unwrap_or(usize::MAX)),
        }
        if bytes.is_empty() && unreadable == 0 {
            return None;
        }
        let is_whole = step.count != ReadCount::One || bytes.len() as u64 == stride;
        let offset = self.add(address, &bytes, unreadable);
        Some((offset, bytes.len(), if is_whole { step.steps } else { NO_STEPS }))
    }
}

impl Snapshot<'_> {
    /// The bytes from an address on, as many as are known, and how many behind them could not be read.
    fn copy(&self, address: u64, length: usize) -> (Vec<u8>, u64) {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let left = length - bytes.len();
            let Some(known) = self.known(address.wrapping_add(bytes.len() as u64)) else { break };
            bytes.extend(known.get(..left).unwrap_or(known));
        }
        let end = RuntimeAddress(address.wrapping_add(bytes.len() as u64));
        let is_unreadable = bytes.len() < length && self.is_unreadable(end);
        let unreadable = if is_unreadable { (length - bytes.len()) as u64 } else { 0 };
        (bytes, unreadable)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use simple_markers_resolver::address::Vaddr;
    use simple_markers_resolver::location::Register;

    use super::*;
    use crate::arch::Platform;
    use crate::plan::{Input, ReadLimits};
    use crate::whole;

    /// A value at `%di`: a number that says whether a pointer is followed, the pointer, and how many
    /// elements of 8 bytes it leads to. Each is a pointer to 4 bytes.
    fn input() -> (WholeInput, Vec<Arc<ReadTable>>) {
        let count = ReadCount::Number(16);
        let elements = FollowStep { pointer: 8, add: -8, place: ReadPlace::First, count, most: 3, stride: 8, steps: 4 };
        let each = FollowStep { pointer: 0, add: 0, count: ReadCount::One, most: 1, stride: 4, steps: 0, ..elements };
        let steps = vec![
            ReadStep::End { size: u32::MAX },
            ReadStep::Test { offset: 0, bits: 32, low: 1, span: 1, is_in: true, skip: 1 },
            ReadStep::Follow(elements),
            ReadStep::End { size: 24 },
            ReadStep::Follow(each),
            ReadStep::End { size: 8 },
        ];
        let address = Expr::new(Node::Register(Register(5), ValueType::Generic)).expect("a register");
        let limits = ReadLimits { elements: 16, depth: 4, text: 256 };
        let input = WholeInput::new(ValueBytes::Memory { address, size: 24 }, 256, limits);
        (WholeInput { reads: 0, start: 1, ..input }, vec![Arc::new(ReadTable { steps })])
    }

    #[test]
    fn the_kernel_copies_what_pointers_lead_to() {
        let (input, reads) = input();
        let fetches = Fetches::new(&[Input::Whole(Box::new(input))], &reads, Vaddr(0x1000), Platform::X86_64);
        let expected = [
            "r0=%di:x64",
            "m0=+0(%di):x64[8]",
            "m1=-8(+8(%di)):x64[8]",
            "m2=+0(-8(+8(%di))):x64[8]",
            "m3=+0(+0(+8(%di))):x64[8]",
            "m4=+0(+8(+8(%di))):x64[8]",
        ];
        assert_eq!(fetches.arguments().collect::<Vec<_>>(), expected);
    }

    /// The chunks of a value with this number, so many elements, and these copies behind its own: the
    /// address, the bytes, and how many bytes could not be read.
    fn chunks_of(number: u64, elements: u64, copies: &[&[u8]]) -> Vec<(u64, Vec<u8>, u64)> {
        let (input, reads) = input();
        let fetches = Fetches::new(&[Input::Whole(Box::new(input.clone()))], &reads, Vaddr(0x1000), Platform::X86_64);
        let root: Vec<u8> = [number, 0x7008, elements].iter().flat_map(|word| word.to_le_bytes()).collect();
        let address = 0x6000u64.to_ne_bytes();
        let copies = [&address[..], &root].into_iter().chain(copies.iter().copied());
        let copied = Snapshot::new(&fetches, Vaddr(0x1000), 0x1000, copies, &mut |_| false);
        let bytes = chunks(&input, &reads[0], &copied).expect("a value");
        assert_eq!(bytes[..8], (bytes.len() as u64 - 8).to_ne_bytes());
        let chunks = whole::chunks(&bytes[8..]);
        chunks.skip(1).map(|chunk| (chunk.address, chunk.bytes.to_vec(), chunk.unreadable)).collect()
    }

    #[test]
    fn chunks_are_what_a_bpf_program_copies() {
        let pointers: Vec<u8> = [0x8000u64, 0, 0x9000, 0xa000].iter().flat_map(|word| word.to_le_bytes()).collect();
        let copies: &[&[u8]] = &[&pointers, b"1234567890", b"", &[0; 8]];
        let row = |count: usize| (0x7000, pointers[..8 * count].to_vec(), 0);
        let (first, third) = ((0x8000, b"1234".to_vec(), 0), (0x9000, Vec::new(), 4));
        assert_eq!(chunks_of(1, 3, copies), [row(3), first.clone(), third.clone()]);
        // At most three elements, and as many as there are.
        assert_eq!(chunks_of(2, u64::MAX, copies), [row(3), first.clone(), third]);
        assert_eq!(chunks_of(1, 1, copies), [row(1), first]);
        assert_eq!(chunks_of(1, 0, copies), []);
        // The number says that there is no pointer.
        assert_eq!(chunks_of(3, 3, copies), []);
        assert_eq!(chunks_of(0, 3, copies), []);
        // What was not copied is missing.
        assert_eq!(chunks_of(1, 3, &[&pointers]), [row(3)]);
        assert_eq!(chunks_of(1, 3, &[&pointers[..12]]), [row(1)]);
        assert_eq!(chunks_of(1, 3, &[]), []);
    }

    #[test]
    fn the_load_bias_is_behind_the_value() {
        let (input, reads) = input();
        let input = WholeInput { has_load_bias: true, ..input };
        let fetches = Fetches::new(&[Input::Whole(Box::new(input.clone()))], &reads, Vaddr(0x1000), Platform::X86_64);
        let address = 0x6000u64.to_ne_bytes();
        let copied =
            Snapshot::new(&fetches, Vaddr(0x1000), 0x55_1000, [&address[..], &[1; 24]].into_iter(), &mut |_| false);
        let bytes = chunks(&input, &reads[0], &copied).expect("a value");
        assert_eq!(whole::load_bias(&bytes[8..]), Some(0x55_0000));
        assert_eq!(whole::chunks(&bytes[8..]).map(|chunk| chunk.bytes.len()).collect::<Vec<_>>(), [24, 0]);
    }
}
