//! The kernel's uprobes, by tracefs. All that the tests do there goes through [`Uprobes`]: [`Uprobes::place`] counts how often each of some
//! probes fires, [`Uprobes::instance`] takes definitions as an export writes them and gives what the kernel traced.
//!
//! The list of events is one for the whole computer, and the kernel hands it out in pieces: where an event is removed between two of them,
//! lines are missed. So it is read and changed under a lock, which other threads and other test processes take too.
//!
//! All probes that are placed together are of one event. Each event that is removed costs a grace period of the kernel, 40 ms and more.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::fixture;

/// The group that the events are in.
const GROUP: &str = "simple_markers";

/// Where the kernel has a place for tracefs.
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

/// The right to read and change the list of events, until this is dropped. Not to be taken twice by one thread.
struct Lock {
    _directory: File,
}

/// Probes that are enabled until this is dropped.
pub struct Placed<'u> {
    uprobes: &'u Uprobes,
    event: String,
    count: usize,
}

/// A tracing instance of our own, because others may trace too. Its events are removed when this is dropped.
pub struct Instance {
    at: PathBuf,
    definitions: Vec<String>,
    /// The names of the events are those of the export, so only one process at a time may define them.
    _lock: Lock,
    uprobes: Uprobes,
}

impl Uprobes {
    /// `None` without the rights to it.
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

    /// Waits until no other thread or process uses the list of events. Wherever tracefs is mounted, its root is the same file.
    fn lock(&self) -> Lock {
        Lock { _directory: fixture::lock(&self.at) }
    }

    /// Puts a probe on each of some offsets in a file, no two of them the same. No process is to run it yet: where the kernel does not take a
    /// probe it says so then, for all of them.
    ///
    /// # Panics
    ///
    /// The kernel takes none of them.
    #[must_use]
    pub fn place(&self, program: &Path, offsets: &[u64]) -> Placed<'_> {
        static EVENTS: AtomicU32 = AtomicU32::new(0);
        let number = EVENTS.fetch_add(1, Ordering::Relaxed);
        let event = format!("counted{}_{number}", std::process::id());
        // Dropped after the lock is: a panic below removes the event.
        let placed = Placed { uprobes: self, event: event.clone(), count: offsets.len() };
        let _lock = self.lock();
        for offset in offsets {
            let definition = format!("p:{GROUP}/{event} {}:{offset:#x}\n", program.display());
            self.write("uprobe_events", &definition).unwrap_or_else(|error| panic!("{definition}: {error}"));
        }
        self.write(&format!("events/{GROUP}/{event}/enable"), "1").expect("the probes can be enabled");
        placed
    }

    /// An instance of some name. `None` where the kernel makes none.
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
    /// How often each of them fired, in the order of the offsets.
    ///
    /// # Panics
    ///
    /// The kernel does not say it of each.
    #[must_use]
    pub fn hits(&self) -> Vec<u64> {
        let _lock = self.uprobes.lock();
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
        let _lock = self.uprobes.lock();
        let _ = self.uprobes.write(&format!("events/{GROUP}/{}/enable", self.event), "0");
        let _ = self.uprobes.write("uprobe_events", &format!("-:{GROUP}/{}\n", self.event));
    }
}

impl Instance {
    /// Gives the kernel lines as they are.
    ///
    /// # Panics
    ///
    /// It refuses one.
    pub fn define(&mut self, text: &str) {
        let events = fs::OpenOptions::new().append(true).open(self.uprobes.at.join("uprobe_events"));
        let mut events = events.expect("uprobe_events");
        self.definitions.extend(text.lines().filter(|line| line.starts_with("p:")).map(str::to_owned));
        // One line at a time says which one is refused; comments are part of what the kernel takes.
        for line in text.lines() {
            events.write_all(format!("{line}\n").as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    /// The lines that define a probe.
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

    /// What was traced.
    ///
    /// # Panics
    ///
    /// The kernel does not say.
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
        let _ = fs::remove_dir(&self.at);
        for name in self.names() {
            let _ = self.uprobes.write("uprobe_events", &format!("-:{name}\n"));
        }
    }
}
