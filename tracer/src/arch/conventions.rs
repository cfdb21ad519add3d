//! What the kernel, the loader and the C library do in a way of their own on each processor.

use std::fmt::Debug;

use simple_markers_resolver::location::{Processor, Register};

/// What holds on a platform.
pub trait Conventions: Debug + Sync {
    /// The processor, for the names of its registers in the language of `uprobe_events`.
    fn processor(&self) -> Processor;

    /// The machine in the header of an ELF file (`e_machine`).
    fn elf_machine(&self) -> u16;

    /// Where a BPF program at a uprobe finds a register of 8 bytes in its context, by the register's
    /// number in DWARF: an offset in bytes in `bpf_user_pt_regs_t`. `None` if it is not there.
    fn register(&self, register: Register) -> Option<i16>;

    /// How many bytes `bpf_user_pt_regs_t` has.
    fn registers_size(&self) -> u16;

    /// The same as [`Self::register`] for the instruction pointer.
    fn instruction_pointer(&self) -> i16;

    /// The address of the instruction that a return address in memory stands for: a processor may keep a
    /// signature in its highest bits.
    fn code_address(&self, address: u64) -> u64 {
        address
    }

    /// The stack pointer.
    fn stack_pointer(&self) -> Register;

    /// The members that lead from the kernel's `task_struct` to the thread pointer; `None` if it is not
    /// there.
    fn thread_pointer(&self) -> Option<&'static [&'static str]>;

    /// The distance in bytes from the start of an executable's thread-local storage to the thread
    /// pointer, modulo 2^64. `None` if the alignment makes it too large.
    fn thread_local_distance(&self, size: u64, alignment: u64) -> Option<u64>;

    /// What the loader writes to the word with a relocation; `None` for those of other things.
    fn thread_local_slot(&self, relocation: u32) -> Option<ThreadLocalSlot>;

    /// Where the address of a thread's table of blocks is, from the thread pointer on (`tcbhead_t.dtv`
    /// of the GNU C library).
    fn thread_table(&self) -> u64;

    /// What the names of the kernel's functions for system calls begin with, before that of the call. A name that
    /// begins with several of them has the first one.
    fn system_call_prefixes(&self) -> &'static [&'static str];

    /// The name of the GNU C library's loader.
    fn loader(&self) -> &'static [u8];
}

/// What the loader writes to a word of a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadLocalSlot {
    /// The distance from the thread pointer.
    Distance,
    /// The number of the module.
    Module,
}
