//! Converts binary fractions to exact decimal digits and rounds them as C's printf does: the exact
//! value is rounded to nearest, ties to even.
//!
//! The result is exact for every format up to `long double`, whose smallest numbers have 16,445
//! digits. The standard library supports only `f64`.

/// The exact decimal digits of a non-negative number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    /// Digits, 0 to 9. The first digit is not 0. Empty for the number 0.
    digits: Vec<u8>,
    /// Number of digits before the decimal point. Zero or negative for numbers below 1.
    point: i64,
}

/// Number of decimal digits per limb.
const LIMB: u64 = 1_000_000_000;

impl Decimal {
    /// Converts `mantissa` x 2^`exponent`. The exponent is clamped to ±17000, which covers every
    /// floating-point format.
    pub(super) fn new(mantissa: u128, exponent: i32) -> Self {
        let exponent = exponent.clamp(-17_000, 17_000);
        // Remove factors of two to shorten the loop below.
        let shift = mantissa.trailing_zeros().min(exponent.min(0).unsigned_abs());
        let mantissa = mantissa.checked_shr(shift).unwrap_or(0);
        let exponent = exponent.saturating_add_unsigned(shift);
        let mut limbs = Vec::new();
        let mut rest = mantissa;
        while rest > 0 {
            limbs.push((rest % u128::from(LIMB)) as u32);
            rest /= u128::from(LIMB);
        }
        // m / 2^k equals m * 5^k / 10^k.
        let (base, step, most) = if exponent >= 0 { (2u32, 28, 1u32 << 28) } else { (5, 12, 244_140_625) };
        let mut left = exponent.unsigned_abs();
        while left > 0 && !limbs.is_empty() {
            match left.checked_sub(step) {
                Some(rest) => {
                    multiply(&mut limbs, most);
                    left = rest;
                }
                None => {
                    multiply(&mut limbs, base.saturating_pow(left));
                    left = 0;
                }
            }
        }
        let mut digits: Vec<u8> = Vec::with_capacity(limbs.len().saturating_mul(9));
        for limb in limbs.iter().rev() {
            digits.extend(format!("{limb:09}").bytes().map(|digit| digit - b'0'));
        }
        let zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..zeros);
        let scale = if exponent < 0 { i64::from(exponent.unsigned_abs()) } else { 0 };
        let point = i64::try_from(digits.len()).unwrap_or(i64::MAX).saturating_sub(scale);
        Self { digits, point }
    }

    /// Formats the number, rounded to `places` digits after the decimal point.
    pub(super) fn fixed(&self, places: usize) -> String {
        let rounded = self.rounded(self.point.saturating_add(i64::try_from(places).unwrap_or(i64::MAX)));
        let mut text = String::new();
        match usize::try_from(rounded.point) {
            Ok(before) if before > 0 && !rounded.digits.is_empty() => {
                (0..before).for_each(|at| text.push(rounded.digit(at)));
            }
            _ => text.push('0'),
        }
        if places > 0 {
            text.push('.');
            let places = i64::try_from(places).unwrap_or(i64::MAX);
            text.extend((0..places).map(|place| match usize::try_from(rounded.point.saturating_add(place)) {
                Ok(at) => rounded.digit(at),
                Err(_) => '0',
            }));
        }
        text
    }

    /// Formats the number, rounded to one digit before the decimal point and `places` digits after
    /// it. Also returns the decimal exponent.
    pub(super) fn scientific(&self, places: usize) -> (String, i64) {
        let rounded = self.rounded(i64::try_from(places).unwrap_or(i64::MAX).saturating_add(1));
        let exponent = if rounded.digits.is_empty() { 0 } else { rounded.point.saturating_sub(1) };
        let mut text = String::from(rounded.digit(0));
        if places > 0 {
            text.push('.');
            text.extend((1..=places).map(|at| rounded.digit(at)));
        }
        (text, exponent)
    }

    fn digit(&self, at: usize) -> char {
        char::from(b'0' + self.digits.get(at).copied().unwrap_or(0))
    }

    /// Rounds to a number of digits.
    fn rounded(&self, keep: i64) -> Self {
        let keep = match usize::try_from(keep) {
            Ok(keep) if keep >= self.digits.len() => return self.clone(),
            Ok(keep) => keep,
            Err(_) => return Self { digits: Vec::new(), point: 0 },
        };
        let (kept, rest) = self.digits.split_at(keep);
        let mut digits = kept.to_vec();
        let is_odd = digits.last().is_some_and(|digit| digit % 2 == 1);
        let up = match rest.split_first() {
            Some((5, rest)) => is_odd || rest.iter().any(|digit| *digit != 0),
            Some((first, _)) => *first > 5,
            None => false,
        };
        let mut point = self.point;
        if up {
            while digits.last() == Some(&9) {
                digits.pop();
            }
            match digits.last_mut() {
                Some(last) => *last += 1,
                None => {
                    digits.push(1);
                    point = point.saturating_add(1);
                }
            }
        }
        if digits.iter().all(|digit| *digit == 0) {
            digits.clear();
        }
        Self { digits, point }
    }
}

fn multiply(limbs: &mut Vec<u32>, by: u32) {
    let mut carry = 0u64;
    for limb in limbs.iter_mut() {
        let product = u64::from(*limb).wrapping_mul(u64::from(by)).wrapping_add(carry);
        *limb = (product % LIMB) as u32;
        carry = product / LIMB;
    }
    while carry > 0 {
        limbs.push((carry % LIMB) as u32);
        carry /= LIMB;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_exact_and_ties_go_to_even() {
        // 0.1 as `f64`: 0x1999999999999a x 2^-56.
        let tenth = Decimal::new(0x0019_9999_9999_999a, -56);
        assert_eq!(tenth.fixed(55), "0.1000000000000000055511151231257827021181583404541015625");
        assert_eq!(tenth.fixed(1), "0.1");
        assert_eq!(tenth.scientific(20), ("1.00000000000000005551".to_owned(), -1));
        for (halves, text) in [(1, "0"), (3, "2"), (5, "2"), (7, "4"), (19, "10"), (199, "100")] {
            assert_eq!(Decimal::new(halves, -1).fixed(0), text, "{halves} / 2");
        }
        assert_eq!(Decimal::new(0, 0).fixed(2), "0.00");
        assert_eq!(Decimal::new(0, 5).scientific(1), ("0.0".to_owned(), 0));
        assert_eq!(Decimal::new(1, 70).fixed(0), "1180591620717411303424");
        assert_eq!(Decimal::new(999_999, 0).scientific(2), ("1.00".to_owned(), 6));
        assert_eq!(Decimal::new(1, -16_445).scientific(3), ("3.645".to_owned(), -4951));
    }
}
