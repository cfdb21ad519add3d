//! Counts as a table for people.

use simple_markers_resolver::text::{from_bytes, shown};
use simple_markers_tracer::aggregate::{Amounts, AmountsOf, KeyValue, MarkerCounts, SplitTimes, TimesOf};
use simple_markers_tracer::histogram::{Durations, coarse_range};

use super::answer::{Answer, powers, value_text};
use super::split;
use crate::units::duration;
use simple_markers_tracer::sys::Floor;

impl Answer {
    /// The table. `is_long` says that the parts of intervals have their powers of two.
    pub(crate) fn text(&self, is_long: bool) -> String {
        let mut out = String::new();
        let has_modules =
            self.counts.markers.iter().any(|row| self.counts.markers.first().is_some_and(|it| it.module != row.module));
        let name = |row: &MarkerCounts| match has_modules {
            true => format!("{} ({})", shown(&row.marker), shown(&row.module)),
            false => shown(&row.marker).into_owned(),
        };
        let has_rows = |row: &MarkerCounts| {
            row.values.is_some() || row.buckets.is_some() || row.stacks.is_some() || row.amounts.is_some()
        };
        if !self.counts.markers.iter().any(has_rows) {
            // A glob matches many events of the kernel that do not happen.
            let rows = || self.counts.markers.iter().filter(|row| row.hits > 0 || !row.is_event);
            match &self.rates {
                None => {
                    out.push_str("        HITS MARKER\n");
                    rows().for_each(|row| out.push_str(&format!("{:>12} {}\n", row.hits, name(row))));
                }
                Some(rates) => {
                    out.push_str("        HITS     HITS/S MARKER\n");
                    let width = rows().map(|row| name(row).chars().count()).max().unwrap_or(0);
                    for row in rows() {
                        let (rate, bars) = rates.of(row.group).unwrap_or_default();
                        let line = format!("{:>12} {rate:>10.0} {:width$} {bars}", row.hits, name(row));
                        out.push_str(line.trim_end());
                        out.push('\n');
                    }
                }
            }
        }
        for (number, row) in self.counts.markers.iter().enumerate().filter(|(_, row)| row.hits > 0 || !row.is_event) {
            if let Some((shown, others)) = self.shown_stacks(number) {
                out.push_str(&format!("{}: {} hits\n", name(row), row.hits));
                for stack in shown {
                    let hits = stack.sum;
                    out.push_str(&format!("{hits:>12} {}\n", if hits == 1 { "hit" } else { "hits" }));
                    out.push_str(&stack.text());
                }
                if !others.is_empty() {
                    let hits: u64 = others.iter().map(|stack| stack.sum).sum();
                    out.push_str(&format!("{hits:>12} other ({} stacks)\n", others.len()));
                }
            }
            if let Some(values) = &row.values {
                out.push_str(&format!("{}: {} hits by `{}`\n", name(row), row.hits, shown(&self.argument())));
                for (value, count) in self.shown(values) {
                    out.push_str(&format!("{count:>12} {}\n", shown(&quoted(value))));
                }
                if let Some((different, count)) = self.other(values) {
                    out.push_str(&format!("{count:>12} other ({different} values)\n"));
                }
            }
            if let (Some((all, _)), Some((shown_rows, others))) = (&row.amounts, self.amounts(row)) {
                let by = self.amounts_by();
                let by_text = by.as_ref().map_or_else(String::new, |by| format!(" by `{}`", shown(by)));
                out.push_str(&format!("{}: {} hits, `{}`{by_text}\n", name(row), row.hits, shown(&self.argument())));
                amounts(all.as_ref(), by.as_deref(), &shown_rows, &others, &mut out);
            }
            if let Some(buckets) = &row.buckets {
                out.push_str(&format!("{}: {} hits, `{}`\n", name(row), row.hits, shown(&self.argument())));
                let ranges = buckets.iter().map(|(bucket, count)| {
                    let (low, high) = coarse_range(*bucket);
                    let low_is_high = low == high;
                    let name = row
                        .names
                        .as_ref()
                        .filter(|names| low_is_high && !names.is_flags)
                        .and_then(|names| names.name(low, 8));
                    let low = name.unwrap_or_else(|| low.to_string());
                    let high = if low_is_high { low.clone() } else { high.to_string() };
                    (low, high, *count)
                });
                bars(&ranges.collect::<Vec<_>>(), &mut out);
            }
        }
        if let Some((interval, durations)) = self.intervals() {
            out.push_str(&format!("\n{}: {} times\n", shown(&interval), durations.count()));
            for (function, count) in &self.counts.tail_calls {
                let function = function.as_deref().map_or_else(|| "an unknown function".into(), shown);
                out.push_str(&format!("of these {count} ended in a tail call of {function}\n"));
            }
            if durations.count() > 0 {
                if let Some(split) = &self.counts.split {
                    parts(durations, split, is_long, &mut out);
                } else {
                    let of = |percent| duration(durations.percentile(percent).unwrap_or(0));
                    out.push_str(&format!("{:>9} {:>9} {:>9} {:>9} {:>9}\n", "MIN", "P50", "P90", "P99", "MAX"));
                    let (min, max) = (duration(durations.min), duration(durations.max));
                    out.push_str(&format!("{min:>9} {:>9} {:>9} {:>9} {max:>9}\n", of(50), of(90), of(99)));
                    duration_bars(durations, &mut out);
                }
                if let Some(heat) = &self.heat {
                    heat.write(&mut out);
                }
                match self.floor {
                    Some(Some(Floor { emulated, stepped })) => out.push_str(&format!(
                        "floor: {}, or {} where the kernel steps an instruction\n",
                        duration(emulated),
                        duration(stepped)
                    )),
                    Some(None) => out.push_str("floor: not measured\n"),
                    None => {}
                }
            }
            for TimesOf { value, durations, split } in self.times().map_or(&[][..], |(times, _)| times) {
                let of = |percent| duration(durations.percentile(percent).unwrap_or(0));
                let value = quoted(value);
                out.push_str(&format!(
                    "\n{} = {}: {} times",
                    shown(&self.argument()),
                    shown(&value),
                    durations.count()
                ));
                if let Some(split) = split {
                    out.push('\n');
                    parts(durations, split, is_long, &mut out);
                    continue;
                }
                out.push_str(&format!(", P50 {}, P90 {}, P99 {}\n", of(50), of(90), of(99)));
                duration_bars(durations, &mut out);
            }
            if let Some((_, others)) = self.times().filter(|(_, others)| !others.is_empty()) {
                let count: u64 = others.iter().map(|it| it.durations.count()).sum();
                out.push_str(&format!("\nother: {count} times ({} values)\n", others.len()));
            }
            self.interval_stacks.iter().for_each(|sums| sums.table(self.most_stacks(), &mut out));
        }
        out
    }
}

/// Appends the sums of amounts and their distribution: those of all values, of the shown ones, and how much the others
/// have.
fn amounts(all: Option<&Amounts>, by: Option<&str>, rows: &[&AmountsOf], others: &[&AmountsOf], out: &mut String) {
    let line = |amounts: &Amounts, value: &str| {
        let (smallest, largest) = amounts.range();
        let of = |percent| amounts.percentile(percent).to_string();
        let average = format!("{:.2}", amounts.average());
        let numbers = [amounts.sum().to_string(), average, smallest.to_string(), of(50), of(90), of(99)];
        let mut cells = vec![amounts.count().to_string()];
        cells.extend(numbers);
        cells.extend([largest.to_string(), value.to_owned()]);
        cells
    };
    let title = ["HITS", "SUM", "AVG", "MIN", "P50", "P90", "P99", "MAX", by.unwrap_or_default()].map(str::to_owned);
    let mut lines = vec![title.to_vec()];
    lines.extend(rows.iter().map(|row| line(&row.amounts, &shown(&quoted(&row.value)))));
    let mut rest = others.iter().map(|row| row.amounts.clone());
    if let Some(mut sum) = rest.next() {
        rest.for_each(|more| sum.add(&more));
        lines.push(line(&sum, &format!("other ({} values)", others.len())));
    }
    lines.extend(all.map(|all| line(all, by.map_or("", |_| "all"))));
    let mut widths = [12, 0, 0, 0, 0, 0, 0, 0];
    for line in &lines {
        widths.iter_mut().zip(line).for_each(|(width, cell)| *width = (*width).max(cell.len()));
    }
    for line in lines {
        let numbers: Vec<_> = line.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let value = line.get(widths.len()).map_or("", String::as_str);
        out.push_str(format!("{} {value}", numbers.join(" ")).trim_end());
        out.push('\n');
    }
}

/// A value as the table has it.
fn quoted(value: &KeyValue) -> String {
    match value {
        KeyValue::Several(values) => values.iter().map(quoted).collect::<Vec<_>>().join(", "),
        KeyValue::Text { bytes, is_cut } => format!("\"{}\"{}", from_bytes(bytes), if *is_cut { ".." } else { "" }),
        value => value_text(value),
    }
}

/// Appends a table and the bars of the whole intervals, and of their parts.
fn parts(wall: &Durations, split: &SplitTimes, is_long: bool, out: &mut String) {
    split::table(wall, split, out);
    if is_long {
        out.push_str("wall\n");
    }
    duration_bars(wall, out);
    for (part, name) in split::named_parts(split.subject).into_iter().filter(|_| is_long) {
        out.push_str(&format!("{name}\n"));
        duration_bars(&split.get(part).durations, out);
    }
}

/// Appends a bar for the durations of each power of two.
fn duration_bars(durations: &Durations, out: &mut String) {
    let powers = powers(durations)
        .into_iter()
        .map(|(low, high, count)| (duration(low), duration(high.saturating_add(1)), count));
    bars(&powers.collect::<Vec<_>>(), out);
}

/// The width of the longest bar.
const BAR: u64 = 40;

/// Appends a bar for each range.
fn bars(ranges: &[(String, String, u64)], out: &mut String) {
    let most = ranges.iter().map(|(.., count)| *count).max().unwrap_or(0).max(1);
    let width = |of: fn(&(String, String, u64)) -> usize| ranges.iter().map(of).max().unwrap_or(0);
    let (low_width, high_width) = (width(|it| it.0.len()), width(|it| it.1.len()));
    for (low, high, count) in ranges {
        let length = (u128::from(*count) * u128::from(BAR)).div_ceil(u128::from(most)) as usize;
        let bar = "#".repeat(length);
        let range = match low == high {
            true => format!("{low:>low_width$}    {:high_width$}", ""),
            false => format!("{low:>low_width$} .. {high:<high_width$}"),
        };
        out.push_str(&format!("{count:>12} {range} {bar}\n"));
    }
}
