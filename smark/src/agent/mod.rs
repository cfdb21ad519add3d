//! `smark agent`: watches by a file of rules, within limits. It is no engine of its own: each rule is a process of
//! `smark count`, `record` or `trace`, so that one cannot harm another, and the kernel says what each costs.

mod images;
mod limits;
mod page;
mod parts;
mod plans;
mod process;
mod rules;
mod run;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::{Args, Command};
use simple_markers_tracer::sys::mapped::FileId;
use simple_markers_tracer::sys::{ProcessStat, signals};

use self::images::ImageFinder;
use self::page::{PageContents, RuleOnPage, StatusPage};
use self::rules::{AgentRules, PlanStore, RecordedParts, Rule, RuleCommand};
use self::run::{RuleRun, RuleTotals};
use crate::console::Console;
use crate::features;

/// Watch by a file of rules, within limits, until it is stopped
///
/// Each rule runs `smark count`, `smark record` or `smark trace` on the files that it names, as soon as there are any, and again when
/// it ends. A rule that costs more CPU time, hits or bytes than it may is stopped for a while. The file is read again when it
/// changes, or with SIGHUP. docs/agent.md describes it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Agent {
    /// The file with the rules
    #[arg(value_name = "RULES")]
    rules: PathBuf,
    /// Only check the file
    #[arg(long)]
    check: bool,
}

const EXAMPLES: &str = "\
EXAMPLES
  Rules that count requests, with a page for Prometheus (rules.toml):
      [[rule]]
      name = \"requests\"
      command = \"count\"
      images = [\"/opt/shop/bin/server\"]
      markers = [\"http:*\"]
      options = [\"--metrics\", \":9112\"]
      limits = { cpu = \"1%\", hits = 100000 }
  Check them, and run them:
      smark agent --check rules.toml
      smark agent rules.toml";

/// How often processes are looked at.
const TICK: Duration = Duration::from_secs(1);
/// How long processes may take to end when the agent ends.
const END: Duration = Duration::from_secs(20);

impl Agent {
    /// Runs. `smark` is this program's command line, which the options of rules are checked with.
    pub(crate) fn run(self, smark: Command, console: &Console) -> anyhow::Result<ExitCode> {
        let rules = read(&self.rules, &smark)?;
        if self.check {
            console.note(&format!("{}: {} rules", self.rules.display(), rules.rules.len()));
            return Ok(ExitCode::SUCCESS);
        }
        signals::catch();
        signals::catch_reload();
        let page = rules.status.as_ref().map(StatusPage::start).transpose()?;
        if let Some(page) = &page {
            console.note(&format!("http://{}/metrics says what the rules do", page.address));
        }
        let mut agent = RunningAgent::new(self.rules, rules, page, smark);
        while !signals::is_stopped() {
            agent.step(console);
            signals::wait(None, TICK);
        }
        agent.end(console);
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads and checks rules.
fn read(path: &Path, smark: &Command) -> anyhow::Result<AgentRules> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| shown.to_string())?;
    let rules = AgentRules::parse(&text).map_err(|error| anyhow::anyhow!("{shown}:{error}"))?;
    for rule in &rules.rules {
        check(rule, smark).with_context(|| format!("{shown}: rule `{}`", rule.name))?;
    }
    Ok(rules)
}

/// Checks what only this program and this machine can tell.
fn check(rule: &Rule, smark: &Command) -> anyhow::Result<()> {
    let file = BTreeSet::from([PathBuf::from("/program")]);
    let arguments = std::iter::once("smark".into()).chain(rule.arguments(&file, None));
    if let Err(error) = smark.clone().try_get_matches_from(arguments) {
        let text = error.render().to_string();
        bail!("{}", text.lines().next().unwrap_or_default().trim_start_matches("error: "));
    }
    let needs_server = matches!(rule.plans, Some(PlanStore::Server(_)));
    if needs_server && !cfg!(feature = "debuginfod") {
        bail!("plans of a server: {}, or copy the plans into a folder", features::without("debuginfod"));
    }
    let needs_tables = matches!(rule.command, RuleCommand::Record(RecordedParts { as_parquet: true, .. }));
    if needs_tables && !cfg!(feature = "parquet") {
        bail!("parquet = true: {}", features::without("parquet"));
    }
    if rule.limits.bytes.is_some() && process::written_bytes(std::process::id()).is_none() {
        bail!("this kernel does not say how many bytes a process writes (/proc/PID/io), so `bytes` cannot be a limit");
    }
    Ok(())
}

/// An agent that runs.
struct RunningAgent {
    smark: Command,
    path: PathBuf,
    /// What the file with the rules was when it was read; `None` if it was not there.
    file: Option<FileId>,
    page: Option<StatusPage>,
    rules: Vec<RuleRun>,
    /// Rules that are gone, and whose processes have not ended.
    leaving: Vec<RuleRun>,
    finder: ImageFinder,
    look: Duration,
    /// When files are looked for next.
    due: Instant,
    reloads: u64,
    is_current: bool,
}

impl RunningAgent {
    fn new(path: PathBuf, rules: AgentRules, page: Option<StatusPage>, smark: Command) -> Self {
        Self {
            smark,
            file: FileId::at(&path),
            path,
            page,
            look: rules.look,
            rules: rules.rules.into_iter().map(RuleRun::new).collect(),
            leaving: Vec::new(),
            finder: ImageFinder::default(),
            due: Instant::now(),
            reloads: 0,
            is_current: true,
        }
    }

    fn step(&mut self, console: &Console) {
        let is_asked = signals::take_reload();
        let is_due = is_asked || Instant::now() >= self.due;
        if is_due {
            self.due = Instant::now() + self.look;
            let now = FileId::at(&self.path);
            if is_asked || (now.is_some() && now != self.file) {
                self.file = now;
                self.reload(console);
            }
        }
        for run in self.rules.iter_mut().chain(&mut self.leaving) {
            let lines = run.poll();
            tell(console, run, lines);
        }
        self.leaving.retain(|run| {
            let is_idle = run.is_idle();
            if is_idle {
                tell_totals(console, &run.rule.name, &run.totals());
            }
            !is_idle
        });
        if is_due {
            self.finder.begin_look();
            for run in &mut self.rules {
                let lines = run.look(&mut self.finder);
                tell(console, run, lines);
            }
        }
        self.show();
    }

    /// Takes the rules of the file. If it has an error, those that hold stay.
    fn reload(&mut self, console: &Console) {
        let AgentRules { look, rules, .. } = match read(&self.path, &self.smark) {
            Ok(rules) => rules,
            Err(why) => {
                self.is_current = false;
                console.error(&format!("{why:#}; the rules before hold"));
                return;
            }
        };
        (self.look, self.is_current) = (look, true);
        self.reloads += 1;
        let mut before = std::mem::take(&mut self.rules);
        for rule in rules {
            let run = match before.iter().position(|run| run.rule.name == rule.name) {
                None => RuleRun::new(rule),
                Some(position) => {
                    let mut run = before.remove(position);
                    if run.rule != rule {
                        run.replace(rule);
                    }
                    run
                }
            };
            self.rules.push(run);
        }
        before.iter_mut().for_each(RuleRun::leave);
        self.leaving.extend(before);
        console.note(&format!("{}: read again", self.path.display()));
    }

    fn show(&self) {
        let Some(page) = &self.page else { return };
        let of = |run: &RuleRun| RuleOnPage {
            name: run.rule.name.clone(),
            state: run.state(),
            totals: run.totals(),
            sites: run.sites(),
            parts: run.parts(),
        };
        page.set(PageContents {
            rules: self.rules.iter().map(of).collect(),
            cpu: ProcessStat::of(std::process::id()).map_or(Duration::ZERO, |stat| stat.cpu),
            reloads: self.reloads,
            is_current: self.is_current,
        });
    }

    /// Ends all processes, and says what was done.
    fn end(mut self, console: &Console) {
        let mut all: Vec<RuleRun> = self.rules.drain(..).chain(self.leaving.drain(..)).collect();
        all.iter_mut().for_each(RuleRun::leave);
        let end = Instant::now() + END;
        while all.iter().any(|run| !run.is_idle()) && Instant::now() < end {
            for run in &mut all {
                let lines = run.poll();
                tell(console, run, lines);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        for run in &all {
            tell_totals(console, &run.rule.name, &run.totals());
        }
    }
}

/// Prints what the processes of a rule say.
fn tell(console: &Console, run: &RuleRun, lines: Vec<String>) {
    for line in lines {
        console.note(&format!("{}: {}", run.rule.name, line.trim_start_matches("smark: ")));
    }
}

/// Says what a rule did.
fn tell_totals(console: &Console, name: &str, totals: &RuleTotals) {
    let tally = totals.tally;
    let mut text = format!(
        "{name}: {} hits, {} delivered, {} dropped; {:.2} s of CPU time",
        tally.hits,
        tally.delivered,
        tally.dropped,
        totals.cpu.as_secs_f64()
    );
    if totals.untold > 0 {
        text.push_str(&format!("; processes that did not say what became of their last hits: {}", totals.untold));
    }
    console.note(&text);
}
