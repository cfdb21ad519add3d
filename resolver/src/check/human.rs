//! Writes a report for people: for each marker a block with its source line, what is wrong and why,
//! and the corrected source; then a summary.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::fix::{self, FindSource, Source};
use super::{Finding, Problem, Report, Severity};
use crate::english;
use crate::english::check::{fact, headline};
use crate::report::{Layout, style};
use crate::resolve::Resolution;
use crate::text::{self, shown};
use crate::verdicts::Code;

/// The number of lines searched for the arguments of a marker.
const LINES: u32 = 8;
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
    layout: Layout,
) -> io::Result<()> {
    let has_images = report.markers.windows(2).any(|two| matches!(two, [one, other] if one.index.0 != other.index.0));
    let mut page = Page { out, layout, resolution, has_images };
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

struct Page<'o> {
    out: &'o mut dyn Write,
    layout: Layout,
    resolution: &'o Resolution,
    /// Whether the report has markers of several images.
    has_images: bool,
}

impl Page<'_> {
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
        let source = first.index.filter(|_| !is_about_image).and_then(sources);
        let carets = source.as_ref().map(|source| carets(findings, source)).unwrap_or_default();
        let last = carets.last().map(|line| line.number.to_string()).unwrap_or_default();
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
    fn help(&mut self, findings: &[&Finding], source: Option<&Source>, gutter: usize) -> io::Result<()> {
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

    fn source(&mut self, lines: &[CaretLine], gutter: usize, style: Style) -> io::Result<()> {
        self.cell(style::QUIET, &format!("{:gutter$} |", ""))?;
        writeln!(self.out)?;
        for line in lines {
            self.cell(style::QUIET, &format!("{:gutter$} | ", line.number))?;
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
    number: u32,
    text: String,
    /// The column where each part starts, and its width; ascending.
    marked: Vec<(usize, usize)>,
}

/// The lines to show: those with the arguments, or the marker's own line.
fn carets(findings: &[&Finding], source: &Source) -> Vec<CaretLine> {
    let Some((declared, column)) = findings.first().and_then(|it| Some((it.line?, it.column))) else {
        return Vec::new();
    };
    let bytes = source.file.bytes();
    let line = |below: u32| -> Option<String> {
        let index = usize::try_from(declared.checked_sub(1)?.checked_add(below)?).ok()?;
        let line = bytes.split(|byte| *byte == b'\n').nth(index)?;
        (line.len() <= LONGEST).then(|| text::from_bytes(line).trim_end().to_owned())
    };
    let Some(first) = line(0) else { return Vec::new() };
    let mut lines: Vec<CaretLine> = Vec::new();
    let mut mark = |number: u32, text: &str, at: Option<(usize, usize)>| {
        let part = at.and_then(|(start, end)| Some((text.get(..start)?, text.get(start..end)?)));
        let part = part.map(|(before, it)| (style::width(&expanded(before)), style::width(&expanded(it)).max(1)));
        match lines.iter_mut().find(|line| line.number == number) {
            Some(line) => line.marked.extend(part),
            None => lines.push(CaretLine { number, text: expanded(text), marked: part.into_iter().collect() }),
        }
    };
    if !first.contains("mark") {
        mark(declared, &first, None);
        return lines;
    }
    // Several markers may be on the line.
    let call = findings.first().and_then(|finding| style::call_among(&first, &finding.marker));
    let mut arguments: Vec<&str> = findings.iter().filter_map(|finding| finding.argument.as_deref()).collect();
    arguments.dedup();
    for argument in arguments {
        for below in 0..LINES {
            let Some(text) = line(below) else { break };
            let call = call.clone().filter(|_| below == 0).unwrap_or(0..text.len());
            let at = text.get(call.clone()).and_then(|code| find(code, argument));
            if let Some(at) = at.map(|(from, to)| (call.start + from, call.start + to)) {
                mark(declared.saturating_add(below), &text, Some(at));
                break;
            }
            if text.contains(';') {
                break;
            }
        }
    }
    if lines.is_empty() {
        let column = column.and_then(|column| usize::try_from(column).ok()?.checked_sub(1));
        let by_column = column.and_then(|column| Some(first.char_indices().nth(column)?.0));
        let by_name = || Some(call.clone()?.start);
        let start = by_name().or(by_column).or_else(|| first.find("simple_mark"));
        let start = start.unwrap_or_else(|| first.len().saturating_sub(first.trim_start().len()));
        let call = style::call_path(first.get(start..).unwrap_or_default());
        let part = (style::width(&expanded(first.get(..start).unwrap_or_default())), style::width(call));
        lines.push(CaretLine { number: declared, text: expanded(&first), marked: vec![part] });
    }
    for line in &mut lines {
        line.marked.sort_unstable();
        line.marked.dedup();
    }
    lines.sort_by_key(|line| line.number);
    lines
}

/// Finds an argument as a whole word after the format string.
fn find(line: &str, argument: &str) -> Option<(usize, usize)> {
    let start = line.rfind('"').map_or(0, |quote| quote + 1);
    let code = line.get(start..)?;
    let is_part = |character: char| character == '_' || character.is_alphanumeric();
    let is_word = |(at, found): &(usize, &str)| {
        let before = code.get(..*at).and_then(|before| before.chars().next_back());
        let after = code.get(at + found.len()..).and_then(|after| after.chars().next());
        let starts = argument.starts_with(is_part) && before.is_some_and(|it| is_part(it) || it == '.');
        let ends = argument.ends_with(is_part) && after.is_some_and(is_part);
        !starts && !ends
    };
    let (at, found) = code.match_indices(argument).find(is_word)?;
    let start = start.checked_add(at)?;
    Some((start, start.checked_add(found.len())?))
}

fn expanded(text: &str) -> String {
    shown(&text.replace('\t', &" ".repeat(TAB))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn arguments_are_found_as_words_behind_the_format() {
        let line = "    simple_mark(a:tag, \"tag %d %d\", self.tag, tag);";
        let at = |argument: &str| find(line, argument).map(|(start, end)| (start, &line[start..end]));
        assert_eq!(at("tag"), Some((46, "tag")));
        assert_eq!(at("self.tag"), Some((36, "self.tag")));
        assert_eq!(at("ta"), None);
        assert_eq!(find("        total,", "total"), Some((8, 13)));
    }
}
