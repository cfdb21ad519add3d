//! The frames of the kernel's stack at a hit or during an interval, with the names that `/proc/kallsyms` has, and what
//! they say of how the thread came into the kernel.

use std::fs;
use std::sync::Arc;

use simple_markers_events::{KernelNames, Names as _, Source};
use simple_markers_resolver::address::RuntimeAddress;
use simple_markers_tracer::arch::Platform;
use simple_markers_tracer::frames::KernelFrame;

use crate::console::Console;

/// How a thread came into the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KernelEntry {
    /// By a system call of this name.
    SystemCall(String),
    /// By reading or writing memory that was not present.
    PageFault,
}

/// Functions that only one system call calls, with its name. The function of the call itself may end with a jump to
/// them, and then it is not in the stack.
const CALLED_BY: [(&str, &str); 17] = [
    ("ksys_read", "read"),
    ("ksys_write", "write"),
    ("ksys_pread64", "pread64"),
    ("ksys_pwrite64", "pwrite64"),
    ("ksys_fallocate", "fallocate"),
    ("ksys_sync", "sync"),
    ("ksys_msgrcv", "msgrcv"),
    ("ksys_msgsnd", "msgsnd"),
    ("kernel_wait4", "wait4"),
    ("__sys_connect", "connect"),
    ("__sys_recvfrom", "recvfrom"),
    ("__sys_recvmsg", "recvmsg"),
    ("__sys_recvmmsg", "recvmmsg"),
    ("__sys_sendto", "sendto"),
    ("__sys_sendmsg", "sendmsg"),
    ("__sys_sendmmsg", "sendmmsg"),
    ("__sys_shutdown", "shutdown"),
];

impl KernelEntry {
    /// How it came there with a stack of the kernel, the innermost frame first. `None` if the functions do not say so.
    pub(crate) fn of(frames: &[KernelFrame]) -> Option<Self> {
        let names = || frames.iter().rev().filter_map(KernelFrame::function);
        let prefixes = Platform::HOST.map_or(&[][..], |host| host.conventions().system_call_prefixes());
        let called_by =
            |name: &str| CALLED_BY.into_iter().find(|(function, _)| *function == name).map(|(_, call)| call);
        let call = |name| {
            let own = prefixes.iter().find_map(|prefix| str::strip_prefix(name, prefix));
            own.or_else(|| called_by(name)).map(str::to_owned)
        };
        let fault = || names().any(|name| name == "handle_mm_fault").then_some(Self::PageFault);
        names().find_map(call).map(Self::SystemCall).or_else(fault)
    }
}

/// Names frames of the kernel.
pub(crate) struct KernelFrames {
    names: KernelNames,
    /// How many frames nothing names.
    unnamed: u64,
}

impl KernelFrames {
    pub(crate) fn new() -> Self {
        let names = KernelNames::new(Box::new(|source| match source {
            Source::Symbols => fs::read("/proc/kallsyms").ok(),
            Source::Types | Source::Texts | Source::Variables => None,
        }));
        Self { names, unnamed: 0 }
    }

    /// The frames of a stack, without the kernel's loop over the programs of an event: it is there only if there is more
    /// than one of them.
    pub(crate) fn named(&mut self, addresses: impl Iterator<Item = u64>) -> Vec<KernelFrame> {
        let frame = |address: u64| {
            let symbol = self.names.symbol(address);
            self.unnamed += u64::from(symbol.is_none());
            KernelFrame {
                address: RuntimeAddress(address),
                function: symbol.as_ref().map(|symbol| Arc::from(&*symbol.name)),
                offset: symbol.as_ref().map(|symbol| symbol.offset),
                module: symbol.and_then(|symbol| symbol.module).map(Arc::from),
            }
        };
        let is_loop = |frame: &KernelFrame| frame.function().is_some_and(|name| name.starts_with("__traceiter_"));
        addresses.filter(|address| *address > 0).map(frame).skip_while(is_loop).collect()
    }

    /// Says why frames have no names.
    pub(crate) fn tell(&self, console: &Console) {
        if self.unnamed > 0 {
            let why = match hides_addresses() {
                None => ": /proc/kallsyms cannot be read",
                Some(true) => {
                    ": /proc/kallsyms has no addresses. It takes CAP_SYSLOG, and /proc/sys/kernel/kptr_restrict below 2"
                }
                Some(false) => ": /proc/kallsyms has no symbol there",
            };
            console.note(&format!("{} frames of the kernel have no names{why}", self.unnamed));
        }
    }
}

/// Whether all addresses of the symbols are 0; `None` if nothing can be read.
fn hides_addresses() -> Option<bool> {
    let text = fs::read("/proc/kallsyms").ok().filter(|text| !text.is_empty())?;
    let mut lines = text.split(|byte| *byte == b'\n').take(1000).filter(|line| !line.is_empty());
    Some(lines.all(|line| line.iter().take_while(|byte| **byte != b' ').all(|digit| *digit == b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_call_is_named_by_the_outermost_function() {
        let Some(host) = Platform::HOST else { return };
        let [prefix, ..] = host.conventions().system_call_prefixes() else { panic!("no prefix") };
        let frame = |name: &str| KernelFrame {
            address: RuntimeAddress(1),
            function: Some(name.into()),
            offset: Some(0),
            module: None,
        };
        let entry = |names: &[&str]| KernelEntry::of(&names.iter().copied().map(frame).collect::<Vec<_>>());
        let call = |name: &str| Some(KernelEntry::SystemCall(name.to_owned()));
        let read = format!("{prefix}read");
        assert_eq!(entry(&["schedule", "handle_mm_fault", &read, "entry"]), call("read"));
        assert_eq!(entry(&["schedule", "vfs_read", "ksys_read", "do_syscall"]), call("read"));
        assert_eq!(entry(&["schedule", "handle_mm_fault", "do_user_addr_fault"]), Some(KernelEntry::PageFault));
        assert_eq!(entry(&["schedule", "exit_to_user_mode"]), None);
    }
}
