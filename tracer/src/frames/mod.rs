//! The frames of stacks: what is known of each, as a line and as JSON.

mod frame;
mod table;

pub use self::frame::{Frame, Function, INDENT, KernelFrame, StackEnd};
pub(crate) use self::table::NOT_READ;
pub use self::table::{EventStacks, FrameNumbers, StackNumbers, StackTable};
