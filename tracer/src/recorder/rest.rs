//! When nobody has to look for hits.
//!
//! While there are hits, somebody looks for them again and again, and the programs say nothing. When there
//! were none for [`QUIET`], the programs are asked to tell of the next one. A thread may have passed a probe
//! before it could see that, and store its record a moment later. So the looking goes on for [`SETTLE`].

/// How long there must be no hit before the programs are asked, in ns.
pub const QUIET: u64 = 1_000_000_000;

/// How long somebody looks on after that, in ns. Between the look at the generation and the store of the
/// record a thread cannot be interrupted (`rseq(2)`), or it looks at the generation again. Only a machine
/// that stands still takes longer.
pub const SETTLE: u64 = 250_000_000;

/// How often somebody looks all the same, in ns.
pub const LOOK: u64 = 5_000_000_000;

/// Whether somebody has to look for hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest(RestState);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RestState {
    /// Nobody has looked yet.
    #[default]
    New,
    /// There were hits at this time.
    Awake { since: u64 },
    /// The programs were asked at this time.
    Asked { since: u64 },
    /// The programs tell.
    Asleep,
}

impl Rest {
    /// Notes a look at a time, and whether there was anything. Returns whether the programs are to be asked
    /// now; the answer is for [`asked`](Self::asked).
    #[must_use]
    pub fn look(&mut self, now: u64, is_any: bool) -> bool {
        let is_over = |since: u64, time| now.saturating_sub(since) >= time;
        match self.0 {
            _ if is_any => self.0 = RestState::Awake { since: now },
            RestState::New => self.0 = RestState::Awake { since: now },
            RestState::Awake { since } => return is_over(since, QUIET),
            RestState::Asked { since } if is_over(since, SETTLE) => self.0 = RestState::Asleep,
            RestState::Asked { .. } | RestState::Asleep => {}
        }
        false
    }

    /// Notes that the programs were asked at a time, and whether all of them will tell.
    pub fn asked(&mut self, now: u64, is_all: bool) {
        self.0 = if is_all { RestState::Asked { since: now } } else { RestState::Awake { since: now } };
    }

    /// Whether the programs tell of the next hit.
    #[must_use]
    pub fn is_asleep(self) -> bool {
        self.0 == RestState::Asleep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Looks every 50 ms from one time to another, in ms. Returns when the programs were asked, and when
    /// nobody had to look any more.
    fn looks(rest: &mut Rest, from: u64, to: u64, is_all: bool) -> (Vec<u64>, Option<u64>) {
        let (mut asked, mut asleep) = (Vec::new(), None);
        for time in (from..to).step_by(50) {
            if rest.look(time * MS, false) {
                rest.asked(time * MS, is_all);
                asked.push(time);
            }
            asleep = asleep.or(rest.is_asleep().then_some(time));
        }
        (asked, asleep)
    }

    #[test]
    fn programs_are_asked_once_and_looked_at_a_moment_longer() {
        let mut rest = Rest::default();
        assert_eq!(looks(&mut rest, 0, 3000, true), (vec![1000], Some(1250)));
        // Looks at which there is nothing change nothing.
        assert_eq!(looks(&mut rest, 3000, 30_000, true), (vec![], Some(3000)));
        assert!(!rest.look(30_000 * MS, true) && !rest.is_asleep());
        assert_eq!(looks(&mut rest, 30_050, 33_000, true), (vec![31_000], Some(31_250)));
        // The machine started long ago.
        assert_eq!(looks(&mut Rest::default(), 7_000_000, 7_003_000, true), (vec![7_001_000], Some(7_001_250)));
    }

    #[test]
    fn what_comes_between_the_question_and_the_rest_begins_it_anew() {
        for after in [0, 50, 200] {
            let mut rest = Rest::default();
            assert_eq!(looks(&mut rest, 0, 1050 + after, true), (vec![1000], None));
            // A thread that did not see the question yet, so it does not answer the next time either.
            assert!(!rest.look((1050 + after) * MS, true));
            let again = 1050 + after + 1000;
            assert_eq!(looks(&mut rest, 1100 + after, 4000, true), (vec![again], Some(again + 250)), "{after}");
        }
    }

    #[test]
    fn nobody_rests_while_a_program_does_not_tell() {
        let mut rest = Rest::default();
        assert_eq!(looks(&mut rest, 0, 3100, false), (vec![1000, 2000, 3000], None));
        assert_eq!(looks(&mut rest, 3100, 6000, true), (vec![4000], Some(4250)));
    }
}
