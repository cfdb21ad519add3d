//! What a record has of the stacks of a thread, and how it is read.
//!
//! A copied stack is the last part of a record:
//!
//! | offset | size | what |
//! | ---: | ---: | --- |
//! | 0 | 8 | how many bytes of the memory could be read |
//! | 8 | 8 | used by the program in the kernel |
//! | 16 | [`REGISTERS_SIZE`] | the registers of the program (`bpf_user_pt_regs_t`) |
//! | | | the memory from the stack pointer on |

use simple_markers_resolver::location::Register;

use crate::arch::Platform;

/// The most frames of a stack that the kernel follows.
pub const FRAMES: u16 = 64;
/// One more address tells whether the stack goes on.
pub const STACK_SIZE: u16 = 8 * (FRAMES + 1);
/// The size of a stack with its size.
pub const WHOLE_STACK: u16 = 8 + STACK_SIZE;

/// How many bytes of a stack are copied at least and at most: a multiple of the least.
pub const COPY_SIZES: (u32, u32) = (1 << 10, 1 << 16);
/// Where the registers are in a copied stack.
pub(crate) const REGISTERS: u16 = 16;
/// How many bytes of registers there are: room for those of each platform.
pub const REGISTERS_SIZE: u16 = 34 * 8;
/// Where the memory is in a copied stack.
pub(crate) const MEMORY: u16 = REGISTERS + REGISTERS_SIZE;

/// What a record has of the stacks of its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackSettings {
    /// What it has of the program's; `None` for nothing.
    pub program: Option<ProgramStack>,
    /// Whether it has the frames of the kernel's.
    pub has_kernel: bool,
}

impl StackSettings {
    /// No stacks.
    pub const NONE: Self = Self { program: None, has_kernel: false };

    /// Whether a record has a stack.
    #[must_use]
    pub fn is_any(self) -> bool {
        self.program.is_some() || self.has_kernel
    }

    /// How many bytes of the program's stack are copied; `None` if it is not.
    #[must_use]
    pub fn copied(self) -> Option<u32> {
        match self.program {
            Some(ProgramStack::Copy { size }) => Some(size.next_multiple_of(COPY_SIZES.0).min(COPY_SIZES.1)),
            _ => None,
        }
    }
}

/// What a record has of the stack of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramStack {
    /// The frames that the kernel finds by frame pointers.
    FramePointers,
    /// The registers, and the memory from the stack pointer on.
    Copy {
        /// How many bytes; it is rounded up and bounded as [`COPY_SIZES`] says.
        size: u32,
    },
}

/// The frames of a stack that the kernel followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack<'a> {
    bytes: &'a [u8],
    /// Whether more frames follow that were not read.
    pub is_cut: bool,
}

impl<'a> Stack<'a> {
    /// The stack whose size is at an offset of a record.
    pub(crate) fn at(record: &'a [u8], offset: u16) -> Self {
        let rest = record.get(usize::from(offset)..).unwrap_or_default();
        let (size, rest) = rest.split_first_chunk().map_or((0, rest), |(size, rest)| (u64::from_ne_bytes(*size), rest));
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(STACK_SIZE.into());
        let bytes = rest.get(..size).unwrap_or_default();
        let (most, is_cut) = (usize::from(STACK_SIZE - 8), bytes.len() == usize::from(STACK_SIZE));
        Self { bytes: bytes.get(..most).unwrap_or(bytes), is_cut }
    }

    /// The address of the probe or of the instruction, and then the return addresses, the innermost
    /// first. Empty if the kernel could not read the stack.
    pub fn addresses(self) -> impl Iterator<Item = u64> + use<'a> {
        let words = self.bytes.chunks_exact(8).filter_map(|word| word.first_chunk());
        words.map(|word| u64::from_ne_bytes(*word))
    }
}

/// The registers of a program at a hit, and its memory from the stack pointer on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedStack<'a> {
    registers: &'a [u8],
    memory: &'a [u8],
    /// How many bytes of memory were asked for. If fewer were copied, those behind them could not be
    /// read.
    pub size: u32,
}

impl<'a> CopiedStack<'a> {
    /// The last part of a record, for which `size` bytes of memory were asked for. `None` if the record
    /// is too short.
    pub(crate) fn behind(record: &'a [u8], size: u32) -> Option<Self> {
        let length = usize::from(MEMORY).checked_add(usize::try_from(size).ok()?)?;
        let part = record.get(record.len().checked_sub(length)?..)?;
        let copied = usize::try_from(u64::from_ne_bytes(*part.first_chunk()?)).ok()?;
        let registers = part.get(usize::from(REGISTERS)..usize::from(MEMORY))?;
        let memory = part.get(usize::from(MEMORY)..)?;
        Some(Self { registers, memory: memory.get(..copied).unwrap_or(memory), size })
    }

    /// A register by its number in DWARF; `None` if it is not there.
    #[must_use]
    pub fn register(&self, register: Register) -> Option<u64> {
        self.word(Platform::HOST?.conventions().register(register)?)
    }

    /// The instruction pointer: the address of the probe.
    #[must_use]
    pub fn instruction_pointer(&self) -> Option<u64> {
        self.word(Platform::HOST?.conventions().instruction_pointer())
    }

    /// The stack pointer, which is the address of the first byte of the memory.
    #[must_use]
    pub fn stack_pointer(&self) -> Option<u64> {
        self.register(Platform::HOST?.conventions().stack_pointer())
    }

    fn word(&self, offset: i16) -> Option<u64> {
        let bytes = self.registers.get(usize::try_from(offset).ok()?..)?;
        bytes.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
    }

    /// The memory that was copied.
    #[must_use]
    pub fn memory(&self) -> &'a [u8] {
        self.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_stack_is_the_end_of_a_record() {
        let mut record = vec![7; 48];
        record.extend(3u64.to_ne_bytes());
        record.extend([0; 8]);
        (0..34u64).for_each(|word| record.extend((0x100 + word).to_ne_bytes()));
        record.extend(b"abcd1234");
        let stack = CopiedStack::behind(&record, 8).expect("it is long enough");
        assert_eq!((stack.memory(), stack.size), (&b"abc"[..], 8));
        let offset = Platform::HOST.map(|host| host.conventions().instruction_pointer());
        assert_eq!(stack.instruction_pointer(), offset.map(|offset| 0x100 + offset as u64 / 8));
        assert_eq!(stack.register(Register(200)), None);
        record[48] = 200;
        assert_eq!(CopiedStack::behind(&record, 8).expect("it is long enough").memory(), b"abcd1234");
        assert_eq!(CopiedStack::behind(&record[48..], 16), None);
        assert_eq!(CopiedStack::behind(&record, u32::MAX), None);
    }

    #[test]
    fn sizes_are_bounded() {
        let copied = |size| StackSettings { program: Some(ProgramStack::Copy { size }), has_kernel: false }.copied();
        assert_eq!([0, 1, 1024, 1025, u32::MAX - 2000].map(copied), [0, 1024, 1024, 2048, 65536].map(Some));
        assert_eq!(StackSettings::NONE.copied(), None);
    }
}
