//! `smark`: finds simple markers in built programs. This crate is the command line over the library
//! `simple_markers_resolver`: options, files, terminal, exit status.

mod address;
mod agent;
mod agent_report;
mod call_frames;
mod check;
mod choice;
mod compressed;
mod config;
mod console;
mod containers;
mod copied_stack;
mod count;
mod debug_files;
#[cfg(feature = "debuginfod")]
mod debuginfod;
mod end;
mod explain;
mod export;
mod features;
mod files;
mod fix;
mod getent;
mod hit_origin;
mod hit_stacks;
mod hit_text;
mod hit_tracks;
mod html;
mod http;
#[cfg(any(feature = "debuginfod", feature = "otlp"))]
mod http_client;
mod inputs;
mod kernel_frames;
mod kernels;
mod left_out;
mod libraries;
mod list;
mod machine;
mod manual;
mod mapped_symbols;
mod marks;
mod metrics;
mod moving_spans;
mod narrow;
mod new_folder;
#[cfg(not(feature = "otlp"))]
mod no_otlp;
mod note_options;
#[cfg(feature = "otlp")]
mod otlp;
mod otlp_option;
mod output;
mod pager;
mod pair_tally;
#[cfg(feature = "parquet")]
mod parquet;
mod plan;
mod planned;
mod process_functions;
mod progress;
mod project;
mod quantity;
mod rates;
mod record;
mod record_tables;
mod registers;
mod report;
mod review;
mod served_plans;
mod show;
mod sinks;
mod source;
mod sources;
mod sparkline;
mod spelling;
mod stacks;
mod symbols;
mod terminal;
mod terminal_keys;
mod top;
mod trace;
mod units;
mod uuid;
mod values;
mod verify;
mod view;
mod view_options;
mod watch;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use self::console::{Console, Global};
use self::project::ProjectSettings;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Finds simple markers in built programs: where each one is, and which variables can be read there.
#[derive(Debug, Parser)]
#[command(name = "smark", version, arg_required_else_help = true)]
struct Smark {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
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
    #[command(hide = !cfg!(feature = "view"))]
    View(view::RecordingView),
    Top(top::Top),
    Agent(agent::Agent),
    Explain(explain::Explain),
    Config(config::Config),
    Completions(manual::Completions),
    Man(manual::Man),
}

impl Command {
    /// Whether settings change what it does.
    fn has_settings(&self) -> bool {
        !matches!(self, Self::Report(_) | Self::View(_) | Self::Explain(_) | Self::Completions(_) | Self::Man(_))
    }
}

/// Runs the command.
fn main() -> ExitCode {
    let (arguments, hints) = spelling::replaced(std::env::args_os());
    let parsed = Smark::try_parse_from(arguments);
    let console = parsed.as_ref().map_or_else(|_| Console::of_errors(), |parsed| Console::new(&parsed.global));
    hints.iter().for_each(|hint| console.note(&hint.text()));
    let Smark { command, global } = parsed.unwrap_or_else(|error| error.exit());
    match run(command, &global, console) {
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

fn run(command: Command, global: &Global, mut console: Console) -> anyhow::Result<ExitCode> {
    if command.has_settings() {
        let settings = ProjectSettings::find(global.settings.as_deref(), Path::new(""))?;
        // They hold until the end.
        console.settings = Box::leak(Box::new(settings));
    }
    let console = &console;
    match command {
        Command::List(list) => list.run(console).map(ExitCode::from),
        Command::Show(show) => show.run(console).map(ExitCode::from),
        Command::Check(check) if check.fix.fix => fix::run(check, console).map(ExitCode::from),
        Command::Check(check) => check.run(console).map(ExitCode::from),
        Command::Export(export) => export.run(console).map(ExitCode::from),
        Command::Trace(trace) => trace.run(console),
        Command::Count(count) => count.run(console),
        Command::Record(record) => record_tables::run(record, console),
        Command::Plan(plan) => plan.run(console).map(ExitCode::from),
        Command::Report(report) => report.run(console),
        Command::View(view) => view.run(console),
        Command::Top(top) => top.run(console),
        Command::Agent(agent) => agent.run(Smark::command(), console),
        Command::Explain(explain) => explain.run(console).map(ExitCode::from),
        Command::Config(config) => config.run(console).map(ExitCode::from),
        Command::Completions(completions) => completions.run(Smark::command()).map(ExitCode::from),
        Command::Man(man) => man.run(Smark::command()).map(ExitCode::from),
    }
}

/// Whether the reader closed the pipe (`smark list .. | head`), which is not an error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<io::Error>().map(io::Error::kind);
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}
