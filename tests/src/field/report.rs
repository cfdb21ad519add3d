//! Counts what was compared, for people and for machines.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::compare::Marker;

/// A program, built in one way, with its markers after a run.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The program.
    pub program: String,
    /// Its version.
    pub version: String,
    /// The compiler.
    pub compiler: String,
    /// The level.
    pub level: String,
    /// The markers.
    pub markers: Vec<Marker>,
}

/// Values of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// That were compared.
    pub values: u64,
    /// That are wrong.
    pub wrong: u64,
}

impl Watched {
    /// How it was built.
    #[must_use]
    pub fn build(&self) -> String {
        format!("{} {} {} -O{}", self.program, self.version, self.compiler, self.level)
    }

    /// The values that are called live or constant.
    #[must_use]
    pub fn claimed(&self) -> Count {
        let mut count = Count::default();
        for argument in self.arguments().filter(|argument| argument.is_claimed()) {
            count.values += argument.right + argument.wrong;
            count.wrong += argument.wrong;
        }
        count
    }

    /// The doubtful values, by reason.
    #[must_use]
    pub fn doubtful(&self) -> BTreeMap<String, Count> {
        let mut counts: BTreeMap<String, Count> = BTreeMap::new();
        for argument in self.arguments().filter(|argument| argument.verdict == "doubtful") {
            let count = counts.entry(argument.reason.clone().unwrap_or_default()).or_default();
            count.values += argument.right + argument.wrong;
            count.wrong += argument.wrong;
        }
        counts
    }

    fn arguments(&self) -> impl Iterator<Item = &super::compare::Argument> {
        self.markers.iter().flat_map(|marker| &marker.sites).flat_map(|site| &site.arguments)
    }

    /// Markers with other hits than passes at exact sites.
    #[must_use]
    pub fn wrong_hits(&self) -> Vec<String> {
        let wrong = self.markers.iter().filter(|marker| marker.has_wrong_hits());
        wrong
            .map(|marker| {
                format!(
                    "{}: {} at line {}: {} hits at {} sites, and the twin passes it {} times",
                    self.build(),
                    marker.name,
                    marker.line,
                    marker.hits(),
                    marker.sites.len(),
                    marker.passes
                )
            })
            .collect()
    }

    /// A line for each argument with wrong values among those called live or constant, or all.
    #[must_use]
    pub fn wrong(&self, with_doubtful: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for marker in &self.markers {
            for site in &marker.sites {
                for argument in site.arguments.iter().filter(|argument| argument.wrong > 0) {
                    if !argument.is_claimed() && !with_doubtful {
                        continue;
                    }
                    let (pass, truth, read) = argument.first.clone().unwrap_or_default();
                    lines.push(format!(
                        "{}: {} line {} of {} at {} in {}: {} {} {} `{}`: {} of {} wrong; pass {pass}: true {truth}, \
                         read {read}",
                        self.build(),
                        marker.name,
                        marker.line,
                        marker.file.rsplit('/').next().unwrap_or_default(),
                        site.address,
                        site.function,
                        argument.text,
                        argument.verdict,
                        argument.reason.as_deref().unwrap_or_default(),
                        argument.location,
                        argument.wrong,
                        argument.wrong + argument.right,
                    ));
                }
            }
        }
        lines
    }

    /// A line for each argument that is called live or constant, and has other values at the site than at
    /// the address where it is watched. A doubtful one may be in memory that the program has not written,
    /// which differs from run to run.
    #[must_use]
    pub fn moved(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for marker in &self.markers {
            for site in &marker.sites {
                for argument in site.arguments.iter().filter(|argument| argument.other_at_site > 0) {
                    if !argument.is_claimed() {
                        continue;
                    }
                    lines.push(format!(
                        "{}: {} at {}: {} {} `{}`: {} of {} values are others at the site itself",
                        self.build(),
                        marker.name,
                        site.address,
                        argument.text,
                        argument.verdict,
                        argument.location,
                        argument.other_at_site,
                        argument.at_site,
                    ));
                }
            }
        }
        lines
    }

    /// The counts.
    #[must_use]
    pub fn json(&self) -> Json {
        let sites: Vec<_> = self.markers.iter().flat_map(|marker| &marker.sites).collect();
        let arguments = self.arguments().count();
        let readable = self.arguments().filter(|argument| argument.is_claimed()).count();
        let undefined: u64 = self.arguments().map(|argument| argument.undefined).sum();
        let unread: u64 =
            self.arguments().filter(|argument| argument.is_claimed()).map(|argument| argument.unread).sum();
        let doubtful: serde_json::Map<String, Json> = self
            .doubtful()
            .into_iter()
            .map(|(reason, count)| (reason, json!({ "values": count.values, "wrong": count.wrong })))
            .collect();
        let claimed = self.claimed();
        let at_site = |is_claimed: bool| {
            let of = self.arguments().filter(|argument| argument.is_claimed() == is_claimed);
            of.fold(Count::default(), |count, argument| Count {
                values: count.values + argument.at_site,
                wrong: count.wrong + argument.other_at_site,
            })
        };
        let at_entry = self.arguments().filter(|argument| argument.is_at_entry);
        let at_entry = at_entry.fold((0, 0, 0), |(values, wrong, unread), argument| {
            (values + argument.right + argument.wrong, wrong + argument.wrong, unread + argument.unread)
        });
        let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
        for problem in self.arguments().filter(|argument| argument.verdict == "entry" && !argument.is_at_entry) {
            *refused.entry(problem.entry_problem.as_deref().unwrap_or("none")).or_default() += 1;
        }
        let of_arguments = |is_meant: &dyn Fn(&super::compare::Argument) -> bool| {
            self.arguments().filter(|argument| is_meant(argument)).count()
        };
        json!({
            "program": self.program, "version": self.version, "compiler": self.compiler, "level": self.level,
            "markers": self.markers.len(), "sites": sites.len(),
            "exact": sites.iter().filter(|site| site.is_exact).count(),
            "arguments": arguments, "readable": readable,
            "doubtful_arguments": of_arguments(&|argument| argument.verdict == "doubtful"),
            "hits": self.markers.iter().map(Marker::hits).sum::<u64>(),
            "compared_hits": self.markers.iter().filter(|marker| marker.is_watched() && !marker.is_unsteady).map(Marker::hits).sum::<u64>(),
            "markers_with_wrong_hits": self.wrong_hits().len(),
            "values": claimed.values, "wrong": claimed.wrong, "undefined": undefined, "unread": unread,
            "at_site": at_site(true).values, "other_at_site": at_site(true).wrong,
            "doubtful_at_site": at_site(false).values, "doubtful_other_at_site": at_site(false).wrong,
            "doubtful": doubtful,
            "entry_arguments": of_arguments(&|argument| argument.verdict == "entry"),
            "at_entry": of_arguments(&|argument| argument.is_at_entry),
            "entry_values": at_entry.0, "entry_wrong": at_entry.1, "entry_unread": at_entry.2, "entry_refused": refused,
        })
    }
}

/// How often doubtful values were wrong: a line `places COMPILER REASON VALUES WRONG` for each compiler
/// and reason, and the programs with wrong ones.
#[must_use]
pub fn rates(all: &[Watched]) -> Vec<String> {
    let mut counts: BTreeMap<(&str, String), (Count, BTreeSet<&str>)> = BTreeMap::new();
    for watched in all {
        for (reason, count) in watched.doubtful().into_iter().filter(|(_, count)| count.values > 0) {
            let (sum, shown_by) = counts.entry((&watched.compiler, reason)).or_default();
            sum.values += count.values;
            sum.wrong += count.wrong;
            shown_by.extend((count.wrong > 0).then_some(&*watched.program));
        }
    }
    let line = |((compiler, reason), (count, shown_by)): ((&str, String), (Count, BTreeSet<&str>))| {
        let shown_by = Vec::from_iter(shown_by).join(", ");
        let line = format!("places {compiler} {reason} {} {} {shown_by}", count.values, count.wrong);
        line.trim_end().to_owned()
    };
    counts.into_iter().map(line).collect()
}
