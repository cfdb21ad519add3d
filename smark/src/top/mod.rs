//! `smark top`: the CPU time of processes and threads, counted in the kernel.

mod history;
mod hits;
mod keys;
mod listen;
mod metrics;
mod order;
mod receive;
mod remote;
mod screen;
mod send;
mod text;
mod together;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use simple_markers_top::Table;
use simple_markers_tracer::sys::signals;
use simple_markers_tracer::sys::top::{Choice, Top as Counter};

use self::hits::MarkerHits;
use self::listen::Listener;
use self::order::Sort;
use self::remote::{Outlets, Remote};
use self::screen::{After, Screen};
use self::text::View;
use crate::address::Address;
use crate::console::{Console, Status};
use crate::quantity;
use crate::terminal::Terminal;
use crate::watch::{GroupChoice, Pids, end_after, explained, pids};

/// Show the CPU time of each process and thread, exactly
///
/// The kernel counts at each switch of a CPU to another thread, so a process that lives for a few milliseconds is seen too. A table is
/// printed for each interval. It has the processes that ran in the interval: their share of one CPU, their CPU time since they
/// started, how often their threads left a CPU, and the longest time that one of them could run and waited for a CPU.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Top {
    /// Show only these processes, with their threads: numbers, separated by commas or blanks; may be given several times
    #[arg(short, long, value_name = "PID", value_parser = pids::parse)]
    pid: Vec<Pids>,
    #[command(flatten)]
    group: GroupChoice,
    /// Count the hits of markers with this name beside each process; may be given several times
    #[arg(long, value_name = "PATTERN", conflicts_with = "receive")]
    marker: Vec<String>,
    /// The files with the markers; they are not needed with -p and --cgroup
    #[arg(value_name = "FILE", requires = "marker")]
    files: Vec<PathBuf>,
    /// Show the threads of each process
    #[arg(long)]
    threads: bool,
    /// What the rows are sorted by
    #[arg(long, value_name = "COLUMN", default_value = "cpu")]
    sort: Sort,
    /// Show at most this many processes of each interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// The length of an interval
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration, default_value = "1s")]
    every: Duration,
    /// End after this time: 10s, 5min
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    duration: Option<Duration>,
    /// End after this many intervals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    intervals: Option<u64>,
    /// Print a line of JSON for each interval
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

const EXAMPLES: &str = "\
EXAMPLES
  What runs now, every second:
      smark top
  The threads of a process, by how long they wait for a CPU:
      smark top -p $(pidof server) --sort wait
  The ten processes that use the CPUs most, in the next minute:
      smark top --every 1min --intervals 1 --top 10
  What runs on several machines, in one table on the machine box:
      smark top --receive 0.0.0.0:7007
      smark top --send udp://box:7007
  What runs in a container:
      smark top --container web
  How often requests are passed on, beside what they cost:
      smark top --marker queue:submit target/release/server
  For Prometheus on this machine:
      smark top --metrics :9111 --top 100";

/// The longest time until the first table on a terminal.
const FIRST: Duration = Duration::from_millis(200);

impl Top {
    pub(crate) fn run(self, console: &Console) -> anyhow::Result<ExitCode> {
        signals::catch();
        self.duration.into_iter().for_each(end_after);
        if let Some(address) = &self.remote.receive {
            return self.receive(address, console);
        }
        let mut outlets = self.remote.open(self.top, self.view().threads, console)?;
        let group = self.group.find()?;
        let choice = Choice { pids: pids::all(&self.pid), group: group.clone() };
        let counter = Counter::start(choice).map_err(|why| explained(why.into()))?;
        // Later: a process with hits has a row, so nothing must be counted before the rows are.
        let hits = match self.marker.is_empty() {
            true => None,
            false => Some(MarkerHits::start(console, &self.marker, &self.files, &pids::all(&self.pid), group)?),
        };
        if hits.as_ref().is_some_and(|hits| !hits.is_active()) {
            return Ok(Status::NoMatch.into());
        }
        let mut source = TopSource { counter, hits };
        let terminal = if self.json || outlets.are_open() { None } else { Terminal::open()? };
        match terminal {
            Some(terminal) => self.interact(console, &mut source, terminal)?,
            None => self.print_all(console, &mut source, &mut outlets)?,
        }
        outlets.end(console);
        Ok(ExitCode::SUCCESS)
    }

    /// Shows what other machines send.
    fn receive(&self, address: &Address, console: &Console) -> anyhow::Result<ExitCode> {
        let server = self.remote.serve(self.top, console)?;
        let options = receive::ReceiveOptions {
            sort: self.sort,
            most: self.top.map(|top| top as usize),
            view: self.view(),
            every: self.every,
            limit: self.intervals,
            json: self.json,
            silent: server.is_some(),
        };
        receive::run(Listener::new(address)?, server, options, console)
    }

    fn view(&self) -> View {
        View { threads: self.threads || !self.pid.is_empty() }
    }

    /// Gives the tables away or prints them, one after the other.
    fn print_all(&self, console: &Console, source: &mut TopSource, outlets: &mut Outlets) -> anyhow::Result<()> {
        let mut due = Instant::now();
        let mut left = self.intervals;
        while left != Some(0) {
            due += self.every;
            let is_stopped = sleep_until(due, &mut || source.yield_leases(console));
            let mut table = source.read(console)?;
            outlets.give(&table, console);
            if self.json || !outlets.are_open() {
                self.arrange(&mut table, self.sort);
                self.print(&table)?;
            }
            if table.uncounted > 0 {
                console.note(&text::uncounted(&table));
            }
            if is_stopped {
                break;
            }
            // After a pause of the whole machine, the intervals start again.
            due = due.max(Instant::now().checked_sub(self.every).unwrap_or(due));
            left = left.map(|left| left - 1);
        }
        Ok(())
    }

    /// Shows the tables one over the other, and follows the keys.
    fn interact(&self, console: &Console, source: &mut TopSource, mut terminal: Terminal) -> anyhow::Result<()> {
        signals::catch_resize();
        let mut screen = Screen::new(self.view(), self.sort, self.every, console.colour);
        let mut left = self.intervals;
        // The first table comes soon.
        let mut due = Instant::now() + self.every.min(FIRST);
        let mut size = Terminal::size();
        let mut table = Table::default();
        screen.show(&table, size)?;
        while !signals::is_stopped() && left != Some(0) {
            let time = due.saturating_duration_since(Instant::now());
            let mut after = None;
            source.yield_leases(console);
            for key in keys::keys(&terminal.read(time), screen.asks()) {
                match screen.press(key) {
                    After::Quit => return Ok(()),
                    After::Suspend => {
                        terminal.suspend()?;
                        after = after.or(Some(After::Draw));
                    }
                    After::Draw => after = after.or(Some(After::Draw)),
                    After::Read => after = Some(After::Read),
                }
            }
            if Instant::now() >= due || after == Some(After::Read) {
                table = source.read(console)?;
                screen.add(&table);
                due = Instant::now() + screen.every;
                left = left.map(|left| left - 1);
                after = Some(After::Draw);
            }
            let new = Terminal::size();
            if after.is_some() || new != size {
                size = new;
                let mut shown = table.clone();
                self.arrange(&mut shown, screen.sort);
                screen.show(&shown, size)?;
            }
        }
        Ok(())
    }

    /// Sorts the rows, and removes those that are not wanted.
    fn arrange(&self, table: &mut Table, sort: Sort) {
        sort.sort(table);
        if let Some(top) = self.top {
            table.processes.truncate(top as usize);
        }
    }

    fn print(&self, table: &Table) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match self.json {
            true => writeln!(out, "{}", table.json())?,
            false => writeln!(out, "{}", text::text(table, self.view()))?,
        }
        out.flush()
    }
}

/// Where the tables come from.
struct TopSource {
    counter: Counter,
    hits: Option<MarkerHits>,
}

impl TopSource {
    /// Lets those go on who want to overwrite a file that is watched.
    fn yield_leases(&mut self, console: &Console) {
        if let Some(hits) = &mut self.hits {
            hits.yield_leases(console);
        }
    }

    fn read(&mut self, console: &Console) -> anyhow::Result<Table> {
        let mut table = self.counter.read()?;
        if let Some(hits) = &mut self.hits {
            hits.add_to(console, &mut table)?;
        }
        Ok(table)
    }
}

/// Sleeps, and returns whether the user wants to end. Calls `each` after each signal.
fn sleep_until(due: Instant, each: &mut dyn FnMut()) -> bool {
    loop {
        each();
        if signals::is_stopped() {
            return true;
        }
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        signals::wait(None, left);
    }
}
