//! What a page says of a recording as a whole: its files, its markers, and what it does not have.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use simple_markers_tracer::ctf::description::{DescribedSite, Doubt};
use simple_markers_tracer::filter::Filter;
use simple_markers_tracer::plan::PlannedMarker;

use super::super::recording::Recording;
use super::collect::HitSummary;
use super::request::PageRequest;
use crate::sources::LocalSources;

/// The most sites of a marker that are shown.
const MOST_SITES: usize = 50;

/// What was recorded, and what is missing. `is_whole` says whether all of the stream could be read.
pub(super) fn recording(
    recording: &Recording,
    collected: &HitSummary,
    request: &PageRequest<'_>,
    lost: u64,
    is_whole: bool,
) -> Json {
    let description = &recording.description;
    let end = recording.end();
    json!({
        "uuid": description.uuid_text(),
        "tool": description.tool,
        "origin": description.origin,
        // By the wall clock, as a text: it exceeds 2^53.
        "start": description.clock_offset.saturating_add(description.start).to_string(),
        "start_ns": description.start,
        "first_ns": collected.first,
        "last_ns": collected.last,
        "hits": collected.hits,
        "all": collected.all,
        "lost": lost,
        "unfiltered": collected.unfiltered,
        "is_whole": is_whole,
        "is_cut_off": end.is_none(),
        "end": end,
        "processes": collected.processes.iter().collect::<Vec<_>>(),
        "patterns": request.patterns,
        "filter": request.filter.map(Filter::text),
    })
}

/// The programs and shared objects.
pub(super) fn images(recording: &Recording) -> Vec<Json> {
    let images = recording.description.images.iter();
    images.map(|image| json!({ "path": image.path, "module": &*image.module, "build_id": image.build_id })).collect()
}

/// The markers with their sites and the verdicts on their arguments.
pub(super) fn markers(recording: &Recording) -> Vec<Json> {
    let description = &recording.description;
    let mut sites = BTreeMap::<usize, Vec<&DescribedSite>>::new();
    description.sites.iter().for_each(|site| sites.entry(site.marker).or_default().push(site));
    let mut sources = LocalSources::default();
    let marker = |(number, marker): (usize, &PlannedMarker)| {
        let sites = sites.get(&number).map(Vec::as_slice).unwrap_or_default();
        let image = description.images.get(marker.image).map(|image| &*image.path);
        let source = sources.line(&marker.file, marker.line, image);
        json!({
            "name": &*marker.name, "image": marker.image, "file": &*marker.file, "line": marker.line,
            "format": &*marker.format, "is_event": marker.event.is_some(),
            "source": source.as_ref().map(|line| &line.text),
            "is_source_newer": source.is_some_and(|line| line.is_newer),
            "all_sites": marker.sites, "watched_sites": sites.len(),
            "sites": sites.iter().take(MOST_SITES).map(|site| site_json(site)).collect::<Vec<_>>(),
        })
    };
    description.markers.iter().enumerate().map(marker).collect()
}

fn site_json(site: &DescribedSite) -> Json {
    let own = site.arguments.len().saturating_sub(site.has_task.into());
    let arguments = site.arguments.iter().take(own).map(|argument| {
        let verdict = match (argument.unread, argument.doubt) {
            (Some(placeholder), _) => placeholder.as_str(),
            (None, Some(_)) => "doubtful",
            (None, None) => "live",
        };
        json!({
            "text": &*argument.text, "verdict": verdict, "doubt": argument.doubt.map(Doubt::as_str),
            "why": argument.why,
        })
    });
    json!({
        "function": site.function.as_deref(), "address": site.known_address().map(|address| address.to_string()),
        "copies": site.copies, "arguments": arguments.collect::<Vec<_>>(),
    })
}
