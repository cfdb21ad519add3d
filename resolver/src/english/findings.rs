//! Texts for the human report: a headline for all findings about one marker, and a line for each.

use crate::check::Finding;
use crate::verdicts::{Code, Group};

/// The problems of a marker in one sentence.
pub(crate) fn headline(findings: &[&Finding]) -> String {
    if let [finding] = findings {
        return finding.message.clone();
    }
    let Some(first) = findings.first() else { return String::new() };
    let mut parts: Vec<String> = Vec::new();
    let mut arguments: Vec<(&str, Vec<&str>)> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.code.group() == Group::Arguments) {
        let text = finding.argument.as_deref().unwrap_or_default();
        match arguments.iter_mut().find(|(found, _)| *found == finding.found) {
            Some((_, texts)) if texts.contains(&text) => {}
            Some((_, texts)) => texts.push(text),
            None => arguments.push((&finding.found, vec![text])),
        }
    }
    parts.extend(arguments.iter().map(|(found, texts)| format!("{} {} {found}", list(texts), be(texts.len()))));
    for finding in findings {
        let part = match finding.code {
            Code::Shared => "a probe may fire where the marker is not passed",
            Code::Folded => "a probe also fires for markers of other functions",
            Code::Outside => "it is in no code of its function",
            Code::Unproven => "whether a probe is exact is unknown",
            Code::FormatMismatch => "an argument is not what its conversion prints",
            Code::Duplicate => "its name is declared twice",
            Code::Worse => "it got worse than in the lock file",
            code if code.group() == Group::Baseline => "it differs from the lock file",
            code if code.group() == Group::Arguments => continue,
            _ => finding.code.name(),
        };
        if !parts.iter().any(|known| known == part) {
            parts.push(part.to_owned());
        }
    }
    let last = parts.pop().unwrap_or_default();
    match parts.as_slice() {
        [] => format!("{}: {last}", first.marker),
        _ => format!("{}: {}, and {last}", first.marker, parts.join(", ")),
    }
}

fn be(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn list(texts: &[&str]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// A label and the text of a finding: what was found, and its causes. `is_one_of_several` says that
/// the headline does not repeat its message.
pub(crate) fn fact(finding: &Finding, is_one_of_several: bool) -> (String, String) {
    let group = finding.code.group();
    let label = match (group, finding.argument.as_deref()) {
        (Group::Arguments, Some(argument)) => format!("`{argument}`"),
        _ => group.as_str().to_owned(),
    };
    let found = match group {
        Group::Arguments | Group::Exactness | Group::Survival => finding.found.clone(),
        Group::Baseline if is_one_of_several => format!("{}, expected {}", finding.message, finding.expected),
        _ => format!("found {}, expected {}", finding.found, finding.expected),
    };
    let copies = match finding.sites {
        Some((affected, total)) if total > 1 && affected < total => format!(" in {affected} of {total} copies"),
        Some((_, total)) if total > 1 => format!(" in all {total} copies"),
        _ => String::new(),
    };
    let copies = if group == Group::Baseline { String::new() } else { copies };
    let causes = finding.causes.join("; ");
    let separator = if causes.is_empty() { "" } else { ": " };
    (label, format!("{found}{copies}{separator}{causes}"))
}
