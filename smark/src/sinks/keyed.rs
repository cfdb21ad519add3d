//! Which hits belong to which intervals: those of a key.

use simple_markers_resolver::text::shown;
use simple_markers_tracer::aggregate::{IntervalKey, IntervalSubject, Question, Refusal, RefusedSite};
use simple_markers_tracer::ctf::SiteSelection;
use simple_markers_tracer::filter::Mismatch;
use simple_markers_tracer::plan::{Aggregate, DoubtfulValues, Pairing};
use simple_markers_tracer::recorded_members::RecordedInputs;
use simple_markers_tracer::{Hit, Plan};

/// What the hits of a plan are for the intervals.
pub(crate) struct IntervalSites {
    /// How many the plan had.
    pub(super) known: usize,
    /// The starts and the ends.
    pub(super) ends: SiteSelection,
    /// The sites that have the arguments of the key.
    keys: SiteSelection,
    /// The starts and ends where the key cannot be read.
    refused: Vec<RefusedSite>,
}

impl IntervalSites {
    /// Those of a plan. `doubtful` says whether doubtful values tell which end belongs to which start.
    pub(crate) fn new(plan: &Plan, question: &Question, doubtful: DoubtfulValues) -> Self {
        let choose = |question: &Question| {
            let (mut chosen, refused) = SiteSelection::new(plan, &|_| true, None, question, doubtful);
            // What a hit does not have cannot be read any more.
            chosen.retain(plan, &|site, original| site.inputs.len() == original.inputs.len());
            (chosen, refused)
        };
        let values = match question {
            Question::Time { key: IntervalSubject::Arguments(names), .. } => Question::Values(names.clone()),
            _ => Question::Hits,
        };
        let ((ends, refused), (keys, _)) = (choose(question), choose(&values));
        Self { known: plan.sites.len(), ends, keys, refused }
    }

    /// Why there can be no interval; `None` if there can be.
    pub(crate) fn why_none(&self) -> Option<String> {
        let has = |is_kind: fn(&Aggregate) -> bool| self.ends.has(&|site| is_kind(&site.aggregate));
        let has_both = has(|it| matches!(it, Aggregate::Start(_))) && has(|it| matches!(it, Aggregate::End(_)));
        let why = || match self.refused.first() {
            Some(RefusedSite { marker, why: Refusal::Argument(Mismatch::Unknown { name, .. }), .. }) => {
                format!("{}: there is no argument `{}`", shown(marker), shown(name))
            }
            Some(RefusedSite { marker, why: Refusal::Argument(why), .. }) => format!("{} needs {why}", shown(marker)),
            Some(RefusedSite { marker, why, .. }) => format!("{}: {why}", shown(marker)),
            None => "the hits of no site that is watched have the start or the end, with its key".to_owned(),
        };
        (!has_both).then(why)
    }

    /// The starts and the ends.
    pub(crate) fn into_ends(self) -> SiteSelection {
        self.ends
    }

    /// The key that a hit has; `None` if it has none.
    pub(crate) fn key(&self, hit: &Hit<'_>) -> Option<IntervalKey> {
        let (_, site) = self.keys.site(hit)?;
        let inputs = RecordedInputs::new(hit, site);
        match &site.aggregate {
            Aggregate::Values(fields) => IntervalKey::of_values(fields, hit.process, &inputs),
            _ => IntervalKey::new(&Pairing::Thread, hit.process, hit.thread, &inputs),
        }
    }
}
