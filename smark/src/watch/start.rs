//! Starts to watch: finds the files, sets the probes, and lets the program run.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use rustix::process::{Signal, getpid, kill_process};
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::sys::groups::Group;
use simple_markers_tracer::sys::mapped::{self, MappedFile};
use simple_markers_tracer::sys::{
    self, Child, Engine, Floor, Kernel, Mode, RunningKernel, Scope, Session, SessionError, signals,
};

use super::errors::explained;
use super::matching::Matching;
use super::named_files::NamedFiles;
use super::options::Options;
use super::watching::{Watching, tell_unopened};
use super::{add, events};
use crate::console::{Console, Status};
use crate::libraries;
use crate::mapped_symbols::RegionCache;
use crate::planned::PlanFile;
use crate::stacks::Chains;

/// Ends the command after some time, as SIGTERM does.
pub(crate) fn end_after(duration: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(duration);
        // A process may always send itself a signal.
        let _ = kill_process(getpid(), Signal::TERM);
    });
}

impl Options {
    /// Resolves the files, sets the probes, and lets the program run.
    pub(crate) fn start(self, console: &Console, mode: Mode) -> anyhow::Result<Watching> {
        let mut found = add::named(&self.files);
        let files = NamedFiles::new(console, &self.files);
        let named = found.iter().flatten().map(|file| file.id).collect();
        let program = match self.command.first() {
            Some(program) => match Child::find(program) {
                Some(program) => Some(program),
                None => bail!("{}: there is no such program in PATH", program.to_string_lossy()),
            },
            None => None,
        };
        let mut programs = HashSet::new();
        if let Some(program) = &program {
            let of_command = add::named(std::slice::from_ref(program));
            programs.extend(of_command.iter().flatten().map(|file| file.id));
            found.extend(of_command);
            match libraries::of(program) {
                Ok(libraries) => found.extend(libraries.iter().flat_map(|it| MappedFile::named(it)).map(Ok)),
                Err(why) => {
                    console
                        .note(&format!("{}: its libraries are looked for while it runs: {why:#}", program.display()));
                }
            }
        }
        let mut mapped = HashSet::new();
        let in_group = self.group.as_ref().map(Group::processes).unwrap_or_default();
        for pid in self.pids.iter().chain(&in_group) {
            match mapped::files(*pid) {
                Some((files, unopened)) => {
                    tell_unopened(console, *pid, &unopened);
                    mapped.extend(files.iter().map(|file| file.id.number()));
                    let program = MappedFile::named(Path::new(&format!("/proc/{pid}/exe")));
                    programs.extend(program.ok().filter(|_| self.pids.contains(pid)).map(|file| file.id));
                    found.extend(files.into_iter().map(Ok));
                }
                None if mapped::exists(*pid) => bail!("process {pid}: its files must not be read (root may)"),
                None if self.pids.contains(pid) => bail!("process {pid}: there is no such process"),
                // It was in the group.
                None => {}
            }
        }
        if let Some(group) = self.group.as_ref().filter(|_| in_group.is_empty()) {
            console.note(&format!("no process is in the control group {} yet", group.path.display()));
        }
        let is_empty = found.is_empty();
        if is_empty && self.group.is_none() && (self.events.is_empty() || !self.patterns.is_empty()) {
            bail!(
                "nothing to watch: name a FILE, a process with -p PID, a control group with --cgroup, or a program with -- COMMAND"
            );
        }
        let plan = self.plan.as_deref();
        let file = plan.map(|path| PlanFile::read(path, &self.filters, self.patterns.clone())).transpose()?;
        let kernel = Kernel::new();
        let has_stacks = matches!(mode, Mode::Trace { stacks, .. } if stacks.is_any())
            || matches!(self.question, Question::Stacks { .. })
            || self.question.notes().are_wanted();
        let regions = has_stacks.then(RegionCache::default);
        regions.iter().for_each(|regions| self.pids.iter().for_each(|pid| regions.look(*pid)));
        let mut watching = Watching {
            named,
            programs,
            files,
            changes: Vec::new(),
            plan: Plan::default(),
            file,
            session: None,
            kernel,
            running: RunningKernel::find(),
            is_recorded: self.is_recorded(mode),
            known: HashSet::new(),
            pinned: Vec::new(),
            loaders: Vec::new(),
            mapped,
            matching: Matching::default(),
            pids: self.pids.clone(),
            child: None,
            started: 0,
            looked: Instant::now(),
            status: Status::Done,
            chains: Chains::default(),
            regions,
            lost: None,
            has_hits: false,
            is_told: false,
            let_go: HashSet::new(),
            numbered: HashSet::new(),
            watch: self,
        };
        watching.status = events::add(console, &mut watching.plan, &watching.watch.events)?;
        match is_empty {
            true => watching.narrow(console, 0, true)?,
            false => watching.add(console, found, true)?,
        }
        match watching.may_match_later() {
            true => watching.note_patterns(console)?,
            false => watching.status = watching.status.max(watching.report_patterns(console)?),
        }
        if watching.plan.sites.is_empty() && watching.status == Status::NoMatch {
            return Ok(watching);
        }
        // If the kernel measures times from the start, it also has to see the probes of files that come later.
        if let (Question::Time { .. }, Mode::Count { .. }) = (&watching.watch.question, mode) {
            let is_recorded = |plan: &Plan| plan.sites.iter().any(|site| site.recorded.is_some());
            watching.is_recorded &= is_recorded(&watching.plan);
        }
        let is_refused = watching.file.is_some() && watching.status == Status::Unreadable;
        if watching.plan.sites.is_empty() && (is_refused || !watching.is_of_some() && program.is_none()) {
            bail!("there is no site to watch");
        }
        if let Some(program) = program {
            let stops = watching.plan.sites.iter().any(|site| site.recorded.is_some());
            let mut child = Child::start(&program, &watching.watch.command, stops)?;
            if watching.watch.with_children {
                if let Err(why) = child.follow() {
                    console.note(&format!("programs that it executes are watched a moment after their start: {why}"));
                }
            }
            watching.pids.push(child.pid());
            watching.child = Some(child);
        }
        let scope = match (&watching.pids[..], &watching.watch.group) {
            ([], Some(group)) => Scope::Group(group.clone()),
            ([], None) => Scope::All,
            (pids, _) => Scope::Processes { pids: pids.to_vec(), with_children: watching.watch.with_children },
        };
        // Before the probes are set: they must not be left behind.
        signals::catch();
        let session = watching.watch.session(console, &watching.plan, &scope, mode, kernel);
        watching.session = Some(session.map_err(explained)?);
        watching.add_loaders();
        watching.tell_watched(console);
        watching.tell_sites(console, 0);
        if watching.plan.sites.is_empty() {
            let what = watching.file.as_ref().map(|file| format!(" ({})", file.programs())).unwrap_or_default();
            let more = if watching.child.as_ref().is_some_and(Child::is_followed) { "executed or " } else { "" };
            console.note(&format!("no marker is watched yet{what}; files that are {more}mapped later are looked at"));
        }
        watching.started = sys::now();
        watching.watch.duration.into_iter().for_each(end_after);
        watching.wait_at_each_exec();
        if let Some(child) = &mut watching.child {
            child.release()?;
        }
        if !watching.child.as_ref().is_some_and(Child::is_followed) {
            // The program is there, and has not run yet.
            watching.arm(console);
            if let Some(child) = &mut watching.child {
                child.run();
            }
        }
        Ok(watching)
    }

    /// Whether programs record their probes themselves. Their records are of processes that are named,
    /// and have neither stacks nor tasks.
    fn is_recorded(&self, mode: Mode) -> bool {
        let has_processes = !self.pids.is_empty() || !self.command.is_empty();
        let is_possible = match mode {
            Mode::Trace { stacks, .. } => !stacks.is_any(),
            // `smark top` asks now and then, and a buffer has to be read all the time. A record does not say what the
            // thread did.
            Mode::Count { .. } => {
                let is_of_kernel = matches!(self.question, Question::Processes | Question::Stacks { .. });
                !is_of_kernel && !self.question.is_split()
            }
            Mode::Nothing => false,
        };
        has_processes && self.engine.is_none() && is_possible && !self.filters.finds_tasks
    }

    /// The shortest time that is measured between two markers. `None` if it cannot be measured.
    pub(crate) fn floor(&self) -> Option<Floor> {
        Floor::measure(self.engine.unwrap_or(Engine::Bpf), Kernel::new(), self.question.is_split())
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
        if let Some(engine) = self.engine {
            return start(engine);
        }
        if let Scope::Group(_) = scope {
            return start(Engine::Bpf);
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
