//! Where a marker without site records is: found by file and line (`docs/design.md`, "The place of
//! a marker").
//!
//! Each copy of the line has one site: each instance of a function with rows of the line, not each
//! row. `dwarf::lines` reads the rows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::files::SourcePath;
use crate::dwarf::lines::{FileMatch, Rows};
use crate::dwarf::{DebugInfo, Die, NoLine};

/// The sites of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSites {
    /// The sites, by address.
    pub sites: Vec<LineSite>,
    /// Why there are none; `None` if there are sites.
    pub problem: Option<LineProblem>,
}

/// A site that was found in the line table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSite {
    /// Where it is.
    pub address: Vaddr,
    /// The line of its row, from 1.
    pub line: u32,
    /// Whether that is the line that was asked for; otherwise it is the next line of the function
    /// that has code.
    pub is_exact: bool,
    /// The name of the function, with its namespaces.
    pub function: Option<Arc<str>>,
    /// The instance of the function; `None` if the address is in no function.
    pub instance: Option<Die>,
}

/// Why a line has no site.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LineProblem {
    /// No line program names the file.
    NoSuchFile,
    /// These files match the name equally well.
    SeveralFiles(Vec<Arc<str>>),
    /// The line has no code, and no function with code is declared before it in the file.
    NoFunction,
    /// The line has no code, and may be in a function or in another one nested in it.
    SeveralFunctions,
    /// The line has no code, and no later line of its function has code.
    NothingBelow,
    /// The line has no code, and may be the last line of its block: other paths lead to the next
    /// line with code too.
    BlockEnds,
}

impl LineProblem {
    /// The name of the reason, stable over versions (`docs/json.md`).
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

impl DebugInfo<'_> {
    /// Finds the files that [`DebugInfo::sites_of_line`] is asked for later. All files take no
    /// longer than one.
    ///
    /// # Errors
    ///
    /// There is more to read than debug information of this size can need.
    pub(crate) fn find_files<'f>(&self, files: impl IntoIterator<Item = &'f Arc<str>>) -> Result<(), Error> {
        let names: Vec<SourcePath> = files.into_iter().map(|file| SourcePath::new(file)).collect();
        self.match_files(&names)
    }

    /// The sites of a line, or of the next line of its function that has code (`docs/design.md`,
    /// "The place of a marker").
    ///
    /// # Errors
    ///
    /// A line program of a unit that names the file, or its debug information, is malformed.
    #[cfg(any(test, feature = "fuzzing"))]
    #[allow(unreachable_pub, reason = "the fuzz targets call it")]
    pub fn sites_of_line(&self, file: &str, line: u32) -> Result<LineSites, Error> {
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

    /// Starts the search for the sites of a line by finding its file, or says why there are no
    /// sites.
    ///
    /// # Errors
    ///
    /// There is more to read than debug information of this size can need.
    pub(crate) fn search_line(&self, file: &str, line: u32) -> Result<Result<LineSearch, LineProblem>, Error> {
        let matched = self.match_file(&SourcePath::new(file))?;
        Ok(match &*matched {
            FileMatch::File { .. } => Ok(LineSearch { matched, line, copies: Copies::default() }),
            FileMatch::None => Err(LineProblem::NoSuchFile),
            FileMatch::Several(paths) => {
                Err(LineProblem::SeveralFiles(paths.iter().map(|path| Arc::clone(path.as_str())).collect()))
            }
        })
    }

    /// The sites of exactly this line in some units, without those that an earlier search found.
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
        let (FileMatch::File { path, units }, line) = (&**matched, *line) else { return Ok(Vec::new()) };
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
                row_of.push((self.instance_at(Vaddr(row.address), path.as_str(), line)?, index));
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

    /// For a line without code, the sites of the next line of its function that has code.
    ///
    /// # Errors
    ///
    /// The debug information of a unit that names the file is malformed.
    pub(crate) fn nearest_sites(&self, search: &LineSearch) -> Result<LineSites, Error> {
        let problem = |problem| Ok(LineSites { sites: Vec::new(), problem: Some(problem) });
        let FileMatch::File { path, units } = &*search.matched else { return Ok(LineSites::default()) };
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
    matched: Arc<FileMatch>,
    line: u32,
    copies: Copies,
}

impl LineSearch {
    /// Whether no site has been found yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.copies.sites.is_empty()
    }

    /// The units that name the file, ascending.
    pub(crate) fn units(&self) -> impl Iterator<Item = usize> {
        let units = match &*self.matched {
            FileMatch::File { units, .. } => units.as_slice(),
            _ => &[],
        };
        units.iter().map(|(unit, _)| *unit)
    }
}

/// The sites so far, by address: GCC writes several rows for one address.
#[derive(Debug, Default)]
struct Copies {
    sites: BTreeMap<u64, LineSite>,
}

impl Copies {
    /// Adds the first address of each run of rows of one instance, and returns the new ones. If
    /// some rows are statements, only these count.
    fn add(
        &mut self,
        info: &DebugInfo<'_>,
        rows: &Rows,
        indices: &[usize],
        instance: Option<Die>,
        line: u32,
        is_exact: bool,
    ) -> Result<Vec<LineSite>, Error> {
        let runs = || indices.chunk_by(|one, two| rows.is_one_run(*one, *two));
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
