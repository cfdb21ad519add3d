//! `smark report`: prints a recording, counts its hits, or writes it for other tools.

mod pairs;
mod perfetto;
mod recording;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use simple_markers_tracer::aggregate::{Question, Replay};
use simple_markers_tracer::ctf::Chosen;
use simple_markers_tracer::filter::Filter;

use self::pairs::Pairs;
use self::recording::{Read, Recording};
use crate::choice::Strict;
use crate::console::{Console, Status};
use crate::count::{Answer, Ask};
use crate::end::{self, Totals};
use crate::narrow;
use crate::narrow::Asked;
use crate::pager::Pager;
use crate::trace::Lines;

/// Print the hits of a recording, or count them
///
/// The lines are those that `smark trace` prints, and the counts those of `smark count`. PATTERN is a glob for marker names. An operand
/// is DIR if it contains a `/` or names an existing folder. If the recording was cut off, what is complete is printed.
///
/// With --count, --by, --hist and --time the hits are counted as `smark count` does it. With --time, --where chooses the hits of A.
///
/// --to perfetto writes a timeline with a track for each thread. --pair A..B makes a slice from each marker A to the next marker B in
/// the same thread, or with a --key after it, to the next B where the argument has the same value, in any thread of the process.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark report [OPTIONS] [PATTERN]... [DIR]",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}")
)]
pub(crate) struct Report {
    /// Globs for marker names, and the folder of the recording [default: the newest smark-NAME-DATE here]
    #[arg(value_name = "PATTERN|DIR")]
    operands: Vec<PathBuf>,
    /// Print only the hits for which this holds: arguments compared with == != < <= > >=, joined by && || ! ( )
    #[arg(long = "where", value_name = "FILTER", value_parser = narrow::filter, allow_hyphen_values = true)]
    filter: Option<Filter>,
    /// Also take arguments of this kind in filters, keys and counts
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    include: Vec<Include>,
    #[command(flatten)]
    strict: Strict,
    /// Print a line of JSON for each hit, or for each marker that is counted
    #[arg(long)]
    json: bool,
    /// Print the number of hits of each marker
    #[arg(long, conflicts_with_all = ["by", "hist", "time"])]
    count: bool,
    // Before `ask`, which takes the value of --time away.
    #[command(flatten)]
    pairs: Pairs,
    #[command(flatten)]
    ask: Ask,
    /// Write the hits for another tool
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["json", "count", "by", "hist", "time"])]
    to: Option<To>,
    /// Write to this file, which must not exist
    #[arg(short, long, value_name = "FILE", requires = "to")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "output")]
    force: bool,
}

/// A tool that reads the hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// A trace for ui.perfetto.dev: a track for each thread
    Perfetto,
}

/// Which arguments filters, keys and counts take besides certain ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Include {
    /// Arguments that may have another value than in the source
    Doubtful,
    /// The same
    All,
}

const EXAMPLES: &str = "\
EXAMPLES
  The hits of a recording, as smark trace prints them:
      smark record -o trace -- ./server
      smark report trace
  Only some of them:
      smark report --where 'tag > 100 && status != 0' 'queue:*' trace
  How often each marker was passed:
      smark report --count trace
  How long requests took, told apart by their tags:
      smark report --time queue:submit..queue:complete --key tag trace
  For a program to read:
      smark report --json trace | jq .args
  A timeline for https://ui.perfetto.dev, with requests and dispatches as slices:
      smark report --to perfetto -o trace.pftrace --pair queue:submit..queue:complete --key tag \\
          --pair queue:dispatch..queue:dispatch_return trace";

const STATUS: &str = "\
EXIT STATUS
  0  done
  1  a pattern matches nothing
  2  the recording cannot be read, or not to its end, or the output cannot be written";

impl Report {
    pub(crate) fn run(self, console: &Console) -> anyhow::Result<Status> {
        let (patterns, folder) = recording::operands(console, &self.operands)?;
        let doubtful = self.strict.values(self.include.contains(&Include::Doubtful), !self.include.is_empty())?;
        let recording = Recording::open(console, &folder, doubtful)?;
        let question = self.ask.question(self.pairs.key.as_deref());
        let asked = Asked { filter: self.filter.as_ref(), question: &question };
        let (selected, mut status) = recording.select(console, &patterns)?;
        if selected.is_nothing() || !asked.has_markers(console, "--time", selected.names()) {
            return Ok(Status::NoMatch);
        }
        let chosen = selected.choose(console, &asked)?;
        if self.to == Some(To::Perfetto) {
            let Some(pairs) = self.pairs.choose(console, &selected)? else { return Ok(Status::NoMatch) };
            let read = self.perfetto(console, &recording, &chosen, pairs)?;
            recording.tell(console, &read);
            return Ok(status.max(read.status));
        }
        let read = match self.count || question != Question::Hits {
            true => self.count(console, &recording, &chosen, &question)?,
            false => {
                let _pager = (!self.json).then(|| Pager::start(console));
                self.print(console, &recording, &chosen)?
            }
        };
        recording.tell(console, &read);
        status = status.max(read.status);
        Ok(status)
    }

    /// Prints the hits.
    fn print(&self, console: &Console, recording: &Recording, chosen: &Chosen) -> anyhow::Result<Read> {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let mut lines =
            Lines::new(recording.description.start, Box::new(recording.description.kernel.clone()), console.colour);
        let (mut hits, mut unfiltered) = (0u64, 0u64);
        let mut text = String::new();
        let read = recording.read(console, chosen, &mut |hit, _, site| {
            match recording::holds(site, hit) {
                Some(true) => hits += 1,
                Some(false) => return Ok(()),
                None => {
                    unfiltered += 1;
                    return Ok(());
                }
            }
            text.clear();
            match self.json {
                true => text.push_str(&lines.json(hit).to_string()),
                false => lines.write(hit, &mut text),
            }
            text.push('\n');
            Ok(out.write_all(text.as_bytes())?)
        })?;
        if self.json {
            let (lost, exit) = (read.lost, recording.exit());
            end::write_lost(&mut out, lost)?;
            end::write(&mut out, Totals { hits: Some(hits + lost), lost, unfiltered, uncounted: None, exit })?;
        }
        out.flush()?;
        narrow::tell_unfiltered(console, &chosen.plan, unfiltered);
        Ok(read)
    }

    /// Counts the hits, and prints the counts.
    fn count(
        &self,
        console: &Console,
        recording: &Recording,
        chosen: &Chosen,
        question: &Question,
    ) -> anyhow::Result<Read> {
        let mut replay = Replay::new(&chosen.plan, usize::try_from(self.ask.max_values).unwrap_or(usize::MAX));
        let mut hits = 0u64;
        let read = recording.read(console, chosen, &mut |hit, number, site| {
            let holds = recording::holds(site, hit);
            hits += u64::from(holds == Some(true));
            replay.add(&site.aggregate, holds, &hit.passage(number));
            Ok(())
        })?;
        let answer = Answer::new(&chosen.plan, question, &replay.counted(), &self.ask);
        let mut out = BufWriter::new(io::stdout().lock());
        match self.json {
            true => {
                for line in answer.json() {
                    writeln!(out, "{line}")?;
                }
                let (lost, exit) = (read.lost, recording.exit());
                let (unfiltered, uncounted) = (answer.unfiltered(), Some(answer.uncounted()));
                end::write_lost(&mut out, lost)?;
                end::write(&mut out, Totals { hits: Some(hits + lost), lost, unfiltered, uncounted, exit })?;
            }
            false => out.write_all(answer.text().as_bytes())?,
        }
        out.flush()?;
        answer.tell(console);
        narrow::tell_unfiltered(console, &chosen.plan, answer.unfiltered());
        Ok(read)
    }
}
