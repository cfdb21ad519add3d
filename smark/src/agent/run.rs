//! What a rule does over time: it waits for its files, runs its processes, and pauses when it costs too much.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::images::{ImageFinder, RuleImage};
use super::limits::{CostExcess, CostMeter, LimitKind, RuleCost};
use super::parts::{self, PartCounts, PartKeeper};
use super::plans;
use super::process::WatchingProcess;
use super::rules::{Rule, RuleCommand};
use crate::agent_report::HitTally;

/// How long to wait after a process ended by itself, at first. Each time it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The CPU time that a process may use before it watches. Debug information of large programs takes seconds.
const BEGIN: Duration = Duration::from_secs(120);

/// The state of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleStateWord {
    /// There is no file, or no plan for it.
    Waiting,
    /// Its processes set probes.
    Starting,
    Watching,
    /// It cost too much.
    Paused,
    /// A process ended by itself.
    Failed,
}

impl RuleStateWord {
    pub(super) const ALL: [Self; 5] = [Self::Waiting, Self::Starting, Self::Watching, Self::Paused, Self::Failed];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Watching => "watching",
            Self::Paused => "paused",
            Self::Failed => "failed",
        }
    }
}

/// What a rule has done since the agent began.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleTotals {
    pub(super) tally: HitTally,
    pub(super) cpu: Duration,
    pub(super) written: u64,
    /// How many processes were started.
    pub(super) starts: u64,
    /// How many ended without saying what became of their last hits.
    pub(super) untold: u64,
    /// How often each limit was exceeded.
    pub(super) exceeded: BTreeMap<LimitKind, u64>,
}

/// Which files a process watches, and by which plan.
type Group = (Option<PathBuf>, BTreeSet<PathBuf>);

/// Why a rule has no processes for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Paused(Instant),
    Failed(Instant),
}

/// A rule, and its processes.
#[derive(Debug)]
pub(super) struct RuleRun {
    pub(super) rule: Rule,
    processes: Vec<(Group, WatchingProcess)>,
    /// What the processes that have ended did.
    ended: RuleTotals,
    meter: CostMeter,
    began: Instant,
    rest: Option<Rest>,
    /// How long to wait when a process ends by itself.
    pause: Duration,
    /// When a process last ended by itself.
    failed: Option<Instant>,
    keeper: PartKeeper,
    is_leaving: bool,
}

impl RuleRun {
    pub(super) fn new(rule: Rule) -> Self {
        Self {
            rule,
            processes: Vec::new(),
            ended: RuleTotals::default(),
            meter: CostMeter::default(),
            began: Instant::now(),
            rest: None,
            pause: FIRST_PAUSE,
            failed: None,
            keeper: PartKeeper::default(),
            is_leaving: false,
        }
    }

    /// Takes a rule in place of one of the same name. What it has done is kept.
    pub(super) fn replace(&mut self, rule: Rule) {
        self.stop();
        (self.rule, self.rest, self.pause) = (rule, None, FIRST_PAUSE);
        self.meter = CostMeter::default();
    }

    pub(super) fn state(&self) -> RuleStateWord {
        let watches = |(_, process): &(Group, WatchingProcess)| process.report.is_some();
        match self.rest {
            Some(Rest::Paused(_)) => RuleStateWord::Paused,
            Some(Rest::Failed(_)) => RuleStateWord::Failed,
            None if self.processes.is_empty() => RuleStateWord::Waiting,
            None if self.processes.iter().any(watches) => RuleStateWord::Watching,
            None => RuleStateWord::Starting,
        }
    }

    pub(super) fn sites(&self) -> u64 {
        let watching = self.processes.iter().filter(|(_, process)| !process.is_ending());
        watching.filter_map(|(_, process)| Some(process.report?.sites)).sum()
    }

    /// What became of its parts; `None` if it records nothing.
    pub(super) fn parts(&self) -> Option<PartCounts> {
        matches!(self.rule.command, RuleCommand::Record(_)).then_some(self.keeper.totals)
    }

    /// All that it has done.
    pub(super) fn totals(&self) -> RuleTotals {
        let mut totals = self.ended.clone();
        for (_, process) in &self.processes {
            totals.tally = totals.tally.plus(process.report.map(|report| report.tally).unwrap_or_default());
            totals.cpu += process.cpu;
            totals.written += process.written;
        }
        totals.cpu += self.keeper.cpu();
        totals
    }

    /// Reads what the processes say, and stops them if they cost too much. Returns lines for people.
    pub(super) fn poll(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for (group, mut process) in std::mem::take(&mut self.processes) {
            lines.extend(process.lines());
            match process.poll() {
                Ok(None) => self.processes.push((group, process)),
                Ok(Some(status)) => {
                    lines.extend(process.last_lines());
                    lines.extend(self.end(&process, Some(status)));
                }
                Err(why) => {
                    lines.push(why.to_string());
                    lines.extend(self.end(&process, None));
                }
            }
        }
        if let RuleCommand::Record(parts) = &self.rule.command {
            lines.extend(self.keeper.look(parts, !self.is_leaving));
        }
        if self.rest.is_none() {
            lines.extend(self.check_cost());
        }
        let now = Instant::now();
        if matches!(self.rest, Some(Rest::Paused(until) | Rest::Failed(until)) if until <= now) {
            self.rest = None;
            self.meter = CostMeter::default();
        }
        lines
    }

    /// Adds what a process did that has ended.
    fn end(&mut self, process: &WatchingProcess, status: Option<ExitStatus>) -> Option<String> {
        let report = process.report.unwrap_or_default();
        self.ended.tally = self.ended.tally.plus(report.tally);
        self.ended.cpu += process.cpu;
        self.ended.written += process.written;
        self.ended.untold += u64::from(process.report.is_some() && !report.is_last);
        if process.is_ending() {
            return None;
        }
        // One that worked for long has not failed again and again.
        let now = Instant::now();
        if self.failed.is_none_or(|when| now.duration_since(when) > LONGEST_PAUSE) {
            self.pause = FIRST_PAUSE;
        }
        self.failed = Some(now);
        self.rest = Some(Rest::Failed(now + self.pause));
        let pause = humantime::format_duration(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        let how = status.map_or_else(|| "its status is unknown".to_owned(), |status| status.to_string());
        Some(format!("`smark {}` ended ({how}); it is started again in {pause}", self.rule.command.word()))
    }

    /// Stops the processes if they cost more than they may.
    fn check_cost(&mut self) -> Option<String> {
        let late = self.processes.iter().any(|(_, process)| process.report.is_none() && process.cpu > BEGIN);
        let is_begun = self.processes.iter().any(|(_, process)| process.report.is_some());
        if late {
            let (cost, most) = (self.totals().cpu.as_secs_f64(), BEGIN.as_secs_f64());
            return Some(self.rest_after(CostExcess { limit: LimitKind::Begin, cost, most }));
        }
        if !is_begun {
            return None;
        }
        let totals = self.totals();
        let cost =
            RuleCost { at: self.began.elapsed(), cpu: totals.cpu, hits: totals.tally.hits, bytes: totals.written };
        self.meter.add(cost);
        let exceeded = self.meter.exceeded(&self.rule.limits)?;
        Some(self.rest_after(exceeded))
    }

    fn rest_after(&mut self, exceeded: CostExcess) -> String {
        *self.ended.exceeded.entry(exceeded.limit).or_default() += 1;
        self.stop();
        let pause = self.rule.limits.pause;
        self.rest = Some(Rest::Paused(Instant::now() + pause));
        let CostExcess { limit, cost, most } = exceeded;
        let what = match limit {
            LimitKind::Begin => format!("{cost:.0} s of CPU time, and it does not watch yet; {most:.0} s are allowed"),
            LimitKind::Cpu => format!("{:.2} % of a CPU, {:.2} % are allowed", cost * 100.0, most * 100.0),
            LimitKind::Hits => format!("{cost:.0} hits a second, {most:.0} are allowed"),
            LimitKind::Bytes => format!("{cost:.0} bytes in an hour, {most:.0} are allowed"),
        };
        format!("it costs too much: {what}; it pauses for {}", humantime::format_duration(pause))
    }

    /// Starts and stops processes, so that they watch what is there. Returns lines for people.
    pub(super) fn look(&mut self, finder: &mut ImageFinder) -> Vec<String> {
        if self.rest.is_some() {
            return Vec::new();
        }
        let Rule { images, build_ids, plans, .. } = &self.rule;
        let has_images = !images.is_empty() || !build_ids.is_empty();
        let found = finder.find(images, build_ids, plans.is_some());
        let groups = match has_images {
            // The options say what is watched.
            false => BTreeMap::from([(None, BTreeSet::new())]),
            true => self.groups(found),
        };
        let mut lines = Vec::new();
        for ((plan, files), process) in &mut self.processes {
            if groups.get(plan) != Some(files) {
                process.stop();
            }
        }
        for group in groups {
            // One ends before the next begins: they may use the same folder or address.
            if self.processes.iter().any(|((plan, _), _)| *plan == group.0) {
                continue;
            }
            match WatchingProcess::start(&self.rule.arguments(&group.1, group.0.as_deref()), self.rule.keeps_output()) {
                Ok(process) => {
                    self.ended.starts += 1;
                    self.processes.push((group, process));
                }
                Err(why) => {
                    self.rest = Some(Rest::Failed(Instant::now() + self.pause));
                    lines.push(format!("smark cannot be started: {why}"));
                }
            }
        }
        lines
    }

    /// The files for each plan. Files without a plan are left out if plans are to be used.
    fn groups(&self, found: BTreeSet<RuleImage>) -> BTreeMap<Option<PathBuf>, BTreeSet<PathBuf>> {
        let mut groups: BTreeMap<Option<PathBuf>, BTreeSet<PathBuf>> = BTreeMap::new();
        for RuleImage { path, build_id } in found {
            let plan = match &self.rule.plans {
                None => None,
                Some(store) => match build_id.and_then(|id| plans::find(store, &id)) {
                    Some(plan) => Some(plan),
                    None => continue,
                },
            };
            groups.entry(plan).or_default().insert(path);
        }
        groups
    }

    /// Asks all processes to end.
    pub(super) fn stop(&mut self) {
        self.processes.iter_mut().for_each(|(_, process)| process.stop());
    }

    /// Asks all processes to end, and begins nothing more. Tables that are being made are completed.
    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
        self.stop();
    }

    /// Whether all processes have ended.
    pub(super) fn is_idle(&self) -> bool {
        self.processes.is_empty() && self.keeper.is_idle()
    }
}

impl Rule {
    /// The arguments of its process.
    pub(super) fn arguments(&self, files: &BTreeSet<PathBuf>, plan: Option<&Path>) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![self.command.word().into(), "--for-agent".into()];
        if let RuleCommand::Record(of) = &self.command {
            let every = humantime::format_duration(of.every).to_string().replace(' ', "");
            arguments.extend(["--parts".into(), every.into(), "-o".into(), parts::recordings(of).into_os_string()]);
        }
        arguments.extend(self.options.iter().map(OsString::from));
        if let Some(plan) = plan {
            arguments.extend(["--plan".into(), plan.as_os_str().to_owned()]);
        }
        for marker in &self.markers {
            arguments.extend(["--name".into(), marker.into()]);
        }
        arguments.extend(files.iter().map(|file| file.as_os_str().to_owned()));
        arguments
    }

    /// Whether the output of its process is that of the agent.
    fn keeps_output(&self) -> bool {
        self.command == RuleCommand::Trace
    }
}
