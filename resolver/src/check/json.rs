//! Writes a report as JSON, schema 1 (`docs/check-schema.json`, `docs/check.md`). Absent values are
//! null, not missing.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Finding, Report, Severity};
use crate::english;

/// The version of the fields. A version may gain fields, but not change them.
const SCHEMA: u32 = 1;

/// Writes the report, indented, with a final newline.
///
/// # Errors
///
/// Those of `out`.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(report))?;
    writeln!(out)
}

fn document(report: &Report) -> Value {
    let summary = report.summary();
    json!({
        "schema": SCHEMA,
        "tool": { "name": "smark", "version": env!("CARGO_PKG_VERSION") },
        "holds": report.holds(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "notes": report.notes.iter().map(english::check::remark).collect::<Vec<_>>(),
        "failures": report.failures,
        "summary": {
            "markers": summary.markers,
            "errors": summary.errors,
            "warnings": summary.warnings,
            "excepted": summary.excepted,
        },
    })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "code": finding.code.as_str(),
        "name": finding.name(),
        "group": finding.group(),
        "severity": if finding.severity == Severity::Deny { "error" } else { "warning" },
        "denied": finding.is_denied(),
        "marker": &*finding.marker,
        "file": &*finding.file,
        "line": finding.line,
        "column": finding.column,
        "image": finding.image.as_deref(),
        "argument": finding.argument.as_deref(),
        "reasons": finding.reasons,
        "sites": finding.sites.map(|(affected, total)| json!({ "affected": affected, "total": total })),
        "functions": finding.functions.iter().map(|function| &**function).collect::<Vec<_>>(),
        "message": english::check::message(finding),
        "expected": english::check::expected(finding),
        "found": english::check::found(finding),
        "causes": finding.causes.iter().map(english::check::cause).collect::<Vec<_>>(),
        "help": english::help::help(finding),
        "exception": finding.exception.as_ref().map(|exception| json!({ "reason": english::check::exception(exception) })),
    })
}
