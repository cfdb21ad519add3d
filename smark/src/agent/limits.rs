//! What a rule may cost, and what it costs.

use std::collections::VecDeque;
use std::time::Duration;

/// What a rule may cost.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RuleLimits {
    /// The share of one CPU that its processes use.
    pub(super) cpu: Option<f64>,
    /// The hits in a second.
    pub(super) hits: Option<u64>,
    /// The bytes that are written in an hour.
    pub(super) bytes: Option<u64>,
    /// How long it pauses after it cost more.
    pub(super) pause: Duration,
}

impl Default for RuleLimits {
    fn default() -> Self {
        Self { cpu: None, hits: None, bytes: None, pause: Duration::from_secs(600) }
    }
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LimitKind {
    /// The CPU time before it watches, which no rule sets.
    Begin,
    Cpu,
    Hits,
    Bytes,
}

impl LimitKind {
    pub(super) const ALL: [Self; 4] = [Self::Begin, Self::Cpu, Self::Hits, Self::Bytes];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Cpu => "cpu",
            Self::Hits => "hits",
            Self::Bytes => "bytes",
        }
    }
}

/// What a rule has cost since its processes began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RuleCost {
    /// When this was measured, from any begin.
    pub(super) at: Duration,
    pub(super) cpu: Duration,
    pub(super) hits: u64,
    pub(super) bytes: u64,
}

/// A limit that is exceeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CostExcess {
    pub(super) limit: LimitKind,
    /// The cost, in the unit of the limit.
    pub(super) cost: f64,
    /// The most that is allowed.
    pub(super) most: f64,
}

/// The time over which CPU time and hits are averaged.
const WINDOW: Duration = Duration::from_secs(10);
/// The shortest time that says something.
const SHORTEST: Duration = Duration::from_secs(4);
const HOUR: Duration = Duration::from_secs(3600);
/// How often the bytes of an hour are noted.
const MINUTE: Duration = Duration::from_secs(60);

/// Measures what a rule costs.
#[derive(Clone, Debug, Default)]
pub(super) struct CostMeter {
    /// The costs of the last ten seconds, and the one before.
    recent: VecDeque<RuleCost>,
    /// The bytes of the last hour, a number for each minute.
    hour: VecDeque<(Duration, u64)>,
}

impl CostMeter {
    /// Adds a cost. It must not be less than the one before.
    pub(super) fn add(&mut self, cost: RuleCost) {
        self.recent.push_back(cost);
        while self.recent.get(1).is_some_and(|second| cost.at.saturating_sub(second.at) >= WINDOW) {
            self.recent.pop_front();
        }
        if self.hour.back().is_none_or(|(at, _)| cost.at.saturating_sub(*at) >= MINUTE) {
            self.hour.push_back((cost.at, cost.bytes));
        }
        while self.hour.get(1).is_some_and(|(at, _)| cost.at.saturating_sub(*at) >= HOUR) {
            self.hour.pop_front();
        }
    }

    /// The limit that is exceeded, if one is.
    pub(super) fn exceeded(&self, limits: &RuleLimits) -> Option<CostExcess> {
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let time = last.at.saturating_sub(first.at);
        let rate = |amount: f64| (time >= SHORTEST).then(|| amount / time.as_secs_f64());
        let cpu = rate(last.cpu.saturating_sub(first.cpu).as_secs_f64()).zip(limits.cpu);
        let hits = rate(last.hits.saturating_sub(first.hits) as f64).zip(limits.hits.map(|hits| hits as f64));
        let begin = self.hour.front().map_or(0, |(_, bytes)| *bytes);
        let bytes = limits.bytes.map(|most| (last.bytes.saturating_sub(begin) as f64, most as f64));
        let all = [(LimitKind::Cpu, cpu), (LimitKind::Hits, hits), (LimitKind::Bytes, bytes)];
        all.into_iter().find_map(|(limit, of)| {
            let (cost, most) = of?;
            (cost > most).then_some(CostExcess { limit, cost, most })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(seconds: u64, cpu_ms: u64, hits: u64, bytes: u64) -> RuleCost {
        RuleCost { at: Duration::from_secs(seconds), cpu: Duration::from_millis(cpu_ms), hits, bytes }
    }

    #[test]
    fn costs_are_averages_of_ten_seconds() {
        let limits = RuleLimits { cpu: Some(0.01), hits: Some(100), ..RuleLimits::default() };
        let mut meter = CostMeter::default();
        // 10 ms and 100 hits a second are allowed.
        for second in 0..20 {
            meter.add(cost(second, second * 10, second * 100, 0));
            assert_eq!(meter.exceeded(&limits), None, "{second}");
        }
        // One burst of 200 hits more is 120 a second.
        meter.add(cost(20, 200, 2200, 0));
        let exceeded = meter.exceeded(&limits).expect("too many");
        assert_eq!((exceeded.limit, exceeded.cost, exceeded.most), (LimitKind::Hits, 120.0, 100.0));
        // It is forgotten.
        for second in 21..40 {
            meter.add(cost(second, second * 10, 2200, 0));
        }
        assert_eq!(meter.exceeded(&limits), None);
        meter.add(cost(40, 500, 2200, 0));
        assert_eq!(meter.exceeded(&limits).map(|exceeded| exceeded.limit), Some(LimitKind::Cpu));
    }

    #[test]
    fn the_first_seconds_say_nothing_about_rates() {
        let limits = RuleLimits { cpu: Some(0.01), ..RuleLimits::default() };
        let mut meter = CostMeter::default();
        meter.add(cost(0, 0, 0, 0));
        meter.add(cost(3, 900, 0, 0));
        assert_eq!(meter.exceeded(&limits), None);
        meter.add(cost(4, 900, 0, 0));
        assert!(meter.exceeded(&limits).is_some());
    }

    #[test]
    fn bytes_are_those_of_an_hour() {
        let limits = RuleLimits { bytes: Some(1000), ..RuleLimits::default() };
        let mut meter = CostMeter::default();
        for minute in 0..200 {
            meter.add(cost(minute * 60, 0, 0, minute * 16));
            assert_eq!(meter.exceeded(&limits), None, "{minute}");
        }
        meter.add(cost(200 * 60, 0, 0, 199 * 16 + 500));
        assert_eq!(meter.exceeded(&limits).map(|exceeded| exceeded.limit), Some(LimitKind::Bytes));
    }
}
