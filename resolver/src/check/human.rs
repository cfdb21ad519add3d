//! Writes a report for people: for each marker a block with its source line, what is wrong and why,
//! and the corrected source; then a summary.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use anstyle::{AnsiColor, Style};

use super::fix::{self, FindSource, FixInput};
use super::{Finding, Problem, Report, Severity};
use crate::english;
use crate::english::check::{fact, headline};
use crate::report::{TextLayout, style};
use crate::resolve::{DeclaredArgument, Marker, Resolution};
use crate::text::{self, shown};
use crate::verdicts::Code;

/// The longest source line shown, in bytes.
const LONGEST: usize = 4096;
/// The width of a tab in a source line, in columns.
const TAB: usize = 4;
/// The smallest width that text is wrapped to, in columns.
const LEAST: usize = 40;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Writes the findings that are not excepted, and a summary. The indexes of the findings refer to
/// `resolution`.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    out: &mut dyn Write,
    resolution: &Resolution,
    report: &Report,
    sources: &mut FindSource<'_>,
    layout: TextLayout,
) -> io::Result<()> {
    let has_images = report.markers.windows(2).any(|two| matches!(two, [one, other] if one.index.0 != other.index.0));
    let mut page = FindingPage { out, layout, resolution, has_images };
    let counts: Vec<&Finding> = report.findings.iter().filter(|finding| finding.exception.is_none()).collect();
    let is_same = |one: &&Finding, other: &&Finding| {
        let of_image = |finding: &Finding| matches!(finding.problem, Problem::NoVariables { .. });
        (one.index, &one.marker, &one.file, of_image(one)) == (other.index, &other.marker, &other.file, of_image(other))
    };
    for findings in counts.chunk_by(is_same) {
        page.block(findings, sources)?;
    }
    for note in &report.notes {
        page.cell(style::NAME, "note")?;
        writeln!(page.out, ": {}\n", shown(&english::check::remark(note)))?;
    }
    page.summary(report)
}

struct FindingPage<'o> {
    out: &'o mut dyn Write,
    layout: TextLayout,
    resolution: &'o Resolution,
    /// Whether the report has markers of several images.
    has_images: bool,
}

impl FindingPage<'_> {
    fn cell(&mut self, style: Style, cell: &str) -> io::Result<()> {
        style::cell(self.out, self.layout.colour, style, cell, 0)
    }

    /// Writes all findings about one marker.
    fn block(&mut self, findings: &[&Finding], sources: &mut FindSource<'_>) -> io::Result<()> {
        let Some(first) = findings.first() else { return Ok(()) };
        let (style, word) = match findings.iter().map(|finding| finding.severity).max() {
            Some(Severity::Deny) => (ERROR, "error"),
            _ => (WARNING, "warning"),
        };
        self.cell(style, &format!("{word}[{}]", codes(findings)))?;
        self.cell(style::NAME, &format!(": {}", shown(&headline(findings))))?;
        writeln!(self.out)?;
        let is_about_image = matches!(first.problem, Problem::NoVariables { .. });
        let index = first.index.filter(|_| !is_about_image);
        let source = index.and_then(sources);
        let marker = index.and_then(|(image, marker)| self.resolution.images.get(image)?.markers.get(marker));
        let known = marker.zip(source.as_ref());
        let carets = known.map(|(marker, source)| carets(findings, marker, source)).unwrap_or_default();
        let last = carets.last_key_value().map(|(number, _)| number.to_string()).unwrap_or_default();
        let gutter = last.len().max(1);
        self.place(findings, gutter)?;
        if let Some(source) = source.as_ref().filter(|_| !carets.is_empty()) {
            self.source(&carets, gutter, style)?;
            if source.is_newer {
                self.fact(gutter, "note", "the file was changed after the image was built, this may be another line")?;
            }
        }
        for finding in findings.iter().filter(|_| !is_about_image) {
            let (label, text) = fact(finding, findings.len() > 1);
            self.fact(gutter, &label, &shown(&text))?;
        }
        self.help(findings, source.as_ref(), gutter)?;
        writeln!(self.out)
    }

    fn place(&mut self, findings: &[&Finding], gutter: usize) -> io::Result<()> {
        let Some(first) = findings.first().filter(|first| !first.file.is_empty()) else { return Ok(()) };
        if let (Problem::NoVariables { .. }, Some(image)) = (&first.problem, &first.image) {
            write!(self.out, "{:gutter$}", "")?;
            self.cell(style::QUIET, "--> ")?;
            return writeln!(self.out, "{}", shown(image));
        }
        let mut place = shown(&first.file).into_owned();
        if let Some(line) = first.line {
            place.push_str(&format!(":{line}"));
            let column = findings.iter().find_map(|finding| finding.column);
            place.extend(column.map(|column| format!(":{column}")));
        }
        let mut functions: Vec<&str> = findings.iter().flat_map(|finding| &finding.functions).map(|it| &**it).collect();
        functions.sort_unstable();
        functions.dedup();
        let inside = match functions.as_slice() {
            [] => None,
            [function] => Some(shown(function).into_owned()),
            [function, rest @ ..] => Some(format!("{} and {} more", shown(function), rest.len())),
        };
        let image = first.image.as_deref().filter(|_| self.has_images).map(|image| shown(image).into_owned());
        let place = match (inside, image) {
            (Some(function), Some(image)) => format!("{place} (in {function}, {image})"),
            (Some(one), None) | (None, Some(one)) => format!("{place} (in {one})"),
            (None, None) => place,
        };
        write!(self.out, "{:gutter$}", "")?;
        self.cell(style::QUIET, "--> ")?;
        writeln!(self.out, "{place}")
    }

    /// Writes what to do: the corrected source once, and the help for the remaining findings.
    fn help(&mut self, findings: &[&Finding], source: Option<&FixInput>, gutter: usize) -> io::Result<()> {
        let mut lines = Vec::new();
        let wanted = fix::wanted(self.resolution, findings.iter().copied());
        let marker = |(image, marker): (usize, usize)| self.resolution.images.get(image)?.markers.get(marker);
        if let (Some((index, wanted)), Some(source)) = (wanted.iter().next(), source) {
            let marker = marker(*index).filter(|_| !wanted.edits.is_empty());
            let corrected = marker.and_then(|marker| source.file.correct(marker, &wanted.edits).ok());
            lines = corrected.map(|corrected| corrected.lines(source.file.bytes())).unwrap_or_default();
        }
        let is_corrected =
            |finding: &Finding| !lines.is_empty() && matches!(fix::edits_for(self.resolution, finding), Some(Ok(_)));
        let mut rest: Vec<String> = Vec::new();
        for finding in findings.iter().filter(|finding| !is_corrected(finding)) {
            // The finding about the verdict itself gives the same help.
            let is_said = finding.code == Code::Worse && findings.len() > 1;
            let help = english::help::help(finding);
            if !is_said && !rest.contains(&help) {
                rest.push(help);
            }
        }
        if !lines.is_empty() {
            self.fact(gutter, "help", "write")?;
            let indent = gutter + 5;
            for line in lines {
                writeln!(self.out, "{:indent$}{}", "", expanded(&line))?;
            }
        }
        for help in rest {
            self.fact(gutter, "help", &shown(&help))?;
        }
        Ok(())
    }

    fn fact(&mut self, gutter: usize, label: &str, text: &str) -> io::Result<()> {
        write!(self.out, "{:gutter$} ", "")?;
        self.cell(style::QUIET, "= ")?;
        self.cell(style::NAME, label)?;
        let indent = gutter + 5 + label.len();
        let columns = self.layout.width.map(|width| width.saturating_sub(indent).max(LEAST));
        for (index, line) in style::wrap(text, columns).into_iter().enumerate() {
            match index {
                0 => writeln!(self.out, ": {line}")?,
                _ => writeln!(self.out, "{:indent$}{line}", "")?,
            }
        }
        Ok(())
    }

    fn source(&mut self, lines: &BTreeMap<usize, CaretLine>, gutter: usize, style: Style) -> io::Result<()> {
        self.cell(style::QUIET, &format!("{:gutter$} |", ""))?;
        writeln!(self.out)?;
        for (number, line) in lines {
            self.cell(style::QUIET, &format!("{number:gutter$} | "))?;
            writeln!(self.out, "{}", line.text)?;
            self.cell(style::QUIET, &format!("{:gutter$} |", ""))?;
            let mut column = 0_usize;
            for (before, columns) in &line.marked {
                let skipped = before.saturating_sub(column).saturating_add(usize::from(column == 0));
                write!(self.out, "{:skipped$}", "")?;
                self.cell(style, &"^".repeat(*columns))?;
                column = before.saturating_add(*columns);
            }
            writeln!(self.out)?;
        }
        Ok(())
    }

    fn summary(&mut self, report: &Report) -> io::Result<()> {
        let summary = report.summary();
        let (style, verdict) = match (report.holds(), report.failures.is_empty()) {
            (true, _) => (style::READABLE, "holds"),
            (false, true) => (ERROR, "does not hold"),
            (false, false) => (ERROR, "could not be completed"),
        };
        write!(self.out, "check ")?;
        self.cell(style, verdict)?;
        let mut counts = vec![count(summary.markers, "marker"), count(summary.errors, "error")];
        counts.push(count(summary.warnings, "warning"));
        if summary.excepted > 0 {
            counts.push(format!("{} excepted", summary.excepted));
        }
        writeln!(self.out, ": {}", counts.join(", "))
    }
}

fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The codes of the findings, denied ones first. The reason of a doubtful argument follows its code, as
/// `--allow` takes it.
fn codes(findings: &[&Finding]) -> String {
    let mut sorted: Vec<&Finding> = findings.to_vec();
    sorted.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.code));
    let mut names: Vec<String> = Vec::new();
    for finding in sorted {
        let code = finding.code.as_str();
        let mut of = match finding.reasons.is_empty() {
            true => vec![code.to_owned()],
            false => finding.reasons.iter().map(|reason| format!("{code}.{reason}")).collect(),
        };
        of.retain(|name| !names.contains(name));
        names.append(&mut of);
    }
    names.join(", ")
}

/// A source line and the parts of it to underline.
struct CaretLine {
    text: String,
    /// The column where each part starts, and its width; ascending.
    marked: Vec<(usize, usize)>,
}

/// The lines to show, by number: those with the arguments, or that with the marker's call.
fn carets(findings: &[&Finding], marker: &Marker, source: &FixInput) -> BTreeMap<usize, CaretLine> {
    let bytes = source.file.bytes();
    let is_meant = |argument: &DeclaredArgument| {
        let mut of_argument = findings.iter().filter(|finding| finding.argument.as_ref() == Some(&argument.text));
        of_argument.any(|finding| match &finding.problem {
            Problem::Format { conversion, .. } => *conversion == argument.conversion,
            _ => true,
        })
    };
    let meant = marker.args.iter().enumerate().filter(|(_, argument)| is_meant(argument));
    let mut parts: Vec<Range<usize>> = meant.filter_map(|(index, _)| source.file.argument(marker, index)).collect();
    if parts.is_empty() {
        let column = findings.iter().find_map(|finding| finding.column);
        let call = source.file.invocation(marker).ok().map(|call| called(bytes, call.start));
        parts.extend(call.or_else(|| declared(bytes, marker.line, column)));
    }
    let mut lines: BTreeMap<usize, CaretLine> = BTreeMap::new();
    for part in parts {
        let before = bytes.get(..part.start).unwrap_or_default();
        let number = before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1);
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline.saturating_add(1));
        let line = bytes.get(start..).and_then(|rest| rest.split(|byte| *byte == b'\n').next()).unwrap_or_default();
        if line.len() > LONGEST {
            continue;
        }
        let width =
            |range: Range<usize>| style::width(&expanded(&text::from_bytes(line.get(range).unwrap_or_default())));
        let at = part.start.saturating_sub(start);
        let marked = (width(0..at), width(at..part.end.saturating_sub(start).min(line.len())));
        let text = || expanded(text::from_bytes(line).trim_end());
        let line = lines.entry(number).or_insert_with(|| CaretLine { text: text(), marked: Vec::new() });
        line.marked.extend(Some(marked).filter(|(_, columns)| *columns > 0));
    }
    lines
}

/// The path of the macro that is called at `start`.
fn called(bytes: &[u8], start: usize) -> Range<usize> {
    let code = text::from_bytes(
        bytes.get(start..).unwrap_or_default().split(|byte| *byte == b'\n').next().unwrap_or_default(),
    );
    start..start.saturating_add(style::call_path(&code).len())
}

/// Where a marker that cannot be identified is, in a line; nothing of the line if it has no marker.
fn declared(bytes: &[u8], line: u32, column: Option<u32>) -> Option<Range<usize>> {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let above = usize::try_from(line.checked_sub(1)?).ok()?;
    let start: usize = lines.by_ref().take(above).map(<[u8]>::len).sum();
    let text = text::from_bytes(lines.next()?);
    let column = column.and_then(|column| usize::try_from(column).ok()?.checked_sub(1));
    let by_column = column.and_then(|column| Some(text.char_indices().nth(column)?.0));
    let at = by_column.or_else(|| text.find("simple_mark")).filter(|_| text.contains("mark"));
    Some(at.map_or(start..start, |at| called(bytes, start.saturating_add(at))))
}

fn expanded(text: &str) -> String {
    shown(&text.replace('\t', &" ".repeat(TAB))).into_owned()
}
