//! The file of a thread: a ring or a growing file.

use crate::clock;
use crate::control::control;
use crate::sys::Errno;

mod growing;
mod path;
mod ring;
mod writer;

pub(crate) use path::Numbers;
pub(crate) use writer::Writer;

impl Writer {
    /// Makes a buffer for the generation.
    pub(crate) fn renew(&mut self, generation: u32, pid: u32, numbers: &Numbers) {
        self.forget();
        self.generation = generation;
        self.files = 0;
        if let Err(error) = self.make(pid, numbers) {
            self.forget();
            self.fail(error, control().lost());
        }
    }

    fn make(&mut self, pid: u32, numbers: &Numbers) -> Result<(), Errno> {
        let settings = control().settings()?;
        self.pid = pid;
        self.tool = control().tool();
        self.packet_size = settings.packet_size;
        self.packets = settings.packets;
        self.overwrites = settings.overwrites.into();
        self.clock = clock::choose(settings.is_monotonic);
        self.part = growing::part(settings.keep);
        if settings.packets == 0 { self.make_growing(numbers) } else { self.make_ring(numbers) }
    }
}
