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

/// The spans of what is sent that do not stay where they began.
pub(super) fn moving(plan: &Plan, sent: &HitQuestion, mut hits: Hits<'_>) -> anyhow::Result<MovingSpans> {
    let finder = MovingSpanFinder::new(plan, sent.intervals.as_ref(), sent.doubtful);
    let Some(mut finder) = finder else { return Ok(MovingSpans::default()) };
    hits.each(None, &mut |hit, _| {
        finder.add(hit);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(finder.finish())
}
