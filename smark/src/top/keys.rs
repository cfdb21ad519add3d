//! What the keys of `smark top` mean, from the bytes that a terminal sends.

use super::order::Sort;
use crate::terminal_keys::{TerminalKey, terminal_keys};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    /// To stop, as a shell's job control does.
    Suspend,
    Help,
    Threads,
    /// To end the interval now.
    Refresh,
    /// To ask for the length of the intervals.
    Interval,
    Sort(Sort),
    /// To sort by the next column to the left or to the right.
    Left,
    Right,
    /// To move by so many rows, or pages.
    Rows(i32),
    Pages(i32),
    First,
    Last,
    /// A character of an answer.
    Text(char),
    Erase,
    Enter,
    Escape,
}

/// The keys in some bytes. `is_answer` says that a line is being typed. A sequence of the terminal
/// that is cut or unknown is no key.
pub(super) fn keys(bytes: &[u8], is_answer: bool) -> Vec<Key> {
    let key = |key| match key {
        TerminalKey::Sequence(sequence) => special(sequence),
        TerminalKey::Escape => Some(Key::Escape),
        TerminalKey::Character(character) => plain(u8::try_from(character).ok()?, is_answer),
    };
    terminal_keys(bytes).into_iter().filter_map(key).collect()
}

fn special(sequence: &[u8]) -> Option<Key> {
    Some(match sequence {
        b"A" => Key::Rows(-1),
        b"B" => Key::Rows(1),
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"5~" => Key::Pages(-1),
        b"6~" => Key::Pages(1),
        b"H" | b"1~" => Key::First,
        b"F" | b"4~" => Key::Last,
        _ => return None,
    })
}

fn plain(byte: u8, is_answer: bool) -> Option<Key> {
    Some(match byte {
        3 => Key::Quit,
        0x1a => Key::Suspend,
        b'\r' | b'\n' => Key::Enter,
        8 | 0x7f => Key::Erase,
        b' '..=b'~' if is_answer => Key::Text(byte.into()),
        b'q' | b'Q' => Key::Quit,
        b'h' | b'?' => Key::Help,
        b'H' => Key::Threads,
        b' ' => Key::Refresh,
        b'd' | b's' => Key::Interval,
        b'P' => Key::Sort(Sort::Cpu),
        b'T' => Key::Sort(Sort::Total),
        b'S' => Key::Sort(Sort::Switches),
        b'W' => Key::Sort(Sort::Wait),
        b'N' => Key::Sort(Sort::Pid),
        b'A' => Key::Sort(Sort::Name),
        b'<' => Key::Left,
        b'>' => Key::Right,
        b'k' => Key::Rows(-1),
        b'j' => Key::Rows(1),
        _ => return None,
    })
}

/// What the keys do, for the screen.
pub(super) const HELP: &[&str] = &[
    "  P  sort by CPU time in the interval     T  by CPU time since the start",
    "  S  sort by switches                     W  by the longest wait for a CPU",
    "  N  sort by number                       A  by name",
    "  < >  arrows left and right: sort by the next column",
    "  arrows up and down, page up and down, home, end: move through the rows",
    "",
    "  H  show or hide threads",
    "  d  set the length of the intervals      space  end the interval now",
    "  h  show or hide this text               q  quit",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_keys() {
        let all = b"qT\x1b[A\x1b[6~\x1bOD\x1b[1;5C\x03 \x1bx\x1b";
        let expected = [
            Key::Quit,
            Key::Sort(Sort::Total),
            Key::Rows(-1),
            Key::Pages(1),
            Key::Left,
            Key::Quit,
            Key::Refresh,
            Key::Escape,
        ];
        assert_eq!(keys(all, false), expected);
        assert_eq!(keys(b"0.5\x7fq\r", true)[3..], [Key::Erase, Key::Text('q'), Key::Enter]);
        for end in 0..all.len() {
            assert!(keys(&all[..end], false).len() <= end);
        }
        assert_eq!(keys(b"\x1b[\xff\xc3\xa4", false), []);
    }
}
