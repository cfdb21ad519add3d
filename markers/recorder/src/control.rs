//! The control block of this image: who has armed its probes, and where the buffers go.

use core::arch::global_asm;
use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use simple_markers_record::buffer::{CLOCK_UNKNOWN, control, packet};

use crate::sys::Errno;

/// The block. A tool writes it from outside, so every access is atomic.
///
/// The layout is that of [`control`].
#[repr(C, align(64))]
pub(crate) struct Control {
    magic: [u8; 8],
    pub(crate) state: AtomicU32,
    pub(crate) owner: AtomicU32,
    pub(crate) owner_start: AtomicU64,
    packet_size: AtomicU32,
    packets: AtomicU32,
    flags: AtomicU32,
    error: AtomicU32,
    lost: AtomicU64,
    pub(crate) generation: AtomicU32,
    pub(crate) clock: AtomicU32,
    keep: AtomicU64,
    folder: [AtomicU8; control::FOLDER_SIZE],
}

const _: () = {
    assert!(size_of::<Control>() == control::SIZE);
    assert!(core::mem::offset_of!(Control, state) == control::STATE);
    assert!(core::mem::offset_of!(Control, owner) == control::OWNER);
    assert!(core::mem::offset_of!(Control, owner_start) == control::OWNER_START);
    assert!(core::mem::offset_of!(Control, packet_size) == control::PACKET_SIZE);
    assert!(core::mem::offset_of!(Control, packets) == control::PACKETS);
    assert!(core::mem::offset_of!(Control, flags) == control::FLAGS);
    assert!(core::mem::offset_of!(Control, error) == control::ERROR);
    assert!(core::mem::offset_of!(Control, lost) == control::LOST);
    assert!(core::mem::offset_of!(Control, generation) == control::GENERATION);
    assert!(core::mem::offset_of!(Control, clock) == control::CLOCK);
    assert!(core::mem::offset_of!(Control, keep) == control::KEEP);
    assert!(core::mem::offset_of!(Control, folder) == control::FOLDER);
};

global_asm!(
    ".pushsection __simple_control,\"aw\",@progbits",
    ".balign 64",
    ".hidden simple_marker_control",
    ".globl simple_marker_control",
    ".type simple_marker_control,@object",
    ".size simple_marker_control,{size}",
    "simple_marker_control:",
    ".ascii \"SMCTRL\\0\\001\"",
    ".zero {clock} - 8",
    ".long {unknown}",
    ".zero {size} - {clock} - 4",
    ".popsection",
    size = const control::SIZE,
    clock = const control::CLOCK,
    unknown = const CLOCK_UNKNOWN,
);

unsafe extern "C" {
    safe static simple_marker_control: Control;
}

/// The control block of this image.
pub(crate) fn control() -> &'static Control {
    &simple_marker_control
}

/// A tool that reads buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Tool {
    pid: u32,
    /// The low bits of its start time.
    start: u32,
}

/// The most bytes of the last records that are kept of a thread.
pub(crate) const MOST_KEPT: u64 = 1 << 40;

/// How buffers are made.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    /// Bytes of a packet.
    pub(crate) packet_size: u32,
    /// Packets of a ring; 0: a growing file.
    pub(crate) packets: u32,
    /// Whether a full ring overwrites its oldest packet.
    pub(crate) overwrites: bool,
    /// Whether the counter of the processor must not be used.
    pub(crate) is_monotonic: bool,
    /// How many bytes of the last records of a growing file are kept; 0: all.
    pub(crate) keep: u64,
}

impl Control {
    /// How buffers are to be made; an error if the sizes are not allowed.
    pub(crate) fn settings(&self) -> Result<Settings, Errno> {
        let packet_size = self.packet_size.load(Ordering::Relaxed);
        let packets = self.packets.load(Ordering::Relaxed);
        let flags = self.flags.load(Ordering::Relaxed);
        let sizes = packet::MIN_SIZE..=packet::MAX_SIZE;
        // A ring has at most 4 GiB.
        let is_valid = packet_size.is_power_of_two()
            && sizes.contains(&packet_size)
            && packets != 1
            && u64::from(packets) * u64::from(packet_size) <= 1 << 32;
        if !is_valid {
            return Err(libc::EINVAL);
        }
        Ok(Settings {
            packet_size,
            packets,
            overwrites: flags & control::OVERWRITE != 0,
            is_monotonic: flags & control::MONOTONIC != 0,
            keep: self.keep.load(Ordering::Relaxed).min(MOST_KEPT),
        })
    }

    /// Sets how buffers are to be made.
    pub(crate) fn set(&self, settings: Settings) {
        self.packet_size.store(settings.packet_size, Ordering::Relaxed);
        self.packets.store(settings.packets, Ordering::Relaxed);
        let overwrite = u32::from(settings.overwrites) * control::OVERWRITE;
        let monotonic = u32::from(settings.is_monotonic) * control::MONOTONIC;
        self.flags.store(overwrite | monotonic, Ordering::Relaxed);
        self.keep.store(settings.keep, Ordering::Relaxed);
    }

    /// The tool that owns the block: its process, and a part of when it started.
    pub(crate) fn tool(&self) -> Tool {
        Tool { pid: self.owner.load(Ordering::Relaxed), start: self.owner_start.load(Ordering::Relaxed) as u32 }
    }

    /// Whether a buffer that was made for a tool under a generation is still read by it.
    pub(crate) fn is_read(&self, tool: Tool, generation: u32) -> bool {
        self.state.load(Ordering::Relaxed) != control::STATE_PROGRAM
            && self.tool() == tool
            && control::is_same_arming(generation, self.generation.load(Ordering::Relaxed))
    }

    /// Copies the folder into `room`, without a NUL.
    pub(crate) fn folder<'a>(&self, room: &'a mut [u8; control::FOLDER_SIZE]) -> Result<&'a [u8], Errno> {
        for (to, from) in room.iter_mut().zip(&self.folder) {
            *to = from.load(Ordering::Relaxed);
        }
        let folder = CStr::from_bytes_until_nul(room).map_err(|_| libc::ENAMETOOLONG)?.to_bytes();
        if folder.first() == Some(&b'/') { Ok(folder) } else { Err(libc::ENOENT) }
    }

    /// Sets the folder; an error if it is too long.
    pub(crate) fn set_folder(&self, folder: &CStr) -> Result<(), Errno> {
        let bytes = folder.to_bytes_with_nul();
        if bytes.len() > self.folder.len() {
            return Err(libc::ENAMETOOLONG);
        }
        for (to, from) in self.folder.iter().zip(bytes) {
            to.store(*from, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Notes a hit that no buffer could take.
    pub(crate) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Where hits that no buffer can take are counted.
    pub(crate) fn lost(&self) -> &AtomicU64 {
        &self.lost
    }

    /// Notes why a buffer could not be made.
    pub(crate) fn note(&self, error: Errno) {
        self.error.store(error as u32, Ordering::Relaxed);
    }
}
