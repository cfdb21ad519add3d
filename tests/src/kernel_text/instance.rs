//! An instance of tracefs with events of the kernel.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::watched::{TRACEFS, remove_instance};

/// Buffers of our own. They are removed when this is dropped.
pub struct Instance {
    at: PathBuf,
}

/// Groups that are left out: the hypervisor and the processor's registers write events for each timer
/// tick of every guest, `initcall` and `ras` never do, and file systems that are not mounted neither.
const LEFT_OUT: [&str; 8] = ["kvm", "kvmmmu", "msr", "x86_fpu", "xfs", "btrfs", "initcall", "ras"];

impl Instance {
    /// An instance that does not record yet, with a buffer of so many KiB for each CPU.
    ///
    /// # Errors
    ///
    /// The right is missing, or there is no tracefs.
    pub fn create(kilobytes: u32) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let at = PathBuf::from(TRACEFS).join(format!("instances/smark-text-{}-{number}", std::process::id()));
        fs::create_dir(&at)?;
        let instance = Self { at };
        instance.set("tracing_on", "0")?;
        instance.set("buffer_size_kb", &kilobytes.to_string())?;
        // What does not fit is not recorded: the text and the pages say the same.
        instance.set("options/overwrite", "0")?;
        instance.set("options/hash-ptr", "0")?;
        Ok(instance)
    }

    /// Writes to a file of the instance.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn set(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.at.join(file), text)
    }

    /// Switches on the events of all groups that do not harm a small machine.
    ///
    /// # Panics
    ///
    /// The kernel refuses to.
    pub fn enable(&self) {
        let groups = fs::read_dir(self.at.join("events")).expect("the events");
        for group in groups.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
            let file = format!("events/{group}/enable");
            if !LEFT_OUT.contains(&group.as_str()) && self.at.join(&file).exists() {
                self.set(&file, "1").unwrap_or_else(|error| panic!("{file}: {error}"));
            }
        }
    }

    /// The numbers of the CPUs.
    ///
    /// # Panics
    ///
    /// They cannot be read.
    #[must_use]
    pub fn cpus(&self) -> Vec<u32> {
        let entries = fs::read_dir(self.at.join("per_cpu")).expect("the CPUs").flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok());
        let mut cpus: Vec<u32> = numbers.collect();
        cpus.sort_unstable();
        cpus
    }

    /// The kernel's text for the events of a CPU. Nothing may be recorded meanwhile.
    ///
    /// # Panics
    ///
    /// It cannot be read.
    #[must_use]
    pub fn text(&self, cpu: u32) -> String {
        let text = fs::read(self.at.join(format!("per_cpu/cpu{cpu}/trace"))).expect("the trace");
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The pages of a CPU, which are consumed. `size` is that of a page.
    ///
    /// # Panics
    ///
    /// They cannot be read.
    #[must_use]
    pub fn pages(&self, cpu: u32, size: usize) -> Vec<Vec<u8>> {
        let file = self.at.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let mut file = fs::OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(file).expect("the pages");
        let mut pages = Vec::new();
        loop {
            let mut page = vec![0; size];
            match file.read(&mut page) {
                Ok(0) => return pages,
                Ok(length) => page.truncate(length),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => return pages,
                Err(why) => panic!("the pages: {why}"),
            }
            pages.push(page);
        }
    }
}

const O_NONBLOCK: i32 = 0o4000;

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set("tracing_on", "0");
        let _ = self.set("events/enable", "0");
        remove_instance(&self.at);
    }
}
