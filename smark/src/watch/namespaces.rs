//! Says which numbers processes have in their own namespaces.

use std::fs;

use super::watching::Watching;
use crate::console::Console;

impl Watching {
    /// Says with `--verbose` which numbers these processes have in their namespaces, once for each.
    pub(super) fn tell_numbers(&mut self, console: &Console, pids: &[u32]) {
        for pid in pids.iter().filter(|_| self.watch.verbose) {
            if let Some(inner) = inner_number(*pid).filter(|_| self.numbered.insert(*pid)) {
                console.note(&format!("process {pid} is {inner} in its namespace"));
            }
        }
    }
}

/// The number of a process in its namespace of processes, if that is not ours (`man 5 proc_pid_status`).
fn inner_number(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace();
    numbers.skip(1).last()?.parse().ok()
}
