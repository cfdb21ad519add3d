//! Runs `smark view`: the terminal, and what the keys ask for.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::{IntervalSubject, Question};
use simple_markers_tracer::plan::DoubtfulValues;
use simple_markers_tracer::sys::signals;

use super::backend::SequenceBackend;
use super::draw::Scene;
use super::hits::RecordedHits;
use super::index::RecordingIndex;
use super::keys::keys;
use super::model::{Viewer, ViewerStep};
use super::read;
use crate::console::{Console, Status};
use crate::narrow::HitQuery;
use crate::report::pairs::Pairs;
use crate::report::recording::{CUT_OFF, Recording, operands};
use crate::terminal::Terminal;

/// How long a key is waited for at once. A signal ends it too.
const WAIT: Duration = Duration::from_secs(3600);

/// After so many hits that do not match, it is seen whether a key was pressed.
const SEARCHED: usize = 1 << 12;

type ViewScreen = ratatui::Terminal<SequenceBackend>;

/// Shows a recording, or the newest one here. `question` asks for the hits of a pair.
pub(super) fn run(folder: Option<PathBuf>, question: Option<Question>, console: &Console) -> anyhow::Result<ExitCode> {
    let what = match (io::stdin().is_terminal(), io::stdout().is_terminal()) {
        (true, true) => None,
        (true, false) => Some("standard output is no terminal"),
        (false, _) => Some("standard input is no terminal"),
    };
    if let Some(what) = what {
        bail!("view: {what}; smark report prints the hits of a recording, and makes a page of them with --to html");
    }
    signals::catch();
    let folder = match folder {
        Some(folder) => folder,
        None => operands(console, &[])?.1,
    };
    let recording = Recording::open(console, &folder, DoubtfulValues::default())?;
    let (selected, _) = recording.select(console, &[])?;
    let mut questions = Vec::new();
    if let Some(question) = question {
        if matches!(question, Question::Time { key: IntervalSubject::Call, .. }) {
            bail!("--time: write two names of markers as A..B, or the name of a span");
        }
        if !(HitQuery { filter: None, question: &question, option: None }).has_markers(
            console,
            "--time",
            selected.names(),
        ) {
            return Ok(Status::NoMatch.into());
        }
        questions.push(question);
    }
    let Some(pairs) = Pairs::of(questions).choose(console, &selected)? else { return Ok(Status::NoMatch.into()) };
    let (index, errors) = read::index(&recording, pairs);
    let hits = RecordedHits::new(&recording, &index);
    let Some(terminal) = Terminal::open()? else {
        bail!("view: TERM says that this terminal cannot move its cursor; smark report prints the hits of a recording");
    };
    let session = ViewSession { console, recording: &recording, index: &index, hits, terminal };
    session.interact()?;
    errors.iter().filter(|error| !recording.damages().contains(error)).for_each(|error| console.error(error));
    if index.lost > 0 {
        console.error(&format!("{} hits were lost while it was recorded", index.lost));
    }
    if recording.end().is_none() {
        console.note(CUT_OFF);
    }
    Ok(if errors.is_empty() { Status::Done } else { Status::Unreadable }.into())
}

struct ViewSession<'a> {
    console: &'a Console,
    recording: &'a Recording,
    index: &'a RecordingIndex,
    hits: RecordedHits<'a>,
    terminal: Terminal,
}

impl ViewSession<'_> {
    /// Follows the keys until the user quits, a signal comes, or the terminal is gone.
    fn interact(mut self) -> anyhow::Result<()> {
        Terminal::leave_at_panics();
        signals::catch_resize();
        self.terminal.report_mouse()?;
        let mut screen = ViewScreen::new(SequenceBackend::default())?;
        let mut viewer = Viewer::new(self.index);
        while !signals::is_stopped() {
            self.draw(&mut screen, &mut viewer)?;
            let bytes = self.terminal.read(WAIT);
            if !self.terminal.has_keys() {
                break;
            }
            for key in keys(&bytes) {
                match viewer.press(key, self.index) {
                    ViewerStep::Draw => {}
                    ViewerStep::Quit => return Ok(()),
                    ViewerStep::Suspend => {
                        self.terminal.suspend()?;
                        screen.clear()?;
                    }
                    ViewerStep::Filter(text) => self.filter(&text, &mut viewer, &mut screen)?,
                    ViewerStep::Search { is_forward } => self.search(is_forward, &mut viewer, &mut screen)?,
                }
            }
        }
        Ok(())
    }

    fn draw(&mut self, screen: &mut ViewScreen, viewer: &mut Viewer) -> io::Result<()> {
        let name = self.recording.folder.display().to_string();
        let scene = Scene { name: &shown(&name), index: self.index, has_colour: self.console.colour };
        screen.draw(|frame| scene.draw(frame, viewer, &mut self.hits))?;
        Ok(())
    }

    fn filter(&mut self, text: &str, viewer: &mut Viewer, screen: &mut ViewScreen) -> io::Result<()> {
        "filtering ..".clone_into(&mut viewer.status);
        self.draw(screen, viewer)?;
        match read::filtered(self.recording, self.console, &self.hits, self.index.len(), text) {
            Ok((numbers, unfiltered)) => viewer.show(text.to_owned(), numbers, unfiltered, self.index),
            Err(why) => viewer.status = shown(&why).into_owned(),
        }
        Ok(())
    }

    /// Goes to the next hit with the text, or the one before, and on at the other end. A key ends it.
    fn search(&mut self, is_forward: bool, viewer: &mut Viewer, screen: &mut ViewScreen) -> io::Result<()> {
        "searching .. a key ends it".clone_into(&mut viewer.status);
        self.draw(screen, viewer)?;
        viewer.status.clear();
        let (count, from) = (viewer.count(self.index), viewer.selected);
        let lower = viewer.search.to_ascii_lowercase();
        for step in 1..=count {
            let at = if is_forward { from + step } else { from + count - step } % count;
            let Some(number) = viewer.number(at, self.index) else { break };
            if self.hits.has(number, &lower) {
                viewer.go_to(number, self.index);
                let went_on = if is_forward { at <= from } else { at >= from };
                if went_on {
                    "the search went on at the other end".clone_into(&mut viewer.status);
                }
                return Ok(());
            }
            if step % SEARCHED == 0 && (signals::is_stopped() || self.terminal.has_input()) {
                viewer.status = format!("a key ended the search after {step} hits");
                return Ok(());
            }
        }
        viewer.status = format!("no hit has `{}`", shown(&viewer.search));
        Ok(())
    }
}
