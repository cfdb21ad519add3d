//! What a file says about itself: the member `smark` of its metadata, as JSON (`docs/parquet.md`).

use serde_json::{Value as Json, json};
use simple_markers_tracer::ctf::Description;
use simple_markers_tracer::plan::{Plan, PlannedArgument, PlannedSite, Source};

use super::layout::TableLayout;

/// What the files of a table say. `sites` has the numbers of its sites in the plan, `lost` how many
/// hits of the recording were lost.
pub(super) fn of_table(
    description: &Description,
    plan: &Plan,
    layout: &TableLayout,
    sites: &[usize],
    lost: u64,
) -> String {
    let arguments = layout.arguments.iter().map(|argument| {
        let columns: Vec<String> = argument.columns().into_iter().map(|(_, column)| column.name).collect();
        json!({ "text": &*argument.text, "columns": columns })
    });
    let sites = sites.iter().filter_map(|number| site(plan, plan.sites.get(*number)?));
    json!({
        "version": 1,
        "tool": env!("CARGO_PKG_VERSION"),
        "recording": description.uuid_text(),
        "lost": lost,
        "marker": &*layout.marker,
        "arguments": arguments.collect::<Vec<_>>(),
        "sites": sites.collect::<Vec<_>>(),
    })
    .to_string()
}

fn site(plan: &Plan, site: &PlannedSite) -> Option<Json> {
    let (image, marker) = (plan.images.get(site.image)?, plan.markers.get(site.marker)?);
    let arguments: Vec<Json> = site.own_arguments().iter().map(argument).collect();
    Some(json!({
        "image": &image.path,
        "build_id": &image.build_id,
        "site": site.address.to_string(),
        "function": site.function.as_deref(),
        "file": &*marker.file,
        "line": marker.line,
        "format": &*marker.format,
        "arguments": arguments,
    }))
}

fn argument(argument: &PlannedArgument) -> Json {
    let (verdict, why) = verdict(argument);
    json!({ "text": &*argument.text, "verdict": verdict, "why": why })
}

/// The verdict of an argument at a site (`certain`, `doubtful`, `lost` or `unreadable`), and why it is not the first.
pub(super) fn verdict(argument: &PlannedArgument) -> (&'static str, Option<String>) {
    match &argument.source {
        Source::Read(_) | Source::Either(..) => ("certain", None),
        Source::Doubtful(of) => ("doubtful", of.why.words()),
        Source::Unread(why) => (why.placeholder().as_str(), why.words()),
    }
}
