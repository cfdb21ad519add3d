//! Reproducible pseudorandom numbers: SplitMix64 (Steele, Lea, Flood 2014).

/// A sequence of choices.
pub struct Choices(u64);

impl Choices {
    /// The same seed gives the same sequence.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below<N>(&mut self, bound: N) -> N
    where
        N: TryFrom<u64>,
        u64: TryFrom<N>,
    {
        let number = u64::try_from(bound).ok().and_then(|bound| self.number().checked_rem(bound));
        number.and_then(|number| N::try_from(number).ok()).expect("a bound above 0")
    }

    /// True with a probability of `percent` in a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// One of several items. The slice must not be empty.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}
