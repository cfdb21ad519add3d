//! BPF instructions as the kernel takes them (RFC 9669).

/// A register of the BPF machine. `R1` to `R5` are overwritten by calls, `R6` to `R9` are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the variants are the registers")]
pub enum Reg {
    R0 = 0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    /// The frame pointer, which is read-only.
    Frame,
}

/// An instruction of 8 bytes. A 64-bit immediate takes two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation.
    pub opcode: u8,
    /// The destination register, and the source register in the upper half.
    pub registers: u8,
    /// The offset of a jump in instructions, or of a memory access in bytes.
    pub offset: i16,
    /// The immediate.
    pub immediate: i32,
}

impl Instruction {
    /// Size of an instruction in bytes.
    pub const SIZE: usize = 8;

    /// An instruction.
    #[must_use]
    pub fn new(opcode: u8, destination: Reg, source: Reg, offset: i16, immediate: i32) -> Self {
        Self { opcode, registers: destination as u8 | (source as u8) << 4, offset, immediate }
    }

    /// The instruction as the kernel of a little-endian machine takes it.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [self.opcode, self.registers, 0, 0, 0, 0, 0, 0];
        let (offset, immediate) = (self.offset.to_le_bytes(), self.immediate.to_le_bytes());
        for (to, from) in bytes.iter_mut().skip(2).zip(offset.iter().chain(&immediate)) {
            *to = *from;
        }
        bytes
    }
}

/// An arithmetic operation on 64 bits (RFC 9669, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the operations")]
pub enum Alu {
    Add,
    Sub,
    Mul,
    Div,
    Or,
    And,
    Lsh,
    Rsh,
    Mod,
    Xor,
    Mov,
    Arsh,
}

impl Alu {
    /// The bits of the operation in the opcode.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Add => 0x00,
            Self::Sub => 0x10,
            Self::Mul => 0x20,
            Self::Div => 0x30,
            Self::Or => 0x40,
            Self::And => 0x50,
            Self::Lsh => 0x60,
            Self::Rsh => 0x70,
            Self::Mod => 0x90,
            Self::Xor => 0xa0,
            Self::Mov => 0xb0,
            Self::Arsh => 0xc0,
        }
    }
}

/// The condition of a jump on 64 bits (RFC 9669, 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the conditions")]
pub enum JumpCondition {
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    SignedGreater,
    SignedGreaterEqual,
    SignedLess,
    SignedLessEqual,
    /// The operands have a common bit.
    Test,
}

impl JumpCondition {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Equal => 0x10,
            Self::Greater => 0x20,
            Self::GreaterEqual => 0x30,
            Self::Test => 0x40,
            Self::NotEqual => 0x50,
            Self::SignedGreater => 0x60,
            Self::SignedGreaterEqual => 0x70,
            Self::Less => 0xa0,
            Self::LessEqual => 0xb0,
            Self::SignedLess => 0xc0,
            Self::SignedLessEqual => 0xd0,
        }
    }
}

/// The size of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the numbers of bytes")]
pub enum Size {
    One,
    Two,
    Four,
    Eight,
}

impl Size {
    /// The size of so many bytes; `None` if nothing of that size is read at once.
    #[must_use]
    pub fn of(bytes: u64) -> Option<Self> {
        [Self::One, Self::Two, Self::Four, Self::Eight].into_iter().find(|size| u64::from(size.bytes()) == bytes)
    }

    /// How many bytes it has.
    #[must_use]
    pub fn bytes(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Self::Four => 0x00,
            Self::Two => 0x08,
            Self::One => 0x10,
            Self::Eight => 0x18,
        }
    }
}

/// A function of the kernel that a program calls (`man 7 bpf-helpers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the functions")]
pub enum Helper {
    MapLookupElem = 1,
    MapUpdateElem = 2,
    MapDeleteElem = 3,
    KtimeGetNs = 5,
    GetSmpProcessorId = 8,
    GetCurrentPidTgid = 14,
    GetCurrentComm = 16,
    GetStackid = 27,
    GetCurrentTask = 35,
    GetStack = 67,
    GetCurrentCgroupId = 80,
    ProbeReadUser = 112,
    ProbeReadKernel = 113,
    ProbeReadUserStr = 114,
    ProbeReadKernelStr = 115,
    GetCurrentAncestorCgroupId = 123,
    RingbufReserve = 131,
    RingbufSubmit = 132,
    RingbufDiscard = 133,
    CopyFromUser = 148,
    GetCurrentTaskBtf = 158,
    GetAttachCookie = 174,
    TaskPtRegs = 175,
}

/// Flag of `bpf_map_update_elem`: the key must not be there.
pub(super) const NO_EXIST: u64 = 1;

/// What a helper returns if the key is there already (`EEXIST`).
pub(super) const EXISTS: i32 = -17;

/// Flag of [`Helper::GetStack`] and [`Helper::GetStackid`]: the stack of the program (`BPF_F_USER_STACK`).
pub(super) const USER_STACK: u64 = 1 << 8;
/// Without the flag it is the stack of the kernel.
pub(super) const KERNEL_STACK: u64 = 0;

/// A map that a program uses. The session creates it and puts its file descriptor into the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Map {
    /// The ring buffer that takes the records.
    Ring,
    /// How many hits of each site were lost, by its number.
    Lost,
    /// The tallies of each site, by its number (`crate::aggregate::Tally`).
    Tallies,
    /// How often each value or each bucket of a histogram was seen.
    Values,
    /// The sums of amounts, with the smallest and the largest (`crate::aggregate::TOTAL_SIZE`).
    Amounts,
    /// When each interval started.
    Starts,
    /// The histogram of the intervals, by bucket (`crate::aggregate::TIMES`).
    Times,
    /// Which processes are traced: one value with a byte for each process number, 1 if it is.
    Processes,
    /// The numbers of the sites of an event, by the lowest bits of their addresses (`crate::bpf::cookie`): one
    /// value.
    Places,
    /// Where the bytes of whole values are until their record is written (`crate::bpf::whole`).
    Slots,
    /// The steps of a table of the plan (`crate::plan::Plan::reads`), by its number: one value.
    Steps(u32),
    /// The values that were noted at the entries of frames (`crate::bpf::entry`).
    Entries,
    /// What was counted at each entry, by its number (`crate::bpf::entry::EntryTally`).
    EntryTallies,
    /// What the threads did during the intervals: one value for each CPU (`crate::aggregate::SplitTimes`).
    Parts,
    /// How long threads were off the CPUs (`crate::bpf::off_cpu`).
    OffCpu,
    /// How long threads were blocked with each pair of stacks, and how often they were sampled with it
    /// (`crate::aggregate::StackSum`).
    StackSums,
    /// What had no space in it, by the number of the `crate::aggregate::StackMoment`.
    StackLosses,
    /// The stacks that are counted, by the numbers that the kernel gives them.
    Stacks,
    /// What is known of each thread (`crate::top::entry`).
    Threads,
    /// What the programs of `crate::bpf::top` share with the reader: one value.
    Shared,
}
