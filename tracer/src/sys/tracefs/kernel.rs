//! The events of the kernel: their names, their formats, and the names that their texts use.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};

use flate2::read::GzDecoder;
use simple_markers_events::{Format, HZ, KernelNames, PageFormat, Source};

use super::super::error::{Error, Step};
use super::super::processor::{KernelAddresses, NOT_RANDOM};
use super::files::Root;

/// The file with the names of the events.
const AVAILABLE: &str = "available_events";

/// The events of the running kernel.
#[derive(Clone, Debug)]
pub struct KernelEvents {
    root: Root,
}

/// A group and a name: `sched`, `sched_switch`.
pub type EventName = (String, String);

impl KernelEvents {
    /// Looks for tracefs.
    ///
    /// # Errors
    ///
    /// It is not mounted, or the right to read it is missing.
    pub fn open() -> Result<Self, Error> {
        let root = Root::find()?;
        File::open(root.path(AVAILABLE)).map_err(|why| Error::new(Step::Tracefs, &why))?;
        Ok(Self { root })
    }

    /// The names of all events that can be watched, sorted.
    ///
    /// # Errors
    ///
    /// The right to read tracefs is missing.
    pub fn names(&self) -> Result<BTreeSet<EventName>, Error> {
        let text = self.root.read(AVAILABLE).map_err(|why| Error::new(Step::Tracefs, &why))?;
        let names = text.lines().filter_map(|line| line.split_once(':'));
        Ok(names.map(|(group, name)| (group.to_owned(), name.to_owned())).collect())
    }

    /// The names of all events that have a format, sorted. Those of the group `ftrace` are what the
    /// kernel itself writes, and cannot be watched.
    ///
    /// # Errors
    ///
    /// The right to read tracefs is missing.
    pub fn all_names(&self) -> Result<BTreeSet<EventName>, Error> {
        let mut names = self.names()?;
        let entries = fs::read_dir(self.root.path("events/ftrace")).into_iter().flatten().flatten();
        let events = entries.filter(|entry| entry.path().join("format").exists());
        names.extend(events.filter_map(|entry| Some(("ftrace".to_owned(), entry.file_name().into_string().ok()?))));
        Ok(names)
    }

    /// The format of an event.
    ///
    /// # Errors
    ///
    /// There is no such event, or its format cannot be read.
    pub fn format(&self, group: &str, name: &str) -> Result<Format, Error> {
        let text = self.root.read(&format!("events/{group}/{name}/format"));
        let text = text.map_err(|why| Error::new(Step::Format, &why))?;
        let unknown = |_| Error::new(Step::Format, &io::Error::from_raw_os_error(libc::EPROTO));
        Format::of(group, &text).map_err(unknown)
    }

    /// The format of the pages of all buffers.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn page_format(&self) -> Result<PageFormat, Error> {
        self.root.page_format()
    }

    /// The names that the texts of the events use. They are read when they are needed.
    #[must_use]
    pub fn kernel_names(&self) -> KernelNames {
        let root = self.root.clone();
        KernelNames::new(Box::new(move |source| match source {
            Source::Types => fs::read("/sys/kernel/btf/vmlinux").ok(),
            Source::Symbols => fs::read("/proc/kallsyms").ok(),
            Source::Texts => root.read("printk_formats").ok().map(String::into_bytes),
            Source::Variables => Some(variables().into_bytes()),
        }))
    }
}

/// The numbers of the kernel that can be found out, as lines of `name=value`.
fn variables() -> String {
    let hz = hz().map(|hz| format!("{HZ}={hz}\n"));
    let vmemmap = vmemmap_base().map(|base| format!("vmemmap_base={base}\n"));
    hz.into_iter().chain(vmemmap).collect()
}

/// The ticks of a second, from the configuration of the kernel.
fn hz() -> Option<u32> {
    let of_config = |text: &str| text.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")?.parse().ok());
    let mut text = String::new();
    let unpacked = File::open("/proc/config.gz").and_then(|file| GzDecoder::new(file).read_to_string(&mut text));
    let found = unpacked.ok().and_then(|_| of_config(&text));
    found.or_else(|| {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
        of_config(&fs::read_to_string(format!("/boot/config-{}", release.trim())).ok()?)
    })
}

/// Where the array of pages is. `None` if the kernel chose a random address at its start.
fn vmemmap_base() -> Option<u64> {
    let KernelAddresses { text, pages: [of_4_levels, of_5_levels] } = NOT_RANDOM?;
    let mut first = vec![0; text.len() + 1];
    File::open("/proc/kallsyms").and_then(|mut file| file.read_exact(&mut first)).ok()?;
    if first.strip_suffix(b" ")? != text.as_bytes() {
        return None;
    }
    // With 5 levels of page tables the address space is another one.
    let processors = fs::read_to_string("/proc/cpuinfo").ok()?;
    let has_5_levels = processors.lines().find(|line| line.starts_with("flags"))?.split(' ').any(|flag| flag == "la57");
    Some(if has_5_levels { of_5_levels } else { of_4_levels })
}
