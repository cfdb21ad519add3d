//! Numbers and texts in a field of a width.

use super::integer::Integer;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) left: bool,
    pub(super) plus: bool,
    pub(super) space: bool,
    pub(super) special: bool,
    pub(super) zero: bool,
}

/// How a value is laid out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    pub(super) flags: Flags,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

/// The widest field. The kernel allows more, but its buffer for a line has 8 KiB.
pub(super) const WIDEST: usize = 8192;

impl Layout {
    /// The width of an argument: a negative one means to pad on the right.
    pub(super) fn set_width(&mut self, width: i32) {
        self.flags.left |= width < 0;
        self.width = Some(width.unsigned_abs() as usize).map(|width| width.min(WIDEST));
    }

    pub(super) fn set_precision(&mut self, precision: i32) {
        self.precision = Some(usize::try_from(precision).unwrap_or(0).min(WIDEST));
    }
}

/// Writes a number. `bits` are those of the argument as it was passed.
pub(super) fn write_number(bits: u64, of: Integer, base: u64, is_large: bool, layout: Layout, out: &mut String) {
    let value = of.wrap(bits);
    let is_negative = of.is_signed && (value as i64) < 0;
    let mut value = if is_negative { value.wrapping_neg() } else { value };
    let is_zero = value == 0;
    let mut digits = [0u8; 24];
    let mut count = 0;
    let letters: &[u8; 16] = if is_large { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    loop {
        let digit = letters.get((value % base) as usize).copied().unwrap_or(b'0');
        if let Some(place) = digits.get_mut(count) {
            *place = digit;
            count += 1;
        }
        value /= base;
        if value == 0 {
            break;
        }
    }
    let Flags { left, plus, space, special, zero } = layout.flags;
    let sign = match () {
        () if is_negative => "-",
        () if of.is_signed && plus => "+",
        () if of.is_signed && space => " ",
        () => "",
    };
    let prefix = match base {
        16 if special && is_large => "0X",
        16 if special => "0x",
        8 if special && !is_zero => "0",
        _ => "",
    };
    let zeros = layout.precision.unwrap_or(0).saturating_sub(count);
    let used = sign.len() + prefix.len() + zeros + count;
    let padding = layout.width.unwrap_or(0).saturating_sub(used);
    let (before, between, after) = match (left, zero) {
        (true, _) => (0, 0, padding),
        (false, true) => (0, padding, 0),
        (false, false) => (padding, 0, 0),
    };
    repeat(' ', before, out);
    out.push_str(sign);
    out.push_str(prefix);
    repeat('0', between + zeros, out);
    out.extend(digits.iter().take(count).rev().map(|digit| char::from(*digit)));
    repeat(' ', after, out);
}

/// Cuts and pads the text behind `start`.
pub(super) fn lay_out(start: usize, layout: Layout, out: &mut String) {
    if let Some(precision) = layout.precision {
        let end = start.saturating_add(precision).min(out.len());
        out.truncate((0..=end).rev().find(|end| out.is_char_boundary(*end)).unwrap_or(start));
    }
    let padding = layout.width.unwrap_or(0).saturating_sub(out.len().saturating_sub(start));
    if padding == 0 {
        return;
    }
    if layout.flags.left {
        repeat(' ', padding, out);
    } else {
        out.insert_str(start, &" ".repeat(padding));
    }
}

fn repeat(character: char, count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(character, count));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_padded() {
        let laid = |layout: Layout| {
            let mut out = "before:é-text".to_owned();
            lay_out(7, layout, &mut out);
            out
        };
        let layout = Layout::default();
        assert_eq!(laid(Layout { width: Some(9), ..layout }), "before:  é-text");
        let left = Flags { left: true, ..Flags::default() };
        assert_eq!(laid(Layout { flags: left, width: Some(8), ..layout }), "before:é-text ");
        assert_eq!(laid(Layout { precision: Some(1), ..layout }), "before:");
        assert_eq!(laid(Layout { precision: Some(3), width: Some(4), ..layout }), "before: é-");
    }
}
