//! Names of source files: how they are built from the tables of a line program, and how they are
//! matched with the name in a marker.
//!
//! DWARF 5, 6.2.4 and 6.2.4.1: a file has a name, a directory from the table, and the compilation
//! directory, each relative to the next. This module decides which of several files a name means
//! (`docs/design.md`, "The place of a marker"). `lines` reads the rows of a file.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use gimli::constants as dw;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::lines::Lines;
use super::tables;
use super::unit::{Die, Value, is_partial};
use crate::Error;
use crate::text;

/// The name of a file in parts, from its root down. The first part of an absolute name is `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourcePath {
    text: Arc<str>,
}

/// How well two names of files agree. A greater value is a better match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agreement {
    /// This number of last components agree, and then the names differ. A prefix was remapped, or
    /// it is another file.
    Tail(usize),
    /// One name is the end of the other. They have this number of components in common.
    Contained(usize),
    /// One name is what the compiler was given, and the other is that name resolved in the
    /// compilation directory.
    AsWritten,
    /// Both are absolute, and the same.
    Same,
}

impl SourcePath {
    /// The name with `.`, `..`, double slashes and backslashes resolved textually. Symbolic links
    /// are not followed.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: normalised(text).into() }
    }

    pub(crate) fn as_str(&self) -> &Arc<str> {
        &self.text
    }

    /// The last component.
    pub(super) fn last(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }

    fn is_absolute(&self) -> bool {
        self.text.starts_with('/')
    }

    /// How well the names agree; `None` if their last components differ.
    pub(crate) fn agreement(&self, other: &Self) -> Option<Agreement> {
        if self.text == other.text && self.is_absolute() {
            return Some(Agreement::Same);
        }
        let last = other.last();
        if last.is_empty() || !self.text.ends_with(last) || self.last() != last {
            return None;
        }
        fn parts(path: &SourcePath) -> impl Iterator<Item = &str> {
            path.text.rsplit('/').filter(|part| !part.is_empty())
        }
        let common = parts(self).zip(parts(other)).take_while(|(one, two)| one == two).count();
        // An absolute name is not the end of a longer one.
        let ends = |path: &Self| parts(path).nth(common).is_none() && !path.is_absolute();
        match ends(self) || ends(other) {
            true => Some(Agreement::Contained(common)),
            false => Some(Agreement::Tail(common)),
        }
    }
}

/// The texts of the paths that were read, each once: the units of a program name the same headers.
#[derive(Debug, Default)]
pub(super) struct SharedPaths(Mutex<HashSet<Arc<str>>>);

impl SharedPaths {
    /// As [`SourcePath::new`]; equal paths share their text.
    fn path(&self, text: &str) -> SourcePath {
        let text = normalised(text);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&*text) {
            return SourcePath { text: Arc::clone(known) };
        }
        let text: Arc<str> = text.into();
        known.insert(Arc::clone(&text));
        SourcePath { text }
    }
}

/// A name without `.`, `..`, doubled slashes and backslashes.
fn normalised(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('\\', "/");
    let is_absolute = text.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    Cow::Owned(if is_absolute { format!("/{joined}") } else { joined })
}

/// Whether a name has no `.`, `..`, empty part or backslash.
fn is_plain(text: &str) -> bool {
    let relative = text.strip_prefix('/').unwrap_or(text);
    !text.contains('\\') && relative.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The candidates with the best agreement, in their order.
pub(crate) fn best<T>(candidates: impl IntoIterator<Item = (Agreement, T)>) -> Vec<(Agreement, T)> {
    let mut best: Vec<(Agreement, T)> = Vec::new();
    for (agreement, candidate) in candidates {
        match best.first().map_or(Ordering::Greater, |(first, _)| agreement.cmp(first)) {
            Ordering::Greater => best = vec![(agreement, candidate)],
            Ordering::Equal => best.push((agreement, candidate)),
            Ordering::Less => {}
        }
    }
    best
}

/// The files that a unit names, by number. A number without a file has `None`.
#[derive(Debug, Default)]
pub(super) struct UnitFiles {
    files: Vec<Option<SourcePath>>,
    /// The compilation directory; `None` if the unit does not state it.
    compiled_in: Option<String>,
}

/// A unit by its index, or a table by its offset, and the wanted names that it contains.
type Naming<'n> = (usize, Vec<&'n [u8]>);

/// The most files that are read for one unit.
const MOST: usize = 1 << 20;

impl UnitFiles {
    /// The file with a number.
    pub(super) fn get(&self, number: u64) -> Option<&SourcePath> {
        self.files.get(usize::try_from(number).ok()?)?.as_ref()
    }

    /// How many numbers there are.
    pub(super) fn count(&self) -> usize {
        self.files.len()
    }

    /// All files, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &SourcePath)> {
        self.files.iter().enumerate().filter_map(|(number, file)| Some((number as u64, file.as_ref()?)))
    }

    /// The numbers of the files that agree best with a name, and how well; empty if none does.
    pub(super) fn matching(&self, name: &SourcePath) -> Vec<(Agreement, u64)> {
        let compiled_in = self.compiled_in.as_deref().filter(|_| !name.is_absolute());
        let meant = compiled_in.map(|folder| SourcePath::new(&format!("{folder}/{}", name.text)));
        let agreement = |file: &SourcePath| match meant.as_ref() == Some(file) {
            true => Some(Agreement::AsWritten),
            false => file.agreement(name),
        };
        best(self.iter().filter_map(|(number, file)| Some((agreement(file)?, number))))
    }
}

impl Lines<'_> {
    /// The files in the line table of a unit.
    pub(super) fn unit_files(&self, index: usize) -> Result<Arc<UnitFiles>, Error> {
        self.files.get_or_make(index, || self.read_files(index))
    }

    /// The units whose tables name a file that ends in one of `lasts`, in their order, each with
    /// the names that it has. Does not build full names. Type units share the table of their
    /// compilation unit; only the first of these units counts.
    pub(super) fn naming<'n>(&self, lasts: &HashSet<&'n [u8]>) -> Result<Vec<Naming<'n>>, Error> {
        let named = (0..self.units.own_count()).into_par_iter().map(|unit| self.named_in(unit, lasts));
        let named: Vec<_> = named.collect::<Result<_, _>>()?;
        let mut tables = HashSet::new();
        let units = named.into_iter().enumerate().filter_map(|(unit, found)| Some((unit, found?)));
        let first = units.filter(|(_, (table, _))| tables.insert(*table));
        Ok(first.map(|(unit, (_, named))| (unit, named)).collect())
    }

    /// Which of `lasts` the table of a unit names, and the offset of that table; `None` if it names
    /// none.
    fn named_in<'n>(&self, index: usize, lasts: &HashSet<&'n [u8]>) -> Result<Option<Naming<'n>>, Error> {
        let Ok(unit) = self.units.unit_alone(index) else {
            self.units.check_work_left()?;
            return Ok(None);
        };
        // Also skips the partial units that dwz makes from entries that units have in common.
        if is_partial(&unit) {
            return Ok(None);
        }
        let Some(program) = &unit.line_program else { return Ok(None) };
        let files = program.header().file_names();
        self.units.charge(1 + files.len() as u64 / 16)?;
        let mut named = Vec::new();
        for file in files {
            let Ok(name) = tables::text(&self.units.dwarf, &unit, file.path_name()) else { continue };
            let last = name.slice().rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or_default();
            named.extend(lasts.get(last));
        }
        named.sort_unstable();
        named.dedup();
        Ok((!named.is_empty()).then(|| (program.header().offset().0, named)))
    }

    fn read_files(&self, index: usize) -> Result<UnitFiles, Error> {
        let (dwarf, unit) = (self.units.own_dwarf(index)?, self.units.own_unit(index)?);
        let Some(program) = self.units.line_program(index)? else { return Ok(UnitFiles::default()) };
        let header = program.header();
        let string = |value| tables::text(dwarf, unit, value).ok().map(|string| text::from_bytes(string.slice()));
        let folder = unit.comp_dir.map(|directory| text::from_bytes(directory.slice()));
        let compiled_in = folder.map(|folder| folder.to_string()).filter(|folder| !folder.is_empty());
        // Numbers start at 1 before DWARF 5. There 0 is the unit's primary file, which the header
        // does not name.
        let first = usize::from(header.version() < 5);
        let count = header.file_names().len().min(MOST);
        self.units.charge(count as u64)?;
        let mut files = vec![None; first];
        for file in header.file_names().iter().take(count) {
            let name = string(file.path_name());
            // Directory 0 is the compilation directory, which the unit states itself.
            let is_own = file.directory_index() == 0 && unit.comp_dir.is_some();
            let directory = if is_own { None } else { file.directory(header).and_then(string) };
            let join = |base: &str, name: &str| match name.starts_with('/') {
                true => name.to_owned(),
                false => format!("{base}/{name}"),
            };
            let path = name.map(|mut path| {
                if let Some(directory) = directory.filter(|directory| !directory.is_empty()) {
                    path = join(&directory, &path);
                }
                match &compiled_in {
                    Some(base) => self.paths.path(&join(base, &path)),
                    None => self.paths.path(&path),
                }
            });
            // Many files with the same long directory would make a small table expensive.
            self.units.charge(path.as_ref().map_or(0, |path| path.text.len() as u64 / 4))?;
            files.push(path);
        }
        Ok(UnitFiles { files, compiled_in })
    }

    /// The path of a file as the compiler was given it: without the compilation directory.
    pub(super) fn as_written(&self, unit: usize, file: &SourcePath) -> Arc<str> {
        let folder = self
            .units
            .own_unit(unit)
            .ok()
            .and_then(|unit| unit.comp_dir)
            .map(|folder| text::from_bytes(folder.slice()));
        let inside = folder.and_then(|folder| file.text.strip_prefix(&*folder)?.strip_prefix('/'));
        inside.map_or_else(|| Arc::clone(&file.text), Arc::from)
    }

    /// The file and line where an entry or its origin is declared; `None` if neither states it.
    pub(super) fn declared(&self, die: Die) -> Result<Option<(SourcePath, u32)>, Error> {
        self.position(die, dw::DW_AT_decl_file, dw::DW_AT_decl_line)
    }

    /// The file and line in two attributes.
    pub(super) fn position(
        &self,
        die: Die,
        file: gimli::DwAt,
        line: gimli::DwAt,
    ) -> Result<Option<(SourcePath, u32)>, Error> {
        let (Some((from, file)), Some(line)) = (self.units.attribute(die, file)?, self.units.unsigned(die, line)?)
        else {
            return Ok(None);
        };
        Ok(self.source_place(from.unit, &file, Some(line)))
    }

    /// The file and line that the values of two attributes of a unit mean.
    pub(super) fn source_place(&self, unit: usize, file: &Value<'_>, line: Option<u64>) -> Option<(SourcePath, u32)> {
        let number = match file {
            gimli::AttributeValue::FileIndex(number) => Some(*number),
            other => other.udata_value(),
        }?;
        let path = self.unit_files(unit).ok()?.get(number)?.clone();
        Some((path, u32::try_from(line?).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(one: &str, two: &str) -> Option<Agreement> {
        SourcePath::new(one).agreement(&SourcePath::new(two))
    }

    #[test]
    fn names_are_normalised() {
        let text = |path: &str| SourcePath::new(path).as_str().to_string();
        assert_eq!(text("/a/./b//../c.c"), "/a/c.c");
        assert_eq!(text("../x/../y.c"), "../y.c");
        assert_eq!(text("/../y.c"), "/y.c");
        assert_eq!(text("src\\main.rs"), "src/main.rs");
    }

    #[test]
    fn components_agree_from_the_end() {
        assert_eq!(agree("/a/b.c", "/a/b.c"), Some(Agreement::Same));
        assert_eq!(agree("src/b.c", "/a/src/b.c"), Some(Agreement::Contained(2)));
        assert_eq!(agree("b.c", "b.c"), Some(Agreement::Contained(1)));
        assert_eq!(agree("/src/b.c", "/a/src/b.c"), Some(Agreement::Tail(2)), "an absolute name is no end of another");
        assert_eq!(agree("/x/src/b.c", "/y/src/b.c"), Some(Agreement::Tail(2)));
        assert_eq!(agree("/x/lib.c", "/x/b.c"), None);
        assert_eq!(agree("/x/ab.c", "/x/b.c"), None);
        assert!(Agreement::Same > Agreement::Contained(9) && Agreement::Contained(1) > Agreement::Tail(9));
    }

    #[test]
    fn the_file_that_the_compiler_was_given_is_meant_not_one_that_ends_like_it() {
        let path = |text: &str| Some(SourcePath::new(text));
        let files = vec![None, path("/linux/arch/x86/kernel/resource.c"), path("/linux/kernel/resource.c")];
        let of = |compiled_in: &str| UnitFiles { files: files.clone(), compiled_in: Some(compiled_in.to_owned()) };
        let name = SourcePath::new("kernel/resource.c");
        assert_eq!(of("/linux").matching(&name), [(Agreement::AsWritten, 2)]);
        assert_eq!(of("/linux/").matching(&name), [(Agreement::AsWritten, 2)]);
        let contained = Agreement::Contained(2);
        assert_eq!(of("/elsewhere").matching(&name), [(contained, 1), (contained, 2)]);
        assert_eq!(of("/linux").matching(&SourcePath::new("/linux/kernel/resource.c")), [(Agreement::Same, 2)]);
    }

    #[test]
    fn the_best_are_all_kept() {
        let candidates = [(Agreement::Tail(1), 'a'), (Agreement::Contained(1), 'b'), (Agreement::Contained(1), 'c')];
        assert_eq!(best(candidates), [(Agreement::Contained(1), 'b'), (Agreement::Contained(1), 'c')]);
    }
}
