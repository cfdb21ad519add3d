//! What was counted, by verdict.

use simple_markers_resolver::resolve::Exactness;

use super::count::{Counted, Hits};

/// The verdicts that have a column of their own. The others are counted together.
pub const VERDICTS: [Exactness; 4] = [Exactness::Exact, Exactness::Likely, Exactness::Shared, Exactness::Approximate];

/// The markers of one verdict. The verdict on a marker is the worst one on its sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Those that are hit as often as passed, at least once.
    pub equal: usize,
    /// Those that are hit more often in some run, and never less often.
    pub more: usize,
    /// Those that are hit less often in some run.
    pub fewer: usize,
    /// Those that are neither passed nor hit.
    pub never: usize,
    /// Those with a site where the kernel takes no probe.
    pub unknown: usize,
}

impl Outcome {
    fn add(&mut self, counted: &Counted) {
        let number = match counted.compare() {
            None => &mut self.unknown,
            Some(Hits::Never) => &mut self.never,
            Some(Hits::Equal) => &mut self.equal,
            Some(Hits::More) => &mut self.more,
            Some(Hits::Fewer) => &mut self.fewer,
        };
        *number += 1;
    }

    fn merge(&mut self, other: Self) {
        self.equal += other.equal;
        self.more += other.more;
        self.fewer += other.fewer;
        self.never += other.never;
        self.unknown += other.unknown;
    }

    /// Those whose hits can be compared with passes.
    #[must_use]
    pub fn compared(&self) -> usize {
        self.equal + self.more + self.fewer
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> usize {
        self.compared() + self.never + self.unknown
    }
}

/// The totals of one or more builds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Markers in the source.
    pub markers: usize,
    /// Those that are passed at least once.
    pub passed: usize,
    /// Those with a site.
    pub located: usize,
    /// Their sites.
    pub sites: usize,
    /// By verdict: [`VERDICTS`], and the others.
    outcomes: [Outcome; VERDICTS.len() + 1],
}

impl Tally {
    /// The totals of markers.
    #[must_use]
    pub fn of<'c>(all: impl IntoIterator<Item = &'c Counted>) -> Self {
        let mut tally = Self::default();
        for counted in all {
            let verdict = counted.verdict();
            tally.markers += 1;
            tally.passed += usize::from(counted.is_passed());
            tally.located += usize::from(verdict.is_some());
            tally.sites += counted.sites.len();
            if let Some(verdict) = verdict {
                tally.outcomes[index(verdict)].add(counted);
            }
        }
        tally
    }

    /// Adds the totals of other builds.
    pub fn add(&mut self, other: &Self) {
        self.markers += other.markers;
        self.passed += other.passed;
        self.located += other.located;
        self.sites += other.sites;
        self.outcomes.iter_mut().zip(other.outcomes).for_each(|(ours, theirs)| ours.merge(theirs));
    }

    /// The markers by verdict: those of [`VERDICTS`], and of the others together.
    #[must_use]
    pub fn outcomes(&self) -> [Outcome; VERDICTS.len() + 1] {
        self.outcomes
    }

    /// The markers that are hit as often as passed, at least once.
    #[must_use]
    pub fn right(&self) -> usize {
        self.outcomes.iter().map(|outcome| outcome.equal).sum()
    }

    /// The head of the lines that [`Tally::line`] makes.
    #[must_use]
    pub fn head() -> String {
        let verdicts = VERDICTS.map(|verdict| format!("{:>23}", format!("{} =  >  <", verdict.as_str())));
        format!(
            "{:<34}{:>8}{:>7}{:>8}{:>6}{:>6}{}{:>23}",
            "",
            "markers",
            "passed",
            "located",
            "sites",
            "right",
            verdicts.concat(),
            "other =  >  <"
        )
    }

    /// A line of figures: markers, those passed, those located, their sites, those hit as often as
    /// passed; and for each verdict its markers, and those hit as often, more often and less often
    /// than passed.
    #[must_use]
    pub fn line(&self, name: &str) -> String {
        let outcomes = self.outcomes.map(|outcome| {
            let Outcome { equal, more, fewer, .. } = outcome;
            format!("{:>23}", format!("{:>5}{equal:>6}{more:>5}{fewer:>5}", outcome.all()))
        });
        let Self { markers, passed, located, sites, .. } = self;
        format!("{name:<34}{markers:>8}{passed:>7}{located:>8}{sites:>6}{:>6}{}", self.right(), outcomes.concat())
    }
}

/// The place of a verdict among [`VERDICTS`] and the others.
fn index(verdict: Exactness) -> usize {
    VERDICTS.iter().position(|of| *of == verdict).unwrap_or(VERDICTS.len())
}
