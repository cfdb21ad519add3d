//! Where hits come from: programs that are watched, or a recording.

use std::process::ExitCode;

use crate::console::Console;
use crate::end::Totals;
use crate::sinks::Sink;

/// Hands on hits.
pub(crate) trait Source {
    /// Hands each hit to a sink, until there are no more or it wants no more.
    fn run(&mut self, console: &Console, sink: &mut dyn Sink) -> anyhow::Result<()>;

    /// What became of the hits; `None` if there was nothing to watch.
    fn totals(&mut self) -> anyhow::Result<Option<Totals<'_>>>;

    /// Says what is missing among the hits. Returns the exit status of the command.
    fn end(self, console: &Console) -> anyhow::Result<ExitCode>;
}

/// Hands the hits of a source to a sink, and ends both. Returns the exit status of the command.
pub(crate) fn drain(
    mut source: impl Source,
    mut sink: Box<dyn Sink + '_>,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    source.run(console, &mut *sink)?;
    if let Some(totals) = source.totals()? {
        sink.end(console, &totals)?;
    }
    source.end(console)
}
