//! Reads a recording from its begin to its end: all of it for the index, and what a filter needs.

use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::ctf::SiteSelection;
use simple_markers_tracer::pairs::Pair;
use simple_markers_tracer::sys::signals;

use super::hits::RecordedHits;
use super::index::{IndexMaker, PairBegin, RecordingIndex};
use crate::console::Console;
use crate::narrow::{self, BadFilter, HitQuery};
use crate::report::recording::{CUT_OFF, Recording};

/// The most errors that are told apart.
const MOST_ERRORS: usize = 100;

/// The index of all hits that can be read, and what could not be read.
pub(super) fn index(recording: &Recording, pairs: Vec<Pair<PairBegin>>) -> (RecordingIndex, Vec<String>) {
    let mut maker = IndexMaker::new(recording.description.start, pairs);
    let mut events = recording.events();
    let (mut errors, mut more, mut is_full) = (recording.damages().to_vec(), 0u64, false);
    loop {
        match events.next_event() {
            Ok(Some(hit)) if maker.add(&hit, events.offset()) => {}
            Ok(Some(_)) => {
                is_full = true;
                break;
            }
            Ok(None) => break,
            Err(error) if errors.len() < MOST_ERRORS => errors.push(recording.error_text(&error)),
            Err(_) => more += 1,
        }
        if signals::is_stopped() {
            break;
        }
    }
    if more > 0 {
        errors.push(format!("{more} more errors"));
    }
    let mut index = maker.finish();
    index.lost = events.lost();
    index.notes = errors.iter().map(|error| shown(error).into_owned()).collect();
    if recording.end().is_none() {
        index.notes.push(CUT_OFF.to_owned());
    }
    if is_full {
        errors.push(format!("only the first {} hits are shown", index.len()));
    }
    (index, errors)
}

/// The numbers of the hits for which a filter holds, and how many could not be filtered.
///
/// # Errors
///
/// What is wrong with the filter, in a line.
pub(super) fn filtered(
    recording: &Recording,
    console: &Console,
    hits: &RecordedHits<'_>,
    count: usize,
    text: &str,
) -> Result<(Vec<u32>, u64), String> {
    let chosen = selection(recording, console, text).map_err(|error| match error.downcast_ref::<BadFilter>() {
        Some(filter) => filter.what().to_owned(),
        None => format!("{error:#}"),
    })?;
    let (mut numbers, mut unfiltered) = (Vec::new(), 0);
    for number in 0..count {
        let Some(hit) = hits.hit(number) else { continue };
        match chosen.wants(&hit) {
            Some(true) => numbers.extend(u32::try_from(number)),
            Some(false) => {}
            None => unfiltered += 1,
        }
        if signals::is_stopped() {
            break;
        }
    }
    Ok((numbers, unfiltered))
}

fn selection(recording: &Recording, console: &Console, text: &str) -> anyhow::Result<SiteSelection> {
    let filter = narrow::filter(text)?;
    // Notes would be printed over the screen.
    let silent = Console { quiet: true, ..*console };
    let (selected, _) = recording.select(&silent, &[])?;
    selected.choose(&silent, &HitQuery { filter: Some(&filter), question: &Question::Hits, option: None })
}
