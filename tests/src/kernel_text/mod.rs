//! Compares the text that the kernel prints for its events with what `simple_markers_events` makes of
//! the same records.

mod instance;
mod trace_cmd;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use simple_markers_events::{Format, KernelNames, Page, PageFormat, Printer};
use simple_markers_tracer::sys::KernelEvents;

pub use instance::Instance;
pub use trace_cmd::{TraceCmd, trace_cmd};

use crate::{fixture, tools};

/// The printers of the events, made when they are first needed.
pub struct Printers {
    names: KernelNames,
    /// The group and name of each event.
    known: HashMap<u16, (String, String)>,
    events: KernelEvents,
    made: HashMap<u16, Option<Known>>,
}

struct Known {
    format: Format,
    printer: Printer,
}

/// What was recorded on each CPU.
pub struct Recording {
    cpus: Vec<Cpu>,
    format: PageFormat,
}

struct Cpu {
    number: u32,
    /// The kernel's text.
    text: String,
    pages: Vec<Vec<u8>>,
}

impl Recording {
    /// Hands on the time and the record of each event of a CPU.
    fn each(&self, cpu: &Cpu, each: &mut dyn FnMut(u64, &[u8])) {
        for page in &cpu.pages {
            let page = Page::new(page, &self.format).expect("a page");
            for event in page.events() {
                let event = event.expect("an event");
                each(event.time, event.record);
            }
        }
    }

    /// Hands on the record of each event.
    pub fn each_record(&self, each: &mut dyn FnMut(&[u8])) {
        self.cpus.iter().for_each(|cpu| self.each(cpu, &mut |_, record| each(record)));
    }
}

/// What was compared.
#[derive(Debug, Default)]
pub struct Comparison {
    /// How many events there are of each kind, and how many of them have the same text.
    pub kinds: BTreeMap<String, (u64, u64)>,
    /// Events whose texts differ: the kernel's, and ours. At most three of a kind.
    pub differences: Vec<(String, String, String)>,
    /// The kinds that print the jiffies of the moment: the kernel prints another number each time.
    pub of_the_moment: BTreeSet<String>,
    /// Events of the pages that are not those of the text.
    pub misplaced: u64,
}

impl Comparison {
    /// All events, and those with the same text.
    #[must_use]
    pub fn total(&self) -> (u64, u64) {
        self.kinds.values().fold((0, 0), |(all, same), (count, equal)| (all + count, same + equal))
    }

    /// The differences that the moment of printing does not explain.
    pub fn unexplained(&self) -> impl Iterator<Item = &(String, String, String)> {
        self.differences.iter().filter(|(kind, ..)| !self.of_the_moment.contains(kind))
    }
}

/// Compiles the program that makes the kernel write events.
///
/// # Panics
///
/// It does not compile.
#[must_use]
pub fn workload(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("workload");
    let source = fixture::workspace().join("tests/kernel/workload.c");
    tools::run(Command::new("gcc").args(["-O1", "-Wall", "-pthread"]).arg(source).arg("-o").arg(&program));
    program
}

impl Printers {
    /// Those of the running kernel.
    ///
    /// # Errors
    ///
    /// tracefs cannot be read.
    pub fn new() -> Result<Self, simple_markers_tracer::sys::Error> {
        let events = KernelEvents::open()?;
        let (names, known) = (events.kernel_names(), HashMap::new());
        Ok(Self { names, known, events, made: HashMap::new() })
    }

    fn get(&mut self, id: u16) -> Option<&Known> {
        if self.known.is_empty() {
            for (group, name) in self.events.all_names().ok()? {
                // The number alone is in a file of its own for most events. Another test may remove its
                // events.
                let Ok(format) = self.events.format(&group, &name) else { continue };
                self.known.insert(format.id, (group, name));
            }
        }
        let (known, events, names) = (&self.known, &self.events, &self.names);
        let made = self.made.entry(id).or_insert_with(|| {
            let (group, name) = known.get(&id)?;
            let format = events.format(group, name).ok()?;
            let printer = Printer::new(&format, names).ok()?;
            Some(Known { format, printer })
        });
        made.as_ref()
    }

    /// Appends the text of a record.
    pub fn write(&mut self, record: &[u8], out: &mut String) {
        let id = record.first_chunk().map_or(0, |id| u16::from_ne_bytes(*id));
        self.get(id);
        if let Some(Some(known)) = self.made.get(&id) {
            known.printer.write(record, &self.names, out);
        }
    }

    /// The kind of a record, and its text as the kernel's trace has it: the name is before the text of
    /// all events but those of system calls.
    pub fn print(&mut self, record: &[u8]) -> (String, String) {
        let id = record.first_chunk().map_or(0, |id| u16::from_ne_bytes(*id));
        if self.get(id).is_none() {
            return (format!("number {id}"), String::new());
        }
        let Some(Some(Known { format, printer })) = self.made.get(&id) else { return Default::default() };
        let Format { group, name, .. } = format;
        let mut text = if group == "syscalls" { String::new() } else { format!("{name}: ") };
        printer.write(record, &self.names, &mut text);
        (format!("{group}:{name}"), text)
    }

    /// What an instance recorded that does not record any more. Its pages are consumed.
    ///
    /// # Panics
    ///
    /// The instance cannot be read.
    #[must_use]
    pub fn read(&self, instance: &Instance) -> Recording {
        let format = self.events.page_format().expect("the page's format");
        let of = |cpu| Cpu { number: cpu, text: instance.text(cpu), pages: instance.pages(cpu, format.size()) };
        Recording { cpus: instance.cpus().into_iter().map(of).collect(), format }
    }

    /// Compares the kernel's text of each event with ours.
    pub fn compare(&mut self, recording: &Recording) -> Comparison {
        let mut comparison = Comparison::default();
        for cpu in &recording.cpus {
            let entries = entries(&cpu.text);
            let mut entries = entries.iter();
            recording.each(cpu, &mut |time, record| {
                let (kind, ours) = self.print(record);
                let Some((microseconds, kernels)) = entries.next() else {
                    comparison.misplaced += 1;
                    return;
                };
                comparison.misplaced += u64::from(*microseconds != (time + 500) / 1000);
                let count = comparison.kinds.entry(kind.clone()).or_default();
                count.0 += 1;
                if kernels.strip_suffix('\n') == Some(ours.as_str()) {
                    count.1 += 1;
                } else if count.0 - count.1 <= 3 {
                    comparison.differences.push((kind, (*kernels).to_owned(), ours));
                }
            });
            comparison.misplaced += entries.count() as u64;
        }
        let of_the_moment = |known: &Known| known.printer.needs().variables.iter().any(|name| name == "jiffies");
        let of_the_moment = self.made.values().flatten().filter(|known| of_the_moment(known));
        comparison.of_the_moment =
            of_the_moment.map(|Known { format, .. }| format!("{}:{}", format.group, format.name)).collect();
        comparison
    }
}

/// The events of a trace: the time of each in microseconds, and its text behind the time.
fn entries(text: &str) -> Vec<(u64, &str)> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some((microseconds, length)) = prefix(line) {
            starts.push((at, at + length, microseconds));
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, _, _)| *start).chain([text.len()]);
    starts.iter().zip(ends).map(|((_, start, time), end)| (*time, &text[*start..end])).collect()
}

/// `    comm-123     [001] d..2.  1234.567890: `: the time in microseconds, and the length. `None` if the line
/// belongs to the event before.
fn prefix(line: &str) -> Option<(u64, usize)> {
    let (before, rest) = line.split_once("] ")?;
    let (task, cpu) = before.rsplit_once('[')?;
    cpu.parse::<u32>().ok()?;
    task.trim_end().rsplit_once('-')?.1.parse::<u32>().ok()?;
    let flags = rest.get(..5)?;
    let (time, _) = rest.get(5..)?.split_once(": ")?;
    let (seconds, fraction) = time.trim_start().split_once('.')?;
    let is_time = !flags.contains(' ') && fraction.len() == 6;
    let microseconds = seconds.parse::<u64>().ok()? * 1_000_000 + fraction.parse::<u64>().ok()?;
    is_time.then_some((microseconds, before.len() + 2 + 5 + time.len() + 2))
}
