//! Where a marker without site records is: by file and line (`docs/design.md`, "The place of a marker").
//!
//! One site for each *copy* of the line, that is for each instance of a function that has rows of it, and not for each row. It knows nothing
//! of how rows are written down, that is `dwarf::lines`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::files::SourcePath;
use crate::dwarf::lines::{Matched, Rows};
use crate::dwarf::{DebugInfo, Die, NoLine};

/// The sites of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSites {
    /// The sites, by address.
    pub sites: Vec<LineSite>,
    /// Why there are none; `None` where there are.
    pub problem: Option<LineProblem>,
}

/// A site that the line program names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSite {
    /// Where it is.
    pub address: Vaddr,
    /// The line that was taken, from 1.
    pub line: u32,
    /// Whether that is the very line; else the next one of the function that has code.
    pub is_exact: bool,
    /// The name of the function, with its namespaces.
    pub function: Option<Arc<str>>,
    /// The instance of it; `None` where the address is in no function.
    pub instance: Option<Die>,
}

/// Why a line has no site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineProblem {
    /// No line program names the file.
    NoSuchFile,
    /// Several files agree equally well with the name: these.
    SeveralFiles(Vec<Arc<str>>),
    /// The line has no code, and no function of the file that has any is declared before it.
    NoFunction,
    /// The line has no code, and can be in a function or in one nested in it.
    SeveralFunctions,
    /// The line has no code, and no line below it in its function has any.
    NothingBelow,
    /// The line has no code, and may be the last of its block: the next one with code is on other paths too.
    BlockEnds,
}

impl LineProblem {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoSuchFile => "no_such_file",
            Self::SeveralFiles(_) => "several_files",
            Self::NoFunction => "no_function",
            Self::SeveralFunctions => "several_functions",
            Self::NothingBelow => "nothing_below",
            Self::BlockEnds => "block_ends",
        }
    }
}

impl std::fmt::Display for LineProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::english::absence::line_problem(self))
    }
}

impl DebugInfo<'_> {
    /// Finds files of which [`DebugInfo::sites_of_line`] is then asked: all at once, which takes no longer than one of them.
    ///
    /// # Errors
    ///
    /// There is more to read than debug information of this size warrants.
    pub(crate) fn find_files<'f>(&self, files: impl IntoIterator<Item = &'f Arc<str>>) -> Result<(), Error> {
        let names: Vec<SourcePath> = files.into_iter().map(|file| SourcePath::new(file)).collect();
        self.match_files(&names)
    }

    /// The sites of a line, or of the next one of its function that has code (`docs/design.md`, "The place of a marker").
    ///
    /// # Errors
    ///
    /// A line program of a unit that names the file, or its debug information, is malformed.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn sites_of_line(&self, file: &str, line: u32) -> Result<LineSites, Error> {
        let mut search = match self.search_line(file, line)? {
            Ok(search) => search,
            Err(problem) => return Ok(LineSites { sites: Vec::new(), problem: Some(problem) }),
        };
        self.search_units(&mut search, 0..usize::MAX)?;
        match search.copies.sites.is_empty() {
            true => self.nearest_sites(&search),
            false => Ok(LineSites { sites: search.copies.sites.into_values().collect(), problem: None }),
        }
    }

    /// Starts the search for the sites of a line: finds the file. Else why there are no sites.
    ///
    /// # Errors
    ///
    /// There is more to read than debug information of this size warrants.
    pub(crate) fn search_line(&self, file: &str, line: u32) -> Result<Result<LineSearch, LineProblem>, Error> {
        let matched = self.match_file(&SourcePath::new(file))?;
        Ok(match &*matched {
            Matched::File { .. } => Ok(LineSearch { matched, line, copies: Copies::default() }),
            Matched::None => Err(LineProblem::NoSuchFile),
            Matched::Several(paths) => {
                Err(LineProblem::SeveralFiles(paths.iter().map(|path| Arc::clone(path.as_str())).collect()))
            }
        })
    }

    /// The sites of the very line in some units that no earlier search of the same line found.
    ///
    /// # Errors
    ///
    /// A line program of a unit that names the file, or its debug information, is malformed.
    pub(crate) fn search_units(
        &self,
        search: &mut LineSearch,
        wanted: std::ops::Range<usize>,
    ) -> Result<Vec<LineSite>, Error> {
        let LineSearch { matched, line, copies } = search;
        let (Matched::File { path, units }, line) = (&**matched, *line) else { return Ok(Vec::new()) };
        let first = units.partition_point(|(unit, _)| *unit < wanted.start);
        let units = units.get(first..).unwrap_or_default().iter().take_while(|(unit, _)| *unit < wanted.end);
        let mut found = Vec::new();
        for (unit, numbers) in units {
            let rows = self.rows(*unit)?;
            let mut of_line: Vec<usize> = numbers.iter().flat_map(|number| rows.of_line(*number, line)).collect();
            of_line.sort_unstable();
            let mut row_of: Vec<(Option<Die>, usize)> = Vec::new();
            for index in of_line {
                let Some(row) = rows.get(index) else { continue };
                let scope = self.scope_at(Vaddr(row.address), path.as_str(), line)?;
                row_of.push((scope.and_then(|scope| Some(scope.frames.first()?.instance)), index));
            }
            row_of.sort_unstable();
            for of_instance in row_of.chunk_by(|one, two| one.0 == two.0) {
                let Some(&(instance, _)) = of_instance.first() else { continue };
                let indices: Vec<usize> = of_instance.iter().map(|&(_, index)| index).collect();
                found.extend(copies.add(self, &rows, &indices, instance, line, true)?);
            }
        }
        Ok(found)
    }

    /// The sites of the next line of the function that has code, for a line that has none itself.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that names the file is malformed.
    pub(crate) fn nearest_sites(&self, search: &LineSearch) -> Result<LineSites, Error> {
        let problem = |problem| Ok(LineSites { sites: Vec::new(), problem: Some(problem) });
        let Matched::File { path, units } = &*search.matched else { return Ok(LineSites::default()) };
        let units: Vec<usize> = units.iter().map(|(unit, _)| *unit).collect();
        let mut copies = Copies::default();
        match self.next_line(&units, path, search.line)? {
            Ok(found) => {
                for next in found {
                    copies.add(self, &*self.rows(next.unit)?, &next.rows, Some(next.instance), next.line, false)?;
                }
            }
            Err(NoLine::NoFunction) => return problem(LineProblem::NoFunction),
            Err(NoLine::SeveralFunctions) => return problem(LineProblem::SeveralFunctions),
            Err(NoLine::NothingBelow) => return problem(LineProblem::NothingBelow),
            Err(NoLine::BlockEnds) => return problem(LineProblem::BlockEnds),
        }
        Ok(LineSites { sites: copies.sites.into_values().collect(), problem: None })
    }
}

/// A line whose sites are searched for, unit by unit.
#[derive(Debug)]
pub(crate) struct LineSearch {
    /// The file, and the units that name it.
    matched: Arc<Matched>,
    line: u32,
    copies: Copies,
}

impl LineSearch {
    /// Whether no site was found so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.copies.sites.is_empty()
    }

    /// The units that name the file, ascending.
    pub(crate) fn units(&self) -> impl Iterator<Item = usize> {
        let units = match &*self.matched {
            Matched::File { units, .. } => units.as_slice(),
            _ => &[],
        };
        units.iter().map(|(unit, _)| *unit)
    }
}

/// The sites so far, by address: GCC writes several rows at one.
#[derive(Debug, Default)]
struct Copies {
    sites: BTreeMap<u64, LineSite>,
}

impl Copies {
    /// Adds the first address of each run of rows of one instance; returns those that were not known. Where some rows are
    /// statements, only those count.
    fn add(
        &mut self,
        info: &DebugInfo<'_>,
        rows: &Rows,
        indices: &[usize],
        instance: Option<Die>,
        line: u32,
        is_exact: bool,
    ) -> Result<Vec<LineSite>, Error> {
        let runs = || indices.chunk_by(|one, two| is_one_run(rows, *one, *two));
        let is_statement = |index: &usize| rows.get(*index).is_some_and(|row| row.is_statement);
        let has_statement = indices.iter().any(is_statement);
        let function = match instance {
            Some(instance) => info.function_name(instance)?,
            None => None,
        };
        let mut added = Vec::new();
        for run in runs() {
            let first = run.iter().find(|index| !has_statement || is_statement(index));
            let Some(row) = first.and_then(|index| rows.get(*index)) else { continue };
            let site = LineSite { address: Vaddr(row.address), line, is_exact, function: function.clone(), instance };
            if let Entry::Vacant(entry) = self.sites.entry(row.address) {
                added.push(entry.insert(site).clone());
            }
        }
        Ok(added)
    }
}

/// Whether nothing but rows without a line is between two rows.
fn is_one_run(rows: &Rows, one: usize, two: usize) -> bool {
    (one.saturating_add(1)..two).all(|between| rows.get(between).is_some_and(|row| row.line == 0))
}
