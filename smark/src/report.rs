//! `smark report`: prints the hits of a recording.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value as Json, json};
use simple_markers_resolver::text::shown;
use simple_markers_tracer::ctf::{self, Description, Event, Events};
use simple_markers_tracer::text::{self, Heading};

use crate::trace::Lines;
use crate::{Console, Status, files};

/// Print the hits of a recording
///
/// The lines are those that `smark trace` prints. If the recording was cut off, what is complete is printed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{STATUS}"))]
pub(crate) struct Report {
    /// The folder of the recording
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print a line of JSON for each hit
    #[arg(long)]
    json: bool,
    /// Print the number of hits of each marker
    #[arg(long)]
    count: bool,
}

const EXAMPLES: &str = "\
EXAMPLES
  The hits of a recording, as smark trace prints them:
      smark record -o trace -- ./server
      smark report trace
  How often each marker was passed:
      smark report --count trace
  For a program to read:
      smark report --json trace | jq .args";

const STATUS: &str = "\
EXIT STATUS
  0  done
  2  the recording cannot be read, or not to its end";

impl Report {
    pub(crate) fn run(self, console: &Console) -> anyhow::Result<Status> {
        let recording = Recording::open(&self.folder)?;
        let mut events = Events::new(&recording.description, &recording.stream);
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let mut lines = Lines::new(recording.description.start, console);
        let mut counts = vec![0u64; recording.description.markers.len()];
        let (mut hits, mut status) = (0u64, Status::Done);
        let mut text = String::new();
        loop {
            let event = match events.next_event() {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    console.error(&format!("{}: {error}", self.folder.join(ctf::STREAM).display()));
                    status = Status::Unreadable;
                    continue;
                }
            };
            hits += 1;
            if let Some(count) = counts.get_mut(event.site.marker) {
                *count += 1;
            }
            if self.count {
                continue;
            }
            text.clear();
            let name = event.thread_name();
            let heading = heading(&event, &name);
            let values = event.values.iter().cloned();
            match self.json {
                true => {
                    let arguments = event.site.arguments.iter().map(|argument| &*argument.text);
                    text.push_str(&text::json_values(&heading, arguments.zip(values)).to_string());
                }
                false => lines.write_values(&heading, event.site.marker, &event.marker.format, values, &mut text),
            }
            text.push('\n');
            out.write_all(text.as_bytes())?;
        }
        if self.count {
            count(&recording.description, &counts, self.json, &mut out)?;
        }
        let lost = events.lost();
        if self.json {
            if lost > 0 {
                writeln!(out, "{}", json!({ "lost": lost }))?;
            }
            let exit = recording.end.as_ref().and_then(|end| end.get("exit")).cloned().unwrap_or_default();
            writeln!(out, "{}", json!({ "end": { "hits": hits + lost, "lost": lost, "exit": exit } }))?;
        }
        out.flush()?;
        if lost > 0 {
            console.error(&format!("{lost} hits were lost while it was recorded"));
        }
        if recording.end.is_none() {
            console.note("the recording was cut off: smark record did not end it, or is not at its end yet");
        }
        Ok(status)
    }
}

/// Prints the number of hits of each marker.
fn count(description: &Description, counts: &[u64], is_json: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let width = counts.iter().max().map_or(4, |most| most.to_string().len().max(4));
    if !is_json {
        writeln!(out, "{:>width$} NAME", "HITS")?;
    }
    for (marker, hits) in description.markers.iter().zip(counts) {
        match is_json {
            true => writeln!(out, "{}", json!({ "marker": &*marker.name, "hits": hits }))?,
            false => writeln!(out, "{hits:>width$} {}", shown(&marker.name))?,
        }
    }
    Ok(())
}

fn heading<'a>(event: &Event<'a>, name: &'a str) -> Heading<'a> {
    Heading {
        time: event.time,
        cpu: event.cpu,
        process: event.process,
        thread: event.thread,
        name,
        marker: &event.marker.name,
        module: &event.image.module,
        site: event.site.address,
    }
}

/// The files of a recording.
struct Recording {
    description: Description,
    stream: files::Bytes,
    /// How it ended; `None` if it was cut off.
    end: Option<Json>,
}

impl Recording {
    fn open(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(ctf::DESCRIPTION);
        let text = fs::read(&path).with_context(|| format!("{}: not a recording of smark", path.display()))?;
        let description = Description::from_json(&text).with_context(|| path.display().to_string())?;
        let path = folder.join(ctf::STREAM);
        let stream = File::open(&path).and_then(|file| files::map(&file));
        let stream = stream.with_context(|| path.display().to_string())?;
        let end = fs::read(folder.join(ctf::END)).ok().and_then(|text| serde_json::from_slice(&text).ok());
        Ok(Self { description, stream, end })
    }
}
