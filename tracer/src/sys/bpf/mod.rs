//! The system call `bpf(2)`: programs here, `map.rs` has the maps, and `link.rs` attaches programs.

mod call;
mod link;
mod map;

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use self::call::{TRACE_ITER, TRACE_UPROBE_MULTI};
use super::error::{Error, Step};

pub(super) use call::{bpf, open};
pub(super) use link::{
    At, LINK_CREATE, attach_many, attach_tracepoint, check_attach, filters_processes, link_iterator, run_iterator,
};
pub(super) use map::{ALL, KernelMap, MapType, possible_cpus, words};

const PROG_LOAD: libc::c_int = 5;

const PROG_TYPE_KPROBE: u32 = 2;
const PROG_TYPE_TRACEPOINT: u32 = 5;
const PROG_TYPE_PERF_EVENT: u32 = 7;
const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
const PROG_TYPE_TRACING: u32 = 26;
const TRACE_RAW_TP: u32 = 23;
const F_SLEEPABLE: u32 = 1 << 4;

/// The functions that the programs call are for programs with such a licence.
const LICENCE: &CStr = c"Dual MIT/GPL";

#[repr(C)]
#[derive(Default)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    prog_name: [u8; 16],
    prog_ifindex: u32,
    expected_attach_type: u32,
    prog_btf_fd: u32,
    func_info_rec_size: u32,
    func_info: u64,
    func_info_cnt: u32,
    line_info_rec_size: u32,
    line_info: u64,
    line_info_cnt: u32,
    attach_btf_id: u32,
}

/// The kind of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It runs at a uprobe that is an event of perf.
    Uprobe {
        /// Whether it may sleep.
        is_sleepable: bool,
    },
    /// It runs at many uprobes, which one link sets.
    Uprobes {
        /// Whether it may sleep.
        is_sleepable: bool,
    },
    /// It runs at a tracepoint of the kernel.
    Tracepoint,
    /// It runs at an event of the kernel, and gets its record.
    Event,
    /// It runs at the samples of an event of perf.
    Sample,
    /// The same, and the verifier knows the types of the arguments.
    TypedTracepoint {
        /// The number of the `typedef` that describes the arguments.
        arguments: u32,
    },
    /// It visits the objects of a kind.
    Iterator {
        /// The number of the function that describes its arguments.
        arguments: u32,
    },
}

/// The size of the buffer for what the verifier says.
const LOG: usize = 1 << 16;

/// Loads a program.
pub(super) fn load(instructions: &[u8], kind: Kind) -> Result<OwnedFd, Error> {
    let mut name = [0; 16];
    name.iter_mut().zip(b"smark").for_each(|(to, from)| *to = *from);
    let (prog_type, expected_attach_type, attach_btf_id) = match kind {
        Kind::Uprobe { .. } => (PROG_TYPE_KPROBE, 0, 0),
        Kind::Uprobes { .. } => (PROG_TYPE_KPROBE, TRACE_UPROBE_MULTI, 0),
        Kind::Tracepoint => (PROG_TYPE_RAW_TRACEPOINT, 0, 0),
        Kind::Event => (PROG_TYPE_TRACEPOINT, 0, 0),
        Kind::Sample => (PROG_TYPE_PERF_EVENT, 0, 0),
        Kind::TypedTracepoint { arguments } => (PROG_TYPE_TRACING, TRACE_RAW_TP, arguments),
        Kind::Iterator { arguments } => (PROG_TYPE_TRACING, TRACE_ITER, arguments),
    };
    let is_sleepable = matches!(kind, Kind::Uprobe { is_sleepable: true } | Kind::Uprobes { is_sleepable: true });
    let prog_flags = if is_sleepable { F_SLEEPABLE } else { 0 };
    let mut attributes = ProgLoad {
        prog_type,
        insn_cnt: (instructions.len() / 8) as u32,
        insns: instructions.as_ptr() as u64,
        license: LICENCE.as_ptr() as u64,
        prog_flags,
        prog_name: name,
        expected_attach_type,
        attach_btf_id,
        ..ProgLoad::default()
    };
    let why = match open(PROG_LOAD, &mut attributes) {
        Ok(program) => return Ok(program),
        Err(why) => why,
    };
    if why.raw_os_error() == Some(libc::EPERM) {
        return Err(Error::new(Step::Program, &why));
    }
    // Again, to hear why.
    let mut log = vec![0u8; LOG];
    (attributes.log_level, attributes.log_size, attributes.log_buf) = (1, LOG as u32, log.as_mut_ptr() as u64);
    if let Ok(program) = open(PROG_LOAD, &mut attributes) {
        return Ok(program);
    }
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(0);
    let log = String::from_utf8_lossy(log.get(..end).unwrap_or_default()).into_owned();
    Err(Error::new(Step::Program, &why).with_log(log))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    static SIGNALS: AtomicU64 = AtomicU64::new(0);

    extern "C" fn count(_: libc::c_int) {
        SIGNALS.fetch_add(1, Ordering::Relaxed);
    }

    /// 8,000 times `r0 = 0`, and `exit`: the kernel checks it for a while.
    fn long() -> Vec<u8> {
        let mut code = [0xb7, 0, 0, 0, 0, 0, 0, 0].repeat(8000);
        code.extend([0x95, 0, 0, 0, 0, 0, 0, 0]);
        code
    }

    #[test]
    fn signals_do_not_keep_a_program_from_being_loaded() {
        let code = long();
        if let Err(why) = load(&code, Kind::Tracepoint) {
            assert!(why.is_permission(), "{why}");
            return println!("SKIPPED: {why}");
        }
        let handler: extern "C" fn(libc::c_int) = count;
        // SAFETY: the handler only adds to a number. The thread lives until the other one has ended.
        let this = unsafe {
            libc::signal(libc::SIGURG, handler as libc::sighandler_t);
            libc::pthread_self()
        };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // SAFETY: as above.
                    unsafe { libc::pthread_kill(this, libc::SIGURG) };
                    std::thread::sleep(Duration::from_micros(20));
                }
            });
            let (since, mut results) = (Instant::now(), Vec::new());
            while results.len() < 50 || SIGNALS.load(Ordering::Relaxed) < 50 && since.elapsed().as_secs() < 20 {
                results.push(load(&code, Kind::Tracepoint).map(drop));
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(results.iter().all(Result::is_ok), "{results:?}");
        });
        assert!(SIGNALS.load(Ordering::Relaxed) >= 50);
    }
}
