//! Durations and sizes with their units, as all commands take them.

use std::time::Duration;

/// The shortest duration that is taken.
const SHORTEST: Duration = Duration::from_millis(10);

/// A duration with a unit: `100ms`, `10s`, `5min`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "a duration has a unit, as in 100ms, 10s and 5min, and is at least 10ms".to_owned();
    humantime::parse_duration(text).ok().filter(|duration| *duration >= SHORTEST).ok_or_else(expected)
}

/// A time with a unit, of any length.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "a time has a unit, as in 500us, 10ms and 2s".to_owned())
}

/// A size in bytes: a number, with K, M and G for 2^10, 2^20 and 2^30.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (text.get(..at), 10),
        Some((at, 'm' | 'M')) => (text.get(..at), 20),
        Some((at, 'g' | 'G')) => (text.get(..at), 30),
        _ => (Some(text), 0),
    };
    let number: Option<u64> = digits.and_then(|digits| digits.parse().ok());
    let number = number.ok_or_else(|| "a size is a number, or a number and K, M or G, as in 8M".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "it has more than 2^64 bytes".to_owned())
}

/// The least size of a file of a table: that of a row group and its end.
const LEAST_TABLE_FILE: u64 = 1 << 20;

/// The size of a file of a table.
pub(crate) fn table_file(text: &str) -> Result<u64, String> {
    match size(text)? {
        size if size >= LEAST_TABLE_FILE => Ok(size),
        _ => Err(format!("at least {LEAST_TABLE_FILE} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("100ms"), Ok(Duration::from_millis(100)));
        assert_eq!(duration("1min 30s"), Ok(Duration::from_secs(90)));
        for wrong in ["", "1", "0.1", "9ms", "-1s", "1 parsec", "99999999999999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_may_be_short() {
        assert_eq!(time("250us"), Ok(Duration::from_micros(250)));
        assert!(time("250").is_err());
    }

    #[test]
    fn sizes_have_units_of_1024() {
        assert_eq!(["512", "4K", "8m", "1G"].map(size), [Ok(512), Ok(4 << 10), Ok(8 << 20), Ok(1 << 30)]);
        for wrong in ["", "K", "1T", "-1", "1.5M", "64 M", "99999999999G", "ä"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
