//! Where the parts of the screen are.

use ratatui::layout::Rect;

use super::index::RecordingIndex;
use super::model::{Pane, Viewer};

/// The least height at which all panes are shown.
const ALL: u16 = 18;

/// The least width at which the source is beside the details.
const BESIDE: u16 = 100;

/// Where each part is; `None` if there is no room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Areas {
    pub(super) header: Rect,
    /// What is to be said of the recording.
    pub(super) note: Option<Rect>,
    /// All between the header and the last line.
    pub(super) body: Rect,
    pub(super) timeline: Option<Rect>,
    pub(super) list: Option<Rect>,
    pub(super) details: Option<Rect>,
    pub(super) source: Option<Rect>,
    pub(super) status: Rect,
}

/// The areas of a screen.
pub(super) fn areas(area: Rect, viewer: &Viewer, index: &RecordingIndex) -> Areas {
    let row = |y: u16, height: u16| Rect { x: area.x, y: area.y.saturating_add(y), width: area.width, height };
    let has_note = !index.notes.is_empty() && area.height > 4;
    let top = 1 + u16::from(has_note);
    let height = area.height.saturating_sub(top + 1);
    let body = row(top, height);
    let mut areas = Areas {
        header: row(0, area.height.min(1)),
        note: has_note.then(|| row(1, 1)),
        body,
        timeline: None,
        list: None,
        details: None,
        source: None,
        status: row(area.height.saturating_sub(1), u16::from(area.height > 1)),
    };
    if viewer.is_alone || area.height < ALL {
        match viewer.pane {
            Pane::Timeline => areas.timeline = Some(body),
            Pane::List => areas.list = Some(body),
            Pane::Details => areas.details = Some(body),
        }
    } else {
        let rows = u16::try_from(index.rows.len()).unwrap_or(u16::MAX);
        let timeline = rows.clamp(1, height / 4).saturating_add(1);
        let details = height * 2 / 5;
        let list = height - timeline - details;
        areas.timeline = Some(row(top, timeline));
        areas.list = Some(row(top + timeline, list));
        areas.details = Some(row(top + timeline + list, details));
    }
    if let Some(details) = areas.details.as_mut().filter(|_| area.width >= BESIDE) {
        let width = details.width / 2;
        areas.source = Some(Rect { x: details.x + details.width - width, width, ..*details });
        details.width -= width;
    }
    areas
}
