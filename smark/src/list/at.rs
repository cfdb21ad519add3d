//! `smark list --at FILE:LINE`: which variables can be read at a line, and at which lines nearby more can.

use std::cmp::Reverse;
use std::io::{self, BufWriter, Write as _};

use simple_markers_resolver::marks::{Mark, MarkPlace};
use simple_markers_resolver::report::{self, TextLayout, Verbosity};
use simple_markers_resolver::resolve::{Detail, Exactness, Marker, Origin, Row, Verdict};
use simple_markers_resolver::uprobe_rules::ALL_KERNELS;

use crate::console::{Console, Status};
use crate::inputs::Inputs;
use crate::pager::Pager;

/// How many lines before and behind it are looked at.
const NEAR: u32 = 8;

/// How many of them are suggested.
const SUGGESTED: usize = 4;

/// A line of a file.
#[derive(Clone, Debug)]
pub(super) struct FileLine {
    file: String,
    line: u32,
}

impl FileLine {
    /// Reads `FILE:LINE`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match Mark::parse(text).map(|mark| (mark.format.is_empty(), mark.place)) {
            Ok((true, MarkPlace::Line { file, line })) => Ok(Self { file: file.to_string(), line }),
            _ => Err("must be FILE:LINE, such as queue.c:42".to_owned()),
        }
    }
}

/// How well a line can be watched: more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineQuality {
    /// Whether each copy is exact or likely.
    is_certain: bool,
    /// How many variables can be read in each copy.
    readable: usize,
}

impl LineQuality {
    fn of(marker: &Marker) -> Self {
        let is_certain = |exactness| matches!(exactness, Some(Exactness::Exact | Exactness::Likely));
        let is_readable = |index: &usize| {
            let mut sites = marker.live_sites();
            sites.all(|site| {
                let verdict = site.args.get(*index).and_then(|argument| argument.verdict);
                matches!(verdict, Some(Verdict::Live | Verdict::Constant))
            })
        };
        let has_sites = marker.live_sites().next().is_some();
        Self {
            is_certain: has_sites && marker.live_sites().all(|site| is_certain(site.exactness)),
            readable: if has_sites { (0..marker.args.len()).filter(is_readable).count() } else { 0 },
        }
    }
}

/// Lists the variables at a line.
pub(super) fn list(mut inputs: Inputs, at: &FileLine, json: bool, console: &Console) -> anyhow::Result<Status> {
    let FileLine { file, line } = at;
    let near = line.saturating_sub(NEAR).max(1)..=line.saturating_add(NEAR);
    let lines = [*line].into_iter().chain(near.filter(|near| near != line));
    inputs.set_marks(lines.map(|line| Mark::with_all_variables(file, line)).collect());
    let selected = inputs.select(console, Detail::Places, ALL_KERNELS)?;
    let rows = selected.rows();
    let (own, near): (Vec<Row<'_>>, Vec<Row<'_>>) =
        selected.chosen(&rows).into_iter().partition(|row| row.marker.line == *line);
    let _pager = (!json).then(|| Pager::start(console));
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    if json {
        report::json::write(&mut out, &selected.resolution, &selected.keeps(&own))?;
    } else {
        let layout = TextLayout { colour: console.colour, width: console.width, verbosity: Verbosity::Full };
        report::list::write(&mut out, &own, layout)?;
        let better = better(&own, &near);
        if !better.is_empty() {
            writeln!(out, "lines nearby where more can be read:")?;
        }
        for BetterLine { quality, line, variables } in better {
            let place = if quality.is_certain { "" } else { ", at a place that is not certain" };
            writeln!(out, "  {file}:{line}  {} of {variables} variables{place}", quality.readable)?;
        }
    }
    out.flush()?;
    drop(out);
    // All lines are of one file.
    Ok(selected.report_files(console).max(selected.report_first_mark(console)))
}

/// A line where more can be read.
struct BetterLine {
    quality: LineQuality,
    line: u32,
    variables: usize,
}

/// The best lines of the same function that are better than the line itself, the best first.
fn better(own: &[Row<'_>], near: &[Row<'_>]) -> Vec<BetterLine> {
    let Some(first) = own.first() else { return Vec::new() };
    let (line, quality) = (first.marker.line, LineQuality::of(first.marker));
    let mut better: Vec<BetterLine> = Vec::new();
    for row in near.iter().filter(|row| own.iter().any(|own| own.function == row.function)) {
        // A line without code is the next one that has some.
        let has_code = row.sites.iter().all(|site| site.origin == Origin::Line);
        let (found, line, variables) = (LineQuality::of(row.marker), row.marker.line, row.marker.args.len());
        if has_code && found > quality && better.iter().all(|known| known.line != line) {
            better.push(BetterLine { quality: found, line, variables });
        }
    }
    better.sort_by_key(|found| (Reverse(found.quality), found.line.abs_diff(line)));
    better.truncate(SUGGESTED);
    better
}
