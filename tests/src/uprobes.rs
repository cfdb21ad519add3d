//! Uses the kernel's uprobes through tracefs. [`Uprobes::place`] counts how often probes fire.
//! [`Uprobes::instance`] takes exported definitions and returns the kernel's trace.
//!
//! The whole computer has one list of events. The kernel returns it in pieces, and lines are
//! missing if an event is removed between two of them. So every read and change happens under a
//! lock that other threads and test processes also take.
//!
//! Probes that are placed together share one event, because removing an event costs a grace period
//! of the kernel, at least 40 ms.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::fixture;
use crate::watched::remove_instance;

/// The group of the events.
const GROUP: &str = "simple_markers";

/// The mount point of tracefs.
const TRACING: &str = "/sys/kernel/tracing";

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

/// The lock on the list of events, held until this is dropped. A thread must not take it twice.
struct Lock {
    _directory: File,
}

/// Probes that are enabled until this is dropped.
pub struct Placed<'u> {
    uprobes: &'u Uprobes,
    event: String,
    count: usize,
}

/// A separate tracing instance, because others may trace too. Its events are removed when this is
/// dropped.
pub struct Instance {
    at: PathBuf,
    definitions: Vec<String>,
    /// The export names the events, so only one process at a time may define them.
    _lock: Lock,
    uprobes: Uprobes,
}

impl Uprobes {
    /// `None` without the necessary permissions.
    #[must_use]
    pub fn open() -> Option<Self> {
        let is_ours = |at: &Path| fs::OpenOptions::new().append(true).open(at.join("uprobe_events")).is_ok();
        let mount = |at: &Path| Command::new("mount").args(["-t", "tracefs", "tracefs"]).arg(at).output();
        let at = PathBuf::from(TRACING);
        if !at.join("uprobe_events").exists() {
            let _ = mount(&at);
        }
        if is_ours(&at) {
            return Some(Self { at, _mounted: None });
        }
        let folder = tempfile::tempdir().ok()?;
        if !mount(folder.path()).ok()?.status.success() {
            return None;
        }
        let mount = Mount(folder);
        let at = mount.0.path().to_owned();
        is_ours(&at).then_some(Self { at, _mounted: Some(mount) })
    }

    /// Waits until no other thread or process uses the list of events. The root of tracefs is the
    /// same file at every mount point.
    fn lock(&self) -> Lock {
        Lock { _directory: fixture::lock(&self.at) }
    }

    /// Places a probe on each of several distinct offsets in a file. No process may run the file
    /// yet, because only then does the kernel report an error if it refuses a probe.
    ///
    /// # Panics
    ///
    /// The kernel refuses the probes.
    #[must_use]
    pub fn place(&self, program: &Path, offsets: &[u64]) -> Placed<'_> {
        static EVENTS: AtomicU32 = AtomicU32::new(0);
        let number = EVENTS.fetch_add(1, Ordering::Relaxed);
        let event = format!("counted{}_{number}", std::process::id());
        // It is dropped after the lock, so a panic below removes the event.
        let placed = Placed { uprobes: self, event: event.clone(), count: offsets.len() };
        let _lock = self.lock();
        for offset in offsets {
            let definition = format!("p:{GROUP}/{event} {}:{offset:#x}\n", program.display());
            self.write("uprobe_events", &definition).unwrap_or_else(|error| panic!("{definition}: {error}"));
        }
        self.write(&format!("events/{GROUP}/{event}/enable"), "1").expect("the probes can be enabled");
        placed
    }

    /// A tracing instance with this name; `None` if the kernel creates none.
    #[must_use]
    pub fn instance(self, name: &str) -> Option<Instance> {
        let at = self.at.join("instances").join(format!("smark-{name}-{}", std::process::id()));
        let lock = self.lock();
        fs::create_dir(&at).ok()?;
        Some(Instance { at, definitions: Vec::new(), _lock: lock, uprobes: self })
    }

    fn write(&self, file: &str, text: &str) -> std::io::Result<()> {
        fs::OpenOptions::new().append(true).open(self.at.join(file))?.write_all(text.as_bytes())
    }
}

impl Placed<'_> {
    /// How often each probe fired, in the order of the offsets.
    ///
    /// # Panics
    ///
    /// The kernel does not report every probe.
    #[must_use]
    pub fn hits(&self) -> Vec<u64> {
        let _lock = self.uprobes.lock();
        let profile = fs::read_to_string(self.uprobes.at.join("uprobe_profile")).expect("the kernel's counts of hits");
        // `file event hits`, a line for each probe, in order of definition.
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
        let _lock = self.uprobes.lock();
        let _ = self.uprobes.write(&format!("events/{GROUP}/{}/enable", self.event), "0");
        let _ = self.uprobes.write("uprobe_events", &format!("-:{GROUP}/{}\n", self.event));
    }
}

impl Instance {
    /// Writes lines to the kernel unchanged.
    ///
    /// # Panics
    ///
    /// The kernel refuses a line.
    pub fn define(&mut self, text: &str) {
        let events = fs::OpenOptions::new().append(true).open(self.uprobes.at.join("uprobe_events"));
        let mut events = events.expect("uprobe_events");
        self.definitions.extend(text.lines().filter(|line| line.starts_with("p:")).map(str::to_owned));
        // Writes single lines, so that an error names the line. Comments are also sent to the
        // kernel.
        for line in text.lines() {
            events.write_all(format!("{line}\n").as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    /// The lines that define probes.
    #[must_use]
    pub fn definitions(&self) -> &[String] {
        &self.definitions
    }

    /// Enables its events, or disables them.
    ///
    /// # Panics
    ///
    /// The kernel refuses to.
    pub fn enable(&self, enable: bool) {
        for name in self.names() {
            fs::write(self.switch(name), if enable { "1" } else { "0" })
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    /// The trace.
    ///
    /// # Panics
    ///
    /// The trace cannot be read.
    #[must_use]
    pub fn trace(&self) -> String {
        fs::read_to_string(self.at.join("trace")).expect("a trace")
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.iter().map(|line| line[2..].split_whitespace().next().expect("a name"))
    }

    fn switch(&self, name: &str) -> PathBuf {
        self.at.join("events").join(name).join("enable")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        for name in self.names() {
            let _ = fs::write(self.switch(name), "0");
        }
        remove_instance(&self.at);
        for name in self.names() {
            let _ = self.uprobes.write("uprobe_events", &format!("-:{name}\n"));
        }
    }
}
