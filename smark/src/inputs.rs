//! The operands that all commands on markers share: it resolves the files, selects the markers, and
//! reports files that could not be read and patterns that match nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use simple_markers_resolver::Error;
use simple_markers_resolver::english;
use simple_markers_resolver::marks::{Mark, TaskPoint};
use simple_markers_resolver::notes::{NoteDescriptions, PLAIN_NOTES};
use simple_markers_resolver::resolve::{
    self, DebugSourceKind, Detail, DiagnosticSeverity, Failure, Marker, Request, Resolution, ResolvedImage, Row,
};
use simple_markers_resolver::select::{Field, Selection, UnmatchedPattern};
use simple_markers_resolver::uprobe_rules::UprobeRules;

use crate::console::{Console, Status};
use crate::debug_files::DebugFolders;
use crate::files::{self, Input, NoteChoice, Unreadable};
use crate::marks::{MarkOptions, UnplacedMarks};
use crate::note_options::NoteOptions;
use crate::progress::Progress;
use crate::project::DEBUG_DIR;
use crate::view_options::ViewOptions;

/// The options that select markers, and the folders with debug files.
#[derive(Debug, Default, Args)]
pub(crate) struct Filters {
    /// Select markers in these modules (file names without folder and extension)
    #[arg(short, long, value_name = "MODULE")]
    module: Vec<String>,
    /// Select markers in these functions; `<eliminated>` and `<discarded>` match as shown
    #[arg(short, long, value_name = "FUNCTION")]
    function: Vec<String>,
    /// Select markers with these names
    #[arg(short, long, value_name = "NAME")]
    name: Vec<String>,
    /// Search this folder for separate debug files; may be given several times [default: /usr/lib/debug]
    #[arg(long, value_name = "DIR")]
    debug_dir: Vec<PathBuf>,
    #[command(flatten)]
    marks: MarkOptions,
    #[command(flatten)]
    notes: NoteOptions,
    #[command(flatten)]
    views: ViewOptions,
    /// Whether it is found out where async runtimes have the numbers of tasks.
    #[arg(skip)]
    pub(crate) finds_tasks: bool,
    /// Whether the functions are marks that poll the tasks of async runtimes.
    #[arg(skip)]
    pub(crate) finds_polls: bool,
}

/// The options and operands that select files and markers.
#[derive(Debug, Args)]
pub(crate) struct Inputs {
    #[command(flatten)]
    filters: Filters,
    /// Search folders; files there that are not ELF or have no markers are skipped
    #[arg(short, long)]
    recursive: bool,
    /// Globs for marker names, and files
    #[arg(required = true, value_name = "PATTERN|FILE")]
    operands: Vec<PathBuf>,
}

/// The last section of the help of these commands.
pub(crate) const STATUS: &str = "\
EXIT STATUS
  0  done; a file without markers is not an error
  1  a pattern matches nothing
  2  a file could not be read, is not ELF, or has malformed records; the rest is still shown";

/// The resolved files, and the selection of markers.
pub(crate) struct MarkerSelection {
    pub(crate) resolution: Resolution,
    selection: Selection,
    /// The operands that were taken as patterns.
    patterns: Vec<String>,
    /// The places that the user named, and those that no file has.
    marks: Arc<[Mark]>,
    pub(crate) unplaced: UnplacedMarks,
    /// Where tasks are polled and woken. Their places follow those of the marks.
    polls: Vec<Mark>,
}

/// How much is found out, for which kernels, and what is said of notes.
type NoteRequest<'r> = ((Detail, &'r [&'r dyn UprobeRules]), &'r NoteDescriptions);

/// The result of one file.
enum Outcome {
    Resolved(Resolution),
    Failed(Failure),
    /// A named archive without markers.
    Nothing(PathBuf),
}

impl Inputs {
    /// Also finds out where async runtimes have the numbers of tasks.
    pub(crate) fn find_tasks(&mut self) {
        self.filters.finds_tasks = true;
    }

    /// The selection by the options and all operands, where no operand is a file.
    pub(crate) fn selection(&self) -> anyhow::Result<Selection> {
        let patterns: Vec<String> =
            self.operands.iter().map(|pattern| pattern.to_string_lossy().into_owned()).collect();
        self.filters.selection(&patterns)
    }

    /// Takes these places alone.
    pub(crate) fn set_marks(&mut self, marks: Vec<Mark>) {
        self.filters.marks = MarkOptions::of(marks);
    }

    /// Takes places that the user named beside all markers.
    pub(crate) fn take_marks_beside(&mut self) {
        self.filters.marks.are_beside = true;
    }

    /// The folders with separate debug files that options name.
    pub(crate) fn debug_dir(&self) -> &[PathBuf] {
        &self.filters.debug_dir
    }

    /// The files of views that options name.
    pub(crate) fn views(&self) -> &[PathBuf] {
        self.filters.views.paths()
    }

    /// Whether only files were given, without any pattern.
    pub(crate) fn is_without_patterns(&self) -> bool {
        let Filters { module, function, name, .. } = &self.filters;
        [module, function, name].into_iter().all(Vec::is_empty) && self.operands.iter().all(|operand| is_file(operand))
    }

    /// Resolves the files in as much detail as the report needs. `rules` are those of the kernels for which
    /// uprobes are judged.
    pub(crate) fn select(
        &self,
        console: &Console,
        detail: Detail,
        rules: &[&dyn UprobeRules],
    ) -> anyhow::Result<MarkerSelection> {
        self.select_also(console, (detail, rules), Vec::new())
    }

    /// The same with more files.
    pub(crate) fn select_also(
        &self,
        console: &Console,
        request: (Detail, &[&dyn UprobeRules]),
        more: Vec<Input>,
    ) -> anyhow::Result<MarkerSelection> {
        let said = self.filters.notes.read()?;
        let selected = self.select_with(console, (request, said), NoteChoice::All, more)?;
        self.filters.notes.tell_unused(console, said, &selected.resolution);
        Ok(selected)
    }

    /// The same with the notes of static probes that are chosen, as they are.
    pub(crate) fn select_plain(
        &self,
        console: &Console,
        request: (Detail, &[&dyn UprobeRules]),
        notes: NoteChoice,
    ) -> anyhow::Result<MarkerSelection> {
        self.select_with(console, (request, &PLAIN_NOTES), notes, Vec::new())
    }

    fn select_with(
        &self,
        console: &Console,
        request: NoteRequest<'_>,
        notes: NoteChoice,
        more: Vec<Input>,
    ) -> anyhow::Result<MarkerSelection> {
        let (patterns, named) = operands(&self.operands);
        if named.is_empty() && more.is_empty() {
            let taken = patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(", ");
            anyhow::bail!("no FILE given: {taken} is not an existing file, so it was taken as a PATTERN");
        }
        let mut inputs = files::expand(&named, self.recursive);
        inputs.iter_mut().flatten().for_each(|input| input.notes = notes);
        inputs.extend(more.into_iter().map(Ok));
        self.filters.select_of(console, request, patterns, &inputs, None)
    }
}

/// The patterns and the files among some operands.
pub(crate) fn operands(operands: &[PathBuf]) -> (Vec<String>, Vec<PathBuf>) {
    let (patterns, named) = operands.iter().partition::<Vec<_>, _>(|operand| !is_file(operand));
    let patterns = patterns.into_iter().map(|pattern| pattern.to_string_lossy().into_owned()).collect();
    (patterns, named.into_iter().cloned().collect())
}

impl Filters {
    /// Adds the marks that time the calls of a function, but for those that the user gave.
    pub(crate) fn add_calls(&mut self, entry: &str, exit: &str) -> anyhow::Result<()> {
        self.marks.add_calls(entry, exit)
    }

    /// Also selects markers with these names.
    pub(crate) fn add_names(&mut self, names: &[String]) {
        self.name.extend_from_slice(names);
    }

    /// The places that the user named.
    pub(crate) fn marks(&self) -> anyhow::Result<&[Mark]> {
        Ok(self.marks.read()?)
    }

    /// Resolves files in as much detail as the report needs. `before` has the places that no file had before
    /// these, if there were some.
    pub(crate) fn select(
        &self,
        console: &Console,
        request: (Detail, &[&dyn UprobeRules]),
        patterns: Vec<String>,
        inputs: &[Result<Input, Unreadable>],
        before: Option<UnplacedMarks>,
    ) -> anyhow::Result<MarkerSelection> {
        self.select_of(console, (request, self.notes.read()?), patterns, inputs, before)
    }

    fn select_of(
        &self,
        console: &Console,
        ((detail, rules), said): NoteRequest<'_>,
        patterns: Vec<String>,
        inputs: &[Result<Input, Unreadable>],
        before: Option<UnplacedMarks>,
    ) -> anyhow::Result<MarkerSelection> {
        let selection = self.selection(&patterns)?;
        let given = self.marks.read()?;
        let (folders, views) = (self.debug_folders(console), self.views.read(console.settings)?);
        let polls = views.task_points().filter(|_| self.finds_polls).cloned();
        let mut marks: Vec<Mark> = given.iter().cloned().chain(polls).collect();
        let mut unplaced = before.unwrap_or_else(|| UnplacedMarks::new(marks.len()));
        let progress = Progress::start(console, inputs.len());
        let mut resolution = Resolution::default();
        // A place is searched in libraries only if no program has it.
        let (libraries, programs): (Vec<_>, Vec<_>) = inputs.iter().partition(|input| is_library(input));
        for (inputs, are_programs) in [(programs, true), (libraries, false)] {
            let numbers = if are_programs { (0..marks.len()).collect() } else { unplaced.numbers() };
            let of_marks: Vec<Mark> = numbers.iter().filter_map(|&number| marks.get(number)).cloned().collect();
            let look = |input| {
                let request = Request::new(detail).rules(rules).marks(&of_marks).describe_notes(said).views(views);
                let request = request.find_tasks(self.finds_tasks);
                let outcome = look(input, request, &folders, &selection);
                progress.step();
                outcome
            };
            // `collect` keeps the order of the inputs.
            let outcomes: Vec<(Outcome, Vec<String>)> = inputs.into_par_iter().filter_map(look).collect();
            for (outcome, tried) in outcomes {
                tried.iter().for_each(|line| console.detail(line));
                match outcome {
                    Outcome::Resolved(found) => {
                        for image in &found.images {
                            unplaced.add(image, &numbers);
                            if !image.markers.is_empty() {
                                console.detail(&debug_information(image));
                            }
                        }
                        resolution.append(found);
                    }
                    Outcome::Failed(failure) => resolution.failures.push(failure),
                    Outcome::Nothing(path) => console.note(&format!("{}: no markers", path.display())),
                }
            }
        }
        drop(progress);
        resolution.number();
        Ok(MarkerSelection {
            resolution,
            selection,
            patterns,
            marks: Arc::clone(given),
            unplaced,
            polls: marks.split_off(given.len()),
        })
    }

    /// The folders with separate debug files.
    pub(crate) fn debug_folders(&self, console: &Console) -> Vec<PathBuf> {
        match self.debug_dir.is_empty() {
            true => console.settings.debug_dir().unwrap_or_else(|| vec![PathBuf::from(DEBUG_DIR)]),
            false => self.debug_dir.clone(),
        }
    }

    /// The selection by these options and some patterns for names.
    pub(crate) fn selection(&self, patterns: &[String]) -> anyhow::Result<Selection> {
        let mut selection = Selection::default();
        match (self.marks.is_empty(), self.marks.are_beside) {
            (true, _) if self.finds_polls => selection.add_marks_beside(),
            (true, _) => {}
            (false, true) => selection.add_marks_beside(),
            (false, false) => selection.add_marks(),
        }
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

impl MarkerSelection {
    /// All rows of the resolution.
    pub(crate) fn rows(&self) -> Vec<Row<'_>> {
        self.resolution.rows()
    }

    /// The selected rows.
    pub(crate) fn chosen<'r>(&self, rows: &[Row<'r>]) -> Vec<Row<'r>> {
        rows.iter().filter(|row| self.selection.matches(row)).cloned().collect()
    }

    /// Whether the selection includes a marker if only its name is known. `false` if the user asked
    /// for modules or functions.
    pub(crate) fn keeps_name(&self, name: &str) -> bool {
        self.selection.matches_name(name)
    }

    /// Whether every marker is selected.
    pub(crate) fn is_all(&self) -> bool {
        self.selection.is_empty()
    }

    /// Whether a marker has a row among `chosen`. Without patterns every marker is selected.
    pub(crate) fn keeps<'s>(&'s self, chosen: &[Row<'_>]) -> impl Fn(&Marker) -> bool + use<'s> {
        let ids: HashSet<u64> = chosen.iter().map(|row| row.marker.id).collect();
        move |marker| self.selection.is_empty() || ids.contains(&marker.id)
    }

    /// Reports what is wrong with the files and patterns. Called after the output was printed.
    pub(crate) fn report(&self, console: &Console, rows: &[Row<'_>], chosen: &[Row<'_>]) -> Status {
        let unmatched = self.unmatched(rows);
        let status = self.report_files(console).max(self.report_marks(console));
        // If no mark has a place, that was said.
        let is_empty = chosen.is_empty() && self.marks.is_empty();
        status.max(report_selection(console, &self.selection, &self.patterns, &unmatched, is_empty))
    }

    /// Reports the places that no file has.
    pub(crate) fn report_marks(&self, console: &Console) -> Status {
        self.report_unplaced(console, &self.marks)
    }

    /// The same for the first place that the user named.
    pub(crate) fn report_first_mark(&self, console: &Console) -> Status {
        self.report_unplaced(console, self.marks.get(..1).unwrap_or_default())
    }

    fn report_unplaced(&self, console: &Console, marks: &[Mark]) -> Status {
        let messages = self.unplaced.messages(marks);
        messages.iter().for_each(|message| console.error(message));
        if messages.is_empty() { Status::Done } else { Status::NoMatch }
    }

    /// Why no polls are known of an image that has a runtime's tasks; `None` if they are known, or were not searched.
    pub(crate) fn without_polls(&self, image: &ResolvedImage) -> Option<String> {
        let has_polls = image.markers.iter().any(|marker| marker.task_point == Some(TaskPoint::PollBegin));
        let task = image.tasks.first().filter(|_| !has_polls && !self.polls.is_empty())?;
        let numbered = self.polls.iter().enumerate().find(|(_, mark)| task.polls.contains(&mark.name));
        Some(match numbered {
            Some((number, mark)) => match self.unplaced.problem(self.marks.len() + number) {
                Some(problem) => format!("{}: {}", mark.name, english::marks::problem(problem)),
                None => format!("{}: it is in another file", mark.name),
            },
            None => format!("the view of {} names no function that polls", task.variable),
        })
    }

    /// Reports what is wrong with the files.
    pub(crate) fn report_files(&self, console: &Console) -> Status {
        report_diagnostics(console, &self.resolution, !self.marks.is_empty())
    }

    /// The patterns that match nothing.
    pub(crate) fn unmatched(&self, rows: &[Row<'_>]) -> Vec<UnmatchedPattern> {
        self.selection.unmatched(rows)
    }
}

/// Reports patterns that match nothing. `is_empty` says that nothing is selected.
pub(crate) fn report_selection(
    console: &Console,
    selection: &Selection,
    patterns: &[String],
    unmatched: &[UnmatchedPattern],
    is_empty: bool,
) -> Status {
    for unmatched in unmatched {
        console.error(&no_match(unmatched, patterns));
    }
    let is_empty = is_empty && !selection.is_empty();
    if unmatched.is_empty() && is_empty {
        console.error("no marker matches all the patterns");
    }
    if is_empty || !unmatched.is_empty() { Status::NoMatch } else { Status::Done }
}

/// Whether an operand is a FILE rather than a PATTERN.
fn is_file(operand: &Path) -> bool {
    operand.as_os_str().as_encoded_bytes().contains(&b'/') || operand.symlink_metadata().is_ok()
}

/// Where the debug information of an image is.
fn debug_information(image: &ResolvedImage) -> String {
    let path = &image.path;
    match &image.debug {
        None => format!("{path}: no debug information was found"),
        Some(debug) if debug.source == DebugSourceKind::Image => {
            format!("{path}: the debug information is in the file")
        }
        Some(debug) => format!("{path}: the debug information is in {}", debug.path),
    }
}

/// The folder below which a file has a path.
fn root_of<'a>(file: &'a Path, path: &Path) -> Option<&'a Path> {
    let path = path.strip_prefix("/").ok()?;
    file.ends_with(path).then(|| file.ancestors().nth(path.components().count()))?
}

/// Whether a file is a library of a process, which the user did not name.
fn is_library(input: &Result<Input, Unreadable>) -> bool {
    input.as_ref().is_ok_and(|input| input.notes == NoteChoice::ByName)
}

/// Resolves one file, and says which other files were tried for its debug information; `None` if it was
/// found in a folder and is to be skipped.
fn look(
    input: &Result<Input, Unreadable>,
    request: Request<'_>,
    folders: &[PathBuf],
    selection: &Selection,
) -> Option<(Outcome, Vec<String>)> {
    let failed = |path: &Path, what| {
        let error = Error::Unread { what };
        Some((Outcome::Failed(Failure { path: path.display().to_string(), error }), Vec::new()))
    };
    let input = match input {
        Ok(input) => input,
        Err(Unreadable { path, why }) => return failed(path, why.clone()),
    };
    let bytes = match files::open(input) {
        Ok(bytes) => bytes?,
        Err(error) => return failed(&input.path, files::reason(&error)),
    };
    let root = input.beside.as_deref().and_then(|beside| root_of(beside, &input.path));
    let beside = match (&input.beside, root) {
        (Some(beside), Some(root)) => DebugFolders::inside(beside, folders, root),
        (beside, _) => DebugFolders::new(beside.as_ref().unwrap_or(&input.path), folders),
    };
    let path = input.path.display().to_string();
    let wants_note = |name: &str| match input.notes {
        NoteChoice::All => true,
        NoteChoice::ByName => !selection.is_empty() && selection.may_match_name(name),
        NoteChoice::None => false,
    };
    let request = request.debug_files(&beside).notes(&wants_note);
    let mut resolution = resolve::resolve_request(&path, &bytes, request);
    if input.found {
        resolution.images.retain(|image| !image.markers.is_empty() || !image.diagnostics.is_empty());
    }
    if !input.found && resolution.images.is_empty() && resolution.failures.is_empty() {
        return Some((Outcome::Nothing(input.path.clone()), Vec::new()));
    }
    let tried = beside.tried().into_iter().map(|line| format!("{}: {line}", input.path.display())).collect();
    Some((Outcome::Resolved(resolution), tried))
}

/// Reports diagnostics of the files, and files without markers, unless the user named the places there.
fn report_diagnostics(console: &Console, resolution: &Resolution, has_marks: bool) -> Status {
    let mut status = Status::Done;
    for failure in &resolution.failures {
        console.error(&format!("{}: {}", failure.path, failure.error));
        status = Status::Unreadable;
    }
    for image in &resolution.images {
        for diagnostic in &image.diagnostics {
            let line = format!("{}: {}", image.path, english::diagnostics::diagnostic(diagnostic));
            match diagnostic.severity {
                DiagnosticSeverity::Error => {
                    console.error(&line);
                    status = Status::Unreadable;
                }
                DiagnosticSeverity::Note => console.note(&line),
            }
        }
        if image.markers.is_empty() && image.diagnostics.is_empty() && !has_marks {
            console.note(&format!("{}: no markers", image.path));
        }
    }
    status
}

/// The message for a pattern that matches nothing.
pub(crate) fn no_match(unmatched: &UnmatchedPattern, operands: &[String]) -> String {
    let UnmatchedPattern { field, pattern, closest } = unmatched;
    let mut message = format!("no {} matches `{pattern}`", field.as_str());
    if *field == Field::Name && operands.contains(pattern) {
        message.push_str(" (and there is no file of that name)");
    }
    message.push_str(&suggested(closest));
    message
}

/// The end of a message about a name that matches nothing: the closest names, if there are any.
pub(crate) fn suggested(closest: &[String]) -> String {
    match closest {
        [] => String::new(),
        names => format!("; closest: {}", names.join(", ")),
    }
}
