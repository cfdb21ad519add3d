//! What the kernel says of a process in `/proc/PID/stat` (proc(5)).

use std::fs;
use std::time::Duration;

/// How often the kernel counts the time of a process in a second (`USER_HZ`, the same on all machines
/// that are supported).
const TICKS: u64 = 100;

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    state: char,
    /// The CPU time of all of its threads.
    pub cpu: Duration,
    /// The same of its children that have ended and were waited for.
    pub cpu_of_children: Duration,
    /// When it started, in clock ticks since the machine started.
    pub start: u64,
}

impl ProcessStat {
    /// The process with a number; `None` if there is none.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses, and may have blanks and parentheses. The state, field 3, is behind it.
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let time = |user: usize| Some(Duration::from_millis((number(user)? + number(user + 1)?) * 1000 / TICKS));
        Some(Self {
            state: fields.first()?.chars().next()?,
            cpu: time(14)?,
            cpu_of_children: time(16)?,
            start: number(22)?,
        })
    }

    /// Whether it has ended, and was not waited for.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, id};
    use std::time::Instant;

    use super::*;

    #[test]
    fn times_grow_and_the_start_stays() {
        let before = ProcessStat::of(id()).expect("a process");
        let since = Instant::now();
        let mut number = 1u64;
        let after = loop {
            number = std::hint::black_box(number.wrapping_mul(3));
            let now = ProcessStat::of(id()).expect("a process");
            if now.cpu >= before.cpu + Duration::from_millis(50) {
                break now;
            }
            assert!(since.elapsed() < Duration::from_secs(60), "{number}");
        };
        assert_eq!((after.start, after.has_ended(), before.start > 0), (before.start, false, true));
        assert_eq!(ProcessStat::of(u32::MAX), None);
    }

    #[test]
    fn one_that_nobody_waited_for_has_ended() {
        let mut child = Command::new("true").spawn().expect("it runs");
        let since = Instant::now();
        while !ProcessStat::of(child.id()).expect("a process").has_ended() {
            assert!(since.elapsed() < Duration::from_secs(60));
        }
        child.wait().expect("it has ended");
    }
}
