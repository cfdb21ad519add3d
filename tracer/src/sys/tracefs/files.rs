//! The files of tracefs, and the instances in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use simple_markers_events::PageFormat;

use super::super::error::{Error, Step};

/// Where tracefs is mounted.
#[derive(Clone, Debug)]
pub(super) struct Root(PathBuf);

impl Root {
    /// Looks for a mount of tracefs.
    pub(super) fn find() -> Result<Self, Error> {
        let failed = |why: &io::Error| Error::new(Step::Tracefs, why);
        let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|why| failed(&why))?;
        // ID PARENT DEVICE ROOT POINT OPTIONS.. - TYPE SOURCE OPTIONS
        let mut points = mounts.lines().filter_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let point = before.split(' ').nth(4)?;
            (after.split(' ').next() == Some("tracefs")).then(|| PathBuf::from(unescaped(point)))
        });
        let root = points.next().ok_or_else(|| failed(&io::Error::from_raw_os_error(libc::ENOENT)))?;
        Ok(Self(root))
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    /// The text of a file. Some files cannot be read in small pieces: each piece would be the end.
    pub(super) fn read(&self, file: &str) -> io::Result<String> {
        let (mut file, mut text, mut piece) = (File::open(self.path(file))?, Vec::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
                length => text.extend_from_slice(piece.get(..length).unwrap_or_default()),
            }
        }
    }

    /// Adds a line to `uprobe_events`.
    pub(super) fn change_probes(&self, line: &str) -> Result<(), Error> {
        append(&self.path("uprobe_events"), line).map_err(|why| {
            let log = match why.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => String::new(),
                _ => self.last_error(),
            };
            Error::new(Step::Probe, &why).with_log(log)
        })
    }

    /// What the kernel said about the last line that it refused.
    fn last_error(&self) -> String {
        let log = self.read("error_log").unwrap_or_default();
        let last = log.lines().rev().find_map(|line| Some(line.split_once("error: ")?.1.to_owned()));
        last.unwrap_or_default()
    }

    /// The names of the instances.
    pub(super) fn instances(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("instances")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    pub(super) fn page_format(&self) -> Result<PageFormat, Error> {
        let text = self.read("events/header_page").map_err(|why| Error::new(Step::Tracefs, &why))?;
        let unknown = || Error::new(Step::Tracefs, &io::Error::from_raw_os_error(libc::EPROTO));
        PageFormat::parse(&text).ok_or_else(unknown)
    }

    /// Whether several probes of one event can be told apart by a number that is given for each.
    pub(super) fn has_numbers(&self) -> bool {
        self.read("README").is_ok_and(|readme| readme.contains("\\imm-value"))
    }
}

/// A path of `/proc/self/mountinfo`, with its escapes of 3 octal digits resolved.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut path = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => path.extend([char::from(code)].into_iter().chain(part.chars().skip(3))),
            None => path.extend(['\\'].into_iter().chain(part.chars())),
        }
    }
    path
}

/// Writes to a file without removing what it has.
pub(super) fn append(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes())
}

fn set(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// An instance: buffers of our own, one for each CPU. It is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
    /// The number of each CPU, and its pages.
    cpus: Vec<(u32, File)>,
    page: Vec<u8>,
    /// The most pages that are read from one CPU at once, so that reading ends.
    most: usize,
}

impl Instance {
    /// Creates an instance with buffers of `size` bytes in all.
    pub(super) fn create(root: &Root, name: &str, size: u32, format: &PageFormat) -> Result<Self, Error> {
        let failed = |why: &io::Error| Error::new(Step::Instance, why);
        let path = root.path("instances").join(name);
        fs::create_dir(&path).map_err(|why| failed(&why))?;
        let mut instance = Self { path, cpus: Vec::new(), page: vec![0; format.size()], most: 0 };
        instance.prepare(size).map_err(|why| failed(&why))?;
        Ok(instance)
    }

    fn prepare(&mut self, size: u32) -> io::Result<()> {
        let folders = fs::read_dir(self.path.join("per_cpu"))?;
        let number = |name: String| name.strip_prefix("cpu")?.parse().ok();
        let cpus = folders.flatten().filter_map(|entry| number(entry.file_name().into_string().ok()?));
        let mut cpus: Vec<u32> = cpus.collect();
        cpus.sort_unstable();
        // The clock of the records of the BPF engine.
        self.set("trace_clock", "mono")?;
        // What does not fit is lost and counted; what is there stays.
        self.set("options/overwrite", "0")?;
        let count = u32::try_from(cpus.len()).unwrap_or(1).max(1);
        let kilobytes = size.div_ceil(1024).div_ceil(count).max(1);
        self.set("buffer_size_kb", &kilobytes.to_string())?;
        self.most = usize::try_from(kilobytes).unwrap_or(usize::MAX).saturating_mul(1024) / self.page.len().max(1) + 2;
        for cpu in cpus {
            let file = self.path.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
            let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(file)?;
            self.cpus.push((cpu, file));
        }
        Ok(())
    }

    /// Readable when so many percent of a buffer are full. 0: when there is anything.
    pub(super) fn wake_at(&self, percent: u32) -> io::Result<()> {
        self.set("buffer_percent", &percent.to_string())
    }

    /// Readable when there is something to read, as [`wake_at`](Self::wake_at) says.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.cpus.iter().map(|(_, file)| file.as_raw_fd())
    }

    pub(super) fn set(&self, file: &str, text: &str) -> io::Result<()> {
        set(&self.path.join(file), text)
    }

    pub(super) fn append(&self, file: &str, text: &str) -> io::Result<()> {
        append(&self.path.join(file), text)
    }

    /// Hands on the pages that are there, with the numbers of their CPUs.
    pub(super) fn read(&mut self, each: &mut dyn FnMut(u32, &[u8])) -> Result<(), Error> {
        for (cpu, file) in &mut self.cpus {
            for _ in 0..self.most {
                match file.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(length) => each(*cpu, self.page.get(..length).unwrap_or_default()),
                    Err(why) if why.kind() == io::ErrorKind::WouldBlock => break,
                    Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                    Err(why) => return Err(Error::new(Step::Pages, &why)),
                }
            }
        }
        Ok(())
    }

    /// How many events had no space.
    pub(super) fn lost(&self) -> Result<u64, Error> {
        let mut lost = 0u64;
        for (cpu, _) in &self.cpus {
            let stats = fs::read_to_string(self.path.join(format!("per_cpu/cpu{cpu}/stats")));
            let stats = stats.map_err(|why| Error::new(Step::Pages, &why))?;
            let counts = stats.lines().filter_map(|line| line.split_once(':'));
            let is_lost = |name: &str| matches!(name, "overrun" | "commit overrun" | "dropped events");
            let counts = counts.filter(|(name, _)| is_lost(name)).filter_map(|(_, count)| count.trim().parse().ok());
            lost = counts.fold(lost, u64::saturating_add);
        }
        Ok(lost)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An instance with open files cannot be removed.
        self.cpus.clear();
        // If it fails, the next start removes it.
        let _ = remove_instance(&self.path);
    }
}

/// How long an instance may be in use for no more than a moment.
const MOMENT: Duration = Duration::from_secs(1);

/// Removes an instance. A process that another thread is starting has our open files until it
/// executes its program, so the instance may be in use although we have closed them all.
fn remove_instance(path: &Path) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match fs::remove_dir(path) {
            Err(why) if why.raw_os_error() == Some(libc::EBUSY) && start.elapsed() < MOMENT => {
                thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_mounts_are_unescaped() {
        assert_eq!(unescaped("/sys/kernel/tracing"), "/sys/kernel/tracing");
        assert_eq!(unescaped("/a\\040b\\134"), "/a b\\");
        assert_eq!(unescaped("/a\\x"), "/a\\x");
    }
}
