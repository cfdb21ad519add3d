//! What ratatui draws, as sequences of a terminal (ECMA-48).

use std::io::{self, Write as _};

use ratatui::backend::{Backend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};

use crate::terminal::Terminal;

/// Collects the sequences until they are written to stdout.
#[derive(Debug, Default)]
pub(super) struct SequenceBackend {
    bytes: Vec<u8>,
}

impl Backend for SequenceBackend {
    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let (mut next, mut style) = (None, None);
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                self.set_cursor_position((x, y))?;
            }
            if style != Some((cell.fg, cell.modifier)) {
                style = Some((cell.fg, cell.modifier));
                self.bytes.extend_from_slice(sequence(cell.fg, cell.modifier).as_bytes());
            }
            self.bytes.extend_from_slice(cell.symbol().as_bytes());
            // Of a wide character it is not known what the terminal does.
            next = cell.symbol().is_ascii().then(|| (x.saturating_add(1), y));
        }
        self.bytes.extend_from_slice(b"\x1b[0m");
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.bytes.extend_from_slice(b"\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.bytes.extend_from_slice(b"\x1b[?25h");
        Ok(())
    }

    /// Nothing that is drawn needs it.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        write!(self.bytes, "\x1b[{};{}H", u32::from(y) + 1, u32::from(x) + 1)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.bytes.extend_from_slice(b"\x1b[0m\x1b[2J");
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        let (width, height) = Terminal::size();
        let short = |size| u16::try_from(size).unwrap_or(u16::MAX);
        Ok(Size::new(short(width), short(height)))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        out.flush()
    }
}

/// Select Graphic Rendition: the colour of the text, and how it is shown.
fn sequence(colour: Color, modifier: Modifier) -> String {
    let colour = match colour {
        Color::Red => Some(31),
        Color::Green => Some(32),
        Color::Yellow => Some(33),
        Color::Blue => Some(34),
        Color::Magenta => Some(35),
        Color::Cyan => Some(36),
        _ => None,
    };
    let modifiers = [(Modifier::BOLD, 1), (Modifier::DIM, 2), (Modifier::UNDERLINED, 4), (Modifier::REVERSED, 7)];
    let modifiers = modifiers.into_iter().filter(|(of, _)| modifier.contains(*of)).map(|(_, number)| number);
    let mut sequence = "\x1b[0".to_owned();
    modifiers.chain(colour).for_each(|number: u8| sequence.push_str(&format!(";{number}")));
    sequence.push('m');
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_sequences() {
        let mut backend = SequenceBackend::default();
        let mut bold = Cell::new("b");
        bold.modifier = Modifier::BOLD;
        bold.fg = Color::Red;
        let (plain, wide) = (Cell::new("a"), Cell::new("─"));
        let cells = [(0, 0, &plain), (1, 0, &bold), (2, 0, &wide), (3, 0, &plain), (0, 4, &plain)];
        backend.draw(cells.into_iter()).expect("memory");
        let expected = "\x1b[1;1H\x1b[0ma\x1b[0;1;31mb\x1b[0m─\x1b[1;4Ha\x1b[5;1Ha\x1b[0m";
        assert_eq!(String::from_utf8_lossy(&backend.bytes), expected);
    }
}
