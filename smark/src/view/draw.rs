//! Draws the screen of `smark view`.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::hits::{HitDetails, HitRow, ShownHits};
use super::index::RecordingIndex;
use super::keys::HELP;
use super::layout::{Areas, areas};
use super::model::{Geometry, Viewer};
use super::timeline::cells;
use super::wrap::{cut, wrapped};
use crate::hit_text::{marker_colour, seconds};
use crate::units::duration;

/// What is drawn besides the state.
pub(super) struct Scene<'a> {
    pub(super) name: &'a str,
    pub(super) index: &'a RecordingIndex,
    pub(super) has_colour: bool,
}

const TITLE: Style = Style::new().add_modifier(Modifier::REVERSED);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

impl Scene<'_> {
    /// Draws everything, and notes in the state what fits.
    pub(super) fn draw(&self, frame: &mut Frame<'_>, viewer: &mut Viewer, hits: &mut dyn ShownHits) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        let areas = areas(area, viewer, self.index);
        viewer.geometry = Geometry::default();
        self.header(buffer, areas.header);
        if let (Some(area), Some(note)) = (areas.note, self.index.notes.first()) {
            line(buffer, area, 0, note, BOLD);
        }
        if viewer.has_help {
            HELP.iter()
                .zip(0..areas.body.height)
                .for_each(|(text, row)| line(buffer, areas.body, row, text, Style::new()));
        } else {
            self.timeline(buffer, &areas, viewer);
            self.list(buffer, &areas, viewer, hits);
            self.details(buffer, &areas, viewer, hits);
        }
        let status = match &viewer.prompt {
            Some(prompt) => format!("{}{}_", prompt.question(), prompt.text),
            None if viewer.status.is_empty() => "?: help  q: quit".to_owned(),
            None => viewer.status.clone(),
        };
        // The end of what is typed is seen.
        let width = usize::from(areas.status.width);
        let status = if viewer.prompt.is_some() { cut_front(&status, width) } else { status };
        line(buffer, areas.status, 0, &status, Style::new());
    }

    fn header(&self, buffer: &mut Buffer, area: Rect) {
        let (first, last) = self.index.ends();
        let hits = grouped(self.index.len());
        let lost = if self.index.lost > 0 { format!("  {} lost", self.index.lost) } else { String::new() };
        let text = format!("{}  {hits} hits in {}{lost}", self.name, duration(last - first));
        line(buffer, area, 0, &text, TITLE);
    }

    fn timeline(&self, buffer: &mut Buffer, areas: &Areas, viewer: &mut Viewer) {
        let Some(area) = areas.timeline else { return };
        let label = (area.width * 3 / 10).min(28);
        let columns = area.width.saturating_sub(label);
        let room = usize::from(area.height.saturating_sub(1));
        let most = self.index.rows.len().saturating_sub(room);
        viewer.first_row = viewer.first_row.min(most);
        let geometry = &mut viewer.geometry;
        (geometry.timeline, geometry.timeline_width) = (room, columns);
        geometry.timeline_at = (area.x + label, area.y);
        let tracks: Vec<u32> = self.index.rows.iter().skip(viewer.first_row).take(room).copied().collect();
        let rows = cells(self.index, viewer.shown.as_deref(), &tracks, viewer.range, columns.into());
        let selected = viewer.hit(self.index);
        let own = selected.map(|number| self.index.track(number));
        let time = selected.and_then(|number| self.index.times.get(number));
        let column = time.and_then(|time| viewer.range.column(*time, columns.into()));
        for ((track, row), y) in tracks.iter().zip(&rows).zip(0..) {
            let is_own = own == Some(*track);
            let name = usize::try_from(*track).ok().and_then(|track| self.index.labels.get(track));
            let name = cut(
                &simple_markers_resolver::text::shown(name.map_or("", String::as_str)),
                usize::from(label).saturating_sub(1),
            );
            line(buffer, Rect { width: label, ..area }, y, &name, if is_own { BOLD } else { Style::new() });
            let marks: String = row.iter().map(|cell| cell.mark()).collect();
            let marked = Rect { x: area.x + label, width: columns, ..area };
            line(buffer, marked, y, &marks, if is_own { BOLD } else { Style::new() });
            if let (true, Some(column)) = (is_own, column) {
                let x = marked.x.saturating_add(u16::try_from(column).unwrap_or(u16::MAX));
                if let Some(cell) = buffer.cell_mut((x, area.y + y)) {
                    cell.set_style(TITLE);
                }
            }
        }
        // The axis.
        let y = area.height.saturating_sub(1);
        let (begin, end) = (seconds(viewer.range.begin), seconds(viewer.range.end));
        let (begin, length) = (begin.trim_start(), duration(viewer.range.length()));
        let middle = format!("{begin} s  ({length})");
        let left = usize::from(area.width).saturating_sub(middle.chars().count() + end.trim_start().len() + 2);
        let text = format!("{middle}{}{} s", " ".repeat(left), end.trim_start());
        let mut text = text.chars().collect::<Vec<char>>();
        text.truncate(area.width.into());
        line(buffer, area, y, &text.into_iter().collect::<String>(), TITLE);
    }

    fn list(&self, buffer: &mut Buffer, areas: &Areas, viewer: &mut Viewer, hits: &mut dyn ShownHits) {
        let Some(area) = areas.list else { return };
        let room = usize::from(area.height.saturating_sub(1));
        viewer.geometry.list = room;
        viewer.geometry.list_top = area.y.saturating_add(1);
        viewer.follow(room);
        let count = viewer.count(self.index);
        let at = if count == 0 { 0 } else { viewer.selected + 1 };
        let filter = if viewer.shown.is_some() { format!("  of {}", viewer.filter) } else { String::new() };
        line(buffer, area, 0, &format!("hit {} of {}{filter}", grouped(at), grouped(count)), TITLE);
        let selected = viewer.hit(self.index);
        let mate = selected.and_then(|number| self.index.mate(number));
        for (position, y) in (viewer.top..count).take(room).zip(1..) {
            let Some(number) = viewer.number(position, self.index) else { continue };
            let mark = match number {
                _ if Some(number) == selected => '>',
                _ if Some(number) == mate => '=',
                _ => ' ',
            };
            let row = hits.row(number);
            let (text, name) = row_text(mark, &row, area.width);
            let style = if mark == '>' { TITLE } else { Style::new() };
            line(buffer, area, y, &text, style);
            let from = u16::try_from(name).unwrap_or(u16::MAX);
            let width = u16::try_from(row.marker.chars().count()).unwrap_or(u16::MAX);
            let end = area.width.min(from.saturating_add(width));
            for x in from..end {
                if let Some(cell) = buffer.cell_mut((area.x + x, area.y + y)) {
                    cell.set_style(self.marker_style(&row.marker));
                }
            }
        }
    }

    fn marker_style(&self, marker: &str) -> Style {
        if !self.has_colour {
            return BOLD;
        }
        BOLD.fg(match marker_colour(marker) {
            31 => Color::Red,
            32 => Color::Green,
            33 => Color::Yellow,
            34 => Color::Blue,
            35 => Color::Magenta,
            _ => Color::Cyan,
        })
    }

    fn details(&self, buffer: &mut Buffer, areas: &Areas, viewer: &mut Viewer, hits: &mut dyn ShownHits) {
        let Some(area) = areas.details else { return };
        let room = usize::from(area.height.saturating_sub(1));
        let Some(number) = viewer.hit(self.index) else {
            let why =
                if self.index.len() == 0 { "the recording has no hits" } else { "no hit has what the filter asks for" };
            return line(buffer, area, 0, why, TITLE);
        };
        let details = hits.details(number);
        let beside = areas.source.filter(|_| !details.source.is_empty());
        let area = match areas.source {
            Some(source) if beside.is_none() => Rect { width: area.width.saturating_add(source.width), ..area },
            _ => area,
        };
        let mut lines: Vec<String> = details.lines.iter().flat_map(|line| wrapped(line, area.width.into())).collect();
        if areas.source.is_none() && !details.source.is_empty() {
            lines.push("source".to_owned());
            lines.extend(source_lines(details, 3));
        }
        viewer.geometry.details = (room, lines.len());
        viewer.first_detail = viewer.first_detail.min(lines.len().saturating_sub(room.max(1)));
        let more = lines.len().saturating_sub(viewer.first_detail + room);
        let more = if more > 0 { format!("  ({more} more: tab, down)") } else { String::new() };
        line(buffer, area, 0, &format!("details of hit {}{more}", grouped(number + 1)), TITLE);
        for (text, y) in lines.iter().skip(viewer.first_detail).take(room).zip(1..) {
            line(buffer, area, y, text, Style::new());
        }
        if let Some(area) = beside {
            draw_source(buffer, area, details);
        }
    }
}

/// Draws the source beside the details, with the line of the marker in the middle.
fn draw_source(buffer: &mut Buffer, area: Rect, details: &HitDetails) {
    let is_newer = details.source.iter().any(|line| line.line.is_newer);
    let title = if is_newer { "source, changed after the program was built" } else { "source" };
    line(buffer, area, 0, title, TITLE);
    let room = u32::from(area.height.saturating_sub(1));
    let lines = source_lines(details, room);
    let own = lines.iter().position(|line| line.starts_with('>')).unwrap_or(0);
    let first = own.saturating_sub(usize::from(area.height.saturating_sub(1)) / 2);
    for (text, y) in lines.iter().skip(first).zip(1..area.height) {
        line(buffer, area, y, text, if text.starts_with('>') { BOLD } else { DIM });
    }
}

/// The source from so many lines before that of the marker to so many after it.
fn source_lines(details: &HitDetails, around: u32) -> Vec<String> {
    let near = details.source.iter().filter(|line| line.number.abs_diff(details.line) <= around);
    let near: Vec<_> = near.collect();
    let width = near.last().map_or(1, |line| line.number.to_string().len());
    let text = |line: &&crate::sources::NumberedLine| {
        let mark = if line.number == details.line { '>' } else { ' ' };
        let text = line.line.text.replace('\t', "    ");
        format!("{mark} {:>width$} | {}", line.number, simple_markers_resolver::text::shown(&text))
    };
    near.iter().map(text).collect()
}

/// The text of a row, and the column at which the name of its marker begins.
fn row_text(mark: char, row: &HitRow, width: u16) -> (String, usize) {
    let HitRow { time, thread, numbers, marker, text } = row;
    let before = match width {
        0..60 => format!("{mark}{time} "),
        60..110 => format!("{mark}{time} {} ", padded(thread, 15)),
        _ => format!("{mark}{time} {} {} ", padded(thread, 15), padded(numbers, 15)),
    };
    let name = ratatui::text::Line::raw(before.as_str()).width();
    (format!("{before}{marker}: {text}"), name)
}

/// A text in so many columns, unless it has more.
fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(ratatui::text::Line::raw(text).width());
    format!("{text}{}", " ".repeat(missing))
}

/// Draws a line, cut to the width and filled with blanks.
fn line(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) {
    if row >= area.height {
        return;
    }
    let area = Rect { y: area.y.saturating_add(row), height: 1, ..area }.intersection(buffer.area);
    buffer.set_style(area, style);
    buffer.set_stringn(area.x, area.y, text, area.width.into(), style);
}

/// The end of a text that fits.
fn cut_front(text: &str, width: usize) -> String {
    let skip = text.chars().count().saturating_sub(width);
    text.chars().skip(skip).collect()
}

/// A number with a comma between each three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
