//! The registers and memory of a stopped process, for the resolver's evaluator.

use std::cell::OnceCell;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use nix::libc::user_regs_struct;
use nix::sys::ptrace;
use nix::unistd::Pid;
use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_resolver::location::{Machine, Register};

/// The 16 bytes of each vector register.
type Vectors = Vec<[u8; 16]>;

/// A thread of a process on x86-64, stopped at a site.
pub struct Stopped<'a> {
    pub(super) thread: Pid,
    pub(super) registers: user_regs_struct,
    pub(super) memory: &'a File,
    pub(super) bias: u64,
    /// The size of the thread-local storage block of the image.
    pub(super) thread_local_size: Option<u64>,
    pub(super) vectors: OnceCell<Option<Vectors>>,
}

impl Stopped<'_> {
    /// The low halves of the vector registers.
    fn vectors(&self) -> Option<&Vectors> {
        let read = || {
            let state = ptrace::getregset::<ptrace::regset::NT_PRFPREG>(self.thread).ok()?;
            let register = |words: &[u32]| {
                let mut bytes = [0; 16];
                bytes.chunks_mut(4).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
                bytes
            };
            Some(state.xmm_space.chunks(4).map(register).collect())
        };
        self.vectors.get_or_init(read).as_ref()
    }
}

impl Machine for Stopped<'_> {
    fn register(&self, register: Register) -> Option<Vec<u8>> {
        let all = &self.registers;
        let general = [
            all.rax, all.rdx, all.rcx, all.rbx, all.rsi, all.rdi, all.rbp, all.rsp, all.r8, all.r9, all.r10, all.r11,
            all.r12, all.r13, all.r14, all.r15, all.rip,
        ];
        match register.0 {
            number @ 0..=16 => general.get(usize::from(number)).map(|value| value.to_le_bytes().to_vec()),
            number @ 17..=32 => self.vectors()?.get(usize::from(number - 17)).map(|bytes| bytes.to_vec()),
            49 => Some(all.eflags.to_le_bytes().to_vec()),
            58 => Some(all.fs_base.to_le_bytes().to_vec()),
            59 => Some(all.gs_base.to_le_bytes().to_vec()),
            _ => None,
        }
    }

    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
        // The file offset is signed.
        address.0 < 1 << 63 && self.memory.read_exact_at(into, address.0).is_ok()
    }

    fn bias(&self) -> u64 {
        self.bias
    }

    fn thread_local(&self, offset: u64) -> Option<RuntimeAddress> {
        // Variant 2 of the thread-local storage models: the block of the program ends at the thread
        // pointer.
        let block = self.registers.fs_base.wrapping_sub(self.thread_local_size?);
        Some(RuntimeAddress(block.wrapping_add(offset)))
    }

    fn address_size(&self) -> u8 {
        8
    }

    fn is_big_endian(&self) -> bool {
        false
    }
}
