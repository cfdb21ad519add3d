//! `smark report --to html`: writes a page about a recording (`docs/pages.md`).
//!
//! The recording is read twice: the first time everything is counted and the slices are found, the second time the hits
//! are listed, which are then known to be in slow intervals or not.

mod about;
mod collect;
mod listed;
mod request;

use std::process::ExitCode;

use serde_json::{Value as Json, json};
use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::ctf::SiteSelection;

pub(in crate::report) use self::request::PageRequest;

use self::collect::{Collector, HitSummary, PagePair};
use self::listed::ListedHits;
use super::counts::CountedHits;
use super::recording::{RecordedMarkers, Recording};
use super::stack_tally::{CountedStacks, StackTally};
use crate::console::{Console, Status};
use crate::count::{StackUnit, flame_data};
use crate::html::{HtmlPage, NumberColumn, PageSlice};
use crate::narrow::{self, HitQuery};
use crate::output;
use crate::source::Source as _;

/// Writes the page. `status` is what is known of the recording so far. Returns the exit status of the command.
pub(super) fn write(
    console: &Console,
    recording: &Recording,
    selected: &RecordedMarkers<'_>,
    chosen: &SiteSelection,
    request: &PageRequest<'_>,
    status: Status,
) -> anyhow::Result<ExitCode> {
    let PageRequest { questions, kept, filter, to, .. } = request;
    let mut selections = Vec::new();
    for question in questions {
        let counted = selected.choose(console, &HitQuery { filter: *filter, question, option: None })?;
        let of_slices = match filter {
            Some(_) => selected.choose(console, &HitQuery { filter: None, question, option: None })?,
            None => counted.clone(),
        };
        selections.push((question, counted, of_slices));
    }
    let pairs = selections.iter().filter_map(|(question, counted, of_slices)| {
        PagePair::new(question, counted, of_slices, *kept, recording.description.start)
    });
    let mut collector = Collector::new(recording, chosen, pairs.collect(), *kept);
    let mut stacks = match &recording.description.stacks {
        Some(table) => {
            let tally = StackTally::new(table, CountedStacks::Both);
            Some(CountedHits::new(chosen, &Question::Hits, *kept, 0, false).with_stacks(Some(tally)))
        }
        None => None,
    };
    let mut source = recording.hits(status);
    source.each(Some(console), &mut |hit, _| {
        stacks.iter_mut().for_each(|stacks| stacks.add(hit));
        collector.add(hit)
    })?;
    let stacks = stacks.map(|stacks| flame_data(StackUnit::Hits, &stacks.answer())).transpose()?;
    let lost = source.lost();
    let collected = collector.finish();

    let mut listed = ListedHits::new(recording, &collected, request.doubtful);
    recording.hits(status).each(None, &mut |hit, _| {
        if chosen.wants(hit) == Some(true) {
            listed.add(hit);
        }
        Ok(std::ops::ControlFlow::Continue(()))
    })?;

    let about = about::recording(recording, &collected, request, lost, source.is_whole());
    let page = page(recording, &collected, &listed, &about, stacks)?;
    let html = page.html();
    match &to.path {
        Some(path) => output::place(path, html.as_bytes(), None, &recording.files, to.force)?,
        None => output::print(&html)?,
    }
    collected.pairs.iter().for_each(|pair| pair.tell(console, kept.most));
    narrow::tell_unfiltered(console, &chosen.plan, collected.unfiltered);
    if let Some(path) = &to.path {
        let slices = collected.slice_count;
        console.note(&format!("{} hits and {slices} slices in {}", collected.hits, path.display()));
    }
    source.end(console)
}

/// The page with all data.
fn page(
    recording: &Recording,
    collected: &HitSummary,
    listed: &ListedHits<'_>,
    about: &Json,
    stacks: Option<Json>,
) -> anyhow::Result<HtmlPage> {
    let name = recording.folder.display().to_string();
    let slices = &collected.slices;
    let data = json!({
        "version": 1,
        "kind": "recording",
        "tool": env!("CARGO_PKG_VERSION"),
        "name": name,
        "about": about,
        "images": about::images(recording),
        "markers": about::markers(recording),
        "left_out": recording.description.left_out,
        "counts": collected.counts,
        "rates": {
            "bin_ns": collected.rates.width(),
            "bins": collected.rates.bins(),
            "series": collected.series.iter().map(|series| series.marker).collect::<Vec<_>>(),
        },
        "tracks": collected.tracks.json(),
        "pairs": collected.pairs.iter().map(|pair| &pair.json).collect::<Vec<_>>(),
        "ticks": {
            "all": collected.ticks.seen(),
            "shown": collected.ticks.kept().len(),
            "every": collected.ticks.every(),
        },
        "slices": {
            "all": collected.slice_count,
            "shown": slices.len(),
            "shortest_ns": slices.iter().map(PageSlice::took).min(),
        },
        "polls": collected.polls,
        "slowest": listed.intervals(),
        "stacks": Vec::from_iter(stacks),
        "listed": { "shown": listed.len(), "every": listed.every() },
    });
    let mut page = HtmlPage::new(format!("smark report: {}", shown(&name)), data);
    let mut rates = NumberColumn::default();
    for number in 0..collected.series.len() {
        let counts = collected.rates.counts(number);
        let missing = collected.rates.bins() - counts.len();
        counts.iter().copied().chain(std::iter::repeat_n(0, missing)).for_each(|count| rates.push(count));
    }
    page.add_column("rates", &rates)?;
    let mut columns: [NumberColumn; 3] = Default::default();
    let [times, tracks, markers] = &mut columns;
    for tick in collected.ticks.kept() {
        times.push_larger(tick.time);
        tracks.push(tick.track as u64);
        markers.push(tick.marker as u64);
    }
    for (name, column) in ["tick-times", "tick-tracks", "tick-markers"].into_iter().zip(&columns) {
        page.add_column(name, column)?;
    }
    let mut columns: [NumberColumn; 6] = Default::default();
    let [begins, tooks, pairs, tracks, firsts, lasts] = &mut columns;
    for slice in slices {
        begins.push_larger(slice.begin);
        tooks.push(slice.took());
        pairs.push(slice.pair as u64);
        tracks.push(slice.track as u64);
        // 0 is none.
        firsts.push(slice.first.map_or(0, |number| number + 1));
        lasts.push(slice.last.map_or(0, |number| number + 1));
    }
    let names = ["slice-begins", "slice-times", "slice-pairs", "slice-tracks", "slice-firsts", "slice-lasts"];
    for (name, column) in names.into_iter().zip(&columns) {
        page.add_column(name, column)?;
    }
    page.add_lines("hits", listed.lines())?;
    Ok(page)
}
