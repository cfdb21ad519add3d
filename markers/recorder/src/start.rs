//! The start and the end of the program.

use core::ffi::CStr;
use core::fmt::Write as _;

use simple_markers_record::buffer::control::{FOLDER_SIZE, STATE_PROGRAM};

use crate::arming;
use crate::control::{MOST_KEPT, control};
use crate::errors::ArmError;
use crate::process::Process;
use crate::text::Text;
use crate::{probes, saved, sys};
use core::sync::atomic::Ordering;

/// Which probes are armed at the start of the program.
const RECORD: &[u8] = b"SIMPLE_MARKERS_RECORD";

/// The folder of the recording.
const OUTPUT: &[u8] = b"SIMPLE_MARKERS_OUTPUT";

/// How many MiB of the last records of each thread are kept.
const KEEP: &[u8] = b"SIMPLE_MARKERS_KEEP";

/// Runs before `main`. A program without the variable reads its environment and no more.
pub(crate) extern "C" fn start() {
    saved::prepare();
    let Some(patterns) = sys::variable(RECORD) else { return };
    let patterns = text(patterns);
    if patterns.is_empty() || sys::is_privileged() || probes().next().is_none() {
        return;
    }
    let Some(keep) = kept(sys::variable(KEEP).map_or("", text)) else {
        return sys::complain(
            b"simple-markers: nothing is recorded: SIMPLE_MARKERS_KEEP is no number of MiB from 1 to 1048576\n",
        );
    };
    let given = sys::variable(OUTPUT).map(text).filter(|folder| !folder.is_empty());
    let mut folder = Text::<FOLDER_SIZE>::new();
    let named = match given {
        Some(given) => folder.write_str(given),
        None => write!(folder, "simple-markers-{}", sys::getpid()),
    };
    let mut armed = match named {
        Ok(()) => arming::arm_keeping(patterns, string(&folder), keep),
        Err(_) => Err(ArmError::Folder { errno: libc::ENAMETOOLONG }),
    };
    // A program that runs others, which inherit the variables, or another image of this program.
    if armed == Err(ArmError::Folder { errno: libc::EEXIST }) {
        let before = folder.len();
        for number in 1..100 {
            folder.cut(before);
            let named = match (given, number) {
                (Some(_), 1) => write!(folder, "-{}", sys::getpid()),
                (Some(_), _) => write!(folder, "-{}-{number}", sys::getpid()),
                (None, _) => write!(folder, "-{number}"),
            };
            if named.is_err() {
                break;
            }
            armed = arming::arm_keeping(patterns, string(&folder), keep);
            if armed != Err(ArmError::Folder { errno: libc::EEXIST }) {
                break;
            }
        }
    }
    let mut message = Text::<1024>::new();
    // A message that is too long is cut.
    let _ = match armed {
        Ok(0) => writeln!(message, "simple-markers: no probe matches {patterns}"),
        Ok(_) => return,
        Err(error) => writeln!(message, "simple-markers: nothing is recorded in {}: {error}", string(&folder)),
    };
    sys::complain(message.bytes());
}

/// Runs after `main` and `exit`. Files of this thread and of threads that have ended are cut to
/// what was written. Threads that still run go on.
pub(crate) extern "C" fn finish() {
    if control().state.load(Ordering::Acquire) != STATE_PROGRAM {
        return;
    }
    arming::finish_metadata();
    let Some(process) = Process::existing() else { return };
    let _blocked = sys::SignalGuard::new();
    let tid = sys::gettid();
    for slot in process.slots() {
        let is_own = slot.owner.load(Ordering::Acquire) == tid;
        if is_own || process.take_over(slot, tid) {
            // SAFETY: this thread owns it, and no handler can run.
            unsafe { (*slot.writer.get()).finish() };
        }
    }
}

/// How many bytes of the last records are kept; 0 for all, `None` if the variable has no such number.
fn kept(variable: &str) -> Option<u64> {
    let most = MOST_KEPT >> 20;
    match variable {
        "" => Some(0),
        number => {
            number.parse().ok().filter(|mebibytes| (1..=most).contains(mebibytes)).map(|mebibytes: u64| mebibytes << 20)
        }
    }
}

fn text(value: &'static CStr) -> &'static str {
    value.to_str().unwrap_or("")
}

fn string<const SIZE: usize>(text: &Text<SIZE>) -> &str {
    core::str::from_utf8(text.bytes()).unwrap_or("")
}
