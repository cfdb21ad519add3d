//! The second opinion: libtraceevent prints the same pages (`trace-cmd report`).

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;

use super::{Recording, entries};
use crate::tools;

/// What `trace-cmd report` made of a recording.
#[derive(Debug, Default)]
pub struct TraceCmd {
    /// The events that are not those of system calls: libtraceevent gives these another form.
    pub events: u64,
    /// How many of them have the text of the kernel.
    pub same: u64,
    /// How many have it apart from `0x` before a pointer and the size of a symbol.
    pub alike: u64,
    /// How many kinds there are, and how many of them always have the text of the kernel.
    pub kinds: (usize, usize),
    /// How long it took to print all events.
    pub time: Duration,
}

/// Prints a recording with `trace-cmd report`, in a folder for its files.
///
/// # Panics
///
/// `trace-cmd` fails.
#[must_use]
pub fn trace_cmd(recording: &Recording, folder: &Path) -> TraceCmd {
    let (head, data) = (folder.join("head.dat"), folder.join("trace.dat"));
    let mut files = Vec::new();
    for cpu in &recording.cpus {
        let file = folder.join(format!("cpu{}", cpu.number));
        let mut bytes = Vec::new();
        for page in &cpu.pages {
            bytes.extend_from_slice(page);
            bytes.resize(bytes.len().next_multiple_of(recording.format.size()), 0);
        }
        fs::write(&file, bytes).expect("the pages are written");
        files.push(file);
    }
    tools::run(Command::new("trace-cmd").args(["restore", "-c", "-o"]).arg(&head));
    tools::run(Command::new("trace-cmd").args(["restore", "-i"]).arg(&head).arg("-o").arg(&data).args(&files));
    let start = Instant::now();
    let mut report = Command::new("trace-cmd");
    // Without its plugins, which print some events in another form.
    report.args(["report", "-N", "-i"]).arg(&data).stderr(Stdio::null());
    let output = tools::output(&mut report);
    let mut found = TraceCmd { time: start.elapsed(), ..TraceCmd::default() };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut by_cpu: HashMap<u32, HashMap<(u64, String), Vec<&str>>> = HashMap::new();
    for line in text.lines() {
        let Some((cpu, time, name, text)) = parts(line) else { continue };
        by_cpu.entry(cpu).or_default().entry((time, name.to_owned())).or_default().push(text.trim());
    }
    let mut kinds: HashMap<String, bool> = HashMap::new();
    for cpu in &recording.cpus {
        let Some(theirs) = by_cpu.get_mut(&cpu.number) else { continue };
        for (time, text) in entries(&cpu.text) {
            let Some((name, text)) = text.split_once(": ").filter(|(name, _)| !name.contains(['(', ' '])) else {
                continue;
            };
            found.events += 1;
            let text = text.trim();
            let Some(candidates) = theirs.get_mut(&(time, name.to_owned())) else { continue };
            let same = candidates.iter().position(|theirs| *theirs == text);
            let alike = || candidates.iter().position(|theirs| bare(theirs) == bare(text));
            let is_same = same.is_some();
            if let Some(at) = same.or_else(alike) {
                found.alike += 1;
                candidates.swap_remove(at);
            }
            found.same += u64::from(is_same);
            *kinds.entry(name.to_owned()).or_insert(true) &= is_same;
        }
    }
    found.kinds = (kinds.len(), kinds.values().filter(|is_same| **is_same).count());
    found
}

/// The text without `0x`, and without the sizes of symbols.
fn bare(text: &str) -> String {
    static SIZES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\+[0-9a-f]+)/[0-9a-f]+").expect("a pattern"));
    SIZES.replace_all(&text.replace("0x", ""), "$1").into_owned()
}

/// `comm-12 [001] 12.345678: name:   text`: the CPU, the time in microseconds, the name and the text.
fn parts(line: &str) -> Option<(u32, u64, &str, &str)> {
    let (before, rest) = line.split_once("] ")?;
    let cpu = before.rsplit_once('[')?.1.parse().ok()?;
    let (time, rest) = rest.split_once(": ")?;
    let (seconds, fraction) = time.split_whitespace().last()?.split_once('.')?;
    let (name, text) = rest.split_once(':')?;
    Some((cpu, seconds.parse::<u64>().ok()? * 1_000_000 + fraction.parse::<u64>().ok()?, name.trim(), text))
}
