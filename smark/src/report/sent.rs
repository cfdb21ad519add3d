//! `smark report --otlp`: which hits of a recording are sent.

use std::ops::ControlFlow;

use anyhow::bail;
use simple_markers_tracer::aggregate::{IntervalSubject, Question};
use simple_markers_tracer::plan::{DoubtfulValues, Plan};

use super::recording::Hits;
use crate::hit_origin::HitQuestion;
use crate::moving_spans::{MovingSpanFinder, MovingSpans};

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
    Ok(HitQuestion { intervals, moving: MovingSpans::default(), doubtful, is_json, is_live: false })
}

/// The spans that do not stay where they began.
pub(super) fn moving(plan: &Plan, doubtful: DoubtfulValues, mut hits: Hits<'_>) -> anyhow::Result<MovingSpans> {
    let Some(mut finder) = MovingSpanFinder::new(plan, doubtful) else { return Ok(MovingSpans::default()) };
    hits.each(None, &mut |hit, _| {
        finder.add(hit);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(finder.finish())
}
