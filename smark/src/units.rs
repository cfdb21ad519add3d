//! Numbers with their units, for people.

/// A duration with three digits and its unit.
pub(crate) fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}

/// A time in hundredths of a second: `M:SS.hh`, and `H:MM:SS` from an hour on.
pub(crate) fn clock(ns: u64) -> String {
    let hundredths = ns / 10_000_000;
    let (minutes, seconds) = (hundredths / 6_000, hundredths / 100 % 60);
    match minutes {
        0..60 => format!("{minutes}:{seconds:02}.{:02}", hundredths % 100),
        _ => format!("{}:{:02}:{seconds:02}", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        let expected = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (12_345, "12.3 us"),
            (123_456, "123 us"),
            (9_999_000, "10.0 ms"),
            (2_500_000_000, "2.50 s"),
        ];
        for (ns, text) in expected {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn clocks_have_minutes_or_hours() {
        let second = 1_000_000_000;
        let expected = [
            (0, "0:00.00"),
            (1_239_999_999, "0:01.23"),
            (61 * second, "1:01.00"),
            (3_599 * second, "59:59.00"),
            (3_600 * second, "1:00:00"),
            (100 * 3_600 * second, "100:00:00"),
        ];
        for (ns, text) in expected {
            assert_eq!(clock(ns), text);
        }
    }
}
