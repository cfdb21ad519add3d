//! `smark record --to parquet`: a recording that becomes tables when it has ended.
//!
//! Tables are not written while hits arrive. A Parquet file can be read when its end is written,
//! and columns of whole values need all hits; and encoding them would take the CPU that the
//! recorder needs. So the hits are in a recording first, which can be read up to its last packet at
//! any time, also if `smark` is killed.

use std::process::ExitCode;

use crate::console::Console;
use crate::record::Record;

/// Records, and writes tables if they are asked for. Returns the exit status of the command.
#[cfg(feature = "parquet")]
pub(crate) fn run(record: Record, console: &Console) -> anyhow::Result<ExitCode> {
    use crate::report::{Tables, tabulate};
    use anyhow::Context as _;
    use simple_markers_tracer::ctf;

    let Some((path, force, file_size)) = record.tables() else { return record.run(console) };
    let mut recording = path.clone().into_os_string();
    recording.push(".recording");
    let recording = std::path::PathBuf::from(recording);
    let tables = Tables::prepare(path, force, file_size)?;
    let status = record.with_output(recording.clone()).run(console)?;
    if !recording.join(ctf::DESCRIPTION).exists() {
        // Nothing was watched.
        return Ok(status);
    }
    let shown = recording.display();
    let kept = || format!("{shown} has the hits: smark report --to parquet -o DIR {shown} writes the tables");
    tabulate(console, &recording, tables).with_context(kept)?;
    std::fs::remove_dir_all(&recording).with_context(|| shown.to_string())?;
    Ok(status)
}

#[cfg(not(feature = "parquet"))]
pub(crate) fn run(record: Record, console: &Console) -> anyhow::Result<ExitCode> {
    if record.tables().is_some() {
        anyhow::bail!("--to parquet: {}", crate::features::without("parquet"));
    }
    record.run(console)
}
