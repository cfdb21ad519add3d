//! Which sequence numbers of a sender arrived.

use crate::datagram::Refusal;

/// How far back of the newest datagram one is told from its repetition, in words of 64 datagrams.
const WORDS: usize = 32;

/// The same in datagrams.
pub(super) const WINDOW: u64 = WORDS as u64 * 64;

/// How far a sequence number may be ahead of the newest one. A machine that sends 4,096 datagrams
/// in a second needs a week for it.
const AHEAD: u64 = 1 << 32;

/// The sequence numbers that arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// The smallest and the largest one.
    range: Option<(u64, u64)>,
    received: u64,
    repeated: u64,
    /// A bit for each of the [`WINDOW`] numbers up to the largest one: at its remainder.
    window: [u64; WORDS],
}

impl Sequence {
    /// Notes a number. Returns whether it is new. A number before the window is not.
    ///
    /// # Errors
    ///
    /// It is too far ahead.
    pub(super) fn add(&mut self, number: u64) -> Result<bool, Refusal> {
        let (first, last) = self.range.unwrap_or((number, number));
        if number > last.saturating_add(AHEAD) {
            return Err(Refusal::Contradiction);
        }
        if last.saturating_sub(number) >= WINDOW || self.has(number) {
            self.repeated += 1;
            return Ok(false);
        }
        if number > last {
            // The places of the numbers between have those of a window before.
            let between = (last + 1..number).rev().take(WINDOW as usize);
            between.for_each(|skipped| self.set(skipped, false));
        }
        self.set(number, true);
        self.range = Some((first.min(number), last.max(number)));
        self.received += 1;
        Ok(true)
    }

    /// Whether a number in the window arrived.
    pub(super) fn has(&self, number: u64) -> bool {
        let in_window = self.range.is_some_and(|(_, last)| number <= last && last - number < WINDOW);
        let (word, bit) = place(number);
        in_window && self.window.get(word).is_some_and(|word| word & bit != 0)
    }

    fn set(&mut self, number: u64, is_there: bool) {
        let (word, bit) = place(number);
        if let Some(word) = self.window.get_mut(word) {
            *word = if is_there { *word | bit } else { *word & !bit };
        }
    }

    /// How many different numbers arrived.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// How many numbers between the smallest and the largest one did not.
    pub(super) fn lost(&self) -> u64 {
        self.range.map_or(0, |(first, last)| last - first + 1 - self.received)
    }

    /// The smallest number.
    pub(super) fn first(&self) -> u64 {
        self.range.map_or(0, |(first, _)| first)
    }

    /// How many numbers arrived again, or before the window.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }
}

fn place(number: u64) -> (usize, u64) {
    ((number % WINDOW / 64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(numbers: impl IntoIterator<Item = u64>) -> Sequence {
        let mut sequence = Sequence::default();
        for number in numbers {
            sequence.add(number).expect("not too far ahead");
        }
        sequence
    }

    #[test]
    fn gaps_are_losses_and_reordering_is_none() {
        let sequence = noted([3, 5, 4, 9, 5]);
        let (received, lost, repeated) = (sequence.received(), sequence.lost(), sequence.repeated());
        assert_eq!((sequence.first(), received, lost, repeated), (3, 4, 3, 1));
        // The first number that arrives need not be the first that was sent.
        let sequence = noted([5, 0, 1, 6]);
        assert_eq!((sequence.first(), sequence.received(), sequence.lost()), (0, 4, 3));
    }

    #[test]
    fn the_window_moves_with_the_newest_number() {
        for jump in [1, 63, 64, 65, WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW + 7, AHEAD] {
            let mut sequence = noted(0..WINDOW);
            let newest = WINDOW - 1 + jump;
            assert_eq!(sequence.add(newest), Ok(true));
            assert_eq!((sequence.received(), sequence.lost()), (WINDOW + 1, jump - 1));
            // What was skipped can still arrive, but only once, and only in the window.
            let oldest = (newest + 1 - WINDOW).max(WINDOW);
            let late: Vec<u64> = (oldest..newest).collect();
            for number in late.iter().chain(&late) {
                assert!(sequence.add(*number).is_ok());
            }
            let late = late.len() as u64;
            assert_eq!((sequence.received(), sequence.repeated()), (WINDOW + 1 + late, late), "{jump}");
            assert_eq!(sequence.lost(), jump - 1 - late);
            assert_eq!(sequence.add(0), Ok(false));
        }
    }

    #[test]
    fn absurd_jumps_are_refused() {
        let mut sequence = noted([7]);
        assert_eq!(sequence.add(8 + AHEAD), Err(Refusal::Contradiction));
        assert_eq!(sequence.add(u64::MAX), Err(Refusal::Contradiction));
        assert_eq!((sequence.received(), sequence.lost()), (1, 0));
        let mut sequence = noted([u64::MAX - 1, u64::MAX]);
        assert_eq!(sequence.add(0), Ok(false));
        assert_eq!((sequence.received(), sequence.lost()), (2, 0));
    }

    #[test]
    fn random_orders_are_counted_as_a_set_would() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..50 {
            let (mut sequence, mut known) = (Sequence::default(), std::collections::BTreeSet::new());
            let mut repeated = 0;
            for step in 0..2000 {
                // Reordered by less than the window.
                let number = 10_000 + step * 3 + random(WINDOW / 2);
                let is_new = known.insert(number);
                repeated += u64::from(!is_new);
                assert_eq!(sequence.add(number), Ok(is_new));
            }
            let (first, last) = (known.first().copied().unwrap_or(0), known.last().copied().unwrap_or(0));
            let received = known.len() as u64;
            assert_eq!((sequence.first(), sequence.received(), sequence.repeated()), (first, received, repeated));
            assert_eq!(sequence.lost(), last - first + 1 - received);
        }
    }
}
