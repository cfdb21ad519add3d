//! A line of bars for the last intervals, one character each.

/// The most intervals that are shown.
pub(crate) const MOST: usize = 30;

/// The bars, from the lowest to the highest. Nothing stands for none.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for each value. `full` is that of the highest bar; what is more than nothing has at least the lowest one.
pub(crate) fn bars(values: impl Iterator<Item = f64>, full: f64) -> String {
    let bar = |value: f64| match (value / full * BARS.len() as f64).ceil() as usize {
        0 => ' ',
        height => BARS.get(height - 1).copied().unwrap_or('█'),
    };
    values.map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_parts_of_the_highest() {
        assert_eq!(bars([0.0, 0.1, 50.0, 51.0, 100.0, 400.0].into_iter(), 100.0), " ▁▄▅██");
        assert_eq!(bars([0.0].into_iter(), 0.0), " ");
    }
}
