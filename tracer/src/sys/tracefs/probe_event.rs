//! An event of tracefs with many probes, for a BPF program. It takes the kernel as long to remove as an event
//! with one.

use simple_markers_resolver::address::FileOffset;

use super::super::error::{Error, Step};
use super::events::FileNames;
use super::files::Root;
use super::leftovers::owner;
use crate::ftrace::probes::{probe, removal};

/// An event with probes. It is removed when it is dropped, and if the process is killed by the next session of
/// another one; without a program at it, it does nothing.
#[derive(Debug)]
pub(in crate::sys) struct ProbeEvent {
    root: Root,
    group: String,
}

const NAME: &str = "probes";

impl ProbeEvent {
    /// Defines an event with probes in a file, each at an offset and with the offset of its switch.
    pub(in crate::sys) fn define(
        path: &str,
        at: impl Iterator<Item = (FileOffset, Option<FileOffset>)>,
    ) -> Result<Self, Error> {
        let unknown = || Error::new(Step::Tracefs, &std::io::Error::from_raw_os_error(libc::ENOENT));
        let event = Self { root: Root::find()?, group: owner().ok_or_else(unknown)?.group() };
        let mut files = FileNames::default();
        let path = files.name(path)?;
        for at in at {
            event.root.change_probes(&format!("{}\n", probe(&event.group, NAME, &path, at)))?;
        }
        Ok(event)
    }

    /// The number of the event.
    pub(in crate::sys) fn id(&self) -> Result<u64, Error> {
        let id = self.root.read(&format!("events/{}/{NAME}/id", self.group));
        let id = id.map_err(|why| Error::new(Step::Probe, &why))?;
        let unknown = |_| Error::new(Step::Probe, &std::io::Error::from_raw_os_error(libc::EPROTO));
        id.trim().parse().map_err(unknown)
    }
}

impl Drop for ProbeEvent {
    fn drop(&mut self) {
        let _ = self.root.change_probes(&removal(&self.group, NAME));
    }
}
