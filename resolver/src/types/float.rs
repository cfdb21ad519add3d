//! Decodes floating-point numbers (IEEE 754, x86 extended format) and formats them as C's printf
//! does: `%e`, `%f`, `%g`, `%a` (ISO C23 7.23.6.1). `%a` follows glibc where the standard is
//! implementation-defined.

use simple_markers_record::printf::Flags;

use super::decimal::Decimal;

/// A floating-point number of any format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Float {
    pub(super) negative: bool,
    pub(super) class: Class,
}

/// The class of a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// `mantissa` x 2^`exponent`. `fraction` is the number of bits after the first digit that `%a`
    /// writes, a multiple of 4.
    Finite {
        mantissa: u128,
        exponent: i32,
        fraction: u32,
    },
    Infinite,
    NotANumber,
    /// An invalid x86 extended encoding: the integer bit of the mantissa does not match the
    /// exponent.
    Invalid,
}

impl Float {
    /// Decodes a number of the given size in bytes. `None` if no format has that size.
    pub(super) fn from_bits(bits: u128, size: u64, x87: bool) -> Option<Self> {
        match (size, x87) {
            (2, _) => Some(Self::ieee(bits, 5, 10).widened()),
            (4, _) => Some(Self::ieee(bits, 8, 23).widened()),
            (8, _) => Some(Self::ieee(bits, 11, 52)),
            (12 | 16, true) => Some(Self::extended(bits)),
            (16, false) => Some(Self::ieee(bits, 15, 112)),
            _ => None,
        }
    }

    /// A number of 64 bits.
    pub(super) fn double(number: f64) -> Self {
        Self::ieee(number.to_bits().into(), 11, 52)
    }

    /// Decodes a binary interchange format (IEEE 754, 3.4).
    fn ieee(bits: u128, exponent_bits: u32, fraction: u32) -> Self {
        let field = |from: u32, bits_of: u32| (bits >> from) & ((1u128 << bits_of) - 1);
        let (biased, low) = (field(fraction, exponent_bits), field(0, fraction));
        let negative = field(fraction + exponent_bits, 1) == 1;
        let bias = (1i32 << (exponent_bits - 1)) - 1;
        let class = match biased {
            0 => Class::Finite { mantissa: low, exponent: 1 - bias - fraction as i32, fraction },
            _ if biased == (1 << exponent_bits) - 1 && low == 0 => Class::Infinite,
            _ if biased == (1 << exponent_bits) - 1 => Class::NotANumber,
            _ => Class::Finite {
                mantissa: low | (1 << fraction),
                exponent: (biased as i32) - bias - fraction as i32,
                fraction,
            },
        };
        Self { negative, class }
    }

    /// Decodes the x86 extended format, which stores the integer bit explicitly (Intel SDM 1,
    /// 4.2.2).
    fn extended(bits: u128) -> Self {
        let mantissa = bits & u128::from(u64::MAX);
        let biased = ((bits >> 64) & 0x7fff) as i32;
        let negative = (bits >> 79) & 1 == 1;
        let is_normal = mantissa >> 63 == 1;
        let finite = |exponent| Class::Finite { mantissa, exponent, fraction: 60 };
        let class = match biased {
            0 => finite(1 - 16383 - 63),
            _ if !is_normal => Class::Invalid,
            0x7fff if mantissa << 65 == 0 => Class::Infinite,
            0x7fff => Class::NotANumber,
            _ => finite(biased - 16383 - 63),
        };
        Self { negative, class }
    }

    /// Promotes a smaller format to `f64`, as C does for variadic arguments. The output of `%a`
    /// depends on this.
    fn widened(self) -> Self {
        let class = match self.class {
            Class::Finite { mantissa: 0, .. } => Class::Finite { mantissa: 0, exponent: -1074, fraction: 52 },
            Class::Finite { mantissa, exponent, .. } => {
                // Every such number is a normal `f64`.
                let up = mantissa.leading_zeros().saturating_sub(75);
                Class::Finite { mantissa: mantissa << up, exponent: exponent - up as i32, fraction: 52 }
            }
            other => other,
        };
        Self { class, ..self }
    }

    /// The shortest text that reads back as the same number. `None` if the bits are not a number.
    pub(super) fn shortest(self, bits: u128, size: u64) -> Option<String> {
        match (size, self.class) {
            (_, Class::Invalid) => None,
            (4, _) => Some(format!("{:?}", f32::from_bits(bits as u32))),
            (8, _) => Some(format!("{:?}", f64::from_bits(bits as u64))),
            // Enough digits to distinguish any two numbers of the format.
            (2, _) => Some(self.general(5)),
            (12, _) => Some(self.general(21)),
            _ => Some(self.general(if matches!(self.class, Class::Finite { fraction: 60, .. }) { 21 } else { 36 })),
        }
    }

    fn general(self, digits: usize) -> String {
        let (sign, body) = self.printf('g', Flags::default(), Some(digits));
        format!("{sign}{body}")
    }

    /// The sign, including `0x` if it precedes padding zeros, and the remaining text.
    pub(super) fn printf(self, letter: char, flags: Flags, precision: Option<usize>) -> (String, String) {
        let sign = match (self.negative, flags.plus, flags.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        let (mut prefix, mut body) = (sign.to_owned(), String::new());
        match self.class {
            Class::Infinite => body.push_str("inf"),
            // glibc treats invalid encodings as NaN.
            Class::NotANumber | Class::Invalid => body.push_str("nan"),
            Class::Finite { mantissa, exponent, fraction } => match letter.to_ascii_lowercase() {
                'a' => {
                    prefix.push_str("0x");
                    body = hexadecimal(mantissa, exponent, fraction, precision, flags.alternative);
                }
                letter => {
                    let number = Decimal::new(mantissa, exponent);
                    let precision = precision.unwrap_or(6);
                    body = match letter {
                        'f' => point(number.fixed(precision), flags.alternative),
                        'e' => exponential(&number, precision, flags.alternative),
                        _ => general(&number, precision.max(1), flags.alternative),
                    };
                }
            },
        }
        if letter.is_ascii_uppercase() {
            prefix.make_ascii_uppercase();
            body.make_ascii_uppercase();
        }
        (prefix, body)
    }
}

/// The decimal point that `#` requires.
fn point(mut digits: String, alternative: bool) -> String {
    if alternative && !digits.contains('.') {
        digits.push('.');
    }
    digits
}

fn exponential(number: &Decimal, precision: usize, alternative: bool) -> String {
    let (digits, exponent) = number.scientific(precision);
    with_exponent(&point(digits, alternative), exponent)
}

fn with_exponent(digits: &str, exponent: i64) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(number: &Decimal, precision: usize, alternative: bool) -> String {
    let (digits, exponent) = number.scientific(precision.saturating_sub(1));
    let trim = |digits: String| match alternative {
        true => point(digits, true),
        false if digits.contains('.') => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits,
    };
    let precision = i64::try_from(precision).unwrap_or(i64::MAX);
    match (-4..precision).contains(&exponent) {
        true => {
            let places = precision.saturating_sub(1).saturating_sub(exponent);
            trim(number.fixed(usize::try_from(places).unwrap_or(0)))
        }
        false => with_exponent(&trim(digits), exponent),
    }
}

/// The text after `0x`: the first digit, the fraction rounded to `precision` digits, and the power
/// of two.
fn hexadecimal(mantissa: u128, exponent: i32, fraction: u32, precision: Option<usize>, alternative: bool) -> String {
    let mut power = if mantissa == 0 { 0 } else { exponent + fraction as i32 };
    let mut lead = mantissa >> fraction;
    let mut rest = mantissa & ((1u128 << fraction) - 1);
    let mut digits = (fraction / 4) as usize;
    if let Some(precision) = precision.filter(|precision| *precision < digits) {
        let dropped = 4 * (digits - precision) as u32;
        let (kept, low) = (rest >> dropped, rest & ((1u128 << dropped) - 1));
        let half = 1u128 << (dropped - 1);
        let is_odd = if precision == 0 { lead & 1 == 1 } else { kept & 1 == 1 };
        let up = low > half || (low == half && is_odd);
        let kept = kept + u128::from(up);
        let carry = kept >> (4 * precision as u32);
        rest = kept & ((1u128 << (4 * precision as u32)) - 1);
        digits = precision;
        lead += carry;
        if lead > 15 {
            lead >>= 4;
            power += 4;
        }
    }
    let mut text = format!("{lead:x}");
    let mut tail = if digits > 0 { format!("{rest:0digits$x}") } else { String::new() };
    match precision {
        None => tail.truncate(tail.trim_end_matches('0').len()),
        Some(precision) => tail.extend(std::iter::repeat_n('0', precision.saturating_sub(tail.len()))),
    }
    if !tail.is_empty() || alternative {
        text.push('.');
    }
    format!("{text}{tail}p{power:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: f64, letter: char, precision: Option<usize>) -> String {
        let float = Float::from_bits(u128::from(value.to_bits()), 8, true).unwrap();
        let (prefix, body) = float.printf(letter, Flags::default(), precision);
        prefix + &body
    }

    #[test]
    fn written_as_glibc_writes_them() {
        assert_eq!(written(1234.5, 'f', None), "1234.500000");
        assert_eq!(written(2.5, 'f', Some(0)), "2");
        assert_eq!(written(1e23, 'f', Some(0)), "99999999999999991611392");
        assert_eq!(written(-0.0, 'e', None), "-0.000000e+00");
        assert_eq!(written(0.0001, 'g', None), "0.0001");
        assert_eq!(written(0.000_01, 'g', None), "1e-05");
        assert_eq!(written(999_999.5, 'G', None), "1E+06");
        assert_eq!(written(1.0, 'a', None), "0x1p+0");
        assert_eq!(written(-1.5, 'A', Some(0)), "-0X2P+0");
        assert_eq!(written(5e-324, 'a', None), "0x0.0000000000001p-1022");
        assert_eq!(written(f64::INFINITY, 'F', None), "INF");
        assert_eq!(written(-f64::NAN, 'f', None), "-nan");
    }

    #[test]
    fn other_formats() {
        let text = |bits, size, x87| Float::from_bits(bits, size, x87).unwrap().shortest(bits, size);
        assert_eq!(text(0x3c00, 2, true).as_deref(), Some("1"));
        assert_eq!(text(0x3dcc_cccd, 4, true).as_deref(), Some("0.1"));
        assert_eq!(text(0x3fff_8000_0000_0000_0000, 16, true).as_deref(), Some("1"));
        assert_eq!(text(0x3fff_0000_0000_0000_0000, 16, true), None);
        assert_eq!(text(0x3fff << 112, 16, false).as_deref(), Some("1"));
        assert_eq!(Float::from_bits(0, 3, true), None);
        let f32 = Float::from_bits(0x0000_0001, 4, true).unwrap();
        assert_eq!(f32.printf('a', Flags::default(), None), ("0x".to_owned(), "1p-149".to_owned()));
    }
}
