//! Writes findings as GitHub annotations: workflow commands on standard output, which GitHub shows
//! at the lines of a change.

use std::io::{self, Write};

use super::{Finding, Report, Severity};
use crate::english;

/// Writes a line for each finding that is not excepted.
///
/// # Errors
///
/// Those of `out`.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    for finding in report.findings.iter().filter(|finding| finding.exception.is_none()) {
        let level = if finding.severity == Severity::Deny { "error" } else { "warning" };
        let mut properties: Vec<String> = Vec::new();
        if !finding.file.is_empty() {
            properties.push(format!("file={}", property(&finding.file)));
        }
        properties.extend(finding.line.map(|line| format!("line={line}")));
        properties.extend(finding.line.and(finding.column).map(|column| format!("col={column}")));
        properties.push(format!("title={}", property(&format!("{} {}", finding.code, finding.name()))));
        writeln!(out, "::{level} {}::{}", properties.join(","), message(&text(finding)))?;
    }
    for failure in &report.failures {
        writeln!(out, "::error title=could not be checked::{}", message(failure))?;
    }
    for note in &report.notes {
        writeln!(out, "::notice::{}", message(&english::check::remark(note)))?;
    }
    Ok(())
}

fn text(finding: &Finding) -> String {
    let mut text = format!(
        "{}\nexpected: {}\nfound: {}",
        english::check::message(finding),
        english::check::expected(finding),
        english::check::found(finding)
    );
    for cause in &finding.causes {
        text.push_str(&format!("\ncause: {}", english::check::cause(cause)));
    }
    text.push_str(&format!("\nhelp: {}", english::help::help(finding)));
    text
}

/// Escapes the characters that end a command or begin an escape (`actions/toolkit`, `escapeData`).
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Also escapes the characters that end a property (`escapeProperty`).
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{message, property};

    #[test]
    fn commands_are_escaped() {
        assert_eq!(message("100%\r\nof a, b: c"), "100%25%0D%0Aof a, b: c");
        assert_eq!(property("C:\\a,b%"), "C%3A\\a%2Cb%25");
    }
}
