//! Spans that end elsewhere than they begin, as the guard of `simple_span!` does that another thread drops.

use std::collections::BTreeSet;

use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::pairs::{Pair, Role, SliceBegin, span_question, spans};
use simple_markers_tracer::plan::DoubtfulValues;
use simple_markers_tracer::{Hit, Plan};

use crate::sinks::IntervalSites;

/// The most spans of a name that are open.
pub(crate) const MOST_OPEN: usize = 1 << 16;

/// Where a span is: a thread, or a task of an async runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SpanPlace {
    Thread(u32, u32),
    Task(u32, u64),
}

impl SpanPlace {
    pub(crate) fn of(hit: &Hit<'_>) -> Self {
        match hit.task() {
            Some(Ok(Some(task))) => Self::Task(hit.process, task.get()),
            _ => Self::Thread(hit.process, hit.thread),
        }
    }
}

/// The begin of a span.
struct PlaceOfBegin(SpanPlace);

impl SliceBegin for PlaceOfBegin {
    fn is_wanted(&self) -> bool {
        true
    }
}

/// The names of spans of which one ended elsewhere than it began.
#[derive(Clone, Debug, Default)]
pub(crate) struct MovingSpans(BTreeSet<String>);

impl MovingSpans {
    /// Adds a name. Returns whether it is a new one.
    pub(crate) fn add(&mut self, name: &str) -> bool {
        !self.has(name) && self.0.insert(name.to_owned())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// What is asked of the sites of a plan: a question of the user, or how long the spans of the programs take.
pub(crate) fn interval_questions(plan: &Plan, question: Option<&Question>) -> Vec<Question> {
    match question {
        Some(question) => vec![question.clone()],
        None => spans(plan, &|_| true).iter().map(|name| span_question(name)).collect(),
    }
}

/// Finds them among the hits of a recording.
pub(crate) struct MovingSpanFinder {
    pairs: Vec<Pair<PlaceOfBegin>>,
    found: MovingSpans,
}

impl MovingSpanFinder {
    /// `question` is as for [`interval_questions`]. `None` if it is about no spans.
    pub(crate) fn new(plan: &Plan, question: Option<&Question>, doubtful: DoubtfulValues) -> Option<Self> {
        let questions = interval_questions(plan, question);
        let pair = |question| Pair::new(question, IntervalSites::new(plan, question, doubtful).into_ends());
        let pairs: Vec<_> = questions.iter().filter_map(pair).filter(Pair::is_span).collect();
        (!pairs.is_empty()).then(|| Self { pairs, found: MovingSpans::default() })
    }

    /// Adds the next hit.
    pub(crate) fn add(&mut self, hit: &Hit<'_>) {
        for pair in &mut self.pairs {
            match pair.role(hit, true) {
                None => continue,
                Some(Role::Begin(key)) => _ = pair.open(key, PlaceOfBegin(SpanPlace::of(hit)), MOST_OPEN),
                Some(Role::End(PlaceOfBegin(place))) if place != SpanPlace::of(hit) => {
                    self.found.add(&pair.name);
                }
                Some(Role::End(_) | Role::Nothing) => {}
            }
            return;
        }
    }

    /// What was found.
    pub(crate) fn finish(self) -> MovingSpans {
        self.found
    }
}
