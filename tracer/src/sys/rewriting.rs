//! Which no-operations this kernel rewrites under a uprobe: tried on instructions of our own, because
//! distributors change kernels without changing the version.

use std::ffi::CString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::OnceLock;

use simple_markers_resolver::uprobe_rules::{LinuxVersion, UprobeRules};

use super::events::{self, Attributes};
use super::mapped;
use super::processor::no_operations;
use super::uprobes;

/// How often each instruction runs. The kernel rewrites it at the first hit.
const TIMES: u64 = 3;
/// The most bytes that a rewritten instruction changes.
const CODE: usize = 10;

/// The kernel that runs: by its version, and by what it does with two no-operations. These are tried
/// when they are first asked for, which takes some 30 ms (`examples/rules.rs`).
#[derive(Debug)]
pub struct RunningKernel {
    version: LinuxVersion,
    rewrites_five: OnceLock<bool>,
    rewrites_ten: OnceLock<bool>,
}

impl RunningKernel {
    /// This kernel. If it does not tell its version, that counts as the oldest.
    #[must_use]
    pub fn find() -> Self {
        let version = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok().and_then(|text| text.parse().ok());
        Self { version: version.unwrap_or_default(), rewrites_five: OnceLock::new(), rewrites_ten: OnceLock::new() }
    }
}

impl UprobeRules for RunningKernel {
    fn emulates_long_nops(&self) -> bool {
        self.version.emulates_long_nops()
    }

    /// By the version alone if it cannot be tried.
    fn rewrites_five_byte_nops(&self) -> bool {
        let tried = || no_operations().and_then(|[five, _]| is_rewritten(five));
        *self.rewrites_five.get_or_init(|| tried().unwrap_or_else(|| self.version.rewrites_five_byte_nops()))
    }

    /// Older versions are not tried: to refuse the probe takes them 150 ms, and it is not needed there.
    fn rewrites_ten_byte_nops(&self) -> bool {
        let tried = || no_operations().is_some_and(|[_, ten]| is_rewritten(ten) == Some(true));
        self.version.rewrites_ten_byte_nops() && *self.rewrites_ten.get_or_init(tried)
    }

    fn emulates_fixed_size_nops(&self) -> bool {
        self.version.emulates_fixed_size_nops()
    }
}

/// Whether the kernel rewrites the first instruction of a function, and the probe there sees all hits. `None`
/// if that cannot be tried.
fn is_rewritten(function: unsafe extern "C" fn()) -> Option<bool> {
    let of = uprobes::event_type()?;
    let address = function as usize as u64;
    let region = mapped::own_region(address)?;
    let offset = region.offset_of(address)?;
    let path = CString::new(region.name.as_os_str().as_bytes()).ok()?;
    // SAFETY: each function is at least so long.
    let code = || unsafe { (function as *const [u8; CODE]).read_volatile() };
    let before = code();
    let event = match events::open(&Attributes::new(of, 0, 0).at(path.as_ptr() as u64, offset), 0, -1) {
        Ok(event) => event,
        Err(why) => return (!why.is_permission()).then_some(false),
    };
    for _ in 0..TIMES {
        // SAFETY: the function is a no-operation and returns.
        unsafe { function() };
    }
    let after = code();
    let mut event = File::from(event);
    let hits = count(&mut event);
    // The kernel takes some 70 ms to remove it.
    std::thread::spawn(move || drop(event));
    // The first byte is that of the breakpoint, if the kernel leaves the rest alone.
    Some(hits? == TIMES && after[1..] != before[1..])
}

/// What an event has counted.
fn count(event: &mut File) -> Option<u64> {
    let mut count = [0; 8];
    event.read_exact(&mut count).ok()?;
    Some(u64::from_ne_bytes(count))
}
