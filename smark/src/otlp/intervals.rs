//! The intervals that become spans: those of a question, or the spans of the programs.

use std::collections::HashMap;
use std::rc::Rc;

use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::pairs::{Pair, PairTally, Role, SliceBegin};
use simple_markers_tracer::plan::DoubtfulValues;
use simple_markers_tracer::{Hit, Plan};

use super::attributes::HitAttributes;
use super::ids::SpanIds;
use super::message::{LogRecord, OtlpSpan};
use super::records::record;
use crate::hit_origin::HitOrigin;
use crate::hit_text::HitText;
use crate::moving_spans::{MOST_OPEN, MovingSpans, SpanPlace, interval_questions};
use crate::sinks::IntervalSites;

/// An interval that has not ended.
#[derive(Debug)]
pub(super) struct OpenSpan {
    ids: SpanIds,
    parent: Option<[u8; 8]>,
    /// Where it is open; `None` if others are not nested in it.
    place: Option<SpanPlace>,
    time: u64,
    /// What its begin is if there is no end. The span has its attributes.
    record: LogRecord,
}

/// An interval that others are nested in.
#[derive(Debug)]
struct OpenInPlace {
    ids: SpanIds,
    /// Which pair it is of.
    pair: usize,
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
    /// The spans that others are not nested in.
    moving: MovingSpans,
    /// The intervals that are open in each place, the innermost last.
    nested: HashMap<SpanPlace, Vec<OpenInPlace>>,
    /// Why there can be no interval of the question; `None` if there can be.
    pub(super) why_none: Option<String>,
}

impl SpanFinder {
    /// `question` is a [`Question::Time`].
    pub(super) fn new(question: Option<Question>, moving: MovingSpans, doubtful: DoubtfulValues) -> Self {
        let (pairs, nested) = (Vec::new(), HashMap::new());
        Self { question, doubtful, pairs, known: None, moving, nested, why_none: None }
    }

    /// Looks at the sites of a plan that has grown.
    fn look(&mut self, plan: &Plan) {
        if self.known == Some(plan.sites.len()) {
            return;
        }
        self.known = Some(plan.sites.len());
        for question in interval_questions(plan, self.question.as_ref()) {
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
        for (number, pair) in self.pairs.iter_mut().enumerate() {
            match pair.role(hit, true) {
                None => {}
                Some(Role::Nothing) => return SpanRole::Alone,
                Some(Role::End(SpanBegin(begin))) => {
                    close(&mut self.nested, &begin);
                    let mut span = span(&pair.name, &begin, hit, origin, &*texts.functions);
                    let end = SpanPlace::of(hit);
                    if begin.place.is_some_and(|place| place != end) {
                        if self.moving.add(&pair.name) {
                            self.nested.values_mut().for_each(|open| open.retain(|it| it.pair != number));
                            self.nested.retain(|_, open| !open.is_empty());
                        }
                        let around = self.nested.get(&end).and_then(|open| open.last());
                        span.links.extend(around.map(|around| around.ids.link()));
                    }
                    return SpanRole::End(Box::new(span));
                }
                Some(Role::Begin(key)) => {
                    let keys = pair.keys().iter().map(|key| &**key);
                    let mut ids = SpanIds::new(&origin.boot, &pair.name, keys, hit);
                    // What begins in one thread and ends in another one is nested in nothing.
                    let place = (pair.is_span() || !pair.has_key()).then(|| SpanPlace::of(hit));
                    let parent = place.and_then(|place| Some(self.nested.get(&place)?.last()?.ids));
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
                    // It was not opened if there was no space for it.
                    let is_open = !left.as_ref().is_some_and(|SpanBegin(left)| Rc::ptr_eq(left, &open));
                    if let Some(place) = place.filter(|_| is_open && !self.moving.has(&pair.name)) {
                        self.nested.entry(place).or_default().push(OpenInPlace { ids, pair: number });
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
        Some(self.nested.get(&SpanPlace::of(hit))?.last()?.ids)
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
fn close(nested: &mut HashMap<SpanPlace, Vec<OpenInPlace>>, span: &OpenSpan) {
    let Some(place) = span.place else { return };
    let Some(open) = nested.get_mut(&place) else { return };
    if let Some(at) = open.iter().rposition(|it| it.ids == span.ids) {
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
        links: Vec::new(),
    }
}
