//! What the keys of `smark view` are, from what a terminal sends.

use crate::terminal_keys::{TerminalKey, terminal_keys};

/// A key, or a movement of the mouse at a column and a row from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewerKey {
    Character(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Erase,
    /// The next pane.
    Tab,
    Wheel {
        is_up: bool,
        at: (u16, u16),
    },
    Click {
        at: (u16, u16),
    },
    /// To stop, as a shell's job control does.
    Suspend,
}

/// The keys in some bytes. What is unknown is none.
pub(super) fn keys(bytes: &[u8]) -> Vec<ViewerKey> {
    let key = |key| match key {
        TerminalKey::Sequence(sequence) => special(sequence),
        TerminalKey::Escape => Some(ViewerKey::Escape),
        TerminalKey::Character('\r' | '\n') => Some(ViewerKey::Enter),
        TerminalKey::Character('\t') => Some(ViewerKey::Tab),
        TerminalKey::Character('\u{8}' | '\u{7f}') => Some(ViewerKey::Erase),
        TerminalKey::Character('\u{1a}') => Some(ViewerKey::Suspend),
        TerminalKey::Character(control) if control.is_control() => None,
        TerminalKey::Character(character) => Some(ViewerKey::Character(character)),
    };
    terminal_keys(bytes).into_iter().filter_map(key).collect()
}

fn special(sequence: &[u8]) -> Option<ViewerKey> {
    Some(match sequence {
        b"A" => ViewerKey::Up,
        b"B" => ViewerKey::Down,
        b"C" => ViewerKey::Right,
        b"D" => ViewerKey::Left,
        b"5~" => ViewerKey::PageUp,
        b"6~" => ViewerKey::PageDown,
        b"H" | b"1~" => ViewerKey::Home,
        b"F" | b"4~" => ViewerKey::End,
        [b'<', mouse @ .., b'M'] => return of_mouse(mouse),
        _ => return None,
    })
}

/// A button of the mouse that is pressed, with a column and a row from 1 (xterm's "SGR" reports).
fn of_mouse(parameters: &[u8]) -> Option<ViewerKey> {
    let mut numbers = std::str::from_utf8(parameters).ok()?.split(';').map(|number| number.parse::<u16>().ok());
    let (button, column, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let at = (column.checked_sub(1)?, row.checked_sub(1)?);
    match button {
        0 => Some(ViewerKey::Click { at }),
        64 | 65 => Some(ViewerKey::Wheel { is_up: button == 64, at }),
        _ => None,
    }
}

/// What the keys do, for the screen.
pub(super) const HELP: &[&str] = &[
    "up down j k page home end   other hits",
    "left right h l    earlier, later",
    "+ - 0             zoom in, out, show all",
    "tab               next pane: what up and down move",
    "enter             one pane on the whole screen",
    "/ n N             search, next, previous match",
    "f                 filter, as --where; empty: all hits",
    "p                 other hit of the pair",
    "m M               next, previous hit of the marker",
    "t T               next, previous hit of the thread",
    "g                 go to a time: 1.5, 20ms",
    "?                 this text, or no longer",
    "q                 quit",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_keys() {
        let all = b"q\x1b[B\x1b[6~\t\r\x7f\x1b[<64;10;5M\x1b[<0;1;2M\x1b[<0;1;2m\x1b[<0;0;2M\x1b[<9M\x02\x1b";
        let expected = [
            ViewerKey::Character('q'),
            ViewerKey::Down,
            ViewerKey::PageDown,
            ViewerKey::Tab,
            ViewerKey::Enter,
            ViewerKey::Erase,
            ViewerKey::Wheel { is_up: true, at: (9, 4) },
            ViewerKey::Click { at: (0, 1) },
            ViewerKey::Escape,
        ];
        assert_eq!(keys(all), expected);
    }
}
