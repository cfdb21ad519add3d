//! Arms probes as a tool does, by the control block.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use simple_markers_record::buffer::{NO_ID, control};

use super::probe::Descriptor;

unsafe extern "C" {
    safe static simple_marker_control: [AtomicU8; control::SIZE];
}

fn u32_at(offset: usize) -> &'static AtomicU32 {
    // SAFETY: the block has the number there, aligned.
    unsafe { &*simple_marker_control.as_ptr().add(offset).cast() }
}

fn u64_at(offset: usize) -> &'static AtomicU64 {
    // SAFETY: as above.
    unsafe { &*simple_marker_control.as_ptr().add(offset).cast() }
}

/// Sizes of the buffers of a tool.
#[derive(Clone, Copy)]
pub struct Buffers {
    pub packet_size: u32,
    pub packets: u32,
    pub flags: u32,
}

/// A ring.
pub const RING: Buffers = Buffers { packet_size: 4096, packets: 4, flags: 0 };

/// Sets the folder and the sizes, and arms the probes as 1, 2, ..
pub fn arm(folder: &Path, buffers: Buffers, probes: &[&Descriptor]) {
    let bytes = folder.as_os_str().as_bytes();
    for (to, from) in simple_marker_control[control::FOLDER..].iter().zip(bytes.iter().chain(&[0])) {
        to.store(*from, Ordering::Relaxed);
    }
    u32_at(control::PACKET_SIZE).store(buffers.packet_size, Ordering::Relaxed);
    u32_at(control::PACKETS).store(buffers.packets, Ordering::Relaxed);
    u32_at(control::FLAGS).store(buffers.flags, Ordering::Relaxed);
    u32_at(control::STATE).store(control::STATE_TOOL, Ordering::Relaxed);
    u32_at(control::OWNER).store(std::process::id(), Ordering::Relaxed);
    u64_at(control::OWNER_START).store(start_time(), Ordering::Relaxed);
    let generation = u32_at(control::GENERATION).load(Ordering::Relaxed);
    u32_at(control::GENERATION).store(control::armed(generation), Ordering::Release);
    for (id, probe) in (1..).zip(probes) {
        probe.id.store(id, Ordering::Relaxed);
    }
}

/// Asks to be told of the next hit of each thread.
pub fn ask() {
    let generation = u32_at(control::GENERATION).load(Ordering::Relaxed);
    u32_at(control::GENERATION).store(control::asked(generation), Ordering::Release);
}

/// Makes another process the tool.
pub fn set_owner(pid: u32, start: u64) {
    u32_at(control::OWNER).store(pid, Ordering::Relaxed);
    u64_at(control::OWNER_START).store(start, Ordering::Relaxed);
}

fn start_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap()
}

pub fn disarm(probes: &[&Descriptor]) {
    for probe in probes {
        probe.id.store(0, Ordering::SeqCst);
        let is_handled = !probe.handler.load(Ordering::SeqCst).is_null();
        probe.id.store(if is_handled { NO_ID } else { 0 }, Ordering::SeqCst);
    }
    u32_at(control::STATE).store(control::STATE_FREE, Ordering::Relaxed);
}

/// Hits without a buffer.
pub fn lost() -> u64 {
    u64_at(control::LOST).load(Ordering::Relaxed)
}

/// The error of the last buffer that could not be made.
pub fn error() -> u32 {
    u32_at(control::ERROR).load(Ordering::Relaxed)
}
