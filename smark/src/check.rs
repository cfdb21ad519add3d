//! `smark check`: checks markers for CI, and sets the exit status.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use serde_json::Value as Json;
use simple_markers_resolver::check::{self, Codes, Lock, Policy, Profile, ProfileSettings, Report, Severity};
use simple_markers_resolver::report::TextLayout;
use simple_markers_resolver::resolve::{Detail, Resolution};

use crate::config::PROFILE;
use crate::console::{Console, Status};
use crate::files::NoteChoice;
use crate::fix::files::replace;
use crate::fix::options::Fix;
use crate::inputs::{Inputs, MarkerSelection};
use crate::kernels::Kernels;
use crate::project::{Defaults, ProjectSettings};
use crate::review;
use crate::sources::Sources;

/// Check that markers are there, exact and readable, also against a lock file: for CI
///
/// A FILE is what `smark list` takes, a PATTERN is a glob for marker names. Each finding has a code
/// (`smark explain CODE`) and a severity. Markers that are gone or cannot be found, lost arguments,
/// wrong formats and duplicate names are errors, all other findings are warnings. --deny, --warn
/// and --allow change that, for codes or for the groups survival, place, exactness, arguments,
/// format, names, baseline and all; the last option wins.
///
/// A lock file has the least that is accepted of each marker, and exceptions with their reasons;
/// docs/check.md describes it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{EXIT}"))]
pub(crate) struct Check {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    levels: Levels,
    /// Compare with a lock file
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Write the results to the lock file, and create it if there is none; comments and exceptions
    /// stay
    #[arg(long)]
    update: bool,
    /// Which profile of the lock file to use [default: default]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Which target of the lock file to use [default: the architecture of each file, such as
    /// x86_64]
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// How to print the findings
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Also write the findings to a file; may be given several times
    #[arg(long, value_name = "FORMAT=FILE", value_parser = CheckOutput::parse)]
    output: Vec<CheckOutput>,
    /// Say on stderr which settings hold and where each comes from, where debug information was searched,
    /// and which files were taken
    #[arg(short, long)]
    verbose: bool,
    /// Check the static probes of <sys/sdt.h> too; with a lock file that has some, this is the default
    #[arg(long)]
    notes: bool,
    #[command(flatten)]
    kernels: Kernels,
    #[command(flatten)]
    pub(crate) fix: Fix,
    /// The manifest that sets the debug information (`cargo smark` gives it)
    #[arg(long, hide = true, requires = "cargo_profile")]
    manifest: Option<PathBuf>,
    /// The profile of that manifest
    #[arg(long, hide = true, requires = "manifest")]
    cargo_profile: Option<String>,
}

const EXAMPLES: &str = "\
EXAMPLES
  Check that all markers of a program are there, with their arguments:
      smark check target/release/server
  Compare with the reviewed state; any difference is an error:
      smark check --lock markers.lock --deny baseline target/release/server
  Create or update the lock file:
      smark check --lock markers.lock --update target/release/server
  In CI, with annotations, and files for code scanning and test reports:
      smark check --format github --output sarif=smark.sarif --output junit=smark.xml target/release/server
  Also write a page for a review:
      smark check --lock markers.lock --output html=review.html target/release/server
  Compare the static probes of a package with those of the version before:
      smark check --notes --lock probes.lock --update /usr/lib/postgresql/15/bin/postgres
      smark check --lock probes.lock new/usr/lib/postgresql/15/bin/postgres
  Require exact probes, and ignore lost arguments:
      smark check --deny exactness --allow lost target/release/server
  Change the sources until the check holds (in a Cargo project: cargo smark fix):
      smark check --fix --build 'make -C src server' --deny exactness src/server
  Show the first changes as a diff:
      smark check --fix --dry-run src/server";

const EXIT: &str = "\
EXIT STATUS
  0  the check holds: no finding is denied
  1  it does not hold: a finding is denied, or a pattern matches nothing
  2  it could not be checked: no such file, not ELF, no markers at all, malformed records or lock file";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text, a block for each marker with its causes and the corrected source
    Human,
    /// JSON, in the form of docs/check-schema.json
    Json,
    /// GitHub annotations
    Github,
    /// SARIF 2.1.0
    Sarif,
    /// JUnit XML
    Junit,
    /// A page for a browser: the findings, and each marker with its source, its copies and its arguments
    Html,
}

/// An output file and its format.
#[derive(Clone, Debug)]
struct CheckOutput {
    format: Format,
    path: PathBuf,
}

impl CheckOutput {
    fn parse(text: &str) -> Result<Self, String> {
        let (format, path) = text.split_once('=').ok_or("must be FORMAT=FILE, such as sarif=smark.sarif")?;
        let format = Format::from_str(format, false)
            .map_err(|_| format!("there is no format `{format}`: those are human, json, github, sarif, junit, html"))?;
        if path.is_empty() {
            return Err("names no file".to_owned());
        }
        Ok(Self { format, path: path.into() })
    }
}

/// The options that set severities, in the order in which they were given.
#[derive(Clone, Debug, Default)]
struct Levels(Vec<(Severity, Codes)>);

const LEVELS: [(&str, Severity, &str); 3] = [
    ("deny", Severity::Deny, "Report findings of these codes or groups as errors"),
    ("warn", Severity::Warn, "Report findings of these codes or groups as warnings"),
    ("allow", Severity::Allow, "Do not report findings of these codes or groups"),
];

impl Args for Levels {
    fn augment_args(command: Command) -> Command {
        let level = |command: Command, (name, _, help): (&'static str, Severity, &'static str)| {
            let arg = Arg::new(name).long(name).value_name("CODE|GROUP").action(ArgAction::Append);
            command.arg(arg.value_delimiter(',').value_parser(|word: &str| Codes::parse(word)).help(help))
        };
        LEVELS.into_iter().fold(command, level)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Levels {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut levels: Vec<(usize, Severity, Codes)> = Vec::new();
        for (name, severity, _) in LEVELS {
            let codes = matches.get_many::<Codes>(name).into_iter().flatten().cloned();
            let places = matches.indices_of(name).into_iter().flatten();
            levels.extend(places.zip(codes).map(|(at, codes)| (at, severity, codes)));
        }
        levels.sort_by_key(|(at, _, _)| *at);
        Ok(Self(levels.into_iter().map(|(_, severity, codes)| (severity, codes)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The result of a check.
pub(crate) struct CheckResult {
    pub(crate) selected: MarkerSelection,
    pub(crate) report: Report,
    /// The exit status.
    pub(crate) status: Status,
}

impl Check {
    pub(crate) fn run(mut self, console: &Console) -> anyhow::Result<Status> {
        let console = &Console { verbose: self.verbose, ..*console };
        self.settings(console.settings).iter().for_each(|line| console.detail(line));
        self.settle(console.settings)?;
        let result = self.look(console)?;
        self.print(&result, &[], console)?;
        Ok(result.status)
    }

    /// The settings that hold, each with where it comes from. Severities of options follow those.
    fn settings(&self, project: &ProjectSettings) -> Vec<String> {
        let shown = |path: &PathBuf| path.display().to_string();
        let debug_dir: Vec<String> = self.inputs.debug_dir().iter().map(shown).collect();
        let views: Vec<String> = self.inputs.views().iter().map(shown).collect();
        let options = [
            ("debug-dir", (!debug_dir.is_empty()).then(|| debug_dir.into())),
            ("lock", self.lock.as_ref().map(|path| shown(path).into())),
            ("profile", self.profile.as_deref().map(Json::from)),
            ("views", (!views.is_empty()).then(|| views.into())),
        ];
        project.lines(&Defaults { lock: None, profile: PROFILE }, &options)
    }

    /// Takes from the settings what no option says.
    pub(crate) fn settle(&mut self, project: &ProjectSettings) -> anyhow::Result<()> {
        self.inputs.take_marks_beside();
        let levels = project.settings.levels.iter().map(|level| (level.value.severity, level.value.codes.clone()));
        self.levels.0.splice(0..0, levels);
        self.lock = self.lock.take().or_else(|| project.lock());
        if self.lock.is_none() && (self.update || self.profile.is_some() || self.target.is_some()) {
            anyhow::bail!(
                "--update, --profile and --target are for a lock file: name it with --lock FILE, or in smark.toml"
            );
        }
        self.profile = self.profile.take().or_else(|| project.profile().map(str::to_owned));
        Ok(())
    }

    /// Checks the files, and writes the lock file with `--update`.
    pub(crate) fn look(&self, console: &Console) -> anyhow::Result<CheckResult> {
        let text = self.lock.as_deref().map(|path| self.read(path)).transpose()?.flatten();
        // Reported before the files are read.
        let mut lock = match (&self.lock, &text) {
            (Some(path), Some(text)) => Some(parse(path, text)?),
            _ => None,
        };
        let old = lock.clone();
        let has_notes = self.notes || lock.as_ref().is_some_and(Lock::has_notes);
        let notes = match (has_notes, self.inputs.is_without_patterns()) {
            (true, _) => NoteChoice::All,
            (false, false) => NoteChoice::ByName,
            (false, true) => NoteChoice::None,
        };
        let selected = self.inputs.select_plain(console, (Detail::Places, &self.kernels.rules()), notes)?;
        if self.update && !selected.is_all() {
            anyhow::bail!("--update writes all markers of the files, so it takes no patterns");
        }
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let keep = selected.keeps(&chosen);
        let mut policy = Policy::default();
        self.levels.0.iter().for_each(|(severity, codes)| policy.set(*severity, codes));
        let profile =
            Profile { name: self.profile.clone().unwrap_or_else(|| PROFILE.to_owned()), target: self.target.clone() };
        let root = std::env::current_dir().ok().and_then(|root| root.to_str().map(str::to_owned));
        let keep_name = |name: &str| selected.keeps_name(name);
        let resolution = &selected.resolution;
        let checking = |lock| check::Check {
            resolution,
            keep: &keep,
            keep_name: &keep_name,
            root: root.as_deref(),
            policy: &policy,
            lock,
            debug_setting: self.debug_setting(),
        };
        let status = selected.report(console, &rows, &chosen).max(unchecked(console, resolution, lock.as_ref()));
        if let (Some(path), true) = (&self.lock, self.update) {
            // A marker that could not be read would be recorded as gone.
            if status == Status::Unreadable {
                console.error(&format!("{}: not written, because not everything could be read", path.display()));
            } else {
                let updated = Lock::updated(text.as_deref(), &checking(None), &profile);
                let (updated, kept) = updated.map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?;
                for name in kept {
                    let what = "is gone, and stays for its comments or exceptions";
                    console.note(&format!("{}: {name} {what}", path.display()));
                }
                if text.as_deref() != Some(&*updated) {
                    replace(path, updated.as_bytes()).with_context(|| path.display().to_string())?;
                }
                lock = Some(parse(path, &updated)?);
            }
        }
        let has_sections = match (&self.lock, &lock) {
            (Some(path), Some(lock)) => self.has_sections(console, path, lock, &profile, resolution),
            (Some(_), None) => false,
            _ => true,
        };
        let lock = lock.as_ref().filter(|_| has_sections).map(|lock| (lock, &profile));
        if let (true, Some(path)) = (self.update && status != Status::Unreadable, &self.lock) {
            let before = check::check(&checking(old.as_ref().map(|lock| (lock, &profile))));
            let accepted = newly_accepted(&before, &check::check(&checking(lock)));
            if !accepted.is_empty() {
                console.note(&format!("{}: accepts {}", path.display(), accepted.join("; ")));
            }
        }
        let mut report = check::check(&checking(lock));
        if status == Status::Unreadable && report.failures.is_empty() {
            report.failures.push("no markers at all, there is nothing to check".to_owned());
        }
        if !has_sections {
            report.failures.push("the lock file has no such profile and target".to_owned());
        }
        let held = match (has_sections, report.holds()) {
            (false, _) => Status::Unreadable,
            (true, false) => Status::NoMatch,
            (true, true) => Status::Done,
        };
        let status = status.max(held);
        drop((keep, chosen, rows));
        Ok(CheckResult { report, status, selected })
    }

    /// Prints the report, and writes the files of `--output`. `first` is printed before the human
    /// report.
    pub(crate) fn print(&self, result: &CheckResult, first: &[u8], console: &Console) -> anyhow::Result<()> {
        let CheckResult { selected, report, .. } = result;
        if self.format == Format::Human {
            io::stdout().lock().write_all(first)?;
        } else {
            io::stderr().lock().write_all(first)?;
        }
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let layout = TextLayout { colour: console.colour, width: console.width, ..TextLayout::default() };
        write(&mut out, self.format, report, selected, layout)?;
        out.flush()?;
        drop(out);
        for CheckOutput { format, path } in &self.output {
            let mut bytes = Vec::new();
            write(&mut bytes, *format, report, selected, TextLayout::default())?;
            fs::write(path, bytes).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// What the manifest says about debug information; `None` if there is no manifest.
    fn debug_setting(&self) -> Option<ProfileSettings> {
        let (manifest, profile) = (self.manifest.as_ref()?, self.cargo_profile.as_ref()?);
        let text = fs::read_to_string(manifest).ok()?;
        ProfileSettings::find(&manifest.display().to_string(), &text, profile)
    }

    /// Reads the lock file; `None` if there is none yet and `--update` creates it.
    fn read(&self, path: &Path) -> anyhow::Result<Option<String>> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if self.update && error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                anyhow::bail!("{}: no such file; --update makes it", path.display())
            }
            Err(error) => anyhow::bail!("{}: {}", path.display(), crate::files::reason(&error)),
        }
    }

    /// Whether the lock file has a section for each file.
    fn has_sections(
        &self,
        console: &Console,
        path: &Path,
        lock: &Lock,
        profile: &Profile,
        resolution: &Resolution,
    ) -> bool {
        let images = resolution.images.iter().filter(|image| !image.markers.is_empty());
        let mut missing: Vec<&str> = images.map(|image| profile.target(image)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|target| lock.section(&profile.name, target).is_none());
        for target in &missing {
            let has = lock.sections.iter().map(|section| format!("`{}` for {}", section.profile, section.target));
            let has = has.collect::<Vec<_>>().join(", ");
            let has = if has.is_empty() { "none".to_owned() } else { has };
            let what = format!("no profile `{}` for {target}, there is {has}; --update adds it", profile.name);
            console.error(&format!("{}: {what}", path.display()));
        }
        missing.is_empty()
    }
}

/// The most names in a note.
const MOST_NAMES: usize = 10;

/// The arguments that are denied without the lock file, and that it accepts now and did not before: how
/// many with each verdict, and which.
fn newly_accepted(before: &Report, now: &Report) -> Vec<String> {
    let is_accepted = |finding: &&check::Finding| {
        finding.severity == Severity::Deny && matches!(finding.exception, Some(check::Exception::Accepted(_)))
    };
    let of = |finding: &check::Finding| (finding.index, finding.code, finding.argument.clone());
    let known: HashSet<_> = before.findings.iter().filter(is_accepted).map(of).collect();
    let mut by_code: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for finding in now.findings.iter().filter(is_accepted).filter(|finding| !known.contains(&of(finding))) {
        let name = format!("`{}` of {}", finding.argument.as_deref().unwrap_or_default(), finding.marker);
        let names = by_code.entry(finding.code).or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of_code = |(code, mut names): (simple_markers_resolver::verdicts::Code, Vec<String>)| {
        let (count, more) = (names.len(), names.len().saturating_sub(MOST_NAMES));
        names.truncate(MOST_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (arguments, are) = if count == 1 { ("argument", "is") } else { ("arguments", "are") };
        format!("{count} {arguments} that {are} {}: {}{more}", code.name(), names.join(", "))
    };
    by_code.into_iter().map(of_code).collect()
}

fn parse(path: &Path, text: &str) -> anyhow::Result<Lock> {
    Lock::parse(text).map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))
}

/// Reports that there was nothing to check.
fn unchecked(console: &Console, resolution: &Resolution, lock: Option<&Lock>) -> Status {
    // A program may have lost all of its static probes.
    let has_notes = lock.is_some_and(Lock::has_notes) && !resolution.images.is_empty();
    if has_notes || resolution.images.iter().any(|image| !image.markers.is_empty()) {
        return Status::Done;
    }
    if resolution.failures.is_empty() {
        console.error("no markers at all, there is nothing to check");
    }
    Status::Unreadable
}

fn write(
    out: &mut dyn Write,
    format: Format,
    report: &Report,
    selected: &MarkerSelection,
    layout: TextLayout,
) -> io::Result<()> {
    let mut sources = Sources::default();
    let mut source = |(image, marker): (usize, usize)| {
        let image = selected.resolution.images.get(image)?;
        sources.file(image, image.markers.get(marker)?)
    };
    match format {
        Format::Human => check::human::write(out, &selected.resolution, report, &mut source, layout),
        Format::Json => check::json::write(out, report),
        Format::Github => check::github::write(out, report),
        Format::Sarif => check::sarif::write(out, &selected.resolution, report, &mut source),
        Format::Junit => check::junit::write(out, report),
        Format::Html => {
            let page = review::page(selected, Some(report)).map_err(io::Error::other)?;
            out.write_all(page.html().as_bytes())
        }
    }
}
