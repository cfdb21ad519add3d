//! `cargo smark`: builds the programs of a package or workspace, and runs `smark` on them.
//!
//! `arguments` splits the command line, `artifacts` builds. The program `smark` does the rest.

mod arguments;
mod artifacts;
mod options;
#[path = "../../project.rs"]
mod project;
#[path = "../../fix/vcs.rs"]
mod vcs;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use simple_markers_resolver::check::ProfileSettings;
use simple_markers_resolver::english;

use arguments::Arguments;
use artifacts::{Artifacts, Debug};
use project::Defaults;

fn main() -> ExitCode {
    let given: Vec<OsString> = env::args_os().skip(1).collect();
    // Cargo starts `cargo-smark smark ..`.
    let given = match given.first() {
        Some(first) if first == "smark" => given.get(1..).unwrap_or_default(),
        _ => &given,
    };
    match arguments::read(given) {
        Ok(arguments) => run(arguments).unwrap_or_else(|error| {
            say(&format!("{error:#}"));
            ExitCode::from(2)
        }),
        // Help and the version arrive here too.
        Err(error) => {
            let _ = error.print();
            ExitCode::from(if error.use_stderr() { 2 } else { 0 })
        }
    }
}

fn run(mut arguments: Arguments) -> anyhow::Result<ExitCode> {
    let command = if arguments.command == "fix" { "check" } else { &arguments.command };
    if arguments.asks_for_help() {
        return start(Command::new(smark()).arg(command).arg("--help"));
    }
    if ["completions", "man"].contains(&command) {
        return start(Command::new(smark()).arg(command).arg("--cargo").args(&arguments.passed));
    }
    let command = command.to_owned();
    arguments.settle()?;
    let (arguments, command) = (&arguments, &*command);
    if command == "config" {
        let lock = arguments.lock(&artifacts::workspace(arguments)?);
        let defaults = Defaults { lock: lock.as_deref(), profile: &arguments.profile };
        arguments.project.write(&mut std::io::stdout().lock(), &defaults, arguments.has("--json"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.command == "fix" && !arguments.has("--dry-run") {
        // Before the build, which may write a Cargo.lock.
        let has = |option| arguments.has(option);
        let allowed = vcs::FixPermissions {
            dirty: has("--allow-dirty"),
            staged: has("--allow-staged"),
            no_vcs: has("--allow-no-vcs"),
        };
        vcs::check(&artifacts::workspace(arguments)?, allowed)?;
    }
    let Some(built) = artifacts::build(arguments)? else {
        // Cargo has reported why.
        return Ok(ExitCode::from(2));
    };
    if built.files.is_empty() {
        anyhow::bail!("cargo built no program and no library");
    }
    if !arguments.quiet {
        if let Some(advice) = advice(command, arguments, &built) {
            say(&advice);
        }
    }
    let files = built.files.iter().map(|file| arguments::as_file(file));
    let mut smark = Command::new(smark());
    smark.arg(command);
    if arguments.command == "fix" {
        smark.args(["--fix", "--allow-dirty", "--allow-no-vcs", "--within"]).arg(&built.workspace);
        for argument in artifacts::build_command(arguments) {
            let mut option = OsString::from("--build-argument=");
            option.push(argument);
            smark.arg(option);
        }
    }
    if command == "check" {
        smark.arg("--manifest").arg(built.manifest()).arg("--cargo-profile").arg(&arguments.profile);
    }
    smark.args(arguments.passed_to_smark()).args(arguments.settled_arguments(&built.workspace)).args(files);
    start(&mut smark)
}

/// Runs a program; its exit code, or 2 if a signal ended it.
fn start(command: &mut Command) -> anyhow::Result<ExitCode> {
    let status =
        command.status().with_context(|| format!("{} cannot be started", command.get_program().to_string_lossy()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::from(2), ExitCode::from))
}

/// Advice for a profile without debug information of variables; `None` if the profile has it.
///
/// `check` says itself that there are lines only.
fn advice(command: &str, arguments: &Arguments, built: &Artifacts) -> Option<String> {
    let (profile, manifest) = (&arguments.profile, built.manifest());
    let text = fs::read_to_string(&manifest).ok()?;
    let settings = ProfileSettings::find(&manifest.display().to_string(), &text, profile)?;
    let without = match built.debug {
        Debug::None => "has no debug information, so cargo strips the sites of the markers too",
        Debug::Lines if settings.strip.is_some() => {
            "has debug information of lines only, and cargo strips that and the sites of the markers"
        }
        Debug::Lines if command == "check" => return None,
        Debug::Lines => "has debug information of lines only, so no variable can be found",
        Debug::Full if settings.strip.is_some() => "strips the debug information and the sites of the markers",
        Debug::Full => return None,
    };
    Some(format!("the profile `{profile}` {without}: {}", english::help::settings(&settings)))
}

/// The `smark` beside this program, since both are installed together; otherwise `smark` from PATH.
fn smark() -> PathBuf {
    let name = format!("smark{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().map(|program| program.with_file_name(&name));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(name))
}

fn say(what: &str) {
    use std::io::Write as _;
    // If stderr is closed, there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "cargo smark: {what}");
}
