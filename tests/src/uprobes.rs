//! The kernel's uprobes, by tracefs: [`Uprobes`] puts probes on a program and tells how often each one fired.
//!
//! All probes are those of one event: to take away one event after the other costs a grace period of the kernel for each, 40 ms and more.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The group that the events are in.
const GROUP: &str = "simple_markers";

/// The kernel's tracing directory.
pub struct Uprobes {
    at: PathBuf,
    _mounted: Option<Mount>,
}

struct Mount(tempfile::TempDir);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Probes that are enabled until this is dropped.
pub struct Placed<'u> {
    uprobes: &'u Uprobes,
    event: String,
    count: usize,
}

impl Uprobes {
    /// `None` without the rights to it.
    #[must_use]
    pub fn open() -> Option<Self> {
        let is_ours = |at: &Path| fs::OpenOptions::new().append(true).open(at.join("uprobe_events")).is_ok();
        let at = PathBuf::from("/sys/kernel/tracing");
        if is_ours(&at) {
            return Some(Self { at, _mounted: None });
        }
        let folder = tempfile::tempdir().ok()?;
        let status = Command::new("mount").args(["-t", "tracefs", "tracefs"]).arg(folder.path()).output().ok()?.status;
        if !status.success() {
            return None;
        }
        let mount = Mount(folder);
        let at = mount.0.path().to_owned();
        is_ours(&at).then_some(Self { at, _mounted: Some(mount) })
    }

    /// Puts a probe on each of some offsets in a file, no two of them the same. No process is to run it yet: where the kernel does not take a
    /// probe it says so then, for all of them.
    ///
    /// # Panics
    ///
    /// The kernel takes them not at all.
    #[must_use]
    pub fn place(&self, program: &Path, offsets: &[u64]) -> Placed<'_> {
        static EVENTS: AtomicU32 = AtomicU32::new(0);
        let number = EVENTS.fetch_add(1, Ordering::Relaxed);
        let event = format!("counted{}_{number}", std::process::id());
        let placed = Placed { uprobes: self, event: event.clone(), count: offsets.len() };
        for offset in offsets {
            let definition = format!("p:{GROUP}/{event} {}:{offset:#x}\n", program.display());
            self.write("uprobe_events", &definition).unwrap_or_else(|error| panic!("{definition}: {error}"));
        }
        self.write(&format!("events/{GROUP}/{event}/enable"), "1").expect("the probes can be enabled");
        placed
    }

    fn write(&self, file: &str, text: &str) -> std::io::Result<()> {
        fs::OpenOptions::new().append(true).open(self.at.join(file))?.write_all(text.as_bytes())
    }
}

impl Placed<'_> {
    /// How often each of them fired, in the order of the offsets.
    ///
    /// # Panics
    ///
    /// The kernel does not say it of each.
    #[must_use]
    pub fn hits(&self) -> Vec<u64> {
        let profile = fs::read_to_string(self.uprobes.at.join("uprobe_profile")).expect("the kernel's counts of hits");
        // `file event hits`, a line for each probe, in the order in which they were defined.
        let hits = profile.lines().filter_map(|line| {
            let mut fields = line.split_whitespace().rev();
            let (hits, event) = (fields.next()?, fields.next()?);
            (event == self.event).then(|| hits.parse().unwrap_or_else(|_| panic!("{line}?")))
        });
        let hits: Vec<u64> = hits.collect();
        assert_eq!(hits.len(), self.count, "a count for each probe");
        hits
    }
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        let _ = self.uprobes.write(&format!("events/{GROUP}/{}/enable", self.event), "0");
        let _ = self.uprobes.write("uprobe_events", &format!("-:{GROUP}/{}\n", self.event));
    }
}
