//! Which values a probe hands to the recorder.

/// The most words of a probe.
pub const MAX_WORDS: u32 = 12;

/// In place of the layout of a probe with a handler: this bit, and the index of its descriptor in the
/// image. The handler is word 2 of the descriptor, and the layout is in its last 8 bytes.
pub const HANDLED: u32 = 1 << 31;

/// The bit of a layout with whole values.
const HAS_VALUES: u32 = 1 << 28;

/// The layout of a probe: how many words and arguments it has, and which arguments are texts or whole
/// values.
///
/// | bits | |
/// | --- | --- |
/// | 0 to 7 | number of words |
/// | 8 to 15 | number of arguments |
/// | 16 to 27 | bit n: argument n has two words: it is a text or a [whole value](super::value) |
/// | 28 | some of these are whole values. Readers of earlier versions refuse such a layout |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout(pub u32);

impl Layout {
    /// The layout of arguments, given whether each one has two words; `None` if they have more than
    /// [`MAX_WORDS`] words.
    #[must_use]
    pub const fn new(has_two_words: &[bool]) -> Option<Self> {
        let (mut words, mut texts, mut argument) = (0, 0, 0);
        // An iterator does not work in a constant.
        while argument < has_two_words.len() {
            if words >= MAX_WORDS {
                return None;
            }
            words += 1;
            if has_two_words[argument] {
                words += 1;
                texts |= 1 << argument;
            }
            argument += 1;
        }
        if words > MAX_WORDS { None } else { Some(Self(words | (argument as u32) << 8 | texts << 16)) }
    }

    /// The layout of a probe that has whole values.
    #[must_use]
    pub const fn with_values(self) -> Self {
        Self(self.0 | HAS_VALUES)
    }

    /// Whether some arguments of two words are whole values.
    #[must_use]
    pub const fn has_values(self) -> bool {
        self.0 & HAS_VALUES != 0
    }

    /// The number of words.
    #[must_use]
    pub const fn words(self) -> u32 {
        self.0 & 0xff
    }

    /// The number of arguments.
    #[must_use]
    pub const fn arguments(self) -> u32 {
        self.0 >> 8 & 0xff
    }

    /// Whether argument number `argument` has two words.
    #[must_use]
    pub const fn has_two_words(self, argument: u32) -> bool {
        argument < MAX_WORDS && self.0 >> (16 + argument) & 1 == 1
    }

    /// Whether the parts agree: the words are those of the arguments, at most [`MAX_WORDS`].
    #[must_use]
    pub const fn is_valid(self) -> bool {
        let texts = (self.0 & !HAS_VALUES) >> 16;
        (texts != 0 || self.0 & HAS_VALUES == 0)
            && self.words() <= MAX_WORDS
            && self.arguments() <= MAX_WORDS
            && texts >> self.arguments() == 0
            && self.words() == self.arguments() + texts.count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_has_what_it_was_made_of() {
        let layout = Layout::new(&[false, true, false]).unwrap();
        assert_eq!(layout.0, 0x0002_0304);
        assert_eq!((layout.words(), layout.arguments()), (4, 3));
        assert_eq!([0, 1, 2, 3, 40].map(|argument| layout.has_two_words(argument)), [false, true, false, false, false]);
        assert!(layout.is_valid());
        assert_eq!(Layout::new(&[]), Some(Layout(0)));
        assert_eq!(Layout::new(&[false; 12]), Some(Layout(0x0c0c)));
        assert_eq!(Layout::new(&[true; 6]), Some(Layout(0x3f_060c)));
        assert_eq!(Layout::new(&[false; 13]), None);
        assert_eq!(Layout::new(&[true; 7]), None);
    }

    #[test]
    fn parts_that_disagree_are_not_valid() {
        for layout in [0x0002, 0x0d0d, 0x0001_0101, 0x0002_0102, 0x1000_0c0c, u32::MAX] {
            assert!(!Layout(layout).is_valid(), "{layout:#x}");
        }
        assert!(Layout(0x0001_0102).is_valid() && Layout(0x0001_0102).with_values().is_valid());
        assert!(!Layout(0x0101).with_values().is_valid());
    }
}
