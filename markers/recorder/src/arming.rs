//! Arming probes from inside the program: the folder, its metadata, and the switches.

use core::fmt::Write as _;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use simple_markers_record::buffer::control::{FOLDER_SIZE, STATE_FREE, STATE_PROGRAM, STATE_TOOL, armed};
use simple_markers_record::buffer::{CLOCK_COUNTER, packet};

use crate::clock::{self, Moment};
use crate::control::{Settings, control};
use crate::errors::ArmError;
use crate::glob;
use crate::metadata::{self, Recording};
use crate::probe::probes;
use crate::sys::{self, Errno};
use crate::text::Text;

/// Bytes of a packet of a growing file, where it is not cut by the end of what is mapped.
const PACKET_SIZE: u32 = 64 << 10;

const _: () = assert!(PACKET_SIZE >= packet::MIN_SIZE);

/// Arms the probes of this program or shared library whose names match one of the patterns, and
/// returns how many match. Hits are recorded in the folder, in the Common Trace Format 1.8.
///
/// Patterns are separated by commas; `*` is any text and `?` one character. The folder is made; a
/// relative path is one in the current folder. If the program records already, more probes can be
/// armed in the same folder. If no name matches, nothing is made.
///
/// # Errors
///
/// A tool has armed probes, other probes are recorded in another folder, or the folder cannot be
/// made.
pub fn arm(patterns: &str, folder: &str) -> Result<usize, ArmError> {
    arm_keeping(patterns, folder, 0)
}

/// The same, but only the last records are kept, as by a flight recorder: at least the last `keep` bytes
/// of each thread, and at most a third more and 1 MiB. At 0 all are kept. If the program records already, that
/// does not change.
///
/// # Errors
///
/// As for [`arm`].
pub fn arm_keeping(patterns: &str, folder: &str, keep: u64) -> Result<usize, ArmError> {
    let _lock = Lock::take()?;
    let matching = probes().filter(|probe| glob::matches(patterns, probe.name())).count();
    if matching == 0 {
        return Ok(0);
    }
    let mut path = absolute(folder).map_err(|errno| ArmError::Folder { errno })?;
    match control().state.load(Ordering::Acquire) {
        STATE_PROGRAM if !is_folder(&path) => return Err(ArmError::OtherFolder),
        STATE_PROGRAM => {}
        STATE_TOOL if tool_lives() => {
            return Err(ArmError::Tool { pid: control().owner.load(Ordering::Relaxed) });
        }
        _ => begin(&mut path, keep).map_err(|errno| ArmError::Folder { errno })?,
    }
    for probe in probes().filter(|probe| glob::matches(patterns, probe.name())) {
        probe.set_recorded(true);
    }
    Ok(matching)
}

/// Disarms the probes whose names match one of the patterns, and returns how many of them were
/// armed. What was recorded stays in the folder.
///
/// # Errors
///
/// A tool has armed them.
pub fn disarm(patterns: &str) -> Result<usize, ArmError> {
    let _lock = Lock::take()?;
    if control().state.load(Ordering::Acquire) == STATE_TOOL && tool_lives() {
        return Err(ArmError::Tool { pid: control().owner.load(Ordering::Relaxed) });
    }
    let mut disarmed = 0;
    for probe in probes().filter(|probe| probe.is_recorded() && glob::matches(patterns, probe.name())) {
        probe.set_recorded(false);
        disarmed += 1;
    }
    if !probes().any(|probe| probe.is_recorded()) {
        finish_metadata();
        control().state.store(STATE_FREE, Ordering::Release);
    }
    Ok(disarmed)
}

/// Only one thread at a time arms. It does not wait: it may be in a signal handler.
pub(crate) struct Lock;

/// The process that arms. A child of `fork` has none of its threads.
static LOCKED: AtomicU32 = AtomicU32::new(0);

impl Lock {
    pub(crate) fn take() -> Result<Self, ArmError> {
        let pid = sys::getpid();
        let before = LOCKED.load(Ordering::Relaxed);
        if before == pid {
            return Err(ArmError::Busy);
        }
        let taken = LOCKED.compare_exchange(before, pid, Ordering::Acquire, Ordering::Relaxed);
        taken.map(|_| Self).map_err(|_| ArmError::Busy)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        LOCKED.store(0, Ordering::Release);
    }
}

/// A path with room for the names of files.
type Folder = Text<{ FOLDER_SIZE + 32 }>;

fn absolute(folder: &str) -> Result<Folder, Errno> {
    let mut path = Folder::new();
    if !folder.starts_with('/') {
        let mut room = [0; FOLDER_SIZE];
        path.push(sys::current_folder(&mut room)?)?;
        path.push(b"/")?;
    }
    path.push(folder.as_bytes())?;
    if path.len() >= FOLDER_SIZE { Err(libc::ENAMETOOLONG) } else { Ok(path) }
}

/// Whether it is the folder of the control block.
fn is_folder(path: &Folder) -> bool {
    let mut room = [0; FOLDER_SIZE];
    control().folder(&mut room).is_ok_and(|folder| folder == path.bytes())
}

/// The process that recorded in the folder of the control block, and when it began.
static RECORDER: AtomicU32 = AtomicU32::new(0);
static BEGAN: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static RATE: AtomicU64 = AtomicU64::new(0);

/// Makes the folder, and sets the control block for growing files.
fn begin(path: &mut Folder, keep: u64) -> Result<(), Errno> {
    let is_ours = RECORDER.load(Ordering::Relaxed) == sys::getpid() && is_folder(path);
    match sys::make_folder(path.as_c_str()?) {
        Err(libc::EEXIST) if is_ours => {}
        result => result?,
    }
    // A tool that has ended may have left numbers of its own.
    probes().for_each(|probe| probe.set_recorded(false));
    let clock = clock::choose(false);
    let rate = if clock == CLOCK_COUNTER { clock::rate() } else { 1_000_000_000 };
    let moment = Moment::now();
    for (to, from) in BEGAN.iter().zip([moment.counter, moment.monotonic, moment.real]) {
        to.store(from, Ordering::Relaxed);
    }
    RATE.store(rate, Ordering::Relaxed);
    write_metadata(path, &Recording { clock, rate, moment })?;
    control().set(Settings { packet_size: PACKET_SIZE, packets: 0, overwrites: false, is_monotonic: false, keep });
    control().set_folder(path.as_c_str()?)?;
    control().state.store(STATE_PROGRAM, Ordering::Release);
    let generation = control().generation.load(Ordering::Relaxed);
    control().generation.store(armed(generation), Ordering::Release);
    RECORDER.store(sys::getpid(), Ordering::Relaxed);
    Ok(())
}

fn write_metadata(path: &Folder, recording: &Recording) -> Result<(), Errno> {
    let (mut hidden, mut name) = (Folder::new(), Folder::new());
    let make = |to: &mut Folder, name: &str| {
        to.push(path.bytes())?;
        to.write_str(name).map_err(|_| libc::ENAMETOOLONG)
    };
    make(&mut hidden, "/.metadata")?;
    make(&mut name, "/metadata")?;
    metadata::write(hidden.as_c_str()?, name.as_c_str()?, recording)
}

/// Writes the metadata again, with the rate of the counter since the start. In a second it is
/// measured better than the kernel knows it.
pub(crate) fn finish_metadata() {
    const LEAST: u64 = 1_000_000_000;
    let is_ours =
        control().state.load(Ordering::Acquire) == STATE_PROGRAM && RECORDER.load(Ordering::Relaxed) == sys::getpid();
    let clock = clock::choose(false);
    if !is_ours || clock != CLOCK_COUNTER {
        return;
    }
    let [counter, monotonic, real] = [0, 1, 2].map(|part: usize| BEGAN[part].load(Ordering::Relaxed));
    let (moment, now) = (Moment { counter, monotonic, real }, Moment::now());
    if now.monotonic.saturating_sub(monotonic) < LEAST {
        return;
    }
    let rate = moment.rate_to(now).unwrap_or(RATE.load(Ordering::Relaxed));
    let mut room = [0; FOLDER_SIZE];
    let mut path = Folder::new();
    if control().folder(&mut room).and_then(|folder| path.push(folder)).is_ok() {
        // Without it the first metadata stays.
        let _ = write_metadata(&path, &Recording { clock, rate, moment });
    }
}

/// Whether the tool that owns the control block runs.
fn tool_lives() -> bool {
    let start = sys::start_time(control().owner.load(Ordering::Relaxed));
    start == Some(control().owner_start.load(Ordering::Relaxed))
}
