//! What a terminal sends: characters and sequences of bytes.

/// A key or a movement of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalKey<'a> {
    /// A character, which may be one of control. What is not UTF-8 is none.
    Character(char),
    /// A sequence behind `ESC [` or `ESC O`: parameters, and one letter that ends it (ECMA-48, 5.4). One that is cut
    /// has no such letter.
    Sequence(&'a [u8]),
    Escape,
}

/// What is in some bytes. A character with the Alt key is nothing.
pub(crate) fn terminal_keys(bytes: &[u8]) -> Vec<TerminalKey<'_>> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let [first, more @ ..] = rest {
        rest = more;
        match (*first, more) {
            (0x1b, [b'[' | b'O', sequence @ ..]) => {
                let end = sequence.iter().position(|byte| (0x40..0x7f).contains(byte));
                let (sequence, after) = sequence.split_at(end.map_or(sequence.len(), |end| end + 1));
                rest = after;
                keys.push(TerminalKey::Sequence(sequence));
            }
            (0x1b, []) => keys.push(TerminalKey::Escape),
            (0x1b, [_, after @ ..]) => rest = after,
            (first, _) => {
                // The length that the first byte says (RFC 3629, 3).
                let length = match first {
                    0xc2..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf4 => 4,
                    _ => 1,
                };
                let all = bytes.get(bytes.len() - more.len() - 1..).unwrap_or_default();
                let character = all.get(..length).and_then(|all| std::str::from_utf8(all).ok()?.chars().next());
                if let Some(character) = character {
                    rest = all.get(length..).unwrap_or_default();
                    keys.push(TerminalKey::Character(character));
                }
            }
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::TerminalKey::{Character, Escape, Sequence};
    use super::*;

    #[test]
    fn bytes_are_characters_and_sequences() {
        let all = "q\u{e4}\u{1b}[A\u{1b}[<64;10;5M\u{1b}OD\u{3}\u{1b}x\u{1b}".as_bytes();
        let expected = [
            Character('q'),
            Character('\u{e4}'),
            Sequence(b"A"),
            Sequence(b"<64;10;5M"),
            Sequence(b"D"),
            Character('\u{3}'),
            Escape,
        ];
        assert_eq!(terminal_keys(all), expected);
        assert_eq!(terminal_keys(b"\xff\xe2\x82a\xf0"), [Character('a')]);
        for end in 0..all.len() {
            assert!(terminal_keys(&all[..end]).len() <= end);
        }
    }
}
