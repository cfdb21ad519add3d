//! The intervals that become spans: those of a question, or the spans of the programs.

use std::collections::HashMap;
use std::rc::Rc;

use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::pairs::{Pair, PairTally, Role, SliceBegin, span_question, spans};
use simple_markers_tracer::plan::DoubtfulValues;
use simple_markers_tracer::{Hit, Plan};

use super::attributes::HitAttributes;
use super::ids::SpanIds;
use super::message::{LogRecord, OtlpSpan};
use super::records::record;
use crate::hit_origin::HitOrigin;
use crate::hit_text::HitText;
use crate::sinks::IntervalSites;

/// The most intervals of a pair that are open.
const MOST_OPEN: usize = 1 << 16;

/// Where intervals are nested: a thread, or a task of an async runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NestingPlace {
    Thread(u32, u32),
    Task(u32, u64),
}

impl NestingPlace {
    fn of(hit: &Hit<'_>) -> Self {
        match hit.task() {
            Some(Ok(Some(task))) => Self::Task(hit.process, task.get()),
            _ => Self::Thread(hit.process, hit.thread),
        }
    }
}

/// An interval that has not ended.
#[derive(Debug)]
pub(super) struct OpenSpan {
    ids: SpanIds,
    parent: Option<[u8; 8]>,
    /// Where it is open; `None` if others are not nested in it.
    place: Option<NestingPlace>,
    time: u64,
    /// What its begin is if there is no end. The span has its attributes.
    record: LogRecord,
}

/// What is kept of a begin.
#[derive(Debug)]
pub(super) struct SpanBegin(Rc<OpenSpan>);

impl SliceBegin for SpanBegin {
    fn is_wanted(&self) -> bool {
        true
    }
}

/// What a hit is.
pub(super) enum SpanRole {
    /// It belongs to no interval, or to none whose begin is known.
    Alone,
    /// It begins an interval. A begin that will have no end any more becomes a record.
    Begin(Option<LogRecord>),
    /// It ends one.
    End(Box<OtlpSpan>),
}

/// Finds intervals.
pub(super) struct SpanFinder {
    /// The question; `None` for the spans of the programs.
    question: Option<Question>,
    doubtful: DoubtfulValues,
    pairs: Vec<Pair<SpanBegin>>,
    /// How many sites the plan had.
    known: Option<usize>,
    /// The intervals that are open in each place, the innermost last.
    nested: HashMap<NestingPlace, Vec<SpanIds>>,
    /// Why there can be no interval of the question; `None` if there can be.
    pub(super) why_none: Option<String>,
}

impl SpanFinder {
    /// `question` is a [`Question::Time`].
    pub(super) fn new(question: Option<Question>, doubtful: DoubtfulValues) -> Self {
        let (pairs, nested) = (Vec::new(), HashMap::new());
        Self { question, doubtful, pairs, known: None, nested, why_none: None }
    }

    /// Looks at the sites of a plan that has grown.
    fn look(&mut self, plan: &Plan) {
        if self.known == Some(plan.sites.len()) {
            return;
        }
        self.known = Some(plan.sites.len());
        let questions = match &self.question {
            Some(question) => vec![question.clone()],
            None => spans(plan, &|_| true).iter().map(|name| span_question(name)).collect(),
        };
        for question in questions {
            let sites = IntervalSites::new(plan, &question, self.doubtful);
            if self.question.is_some() {
                self.why_none = sites.why_none();
            }
            let Some(pair) = Pair::new(&question, sites.into_ends()) else { continue };
            match self.pairs.iter_mut().find(|known| known.name == pair.name) {
                Some(known) => known.take_sites(pair),
                None => self.pairs.push(pair),
            }
        }
    }

    /// What a hit is. `texts` writes what it says.
    pub(super) fn role(&mut self, hit: &Hit<'_>, origin: &HitOrigin, texts: &mut HitText) -> SpanRole {
        self.look(hit.plan);
        for pair in &mut self.pairs {
            match pair.role(hit, true) {
                None => {}
                Some(Role::Nothing) => return SpanRole::Alone,
                Some(Role::End(SpanBegin(begin))) => {
                    close(&mut self.nested, &begin);
                    return SpanRole::End(Box::new(span(&pair.name, &begin, hit, origin, &*texts.functions)));
                }
                Some(Role::Begin(key)) => {
                    let keys = pair.keys().iter().map(|key| &**key);
                    let mut ids = SpanIds::new(&origin.boot, &pair.name, keys, hit);
                    // What begins in one thread and ends in another one is nested in nothing.
                    let place = (pair.is_span() || !pair.has_key()).then(|| NestingPlace::of(hit));
                    let parent = place.and_then(|place| self.nested.get(&place)?.last().copied());
                    ids.trace = parent.map_or(ids.trace, |parent| parent.trace);
                    let open = OpenSpan {
                        ids,
                        parent: parent.map(|parent| parent.span),
                        place,
                        time: hit.time,
                        record: record(hit, origin, texts),
                    };
                    let open = Rc::new(open);
                    let left = pair.open(key, SpanBegin(Rc::clone(&open)), MOST_OPEN);
                    // That it is open is noted unless there was no space for it.
                    if !left.as_ref().is_some_and(|SpanBegin(left)| Rc::ptr_eq(left, &open)) {
                        place.into_iter().for_each(|place| self.nested.entry(place).or_default().push(ids));
                    }
                    let left = left.map(|SpanBegin(left)| {
                        close(&mut self.nested, &left);
                        left.record.clone()
                    });
                    return SpanRole::Begin(left);
                }
            }
        }
        SpanRole::Alone
    }

    /// The innermost interval that is open where a hit is.
    pub(super) fn around(&self, hit: &Hit<'_>) -> Option<SpanIds> {
        self.nested.get(&NestingPlace::of(hit))?.last().copied()
    }

    /// The begins without an end, in the order of their times.
    pub(super) fn left(&mut self) -> Vec<LogRecord> {
        let mut left: Vec<Rc<OpenSpan>> = self.pairs.iter_mut().flat_map(Pair::close).map(|SpanBegin(it)| it).collect();
        left.sort_by_key(|open| open.time);
        self.nested.clear();
        left.into_iter().map(|open| open.record.clone()).collect()
    }

    /// The names of each pair, its begin and its end, with what became of its hits.
    pub(super) fn tallies(&self) -> impl Iterator<Item = ([&str; 3], PairTally)> {
        self.pairs.iter().map(|pair| ([pair.name.as_str(), pair.from.as_str(), pair.to.as_str()], pair.tally()))
    }

    /// What there is in place of space, in words.
    pub(super) fn full() -> String {
        format!("{MOST_OPEN} were open")
    }
}

/// Notes that an interval is open no more.
fn close(nested: &mut HashMap<NestingPlace, Vec<SpanIds>>, span: &OpenSpan) {
    let Some(place) = span.place else { return };
    let Some(open) = nested.get_mut(&place) else { return };
    if let Some(at) = open.iter().rposition(|ids| *ids == span.ids) {
        open.remove(at);
    }
    if open.is_empty() {
        nested.remove(&place);
    }
}

/// The span from a begin to a hit.
fn span(name: &str, begin: &OpenSpan, end: &Hit<'_>, origin: &HitOrigin, functions: &dyn FunctionNames) -> OtlpSpan {
    let mut attributes = HitAttributes(begin.record.attributes.clone());
    attributes.add_end(end, functions);
    OtlpSpan {
        trace_id: begin.ids.trace.to_vec(),
        span_id: begin.ids.span.to_vec(),
        parent_span_id: begin.parent.map(|parent| parent.to_vec()).unwrap_or_default(),
        name: name.to_owned(),
        kind: OtlpSpan::INTERNAL,
        start_time_unix_nano: origin.wall(begin.time),
        end_time_unix_nano: origin.wall(end.time.max(begin.time)),
        attributes: attributes.0,
    }
}
