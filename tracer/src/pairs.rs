//! Which events are the begin and the end of slices.

use std::collections::BTreeSet;
use std::sync::Arc;

use simple_markers_record::span;

use crate::aggregate::{IntervalKey, IntervalSubject, Intervals, Question, StartOutcome, UnmatchedHits};
use crate::ctf::SiteSelection;
use crate::hit::Hit;
use crate::plan::{Aggregate, Pairing, Plan, PlannedArgument, StackNotes};
use crate::recorded_members::RecordedInputs;

/// What is kept of an event that may be the begin of slices.
pub trait SliceBegin {
    /// Whether the user wants to see it.
    fn is_wanted(&self) -> bool;
}

/// Two markers whose events become slices. `B` is what is kept of a begin.
#[derive(Clone, Debug)]
pub struct Pair<B> {
    /// The name of the marker that begins a slice.
    pub from: String,
    /// The name of the marker that ends it.
    pub to: String,
    /// The name of the pair, which its own tracks have. A span has its own name.
    pub name: String,
    /// Whether it is the begin and the end of a span, whose id is the key.
    is_span: bool,
    /// The arguments whose values tell which begin an end belongs to. Empty if it is the thread.
    keys: Vec<Arc<str>>,
    /// Whether something else than the thread tells it.
    has_key: bool,
    /// The sites, with what is an end and what is a begin.
    sites: SiteSelection,
    open: Intervals<B>,
    tally: PairTally,
}

/// The question how long the spans of a name take.
#[must_use]
pub fn span_question(name: &str) -> Question {
    Question::Time {
        from: span::begin(name),
        to: span::end(name),
        key: IntervalSubject::Arguments(vec![span::ID.into()]),
        by: Vec::new(),
        is_split: false,
        notes: StackNotes::default(),
    }
}

/// The names of the spans of a plan, of the markers with names that `is_wanted` accepts: those with a begin and an end whose
/// sites have the id first.
pub fn spans(plan: &Plan, is_wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let names = plan.markers.iter().map(|marker| &*marker.name).filter(|name| is_wanted(name));
    let names: BTreeSet<&str> = names.collect();
    let has_id = |name: &str| {
        let is_named = |marker: usize| plan.markers.get(marker).is_some_and(|it| *it.name == *name);
        let mut sites = plan.sites.iter().filter(|site| is_named(site.marker)).peekable();
        let is_id = |argument: &PlannedArgument| *argument.text == *span::ID;
        sites.peek().is_some() && sites.all(|site| site.own_arguments().first().is_some_and(is_id))
    };
    let spans = names.iter().filter_map(|begin| span::of_begin(begin));
    let is_span =
        |name: &&str| names.contains(&*span::end(name)) && has_id(&span::begin(name)) && has_id(&span::end(name));
    spans.filter(is_span).map(str::to_owned).collect()
}

/// What became of the events of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairTally {
    /// The slices.
    pub slices: u64,
    /// The events that are in no slice, for want of the other one.
    pub unmatched: UnmatchedHits,
    /// The events whose key could not be read.
    pub unread: u64,
    /// The begins for which there was no space.
    pub full: u64,
}

/// What an event is for a pair.
#[derive(Debug)]
pub enum Role<B> {
    /// It ends the slice of this begin.
    End(B),
    /// It is an end without a begin, or its key could not be read.
    Nothing,
    /// It may begin a slice.
    Begin(IntervalKey),
}

impl<B: SliceBegin> Pair<B> {
    /// The pair of a [`Question::Time`]. `sites` are the sites that were chosen for it.
    #[must_use]
    pub fn new(question: &Question, sites: SiteSelection) -> Option<Self> {
        let Question::Time { from, to, key, .. } = question else { return None };
        let (from, to, has_key) = (from.clone(), to.clone(), *key != IntervalSubject::Thread);
        let has_id = matches!(key.arguments(), [key] if **key == *span::ID);
        let span = span::of_begin(&from).filter(|name| has_id && span::end(name) == to);
        let (is_span, name) = (span.is_some(), span.map_or_else(|| format!("{from}..{to}"), str::to_owned));
        let keys = key.arguments().to_vec();
        Some(Self {
            from,
            to,
            name,
            is_span,
            keys,
            has_key,
            sites,
            open: Intervals::default(),
            tally: PairTally::default(),
        })
    }

    /// What became of its events.
    #[must_use]
    pub fn tally(&self) -> PairTally {
        self.tally
    }

    /// Whether it is the begin and the end of a span.
    #[must_use]
    pub fn is_span(&self) -> bool {
        self.is_span
    }

    /// Whether the value of an argument tells which begin an end belongs to, and not the thread.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.has_key
    }

    /// The arguments whose values tell which begin an end belongs to. Empty if it is the thread.
    #[must_use]
    pub fn keys(&self) -> &[Arc<str>] {
        &self.keys
    }

    /// Takes the sites of another one, which was made of a plan that has grown.
    pub fn take_sites(&mut self, newer: Self) {
        self.sites = newer.sites;
    }

    /// Whether these arguments tell which begin an end belongs to.
    #[must_use]
    pub fn has_keys(&self, names: &[Arc<str>]) -> bool {
        !names.is_empty() && self.keys == names
    }

    /// What a hit is; `None` if the pair is not about its marker.
    pub fn role(&mut self, hit: &Hit<'_>, is_wanted: bool) -> Option<Role<B>> {
        let (_, site) = self.sites.site(hit)?;
        let inputs = RecordedInputs::new(hit, site);
        let key = |of: &Pairing| IntervalKey::new(of, hit.process, hit.thread, &inputs);
        let (key, is_end) = match &site.aggregate {
            Aggregate::Start(of) => (key(&of.key), false),
            Aggregate::End(of) => (key(&of.key), true),
            _ => return None,
        };
        let Some(key) = key else {
            self.tally.unread += u64::from(is_wanted);
            return Some(Role::Nothing);
        };
        if !is_end {
            return Some(Role::Begin(key));
        }
        match self.open.end(&key) {
            Some(begin) => {
                self.tally.slices += u64::from(begin.is_wanted());
                Some(Role::End(begin))
            }
            None => {
                self.tally.unmatched.ends += u64::from(is_wanted);
                Some(Role::Nothing)
            }
        }
    }

    /// Opens a slice, unless `most` are open. Returns the begin that it replaces, or itself if there
    /// is no space.
    pub fn open(&mut self, key: IntervalKey, begin: B, most: usize) -> Option<B> {
        match self.open.start(key, begin, most) {
            StartOutcome::Open | StartOutcome::Nested => None,
            StartOutcome::InPlaceOf(before) => {
                self.tally.unmatched.repeated += u64::from(before.is_wanted());
                Some(before)
            }
            StartOutcome::Full(begin) => {
                self.tally.full += u64::from(begin.is_wanted());
                Some(begin)
            }
        }
    }

    /// The begins that had no end.
    pub fn close(&mut self) -> impl Iterator<Item = B> + use<B> {
        let open: Vec<_> = self.open.take().collect();
        self.tally.unmatched.open += open.iter().filter(|begin| begin.is_wanted()).count() as u64;
        open.into_iter()
    }
}
