//! What this machine is called, and its clocks.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use simple_markers_tracer::sys;

/// The name of the machine; `None` if the kernel does not say it.
pub(crate) fn host() -> Option<String> {
    read("hostname")
}

/// What tells apart two boots of machines; `None` if the kernel does not say it.
pub(crate) fn boot() -> Option<String> {
    read("random/boot_id")
}

/// The time in ns since the start of 1970 at which the clock of the hits was 0.
pub(crate) fn clock_offset() -> u64 {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(epoch.as_nanos()).unwrap_or(u64::MAX).saturating_sub(sys::now())
}

fn read(name: &str) -> Option<String> {
    let text = fs::read_to_string(Path::new("/proc/sys/kernel").join(name)).ok()?;
    Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
}
