//! Stacks for other tools: folded, and as a flame graph.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use inferno::flamegraph::{self, Options, Palette, color::BasicPalette};
use simple_markers_resolver::resolve::source_name;
use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::{Question, StackMoment};

use super::answer::Answer;
use super::interval_stacks::NamedSums;
use super::stacks::NamedStack;
use crate::console::Console;
use crate::output;

/// What the numbers of stacks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StackUnit {
    Hits,
    Samples,
    /// Times in microseconds.
    Microseconds,
}

/// Stacks that are written.
pub(crate) struct Flames {
    /// Whether they are drawn.
    pub(super) is_svg: bool,
    pub(super) unit: StackUnit,
    /// `None` for stdout.
    pub(super) path: Option<PathBuf>,
    pub(super) force: bool,
    /// The files that are not overwritten.
    pub(super) inputs: Vec<PathBuf>,
}

impl Flames {
    /// The stacks of hits. Without a path they are written to stdout.
    pub(crate) fn of_hits(is_svg: bool, path: Option<PathBuf>, force: bool) -> anyhow::Result<Self> {
        if let Some(path) = &path {
            output::check(path, &[], force)?;
        }
        Ok(Self { is_svg, unit: StackUnit::Hits, path, force, inputs: Vec::new() })
    }

    /// The same, but these files are not overwritten.
    pub(crate) fn sparing(self, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        if let Some(path) = &self.path {
            output::check(path, inputs, self.force)?;
        }
        Ok(Self { inputs: inputs.to_vec(), ..self })
    }

    /// Writes the stacks of an answer.
    pub(crate) fn write(&self, answer: &Answer, console: &Console) -> anyhow::Result<()> {
        let lines = folded(&self.unit.sums(answer));
        if self.is_svg && lines.is_empty() {
            console.error("--to svg: no stack was counted, so there is nothing to draw");
            return Ok(());
        }
        let bytes = match self.is_svg {
            true => self.unit.drawn(&lines, false)?,
            false => lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect(),
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
}

impl StackUnit {
    /// Those of the answer to a question.
    pub(super) fn all(question: &Question) -> Vec<Self> {
        let notes = question.notes();
        let is_of_stacks = matches!(question, Question::Stacks { .. });
        let all = [(is_of_stacks, Self::Hits), (notes.blocked, Self::Microseconds), (notes.on_cpu, Self::Samples)];
        all.into_iter().filter_map(|(is_there, unit)| is_there.then_some(unit)).collect()
    }

    /// The functions of each stack, the outermost first, with its number. What is in no stack is one without functions.
    pub(super) fn sums(self, answer: &Answer) -> BTreeMap<Vec<String>, u64> {
        let mut sums: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        let mut add = |functions: Vec<String>, number: u64| {
            let sum = sums.entry(functions).or_default();
            *sum = sum.saturating_add(number);
        };
        let is_own = |sums: &&NamedSums| match self {
            Self::Hits => false,
            Self::Samples => sums.moment() == StackMoment::OnCpu,
            Self::Microseconds => sums.moment() == StackMoment::Blocked,
        };
        let of_markers = answer.stacks.iter().flatten().filter(|_| self == Self::Hits);
        let of_intervals = || answer.interval_stacks.iter().filter(is_own);
        for stack in of_markers.chain(of_intervals().flat_map(|sums| &sums.stacks)) {
            add(functions(stack), stack.sum);
        }
        let of_hits = if self == Self::Hits { answer.hits_without_stack() } else { 0 };
        add(Vec::new(), of_intervals().map(NamedSums::without_stack).fold(of_hits, u64::saturating_add));
        if self == Self::Microseconds {
            sums.values_mut().for_each(|ns| *ns = ns.saturating_add(500) / 1_000);
        }
        sums.retain(|_, number| *number > 0);
        sums
    }

    /// What the flame graph shows, the unit, and the colours.
    fn words(self) -> (&'static str, &'static str, BasicPalette) {
        match self {
            Self::Hits => ("Hits by stack", "hits", BasicPalette::Hot),
            Self::Samples => ("Samples on a CPU", "samples", BasicPalette::Hot),
            Self::Microseconds => ("Blocked time", "us", BasicPalette::Io),
        }
    }

    /// The title of the flame graph and the unit of its numbers.
    pub(super) fn title(self) -> (&'static str, &'static str) {
        let (title, unit, _) = self.words();
        (title, unit)
    }

    /// The flame graph of folded stacks. A picture in a page runs no code, so it has none to zoom and search.
    pub(super) fn drawn(self, lines: &[String], is_picture: bool) -> anyhow::Result<Vec<u8>> {
        let mut options = Options::default();
        options.no_javascript = is_picture;
        let (title, unit, palette) = self.words();
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
pub(super) fn folded(sums: &BTreeMap<Vec<String>, u64>) -> Vec<String> {
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
