//! `status`: what the rules do, for Prometheus.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::limits::LimitKind;
use super::parts::PartCounts;
use super::run::{RuleStateWord, RuleTotals};
use crate::address::Address;
use crate::metrics::{self, Family, Labels, SampleValue, Samples};

/// What a rule does, as the page says it.
#[derive(Clone, Debug)]
pub(super) struct RuleOnPage {
    pub(super) name: String,
    pub(super) state: RuleStateWord,
    pub(super) totals: RuleTotals,
    /// How many sites have probes.
    pub(super) sites: u64,
    /// What became of the parts of its recording; `None` if it records nothing.
    pub(super) parts: Option<PartCounts>,
}

/// What the page says.
#[derive(Clone, Debug, Default)]
pub(super) struct PageContents {
    pub(super) rules: Vec<RuleOnPage>,
    /// The CPU time of the agent itself, without its processes.
    pub(super) cpu: Duration,
    /// How often the rules were read again.
    pub(super) reloads: u64,
    /// Whether the rules in the file are those that hold.
    pub(super) is_current: bool,
}

/// A server of the page.
#[derive(Debug)]
pub(super) struct StatusPage {
    contents: Arc<Mutex<PageContents>>,
    pub(super) address: SocketAddr,
}

impl StatusPage {
    pub(super) fn start(address: &Address) -> anyhow::Result<Self> {
        let contents = Arc::new(Mutex::new(PageContents::default()));
        let shared = Arc::clone(&contents);
        let address =
            metrics::serve(address, move || families(&shared.lock().unwrap_or_else(PoisonError::into_inner)))?;
        Ok(Self { contents, address })
    }

    pub(super) fn set(&self, contents: PageContents) {
        *self.contents.lock().unwrap_or_else(PoisonError::into_inner) = contents;
    }
}

fn families(page: &PageContents) -> Vec<Family> {
    let of_rule = |rule: &RuleOnPage| -> Labels { vec![("rule", rule.name.clone())] };
    let each = |value: &dyn Fn(&RuleOnPage) -> SampleValue| -> Vec<(Labels, SampleValue)> {
        page.rules.iter().map(|rule| (of_rule(rule), value(rule))).collect()
    };
    let each_of = |label: &'static str, values: &dyn Fn(&RuleOnPage) -> Vec<(&'static str, u64)>| {
        let rows = page.rules.iter().flat_map(|rule| {
            let with = |(word, value): (&str, u64)| {
                let labels = [of_rule(rule), vec![(label, word.to_owned())]].concat();
                (labels, SampleValue::from(value))
            };
            values(rule).into_iter().map(with).collect::<Vec<(Labels, SampleValue)>>()
        });
        rows.collect::<Vec<(Labels, SampleValue)>>()
    };
    let parts = |value: &dyn Fn(&PartCounts) -> u64| -> Vec<(Labels, SampleValue)> {
        let rows = page.rules.iter().filter_map(|rule| Some((of_rule(rule), value(rule.parts.as_ref()?).into())));
        rows.collect()
    };
    let counter = |name, help, samples| Family { name, help, is_time: false, samples: Samples::Counter(samples) };
    let gauge = |name, help, samples| Family { name, help, is_time: false, samples: Samples::Gauge(samples) };
    let time = |name, help, samples| Family { name, help, is_time: true, samples: Samples::Counter(samples) };
    vec![
        time("smark_agent_cpu", "CPU time of the agent without the processes of its rules.", {
            vec![(Labels::new(), SampleValue::Real(page.cpu.as_secs_f64()))]
        }),
        counter("smark_agent_reloads", "How often the rules were read again.", {
            vec![(Labels::new(), page.reloads.into())]
        }),
        gauge("smark_agent_rules_are_current", "1 if the file has the rules that hold, 0 if it has an error.", {
            vec![(Labels::new(), u64::from(page.is_current).into())]
        }),
        gauge("smark_agent_rule_state", "1 for the state in which a rule is.", {
            each_of("state", &|rule| {
                RuleStateWord::ALL.map(|word| (word.word(), u64::from(word == rule.state))).to_vec()
            })
        }),
        gauge("smark_agent_rule_sites", "How many sites of a rule have probes.", each(&|rule| rule.sites.into())),
        counter("smark_agent_rule_hits", "Hits of the markers of a rule.", each(&|rule| rule.totals.tally.hits.into())),
        counter("smark_agent_rule_delivered_hits", "Hits that are in a count, a recording or an output.", {
            each(&|rule| rule.totals.tally.delivered.into())
        }),
        counter("smark_agent_rule_dropped_hits", "Hits that got nowhere.", {
            each(&|rule| rule.totals.tally.dropped.into())
        }),
        counter(
            "smark_agent_rule_untold_ends",
            "Processes that ended without saying what became of their last hits.",
            each(&|rule| rule.totals.untold.into()),
        ),
        time("smark_agent_rule_cpu", "CPU time of the processes of a rule.", {
            each(&|rule| SampleValue::Real(rule.totals.cpu.as_secs_f64()))
        }),
        counter("smark_agent_rule_starts", "How often a process was started for a rule.", {
            each(&|rule| rule.totals.starts.into())
        }),
        counter("smark_agent_rule_pauses", "How often a rule paused because it cost more than its limit.", {
            each_of("limit", &|rule| {
                let count = |limit: &LimitKind| rule.totals.exceeded.get(limit).copied().unwrap_or_default();
                LimitKind::ALL.iter().map(|limit| (limit.word(), count(limit))).collect()
            })
        }),
        gauge("smark_agent_recorded_bytes", "Bytes in the folder of a rule.", parts(&|parts| parts.bytes)),
        counter("smark_agent_tabulated_parts", "Parts of a recording that became tables.", {
            parts(&|parts| parts.tabulated)
        }),
        counter("smark_agent_failed_tables", "How often tables could not be written.", parts(&|parts| parts.failed)),
        counter("smark_agent_removed_parts", "Parts that were removed because the folder was too large.", {
            parts(&|parts| parts.removed)
        }),
    ]
}
