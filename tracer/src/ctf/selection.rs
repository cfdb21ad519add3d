//! Which hits of a recording are wanted, and what is counted at them.

use crate::aggregate::{Question, RefusedSite};
use crate::filter::Filter;
use crate::hit::Hit;
use crate::plan::{DoubtfulValues, Plan, PlannedSite};
use crate::recorded_members::RecordedInputs;

/// The sites of a recording whose hits are wanted.
#[derive(Clone, Debug)]
pub struct SiteSelection {
    /// The wanted sites.
    pub plan: Plan,
    /// The number in the plan of each site of the recording; `None` if its hits are not wanted.
    numbers: Vec<Option<usize>>,
}

impl SiteSelection {
    /// The sites of the markers that `keep` accepts, by their number, and where the filter and the
    /// question can be applied; and the sites where they cannot. `all` is the plan of the recording.
    /// `doubtful` says whether both take doubtful arguments.
    #[must_use]
    pub fn new(
        all: &Plan,
        keep: &dyn Fn(usize) -> bool,
        filter: Option<&Filter>,
        question: &Question,
        doubtful: DoubtfulValues,
    ) -> (Self, Vec<RefusedSite>) {
        let (images, markers) = (all.images.clone(), all.markers.clone());
        let mut plan = Plan { images, markers, ..Plan::default() };
        let (mut numbers, mut refused) = (Vec::with_capacity(all.sites.len()), Vec::new());
        for site in &all.sites {
            let number = plan.sites.len();
            if keep(site.marker) {
                plan.sites.push(site.clone());
                plan.treat(number, doubtful);
                refused.extend(plan.narrow(number, filter, question));
            }
            numbers.push((plan.sites.len() > number).then_some(number));
        }
        (Self { plan, numbers }, refused)
    }

    /// Leaves out the sites that `keep` refuses. It gets each site as it was chosen, and as `all` has it.
    pub fn retain(&mut self, all: &Plan, keep: &dyn Fn(&PlannedSite, &PlannedSite) -> bool) {
        for (number, original) in self.numbers.iter_mut().zip(&all.sites) {
            let chosen = number.and_then(|number| self.plan.sites.get(number));
            if chosen.is_some_and(|chosen| !keep(chosen, original)) {
                *number = None;
            }
        }
    }

    /// Whether there is a wanted site of this kind.
    #[must_use]
    pub fn has(&self, is_kind: &dyn Fn(&PlannedSite) -> bool) -> bool {
        self.numbers.iter().flatten().filter_map(|number| self.plan.sites.get(*number)).any(is_kind)
    }

    /// Whether hits at the site with this number in the recording can be wanted.
    #[must_use]
    pub fn has_site(&self, number: usize) -> bool {
        self.numbers.get(number).copied().flatten().is_some()
    }

    /// The wanted site of a hit with its number in the plan; `None` if the hit is not wanted.
    #[must_use]
    pub fn site(&self, hit: &Hit<'_>) -> Option<(usize, &PlannedSite)> {
        let number = self.numbers.get(hit.number).copied()??;
        Some((number, self.plan.sites.get(number)?))
    }

    /// Whether a hit is wanted. `None` if an argument that the filter needs could not be read.
    #[must_use]
    pub fn wants(&self, hit: &Hit<'_>) -> Option<bool> {
        let Some((_, site)) = self.site(hit) else { return Some(false) };
        let inputs = RecordedInputs::new(hit, site);
        site.filter.as_ref().map_or(Some(true), |filter| filter.evaluate(&inputs))
    }
}
