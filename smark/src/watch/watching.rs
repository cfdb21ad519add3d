//! What is watched, from the first hit to the end.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use simple_markers_tracer::Plan;
use simple_markers_tracer::sys::groups::Group;
use simple_markers_tracer::sys::mapped::{self, FileId, MappedFile};
use simple_markers_tracer::sys::{Child, Failure, Kernel, RunningKernel, Session, TreeEvent, signals};

use super::errors::explained;
use super::events;
use super::matching::Matching;
use super::named_files::{FileChange, NamedFiles};
use super::options::Options;
use super::pinned::PinnedFile;
use crate::console::{Console, Status};
use crate::mapped_symbols::RegionCache;
use crate::planned::PlanFile;
use crate::process_functions::ProcessFunctions;
use crate::sinks::Setting;
use crate::stacks::{Chains, Stacks};

/// How often new files, and hits that nothing tells of yet, are looked for while there are none.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A session with the files and processes that it watches.
pub(crate) struct Watching {
    pub(crate) plan: Plan,
    /// The file of `--plan`.
    pub(super) file: Option<PlanFile>,
    pub(super) session: Option<Session>,
    pub(super) kernel: Kernel,
    /// How it treats uprobes.
    pub(super) running: RunningKernel,
    /// Whether programs record their probes themselves.
    pub(super) is_recorded: bool,
    /// The files that the user named.
    pub(super) named: HashSet<FileId>,
    /// The programs that the user named, as a command or a process.
    pub(super) programs: HashSet<FileId>,
    /// Their paths, which may lead to other files later.
    pub(super) files: NamedFiles,
    /// What has happened to files, and was not said yet.
    pub(super) changes: Vec<(PathBuf, FileChange)>,
    /// The files that were looked at.
    pub(super) known: HashSet<FileId>,
    /// The files of the images.
    pub(super) pinned: Vec<PinnedFile>,
    /// The loaders of programs that do not tell yet when they map libraries, and where they do it.
    pub(super) loaders: Vec<(String, u64)>,
    /// The devices and inodes of the files that a watched process has or had mapped.
    pub(super) mapped: HashSet<(u64, u64)>,
    pub(super) matching: Matching,
    pub(super) pids: Vec<u32>,
    pub(super) child: Option<Child>,
    /// When the probes were set, on the clock of the records.
    pub(crate) started: u64,
    /// When new files were looked for.
    pub(super) looked: Instant,
    pub(crate) status: Status,
    pub(super) chains: Chains,
    /// What processes have mapped, which frames of stacks are found by; `None` if there are no stacks.
    pub(super) regions: Option<RegionCache>,
    /// How many hits were lost when no more were wanted; `None` until then.
    pub(super) lost: Option<u64>,
    /// Whether there were hits.
    pub(super) has_hits: bool,
    /// Whether it was said what is watched.
    pub(super) is_told: bool,
    /// The programs that trace others themselves, of which it was said.
    pub(super) let_go: HashSet<String>,
    /// The processes of whose numbers in their namespaces it was said.
    pub(super) numbered: HashSet<u32>,
    pub(crate) watch: Options,
}

impl Watching {
    /// Watches the files that the processes have mapped since the last call.
    pub(crate) fn look(&mut self, console: &Console) -> anyhow::Result<()> {
        self.yield_leases(console);
        self.follow_paths(console)?;
        if self.watch.group.is_none() && !self.pids.iter().any(|pid| mapped::exists(*pid)) {
            return Ok(());
        }
        self.follow(console, None)
    }

    /// Watches the files of the programs that wait, and lets them go on.
    pub(super) fn serve(&mut self, console: &Console) -> anyhow::Result<()> {
        let traced = self.child.as_mut().map(Child::traced).unwrap_or_default();
        for traced in traced {
            match traced {
                TreeEvent::Waits { pid, files, is_exec } => {
                    self.watch_files(console, files)?;
                    if let (true, Some(regions)) = (is_exec, &self.regions) {
                        regions.look(pid);
                    }
                    if let (true, Some(session)) = (is_exec, &mut self.session) {
                        if session.has_recorded() {
                            session.add_process(pid);
                            self.arm(console);
                        }
                    }
                    if let Some(child) = &self.child {
                        child.go_on(pid);
                    }
                }
                TreeEvent::Forks { pid, child } => {
                    self.regions.iter().for_each(|regions| regions.fork(pid, child));
                }
                TreeEvent::LetGo { pid, program, files, released } => {
                    self.follow(console, Some(pid))?;
                    // Their probes are set before it executes them.
                    self.watch_files(console, files)?;
                    if let Some(child) = &self.child {
                        child.go_on(pid);
                    }
                    let program = program.display().to_string();
                    for pid in released {
                        console.note(&format!(
                            "process {pid} is left to {program}: what it executes or loads from now on is watched a moment later"
                        ));
                    }
                    if self.let_go.insert(program.clone()) {
                        console.note(&format!(
                            "{program}: it may trace processes itself, so what it starts does not wait for its probes, and \
                             programs that its arguments do not name are watched a moment after their start. It cannot attach to \
                             other processes of this command: --no-children"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// Watches what the kernel tells to be mapped, or looks itself now and then.
    pub(super) fn look_again(&mut self, console: &Console) -> anyhow::Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        for pid in session.take_notices() {
            self.regions.iter().for_each(|regions| regions.look(pid));
            self.follow(console, Some(pid))?;
        }
        let is_told = self.session.as_ref().is_some_and(Session::gives_notice);
        if !is_told && self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            self.follow(console, None)?;
        }
        Ok(())
    }

    /// Whether not all processes are watched.
    pub(super) fn is_of_some(&self) -> bool {
        !self.pids.is_empty() || self.watch.group.is_some()
    }

    /// The processes that were named, or those that are in the control group now.
    fn processes(&self) -> Vec<u32> {
        match self.pids.is_empty() {
            true => self.watch.group.as_ref().map(Group::processes).unwrap_or_default(),
            false => self.pids.clone(),
        }
    }

    /// Watches the files that a process has mapped, or all that are watched have.
    pub(super) fn follow(&mut self, console: &Console, pid: Option<u32>) -> anyhow::Result<()> {
        let pids = pid.map_or_else(|| self.processes(), |pid| vec![pid]);
        self.tell_numbers(console, &pids);
        let files = pids.iter().filter_map(|pid| mapped::files(*pid)).flat_map(|(files, _)| files).collect();
        self.watch_files(console, files)?;
        self.arm(console);
        Ok(())
    }

    /// Watches files.
    pub(super) fn watch_files(&mut self, console: &Console, files: Vec<MappedFile>) -> anyhow::Result<()> {
        self.mapped.extend(files.iter().map(|file| file.id.number()));
        let sites = self.plan.sites.len();
        self.add(console, files.into_iter().map(Ok).collect(), false)?;
        self.add_loaders();
        if let (Some(session), true) = (&mut self.session, self.plan.sites.len() > sites) {
            if let Err(why) = session.attach(&self.plan) {
                console.error(&format!("not everything is watched: {:#}", explained(why)));
                self.status = self.status.max(Status::Unreadable);
            }
            self.tell_watched(console);
            self.tell_sites(console, sites);
            self.wait_at_each_exec();
        }
        self.tell_changes(console, sites);
        Ok(())
    }

    /// Makes loaders tell when they map libraries.
    pub(super) fn add_loaders(&mut self) {
        if let Some(session) = &mut self.session {
            self.loaders.drain(..).for_each(|(path, offset)| session.add_loader(&path, offset));
        }
    }

    /// Programs that record their probes themselves are told to do so each time they start. For stacks it is
    /// noted what they have mapped, because they may end before their hits are read.
    pub(super) fn wait_at_each_exec(&self) {
        let is_recorded = self.session.as_ref().is_some_and(Session::has_recorded);
        if let (Some(child), true) = (&self.child, is_recorded || self.regions.is_some()) {
            child.wait_at_each_exec();
        }
    }

    /// Arms the probes of programs that record them, in what is mapped now.
    pub(super) fn arm(&mut self, console: &Console) {
        let Some(session) = &mut self.session else { return };
        for Failure { pid, file, why } in session.arm() {
            console.error(&format!("process {pid}: {}: probes are not recorded: {why}", file.display()));
        }
    }

    /// Whether the watched processes have ended, or the user wants to end.
    pub(super) fn is_over(&mut self) -> bool {
        match &mut self.child {
            // The program decides what it does at a signal.
            Some(child) => {
                signals::take_sent().for_each(|signal| child.send(signal));
                child.ended().is_some()
            }
            None => signals::is_stopped() || !self.pids.is_empty() && !self.pids.iter().any(|pid| mapped::exists(*pid)),
        }
    }

    /// Says what the frames of the hits' stacks are.
    pub(crate) fn stacks(&self, console: &Console) -> Stacks {
        Stacks::new(
            self.watch.filters.debug_folders(console),
            self.chains.clone(),
            self.regions.clone().unwrap_or_default(),
        )
    }

    /// Finds the functions whose addresses values have.
    pub(crate) fn functions(&self, console: &Console) -> ProcessFunctions {
        ProcessFunctions::new(self.watch.filters.debug_folders(console))
    }

    /// What its hits are shown with, without stacks.
    pub(crate) fn setting(&self, console: &Console, colour: bool) -> Setting {
        Setting {
            start: self.started,
            names: events::names(&self.plan),
            functions: Box::new(self.functions(console)),
            colour,
            has_tasks: self.watch.notes_tasks,
            stacks: None,
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
}

/// Says which files of a process cannot be read.
pub(super) fn tell_unopened(console: &Console, pid: u32, paths: &[PathBuf]) {
    for path in paths {
        console.error(&format!(
            "process {pid}: {} is another file here, or none, and the one that is mapped must not be read (root may)",
            path.display()
        ));
    }
}
