//! `smark list --to html` and `smark check --format html`: a page with the markers of programs, for reviews (`docs/pages.md`).

use serde_json::{Map, Value as Json, json};
use simple_markers_resolver::check::{self, Report};
use simple_markers_resolver::report;
use simple_markers_resolver::resolve::{Marker, Resolution};

use crate::html::HtmlPage;
use crate::inputs::MarkerSelection;
use crate::sources::Sources;

/// How many source lines are shown before a marker, and after it.
const LINES: (u32, u32) = (2, 4);

/// The page of the markers that are chosen, with the report of a check if there is one.
pub(crate) fn page(selected: &MarkerSelection, report: Option<&Report>) -> anyhow::Result<HtmlPage> {
    let rows = selected.rows();
    let chosen = selected.chosen(&rows);
    let keep = selected.keeps(&chosen);
    let resolution = &selected.resolution;
    let mut images = document(|out| report::json::write(out, resolution, &keep))?;
    let images = images.get_mut("images").and_then(Json::as_array_mut).map(std::mem::take).unwrap_or_default();
    let check = report.map(|report| document(|out| check::json::write(out, report))).transpose()?;
    let (mut heads, mut lines) = (Vec::new(), Vec::new());
    for (number, mut image) in images.into_iter().enumerate() {
        let markers = image.as_object_mut().and_then(|members| members.remove("markers"));
        let sources = sources(resolution, number, &keep);
        let markers = markers.and_then(|markers| if let Json::Array(all) = markers { Some(all) } else { None });
        for (mut marker, source) in markers.unwrap_or_default().into_iter().zip(sources) {
            if let Some(members) = marker.as_object_mut() {
                members.insert("image".to_owned(), number.into());
                members.insert("source".to_owned(), source);
            }
            lines.push(marker.to_string());
        }
        heads.push(image);
    }
    let name = heads.iter().filter_map(|image| image.get("path")?.as_str()).collect::<Vec<_>>().join(", ");
    let command = if check.is_some() { "smark check" } else { "smark list" };
    let data = json!({
        "version": 1, "kind": "review", "tool": env!("CARGO_PKG_VERSION"), "name": name, "command": command,
        "images": heads, "check": check, "markers": lines.len(),
    });
    let mut page = HtmlPage::new(format!("{command}: {name}"), data);
    page.add_lines("markers", lines.iter().map(String::as_str))?;
    Ok(page)
}

/// What a report of the library says as JSON.
fn document(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> anyhow::Result<Json> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// The source lines around each marker of an image; null if they cannot be read.
fn sources(resolution: &Resolution, number: usize, keep: &dyn Fn(&Marker) -> bool) -> Vec<Json> {
    let mut sources = Sources::default();
    let Some(image) = resolution.images.get(number) else { return Vec::new() };
    let mut around = |marker: &Marker| {
        let (first, last) = (marker.line.saturating_sub(LINES.0).max(1), marker.line.saturating_add(LINES.1));
        let lines: Vec<_> = (first..=last).map_while(|line| sources.line_of(&marker.file, line, &image.path)).collect();
        if lines.is_empty() {
            return Json::Null;
        }
        let is_newer = lines.iter().any(|line| line.is_newer);
        let lines = lines.into_iter().map(|line| line.text).collect::<Vec<_>>();
        Json::from(Map::from_iter([
            ("first".to_owned(), first.into()),
            ("lines".to_owned(), lines.into()),
            ("is_newer".to_owned(), is_newer.into()),
        ]))
    };
    image.markers.iter().filter(|marker| keep(marker)).map(&mut around).collect()
}
