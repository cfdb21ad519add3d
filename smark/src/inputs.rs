//! What the commands that look at markers have in common: their operands, the files resolved, the markers chosen, and what is said
//! of files and of patterns that match nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use simple_markers_resolver::resolve::{self, Detail, Failure, Marker, Resolution, Row, Severity};
use simple_markers_resolver::select::{Field, Selection, Unmatched};

use crate::debug_files::{self, DebugFolders};
use crate::files::{self, Input, Unreadable};
use crate::{Console, Status};

/// The options and operands that choose files and markers.
#[derive(Debug, Args)]
pub(crate) struct Inputs {
    /// Only in these modules (a file's name without folder and extension)
    #[arg(short, long, value_name = "MODULE")]
    module: Vec<String>,
    /// Only in these functions; `<eliminated>` and `<discarded>` are matched as they are shown
    #[arg(short, long, value_name = "FUNCTION")]
    function: Vec<String>,
    /// Only these markers
    #[arg(short, long, value_name = "NAME")]
    name: Vec<String>,
    /// Look into folders; in them, pass over what is not ELF and what has no markers
    #[arg(short, long)]
    recursive: bool,
    /// Where debug information is that files do not have themselves; may be given several times [default: /usr/lib/debug]
    #[arg(long, value_name = "DIR")]
    debug_dir: Vec<PathBuf>,
    /// Globs for marker names, and files
    #[arg(required = true, value_name = "PATTERN|FILE")]
    operands: Vec<PathBuf>,
}

/// Ends of the help of these commands.
pub(crate) const STATUS: &str = "\
EXIT STATUS
  0  done; a file without markers is no error
  1  a pattern matches nothing
  2  a file could not be read, is not ELF, or has malformed records; what could be read is shown";

/// The files resolved, and which of their markers are meant.
pub(crate) struct Selected {
    pub(crate) resolution: Resolution,
    selection: Selection,
    /// The operands that are patterns.
    patterns: Vec<String>,
}

/// What came of one file.
enum Outcome {
    Resolved(Resolution),
    Failed(Failure),
    /// An archive that was named, and has no markers.
    Nothing(PathBuf),
}

impl Inputs {
    /// Whether nothing but files is given.
    pub(crate) fn is_without_patterns(&self) -> bool {
        let options = [&self.module, &self.function, &self.name];
        options.into_iter().all(Vec::is_empty) && self.operands.iter().all(|operand| is_file(operand))
    }

    /// Resolves the files, each in as much detail as the report needs.
    pub(crate) fn select(&self, console: &Console, detail: Detail) -> anyhow::Result<Selected> {
        let (patterns, named) = self.operands.iter().partition::<Vec<_>, _>(|operand| !is_file(operand));
        let patterns: Vec<String> =
            patterns.into_iter().map(|pattern| pattern.to_string_lossy().into_owned()).collect();
        let named: Vec<PathBuf> = named.into_iter().cloned().collect();
        if named.is_empty() {
            let taken = patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(", ");
            anyhow::bail!("no FILE to look at: no file is called {taken}, so it is taken for a PATTERN");
        }
        let selection = self.selection(&patterns)?;
        let inputs = files::expand(&named, self.recursive);
        let folders = match self.debug_dir.is_empty() {
            true => vec![PathBuf::from(debug_files::DEBUG_DIR)],
            false => self.debug_dir.clone(),
        };
        // Collected in the order of the inputs, whichever is finished first.
        let outcomes: Vec<Outcome> = inputs.par_iter().filter_map(|input| look(input, detail, &folders)).collect();
        let mut resolution = Resolution::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Resolved(found) => resolution.append(found),
                Outcome::Failed(failure) => resolution.failures.push(failure),
                Outcome::Nothing(path) => console.note(&format!("{}: no markers", path.display())),
            }
        }
        resolution.number();
        Ok(Selected { resolution, selection, patterns })
    }

    fn selection(&self, patterns: &[String]) -> anyhow::Result<Selection> {
        let mut selection = Selection::default();
        let names = self.name.iter().chain(patterns);
        let fields = [(Field::Module, &self.module), (Field::Function, &self.function)];
        for (field, pattern) in
            fields.into_iter().flat_map(|(field, patterns)| patterns.iter().map(move |p| (field, p)))
        {
            selection.add(field, pattern)?;
        }
        for pattern in names {
            selection.add(Field::Name, pattern)?;
        }
        Ok(selection)
    }
}

impl Selected {
    /// All rows, of which [`Selected::chosen`] chooses.
    pub(crate) fn rows(&self) -> Vec<Row<'_>> {
        self.resolution.rows()
    }

    /// The rows that are meant.
    pub(crate) fn chosen<'r>(&self, rows: &[Row<'r>]) -> Vec<Row<'r>> {
        rows.iter().filter(|row| self.selection.matches(row)).cloned().collect()
    }

    /// Whether markers of a name are meant, of which nothing else is known; none are where modules or functions are asked for.
    pub(crate) fn keeps_name(&self, name: &str) -> bool {
        self.selection.matches_name(name)
    }

    /// Whether all markers are meant.
    pub(crate) fn is_all(&self) -> bool {
        self.selection.is_empty()
    }

    /// Whether a marker has a row among `chosen`; every marker is meant where there is no pattern.
    pub(crate) fn keeps<'s>(&'s self, chosen: &[Row<'_>]) -> impl Fn(&Marker) -> bool + use<'s> {
        let ids: HashSet<u64> = chosen.iter().map(|row| row.marker.id).collect();
        move |marker| self.selection.is_empty() || ids.contains(&marker.id)
    }

    /// Says what is wrong with the files and with the patterns, after what there was to print.
    pub(crate) fn report(&self, console: &Console, rows: &[Row<'_>], chosen: &[Row<'_>]) -> Status {
        let mut status = report_diagnostics(console, &self.resolution);
        let unmatched = self.selection.unmatched(rows);
        for unmatched in &unmatched {
            console.error(&no_match(unmatched, &self.patterns));
        }
        if unmatched.is_empty() && chosen.is_empty() && !self.selection.is_empty() {
            console.error("no marker matches all the patterns");
        }
        if chosen.is_empty() && !self.selection.is_empty() || !unmatched.is_empty() {
            status = status.max(Status::NoMatch);
        }
        status
    }
}

/// Whether an operand is a FILE, not a PATTERN.
fn is_file(operand: &Path) -> bool {
    operand.as_os_str().as_encoded_bytes().contains(&b'/') || operand.symlink_metadata().is_ok()
}

/// Resolves one file; `None` where it was found in a folder and has nothing for us.
fn look(input: &Result<Input, Unreadable>, detail: Detail, folders: &[PathBuf]) -> Option<Outcome> {
    let failed = |path: &Path, message| Some(Outcome::Failed(Failure { path: path.display().to_string(), message }));
    let input = match input {
        Ok(input) => input,
        Err(Unreadable { path, why }) => return failed(path, why.clone()),
    };
    let bytes = match files::open(input) {
        Ok(bytes) => bytes?,
        Err(error) => return failed(&input.path, files::reason(&error)),
    };
    let beside = DebugFolders::new(&input.path, folders);
    let mut resolution = resolve::resolve_with_debug_files(&input.path.display().to_string(), &bytes, detail, &beside);
    if input.found {
        resolution.images.retain(|image| !image.markers.is_empty() || !image.diagnostics.is_empty());
    }
    if !input.found && resolution.images.is_empty() && resolution.failures.is_empty() {
        return Some(Outcome::Nothing(input.path.clone()));
    }
    Some(Outcome::Resolved(resolution))
}

/// Prints what is wrong with the files, and which have no markers.
fn report_diagnostics(console: &Console, resolution: &Resolution) -> Status {
    let mut status = Status::Done;
    for failure in &resolution.failures {
        console.error(&format!("{}: {}", failure.path, failure.message));
        status = Status::Unreadable;
    }
    for image in &resolution.images {
        for diagnostic in &image.diagnostics {
            let line = format!("{}: {diagnostic}", image.path);
            match diagnostic.severity {
                Severity::Error => {
                    console.error(&line);
                    status = Status::Unreadable;
                }
                Severity::Note => console.note(&line),
            }
        }
        if image.markers.is_empty() && image.diagnostics.is_empty() {
            console.note(&format!("{}: no markers", image.path));
        }
    }
    status
}

/// What to say of a pattern that matches nothing.
fn no_match(unmatched: &Unmatched, operands: &[String]) -> String {
    let Unmatched { field, pattern, closest } = unmatched;
    let mut message = format!("no {} matches `{pattern}`", field.as_str());
    if *field == Field::Name && operands.contains(pattern) {
        message.push_str(" (and no file is called so)");
    }
    match closest.as_slice() {
        [] => {}
        names => message.push_str(&format!("; closest: {}", names.join(", "))),
    }
    message
}
