//! The control block of a program: [`SIZE`] bytes in the section [`SECTION`] of each image with a
//! recorder.

/// The section: PROGBITS, writable, aligned to 64 bytes.
pub const SECTION: &str = "__simple_control";

/// Its size.
pub const SIZE: usize = 512;

/// The first bytes.
pub const MAGIC: [u8; 8] = *b"SMCTRL\0\x01";

/// Offset of the state, 4 bytes: one of the `STATE` constants.
pub const STATE: usize = 8;

/// Offset of the process id of the tool that owns the block, 4 bytes.
pub const OWNER: usize = 12;

/// Offset of the start time of this tool, 8 bytes: field 22 of `/proc/PID/stat`.
pub const OWNER_START: usize = 16;

/// Offset of the size of a packet in bytes, 4 bytes: a power of two, [`super::packet::MIN_SIZE`] to
/// [`super::packet::MAX_SIZE`].
pub const PACKET_SIZE: usize = 24;

/// Offset of the number of packets of a ring, 4 bytes: 0 for a growing file, else 2 or more.
pub const PACKETS: usize = 28;

/// Offset of the flags, 4 bytes: [`OVERWRITE`], [`MONOTONIC`].
pub const FLAGS: usize = 32;

/// Offset of the error number of the last buffer that could not be made, 4 bytes; 0 if there is
/// none.
pub const ERROR: usize = 36;

/// Offset of the number of hits that no buffer could take, 8 bytes.
pub const LOST: usize = 40;

/// Offset of the generation, 4 bytes, which changes in two ways.
///
/// When something is armed it becomes [`armed`], after the rest was written. A thread with a buffer
/// of another generation makes a new one.
///
/// When the owner wants to be told of hits it becomes [`asked`]. Each thread that has a ring rings
/// its [bell](super::ring::BELL) once, after its next hit. A thread without one makes it, and the
/// file tells of it. A bell may be that of a hit that was read already, so the owner asks again
/// after each.
pub const GENERATION: usize = 48;

/// Offset of the clock that the recorder takes times from, 4 bytes: one of the `CLOCK` constants of
/// [`super`].
pub const CLOCK: usize = 52;

/// Offset of how many bytes of the last records are kept of each thread, 8 bytes; 0 for all. For growing
/// files only: the oldest of a few is written anew.
pub const KEEP: usize = 56;

/// Offset of the folder of the buffers: absolute, with a NUL.
pub const FOLDER: usize = 64;

/// The room for the folder, with its NUL.
pub const FOLDER_SIZE: usize = SIZE - FOLDER;

/// The part of a generation that changes when something is armed.
const ARMED: u32 = 0xff << 24;

/// The generation that follows when something is armed.
#[must_use]
pub const fn armed(generation: u32) -> u32 {
    generation.wrapping_add(1 << 24) & ARMED | asked(generation) & !ARMED
}

/// The generation that follows when the owner wants to be told of hits.
#[must_use]
pub const fn asked(generation: u32) -> u32 {
    generation & ARMED | generation.wrapping_add(1) & !ARMED
}

/// Whether nothing was armed between two generations.
#[must_use]
pub const fn is_same_arming(one: u32, other: u32) -> bool {
    (one ^ other) & ARMED == 0
}

/// State: nobody has armed a probe.
pub const STATE_FREE: u32 = 0;

/// State: the tool [`OWNER`] has armed probes.
pub const STATE_TOOL: u32 = 1;

/// State: the program itself has armed probes.
pub const STATE_PROGRAM: u32 = 2;

/// Flag: a ring that is full overwrites its oldest packet. Without it new hits are dropped.
pub const OVERWRITE: u32 = 1 << 0;

/// Flag: times are those of `CLOCK_MONOTONIC` even if the counter of the processor could be used.
pub const MONOTONIC: u32 = 1 << 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_change_a_generation() {
        for generation in [0, 1, 0xff_fffe, 0xff_ffff, 0x0100_0000, 0xff00_0000, u32::MAX - 1, u32::MAX] {
            let (armed, asked) = (armed(generation), asked(generation));
            assert!(armed != generation && asked != generation && armed != asked, "{generation:#x}");
            assert!(is_same_arming(generation, asked) && !is_same_arming(generation, armed), "{generation:#x}");
        }
        assert_eq!((armed(u32::MAX), asked(u32::MAX)), (0, 0xff00_0000));
        assert_eq!((armed(0x0100_0005), asked(0x0100_0005)), (0x0200_0006, 0x0100_0006));
    }
}
