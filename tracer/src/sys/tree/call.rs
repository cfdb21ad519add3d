//! The system calls of a loader that maps libraries.

use std::fs::File;
use std::ops::Range;

use crate::sys::mapped::MappedFile;
use crate::sys::processor;

/// A system call of a thread that stands still before it or behind it.
pub(super) struct Call {
    /// The address of the next instruction.
    next: u64,
    /// The number and the arguments; `None` behind it.
    entered: Option<(u64, [u64; 6])>,
}

/// `struct ptrace_syscall_info`.
#[repr(C)]
#[derive(Default)]
struct Info {
    op: u8,
    padding: [u8; 3],
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    /// The number and the arguments, or the result.
    words: [u64; 7],
    more: [u64; 2],
}

const PTRACE_GET_SYSCALL_INFO: libc::c_uint = 0x420e;
const ENTRY: u8 = 1;
const EXIT: u8 = 2;

impl Call {
    /// `None` if the kernel does not tell, or the program is of another architecture.
    pub(super) fn of(pid: libc::pid_t) -> Option<Self> {
        let mut info = Info::default();
        // SAFETY: the kernel fills at most so many bytes.
        let size = unsafe { libc::ptrace(PTRACE_GET_SYSCALL_INFO, pid, size_of::<Info>(), &raw mut info) };
        if size <= 0 || info.arch != processor::ARCHITECTURE {
            return None;
        }
        let entered = match info.op {
            ENTRY => {
                let [number, arguments @ ..] = info.words;
                Some((number, arguments))
            }
            EXIT => None,
            _ => return None,
        };
        Some(Self { next: info.instruction_pointer, entered })
    }

    /// Whether a loader makes it to map libraries. That of musl is also the C library of the program.
    pub(super) fn is_of_loader(&self, code: &[Range<u64>]) -> bool {
        let is_its = code.iter().any(|range| range.contains(&self.next));
        is_its && self.entered.is_none_or(|(number, _)| processor::LOADING.iter().any(|known| *known as u64 == number))
    }

    /// The file that it maps executable.
    pub(super) fn maps(&self, pid: libc::pid_t) -> Option<MappedFile> {
        let (number, [_, _, protection, _, descriptor, _]) = self.entered?;
        if number != libc::SYS_mmap as u64 || protection & libc::PROT_EXEC as u64 == 0 {
            return None;
        }
        // The kernel looks at 4 bytes of it.
        let descriptor = descriptor as i32;
        let link = format!("/proc/{pid}/fd/{descriptor}");
        if descriptor < 0 || !std::fs::metadata(&link).ok()?.is_file() {
            return None;
        }
        let path = std::fs::read_link(&link).ok()?;
        MappedFile::opened(pid.unsigned_abs(), path, File::open(link).ok()?).ok()
    }
}
