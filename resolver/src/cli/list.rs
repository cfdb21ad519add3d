//! `smark list`: the markers of programs, one line each.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use simple_markers_resolver::report::{self, Layout};
use simple_markers_resolver::resolve::{self, Failure, Resolution, Row, Severity};
use simple_markers_resolver::select::{Field, Selection, Unmatched};

use super::files::{self, Input, Unreadable};
use super::{Console, Status};

/// List the markers in programs, one line for each marker and function that holds it
///
/// A FILE is an executable, a shared or relocatable object, a kernel module, an archive (.a, .rlib), or with -r a folder. A
/// PATTERN is a glob for marker names. Which of the two an operand is: what contains a `/` or names an existing file or folder is
/// a FILE, everything else is a PATTERN.
///
/// Globs match a whole field: `*` any characters, `?` one, `[a-z]` one of a class. Patterns of one kind are or-ed, the kinds are
/// and-ed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{STATUS}"))]
pub(super) struct List {
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
    /// Add the variables and the sites of each marker
    #[arg(short, long)]
    verbose: bool,
    /// Print everything that was found out, as JSON (-v adds nothing to it)
    #[arg(long)]
    json: bool,
    /// Globs for marker names, and files
    #[arg(required = true, value_name = "PATTERN|FILE")]
    operands: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
EXAMPLES
  All markers of a program:
      smark list target/release/server
  Those of one subsystem in a kernel module, with their variables and addresses:
      smark list -v 'scsi:*' drivers/scsi/scsi_mod.ko
  What the compiler removed, in everything that was built:
      smark list -r -f '<eliminated>' target/release
  For a program to read:
      smark list --json ./server | jq '.images[].markers[].name'";

const STATUS: &str = "\
EXIT STATUS
  0  listed; a file without markers is no error
  1  a pattern matches nothing
  2  a file could not be read, is not ELF, or has malformed records; what could be read is listed";

/// What came of one file.
enum Outcome {
    Resolved(Resolution),
    Failed(Failure),
    /// An archive that was named, and has no markers.
    Nothing(PathBuf),
}

impl List {
    pub(super) fn run(self, console: &Console) -> anyhow::Result<Status> {
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
        // Collected in the order of the inputs, whichever is finished first.
        let outcomes: Vec<Outcome> = inputs.par_iter().filter_map(look).collect();
        let (mut resolution, mut status) = (Resolution::default(), Status::Done);
        for outcome in outcomes {
            match outcome {
                Outcome::Resolved(found) => resolution.append(found),
                Outcome::Failed(failure) => resolution.failures.push(failure),
                Outcome::Nothing(path) => console.note(&format!("{}: no markers", path.display())),
            }
        }
        resolution.number();
        let rows = resolution.rows();
        let chosen: Vec<Row<'_>> = rows.iter().filter(|row| selection.matches(row)).cloned().collect();
        self.print(console, &resolution, &selection, &chosen)?;
        status = status.max(report_diagnostics(console, &resolution));
        let unmatched = selection.unmatched(&rows);
        for unmatched in &unmatched {
            console.error(&no_match(unmatched, &patterns));
        }
        if unmatched.is_empty() && chosen.is_empty() && !selection.is_empty() {
            console.error("no marker matches all the patterns");
        }
        if chosen.is_empty() && !selection.is_empty() || !unmatched.is_empty() {
            status = status.max(Status::NoMatch);
        }
        Ok(status)
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

    fn print(
        &self,
        console: &Console,
        resolution: &Resolution,
        selection: &Selection,
        chosen: &[Row<'_>],
    ) -> anyhow::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        if self.json {
            let ids: HashSet<u64> = chosen.iter().map(|row| row.marker.id).collect();
            report::json::write(&mut out, resolution, &|marker| selection.is_empty() || ids.contains(&marker.id))?;
        } else {
            let layout = Layout { colour: console.colour, width: console.width, verbose: self.verbose };
            report::list::write(&mut out, chosen, layout)?;
        }
        out.flush()?;
        Ok(())
    }
}

/// Whether an operand is a FILE, not a PATTERN.
fn is_file(operand: &Path) -> bool {
    operand.as_os_str().as_encoded_bytes().contains(&b'/') || operand.symlink_metadata().is_ok()
}

/// Resolves one file; `None` where it was found in a folder and has nothing for us.
fn look(input: &Result<Input, Unreadable>) -> Option<Outcome> {
    let failed = |path: &Path, message| Some(Outcome::Failed(Failure { path: path.display().to_string(), message }));
    let input = match input {
        Ok(input) => input,
        Err(Unreadable { path, why }) => return failed(path, why.clone()),
    };
    let bytes = match files::open(input) {
        Ok(bytes) => bytes?,
        Err(error) => return failed(&input.path, files::reason(&error)),
    };
    let mut resolution = resolve::resolve(&input.path.display().to_string(), &bytes);
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
