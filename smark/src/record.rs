//! `smark record`: writes the hits of markers to a recording.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use clap::Args;
use simple_markers_tracer::Hit;
use simple_markers_tracer::ctf::writer::Packet;
use simple_markers_tracer::ctf::{self, Description, Flight, Writer, metadata::metadata};
use simple_markers_tracer::event::Notes;
use simple_markers_tracer::sys::{self, Session, signals};

use crate::Console;
use crate::watch::{Buffer, Watch, events};

/// Write the hits of markers to a recording in the Common Trace Format
///
/// The markers are chosen as in `smark trace`. The recording is a folder that `smark report`, babeltrace2 and Trace Compass read. What
/// is complete there can be read at any time, also if smark is killed or the disk is full.
///
/// With --ring only the newest hits are kept, in memory. They are written at the end, when the marker of --until is passed, and when
/// smark gets the signal USR1.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark record [OPTIONS] -o <DIR> [PATTERN]... <FILE>...\n       smark record [OPTIONS] -o <DIR> [PATTERN]... -p <PID>\n       smark record [OPTIONS] -o <DIR> [PATTERN]... [FILE]... -- <COMMAND>...",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}")
)]
pub(crate) struct Record {
    #[command(flatten)]
    watch: Watch,
    /// The folder of the recording, which must not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Replace a recording that is in the folder
    #[arg(long)]
    force: bool,
    /// End before the recording has more bytes; K, M and G mean 2^10, 2^20 and 2^30 bytes
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Keep the newest hits in memory, in so many bytes
    #[arg(long, value_name = "SIZE", value_parser = size)]
    ring: Option<u64>,
    /// End when this marker is passed
    #[arg(long, value_name = "NAME")]
    until: Option<String>,
    #[command(flatten)]
    buffer: Buffer,
}

const EXAMPLES: &str = "\
EXAMPLES
  All that a program does:
      smark record -o trace -- target/release/server --port 8080
      smark report trace
  Read it with another tool:
      babeltrace2 trace
  The last 64 MiB before an error:
      smark record -o trace --ring 64M --until queue:failed -p $(pidof server)";

/// The section of the help about the exit status.
const STATUS: &str = "\
EXIT STATUS
  0  done, also if --max-size ended it
  1  a pattern matches nothing
  2  the probes could not be set, a file could not be read, or the recording could not be written
  With a COMMAND, its own exit status, or 128 and the number of the signal that killed it, unless the recording could not be written.";

/// The size of a packet.
const PACKET: u64 = 256 << 10;
/// The fewest packets of a flight recorder.
const PACKETS: u64 = 16;
/// The least size of a packet, and of a flight recorder.
const LEAST: u64 = 4 << 10;
/// A packet is written at the latest so many ns after its first event.
const LATEST: u64 = 1_000_000_000;

/// Parses a size such as `64M`.
fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 10),
        Some((at, 'm' | 'M')) => (&text[..at], 20),
        Some((at, 'g' | 'G')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "a size is a number, or a number and K, M or G".to_owned())?;
    match number.checked_mul(1 << shift) {
        Some(size) if size >= LEAST => Ok(size),
        _ => Err(format!("at least {LEAST} bytes, and less than 2^64")),
    }
}

impl Record {
    pub(crate) fn run(self, console: &Console) -> anyhow::Result<ExitCode> {
        let folder = Folder::prepare(self.output, self.force)?;
        if self.ring.is_some() {
            signals::catch_dump();
        }
        let mut watching = match self.watch.start(console, self.buffer.mode(false)) {
            Ok(watching) if watching.is_active() => watching,
            Ok(watching) => {
                folder.abandon();
                return watching.end(console);
            }
            Err(error) => {
                folder.abandon();
                return Err(error);
            }
        };
        let plan = &watching.plan;
        if let Some(until) = self.until.as_deref().filter(|name| !plan.markers.iter().any(|it| &*it.name == *name)) {
            console.error(&format!("--until {until}: no marker that is watched has this name"));
        }
        let start = watching.started;
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let description = Description {
            uuid: random()?,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            clock_offset: u64::try_from(epoch.as_nanos()).unwrap_or(u64::MAX).saturating_sub(start),
            start,
            ..Description::default()
        };
        let most = self.ring.map_or(PACKET, |ring| (ring / PACKETS).clamp(LEAST, PACKET));
        let recorder = RefCell::new(Recorder {
            writer: Writer::new(description, plan, usize::try_from(most).unwrap_or(usize::MAX)),
            notes: Notes::new(events::names(plan)),
            flight: self.ring.map(|ring| Flight::new(usize::try_from(ring).unwrap_or(usize::MAX))),
            output: folder.create(self.max_size.unwrap_or(u64::MAX))?,
            is_described: false,
            until: self.until,
            is_over: false,
            recorded: 0,
        });
        recorder.borrow_mut().describe();
        let mut each = |hit: &Hit<'_>| recorder.borrow_mut().hit(hit);
        let mut pause = |_: &_, session: &Session| recorder.borrow_mut().pause(session);
        let ran = watching.run(console, &mut each, &mut pause);
        let mut recorder = recorder.into_inner();
        let lost = watching.lost()?;
        recorder.end(lost);
        let received = watching.session().map_or(0, Session::received);
        let exit = watching.exit();
        let result = recorder.finish(console, received, lost, exit);
        ran?;
        let status = watching.end(console)?;
        result.map(|()| status)
    }
}

/// Writes hits to a recording.
struct Recorder {
    writer: Writer,
    notes: Notes,
    flight: Option<Flight>,
    output: Output,
    /// Whether the files have the description as it is.
    is_described: bool,
    until: Option<String>,
    /// Whether the marker was passed at which the recording ends.
    is_over: bool,
    /// How many hits were written.
    recorded: u64,
}

impl Recorder {
    /// Adds a hit. Returns whether more are wanted.
    fn hit(&mut self, hit: &Hit<'_>) -> bool {
        if self.writer.add(hit.plan) {
            self.is_described = false;
        }
        if hit.event().is_some_and(|event| self.notes.add(&event)) {
            self.is_described = false;
        }
        if let Some(packet) = self.writer.write(hit) {
            self.keep(packet);
        }
        self.is_over = self.until.as_deref() == Some(&*hit.marker.name);
        !self.is_over && self.output.stopped.is_none()
    }

    /// Writes what has waited for long, or what a signal asks for.
    fn pause(&mut self, session: &Session) -> anyhow::Result<bool> {
        let is_asked = self.flight.is_some() && signals::take_dump();
        let is_old = self.writer.begin().is_some_and(|begin| sys::now().saturating_sub(begin) >= LATEST);
        if is_asked || is_old {
            self.writer.set_lost(session.lost()?);
            if let Some(packet) = self.writer.finish() {
                self.keep(packet);
            }
        }
        if is_asked {
            self.dump();
        }
        Ok(!self.is_over && self.output.stopped.is_none())
    }

    /// Writes all that is left.
    fn end(&mut self, lost: u64) {
        self.writer.set_lost(lost);
        if let Some(packet) = self.writer.finish() {
            self.keep(packet);
        }
        self.dump();
    }

    fn keep(&mut self, packet: Packet) {
        match &mut self.flight {
            Some(flight) => flight.add(packet),
            None => {
                self.write(&packet);
                self.writer.reuse(packet);
            }
        }
    }

    /// Writes the packets of the flight recorder. If not all of them may be written, the newest
    /// ones are.
    fn dump(&mut self) {
        let Some(flight) = &mut self.flight else { return };
        let mut packets = flight.take();
        self.describe();
        let mut size: u64 = packets.iter().map(|packet| packet.bytes.len() as u64).sum();
        while size > self.output.left() {
            let Some(oldest) = packets.pop_front() else { break };
            size -= oldest.bytes.len() as u64;
        }
        for packet in packets {
            self.write(&packet);
        }
    }

    /// Writes a packet, and before it what its events mean.
    fn write(&mut self, packet: &Packet) {
        self.describe();
        if self.output.write(&packet.bytes) {
            self.recorded += packet.events;
        }
    }

    /// Writes what the events mean, if the files do not say it yet.
    fn describe(&mut self) {
        if !self.is_described {
            self.writer.set_kernel(self.notes.known());
            let description = self.writer.description();
            self.output.describe(&metadata(description), &description.to_json().to_string());
            self.is_described = true;
        }
    }

    /// Says what was recorded.
    fn finish(self, console: &Console, received: u64, lost: u64, exit: Option<i32>) -> anyhow::Result<()> {
        let Self { recorded, writer, flight, mut output, .. } = self;
        let end = serde_json::json!({
            "hits": received + lost, "lost": lost, "recorded": recorded, "exit": exit,
            "stopped": output.stopped.as_ref().map(Stopped::word),
        });
        let folder = output.folder.display().to_string();
        if let Some(flight) = flight.as_ref().filter(|flight| flight.dropped() > 0) {
            console.note(&format!("{} older hits were dropped", flight.dropped()));
        }
        if writer.unrecorded() > 0 {
            console
                .error(&format!("{} hits were not recorded: there are too many kinds of events", writer.unrecorded()));
        }
        console.note(&format!("{recorded} hits in {folder} ({} bytes)", output.size()));
        // It is the last file: without it the recording was cut off.
        output.end(&end.to_string());
        match output.stopped {
            None => Ok(()),
            Some(Stopped::Full(most)) => {
                console.note(&format!("{folder}: the recording ended early: it may have {most} bytes (--max-size)"));
                Ok(())
            }
            Some(Stopped::Failed(error)) => {
                let kept = format!("{folder}: the recording ended early; the {recorded} hits before can be read");
                Err(anyhow::Error::new(error).context(kept))
            }
        }
    }
}

/// A folder that will have a recording.
struct Folder {
    path: PathBuf,
    /// Whether it has a recording that is replaced.
    is_old: bool,
}

/// The files of a recording.
const FILES: [&str; 4] = [ctf::STREAM, ctf::METADATA, ctf::DESCRIPTION, ctf::END];

impl Folder {
    /// Creates the folder, or accepts one with a recording if `force`.
    fn prepare(path: PathBuf, force: bool) -> anyhow::Result<Self> {
        let shown = path.display();
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self { path, is_old: false }),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(error).with_context(|| format!("{shown}: the folder cannot be created"))
            }
            Err(_) if !path.is_dir() => bail!("{shown}: not a folder"),
            Err(_) if !path.join(ctf::DESCRIPTION).is_file() => bail!("{shown}: it exists, and is not a recording"),
            Err(_) if !force => bail!("{shown}: it exists; --force replaces the recording"),
            Err(_) => Ok(Self { path, is_old: true }),
        }
    }

    /// Removes the folder if it is new.
    fn abandon(self) {
        if !self.is_old {
            // It is empty.
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Creates the files of a recording of at most `most` bytes.
    fn create(self, most: u64) -> anyhow::Result<Output> {
        let failed = |path: &Path| format!("{}: it cannot be created", path.display());
        for file in FILES {
            match fs::remove_file(self.path.join(file)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("{}: it cannot be replaced", self.path.display()));
                }
                _ => {}
            }
        }
        let inner = self.path.join(ctf::FOLDER);
        match fs::create_dir(&inner) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| failed(&inner));
            }
            _ => {}
        }
        let path = self.path.join(ctf::STREAM);
        let stream = File::create(&path).with_context(|| failed(&path))?;
        Ok(Output { folder: self.path, stream, written: 0, described: 0, most, stopped: None })
    }
}

/// Why nothing more is written.
enum Stopped {
    /// The recording would have more bytes.
    Full(u64),
    /// A file could not be written.
    Failed(io::Error),
}

impl Stopped {
    fn word(&self) -> &'static str {
        match self {
            Self::Full(_) => "max-size",
            Self::Failed(error) if error.kind() == io::ErrorKind::StorageFull => "no-space",
            Self::Failed(_) => "write-error",
        }
    }
}

/// The files of a recording.
struct Output {
    folder: PathBuf,
    stream: File,
    /// The bytes of the packets.
    written: u64,
    /// The bytes of the other files.
    described: u64,
    /// The most bytes of all files.
    most: u64,
    stopped: Option<Stopped>,
}

/// The most bytes of the file that is written at the end.
const END_SIZE: u64 = 256;

impl Output {
    fn size(&self) -> u64 {
        self.written + self.described
    }

    /// How many bytes may be written yet.
    fn left(&self) -> u64 {
        self.most.saturating_sub(self.size() + END_SIZE)
    }

    /// Writes a packet. Returns whether it is in the file.
    fn write(&mut self, packet: &[u8]) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        if packet.len() as u64 > self.left() {
            self.stopped = Some(Stopped::Full(self.most));
            return false;
        }
        if let Err(error) = self.stream.write_all(packet) {
            // A part of it may be there. If it stays, readers read up to it.
            let _ = self.stream.set_len(self.written);
            self.stopped = Some(Stopped::Failed(error));
            return false;
        }
        self.written += packet.len() as u64;
        true
    }

    /// Writes the metadata and the description.
    fn describe(&mut self, metadata: &str, description: &str) {
        if self.stopped.is_some() {
            return;
        }
        let size = (metadata.len() + description.len()) as u64;
        // The old files are there until the new ones are complete.
        if self.written + self.described + size + END_SIZE > self.most {
            self.stopped = Some(Stopped::Full(self.most));
            return;
        }
        // The description first: it may say more than the metadata, but not less.
        let written = replace(&self.folder.join(ctf::DESCRIPTION), description)
            .and_then(|()| replace(&self.folder.join(ctf::METADATA), metadata));
        match written {
            Ok(()) => self.described = size,
            Err(error) => self.stopped = Some(Stopped::Failed(error)),
        }
    }

    /// Writes how the recording ended.
    fn end(&mut self, end: &str) {
        // If the disk is full, it is not there, and the recording counts as cut off.
        let written = replace(&self.folder.join(ctf::END), end);
        if let (Err(error), None) = (written, &self.stopped) {
            self.stopped = Some(Stopped::Failed(error));
        }
    }
}

/// Writes a file whole or not at all. Its temporary name starts with a dot, so readers of CTF
/// ignore it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".smark-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// The identity of a trace: a random UUID (RFC 9562, 5.4).
fn random() -> anyhow::Result<[u8; 16]> {
    let mut uuid = [0; 16];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut uuid)).context("/dev/urandom")?;
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(uuid)
}
