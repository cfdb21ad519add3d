//! What is printed to stderr, how stdout looks, and the exit status. Errors are printed in this file only.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;

use crate::project::ProjectSettings;

/// Before the settings are read, and for commands without any.
static NO_SETTINGS: ProjectSettings = ProjectSettings::NONE;

/// Heading of the options that all commands have.
const EVERYWHERE: &str = "Options of all commands";

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Global {
    /// Print only errors to stderr
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    quiet: bool,
    /// When to use colours; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, help_heading = EVERYWHERE)]
    color: Colour,
    /// Take the settings of this file, or of none [default: smark.toml, or a Cargo.toml with [package.metadata.smark]
    /// or [workspace.metadata.smark], in the current folder or the first one above it that has one]
    #[arg(long, value_name = "FILE|none", global = true, help_heading = EVERYWHERE, hide_short_help = true)]
    pub(crate) settings: Option<PathBuf>,
    /// Do not print to a pager: SMARK_PAGER or PAGER, otherwise `less -FRX`
    #[arg(long, global = true, help_heading = EVERYWHERE, hide_short_help = true)]
    no_pager: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

/// The result of a command, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
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

/// The properties of stdout and stderr.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    /// Whether only errors are printed.
    pub(crate) quiet: bool,
    /// Whether it is said what was searched and taken.
    pub(crate) verbose: bool,
    pub(crate) colour: bool,
    /// The width of the terminal in columns; `None` if stdout is not a terminal.
    pub(crate) width: Option<usize>,
    /// Whether text may go to a pager.
    pub(crate) pager: bool,
    /// What the project sets.
    pub(crate) settings: &'static ProjectSettings,
}

impl Console {
    pub(crate) fn new(global: &Global) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = match global.color {
            Colour::Auto => is_terminal && !no_colour,
            Colour::Always => true,
            Colour::Never => false,
        };
        let width = || terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
        let pager = is_terminal && !global.no_pager;
        Self {
            quiet: global.quiet,
            verbose: false,
            colour,
            width: is_terminal.then(width).flatten(),
            pager,
            settings: &NO_SETTINGS,
        }
    }

    /// For what is said before the options are known.
    pub(crate) const fn of_errors() -> Self {
        Self { quiet: false, verbose: false, colour: false, width: None, pager: false, settings: &NO_SETTINGS }
    }

    /// Prints an error.
    pub(crate) fn error(&self, what: &str) {
        self.say(what);
    }

    /// Prints a note, unless `--quiet`.
    pub(crate) fn note(&self, what: &str) {
        if !self.quiet {
            self.say(what);
        }
    }

    /// Prints what `--verbose` asks for, unless `--quiet`.
    pub(crate) fn detail(&self, what: &str) {
        if self.verbose {
            self.note(what);
        }
    }

    fn say(&self, what: &str) {
        // If stderr is closed, there is nobody to tell.
        let _ = writeln!(io::stderr().lock(), "smark: {}", simple_markers_resolver::text::shown(what));
    }
}
