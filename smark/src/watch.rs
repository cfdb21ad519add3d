//! What the commands that watch running programs share: which processes and files are watched, the
//! plan, and the end.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::{Args, Parser, ValueEnum};
use simple_markers_resolver::export::ExportError;
use simple_markers_resolver::resolve::{Detail, ImageKind, Marker, ResolvedImage};
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::filter::Filter;
use simple_markers_tracer::plan::Settings;
use simple_markers_tracer::sys::{
    self, Child, Ended, Engine, Kernel, Mode, Scope, Session, SessionError, Step, mapped, signals,
};
use simple_markers_tracer::thread_local::ThreadLocals;
use simple_markers_tracer::{Hit, Plan};

use crate::choice::Choice;
use crate::files::{self, Input, Unreadable};
use crate::inputs::{Filters, operands};
use crate::planned::PlanFile;
use crate::stacks::{Chains, Stacks};
use crate::{Console, Status, events, left_out, libraries, narrow};

/// The options and operands that say what is watched.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    choice: Choice,
    /// Watch this process, and the markers of every file that it has mapped or maps later; may be given several times
    #[arg(short, long, value_name = "PID")]
    pid: Vec<u32>,
    /// Watch the kernel's events whose GROUP:NAME this glob matches too, beside markers; may be given several times. With a
    /// process, those that happen in it
    #[arg(short, long, value_name = "GLOB")]
    event: Vec<String>,
    /// Watch only the hits for which this holds: arguments compared with == != < <= > >=, joined by && || ! ( )
    #[arg(long = "where", value_name = "FILTER", value_parser = narrow::filter, allow_hyphen_values = true)]
    pub(crate) filter: Option<Filter>,
    /// Take this plan file, which `smark plan` wrote, in place of debug information; it knows a program by its build id
    #[arg(long, value_name = "FILE", conflicts_with_all = ["include", "all", "at", "debug_dir"])]
    plan: Option<PathBuf>,
    /// What is counted.
    #[arg(skip)]
    pub(crate) question: Question,
    /// What sets the probes [default: BPF; tracefs, as root, if the kernel does not offer BPF]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineName>,
    /// Do not watch the processes that a watched process creates
    #[arg(long)]
    no_children: bool,
    /// Globs for marker names, and files
    #[arg(value_name = "PATTERN|FILE")]
    operands: Vec<PathBuf>,
    /// Start this program, watch it and end with it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The names of the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// BPF programs
    Bpf,
    /// Probes in tracefs: slower, needs root
    Tracefs,
}

/// The option of the commands that get records from the kernel.
#[derive(Debug, Args)]
pub(crate) struct Buffer {
    /// The size of the buffer between the kernel and smark in KiB; it is rounded up to a power of two
    #[arg(long, value_name = "KIB", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(4..=1 << 20))]
    buffer: u32,
}

impl Buffer {
    pub(crate) fn mode(&self, with_stack: bool) -> Mode {
        Mode::Trace { ring: self.buffer.saturating_mul(1024).next_power_of_two(), with_stack }
    }
}

/// The section of the help about the exit status.
pub(crate) const STATUS: &str = "\
EXIT STATUS
  0  done
  1  a pattern matches nothing
  2  the probes could not be set, or a file could not be read
  With a COMMAND, its own exit status, or 128 and the number of the signal that killed it.";

/// The most bytes of a text that are read.
pub(crate) const TEXT: u16 = 256;

/// How often the ring buffer is read.
const INTERVAL: Duration = Duration::from_millis(5);

/// How often new files and the end of processes are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// The options and operands alone.
#[derive(Debug, Parser)]
struct Alone {
    #[command(flatten)]
    watch: Watch,
}

impl Watch {
    /// What counts the hits of markers by process, with the defaults of all options.
    pub(crate) fn of_processes(patterns: &[String], files: &[PathBuf], pids: &[u32]) -> anyhow::Result<Self> {
        let Alone { mut watch } = Alone::try_parse_from(["smark"])?;
        watch.question = Question::Processes;
        watch.filters.add_names(patterns);
        watch.operands = files.to_vec();
        watch.pid = pids.to_vec();
        watch.no_children = true;
        Ok(watch)
    }

    /// Resolves the files, sets the probes, and lets the program run.
    pub(crate) fn start(self, console: &Console, mode: Mode) -> anyhow::Result<Watching> {
        let (patterns, mut named) = operands(&self.operands);
        let named_by_user = named.iter().filter_map(|file| fs::canonicalize(file).ok()).collect();
        if !self.command.is_empty() && !self.pid.is_empty() {
            bail!("-p PID and -- COMMAND cannot be given together");
        }
        let program = match self.command.first() {
            Some(program) => match Child::find(program) {
                Some(program) => Some(program),
                None => bail!("{}: there is no such program in PATH", program.to_string_lossy()),
            },
            None => None,
        };
        if let Some(program) = &program {
            named.push(program.clone());
            match libraries::of(program) {
                Ok(libraries) => named.extend(libraries),
                Err(why) => {
                    console
                        .note(&format!("{}: its libraries are looked for while it runs: {why:#}", program.display()));
                }
            }
        }
        for pid in &self.pid {
            match mapped::files(*pid) {
                Some(files) => named.extend(files),
                None if mapped::exists(*pid) => bail!("process {pid}: its files must not be read (root may)"),
                None => bail!("process {pid}: there is no such process"),
            }
        }
        if named.is_empty() && (self.event.is_empty() || !patterns.is_empty()) {
            bail!("nothing to watch: name a FILE, a process with -p PID, or a program with -- COMMAND");
        }
        let plan = self.plan.as_deref();
        let file = plan.map(|path| PlanFile::read(path, &self.filters, patterns.clone())).transpose()?;
        let kernel = Kernel::new();
        let mut watching = Watching {
            named: named_by_user,
            plan: Plan::default(),
            file,
            session: None,
            kernel,
            known: HashSet::new(),
            pids: self.pid.clone(),
            child: None,
            started: 0,
            looked: Instant::now(),
            status: Status::Done,
            chains: Chains::default(),
            lost: None,
            patterns,
            watch: self,
        };
        watching.status = events::add(console, &mut watching.plan, &watching.watch.event)?;
        match named.is_empty() {
            true => watching.narrow(console, 0)?,
            false => watching.add(console, &named)?,
        }
        if watching.plan.sites.is_empty() && watching.status == Status::NoMatch {
            return Ok(watching);
        }
        let is_refused = watching.file.is_some() && watching.status == Status::Unreadable;
        if watching.plan.sites.is_empty() && (is_refused || watching.pids.is_empty() && program.is_none()) {
            bail!("there is no site to watch");
        }
        if let Some(program) = program {
            let child = Child::start(&program, &watching.watch.command)?;
            watching.pids.push(child.pid());
            watching.child = Some(child);
        }
        let scope = match watching.pids.is_empty() {
            true => Scope::All,
            false => Scope::Processes { pids: watching.pids.clone(), with_children: !watching.watch.no_children },
        };
        // Before the probes are set: they must not be left behind.
        signals::catch();
        let session = watching.watch.session(console, &watching.plan, &scope, mode, kernel);
        watching.session = Some(session.map_err(explained)?);
        if watching.plan.sites.is_empty() {
            let what = watching.file.as_ref().map(|file| format!(" ({})", file.programs())).unwrap_or_default();
            console.note(&format!("no marker is watched yet{what}; files that are mapped later are looked at"));
        }
        watching.started = sys::now();
        if let Some(child) = &mut watching.child {
            child.release()?;
        }
        Ok(watching)
    }

    /// Sets the probes with the engine that the user wants, or that the kernel offers.
    fn session(
        &self,
        console: &Console,
        plan: &Plan,
        scope: &Scope,
        mode: Mode,
        kernel: Kernel,
    ) -> Result<Session, SessionError> {
        let start = |engine| Session::start_with(engine, plan, scope, mode, kernel);
        match self.engine {
            Some(EngineName::Bpf) => return start(Engine::Bpf),
            Some(EngineName::Tracefs) => return start(Engine::Tracefs),
            None => {}
        }
        // To ask what the kernel offers takes a while. A session without a site does not tell.
        let tried = (!plan.sites.is_empty()).then(|| start(Engine::Bpf));
        if let Some(Ok(session)) = tried {
            return Ok(session);
        }
        let (engine, why) = Engine::choose(scope, &kernel);
        if let Some(why) = why {
            console.note(&format!(
                "BPF cannot be used here: {why}; watching with tracefs, which is slower and reads no thread-local variables \
                 and no memory at computed addresses"
            ));
        }
        match tried {
            Some(failed) if engine == Engine::Bpf => failed,
            _ => start(engine),
        }
    }
}

/// A session with the files and processes that it watches.
pub(crate) struct Watching {
    pub(crate) plan: Plan,
    /// The file of `--plan`.
    file: Option<PlanFile>,
    session: Option<Session>,
    kernel: Kernel,
    /// The files that the user named, by their canonical names.
    named: HashSet<PathBuf>,
    /// The files that were looked at.
    known: HashSet<PathBuf>,
    pids: Vec<u32>,
    child: Option<Child>,
    /// When the probes were set, on the clock of the records.
    pub(crate) started: u64,
    /// When new files were looked for.
    looked: Instant,
    pub(crate) status: Status,
    chains: Chains,
    /// How many hits were lost when no more were wanted; `None` until then.
    lost: Option<u64>,
    patterns: Vec<String>,
    pub(crate) watch: Watch,
}

impl Watching {
    /// Adds the markers of files to the plan.
    fn add(&mut self, console: &Console, files: &[PathBuf]) -> anyhow::Result<()> {
        let is_first = self.known.is_empty();
        // One file may have several names. Those of mapped files are canonical.
        let unknown = files.iter().filter(|file| !self.known.contains(*file));
        let files: Vec<PathBuf> = unknown.map(|file| fs::canonicalize(file).unwrap_or_else(|_| file.clone())).collect();
        let new: Vec<PathBuf> = files.into_iter().filter(|file| self.known.insert(file.clone())).collect();
        if new.is_empty() {
            return Ok(());
        }
        let (left_out, sites) = (self.plan.left_out.len(), self.plan.sites.len());
        match self.file.is_some() {
            true => self.add_planned(console, &new, is_first)?,
            false => self.add_resolved(console, &new, is_first)?,
        }
        self.narrow(console, if is_first { 0 } else { sites })?;
        left_out::tell(console, &self.plan, left_out, &|marker| self.watch.question.asks_for(marker));
        Ok(())
    }

    /// Adds the markers that files have by their debug information.
    fn add_resolved(&mut self, console: &Console, new: &[PathBuf], is_first: bool) -> anyhow::Result<()> {
        let inputs: Vec<Result<Input, Unreadable>> = match is_first {
            true => files::expand(new, false),
            false => new.iter().map(|path| Ok(Input { path: path.clone(), found: true })).collect(),
        };
        // The libraries of a process need not have markers.
        let quiet =
            |input: Result<Input, Unreadable>| input.map(|it| Input { found: !self.named.contains(&it.path), ..it });
        let inputs: Vec<_> = inputs.into_iter().map(quiet).collect();
        let selected = self.watch.filters.select(console, Detail::Places, self.patterns.clone(), &inputs)?;
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let settings = Settings {
            export: self.watch.choice.settings(),
            text: TEXT,
            thread_pointer: self.kernel.thread_pointer,
            is_sleepable: true,
        };
        for image in &selected.resolution.images {
            let keep = selected.keeps(&chosen);
            if !image.markers.iter().any(&keep) {
                continue;
            }
            let number = self.plan.images.len();
            image.markers.iter().filter(|marker| keep(marker)).for_each(|marker| self.chains.add(number, marker));
            if let Err(why) = add(&mut self.plan, image, &keep, &settings) {
                console.error(&format!("{}: {why}", image.path));
                self.status = self.status.max(Status::Unreadable);
            }
        }
        if is_first {
            self.status = self.status.max(selected.report(console, &rows, &chosen));
        }
        Ok(())
    }

    /// Adds the markers that files have by the plan file.
    fn add_planned(&mut self, console: &Console, new: &[PathBuf], is_first: bool) -> anyhow::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let refused = file.add(&mut self.plan, new, &self.named, self.kernel.thread_pointer);
        let program = self.watch.command.first().and_then(|program| fs::canonicalize(Child::find(program)?).ok());
        for refused in refused {
            if is_first && program.as_ref() == Some(&refused.path) {
                bail!("{refused}");
            }
            console.error(&refused.to_string());
            self.status = self.status.max(Status::Unreadable);
        }
        if is_first {
            self.status = self.status.max(file.report(console));
        }
        Ok(())
    }

    /// Calls `each` for each hit until the program ends, the user ends it, or `each` returns
    /// `false`. Calls `pause` whenever all hits so far are read.
    pub(crate) fn run(
        &mut self,
        console: &Console,
        each: &mut dyn FnMut(&Hit<'_>) -> bool,
        pause: &mut dyn FnMut(&Plan, &Session) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let mut wants_more = true;
        while wants_more && !self.is_over() {
            if self.looked.elapsed() >= LOOK {
                self.looked = Instant::now();
                self.follow(console)?;
            }
            let Some(session) = &mut self.session else { return Ok(()) };
            session.read(&self.plan, false, &mut |hit| wants_more = wants_more && each(hit));
            wants_more = wants_more && pause(&self.plan, session)?;
            if wants_more {
                std::thread::sleep(INTERVAL);
            }
        }
        if let Some(session) = &mut self.session {
            self.lost = if wants_more { None } else { Some(session.lost()?) };
            session.detach();
            session.read(&self.plan, true, &mut |hit| wants_more = wants_more && each(hit));
            pause(&self.plan, session)?;
        }
        Ok(())
    }

    /// Watches the files that the processes have mapped since the last call.
    pub(crate) fn look(&mut self, console: &Console) -> anyhow::Result<()> {
        if !self.pids.iter().any(|pid| mapped::exists(*pid)) {
            return Ok(());
        }
        self.follow(console)
    }

    /// Watches the files that the processes have mapped since the last look.
    fn follow(&mut self, console: &Console) -> anyhow::Result<()> {
        let files: Vec<PathBuf> = self.pids.iter().filter_map(|pid| mapped::files(*pid)).flatten().collect();
        let sites = self.plan.sites.len();
        self.add(console, &files)?;
        if let (Some(session), true) = (&mut self.session, self.plan.sites.len() > sites) {
            session.attach(&self.plan).map_err(explained)?;
        }
        Ok(())
    }

    /// Whether the watched processes have ended, or the user wants to end.
    fn is_over(&mut self) -> bool {
        match &mut self.child {
            // The terminal sends the signal to the program too, which decides what it does.
            Some(child) => child.ended().is_some(),
            None => signals::is_stopped() || !self.pids.is_empty() && !self.pids.iter().any(|pid| mapped::exists(*pid)),
        }
    }

    /// Waits for the program, and returns the exit status of the command. `session` has what was
    /// lost.
    pub(crate) fn end(mut self, console: &Console) -> anyhow::Result<ExitCode> {
        if let Some(session) = &self.session {
            narrow::tell_unfiltered(console, narrow::unfiltered(session)?);
            let (lost, missed) = (self.lost()?, session.missed()?);
            if lost > missed {
                let (full, all) = (lost - missed, session.received() + lost);
                console.error(&format!("{full} of {all} hits were lost: the buffer was full"));
            }
            if missed > 0 {
                console.error(&format!(
                    "{missed} events of the kernel were missed: it ran another BPF program on the same CPU"
                ));
            }
        }
        self.session = None;
        if self.child.is_none() {
            return Ok(self.status.into());
        }
        loop {
            match self.exit() {
                Some(status) => return Ok(ExitCode::from(u8::try_from(status).unwrap_or(255))),
                None => std::thread::sleep(INTERVAL),
            }
        }
    }

    /// Says what the frames of the hits' stacks are.
    pub(crate) fn stacks(&self) -> Stacks {
        Stacks::new(self.watch.filters.debug_folders(), self.chains.clone())
    }

    /// How many hits were lost until the end, or until no more were wanted.
    pub(crate) fn lost(&self) -> Result<u64, sys::Error> {
        match (self.lost, &self.session) {
            (Some(lost), _) => Ok(lost),
            (None, Some(session)) => session.lost(),
            (None, None) => Ok(0),
        }
    }

    /// The session; `None` if there is nothing to watch.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Whether there is something to watch.
    pub(crate) fn is_active(&self) -> bool {
        self.session.is_some()
    }

    /// The exit status of the watched program, or 128 and the number of the signal that killed it.
    /// `None` without a program, or while it runs.
    pub(crate) fn exit(&mut self) -> Option<i32> {
        match self.child.as_mut()?.ended()? {
            Ended::Exited(status) => Some(status.into()),
            Ended::Killed(signal) => Some(128 + signal),
        }
    }
}

/// Adds the markers of an image that `keep` accepts to a plan.
pub(crate) fn add(
    plan: &mut Plan,
    image: &ResolvedImage,
    keep: &dyn Fn(&Marker) -> bool,
    settings: &Settings,
) -> Result<(), ExportError> {
    let bytes = files::map_regular(Path::new(&image.path));
    let thread_locals = match (&bytes, image.kind) {
        (None, _) => ThreadLocals::Unknown,
        (Some(bytes), ImageKind::Shared) => ThreadLocals::of_library(bytes),
        (Some(bytes), _) => ThreadLocals::of_executable(bytes),
    };
    plan.add(image, &image.path, &thread_locals, keep, settings)
}

/// An error of tracefs, with what to do about it.
pub(crate) fn without_tracefs(why: &sys::Error) -> anyhow::Error {
    match why.is_permission() {
        true => anyhow::anyhow!("{why}; tracefs needs root"),
        false => why.clone().into(),
    }
}

/// An error of a session, with what to do about it.
pub(crate) fn explained(error: SessionError) -> anyhow::Error {
    let SessionError::Kernel(why) = &error else { return error.into() };
    if why.is_permission() && matches!(why.step, Step::Tracefs | Step::Instance | Step::Probe | Step::Pages) {
        return without_tracefs(why);
    }
    if why.is_permission() {
        let program = std::env::current_exe().map_or_else(|_| "smark".to_owned(), |path| path.display().to_string());
        return anyhow::anyhow!(
            "{why}; this needs root, or the rights that `setcap cap_bpf,cap_perfmon+ep {program}` gives"
        );
    }
    error.into()
}
