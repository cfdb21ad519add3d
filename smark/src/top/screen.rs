//! `smark top` on a terminal: what is shown, and what the keys change.

use std::io::{self, Write as _};
use std::num::NonZero;
use std::time::Duration;

use simple_markers_top::Table;

use super::history::UsageHistory;
use super::keys::{HELP, Key};
use super::order::Sort;
use super::text::{self, View};
use crate::sparkline::MOST;

/// What is shown of the last table.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) view: View,
    pub(super) sort: Sort,
    /// The length of an interval.
    pub(super) every: Duration,
    pub(super) colour: bool,
    has_help: bool,
    /// The first row that is shown.
    first: usize,
    /// How many rows there are, and how many fit.
    rows: (usize, usize),
    /// The length of an interval that is being typed.
    answer: Option<String>,
    /// What was wrong.
    note: Option<String>,
    history: UsageHistory,
}

/// The least room for the bars of the last intervals.
const LEAST_BARS: usize = 8;

/// What stands above them.
const BARS_HEADING: &str = "%CPU OVER TIME";

/// What is to be done after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Draw,
    /// The interval ends.
    Read,
    Suspend,
    Quit,
}

impl Screen {
    pub(super) fn new(view: View, sort: Sort, every: Duration, colour: bool) -> Self {
        let history = UsageHistory::new(std::thread::available_parallelism().map_or(1, NonZero::get));
        Self { view, sort, every, colour, has_help: false, first: 0, rows: (0, 0), answer: None, note: None, history }
    }

    /// Takes the table of an interval that has ended.
    pub(super) fn add(&mut self, table: &Table) {
        self.history.add(table);
    }

    /// Whether a line is being typed.
    pub(super) fn asks(&self) -> bool {
        self.answer.is_some()
    }

    /// Does what a key asks for.
    pub(super) fn press(&mut self, key: Key) -> After {
        self.note = None;
        if let Some(answer) = &mut self.answer {
            match key {
                Key::Text(character) => answer.push(character),
                Key::Erase => drop(answer.pop()),
                Key::Quit | Key::Escape => self.answer = None,
                Key::Suspend => return After::Suspend,
                Key::Enter => {
                    let given = seconds(answer.trim());
                    self.answer = None;
                    match given {
                        Ok(every) => {
                            self.every = every;
                            return After::Read;
                        }
                        Err(why) => self.note = Some(why),
                    }
                }
                _ => {}
            }
            return After::Draw;
        }
        let page = i32::try_from(self.rows.1).unwrap_or(i32::MAX).max(1);
        match key {
            Key::Quit => return After::Quit,
            Key::Suspend => return After::Suspend,
            Key::Refresh => return After::Read,
            Key::Help => self.has_help = !self.has_help,
            Key::Escape => self.has_help = false,
            Key::Threads => self.view.threads = !self.view.threads,
            Key::Interval => self.answer = Some(String::new()),
            Key::Sort(sort) => self.sort = sort,
            Key::Left => self.sort = self.sort.beside(-1),
            Key::Right => self.sort = self.sort.beside(1),
            Key::Rows(rows) => self.scroll(rows),
            Key::Pages(pages) => self.scroll(pages.saturating_mul(page)),
            Key::First => self.first = 0,
            Key::Last => self.scroll(i32::MAX),
            Key::Text(_) | Key::Erase | Key::Enter => {}
        }
        After::Draw
    }

    fn scroll(&mut self, rows: i32) {
        let most = self.rows.0.saturating_sub(self.rows.1.max(1));
        let to = i64::try_from(self.first).unwrap_or(i64::MAX).saturating_add(rows.into()).max(0);
        self.first = usize::try_from(to).unwrap_or(usize::MAX).min(most);
    }

    /// The text of the whole screen of this width and height.
    pub(super) fn draw(&mut self, table: &Table, (width, height): (usize, usize)) -> String {
        let lines = text::lines(table, self.view, text::has_hits(table));
        // The summary, a note, and the names of the columns.
        let room = height.saturating_sub(3);
        self.rows = (lines.len(), room);
        self.scroll(0);
        let cpu: u64 = table.processes.iter().map(|process| process.usage.cpu).sum();
        let ended = table.processes.iter().filter(|process| process.has_ended).count();
        let summary = format!(
            "{:.1} % of a CPU in {:.2} s   {} processes, {ended} ended   sorted by {}   h: help",
            text::share(cpu, table.interval),
            table.interval as f64 / 1e9,
            table.processes.len(),
            self.sort.name(),
        );
        let note = match (&self.answer, &self.note) {
            (Some(answer), _) => format!("Seconds of an interval (now {}): {answer}_", self.every.as_secs_f64()),
            (None, Some(note)) => note.clone(),
            (None, None) if table.uncounted > 0 => text::uncounted(table),
            (None, None) if self.first > 0 => format!("from row {} of {}", self.first + 1, lines.len()),
            (None, None) => String::new(),
        };
        let shown = || lines.iter().skip(self.first).take(room);
        let heading = text::heading(text::has_hits(table));
        // Two blanks are before the bars.
        let longest = shown().map(|line| line.text.chars().count()).chain([heading.chars().count()]).max().unwrap_or(0);
        let most = width.saturating_sub(longest + 2).min(MOST);
        let most = if most < LEAST_BARS { 0 } else { most };
        let (first_bar, all_room) =
            (width - most.min(width), width.saturating_sub(summary.chars().count() + 2).min(MOST));
        let all = if all_room < LEAST_BARS { String::new() } else { self.history.all(all_room) };
        let summary = behind(&summary, width.saturating_sub(all.chars().count()), &all);
        let heading = if most < BARS_HEADING.len() { heading } else { behind(&heading, first_bar, BARS_HEADING) };
        let mut screen = String::from("\u{1b}[H");
        let mut add = |text: &str, style: &str| {
            let cut: String = text.chars().take(width).collect();
            match style.is_empty() || !self.colour {
                true => screen.push_str(&cut),
                false => screen.push_str(&format!("{style}{cut:width$}\u{1b}[0m")),
            }
            screen.push_str("\u{1b}[K\r\n");
        };
        add(&summary, "");
        add(&note, "");
        add(&heading, REVERSE);
        if self.has_help {
            HELP.iter().take(room).for_each(|line| add(line, ""));
        } else {
            for line in shown() {
                let bars = line.process.filter(|_| most > 0).map(|pid| self.history.process(pid, most));
                let bars = bars.unwrap_or_default();
                // The latest is at the right.
                let text = behind(&line.text, width.saturating_sub(bars.chars().count()), &bars);
                add(&text, if line.has_ended { DIM } else { "" });
            }
        }
        // Without the end of the last line, which would scroll the screen.
        screen.truncate(screen.len().saturating_sub(2));
        screen.push_str("\u{1b}[J");
        screen
    }

    /// Draws the screen.
    pub(super) fn show(&mut self, table: &Table, size: (usize, usize)) -> io::Result<()> {
        let text = self.draw(table, size);
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

/// A text with another one behind it, from a column on.
fn behind(text: &str, column: usize, other: &str) -> String {
    if other.is_empty() {
        return text.to_owned();
    }
    format!("{text:column$}{other}")
}

const REVERSE: &str = "\u{1b}[7m";
const DIM: &str = "\u{1b}[2m";

/// The seconds that the user was asked for.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds >= 0.01);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "a number of seconds of at least 0.01 is expected".to_owned())
}

#[cfg(test)]
mod tests {
    use simple_markers_top::{Process, Usage};

    use super::*;

    fn table(processes: u32) -> Table {
        let usage = Usage { cpu: 500_000_000, cpu_total: 61_000_000_000, switches: 7, ..Usage::default() };
        let process = |pid| Process { pid, name: format!("p{pid}"), usage, ..Process::default() };
        Table { interval: 1_000_000_000, processes: (1..=processes).map(process).collect(), ..Table::default() }
    }

    #[test]
    fn rows_fit_the_screen() {
        let mut screen = Screen::new(View::default(), Sort::Cpu, Duration::from_secs(1), true);
        let drawn = screen.draw(&table(30), (43, 10));
        assert_eq!(drawn.matches("\r\n").count(), 9);
        assert!(drawn.contains("1500.0 % of a CPU in 1.00 s   30 processes,\u{1b}[K"), "{drawn}");
        assert!(drawn.contains("       7  50.00    1:01.00         7      0\u{1b}"), "{drawn}");
        assert!(!drawn.contains("       8  50.00"));
        assert_eq!(screen.press(Key::Pages(1)), After::Draw);
        assert!(screen.draw(&table(30), (50, 10)).contains("from row 8 of 30"));
        screen.press(Key::Last);
        assert!(screen.draw(&table(30), (50, 10)).contains("p30"));
        // Fewer rows than before.
        assert!(screen.draw(&table(2), (50, 10)).contains("p1\u{1b}[K"));
        assert!(!screen.draw(&table(2), (5, 0)).contains("p1"));
    }

    #[test]
    fn bars_are_where_there_is_room() {
        let mut screen = Screen::new(View::default(), Sort::Cpu, Duration::from_secs(1), false);
        screen.history = UsageHistory::new(2);
        (0..40).for_each(|_| screen.add(&table(2)));
        let lines = |screen: &mut Screen, width| {
            let drawn = screen.draw(&table(2), (width, 6)).replace("\u{1b}[K", "").replace("\u{1b}[H", "");
            drawn.split("\r\n").map(str::to_owned).collect::<Vec<_>>()
        };
        let wide = lines(&mut screen, 130);
        assert!(wide[0].ends_with(&format!("  {}", "▄".repeat(30))), "{wide:?}");
        assert!(wide[2].ends_with(&format!("NAME{}%CPU OVER TIME", " ".repeat(49))), "{wide:?}");
        assert_eq!(wide[3].trim_end_matches('▄').trim_end(), "       1  50.00    1:01.00         7      0 ns p1");
        assert_eq!((wide[3].matches('▄').count(), wide[3].chars().count()), (30, 130));
        // Fewer columns have fewer bars, and then none.
        assert_eq!(lines(&mut screen, 80)[3].matches('▄').count(), 27);
        assert!(lines(&mut screen, 58).iter().all(|line| !line.contains('▄')));
    }

    #[test]
    fn keys_change_what_is_shown() {
        let mut screen = Screen::new(View::default(), Sort::Cpu, Duration::from_secs(1), false);
        screen.press(Key::Left);
        screen.press(Key::Threads);
        assert_eq!((screen.sort, screen.view.threads), (Sort::Pid, true));
        screen.press(Key::Right);
        assert_eq!(screen.sort, Sort::Cpu);
        screen.press(Key::Interval);
        assert!(screen.asks());
        for key in [Key::Text('0'), Key::Text('x'), Key::Erase, Key::Text('.'), Key::Text('5')] {
            screen.press(key);
        }
        assert!(screen.draw(&table(1), (80, 10)).contains("(now 1): 0.5_"));
        assert_eq!((screen.press(Key::Enter), screen.every), (After::Read, Duration::from_millis(500)));
        screen.press(Key::Interval);
        screen.press(Key::Enter);
        assert!(screen.draw(&table(1), (80, 10)).contains("a number of seconds of at least 0.01 is expected"));
        screen.press(Key::Help);
        assert!(screen.draw(&table(1), (80, 20)).contains("show or hide threads"));
        assert_eq!(screen.press(Key::Quit), After::Quit);
    }
}
