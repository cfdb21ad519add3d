//! `--to`: what is written besides the table, or in its place.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use simple_markers_tracer::aggregate::Question;

use super::answer::Answer;
use super::flames::{Flames, StackUnit};
use super::page::CountPage;
use crate::console::Console;
use crate::end::Totals;
use crate::output;

/// Where and how stacks are written besides the table.
#[derive(Debug, Args)]
pub(super) struct StackExport {
    /// Write the stacks of --by stack, --by kstack, --blocked or --oncpu for another tool, or all counts as a page, at the end
    #[arg(long, value_name = "FORM")]
    to: Option<StackForm>,
    /// Write this to a file, and the table to stdout; otherwise it is written to stdout instead of the table
    #[arg(short, long, value_name = "FILE", requires = "to")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "output")]
    force: bool,
}

/// A form of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum StackForm {
    /// A line for each stack: its functions, the outermost first, and a number. flamegraph.pl, inferno and speedscope read it
    Folded,
    /// A flame graph for a browser
    Svg,
    /// A page for a browser with all counts, and with flame graphs of the stacks
    Html,
}

/// What is written besides the table.
pub(super) enum CountExport {
    Stacks(Flames),
    Page(CountPage),
}

impl CountExport {
    /// Whether stdout gets it, and not the table.
    pub(super) fn takes_stdout(&self) -> bool {
        match self {
            Self::Stacks(flames) => flames.path.is_none(),
            Self::Page(page) => page.path.is_none(),
        }
    }

    /// Writes it for an answer.
    pub(super) fn write(&self, answer: &Answer, totals: &Totals<'_>, console: &Console) -> anyhow::Result<()> {
        match self {
            Self::Stacks(flames) => flames.write(answer, console),
            Self::Page(page) => page.write(answer, totals),
        }
    }
}

impl StackExport {
    /// What is written of the answer to a question; `None` if that is only the table. `is_json` says that stdout gets JSON.
    pub(super) fn export(self, question: &Question, is_json: bool) -> anyhow::Result<Option<CountExport>> {
        let Self { to, output, force } = self;
        let Some(form) = to else { return Ok(None) };
        match &output {
            Some(path) => output::check(path, &[], force)?,
            None if is_json => bail!("--to: with --json the rest is written to a file; name it with -o FILE"),
            None => {}
        }
        let notes = question.notes();
        if form == StackForm::Html {
            return Ok(Some(CountExport::Page(CountPage { question: question.clone(), path: output, force })));
        }
        let unit = match question {
            Question::Stacks { .. } => StackUnit::Hits,
            _ if notes.blocked && notes.on_cpu => {
                bail!("--to: the times of --blocked and the samples of --oncpu cannot be added up; give one of the two")
            }
            _ if notes.blocked => StackUnit::Microseconds,
            _ if notes.on_cpu => StackUnit::Samples,
            _ => bail!("--to: nothing counts stacks; --by stack, --by kstack, --blocked and --oncpu do"),
        };
        Ok(Some(CountExport::Stacks(Flames {
            is_svg: form == StackForm::Svg,
            unit,
            path: output,
            force,
            inputs: Vec::new(),
        })))
    }
}
