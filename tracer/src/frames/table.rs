//! The stacks of a recording: a table of frames, and their numbers in each event.
//!
//! In an event they follow the name of the thread, if the recording has them:
//!
//! | what | size |
//! | --- | ---: |
//! | if it has stacks of programs: why the frames end ([`StackEnd`]), or 255 if this one was not read | 1 |
//! | the number of frames, and the number of each in the table, the innermost first | 4 each |
//! | if it has stacks of the kernel: 1 if more frames follow, otherwise 0 | 1 |
//! | the number of frames, and the number of each in the table, the innermost first | 4 each |

use indexmap::IndexSet;
use serde::{Deserialize, Serialize};
use simple_markers_resolver::json::{JsonError, objects};

use super::frame::{Frame, KernelFrame, StackEnd};
use crate::record::stack::StackSettings;

/// The most frames of a table, for those of programs and of the kernel.
const MOST: usize = 1 << 16;

/// What stands for the end of a stack that was not read.
pub(crate) const NOT_READ: u8 = 255;

/// The frames of the stacks of a recording, each once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "TableMembers")]
pub struct StackTable {
    /// Whether events have the stack of the program.
    #[serde(rename = "program")]
    pub has_program: bool,
    /// Whether events have the stack of the kernel.
    #[serde(rename = "kernel")]
    pub has_kernel: bool,
    #[serde(rename = "frames")]
    program: IndexSet<Frame>,
    #[serde(rename = "kernel_frames")]
    kernel: IndexSet<KernelFrame>,
}

/// A table as it is read: a frame may be there twice.
#[derive(Deserialize)]
struct TableMembers {
    program: bool,
    kernel: bool,
    #[serde(deserialize_with = "objects")]
    frames: Vec<Frame>,
    #[serde(deserialize_with = "objects")]
    kernel_frames: Vec<KernelFrame>,
}

impl TryFrom<TableMembers> for StackTable {
    type Error = JsonError;

    fn try_from(members: TableMembers) -> Result<Self, JsonError> {
        let TableMembers { program: has_program, kernel: has_kernel, frames, kernel_frames } = members;
        let counts = [("frames", frames.len()), ("kernel_frames", kernel_frames.len())];
        let program: IndexSet<Frame> = frames.into_iter().collect();
        let kernel: IndexSet<KernelFrame> = kernel_frames.into_iter().collect();
        for ((member, count), different) in counts.into_iter().zip([program.len(), kernel.len()]) {
            if count > MOST {
                return Err(JsonError::new(member, &format!("there are {count}; {MOST} are possible")));
            }
            if count != different {
                return Err(JsonError::new(member, "two of them are the same"));
            }
        }
        Ok(Self { has_program, has_kernel, program, kernel })
    }
}

/// The stacks of a hit by the numbers of their frames, the innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackNumbers {
    /// The stack of the program, and why its frames end; `None` if it is not read.
    pub program: Option<(Vec<u32>, StackEnd)>,
    /// The stack of the kernel, and whether more frames follow; `None` if it is not read.
    pub kernel: Option<(Vec<u32>, bool)>,
}

impl StackTable {
    /// A table for the stacks of records; `None` if they have none.
    #[must_use]
    pub fn new(of: StackSettings) -> Option<Self> {
        let (has_program, has_kernel) = (of.program.is_some(), of.has_kernel);
        of.is_any().then(|| Self { has_program, has_kernel, ..Self::default() })
    }

    /// How many frames of programs and of the kernel it has.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        (self.program.len(), self.kernel.len())
    }

    /// The frames of programs, by their numbers.
    #[must_use]
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.program.iter()
    }

    /// The frames of the kernel, by their numbers.
    #[must_use]
    pub fn kernel_frames(&self) -> impl ExactSizeIterator<Item = &KernelFrame> {
        self.kernel.iter()
    }

    /// The frame of a program with a number.
    #[must_use]
    pub fn frame(&self, number: u32) -> Option<&Frame> {
        self.program.get_index(usize::try_from(number).ok()?)
    }

    /// The frame of the kernel with a number.
    #[must_use]
    pub fn kernel_frame(&self, number: u32) -> Option<&KernelFrame> {
        self.kernel.get_index(usize::try_from(number).ok()?)
    }

    /// The numbers of the frames of a program's stack. Those for which there is no room are left out.
    pub fn number_program(&mut self, frames: Vec<Frame>, end: StackEnd) -> (Vec<u32>, StackEnd) {
        let (numbers, is_whole) = numbered(&mut self.program, frames);
        (numbers, if is_whole { end } else { StackEnd::NotKept })
    }

    /// The numbers of the frames of a stack of the kernel. Those for which there is no room are left out.
    pub fn number_kernel(&mut self, frames: Vec<KernelFrame>, is_cut: bool) -> (Vec<u32>, bool) {
        let (numbers, is_whole) = numbered(&mut self.kernel, frames);
        (numbers, is_cut || !is_whole)
    }

    /// Appends the stacks of an event.
    pub(crate) fn write(&self, stacks: &StackNumbers, out: &mut Vec<u8>) {
        let mut list = |first: u8, numbers: &[u32]| {
            out.push(first);
            out.extend_from_slice(&u32::try_from(numbers.len()).unwrap_or(u32::MAX).to_le_bytes());
            numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        };
        if self.has_program {
            let (numbers, end) = stacks.program.as_ref().map_or((&[][..], NOT_READ), |(n, end)| (n, *end as u8));
            list(end, numbers);
        }
        if self.has_kernel {
            let (numbers, is_cut) = stacks.kernel.as_ref().map_or((&[][..], false), |(n, is_cut)| (n, *is_cut));
            list(is_cut.into(), numbers);
        }
    }
}

/// The numbers of frames as far as there is room for them, and whether there is for all.
fn numbered<T: Eq + std::hash::Hash>(known: &mut IndexSet<T>, frames: Vec<T>) -> (Vec<u32>, bool) {
    let count = frames.len();
    let number = |frame: T| match known.len() < MOST {
        true => Some(known.insert_full(frame).0),
        false => known.get_index_of(&frame),
    };
    let numbers: Vec<u32> = frames.into_iter().map_while(number).filter_map(|it| u32::try_from(it).ok()).collect();
    let is_whole = numbers.len() == count;
    (numbers, is_whole)
}

/// The numbers of the frames of a stack, as an event has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameNumbers<'a>(pub(crate) &'a [u8]);

impl<'a> FrameNumbers<'a> {
    /// The numbers, that of the innermost frame first.
    pub fn iter(self) -> impl Iterator<Item = u32> + use<'a> {
        self.0.chunks_exact(4).filter_map(|number| number.first_chunk()).map(|number| u32::from_le_bytes(*number))
    }
}

/// The stacks of a hit of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventStacks<'a> {
    /// The stack of the program, and why its frames end; `None` if it was not recorded.
    pub program: Option<(FrameNumbers<'a>, StackEnd)>,
    /// The stack of the kernel, and whether more frames follow; `None` if it was not recorded.
    pub kernel: Option<(FrameNumbers<'a>, bool)>,
}

impl EventStacks<'_> {
    /// The same on its own.
    #[must_use]
    pub fn numbers(&self) -> StackNumbers {
        StackNumbers {
            program: self.program.map(|(numbers, end)| (numbers.iter().collect(), end)),
            kernel: self.kernel.map(|(numbers, is_cut)| (numbers.iter().collect(), is_cut)),
        }
    }
}

#[cfg(test)]
mod tests {
    use simple_markers_resolver::address::RuntimeAddress;

    use super::*;

    fn frame(address: u64) -> Frame {
        Frame { address: RuntimeAddress(address), image: None, image_address: None, functions: Vec::new() }
    }

    #[test]
    fn a_full_table_says_what_it_leaves_out() {
        let mut table = StackTable { has_program: true, ..StackTable::default() };
        let all: Vec<Frame> = (0..MOST as u64 - 1).map(frame).collect();
        assert_eq!(table.number_program(all, StackEnd::Outermost).0.len(), MOST - 1);
        let more = || vec![frame(7), frame(1 << 32), frame(8), frame(1 << 33), frame(9)];
        let last = u32::try_from(MOST).expect("a number") - 1;
        assert_eq!(table.number_program(more(), StackEnd::Outermost), (vec![7, last, 8], StackEnd::NotKept));
        assert_eq!(table.number_program(vec![frame(9)], StackEnd::Invalid), (vec![9], StackEnd::Invalid));
        assert_eq!(table.sizes(), (MOST, 0));
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let mut table = StackTable { has_program: true, has_kernel: true, ..StackTable::default() };
        table.number_program(vec![frame(1), frame(2)], StackEnd::Outermost);
        let kernel =
            KernelFrame { address: RuntimeAddress(3), function: Some("f".into()), offset: Some(4), module: None };
        table.number_kernel(vec![kernel], false);
        let json = serde_json::json!(table);
        assert_eq!(serde_json::from_value::<StackTable>(json.clone()).expect("a table"), table);
        let mut twice = json.clone();
        twice["frames"][1] = json["frames"][0].clone();
        let error = serde_json::from_value::<StackTable>(twice).expect_err("the same frame twice").to_string();
        assert!(error.contains("`frames`: two of them are the same"), "{error}");
    }

    #[test]
    fn ends_have_their_numbers() {
        for (number, end) in StackEnd::ALL.into_iter().enumerate() {
            assert_eq!(end as usize, number);
        }
    }
}
