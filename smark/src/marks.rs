//! The options that name places which no record describes, and what is said of those that are not found.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, bail};
use clap::Args;
use simple_markers_resolver::english;
use simple_markers_resolver::marks::Mark;
use simple_markers_resolver::resolve::{MarkProblem, ResolvedImage};

/// The options that name places.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MarkOptions {
    /// Take a place as a marker that has no record: a line (`queue.c:42`) or the entry of functions (`submit()`, `queue_*()`), with
    /// a format and arguments: 'queue.c:42 "depth %u of %s", q->depth, q->name'; may be given several times. Without a PATTERN
    /// nothing else is taken
    #[arg(long, value_name = "MARK", value_parser = parse)]
    mark: Vec<Mark>,
    /// Read such places from a file, one in a line; a line that begins with `#` is a comment
    #[arg(long, value_name = "FILE")]
    marks: Vec<PathBuf>,
    /// Whether they are taken beside all markers.
    #[arg(skip)]
    pub(crate) are_beside: bool,
    /// The names of the marks that time the calls of a function.
    #[arg(skip)]
    timed: Vec<String>,
    /// What the options mean, once the files are read.
    #[arg(skip)]
    all: OnceLock<Arc<[Mark]>>,
}

fn parse(text: &str) -> Result<Mark, String> {
    Mark::parse(text).map_err(|error| english::marks::error(&error))
}

impl MarkOptions {
    /// These places alone.
    pub(crate) fn of(mark: Vec<Mark>) -> Self {
        Self { mark, ..Self::default() }
    }

    /// Adds the marks that time the calls of a function, but for those that the user gave.
    pub(crate) fn add_calls(&mut self, entry: &str, exit: &str) -> anyhow::Result<()> {
        let known = self.load()?;
        for name in [entry, exit] {
            if !known.iter().any(|mark| *mark.name == *name) {
                self.mark.push(parse(name).map_err(|why| anyhow::anyhow!("--time {entry}: {why}"))?);
            }
            self.timed.push(name.to_owned());
        }
        Ok(())
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.mark.is_empty() && self.marks.is_empty()
    }

    /// The places of all options, those of files last. The files are read once.
    pub(crate) fn read(&self) -> anyhow::Result<&Arc<[Mark]>> {
        match self.all.get() {
            Some(all) => Ok(all),
            None => {
                let all = self.load()?.into();
                Ok(self.all.get_or_init(|| all))
            }
        }
    }

    fn load(&self) -> anyhow::Result<Vec<Mark>> {
        let mut marks = self.mark.clone();
        for path in &self.marks {
            let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
            marks.extend(of_file(path, &text)?);
        }
        let mut places: Vec<(&str, &str, &str)> =
            marks.iter().map(|mark| (&*mark.name, &*mark.format, &*mark.args)).collect();
        places.sort_unstable();
        if let Some([(name, ..), _]) = places.windows(2).find(|pair| matches!(pair, [one, other] if one == other)) {
            bail!("the mark {name} is given twice");
        }
        // An inlined copy has no return that belongs to its entry.
        let of =
            |mark: Mark| if self.timed.iter().any(|name| *mark.name == **name) { mark.out_of_line() } else { mark };
        Ok(marks.into_iter().map(of).collect())
    }
}

fn of_file(path: &Path, text: &str) -> anyhow::Result<Vec<Mark>> {
    let mut marks = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let is_mark = !line.trim_start().starts_with('#') && !line.trim().is_empty();
        if is_mark {
            let mark = Mark::parse(line).map_err(|error| {
                let what = english::marks::error(&error);
                anyhow::anyhow!("{}:{number}:{}: {what}", path.display(), error.offset + 1)
            })?;
            marks.push(mark);
        }
    }
    Ok(marks)
}

/// The marks that have no place in some images so far, each with the problem that says most.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnplacedMarks(Vec<Option<MarkProblem>>);

impl UnplacedMarks {
    /// Of so many marks, none of which was searched yet.
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![Some(MarkProblem::NoDebugInfo); count])
    }

    /// Notes what an image has of the marks with these numbers.
    pub(crate) fn add(&mut self, image: &ResolvedImage, searched: &[usize]) {
        for (index, &mark) in searched.iter().enumerate() {
            let problem = image.unplaced.iter().find(|unplaced| unplaced.mark == index).map(|it| it.problem.clone());
            if let Some(known) = self.0.get_mut(mark) {
                *known = match (known.take(), problem) {
                    (Some(known), Some(new)) if weight(&new) < weight(&known) => Some(known),
                    (Some(_), Some(new)) => Some(new),
                    _ => None,
                };
            }
        }
    }

    /// The numbers of the marks that have no place yet.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let numbered = self.0.iter().enumerate();
        numbered.filter_map(|(number, problem)| problem.as_ref().map(|_| number)).collect()
    }

    /// Why a mark has no place; `None` if it has one.
    pub(crate) fn problem(&self, mark: usize) -> Option<&MarkProblem> {
        self.0.get(mark)?.as_ref()
    }

    /// What is said of each mark that has no place.
    pub(crate) fn messages(&self, marks: &[Mark]) -> Vec<String> {
        let message = |(mark, problem): (&Mark, &Option<MarkProblem>)| {
            Some(format!("mark {}: {}", mark.name, english::marks::problem(problem.as_ref()?)))
        };
        marks.iter().zip(&self.0).filter_map(message).collect()
    }
}

/// How much a problem says: the more, the nearer the image is to having the place.
fn weight(problem: &MarkProblem) -> u8 {
    match problem {
        MarkProblem::NoDebugInfo => 0,
        MarkProblem::NoSuchFile | MarkProblem::NoSuchFunction => 1,
        MarkProblem::Unreadable(_) => 2,
        MarkProblem::NoCode => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_time_calls_are_those_out_of_line() {
        let mut options =
            MarkOptions::of(vec![parse("submit() \"%d\", n").expect("a mark"), parse("b()").expect("a mark")]);
        options.add_calls("submit()", "submit() return").expect("marks");
        let all = options.read().expect("marks");
        let found: Vec<_> = all.iter().map(|mark| (&*mark.name, &*mark.args, mark.is_out_of_line)).collect();
        assert_eq!(found, [("submit()", "n", true), ("b()", "", false), ("submit() return", "", true)]);
    }

    #[test]
    fn a_file_has_a_mark_in_a_line() {
        let path = Path::new("places");
        let marks = of_file(path, "# where\n\nqueue.c:42 \"%d\", n\n  submit()\n").expect("marks");
        assert_eq!(marks.iter().map(|mark| &*mark.name).collect::<Vec<_>>(), ["queue.c:42", "submit()"]);
        let error = of_file(path, "a.c:1\n a.c:1 \"%d\"\n").expect_err("no argument").to_string();
        assert_eq!(error, "places:2:8: the format takes 1 argument, and 0 are given");
    }
}
