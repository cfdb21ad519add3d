//! A process that watches for a rule.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use simple_markers_tracer::sys::ProcessStat;

use crate::agent_report::AgentReport;

/// How long a process may take to end after it was asked to: it may have to send what it has.
const GRACE: Duration = Duration::from_secs(15);

/// The most lines of a process that wait to be printed.
const LINES: usize = 256;

/// The most bytes of a line.
const LINE: u64 = 4096;

/// Runs `smark` for a rule.
#[derive(Debug)]
pub(super) struct WatchingProcess {
    child: Child,
    socket: UnixStream,
    /// What was read of a report that is not complete.
    rest: Vec<u8>,
    /// The lines that it printed for people.
    lines: Receiver<String>,
    /// What it said last; `None` if it has not begun to watch.
    pub(super) report: Option<AgentReport>,
    /// The CPU time that it has used.
    pub(super) cpu: Duration,
    /// The bytes that it has written.
    pub(super) written: u64,
    /// When it is killed; `None` if it was not asked to end.
    killed_at: Option<Instant>,
}

impl WatchingProcess {
    /// Starts this program with some arguments.
    pub(super) fn start(arguments: &[OsString], keeps_output: bool) -> io::Result<Self> {
        let (socket, its) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let mut command = Command::new("/proc/self/exe");
        command.args(arguments).stdin(Stdio::from(OwnedFd::from(its))).stderr(Stdio::piped());
        command.stdout(if keeps_output { Stdio::inherit() } else { Stdio::null() });
        let mut child = command.spawn()?;
        let (sender, lines) = sync_channel(LINES);
        if let Some(stderr) = child.stderr.take() {
            thread::Builder::new().name("lines".to_owned()).spawn(move || read_lines(stderr, &sender))?;
        }
        Ok(Self {
            child,
            socket,
            rest: Vec::new(),
            lines,
            report: None,
            cpu: Duration::ZERO,
            written: 0,
            killed_at: None,
        })
    }

    /// Reads what it says and what it costs. Returns how it ended, if it has.
    pub(super) fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        if status.is_none() {
            let stat = ProcessStat::of(self.child.id());
            self.cpu = stat.map_or(Duration::ZERO, |stat| stat.cpu + stat.cpu_of_children).max(self.cpu);
            self.written = written_bytes(self.child.id()).unwrap_or_default().max(self.written);
        }
        // What it said before it ended is there.
        self.read_reports();
        if status.is_none() && self.killed_at.is_some_and(|when| Instant::now() >= when) {
            self.child.kill()?;
        }
        Ok(status)
    }

    /// The lines that it printed since the last call.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.lines.try_iter()
    }

    /// The same after its end: all of them.
    pub(super) fn last_lines(&self) -> VecDeque<String> {
        // Its own processes may keep stderr open.
        let mut lines = VecDeque::new();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_millis(100)) {
            lines.push_back(line);
        }
        lines
    }

    /// Whether it was asked to end.
    pub(super) fn is_ending(&self) -> bool {
        self.killed_at.is_some()
    }

    /// Asks it to end.
    pub(super) fn stop(&mut self) {
        if self.killed_at.is_some() {
            return;
        }
        self.killed_at = Some(Instant::now() + GRACE);
        // It has not been waited for, so its number is not another process's.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    fn read_reports(&mut self) {
        let mut piece = [0; 4096];
        loop {
            match self.socket.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => self.rest.extend_from_slice(piece.get(..length).unwrap_or_default()),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return };
        let lines: Vec<u8> = self.rest.drain(..=end).collect();
        let lines = String::from_utf8_lossy(&lines);
        if let Some(report) = lines.lines().filter_map(AgentReport::read).next_back() {
            self.report = Some(report);
        }
    }
}

impl Drop for WatchingProcess {
    fn drop(&mut self) {
        // It notices by itself that the agent is gone, but not at once.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Hands on each line. Lines for which there is no room are left out: the process must not wait.
fn read_lines(from: impl io::Read, to: &SyncSender<String>) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        match from.by_ref().take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                let _ = to.try_send(line);
            }
        }
    }
}

/// The bytes that a process has written, to files and elsewhere; `None` if it is gone or the kernel does not say it.
pub(super) fn written_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_and_too_many_are_left_out() {
        let text = format!("{}\n{}", "x".repeat(5000), "y\n".repeat(1000));
        let (sender, lines) = sync_channel(LINES);
        read_lines(text.as_bytes(), &sender);
        let lines: Vec<String> = lines.try_iter().collect();
        assert_eq!((lines.len(), lines[0].len(), lines[1].len(), lines[2].as_str()), (LINES, 4096, 904, "y"));
    }
}
