//! `smark count --to html`: a page with the counts (`docs/pages.md`).

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use simple_markers_resolver::record::span;
use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::{IntervalSubject, Question};

use super::answer::Answer;
use super::flames::{StackUnit, folded};
use crate::end::Totals;
use crate::html::HtmlPage;
use crate::output;

/// The most stacks that are listed below a flame graph.
const MOST_STACKS: usize = 200;

/// A page that is written.
pub(super) struct CountPage {
    pub(super) question: Question,
    /// `None` for stdout.
    pub(super) path: Option<PathBuf>,
    pub(super) force: bool,
}

impl CountPage {
    /// Writes the page of an answer.
    pub(super) fn write(&self, answer: &Answer, totals: &Totals<'_>) -> anyhow::Result<()> {
        let html = HtmlPage::new("smark count".to_owned(), self.data(answer, totals)?).html();
        match &self.path {
            Some(path) => output::place(path, html.as_bytes(), None, &[], self.force),
            None => output::print(&html),
        }
    }

    fn data(&self, answer: &Answer, totals: &Totals<'_>) -> anyhow::Result<Json> {
        let mut counts = answer.json();
        let pairs: Vec<Json> = match &self.question {
            Question::Time { from, to, key, .. } => {
                let (time, is_span) = (counts.pop().unwrap_or_default(), span::of_begin(from).is_some());
                let key_names = if let IntervalSubject::Call = key { Vec::new() } else { key.arguments().to_vec() };
                vec![json!({
                    "name": time.get("marker"), "from": from, "to": to, "is_span": is_span && *key != IntervalSubject::Thread,
                    "is_call": *key == IntervalSubject::Call, "key": key_names, "time": time,
                })]
            }
            _ => Vec::new(),
        };
        let images = totals.live.iter().flat_map(|(plan, _)| &plan.images);
        let images = images.map(|image| json!({ "path": shown(&image.path), "build_id": image.build_id }));
        let written = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(json!({
            "version": 1,
            "kind": "counts",
            "tool": env!("CARGO_PKG_VERSION"),
            "name": pairs.first().and_then(|pair| pair.get("name")).and_then(Json::as_str).unwrap_or("hits"),
            "about": {
                "written": written.as_millis().to_string(),
                "lost": totals.lost, "unfiltered": answer.unfiltered(), "uncounted": answer.uncounted(), "exit": totals.exit,
            },
            "images": images.collect::<Vec<_>>(),
            "argument": answer.argument(),
            "counts": counts,
            "pairs": pairs,
            "stacks": StackUnit::all(&self.question).into_iter().map(|unit| flame_data(unit, answer)).collect::<Result<Vec<_>, _>>()?,
        }))
    }
}

/// A flame graph, and its stacks with the largest numbers.
pub(crate) fn flame_data(unit: StackUnit, answer: &Answer) -> anyhow::Result<Json> {
    let sums = unit.sums(answer);
    let (title, of) = unit.title();
    let svg = match sums.is_empty() {
        true => None,
        false => Some(STANDARD.encode(unit.drawn(&folded(&sums), true)?)),
    };
    let all = sums.len();
    let mut sorted: Vec<_> = sums.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sorted.truncate(MOST_STACKS);
    Ok(json!({ "title": title, "unit": of, "all": all, "svg": svg, "stacks": sorted }))
}
