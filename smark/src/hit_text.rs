//! What a hit says, and how its time, its thread and its task are written.

use std::collections::HashMap;

use simple_markers_tracer::Hit;
use simple_markers_tracer::event::Texts;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::text::{Format, word};

/// Writes what hits say: the text of their format, or that of the kernel for its event.
pub(crate) struct HitText {
    /// By the number of the marker.
    formats: HashMap<usize, Format>,
    /// The texts of the kernel's events.
    texts: Texts,
    pub(crate) functions: Box<dyn FunctionNames>,
}

impl HitText {
    pub(crate) fn new(texts: Texts, functions: Box<dyn FunctionNames>) -> Self {
        Self { formats: HashMap::new(), texts, functions }
    }

    /// Appends what a hit says, with its control characters.
    pub(crate) fn write(&mut self, hit: &Hit<'_>, out: &mut String) {
        match &hit.marker.event {
            Some(event) => self.texts.write(event, hit, out),
            None => {
                let format = &hit.marker.format;
                let format = self.formats.entry(hit.site.marker).or_insert_with(|| Format::new(format));
                format.write_named(hit, &*self.functions, out);
            }
        }
    }
}

/// A time in seconds, cut to microseconds. `time` is in ns.
pub(crate) fn seconds(time: u64) -> String {
    format!("{:>4}.{:06}", time / 1_000_000_000, time % 1_000_000_000 / 1000)
}

/// The numbers of the process and the thread of a hit: one number for the first thread.
pub(crate) fn thread_numbers(process: u32, thread: u32) -> String {
    if process == thread { process.to_string() } else { format!("{process}/{thread}") }
}

/// The task that a hit notes; empty if there is none.
pub(crate) fn task_text(hit: &Hit<'_>) -> String {
    match hit.task() {
        Some(Ok(Some(number))) => format!("task {number}"),
        Some(Err(missing)) => format!("task <{}>", word(&missing)),
        Some(Ok(None)) | None => String::new(),
    }
}

/// The colour of the name of a marker (ECMA-48, SGR): the same in each run.
pub(crate) fn marker_colour(name: &str) -> u8 {
    // Red, green, yellow, blue, magenta and cyan can be read on dark and on light ground.
    let sum = name.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    u8::try_from(31 + sum % 6).unwrap_or(31)
}
