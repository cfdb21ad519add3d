//! `smark report --to ctf`: writes a trace in which whole values are structures, for other readers.
//!
//! The recording is read twice: what its values have in common becomes the types, and then the values are
//! written.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;
use simple_markers_tracer::ctf::writer::Packet;
use simple_markers_tracer::ctf::{self, Description, SiteSelection, StructuredValues, Writer, metadata};

use super::recording::Recording;
use crate::console::{Console, Status};
use crate::narrow;
use crate::new_folder::{FolderContents, NewFolder};
use crate::source::Source as _;
use crate::uuid::random;

/// The size of a packet that is not exceeded, unless one event does.
const PACKET: usize = 256 << 10;

/// Where a trace is written.
pub(super) struct TraceFolder(NewFolder);

/// The files of a trace.
const FILES: [&str; 3] = [ctf::STREAM, ctf::METADATA, ctf::STRUCTURED];

impl TraceFolder {
    /// Accepts a folder that does not exist; with `force` also one with such a trace.
    pub(super) fn prepare(path: PathBuf, force: bool) -> anyhow::Result<Self> {
        let contents = FolderContents {
            is_there: |folder| folder.join(ctf::STRUCTURED).is_file(),
            writer: "smark report --to ctf",
            name: "trace",
        };
        NewFolder::prepare(path, force, &contents).map(Self)
    }

    /// Moves the files to their places.
    fn finish(self) -> anyhow::Result<()> {
        let Self(NewFolder { path, temporary, is_old }) = self;
        let failed = || format!("{}: it cannot be written", path.display());
        if !is_old {
            fs::rename(temporary.path(), &path).with_context(failed)?;
            // It is not there any more.
            let _ = temporary.keep();
            return Ok(());
        }
        for file in FILES {
            fs::rename(temporary.path().join(file), path.join(file)).with_context(failed)?;
        }
        Ok(())
    }
}

/// Writes the hits of a recording that are wanted. `status` is what is known of it so far. Returns the exit
/// status of the command.
pub(super) fn write(
    console: &Console,
    recording: &Recording,
    chosen: &SiteSelection,
    folder: TraceFolder,
    status: Status,
) -> anyhow::Result<ExitCode> {
    let mut values = StructuredValues::default();
    recording.hits(status).each(None, &mut |hit, _| {
        if chosen.wants(hit) == Some(true) {
            values.add(&recording.description, hit);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let original = &recording.description;
    let tool = env!("CARGO_PKG_VERSION").to_owned();
    let description = Description { uuid: random()?, tool: tool.clone(), ..original.clone() };
    let place = |file: &str| folder.0.temporary.path().join(file);
    fs::create_dir(place(ctf::FOLDER))?;
    let about = json!({ "version": 1, "tool": tool, "recording": original.uuid_text() });
    fs::write(place(ctf::STRUCTURED), format!("{about}\n"))?;
    let mut stream = BufWriter::new(File::create(place(ctf::STREAM))?);
    let mut write = |packet: Option<Packet>| packet.map_or(Ok(()), |packet| stream.write_all(&packet.bytes));

    let mut writer = Writer::new(description, recording.plan(), PACKET).with_values(values);
    let (mut hits, mut unfiltered, mut known_lost) = (0u64, 0u64, 0);
    let mut source = recording.hits(status);
    source.each(Some(console), &mut |hit, lost| {
        if lost != known_lost {
            // Readers say between which packets hits were lost.
            write(writer.finish())?;
            writer.set_lost(lost);
            known_lost = lost;
        }
        match chosen.wants(hit) {
            Some(true) => {
                hits += 1;
                write(writer.write(hit))?;
            }
            Some(false) => {}
            None => unfiltered += 1,
        }
        Ok(ControlFlow::Continue(()))
    })?;
    writer.set_lost(source.lost());
    write(writer.finish())?;
    stream.flush()?;
    let metadata = metadata::structured_metadata(writer.description(), &writer.numbers(), writer.values());
    fs::write(place(ctf::METADATA), metadata)?;
    let path = folder.0.path.clone();
    folder.finish()?;
    narrow::tell_unfiltered(console, &chosen.plan, unfiltered);
    console.note(&format!("{hits} hits in {}", path.display()));
    source.end(console)
}
