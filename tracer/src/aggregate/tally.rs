//! The numbers that are kept for each site.

/// A number that is kept for each site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tally {
    /// The hits for which the filter holds.
    Hits,
    /// The hits for which the filter could not be evaluated.
    Unfiltered,
    /// The hits at which the argument that is counted could not be read.
    Unread,
    /// The hits for which a map had no space.
    Full,
    /// The ends without a start, or the starts that were forgotten, because too many waited for an end.
    Unmatched,
    /// The starts that came while another one waited for its end.
    Nested,
}

impl Tally {
    /// How many there are.
    pub const COUNT: u32 = 6;

    /// The offset in the value of `Map::Tallies`.
    #[must_use]
    pub fn offset(self) -> i16 {
        self as i16 * 8
    }
}

/// The tallies of a site, or a sum of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tallies(pub [u64; Tally::COUNT as usize]);

impl Tallies {
    /// One of the tallies.
    #[must_use]
    pub fn get(&self, tally: Tally) -> u64 {
        self.0.get(tally as usize).copied().unwrap_or(0)
    }

    /// The same with one tally only; the others are 0.
    #[must_use]
    pub fn only(&self, tally: Tally) -> Self {
        let mut only = Self::default();
        only.0.iter_mut().zip(self.0).skip(tally as usize).take(1).for_each(|(to, from)| *to = from);
        only
    }

    /// Adds other tallies.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
    }
}
