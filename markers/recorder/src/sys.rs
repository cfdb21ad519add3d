//! The system calls of the recorder. They leave `errno` alone, so a hit does not disturb the code
//! around it. All but [`now`] are safe in signal handlers, before and after anything else.

use core::arch::asm;
use core::ffi::CStr;
use core::fmt::Write as _;
use core::ptr::null_mut;

use crate::file::Text;
pub(crate) use file::{File, make_hole, make_present};

mod file;

/// The number of an error, as in `errno`.
pub(crate) type Errno = i32;

/// A system call.
///
/// # Safety
///
/// As the system call says.
unsafe fn call(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    let result: isize;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the kernel keeps all registers but rax, rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) { Err(-result as Errno) } else { Ok(result as usize) }
}

/// The same for a call that only takes numbers, or whose pointers are checked by the kernel.
fn plain(number: i64, arguments: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: callers pass numbers, and pointers to memory that they borrow.
    unsafe { call(number, arguments) }
}

/// The CPU that the thread runs on; `None` where the kernel does not say.
pub(crate) fn cpu() -> Option<u32> {
    let mut cpu = 0u32;
    plain(libc::SYS_getcpu, [&raw mut cpu as usize, 0, 0, 0, 0, 0]).ok().map(|_| cpu)
}

/// When a process was started: field 22 of `/proc/PID/stat`; `None` if it does not run.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    let mut path = Text::<32>::new();
    write!(path, "/proc/{pid}/stat").ok()?;
    let file = File::open(path.as_c_str().ok()?, libc::O_RDONLY).ok()?;
    let mut room = [0u8; 1024];
    let size = file.read(&mut room).ok()?;
    let stat = core::str::from_utf8(room.get(..size)?).ok()?;
    // The name in parentheses can have spaces; field 3 follows it.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
}

/// Repeats a call that a signal interrupted.
fn retried(mut call: impl FnMut() -> Result<usize, Errno>) -> Result<usize, Errno> {
    loop {
        match call() {
            Err(libc::EINTR) => {}
            result => return result,
        }
    }
}

/// The id of the process.
pub(crate) fn getpid() -> u32 {
    plain(libc::SYS_getpid, [0; 6]).unwrap_or(0) as u32
}

/// The id of the thread.
pub(crate) fn gettid() -> u32 {
    plain(libc::SYS_gettid, [0; 6]).unwrap_or(0) as u32
}

/// Whether the thread is one of the process.
pub(crate) fn has_thread(pid: u32, tid: u32) -> bool {
    plain(libc::SYS_tgkill, [pid as usize, tid as usize, 0, 0, 0, 0]) != Err(libc::ESRCH)
}

/// Whether the process runs in the memory of its parent, after `vfork`. If the kernel does not say:
/// no.
pub(crate) fn shares_memory_with_parent() -> bool {
    const KCMP_VM: usize = 1;
    let parent = plain(libc::SYS_getppid, [0; 6]).unwrap_or(0);
    parent != 0 && plain(libc::SYS_kcmp, [getpid() as usize, parent, KCMP_VM, 0, 0, 0]) == Ok(0)
}

/// Blocks all signals while it exists.
pub(crate) struct Blocked {
    before: u64,
}

impl Blocked {
    pub(crate) fn new() -> Self {
        let (all, mut before) = (u64::MAX, 0u64);
        let arguments = [libc::SIG_SETMASK as usize, &raw const all as usize, &raw mut before as usize, 8, 0, 0];
        // It fails for no arguments like these.
        let _ = plain(libc::SYS_rt_sigprocmask, arguments);
        Self { before }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let arguments = [libc::SIG_SETMASK as usize, &raw const self.before as usize, 0, 8, 0, 0];
        let _ = plain(libc::SYS_rt_sigprocmask, arguments);
    }
}

/// Removes a mapping.
///
/// # Safety
///
/// Nothing uses it.
pub(crate) unsafe fn unmap(at: *mut u8, size: usize) {
    // SAFETY: as the caller says.
    let _ = unsafe { call(libc::SYS_munmap, [at as usize, size, 0, 0, 0, 0]) };
}

/// Memory of zeros.
pub(crate) fn memory(size: usize) -> Result<usize, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: the kernel chooses a free place.
    unsafe { call(libc::SYS_mmap, [0, size, protection, flags, usize::MAX, 0]) }
}

/// Calls a function on a stack of its own, since the stack of a signal handler may have no room.
///
/// # Errors
///
/// There is no memory; the function was not called.
///
/// # Safety
///
/// The function may be called with `argument`.
pub(crate) unsafe fn on_own_stack<T>(function: unsafe extern "C" fn(*mut T), argument: *mut T) -> Result<(), Errno> {
    const SIZE: usize = 64 << 10;
    let stack = memory(SIZE)?;
    // SAFETY: as the caller says. The function keeps r12 and returns. The end of the stack is
    // aligned as for any call.
    unsafe {
        asm!(
            "xchg rsp, r12",
            "call {function}",
            "mov rsp, r12",
            function = in(reg) function,
            inout("r12") stack + SIZE => _,
            in("rdi") argument,
            clobber_abi("C"),
        );
        unmap(stack as *mut u8, SIZE);
    }
    Ok(())
}

/// Memory of zeros that is zeros again in a child.
pub(crate) fn private_memory(size: usize) -> Result<*mut u8, Errno> {
    let at = memory(size)?;
    match plain(libc::SYS_madvise, [at, size, libc::MADV_WIPEONFORK as usize, 0, 0, 0]) {
        Ok(_) => Ok(at as *mut u8),
        Err(error) => {
            // SAFETY: nobody else knows it.
            unsafe { unmap(at as *mut u8, size) };
            Err(error)
        }
    }
}

/// Removes a file; that it is missing is no error.
pub(crate) fn remove(path: &CStr) {
    let _ = plain(libc::SYS_unlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0]);
}

/// Gives a file another name, and replaces what has that name.
pub(crate) fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    let here = libc::AT_FDCWD as usize;
    plain(libc::SYS_renameat, [here, from.as_ptr() as usize, here, to.as_ptr() as usize, 0, 0]).map(drop)
}

/// Makes a folder that only this user can enter.
pub(crate) fn make_folder(path: &CStr) -> Result<(), Errno> {
    plain(libc::SYS_mkdirat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0o700, 0, 0, 0]).map(drop)
}

/// The current folder without a NUL, in `room`.
pub(crate) fn current_folder(room: &mut [u8]) -> Result<&[u8], Errno> {
    let size = plain(libc::SYS_getcwd, [room.as_mut_ptr() as usize, room.len(), 0, 0, 0, 0])?;
    room.get(..size.saturating_sub(1)).ok_or(libc::ENAMETOOLONG)
}

/// The largest file that the process may write, in bytes.
pub(crate) fn largest_file() -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: u64::MAX, rlim_max: u64::MAX };
    let arguments = [0, libc::RLIMIT_FSIZE as usize, 0, &raw mut limit as usize, 0, 0];
    let _ = plain(libc::SYS_prlimit64, arguments);
    limit.rlim_cur
}

/// Registers memory for restartable sequences, of which the kernel then knows for this thread.
///
/// # Safety
///
/// `area` has 32 bytes, aligned to 32, and lives as long as the thread.
pub(crate) unsafe fn register_rseq(area: *mut u8, signature: u32) -> Result<(), Errno> {
    // SAFETY: as the caller says.
    unsafe { call(libc::SYS_rseq, [area as usize, 32, 0, signature as usize, 0, 0]) }.map(drop)
}

/// A time of a clock of the system in ns.
pub(crate) fn now(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time. It has a fast way without a system call; its clocks exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// The `errno` of this thread.
pub(crate) fn errno() -> Errno {
    // SAFETY: it is a variable of the thread.
    unsafe { *libc::__errno_location() }
}

/// Sets the `errno` of this thread.
pub(crate) fn set_errno(errno: Errno) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Sleeps.
pub(crate) fn sleep(ns: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: ns };
    let _ = plain(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0, 0]);
}

/// Writes bytes to the standard error.
pub(crate) fn complain(bytes: &[u8]) {
    let _ = plain(libc::SYS_write, [2, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]);
}

/// The first page of a new event of perf that counts nothing; it says how times are computed.
pub(crate) struct PerfPage {
    at: *mut u8,
}

impl PerfPage {
    const SIZE: usize = 4096;

    /// Opens the event; an error where perf is not allowed.
    pub(crate) fn open() -> Result<Self, Errno> {
        const PERF_TYPE_SOFTWARE: u32 = 1;
        const PERF_COUNT_SW_DUMMY: u64 = 9;
        const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
        const PERF_FLAG_FD_CLOEXEC: usize = 8;
        // struct perf_event_attr: type and size, config, .., flags at 40.
        let mut attributes = [0u64; 14];
        attributes[0] = u64::from(PERF_TYPE_SOFTWARE) | 112 << 32;
        attributes[1] = PERF_COUNT_SW_DUMMY;
        attributes[5] = EXCLUDE_KERNEL_AND_HYPERVISOR;
        let none = usize::MAX;
        let arguments = [attributes.as_ptr() as usize, 0, none, none, PERF_FLAG_FD_CLOEXEC, 0];
        let file = File::new(plain(libc::SYS_perf_event_open, arguments)?);
        let arguments = [0, Self::SIZE, libc::PROT_READ as usize, libc::MAP_SHARED as usize, file.number(), 0];
        // SAFETY: the kernel chooses a free place.
        let at = unsafe { call(libc::SYS_mmap, arguments) }?;
        Ok(Self { at: at as *mut u8 })
    }

    /// A word of the page.
    pub(crate) fn word(&self, offset: usize) -> u64 {
        // SAFETY: the page has all offsets that are used, and the kernel may change it.
        unsafe { self.at.add(offset & (Self::SIZE - 8)).cast::<u64>().read_volatile() }
    }
}

impl Drop for PerfPage {
    fn drop(&mut self) {
        // SAFETY: nothing else uses it.
        unsafe { unmap(self.at, Self::SIZE) };
    }
}

/// Whether the program has rights that its caller may not have, as after `setuid`. Then the
/// environment is not to be trusted.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: it reads what the kernel gave the program.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Where the program's own headers are in memory.
pub(crate) fn program_headers() -> usize {
    // SAFETY: it reads what the kernel gave the program.
    unsafe { libc::getauxval(libc::AT_PHDR) as usize }
}

/// The variable of the environment with this name, without `=`.
///
/// Only for the start of a program, before it has threads.
pub(crate) fn variable(name: &[u8]) -> Option<&'static CStr> {
    unsafe extern "C" {
        static environ: *const *const core::ffi::c_char;
    }
    // SAFETY: the C library has set it before it runs the functions of `.init_array`.
    let mut entry = unsafe { environ };
    if entry.is_null() {
        return None;
    }
    loop {
        // SAFETY: the list ends with a null pointer, and its entries are strings that nobody
        // changes at the start of a program.
        let text = unsafe {
            if (*entry).is_null() {
                return None;
            }
            CStr::from_ptr(*entry)
        };
        let value = text.to_bytes_with_nul().strip_prefix(name).and_then(|rest| rest.strip_prefix(b"="));
        if let Some(value) = value {
            return CStr::from_bytes_with_nul(value).ok();
        }
        // SAFETY: it is not the end of the list.
        entry = unsafe { entry.add(1) };
    }
}

/// No memory.
pub(crate) const NOWHERE: *mut u8 = null_mut();
