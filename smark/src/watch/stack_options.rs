//! The options that say which stacks hits have.

use clap::Args;
use simple_markers_tracer::record::stack::{COPY_SIZES, ProgramStack, StackSettings};

use crate::quantity;

/// The options of the commands that show or record each hit.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StackOptions {
    /// Note the stack of each hit, below its line or in the recording. `fp`, which is meant without HOW, follows frame pointers: at most 64 frames. `dwarf` copies 8K of
    /// the stack, `dwarf,SIZE` another size up to 64K, and follows the call frame information of the files: no frame pointers are
    /// needed, and at most 256 frames
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "fp", value_parser = program_stack)]
    stack: Option<ProgramStack>,
    /// Note the kernel's stack at each of its events (-e), with the names of /proc/kallsyms. It is empty at a marker: the thread is
    /// in the program there
    #[arg(long)]
    kstack: bool,
}

impl StackOptions {
    pub(crate) fn settings(self) -> StackSettings {
        StackSettings { program: self.stack, has_kernel: self.kstack }
    }
}

/// How much of a stack is copied unless the user says it.
const COPIED: u32 = 8 << 10;

fn program_stack(text: &str) -> Result<ProgramStack, String> {
    let (how, size) = text.split_once(',').map_or((text, None), |(how, size)| (how, Some(size)));
    match (how, size) {
        ("fp", None) => Ok(ProgramStack::FramePointers),
        ("dwarf", None) => Ok(ProgramStack::Copy { size: COPIED }),
        ("dwarf", Some(size)) => {
            let (least, most) = COPY_SIZES;
            let size = u32::try_from(quantity::size(size)?).ok().filter(|size| (least..=most).contains(size));
            size.map(|size| ProgramStack::Copy { size }).ok_or_else(|| "the size is from 1K to 64K".to_owned())
        }
        _ => Err("fp, dwarf or dwarf,SIZE".to_owned()),
    }
}
