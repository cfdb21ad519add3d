//! The layout of a record: what a BPF program writes for a hit, and how it is read.
//!
//! | offset | size | what |
//! | ---: | ---: | --- |
//! | 0 | 8 | time in ns (`CLOCK_MONOTONIC`), taken after the space was reserved |
//! | 8 | 4 | number of the thread |
//! | 12 | 4 | number of the process |
//! | 16 | 4 | number of the site |
//! | 20 | 4 | number of the CPU |
//! | 24 | 8 | a bit for each field that could not be read, and [`UNSEEN`] |
//! | 32 | 16 | name of the thread, ends with a NUL |
//! | 48 | | the fields |
//! | | | if stacks are recorded: for the program's and the kernel's the size of the stack in bytes (8), and so many addresses |
//! | | | if the program's stack is copied: the copy ([`crate::record::stack`]), at the end of the record |
//!
//! Numbers are in the byte order of the machine. Every field starts at a multiple of 8.

pub mod stack;

use self::stack::{CopiedStack, MEMORY, ProgramStack, Stack, StackSettings, WHOLE_STACK};
use crate::whole::area;

/// Offset of the time.
pub const TIME: u16 = 0;
/// Offset of the thread and the process.
pub const THREAD: u16 = 8;
/// Offset of the site.
pub const SITE: u16 = 16;
/// Offset of the CPU.
pub const CPU: u16 = 20;
/// Offset of the bits of the fields that could not be read.
pub const UNREAD: u16 = 24;
/// In these bits: the entry of the frame was not seen, so its values are not known. No field has the number.
pub const UNSEEN: u32 = 30;
/// Offset of the name of the thread.
pub const NAME: u16 = 32;
/// Size of the name of the thread.
pub const NAME_SIZE: u16 = 16;
/// Offset of the first field.
pub const FIELDS: u16 = 48;

/// The kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// A number of 8 bytes.
    Number,
    /// A text that ends with a NUL: its address in 8 bytes, its length with the NUL in 8 bytes, and
    /// then at most so many bytes.
    Text(u16),
    /// Bytes: their address in 8 bytes, how many there are in 8 bytes, and then at most so many of
    /// them.
    Bytes(u16),
    /// A whole value: how many bytes of chunks there are in 8 bytes, and then at most so many of them
    /// ([`crate::whole`]).
    Whole(u16),
    /// So many bytes in the record of a kernel event.
    Inline(u16),
    /// The place and the length of bytes in the record of a kernel event (`__data_loc`). The place is
    /// counted from so many bytes after the start of that record.
    Located(u16),
}

impl FieldKind {
    /// The size of the field in bytes, a multiple of 8.
    #[must_use]
    pub fn size(self) -> u16 {
        match self {
            Self::Number => 8,
            Self::Text(most) | Self::Bytes(most) => most.saturating_add(16).div_ceil(8).saturating_mul(8),
            Self::Whole(most) => area(most).saturating_add(8),
            Self::Inline(size) => size,
            Self::Located(_) => 4,
        }
    }
}

/// Where the fields of a record are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layout {
    fields: Vec<(u16, FieldKind)>,
    /// The offset of the frames of the program's stack.
    stack: Option<u16>,
    /// The offset of those of the kernel's.
    kernel_stack: Option<u16>,
    /// How many bytes of the program's stack are copied.
    copied: Option<u32>,
    /// The offset of the size of a kernel event's own record.
    raw: Option<u16>,
    /// The least size of the record; 0 if it is that of [`FIELDS`].
    size: u16,
}

/// A number is read with the 7 bytes behind it.
const BEHIND: u16 = 8;

impl Layout {
    /// The layout of a record with these fields.
    #[must_use]
    pub fn new(kinds: impl IntoIterator<Item = FieldKind>) -> Self {
        let mut next = FIELDS;
        let place = |kind: FieldKind| {
            let offset = next;
            next = next.saturating_add(kind.size());
            (offset, kind)
        };
        let fields = kinds.into_iter().map(place).collect();
        Self { fields, size: next, ..Self::default() }
    }

    /// The same with stacks behind the fields.
    #[must_use]
    pub fn with_stacks(mut self, stacks: StackSettings) -> Self {
        self.size = self.add_stacks(stacks, self.size());
        self
    }

    /// Adds stacks from an offset on. Returns the offset behind those that are not at the end.
    fn add_stacks(&mut self, stacks: StackSettings, mut next: u16) -> u16 {
        let mut add = |is_there: bool| {
            let offset = next;
            next = if is_there { next.saturating_add(WHOLE_STACK) } else { next };
            is_there.then_some(offset)
        };
        self.stack = add(stacks.program == Some(ProgramStack::FramePointers));
        self.kernel_stack = add(stacks.has_kernel);
        self.copied = stacks.copied();
        next
    }

    /// The layout of the record of a kernel event whose own record has `size` bytes or more. The
    /// offsets of the fields count from its start.
    #[must_use]
    pub fn of_event(fields: impl IntoIterator<Item = (u16, FieldKind)>, size: u16, stacks: StackSettings) -> Self {
        let mut layout = Self::default();
        let raw = layout.add_stacks(stacks, FIELDS);
        let start = raw.saturating_add(8);
        layout.fields = fields.into_iter().map(|(offset, kind)| (start.saturating_add(offset), kind)).collect();
        let size = size.div_ceil(8).saturating_mul(8);
        Self { raw: Some(raw), size: start.saturating_add(size).saturating_add(BEHIND), ..layout }
    }

    /// The offset and the kind of each field.
    #[must_use]
    pub fn fields(&self) -> &[(u16, FieldKind)] {
        &self.fields
    }

    /// The offset of the frames of the program's stack; `None` if they are not recorded.
    #[must_use]
    pub fn stack(&self) -> Option<u16> {
        self.stack
    }

    /// The offset of the frames of the kernel's stack; `None` if they are not recorded.
    #[must_use]
    pub fn kernel_stack(&self) -> Option<u16> {
        self.kernel_stack
    }

    /// How many bytes of the program's stack are copied; `None` if it is not.
    #[must_use]
    pub fn copied(&self) -> Option<u32> {
        self.copied
    }

    /// How many bytes a copied stack takes at the end of the record.
    #[must_use]
    pub fn copy_size(&self) -> u32 {
        self.copied.map_or(0, |size| size.saturating_add(MEMORY.into()))
    }

    /// The offset of the size of a kernel event's own record, which follows it; `None` if the record
    /// is of a marker.
    #[must_use]
    pub fn raw(&self) -> Option<u16> {
        self.raw
    }

    /// The size of the record in bytes without a copied stack; of a kernel event the least size.
    #[must_use]
    pub fn size(&self) -> u16 {
        self.size.max(FIELDS)
    }
}

/// The length of a text of a probe that ends at its first NUL (`docs/section-format.md`).
const NUL_ENDS: u64 = u64::MAX;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a>(pub &'a [u8]);

/// The contents of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// The field could not be read.
    Unread,
    /// A number.
    Number(u64),
    /// A text or bytes.
    Bytes {
        /// The address in the program.
        address: u64,
        /// How many bytes there are in the program, without a NUL at the end; of a text at most as
        /// many as were read.
        length: u64,
        /// Those that were read.
        bytes: &'a [u8],
        /// Whether more of them follow in the program.
        is_cut: bool,
    },
    /// The chunks of a whole value.
    Whole(&'a [u8]),
    /// Bytes in the record of a kernel event.
    Inline {
        /// Those that were copied.
        bytes: &'a [u8],
        /// Whether more of them follow that were not copied.
        is_cut: bool,
    },
}

impl<'a> Record<'a> {
    fn word(self, offset: u16) -> u64 {
        let bytes = self.0.get(usize::from(offset)..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }

    fn half(self, offset: u16) -> u32 {
        let bytes = self.0.get(usize::from(offset)..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    /// The time in ns.
    #[must_use]
    pub fn time(self) -> u64 {
        self.word(TIME)
    }

    /// The number of the thread.
    #[must_use]
    pub fn thread(self) -> u32 {
        self.half(THREAD)
    }

    /// The number of the process.
    #[must_use]
    pub fn process(self) -> u32 {
        self.half(THREAD + 4)
    }

    /// The number of the site.
    #[must_use]
    pub fn site(self) -> u32 {
        self.half(SITE)
    }

    /// The number of the CPU.
    #[must_use]
    pub fn cpu(self) -> u32 {
        self.half(CPU)
    }

    /// Whether the entry of the frame was not seen, so that its values are not known.
    #[must_use]
    pub fn is_entry_unseen(self) -> bool {
        self.word(UNREAD) >> UNSEEN & 1 == 1
    }

    /// Whether every field could be read.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.word(UNREAD) == 0
    }

    /// The name of the thread.
    #[must_use]
    pub fn name(self) -> &'a [u8] {
        let from = usize::from(NAME);
        let name = self.0.get(from..from + usize::from(NAME_SIZE)).unwrap_or_default();
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        name.get(..end).unwrap_or_default()
    }

    /// The address of a text or of bytes, also if they could not be read; `None` for another field.
    #[must_use]
    pub fn address(self, layout: &Layout, index: usize) -> Option<u64> {
        match layout.fields().get(index).copied()? {
            (_, FieldKind::Number | FieldKind::Whole(_) | FieldKind::Inline(_) | FieldKind::Located(_)) => None,
            (offset, FieldKind::Text(_) | FieldKind::Bytes(_)) => Some(self.word(offset)),
        }
    }

    /// The frames of the program's stack, as far as frame pointers lead; `None` if the layout has none.
    #[must_use]
    pub fn stack(self, layout: &Layout) -> Option<Stack<'a>> {
        Some(Stack::at(self.0, layout.stack()?))
    }

    /// The frames of the kernel's stack; `None` if the layout has none.
    #[must_use]
    pub fn kernel_stack(self, layout: &Layout) -> Option<Stack<'a>> {
        Some(Stack::at(self.0, layout.kernel_stack()?))
    }

    /// The copied stack of the program; `None` if the layout has none.
    #[must_use]
    pub fn copied_stack(self, layout: &Layout) -> Option<CopiedStack<'a>> {
        CopiedStack::behind(self.0, layout.copied()?)
    }

    /// A kernel event's own record, as much of it as was copied, and how many bytes it has. `None` if
    /// the record is of a marker.
    #[must_use]
    pub fn raw(self, layout: &Layout) -> Option<(&'a [u8], u64)> {
        let offset = layout.raw()?;
        let size = self.word(offset);
        let copied = self.0.get(usize::from(offset).saturating_add(8)..).unwrap_or_default();
        let behind = usize::from(BEHIND).saturating_add(layout.copy_size() as usize);
        let copied = copied.get(..copied.len().saturating_sub(behind)).unwrap_or_default();
        let most = usize::try_from(size).unwrap_or(usize::MAX).min(copied.len());
        Some((copied.get(..most).unwrap_or_default(), size))
    }

    /// The bytes of a kernel event's own record at a place, as `__data_loc` gives it.
    fn located(self, layout: &Layout, place: u32, base: u16) -> Field<'a> {
        let Some((raw, _)) = self.raw(layout) else { return Field::Unread };
        let from = usize::from(base).saturating_add((place & 0xffff) as usize);
        let length = (place >> 16) as usize;
        let rest = raw.get(from.min(raw.len())..).unwrap_or_default();
        Field::Inline { bytes: rest.get(..length).unwrap_or(rest), is_cut: rest.len() < length }
    }

    /// A field of a layout. [`Field::Unread`] also if there is no such field.
    #[must_use]
    pub fn field(self, layout: &Layout, index: usize) -> Field<'a> {
        let Some((offset, kind)) = layout.fields().get(index).copied() else { return Field::Unread };
        if index >= 64 || self.word(UNREAD) >> index & 1 == 1 {
            return Field::Unread;
        }
        let (most, is_text) = match kind {
            FieldKind::Number => return Field::Number(self.word(offset)),
            FieldKind::Text(most) => (most, true),
            FieldKind::Bytes(most) => (most, false),
            FieldKind::Whole(most) => {
                let size = usize::try_from(self.word(offset)).unwrap_or(usize::MAX).min(most.into());
                let chunks = self.0.get(usize::from(offset).saturating_add(8)..).unwrap_or_default();
                return Field::Whole(chunks.get(..size).unwrap_or(chunks));
            }
            FieldKind::Inline(size) => {
                let from = usize::from(offset);
                let bytes = self.0.get(from..from.saturating_add(size.into())).unwrap_or_default();
                return Field::Inline { bytes, is_cut: false };
            }
            FieldKind::Located(base) => return self.located(layout, self.half(offset), base),
        };
        let (address, length) = (self.word(offset), self.word(offset.saturating_add(8)));
        let from = usize::from(offset).saturating_add(16);
        let stored = usize::try_from(length).unwrap_or(usize::MAX).min(most.into());
        let bytes = self.0.get(from..from.saturating_add(stored)).unwrap_or_default();
        if !is_text && length == NUL_ENDS {
            let end = bytes.iter().position(|byte| *byte == 0);
            let bytes = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            return Field::Bytes { address, length: bytes.len() as u64, bytes, is_cut: end.is_none() };
        }
        if !is_text {
            return Field::Bytes { address, length, bytes, is_cut: length > u64::from(most) };
        }
        // The kernel puts a NUL after what it read, also if the text goes on.
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        Field::Bytes { address, length: bytes.len() as u64, bytes, is_cut: length == u64::from(most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other() {
        let layout = Layout::new([FieldKind::Number, FieldKind::Text(5), FieldKind::Bytes(8)]);
        let fields = [(48, FieldKind::Number), (56, FieldKind::Text(5)), (80, FieldKind::Bytes(8))];
        assert_eq!(layout.fields(), fields);
        assert_eq!((layout.size(), Layout::default().size()), (104, 48));
        let mut bytes = vec![0; layout.size().into()];
        bytes[48] = 7;
        bytes[56..64].copy_from_slice(&0x1000u64.to_ne_bytes());
        bytes[64] = 5;
        bytes[72..77].copy_from_slice(b"abcd\0");
        bytes[88] = 9;
        bytes[96..104].copy_from_slice(b"12345678");
        let record = Record(&bytes);
        assert_eq!(record.field(&layout, 0), Field::Number(7));
        let text = Field::Bytes { address: 0x1000, length: 4, bytes: b"abcd", is_cut: true };
        assert_eq!(record.field(&layout, 1), text);
        let part = Field::Bytes { address: 0, length: 9, bytes: b"12345678", is_cut: true };
        assert_eq!(record.field(&layout, 2), part);
        assert_eq!(record.field(&layout, 3), Field::Unread);
        let mut ended = bytes.clone();
        ended[88..96].fill(0xff);
        ended[99] = 0;
        let text = Field::Bytes { address: 0, length: 3, bytes: b"123", is_cut: false };
        assert_eq!(Record(&ended).field(&layout, 2), text);
        ended[99] = b'4';
        let part = Field::Bytes { address: 0, length: 8, bytes: b"12345678", is_cut: true };
        assert_eq!(Record(&ended).field(&layout, 2), part);
        bytes[24] = 1;
        assert_eq!(Record(&bytes).field(&layout, 0), Field::Unread);
        assert_eq!(
            Record(&bytes[..60]).field(&layout, 1),
            Field::Bytes { address: 0, length: 0, bytes: b"", is_cut: false }
        );
    }

    #[test]
    fn a_stack_follows_the_fields() {
        let stacks = StackSettings { program: Some(ProgramStack::FramePointers), has_kernel: true };
        let layout = Layout::new([FieldKind::Number]).with_stacks(stacks);
        assert_eq!((layout.stack(), layout.kernel_stack()), (Some(56), Some(56 + 8 + 65 * 8)));
        assert_eq!((layout.size(), layout.copy_size()), (56 + 2 * (8 + 65 * 8), 0));
        let mut bytes = vec![0; layout.size().into()];
        for (index, word) in bytes[64..].chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&(0x1000 + index as u64).to_ne_bytes());
        }
        let with = |bytes: &mut [u8], size: u64| {
            bytes[56..64].copy_from_slice(&size.to_ne_bytes());
            let stack = Record(bytes).stack(&layout).expect("a stack");
            (stack.addresses().collect::<Vec<_>>(), stack.is_cut)
        };
        assert_eq!(with(&mut bytes, 16), (vec![0x1000, 0x1001], false));
        assert_eq!(with(&mut bytes, 0), (vec![], false));
        let all: Vec<u64> = (0x1000..0x1040).collect();
        assert_eq!(with(&mut bytes, 64 * 8), (all.clone(), false));
        assert_eq!(with(&mut bytes, 65 * 8), (all.clone(), true));
        assert_eq!(with(&mut bytes, u64::MAX), (all, true));
        assert_eq!(Record(&bytes).stack(&Layout::default()), None);
        assert_eq!(Record(&bytes[..60]).stack(&layout).expect("a stack").addresses().count(), 0);
    }
}
