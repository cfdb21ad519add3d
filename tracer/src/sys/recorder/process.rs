//! Arms the probes of a process: writes its control block and its switches through
//! `/proc/PID/mem`. That needs the rights of a debugger: the same user, or root.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use simple_markers_record::buffer::{self, control};
use simple_markers_resolver::address::FileOffset;

use crate::recorder::ring::Sizes;
use crate::sys::mapped::{self, Region};
use crate::sys::process_stat::ProcessStat;

/// What to write to the control block of an image.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    /// The folder of the buffers, as the process sees it.
    pub(super) folder: &'a str,
    pub(super) sizes: Sizes,
    /// The process that owns the block: this one.
    pub(super) owner: ProcessIdentity,
}

/// The file of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Its path in the process.
    pub(super) path: PathBuf,
    /// Its device and inode, if they are known.
    pub(super) number: Option<(u64, u64)>,
}

/// A process, as nobody else can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessIdentity {
    pub(super) pid: u32,
    /// When it started, in clock ticks since boot.
    pub(super) start: u64,
}

impl ProcessIdentity {
    /// The process with that number; `None` if there is none.
    pub(super) fn of(pid: u32) -> Option<Self> {
        ProcessStat::of(pid).map(|stat| Self { pid, start: stat.start })
    }

    pub(super) fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self) && mapped::exists(self.pid)
    }
}

/// Why the probes of an image are not armed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArmError {
    /// The process has not mapped the image, or not yet.
    #[error("the file is not mapped")]
    NotMapped,
    /// Another tool has armed probes of this image.
    #[error("process {0} records its probes already")]
    Owned(u32),
    /// The program has armed probes itself.
    #[error("the program records its probes itself")]
    Itself,
    /// The memory of the process cannot be read or written.
    #[error("{0}")]
    Memory(io::Error),
}

impl From<io::Error> for ArmError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The process ends, and has no memory any more.
            io::ErrorKind::WriteZero | io::ErrorKind::UnexpectedEof => Self::NotMapped,
            _ => Self::Memory(error),
        }
    }
}

/// The memory of a process.
#[derive(Debug)]
pub(super) struct ProcessMemory {
    pid: u32,
    file: fs::File,
    /// What the process may write to, when this was opened.
    writable: Vec<Region>,
}

impl ProcessMemory {
    pub(super) fn open(pid: u32) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        Ok(Self { pid, file, writable: mapped::writable(pid).unwrap_or_default() })
    }

    /// The user and the group of the process.
    pub(super) fn user(&self) -> io::Result<(u32, u32)> {
        let status = fs::metadata(format!("/proc/{}", self.pid))?;
        Ok((status.uid(), status.gid()))
    }

    /// Where a byte of an image is in memory that can be written: the last place, because a page of the
    /// file can also be at the end of what is read-only once the program runs.
    fn address(&self, image: &File, offset: FileOffset) -> Result<u64, ArmError> {
        let is_its = |region: &&Region| region.has(self.pid, &image.path, image.number);
        let regions = self.writable.iter().rev().filter(is_its);
        regions.filter_map(|region| region.address_of(offset.0)).next().ok_or(ArmError::NotMapped)
    }

    /// The control block at an offset of an image.
    fn block(&self, image: &File, offset: FileOffset) -> Result<(u64, [u8; control::SIZE]), ArmError> {
        let address = self.address(image, offset)?;
        let mut block = [0; control::SIZE];
        self.file.read_exact_at(&mut block, address)?;
        if block.get(..control::MAGIC.len()) != Some(&control::MAGIC) {
            return Err(ArmError::NotMapped);
        }
        Ok((address, block))
    }

    /// Whether the control block of an image is already this process's.
    pub(super) fn is_ours(&self, image: &File, control: FileOffset, ours: ProcessIdentity) -> Result<bool, ArmError> {
        let (_, block) = self.block(image, control)?;
        let owner = owner_of(&block);
        match u32_at(&block, control::STATE) {
            control::STATE_FREE => Ok(false),
            control::STATE_TOOL if owner == ours => Ok(true),
            control::STATE_TOOL if owner.is_alive() => Err(ArmError::Owned(owner.pid)),
            control::STATE_TOOL => Ok(false),
            _ => Err(ArmError::Itself),
        }
    }

    /// Takes the control block of an image, which nobody has, and gives each switch its number.
    pub(super) fn arm(
        &self,
        image: &File,
        control: FileOffset,
        wanted: &Block<'_>,
        switches: &[(FileOffset, u16)],
    ) -> Result<(), ArmError> {
        let (address, block) = self.block(image, control)?;
        let word = |at: usize| u32_at(&block, at);
        let write = |at: usize, bytes: &[u8]| self.file.write_all_at(bytes, address + at as u64);
        write(control::OWNER, &wanted.owner.pid.to_le_bytes())?;
        write(control::OWNER_START, &wanted.owner.start.to_le_bytes())?;
        write(control::STATE, &control::STATE_TOOL.to_le_bytes())?;
        // Of two tools at the same moment the one that wrote last has it.
        std::thread::sleep(std::time::Duration::from_millis(1));
        let (_, again) = self.block(image, control)?;
        if u32_at(&again, control::OWNER) != wanted.owner.pid {
            return Err(ArmError::Owned(u32_at(&again, control::OWNER)));
        }
        write(control::PACKET_SIZE, &wanted.sizes.packet.to_le_bytes())?;
        write(control::PACKETS, &wanted.sizes.packets.to_le_bytes())?;
        write(control::FLAGS, &0u32.to_le_bytes())?;
        write(control::ERROR, &0u32.to_le_bytes())?;
        write(control::LOST, &0u64.to_le_bytes())?;
        let mut folder = [0; control::FOLDER_SIZE];
        crate::bytes::put(&mut folder, 0, wanted.folder.as_bytes());
        write(control::FOLDER, &folder)?;
        write(control::GENERATION, &control::armed(word(control::GENERATION)).to_le_bytes())?;
        self.number(image, switches)
    }

    /// Asks an image to tell of the next hit of each thread, if its control block is this process's and names
    /// the folder. Returns whether it does.
    pub(super) fn ask(
        &self,
        image: &File,
        control: FileOffset,
        ours: ProcessIdentity,
        folder: &str,
    ) -> Result<bool, ArmError> {
        let (address, block) = match self.block(image, control) {
            Err(ArmError::NotMapped) => return Ok(false),
            block => block?,
        };
        let its_folder = block.get(control::FOLDER..).and_then(|folder| folder.split(|byte| *byte == 0).next());
        let is_armed = (u32_at(&block, control::STATE), owner_of(&block)) == (control::STATE_TOOL, ours);
        if !is_armed || its_folder != Some(folder.as_bytes()) {
            return Ok(false);
        }
        let generation = control::asked(u32_at(&block, control::GENERATION));
        self.file.write_all_at(&generation.to_le_bytes(), address + control::GENERATION as u64)?;
        Ok(true)
    }

    /// Gives each switch its number.
    pub(super) fn number(&self, image: &File, switches: &[(FileOffset, u16)]) -> Result<(), ArmError> {
        for (offset, id) in switches {
            let address = self.address(image, *offset)?;
            // A library may be unloaded at any time, so nothing is written that is there already.
            let mut before = [0; 2];
            self.file.read_exact_at(&mut before, address + ID)?;
            if before != id.to_le_bytes() {
                self.file.write_all_at(&id.to_le_bytes(), address + ID)?;
            }
        }
        Ok(())
    }

    /// Switches the probes off and gives the control block back, if it is this process's. Returns how
    /// many hits had no buffer, and the last error number.
    pub(super) fn disarm(
        &self,
        image: &File,
        control: FileOffset,
        owner: ProcessIdentity,
        switches: &[(FileOffset, u16)],
    ) -> Result<(u64, u32), ArmError> {
        let (address, block) = self.block(image, control)?;
        if (u32_at(&block, control::STATE), owner_of(&block)) != (control::STATE_TOOL, owner) {
            return Ok((0, 0));
        }
        for (offset, _) in switches {
            self.switch_off(self.address(image, *offset)?)?;
        }
        self.file.write_all_at(&control::STATE_FREE.to_le_bytes(), address + control::STATE as u64)?;
        Ok((u64_at(&block, control::LOST), u32_at(&block, control::ERROR)))
    }
}

impl ProcessMemory {
    /// Stops the recording of the probe at an address, which may have a handler of the program. The
    /// program may set or remove that at the same time, so it is looked for again after each write.
    fn switch_off(&self, descriptor: u64) -> io::Result<()> {
        let mut id = 0u16;
        loop {
            self.file.write_all_at(&id.to_le_bytes(), descriptor + ID)?;
            let mut handler = [0; 8];
            self.file.read_exact_at(&mut handler, descriptor + buffer::HANDLER as u64)?;
            let wanted = if handler == [0; 8] { 0 } else { buffer::NO_ID };
            if id == wanted {
                return Ok(());
            }
            id = wanted;
        }
    }
}

/// Where the number of a probe is in its descriptor.
const ID: u64 = 2;

/// The tool that a control block names.
fn owner_of(block: &[u8; control::SIZE]) -> ProcessIdentity {
    ProcessIdentity { pid: u32_at(block, control::OWNER), start: u64_at(block, control::OWNER_START) }
}

fn u32_at(block: &[u8; control::SIZE], at: usize) -> u32 {
    buffer::u32_at(block, at).unwrap_or(0)
}

fn u64_at(block: &[u8; control::SIZE], at: usize) -> u64 {
    buffer::u64_at(block, at).unwrap_or(0)
}
