//! `smark report --otlp`: which hits of a recording are sent.

use anyhow::bail;
use simple_markers_tracer::aggregate::{IntervalSubject, Question};
use simple_markers_tracer::plan::DoubtfulValues;

use crate::hit_origin::HitQuestion;

/// What is sent. `question` is what the user asks.
pub(super) fn question(question: Question, doubtful: DoubtfulValues, is_json: bool) -> anyhow::Result<HitQuestion> {
    let intervals = match question {
        Question::Hits => None,
        Question::Time { key: IntervalSubject::Call, .. } => {
            bail!("--otlp: write two names of markers as A..B, or the name of a span")
        }
        Question::Time { ref by, is_split: false, .. } if by.is_empty() => Some(question),
        _ => bail!("--otlp: hits of a recording are sent, or the intervals of --time; smark count --otlp sends counts"),
    };
    Ok(HitQuestion { intervals, doubtful, is_json, is_live: false })
}
