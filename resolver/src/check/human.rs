//! A report for people: each finding with its source line and a caret, what was expected and found, why, and what helps; a summary.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{Finding, Report, Severity};
use crate::report::show::SourceLine;
use crate::report::{Layout, style};
use crate::text::shown;

/// Finds a source line of the marker of a finding: the marker's own, or one so many lines below; `None` where it is not at hand.
pub type FindLine<'f> = dyn FnMut(&Finding, u32) -> Option<SourceLine> + 'f;

/// So many lines a marker is looked for in, where its arguments stand below it.
const LINES: u32 = 8;
/// Columns that a tab stands for in a source line.
const TAB: usize = 4;
/// The least columns that a text is wrapped to.
const LEAST: usize = 40;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Writes the findings that count, and a summary.
///
/// # Errors
///
/// Those of `out`.
pub fn write(out: &mut dyn Write, report: &Report, lines: &mut FindLine<'_>, layout: Layout) -> io::Result<()> {
    let mut page = Page { out, layout };
    for finding in report.findings.iter().filter(|finding| finding.exception.is_none()) {
        page.finding(finding, lines)?;
    }
    for note in &report.notes {
        page.cell(style::NAME, "note")?;
        writeln!(page.out, ": {}\n", shown(note))?;
    }
    page.summary(report)
}

struct Page<'o> {
    out: &'o mut dyn Write,
    layout: Layout,
}

impl Page<'_> {
    fn cell(&mut self, style: Style, cell: &str) -> io::Result<()> {
        style::cell(self.out, self.layout.colour, style, cell, 0)
    }

    fn finding(&mut self, finding: &Finding, lines: &mut FindLine<'_>) -> io::Result<()> {
        let (style, word) = match finding.severity {
            Severity::Deny => (ERROR, "error"),
            _ => (WARNING, "warning"),
        };
        self.cell(style, &format!("{word}[{}]", finding.code))?;
        self.cell(style::NAME, &format!(": {}", shown(&finding.message)))?;
        writeln!(self.out)?;
        let caret = caret(finding, lines);
        let number = caret.as_ref().map(|caret| caret.line.to_string()).unwrap_or_default();
        let gutter = number.len().max(1);
        if !finding.file.is_empty() {
            let mut place = shown(&finding.file).into_owned();
            if let Some(line) = finding.line {
                place.push_str(&format!(":{line}"));
                place.extend(finding.column.map(|column| format!(":{column}")));
            }
            write!(self.out, "{:gutter$}", "")?;
            self.cell(style::QUIET, "--> ")?;
            match finding.image.as_deref() {
                Some(image) => writeln!(self.out, "{place} (in {})", shown(image))?,
                None => writeln!(self.out, "{place}")?,
            }
        }
        if let Some(caret) = caret {
            self.source(&caret, &number, style)?;
        }
        let functions = match finding.functions.as_slice() {
            [] => None,
            functions if functions.len() <= 4 => {
                Some(functions.iter().map(|function| format!("`{}`", shown(function))).collect::<Vec<_>>().join(", "))
            }
            functions => Some(format!("{} functions", functions.len())),
        };
        let mut facts = vec![("expected", finding.expected.clone()), ("found", finding.found.clone())];
        facts.extend(functions.map(|functions| ("in", functions)));
        facts.extend(finding.causes.iter().map(|cause| ("cause", cause.clone())));
        facts.push(("help", finding.help.clone()));
        for (label, text) in facts {
            self.fact(gutter, label, &shown(&text))?;
        }
        writeln!(self.out)
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

    fn source(&mut self, caret: &Caret, number: &str, style: Style) -> io::Result<()> {
        let gutter = number.len();
        self.cell(style::QUIET, &format!("{:gutter$} |", ""))?;
        writeln!(self.out)?;
        self.cell(style::QUIET, &format!("{number} | "))?;
        writeln!(self.out, "{}", caret.text)?;
        self.cell(style::QUIET, &format!("{:gutter$} |", ""))?;
        if let Some((before, columns)) = caret.at {
            write!(self.out, " {:before$}", "")?;
            self.cell(style, &"^".repeat(columns.max(1)))?;
        }
        writeln!(self.out)?;
        if caret.is_newer {
            self.fact(gutter, "note", "the file was changed after the image was built, this may be another line")?;
        }
        Ok(())
    }

    fn summary(&mut self, report: &Report) -> io::Result<()> {
        let summary = report.summary();
        let (style, verdict) = match (report.holds(), report.failures.is_empty()) {
            (true, _) => (style::READABLE, "holds"),
            (false, true) => (ERROR, "does not hold"),
            (false, false) => (ERROR, "could not be made whole"),
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

/// A source line, and what is pointed at in it.
struct Caret {
    line: u32,
    text: String,
    /// Columns before it, and how many it takes; `None` where it is not found.
    at: Option<(usize, usize)>,
    is_newer: bool,
}

/// The line that the finding is about: of an argument the one where it stands, else the marker's own.
fn caret(finding: &Finding, lines: &mut FindLine<'_>) -> Option<Caret> {
    let first = lines(finding, 0)?;
    let declared = finding.line?;
    let new = |line: u32, source: &SourceLine, at: Option<(usize, usize)>| {
        let text = source.text.trim_end();
        let at = at.and_then(|(start, end)| Some((text.get(..start)?, text.get(start..end)?)));
        Caret {
            line,
            text: expanded(text),
            at: at.map(|(before, it)| (style::width(&expanded(before)), style::width(&expanded(it)))),
            is_newer: source.is_newer,
        }
    };
    if !first.text.contains("mark") {
        return Some(new(declared, &first, None));
    }
    if let Some(argument) = finding.argument.as_deref() {
        let mut source = Some(first.clone());
        for below in 0..LINES {
            let Some(line) = source else { break };
            if let Some(at) = find(&line.text, argument) {
                return Some(new(declared.saturating_add(below), &line, Some(at)));
            }
            if line.text.contains(';') {
                break;
            }
            source = lines(finding, below + 1);
        }
    }
    let text = &first.text;
    let column = finding.column.and_then(|column| usize::try_from(column).ok()?.checked_sub(1));
    let by_column = column.and_then(|column| Some(text.char_indices().nth(column)?.0));
    let start = by_column.or_else(|| text.find("simple_mark")).unwrap_or_else(|| text.len() - text.trim_start().len());
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.find(|after: char| !(after.is_alphanumeric() || "_!:".contains(after))).unwrap_or(rest.len());
    Some(new(declared, &first, Some((start, start.saturating_add(end)))))
}

/// Where an argument stands in a line, as a word, behind the format.
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
