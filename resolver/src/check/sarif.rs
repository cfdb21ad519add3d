//! A report as SARIF 2.1.0 (OASIS), for GitHub's code scanning and for editors.
//!
//! A finding that is excepted is a result with a suppression. The fingerprint of a finding uses
//! only what stays the same if lines move: code, marker, file and argument.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::fix::{self, FindSource};
use super::{Finding, Report, Severity, policy};
use crate::english;
use crate::resolve::Resolution;
use crate::verdicts;

/// The version of the fingerprints. It changes if their ingredients change.
const FINGERPRINT: &str = "smark/v1";
/// The base of relative file names.
const ROOT: &str = "SRCROOT";
/// Where the codes are explained.
const HELP: &str = "`smark explain` says more";

/// Writes the report, indented, with a final newline. The indexes of the findings refer to
/// `resolution`. A finding has a fix if an edit of the marker helps and the source is available.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    out: &mut dyn Write,
    resolution: &Resolution,
    report: &Report,
    sources: &mut FindSource<'_>,
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(resolution, report, sources))?;
    writeln!(out)
}

fn document(resolution: &Resolution, report: &Report, sources: &mut FindSource<'_>) -> Value {
    let rules: Vec<Value> = policy::codes().filter_map(verdicts::explanation).map(rule).collect();
    let results: Vec<Value> = report.findings.iter().map(|finding| result(resolution, finding, sources)).collect();
    let notification = |(level, text)| json!({ "level": level, "message": { "text": text } });
    let failures = report.failures.iter().map(|failure| ("error", failure.clone()));
    let notes = report.notes.iter().map(|note| ("note", english::check::remark(note)));
    let notes: Vec<Value> = failures.chain(notes).map(notification).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver(env!("CARGO_PKG_REPOSITORY"), rules) },
            "invocations": [{ "executionSuccessful": report.failures.is_empty(), "toolExecutionNotifications": notes }],
            "originalUriBaseIds": { ROOT: { "description": { "text": "The folder that the check ran in." } } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// The tool, at the address that `repository` in Cargo.toml gives. Empty, it is left out: SARIF takes only
/// an absolute URI (2.1.0, 3.19.17).
fn driver(address: &str, rules: Vec<Value>) -> Value {
    let mut driver = Map::new();
    driver.insert("name".to_owned(), "smark".into());
    driver.insert("semanticVersion".to_owned(), env!("CARGO_PKG_VERSION").into());
    if !address.is_empty() {
        driver.insert("informationUri".to_owned(), address.into());
    }
    driver.insert("rules".to_owned(), rules.into());
    Value::Object(driver)
}

fn rule(explanation: &verdicts::Explanation) -> Value {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let meaning = words(explanation.meaning);
    let first = meaning.split_once(". ").map_or(meaning.clone(), |(first, _)| format!("{first}."));
    let level = level(policy::Policy::default().severity(explanation.code));
    let fix = words(explanation.fix);
    json!({
        "id": explanation.code.as_str(),
        "name": explanation.code.name().split(' ').map(capitalised).collect::<String>(),
        "shortDescription": { "text": first },
        "fullDescription": { "text": meaning },
        "help": { "text": format!("{fix} ({HELP}.)") },
        "defaultConfiguration": { "level": level },
        "properties": { "tags": [explanation.code.group().as_str()] },
    })
}

fn result(resolution: &Resolution, finding: &Finding, sources: &mut FindSource<'_>) -> Value {
    let mut result = Map::new();
    let rule = policy::codes().position(|code| code == finding.code);
    result.insert("ruleId".to_owned(), finding.code.as_str().into());
    result.extend(rule.map(|rule| ("ruleIndex".to_owned(), rule.into())));
    result.insert("level".to_owned(), level(finding.severity).into());
    result.insert("message".to_owned(), json!({ "text": text(finding) }));
    let mut location = Map::new();
    if !finding.file.is_empty() {
        location.insert("physicalLocation".to_owned(), physical(finding));
    }
    let logical = json!([{ "name": &*finding.marker, "kind": "object" }]);
    location.insert("logicalLocations".to_owned(), logical);
    result.insert("locations".to_owned(), json!([location]));
    let argument = finding.argument.as_deref().unwrap_or_default();
    let fingerprint = [finding.code.as_str(), &finding.marker, &finding.file, argument].join("\0");
    result.insert("partialFingerprints".to_owned(), json!({ FINGERPRINT: digest(&fingerprint) }));
    let image = finding.image.as_deref();
    result.insert("properties".to_owned(), json!({ "marker": &*finding.marker, "argument": argument, "image": image }));
    if let Some(fix) = fix(resolution, finding, sources) {
        result.insert("fixes".to_owned(), json!([fix]));
    }
    if let Some(exception) = &finding.exception {
        let suppression = json!([{ "kind": "external", "justification": english::check::exception(exception) }]);
        result.insert("suppressions".to_owned(), suppression);
    }
    Value::Object(result)
}

/// The change to the source that fixes a finding (SARIF 2.1.0, 3.55).
fn fix(resolution: &Resolution, finding: &Finding, sources: &mut FindSource<'_>) -> Option<Value> {
    let (image, marker) = finding.index?;
    let edits = fix::edits_for(resolution, finding)?.ok()?;
    let source = sources((image, marker))?;
    let marker = resolution.images.get(image)?.markers.get(marker)?;
    let correction = source.file.correct(marker, &edits).ok()?;
    let position = |at: usize| {
        let before = source.file.bytes().get(..at).unwrap_or_default();
        let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let lines = before.iter().filter(|byte| **byte == b'\n').count();
        // SARIF does not count a byte order mark.
        let column = String::from_utf8_lossy(line).trim_start_matches('\u{feff}').chars().count();
        (lines.saturating_add(1), column.saturating_add(1))
    };
    let replacement = |replacement: &fix::Replacement| {
        let (start, end) = (position(replacement.range.start), position(replacement.range.end));
        json!({
            "deletedRegion": { "startLine": start.0, "startColumn": start.1, "endLine": end.0, "endColumn": end.1 },
            "insertedContent": { "text": replacement.text },
        })
    };
    let replacements: Vec<Value> = correction.replacements.iter().map(replacement).collect();
    let description = if edits.anchor { "Anchor the marker" } else { "Keep the argument" };
    Some(json!({
        "description": { "text": description },
        "artifactChanges": [{ "artifactLocation": artifact(finding), "replacements": replacements }],
    }))
}

fn artifact(finding: &Finding) -> Value {
    match finding.file.starts_with('/') {
        true => json!({ "uri": format!("file://{}", uri(&finding.file)) }),
        false => json!({ "uri": uri(&finding.file), "uriBaseId": ROOT }),
    }
}

fn physical(finding: &Finding) -> Value {
    let artifact = artifact(finding);
    match finding.line {
        Some(line) => {
            let mut region = json!({ "startLine": line });
            if let (Some(column), Some(region)) = (finding.column, region.as_object_mut()) {
                region.insert("startColumn".to_owned(), column.into());
            }
            json!({ "artifactLocation": artifact, "region": region })
        }
        None => json!({ "artifactLocation": artifact }),
    }
}

fn text(finding: &Finding) -> String {
    let mut text = format!(
        "{}. Found: {}. Expected: {}.",
        english::check::message(finding),
        english::check::found(finding),
        english::check::expected(finding)
    );
    for cause in &finding.causes {
        text.push_str(&format!(" Cause: {}.", english::check::cause(cause)));
    }
    text.push_str(&format!(" Help: {}.", english::help::help(finding)));
    text
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Deny => "error",
        Severity::Warn => "warning",
        Severity::Allow => "none",
    }
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// A file name as the path of a URI (RFC 3986, 3.3). Backslashes become slashes.
fn uri(file: &str) -> String {
    let mut uri = String::with_capacity(file.len());
    for byte in file.bytes() {
        match byte {
            b'\\' => uri.push('/'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' | b'+' | b'@' => {
                uri.push(byte.into());
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The 64-bit FNV-1a hash in hexadecimal, which is the same on every machine and in every version.
fn digest(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{digest, driver, uri};

    #[test]
    fn the_tool_has_an_address_once_the_package_has_one() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(driver("", Vec::new()), json!({ "name": "smark", "semanticVersion": version, "rules": [] }));
        assert_eq!(
            driver("https://example.org/markers", Vec::new()),
            json!({ "name": "smark", "semanticVersion": version, "informationUri": "https://example.org/markers", "rules": [] })
        );
    }

    #[test]
    fn files_are_uris_and_fingerprints_are_fnv() {
        assert_eq!(uri("src/a b%.c"), "src/a%20b%25.c");
        assert_eq!(uri("src\\\u{e9}.c"), "src/%C3%A9.c");
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(digest("a"), "af63dc4c8601ec8c");
    }
}
