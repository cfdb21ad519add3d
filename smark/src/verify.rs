//! `smark export --to gdb --verify`: gdb reads the script and says where it sets the breakpoints. Nothing of the program is run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::process::{Command, Output};

use anyhow::{Context as _, bail};
use simple_markers_resolver::export::ExportText;
use simple_markers_resolver::resolve::Architecture;

/// What a line of the answers begins with.
const ANSWER: &str = "smark-verify";

/// Fails if gdb sets a breakpoint of a script for the program at `path` elsewhere, or not at all.
pub(crate) fn breakpoints(exported: &ExportText, path: &str, arch: Architecture) -> anyhow::Result<()> {
    let mut script = tempfile::NamedTempFile::new().context("--verify: no temporary file")?;
    script.write_all(exported.text.as_bytes()).context("--verify: the temporary file")?;
    let mut questions = tempfile::NamedTempFile::new().context("--verify: no temporary file")?;
    questions.write_all(ask(exported).as_bytes()).context("--verify: the temporary file")?;
    let is_ours = arch.as_str() == std::env::consts::ARCH;
    let gdb = if is_ours { "gdb" } else { "gdb-multiarch" };
    let mut command = Command::new(gdb);
    command.args(["-q", "-nx", "-batch", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off"]);
    command.args(["-iex", "set width 0", "-iex", "set confirm off", path, "-x"]).arg(script.path());
    if let Some(place) = &exported.place {
        command.args(["-ex", place]);
    }
    command.arg("-x").arg(questions.path()).env("LC_ALL", "C");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("--verify runs {gdb}, which is not installed"),
        Err(error) => return Err(error).context(format!("--verify runs {gdb}")),
    };
    compare(exported, &output)
}

/// The commands that ask for the address of each breakpoint. `info breakpoints` sets `$_` to it.
fn ask(exported: &ExportText) -> String {
    exported.breakpoints.iter().fold(String::new(), |mut text, breakpoint| {
        let number = breakpoint.number;
        let _ = writeln!(text, "set var $_ = -1L\ninfo breakpoints {number}\nprintf \"{ANSWER} {number} %lx\\n\", $_");
        text
    })
}

fn compare(exported: &ExportText, output: &Output) -> anyhow::Result<()> {
    let said = String::from_utf8_lossy(&output.stdout);
    let answers: BTreeMap<usize, u64> = said.lines().filter_map(answer).collect();
    let mut wrong = Vec::new();
    for breakpoint in &exported.breakpoints {
        let there = answers.get(&breakpoint.number).filter(|at| **at != u64::MAX);
        match there {
            Some(at) if *at == breakpoint.address.0 => {}
            Some(at) => wrong.push(format!(
                "{} is at {}, and gdb's breakpoint is at {at:#x}",
                breakpoint.marker, breakpoint.address
            )),
            None => {
                wrong.push(format!("{} is at {}, and gdb sets no breakpoint", breakpoint.marker, breakpoint.address));
            }
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let first = stderr.lines().rfind(|line| !line.trim().is_empty()).map(|line| format!(" (gdb: {line})"));
    bail!("gdb does not confirm the script{}: {}", first.unwrap_or_default(), wrong.join("; "));
}

fn answer(line: &str) -> Option<(usize, u64)> {
    let (number, address) = line.strip_prefix(ANSWER)?.trim().split_once(' ')?;
    Some((number.parse().ok()?, u64::from_str_radix(address, 16).ok()?))
}
