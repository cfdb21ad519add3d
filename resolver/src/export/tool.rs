//! The tools whose limits leave something out.

/// A tool, or a kind of tools, whose limits are the reason that something is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tool {
    /// The kernel's uprobes.
    Kernel,
    /// perf.
    Perf,
    /// bpftrace.
    Bpftrace,
    /// SystemTap.
    SystemTap,
    /// gdb.
    Gdb,
    /// Whatever reads SDT notes.
    SdtReaders,
}
