//! Stacks for other tools: folded, and as a flame graph.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use inferno::flamegraph::{self, Options, Palette, color::BasicPalette};
use simple_markers_resolver::resolve::source_name;
use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::Question;

use super::answer::Answer;
use super::stacks::NamedStack;
use crate::console::Console;
use crate::output;

/// Where and how stacks are written besides the table.
#[derive(Debug, Args)]
pub(super) struct StackExport {
    /// Write the stacks of --by stack, --by kstack, --blocked or --oncpu for another tool, at the end
    #[arg(long, value_name = "FORM")]
    to: Option<StackForm>,
    /// Write them to this file, and the table to stdout; otherwise they are written to stdout instead of the table
    #[arg(short, long, value_name = "FILE", requires = "to")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "output")]
    force: bool,
}

/// A form of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StackForm {
    /// A line for each stack: its functions, the outermost first, and a number. flamegraph.pl, inferno and speedscope read it
    Folded,
    /// A flame graph for a browser
    Svg,
}

/// What the numbers of stacks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StackUnit {
    Hits,
    Samples,
    /// Times in microseconds.
    Microseconds,
}

/// Stacks that are written.
pub(crate) struct Flames {
    form: StackForm,
    unit: StackUnit,
    /// `None` for stdout.
    path: Option<PathBuf>,
    force: bool,
    /// The files that are not overwritten.
    inputs: Vec<PathBuf>,
}

impl StackExport {
    /// What is written of the answer to a question; `None` if that is only the table. `is_json` says that stdout gets JSON.
    pub(super) fn flames(self, question: &Question, is_json: bool) -> anyhow::Result<Option<Flames>> {
        let Self { to, output, force } = self;
        let Some(form) = to else { return Ok(None) };
        let notes = question.notes();
        let unit = match question {
            Question::Stacks { .. } => StackUnit::Hits,
            _ if notes.blocked && notes.on_cpu => {
                bail!("--to: the times of --blocked and the samples of --oncpu cannot be added up; give one of the two")
            }
            _ if notes.blocked => StackUnit::Microseconds,
            _ if notes.on_cpu => StackUnit::Samples,
            _ => bail!("--to: nothing counts stacks; --by stack, --by kstack, --blocked and --oncpu do"),
        };
        match &output {
            Some(path) => output::check(path, &[], force)?,
            None if is_json => bail!("--to: with --json the stacks are written to a file; name it with -o FILE"),
            None => {}
        }
        Ok(Some(Flames { form, unit, path: output, force, inputs: Vec::new() }))
    }
}

impl Flames {
    /// The stacks of hits. Without a path they are written to stdout.
    pub(crate) fn of_hits(form: StackForm, path: Option<PathBuf>, force: bool) -> anyhow::Result<Self> {
        if let Some(path) = &path {
            output::check(path, &[], force)?;
        }
        Ok(Self { form, unit: StackUnit::Hits, path, force, inputs: Vec::new() })
    }

    /// The same, but these files are not overwritten.
    pub(crate) fn sparing(self, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        if let Some(path) = &self.path {
            output::check(path, inputs, self.force)?;
        }
        Ok(Self { inputs: inputs.to_vec(), ..self })
    }

    /// Whether stdout gets the stacks, and not the table.
    pub(crate) fn takes_stdout(&self) -> bool {
        self.path.is_none()
    }

    /// Writes the stacks of an answer.
    pub(crate) fn write(&self, answer: &Answer, console: &Console) -> anyhow::Result<()> {
        let lines = folded(&self.sums(answer));
        let bytes = match self.form {
            StackForm::Folded => lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect(),
            StackForm::Svg if lines.is_empty() => {
                console.error("--to svg: no stack was counted, so there is nothing to draw");
                return Ok(());
            }
            StackForm::Svg => self.drawn(&lines)?,
        };
        match &self.path {
            Some(path) => output::place(path, &bytes, None, &self.inputs, self.force),
            None => {
                let mut out = io::stdout().lock();
                out.write_all(&bytes)?;
                Ok(out.flush()?)
            }
        }
    }

    /// The functions of each stack, the outermost first, with its number. What is in no stack is one without functions.
    fn sums(&self, answer: &Answer) -> BTreeMap<Vec<String>, u64> {
        let mut sums: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        let mut add = |functions: Vec<String>, number: u64| {
            let sum = sums.entry(functions).or_default();
            *sum = sum.saturating_add(number);
        };
        let of_markers = answer.stacks.iter().flatten();
        let of_intervals = answer.interval_stacks.iter().flat_map(|sums| &sums.stacks);
        for stack in of_markers.chain(of_intervals) {
            add(functions(stack), stack.sum);
        }
        add(Vec::new(), answer.without_stack());
        if self.unit == StackUnit::Microseconds {
            sums.values_mut().for_each(|ns| *ns = ns.saturating_add(500) / 1_000);
        }
        sums.retain(|_, number| *number > 0);
        sums
    }

    /// The flame graph of folded stacks.
    fn drawn(&self, lines: &[String]) -> anyhow::Result<Vec<u8>> {
        let mut options = Options::default();
        let (title, unit, palette) = match self.unit {
            StackUnit::Hits => ("Hits by stack", "hits", BasicPalette::Hot),
            StackUnit::Samples => ("Samples on a CPU", "samples", BasicPalette::Hot),
            StackUnit::Microseconds => ("Blocked time", "us", BasicPalette::Io),
        };
        (options.title, options.count_name) = (title.to_owned(), unit.to_owned());
        // The same functions have the same colours in each graph.
        (options.colors, options.hash) = (Palette::Basic(palette), true);
        let mut svg = Vec::new();
        flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg).context("--to svg")?;
        Ok(svg)
    }
}

/// What stands for the functions of what is in no stack.
const NO_STACK: &str = "[no stack]";

/// A line for each stack.
fn folded(sums: &BTreeMap<Vec<String>, u64>) -> Vec<String> {
    let line = |(functions, number): (&Vec<String>, &u64)| match functions.is_empty() {
        true => format!("{NO_STACK} {number}"),
        false => format!("{} {number}", functions.join(";")),
    };
    sums.iter().map(line).collect()
}

/// The functions of a stack, the outermost first, also those that were inlined. Those of the kernel have the suffix `_[k]`.
fn functions(stack: &NamedStack) -> Vec<String> {
    let mut functions = Vec::new();
    for frame in stack.program.iter().rev() {
        let named: Vec<&str> = frame.functions.iter().rev().filter_map(|function| function.name.as_deref()).collect();
        match named.is_empty() {
            true => functions.push(unseparated(&frame.place_text())),
            false => functions.extend(named.into_iter().map(|name| unseparated(&source_name(name)))),
        }
    }
    for frame in stack.kernel.iter().rev() {
        functions.push(format!("{}_[k]", unseparated(frame.function().unwrap_or("[unknown]"))));
    }
    functions
}

/// A name without what separates functions.
fn unseparated(name: &str) -> String {
    shown(name).replace(';', ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_outermost_function_first() {
        let of = |functions: &[&str], number| (functions.iter().map(|name| unseparated(name)).collect(), number);
        let sums = BTreeMap::from([of(&["main", "f(a;b)", "read_[k]"], 7), of(&[], 2)]);
        assert_eq!(folded(&sums), ["[no stack] 2", "main;f(a:b);read_[k] 7"]);
    }
}
