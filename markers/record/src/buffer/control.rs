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

/// Offset of the generation, 4 bytes. It changes whenever something is armed, after the rest was
/// written. A thread with a buffer of another generation makes a new one.
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
