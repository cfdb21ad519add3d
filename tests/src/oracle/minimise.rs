//! Finds a small program with a wrong value.

use std::fs;

use super::builds::{With, twin};
use super::corpus::{Job, Run, variant};
use super::row::Row;
use crate::generator::{Rich, Tongue};

/// Minimises the rich program of a seed while some value that is called live or constant stays
/// wrong, with a location of the same form as the first wrong one that `is_meant` accepts. The job
/// has one build. Returns the text, and the wrong values of it.
///
/// # Errors
///
/// The program has no such value, or the job is not one of such a program.
pub fn minimise(
    seed: u64,
    functions: usize,
    job: &Job,
    run: &Run,
    is_meant: &dyn Fn(&Row) -> bool,
) -> Result<(String, Vec<Row>), String> {
    let variant = variant(&job.variant).ok_or("no kind of markers")?;
    let extension = job.source.extension().and_then(|extension| extension.to_str());
    let tongue = match (job.with, extension) {
        (With::Rustc, _) => Tongue::Rust,
        (_, Some("cc")) => Tongue::Cxx,
        _ => Tongue::C,
    };
    let wrong = |rich: &Rich| -> Vec<Row> {
        let image = run.folder.join("minimised-twin");
        let written = fs::write(&job.source, rich.text(tongue, variant));
        // Most candidates that do not compile are found here, faster than by the optimised build.
        if written.is_err() || twin(std::slice::from_ref(&job.source), job.with, &image).is_err() {
            return Vec::new();
        }
        let Ok(found) = job.examine(run) else { return Vec::new() };
        if found.iter().any(|found| !found.complaints.is_empty()) {
            return Vec::new();
        }
        let rows = found.into_iter().flat_map(|found| found.rows);
        rows.filter(|row| row.is_claimed() && row.wrong > 0 && is_meant(row)).collect()
    };
    let rich = Rich::generate(seed, functions, job.program.contains("used"));
    let first = wrong(&rich).into_iter().next().ok_or("it has no such value")?;
    let is_same = |row: &Row| row.form == first.form && row.begins == first.begins;
    let smallest = rich.minimise(&mut |candidate| wrong(candidate).iter().any(is_same));
    let rows = wrong(&smallest);
    Ok((smallest.text(tongue, variant), rows))
}
