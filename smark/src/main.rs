//! `smark`: finds simple markers in built programs. This crate is the command line over the library
//! `simple_markers_resolver`: options, files, terminal, exit status. Errors are printed in this
//! file only.

mod check;
mod choice;
mod compressed;
mod count;
mod debug_files;
#[cfg(feature = "debuginfod")]
mod debuginfod;
mod explain;
mod export;
mod files;
mod fix;
mod inputs;
mod left_out;
mod libraries;
mod list;
mod manual;
mod narrow;
mod output;
mod plan;
mod planned;
mod quantity;
mod rates;
mod record;
mod report;
mod show;
mod sources;
mod spelling;
mod stacks;
mod symbols;
mod top;
mod trace;
mod units;
mod verify;
mod watch;

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// Finds simple markers in built programs: where each one is, and which variables can be read there.
#[derive(Debug, Parser)]
#[command(name = "smark", version, arg_required_else_help = true)]
struct Smark {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
}

/// Heading of the options that all commands have.
const EVERYWHERE: &str = "Options of all commands";

#[derive(Clone, Debug, clap::Args)]
struct Global {
    /// Print only errors to stderr
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    quiet: bool,
    /// When to use colours; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, help_heading = EVERYWHERE)]
    color: Colour,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::List),
    Show(show::Show),
    Check(check::Check),
    Export(export::Export),
    Trace(trace::Trace),
    Count(Box<count::Count>),
    Record(record::Record),
    Plan(plan::Plan),
    Report(report::Report),
    Top(top::Top),
    Explain(explain::Explain),
    Completions(manual::Completions),
    Man(manual::Man),
}

/// The result of a command, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    /// Success.
    Done,
    /// A pattern matches nothing, or a check fails.
    NoMatch,
    /// A file could not be read completely.
    Unreadable,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::NoMatch => Self::from(1),
            Status::Unreadable => Self::from(2),
        }
    }
}

/// Runs the command.
fn main() -> ExitCode {
    let (arguments, hints) = spelling::replaced(std::env::args_os());
    let parsed = Smark::try_parse_from(arguments);
    let console = parsed.as_ref().map_or_else(|_| Console::of_errors(), |parsed| Console::new(&parsed.global));
    hints.iter().for_each(|hint| console.note(&hint.text()));
    let command = match parsed {
        Ok(parsed) => parsed.command,
        Err(error) => error.exit(),
    };
    let result = match command {
        Command::List(list) => list.run(&console).map(ExitCode::from),
        Command::Show(show) => show.run(&console).map(ExitCode::from),
        Command::Check(check) => check.run(&console).map(ExitCode::from),
        Command::Export(export) => export.run(&console).map(ExitCode::from),
        Command::Trace(trace) => trace.run(&console),
        Command::Count(count) => count.run(&console),
        Command::Record(record) => record.run(&console),
        Command::Plan(plan) => plan.run(&console).map(ExitCode::from),
        Command::Report(report) => report.run(&console).map(ExitCode::from),
        Command::Top(top) => top.run(&console),
        Command::Explain(explain) => explain.run(&console).map(ExitCode::from),
        Command::Completions(completions) => completions.run().map(ExitCode::from),
        Command::Man(man) => man.run().map(ExitCode::from),
    };
    match result {
        Ok(status) => status,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            match error.downcast_ref::<narrow::BadFilter>() {
                Some(filter) => filter.lines().iter().for_each(|line| console.error(line)),
                None => console.error(&format!("{error:#}")),
            }
            ExitCode::from(2)
        }
    }
}

/// Whether the reader closed the pipe (`smark list .. | head`), which is not an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<io::Error>().map(io::Error::kind);
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}

/// The properties of stdout and stderr.
#[derive(Clone, Copy, Debug)]
struct Console {
    quiet: bool,
    colour: bool,
    /// The width of the terminal in columns; `None` if stdout is not a terminal.
    width: Option<usize>,
}

impl Console {
    fn new(global: &Global) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = match global.color {
            Colour::Auto => is_terminal && !no_colour,
            Colour::Always => true,
            Colour::Never => false,
        };
        let width = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
        Self { quiet: global.quiet, colour, width: is_terminal.then(width).flatten() }
    }

    /// For what is said before the options are known.
    fn of_errors() -> Self {
        Self { quiet: false, colour: false, width: None }
    }

    /// Prints an error.
    fn error(&self, what: &str) {
        self.say(what);
    }

    /// Prints a note, unless `--quiet`.
    fn note(&self, what: &str) {
        if !self.quiet {
            self.say(what);
        }
    }

    fn say(&self, what: &str) {
        // If stderr is closed, there is nobody to tell.
        let _ = writeln!(io::stderr().lock(), "smark: {}", simple_markers_resolver::text::shown(what));
    }
}
