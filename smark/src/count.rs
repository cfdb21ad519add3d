//! `smark count`: counts the hits of markers in the kernel.

use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value as Json, json};
use simple_markers_resolver::text::{from_bytes, shown};
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::{Aggregate, KeyValue, Question, Tallies, Tally, bucket_of, group_of};
use simple_markers_tracer::histogram::{Durations, coarse, coarse_range, fine_range};
use simple_markers_tracer::sys::{self, Mode, Session};
use simple_markers_tracer::text::json_integer;

use crate::Console;
use crate::watch::{STATUS, Watch};

/// Count the hits of markers, in the kernel
///
/// The operands and the choice are those of `smark trace`. The counts are exact: no buffer is between the program and the counter.
/// The table is printed at the end; on a terminal it is also refreshed each second.
///
/// --by counts the values of an argument, --hist counts them by powers of two. --time A..B measures the time from marker A to the
/// next marker B in the same thread, or with --key, to the next B where the argument has the same value, in any thread of the
/// process. With --time, --where chooses the hits of A. What could not be counted is said at the end.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark count [OPTIONS] [PATTERN]... <FILE>...\n       smark count [OPTIONS] [PATTERN]... -p <PID>\n       smark count [OPTIONS] [PATTERN]... [FILE]... -- <COMMAND>...",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}")
)]
pub(crate) struct Count {
    #[command(flatten)]
    watch: Watch,
    /// Count how often this argument has each value
    #[arg(long, value_name = "ARG", conflicts_with_all = ["hist", "time"])]
    by: Option<String>,
    /// With --by, show this many values, the most frequent first
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Count the values of this argument by powers of two
    #[arg(long, value_name = "ARG", conflicts_with = "time")]
    hist: Option<String>,
    /// Measure the time from marker A to marker B
    #[arg(long, value_name = "A..B", value_parser = interval)]
    time: Option<(String, String)>,
    /// With --time, this argument tells which A a B belongs to; otherwise it is the thread
    #[arg(long, value_name = "ARG", requires = "time")]
    key: Option<String>,
    /// The most different values, and the most open intervals, that are kept
    #[arg(long, value_name = "N", default_value_t = 65536, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    max_values: u32,
    /// Print the table every so many seconds [default: 1 on a terminal, otherwise only at the end]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    every: Option<Duration>,
    /// Print a line of JSON for each marker
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
EXAMPLES
  How often each marker of a program is passed:
      smark count -- target/release/server --port 8080
  The most frequent values of an argument:
      smark count --by status queue:complete -p $(pidof server)
  The distribution of an argument, for some hits:
      smark count --hist size --where 'status == 0' queue:complete target/release/server
  How long requests take, told apart by their tags:
      smark count --time queue:submit..queue:complete --key tag -- ./server";

fn interval(text: &str) -> Result<(String, String), String> {
    match text.split_once("..") {
        Some((from, to)) if from == to && !from.is_empty() => Err("A and B must be different markers".to_owned()),
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => Err("write two names of markers as A..B".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds >= 0.01);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "a number of seconds of at least 0.01 is expected".to_owned())
}

impl Count {
    pub(crate) fn run(mut self, console: &Console) -> anyhow::Result<ExitCode> {
        self.watch.question = self.question();
        let question = self.watch.question.clone();
        let is_terminal = io::stdout().is_terminal() && !self.json;
        let every = self.every.or(is_terminal.then_some(Duration::from_secs(1)));
        let mut watching = self.watch.start(console, Mode::Count { most_values: self.max_values })?;
        let report = |plan: &Plan, session: &Session| Report::new(plan, session, &question, self.top);
        let mut screen = Screen { is_terminal, lines: 0 };
        let mut next = every.map(|every| Instant::now() + every);
        let mut pause = |plan: &Plan, session: &Session| {
            if let (Some(due), Some(every)) = (next, every) {
                if Instant::now() >= due {
                    next = Some(Instant::now() + every);
                    let report = report(plan, session)?;
                    match self.json {
                        true => print_json(&report)?,
                        false => screen.show(&report.text(), true)?,
                    }
                }
            }
            Ok(true)
        };
        let ran = watching.run(console, &mut |_| true, &mut pause);
        ran?;
        let exit = watching.exit();
        let Some(session) = watching.session() else { return watching.end(console) };
        let report = report(&watching.plan, session)?;
        match self.json {
            true => {
                print_json(&report)?;
                let unfiltered = report.sum.get(Tally::Unfiltered);
                let end = json!({ "unfiltered": unfiltered, "uncounted": report.uncounted(), "exit": exit });
                writeln!(io::stdout().lock(), "{}", json!({ "end": end }))?;
            }
            false => screen.show(&report.text(), false)?,
        }
        report.tell(console, &question, self.max_values);
        watching.end(console)
    }

    fn question(&self) -> Question {
        let name = |name: &String| Arc::from(name.as_str());
        match (&self.by, &self.hist, &self.time) {
            (Some(by), ..) => Question::Values(name(by)),
            (_, Some(hist), _) => Question::Histogram(name(hist)),
            (.., Some((from, to))) => {
                Question::Time { from: from.clone(), to: to.clone(), key: self.key.as_ref().map(name) }
            }
            _ => Question::Hits,
        }
    }
}

fn print_json(report: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in report.json() {
        writeln!(out, "{line}")?;
    }
    out.flush()
}

/// A table that is printed over the last one on a terminal.
struct Screen {
    is_terminal: bool,
    /// How many lines the last table has.
    lines: usize,
}

impl Screen {
    /// Prints a table. `may_cut` says that another one follows, so a terminal gets as much as fits.
    fn show(&mut self, text: &str, may_cut: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let size = terminal_size::terminal_size_of(io::stdout()).filter(|_| self.is_terminal);
        let Some((width, height)) = size else {
            write!(out, "{text}")?;
            if may_cut {
                writeln!(out)?;
            }
            return out.flush();
        };
        if self.lines > 0 {
            write!(out, "\u{1b}[{}A\u{1b}[J", self.lines)?;
        }
        let (width, height) = (usize::from(width.0), usize::from(height.0).saturating_sub(1).max(1));
        let all = text.lines().count();
        let lines = if may_cut { all.min(height) } else { all };
        for line in text.lines().take(lines) {
            let line: String = if may_cut { line.chars().take(width).collect() } else { line.to_owned() };
            writeln!(out, "{line}")?;
        }
        self.lines = lines;
        out.flush()
    }
}

/// The counts of a marker.
struct Row {
    marker: String,
    module: String,
    hits: u64,
    /// The values with how often each was seen, the most frequent first.
    values: Option<Vec<(KeyValue, u64)>>,
    /// The coarse buckets that are not empty, in the order of their values.
    buckets: Option<Vec<(u32, u64)>>,
}

/// All counts.
struct Report {
    rows: Vec<Row>,
    durations: Option<(String, Durations)>,
    sum: Tallies,
    /// Ends without a start, starts that another start followed, and starts without an end.
    unmatched: [u64; 3],
    /// The argument that is counted.
    argument: String,
    top: usize,
}

impl Report {
    fn new(plan: &Plan, session: &Session, question: &Question, top: usize) -> Result<Self, sys::Error> {
        let tallies = session.tallies()?;
        let values = session.values()?;
        let (mut rows, mut sum, mut unmatched) = (Vec::new(), Tallies::default(), [0; 3]);
        for (group, marker) in plan.markers.iter().enumerate() {
            let is_of_group = |site: usize| plan.sites.get(site).is_some_and(|site| plan.group(site.marker) == group);
            let sites: Vec<usize> = (0..plan.sites.len()).filter(|site| is_of_group(*site)).collect();
            let Some(first) = sites.first().and_then(|site| plan.sites.get(*site)) else { continue };
            let mut of_marker = Tallies::default();
            sites.iter().filter_map(|site| tallies.get(*site)).for_each(|tallies| of_marker.add(tallies));
            sum.add(&of_marker);
            match first.aggregate {
                Aggregate::End(_) => unmatched[0] += of_marker.get(Tally::Unmatched),
                _ => unmatched[1] += of_marker.get(Tally::Unmatched),
            }
            let of_group = || values.iter().filter(|(key, _)| group_of(key) == Some(group));
            let module = plan.images.get(marker.image).map(|image| image.module.to_string()).unwrap_or_default();
            rows.push(Row {
                marker: marker.name.to_string(),
                module,
                hits: of_marker.get(Tally::Hits),
                values: matches!(question, Question::Values(_)).then(|| {
                    let decoded = of_group().filter_map(|(key, count)| Some((first.aggregate.decode(key)?, *count)));
                    let mut decoded: Vec<_> = decoded.collect();
                    decoded.sort_by(|(a, count_a), (b, count_b)| count_b.cmp(count_a).then_with(|| order(a, b)));
                    decoded
                }),
                buckets: matches!(question, Question::Histogram(_)).then(|| {
                    let buckets = of_group().filter_map(|(key, count)| Some((bucket_of(key)?, *count)));
                    let mut buckets: Vec<_> = buckets.collect();
                    buckets.sort_by_key(|(bucket, _)| coarse_range(*bucket));
                    buckets
                }),
            });
        }
        let durations = match question {
            Question::Time { from, to, .. } => {
                unmatched[2] = session.open_intervals()?;
                Some((format!("{from}..{to}"), session.durations()?))
            }
            _ => None,
        };
        let argument = match question {
            Question::Values(name) | Question::Histogram(name) => name.to_string(),
            Question::Hits | Question::Time { .. } => String::new(),
        };
        Ok(Self { rows, durations, sum, unmatched, argument, top })
    }

    /// How many hits are in no value, bucket or interval for want of space or of a value.
    fn uncounted(&self) -> u64 {
        self.sum.get(Tally::Unread) + self.sum.get(Tally::Full)
    }

    /// Says what was not counted.
    fn tell(&self, console: &Console, question: &Question, most: u32) {
        let plural = |count: u64, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let say = |count: u64, one: &str, many: &str| {
            if count > 0 {
                console.error(&plural(count, one, many));
            }
        };
        let (unread, full) = (self.sum.get(Tally::Unread), self.sum.get(Tally::Full));
        let name = match question {
            Question::Time { key, .. } => key.as_deref().unwrap_or_default(),
            _ => &self.argument,
        };
        let unreadable = format!("not counted: `{name}` could not be read");
        say(unread, &format!("hit is {unreadable}"), &format!("hits are {unreadable}"));
        let no_space = format!("not counted: {most} values are kept (--max-values)");
        say(full, &format!("hit is {no_space}"), &format!("hits are {no_space}"));
        if let Question::Time { from, to, .. } = question {
            let [no_start, again, open] = self.unmatched;
            let (from, to) = (shown(from), shown(to));
            say(no_start, &format!("{to} came without a {from}"), &format!("{to} came without a {from}"));
            let followed = format!("{from} was followed by another {from} before {to}");
            say(again, &followed, &followed);
            let without = format!("{from} had no {to} until the end");
            say(open, &without, &without);
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let has_modules = self.rows.iter().any(|row| self.rows.first().is_some_and(|it| it.module != row.module));
        let name = |row: &Row| match has_modules {
            true => format!("{} ({})", shown(&row.marker), shown(&row.module)),
            false => shown(&row.marker).into_owned(),
        };
        if self.rows.iter().all(|row| row.values.is_none() && row.buckets.is_none()) {
            out.push_str("        HITS MARKER\n");
            for row in &self.rows {
                out.push_str(&format!("{:>12} {}\n", row.hits, name(row)));
            }
        }
        for row in &self.rows {
            if let Some(values) = &row.values {
                out.push_str(&format!("{}: {} hits by `{}`\n", name(row), row.hits, shown(&self.argument)));
                for (value, count) in values.iter().take(self.top) {
                    let value = match value {
                        KeyValue::Text { bytes, is_cut } => {
                            format!("\"{}\"{}", from_bytes(bytes), if *is_cut { ".." } else { "" })
                        }
                        value => value_text(value),
                    };
                    out.push_str(&format!("{count:>12} {}\n", shown(&value)));
                }
                if let Some((different, count)) = self.other(values) {
                    out.push_str(&format!("{count:>12} other ({different} values)\n"));
                }
            }
            if let Some(buckets) = &row.buckets {
                out.push_str(&format!("{}: {} hits, `{}`\n", name(row), row.hits, shown(&self.argument)));
                let ranges = buckets.iter().map(|(bucket, count)| {
                    let (low, high) = coarse_range(*bucket);
                    (low.to_string(), high.to_string(), *count)
                });
                bars(&ranges.collect::<Vec<_>>(), &mut out);
            }
        }
        if let Some((interval, durations)) = &self.durations {
            out.push_str(&format!("\n{}: {} times\n", shown(interval), durations.count()));
            if durations.count() > 0 {
                let of = |percent| duration(durations.percentile(percent).unwrap_or(0));
                out.push_str(&format!("{:>9} {:>9} {:>9} {:>9} {:>9}\n", "MIN", "P50", "P90", "P99", "MAX"));
                let (min, max) = (duration(durations.min), duration(durations.max));
                out.push_str(&format!("{min:>9} {:>9} {:>9} {:>9} {max:>9}\n", of(50), of(90), of(99)));
                let powers = powers(durations)
                    .into_iter()
                    .map(|(low, high, count)| (duration(low), duration(high.saturating_add(1)), count));
                bars(&powers.collect::<Vec<_>>(), &mut out);
            }
        }
        out
    }

    /// How many values are not shown, and how often they were seen. `None` if all are shown.
    fn other(&self, values: &[(KeyValue, u64)]) -> Option<(usize, u64)> {
        let rest = values.get(self.top..).filter(|rest| !rest.is_empty())?;
        Some((rest.len(), rest.iter().map(|(_, count)| count).sum()))
    }

    fn json(&self) -> Vec<Json> {
        let row = |row: &Row| {
            let by = row.values.as_ref().map(|values| {
                let shown = values.iter().take(self.top).map(|(value, count)| json!([json_key(value), count]));
                Json::from(shown.collect::<Vec<_>>())
            });
            let other = row.values.as_ref().map(|values| self.other(values).map_or(0, |(_, count)| count));
            let histogram = row.buckets.as_ref().map(|buckets| {
                let bucket = |(bucket, count): &(u32, u64)| {
                    let (low, high) = coarse_range(*bucket);
                    json!([json_integer(low), json_integer(high), count])
                };
                Json::from(buckets.iter().map(bucket).collect::<Vec<_>>())
            });
            json!({
                "marker": row.marker, "module": row.module, "hits": row.hits,
                "by": by, "other": other, "histogram": histogram, "time": null,
            })
        };
        let mut lines: Vec<Json> = self.rows.iter().map(row).collect();
        if let Some((interval, durations)) = &self.durations {
            let is_some = durations.count() > 0;
            let [no_start, again, open] = self.unmatched;
            let time = json!({
                "count": durations.count(),
                "min": is_some.then_some(durations.min), "p50": durations.percentile(50),
                "p90": durations.percentile(90), "p99": durations.percentile(99),
                "max": is_some.then_some(durations.max),
                "ends_without_start": no_start, "starts_without_end": again + open,
            });
            let powers: Vec<Json> =
                powers(durations).into_iter().map(|(low, high, count)| json!([low, high, count])).collect();
            lines.push(json!({
                "marker": interval, "module": null, "hits": durations.count(),
                "by": null, "other": null, "histogram": powers, "time": time,
            }));
        }
        lines
    }
}

/// The order of values that were seen equally often.
fn order(a: &KeyValue, b: &KeyValue) -> std::cmp::Ordering {
    match (a, b) {
        (KeyValue::Integer(a), KeyValue::Integer(b)) => a.cmp(b),
        (KeyValue::Float(a), KeyValue::Float(b)) => a.total_cmp(b),
        (KeyValue::Text { bytes: a, .. }, KeyValue::Text { bytes: b, .. }) => a.cmp(b),
        _ => std::cmp::Ordering::Equal,
    }
}

fn value_text(value: &KeyValue) -> String {
    match value {
        KeyValue::Integer(number) => number.to_string(),
        KeyValue::Float(number) => number.to_string(),
        KeyValue::Text { bytes, is_cut } => format!("{}{}", from_bytes(bytes), if *is_cut { ".." } else { "" }),
        KeyValue::Null => "(null)".to_owned(),
    }
}

fn json_key(value: &KeyValue) -> Json {
    match value {
        KeyValue::Integer(number) => json_integer(*number),
        KeyValue::Float(number) if number.is_finite() => Json::from(*number),
        KeyValue::Float(_) | KeyValue::Text { .. } => Json::from(value_text(value)),
        KeyValue::Null => Json::Null,
    }
}

/// The durations by powers of two: the smallest and the largest of each, and how many there are.
fn powers(durations: &Durations) -> Vec<(u64, u64, u64)> {
    let mut powers: Vec<(u32, u64)> = Vec::new();
    for (fine, count) in (0..).zip(&durations.counts).filter(|(_, count)| **count > 0) {
        let bucket = coarse(fine_range(fine).0.into());
        match powers.last_mut() {
            Some((last, sum)) if *last == bucket => *sum += count,
            _ => powers.push((bucket, *count)),
        }
    }
    let range = |bucket| {
        let (low, high) = coarse_range(bucket);
        (u64::try_from(low).unwrap_or(0), u64::try_from(high).unwrap_or(u64::MAX))
    };
    powers.into_iter().map(|(bucket, count)| (range(bucket).0, range(bucket).1, count)).collect()
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

/// A duration with three digits and its unit.
fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
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
    fn intervals_have_two_names() {
        assert_eq!(interval("a:b..c:d"), Ok(("a:b".to_owned(), "c:d".to_owned())));
        for wrong in ["", "a", "a..", "..b", "a..a", "a.b"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
