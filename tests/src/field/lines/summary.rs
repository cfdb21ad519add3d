//! Counts the lines and values of one reader, for people and for machines.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::judged::JudgedLine;
use crate::field::report::Count;

/// The lines of a reader.
#[derive(Clone, Debug)]
pub struct ReaderLines {
    /// The reader.
    pub reader: &'static str,
    /// The lines that it was asked for.
    pub lines: Vec<JudgedLine>,
}

impl ReaderLines {
    /// The counts.
    #[must_use]
    pub fn json(&self) -> Json {
        let mut by_verdict: BTreeMap<String, [u64; 4]> = BTreeMap::new();
        let mut values: BTreeMap<String, Count> = BTreeMap::new();
        let (mut unread, mut without) = (0, 0);
        for line in &self.lines {
            let of = &line.reading;
            if of.places == 0 {
                without += 1;
                continue;
            }
            let reasons = Vec::from_iter(of.reasons.iter().map(String::as_str)).join(" ");
            let key = format!("{} {reasons}", of.verdict);
            let [right, few, many, hits] = by_verdict.entry(key).or_default();
            match of.hits.len().cmp(&line.passes) {
                std::cmp::Ordering::Equal => *right += 1,
                std::cmp::Ordering::Less => *few += 1,
                std::cmp::Ordering::Greater => *many += 1,
            }
            *hits += of.hits.len() as u64;
            for (verdict, count) in &line.values {
                let sum = values.entry(verdict.clone()).or_default();
                sum.values += count.values;
                sum.wrong += count.wrong;
            }
            unread += line.unread;
        }
        let lines: serde_json::Map<String, Json> = by_verdict
            .into_iter()
            .map(|(verdict, [right, few, many, hits])| {
                (verdict, json!({ "right": right, "few": few, "many": many, "hits": hits }))
            })
            .collect();
        let values: serde_json::Map<String, Json> = values
            .into_iter()
            .map(|(verdict, count)| (verdict, json!({ "values": count.values, "wrong": count.wrong })))
            .collect();
        json!({
            "reader": self.reader, "asked": self.lines.len(), "without_place": without, "lines": lines,
            "values": values, "unread": unread,
        })
    }

    /// Each line: what was said of it, its hits and its passes.
    #[must_use]
    pub fn each(&self) -> Vec<Json> {
        let of_line = |line: &JudgedLine| {
            let of = &line.reading;
            json!({
                "reader": self.reader, "place": line.line.place(), "verdict": of.verdict, "reasons": of.reasons,
                "nearest": of.is_nearest, "places": of.places, "hits": of.hits.len(), "passes": line.passes,
            })
        };
        self.lines.iter().map(of_line).collect()
    }

    /// A text for each line with another number of hits than passes.
    #[must_use]
    pub fn wrong_hits(&self) -> Vec<String> {
        let wrong = self.lines.iter().filter(|line| line.reading.places > 0 && !line.is_right());
        wrong
            .map(|line| {
                let of = &line.reading;
                format!(
                    "{} {}: {}{}, {} places, {} hits, {} passes, {}",
                    self.reader,
                    line.line.place(),
                    of.verdict,
                    if of.is_nearest { " nearest" } else { "" },
                    of.places,
                    of.hits.len(),
                    line.passes,
                    Vec::from_iter(of.reasons.iter().map(String::as_str)).join(" "),
                )
            })
            .collect()
    }

    /// A text for each argument with wrong values.
    #[must_use]
    pub fn wrong_values(&self) -> Vec<String> {
        let of_line = |line: &JudgedLine| {
            let (place, verdict) = (line.line.place(), line.reading.verdict);
            let of = |(text, number, truth, read, of): &(String, usize, String, String, String)| {
                format!(
                    "{} {place} {verdict}: {text} ({of}): hit {number} of {}: true {truth}, read {read}",
                    self.reader, line.passes
                )
            };
            line.wrong.iter().map(of).collect::<Vec<_>>()
        };
        self.lines.iter().flat_map(of_line).collect()
    }
}
