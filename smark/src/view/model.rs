//! The state of `smark view`: what is selected and shown, and what the keys change. It reads no hits and draws nothing.

use super::index::{NONE, RecordingIndex};
use super::keys::ViewerKey;
use super::prompt::{Prompt, PromptKind, time_of};
use super::range::TimeRange;

/// A part of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pane {
    Timeline,
    #[default]
    List,
    Details,
}

/// What the last drawing showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Geometry {
    /// How many rows of hits fit.
    pub(super) list: usize,
    /// The row of the screen with the first hit.
    pub(super) list_top: u16,
    /// How many rows of the timeline fit,
    pub(super) timeline: usize,
    /// and the column and the row of the first cell, and how many columns it has.
    pub(super) timeline_at: (u16, u16),
    pub(super) timeline_width: u16,
    /// How many lines of details fit, and how many there are.
    pub(super) details: (usize, usize),
}

/// What is to be done after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ViewerStep {
    Draw,
    Quit,
    Suspend,
    /// To choose the hits of this filter.
    Filter(String),
    /// To find the next hit, or the one before, that has the searched text.
    Search {
        is_forward: bool,
    },
}

/// The state.
#[derive(Debug, Default)]
pub(super) struct Viewer {
    /// The position of the selected hit among those that are shown.
    pub(super) selected: usize,
    /// The position of the first hit on the screen.
    pub(super) top: usize,
    /// The numbers of the hits that are shown, in their order; `None` means all of them.
    pub(super) shown: Option<Vec<u32>>,
    /// The filter that chose them.
    pub(super) filter: String,
    /// The text that is searched for.
    pub(super) search: String,
    pub(super) pane: Pane,
    /// Whether one pane has the whole screen.
    pub(super) is_alone: bool,
    pub(super) range: TimeRange,
    whole: TimeRange,
    /// The first row of the timeline, and the first line of details, on the screen.
    pub(super) first_row: usize,
    pub(super) first_detail: usize,
    pub(super) prompt: Option<Prompt>,
    pub(super) has_help: bool,
    /// What is said in the last line.
    pub(super) status: String,
    pub(super) geometry: Geometry,
}

impl Viewer {
    /// The first hit of all, and the time of all.
    pub(super) fn new(index: &RecordingIndex) -> Self {
        let (first, last) = index.ends();
        let whole = TimeRange::new(first, last);
        Self { whole, range: whole, ..Self::default() }
    }

    /// How many hits are shown.
    pub(super) fn count(&self, index: &RecordingIndex) -> usize {
        self.shown.as_ref().map_or(index.len(), Vec::len)
    }

    /// The number of the hit at a position among those that are shown.
    pub(super) fn number(&self, position: usize, index: &RecordingIndex) -> Option<usize> {
        match &self.shown {
            None => (position < index.len()).then_some(position),
            Some(shown) => usize::try_from(*shown.get(position)?).ok(),
        }
    }

    /// The number of the selected hit; `None` if no hit is shown.
    pub(super) fn hit(&self, index: &RecordingIndex) -> Option<usize> {
        self.number(self.selected, index)
    }

    /// Does what a key asks for.
    pub(super) fn press(&mut self, key: ViewerKey, index: &RecordingIndex) -> ViewerStep {
        self.status.clear();
        if self.prompt.is_some() {
            return self.type_key(key, index);
        }
        match key {
            ViewerKey::Character('q') => return ViewerStep::Quit,
            ViewerKey::Suspend => return ViewerStep::Suspend,
            ViewerKey::Character('?') => self.has_help = !self.has_help,
            ViewerKey::Escape => (self.has_help, self.is_alone) = (false, false),
            ViewerKey::Tab => {
                self.pane = match self.pane {
                    Pane::Timeline => Pane::List,
                    Pane::List => Pane::Details,
                    Pane::Details => Pane::Timeline,
                };
            }
            ViewerKey::Enter => self.is_alone = !self.is_alone,
            ViewerKey::Up | ViewerKey::Character('k') => self.scroll(-1, index),
            ViewerKey::Down | ViewerKey::Character('j') => self.scroll(1, index),
            ViewerKey::PageUp => self.scroll(-self.page(), index),
            ViewerKey::PageDown | ViewerKey::Character(' ') => self.scroll(self.page(), index),
            ViewerKey::Home => self.scroll(isize::MIN, index),
            ViewerKey::End => self.scroll(isize::MAX, index),
            ViewerKey::Left | ViewerKey::Character('h') => self.range = self.range.pan(false, self.whole),
            ViewerKey::Right | ViewerKey::Character('l') => self.range = self.range.pan(true, self.whole),
            ViewerKey::Character('+' | '=') => self.zoom(true, index),
            ViewerKey::Character('-') => self.zoom(false, index),
            ViewerKey::Character('0') => self.range = self.whole,
            ViewerKey::Wheel { is_up, at } => self.wheel(is_up, at, index),
            ViewerKey::Click { at } => self.click(at, index),
            ViewerKey::Character('/') => self.prompt = Some(Prompt::new(PromptKind::Search, String::new())),
            ViewerKey::Character('f') => self.prompt = Some(Prompt::new(PromptKind::Filter, self.filter.clone())),
            ViewerKey::Character('g') => self.prompt = Some(Prompt::new(PromptKind::Time, String::new())),
            ViewerKey::Character(key @ ('n' | 'N')) if !self.search.is_empty() => {
                return ViewerStep::Search { is_forward: key == 'n' };
            }
            ViewerKey::Character('n' | 'N') => self.status = "nothing is searched for: / asks for a text".to_owned(),
            ViewerKey::Character('p') => self.go_to_mate(index),
            ViewerKey::Character(key @ ('m' | 'M')) => self.go_to_same(key == 'm', &index.markers, "marker", index),
            ViewerKey::Character(key @ ('t' | 'T')) => self.go_to_same(key == 't', &index.threads, "thread", index),
            ViewerKey::Character(_) | ViewerKey::Erase => {}
        }
        ViewerStep::Draw
    }

    fn type_key(&mut self, key: ViewerKey, index: &RecordingIndex) -> ViewerStep {
        let Some(prompt) = &mut self.prompt else { return ViewerStep::Draw };
        match key {
            ViewerKey::Character(character) => prompt.text.push(character),
            ViewerKey::Erase => drop(prompt.text.pop()),
            ViewerKey::Escape => self.prompt = None,
            ViewerKey::Suspend => return ViewerStep::Suspend,
            ViewerKey::Enter => {
                let Prompt { kind, text } = std::mem::take(prompt);
                self.prompt = None;
                match kind {
                    PromptKind::Search if text.is_empty() => self.search.clear(),
                    PromptKind::Search => {
                        self.search = text;
                        return ViewerStep::Search { is_forward: true };
                    }
                    PromptKind::Filter if text.trim().is_empty() => self.show_all(index),
                    PromptKind::Filter => return ViewerStep::Filter(text),
                    PromptKind::Time => match time_of(&text) {
                        Ok(time) => self.go_to_time(time, index),
                        Err(why) => self.status = why,
                    },
                }
            }
            _ => {}
        }
        ViewerStep::Draw
    }

    /// So many rows are a page of the pane.
    fn page(&self) -> isize {
        let rows = match self.pane {
            Pane::Timeline => self.geometry.timeline,
            Pane::List => self.geometry.list,
            Pane::Details => self.geometry.details.0,
        };
        isize::try_from(rows.max(1)).unwrap_or(isize::MAX)
    }

    /// Moves in the pane by so many rows.
    fn scroll(&mut self, rows: isize, index: &RecordingIndex) {
        let moved = |from: usize, rows: isize, most: usize| from.saturating_add_signed(rows).min(most);
        match self.pane {
            Pane::Timeline => {
                let most = index.rows.len().saturating_sub(self.geometry.timeline.max(1));
                self.first_row = moved(self.first_row, rows, most);
            }
            Pane::List => self.select(moved(self.selected, rows, self.count(index).saturating_sub(1)), index),
            Pane::Details => {
                let (room, lines) = self.geometry.details;
                self.first_detail = moved(self.first_detail, rows, lines.saturating_sub(room.max(1)));
            }
        }
    }

    /// Selects the hit at a position among those that are shown.
    fn select(&mut self, position: usize, index: &RecordingIndex) {
        if position != self.selected {
            (self.selected, self.first_detail) = (position, 0);
        }
        let hit = self.hit(index);
        if let Some(time) = hit.and_then(|number| index.times.get(number)) {
            self.range = self.range.showing(*time, self.whole);
        }
        let row = hit.and_then(|number| index.rows.iter().position(|row| *row == index.track(number)));
        if let Some(row) = row {
            let room = self.geometry.timeline.max(1);
            self.first_row = self.first_row.clamp((row + 1).saturating_sub(room), row);
        }
    }

    /// Selects the hit with a number. Says it if that is not shown.
    pub(super) fn go_to(&mut self, number: usize, index: &RecordingIndex) {
        let position = match &self.shown {
            None => Some(number),
            Some(shown) => u32::try_from(number).ok().and_then(|number| shown.binary_search(&number).ok()),
        };
        match position {
            Some(position) => self.select(position, index),
            None => self.status = format!("hit {} is not among those of the filter", number + 1),
        }
    }

    fn zoom(&mut self, is_in: bool, index: &RecordingIndex) {
        let time = self.hit(index).and_then(|number| index.times.get(number)).copied();
        let middle = self.range.begin + self.range.length() / 2;
        let around = time.filter(|time| self.range.has(*time)).unwrap_or(middle);
        self.range = self.range.zoom(is_in, around, self.whole);
    }

    /// The time at a place of the screen; `None` if that is not in the timeline.
    fn time_at(&self, (column, row): (u16, u16)) -> Option<u64> {
        let Geometry { timeline, timeline_at: (left, top), timeline_width, .. } = self.geometry;
        let (column, row) = (column.checked_sub(left)?, usize::from(row.checked_sub(top)?));
        let is_inside = column < timeline_width && row < timeline;
        is_inside.then(|| self.range.time(column.into(), timeline_width.into()))
    }

    fn wheel(&mut self, is_up: bool, at: (u16, u16), index: &RecordingIndex) {
        match self.time_at(at) {
            Some(time) => self.range = self.range.zoom(is_up, time, self.whole),
            None => self.scroll(if is_up { -3 } else { 3 }, index),
        }
    }

    fn click(&mut self, at: (u16, u16), index: &RecordingIndex) {
        if let Some(time) = self.time_at(at) {
            return self.go_to_time(time, index);
        }
        let row = at.1.checked_sub(self.geometry.list_top).map(usize::from).filter(|row| *row < self.geometry.list);
        let position = row.and_then(|row| self.top.checked_add(row)).filter(|at| *at < self.count(index));
        if let Some(position) = position {
            self.select(position, index);
        }
    }

    fn go_to_mate(&mut self, index: &RecordingIndex) {
        match self.hit(index).and_then(|number| index.mate(number)) {
            Some(mate) => self.go_to(mate, index),
            None if index.pairs.is_empty() => {
                self.status = "there are no pairs: --time A..B makes some, and spans are pairs".to_owned();
            }
            None => self.status = "this hit is in no pair".to_owned(),
        }
    }

    /// Selects the next hit, or the one before, that has the same number in a column.
    fn go_to_same(&mut self, is_next: bool, column: &[u32], what: &str, index: &RecordingIndex) {
        let Some(own) = self.hit(index).and_then(|number| column.get(number)) else { return };
        let is_same = |position: &usize| {
            self.number(*position, index).and_then(|number| column.get(number)) == Some(own) && *own != NONE
        };
        let found = match is_next {
            true => (self.selected + 1..self.count(index)).find(is_same),
            false => (0..self.selected).rev().find(is_same),
        };
        match found {
            Some(position) => self.select(position, index),
            None => {
                self.status = format!("no {} hit of this {what}", if is_next { "later" } else { "earlier" });
            }
        }
    }

    /// Selects the first hit at a time or later, or the last one.
    fn go_to_time(&mut self, time: u64, index: &RecordingIndex) {
        let count = self.count(index);
        let is_later = |position: &usize| {
            self.number(*position, index).and_then(|number| index.times.get(number)).is_some_and(|it| *it >= time)
        };
        match (0..count).find(is_later) {
            Some(position) => self.select(position, index),
            None => {
                self.select(count.saturating_sub(1), index);
                self.status = "no hit is that late: this is the last one".to_owned();
            }
        }
    }

    /// Shows the hits with these numbers, which are in order. `unfiltered` are those that could not be filtered.
    pub(super) fn show(&mut self, filter: String, numbers: Vec<u32>, unfiltered: u64, index: &RecordingIndex) {
        let before = self.hit(index).and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
        let position = numbers.partition_point(|number| *number < before).min(numbers.len().saturating_sub(1));
        self.status = match unfiltered {
            0 => format!("{} of {} hits", numbers.len(), index.len()),
            _ => format!("{} of {} hits; {unfiltered} could not be filtered", numbers.len(), index.len()),
        };
        (self.shown, self.filter, self.top, self.first_detail) = (Some(numbers), filter, 0, 0);
        self.selected = position;
        self.select(position, index);
    }

    fn show_all(&mut self, index: &RecordingIndex) {
        let before = self.hit(index);
        self.shown = None;
        self.filter.clear();
        self.first_detail = 0;
        self.selected = before.unwrap_or(0);
        self.select(self.selected, index);
    }

    /// Moves the list so that the selected hit is among the `room` that are on the screen.
    pub(super) fn follow(&mut self, room: usize) {
        let least = (self.selected + 1).saturating_sub(room.max(1));
        self.top = self.top.clamp(least, self.selected);
    }
}
