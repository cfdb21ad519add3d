//! The tables of `docs/measured/truth.md`: how far debug information can be believed, and how far
//! our verdicts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::form::Form;
use super::row::Row;
use super::tables::Count;

/// The counts of a class: of all values that the debug information describes, and of those that are
/// called live or constant.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    described: Count,
    claimed: Count,
    /// Arguments at all sites, those with a described value, and those called live or constant.
    arguments: usize,
    is_described: usize,
    is_claimed: usize,
}

impl Class {
    fn add(&mut self, row: &Row) {
        self.arguments += 1;
        if row.is_described() {
            self.is_described += 1;
            self.described.add(row);
        }
        if row.is_claimed() {
            self.is_claimed += 1;
            self.claimed.add(row);
        }
    }

    fn cells(&self) -> String {
        let share = |count: usize| 100.0 * count as f64 / self.arguments.max(1) as f64;
        format!(
            "{} | {} | {} | {:.1} | {} | {} | {:.1} |",
            self.described.values,
            self.described.wrong,
            rate(&self.described),
            share(self.is_described),
            self.claimed.values,
            self.claimed.wrong,
            share(self.is_claimed)
        )
    }
}

const COLUMNS: &str = "values described | wrong | in 100 | arguments described, % | values called live or constant | wrong | \
                       arguments, % |\n";

const LINES: &str = "---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";

fn rate(count: &Count) -> String {
    match (count.values, count.wrong) {
        (0, _) => String::new(),
        (_, 0) => "0".to_owned(),
        _ => format!("{:.2}", count.per_million() / 1e4),
    }
}

/// The kind of program of a row.
fn program(row: &Row) -> &str {
    match &*row.build.program {
        seed if seed.starts_with("seed") && seed.contains("rich") => "generated, rich",
        seed if seed.starts_with("seed") && seed.contains("used") => "generated, used",
        seed if seed.starts_with("seed") => "generated, plain",
        name => name,
    }
}

fn build(row: &Row) -> String {
    let lto = if row.build.lto == "none" { String::new() } else { format!(", {} LTO", row.build.lto) };
    format!("{} `-O{}`{lto}", row.build.compiler, row.build.level)
}

/// A table of the compilers and of the markers with and without an anchor.
fn by_compiler(rows: &[Row]) -> String {
    let mut of: BTreeMap<(&str, bool), Class> = BTreeMap::new();
    for row in rows {
        of.entry((&row.build.compiler, row.is_anchored)).or_default().add(row);
    }
    let mut table =
        "| compiler | anchored | values described | wrong, % | values called live or constant | wrong, % | \
                     of the described values, % | arguments described, % | arguments called live or constant, % |\n\
                     | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
            .to_owned();
    for ((compiler, is_anchored), class) in &of {
        let Class { described, claimed, arguments, is_described, is_claimed } = class;
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let _ = writeln!(
            table,
            "| {compiler} | {} | {} | {} | {} | {} | {:.1} | {:.1} | {:.1} |",
            anchored(*is_anchored),
            described.values,
            rate(described),
            claimed.values,
            rate(claimed),
            share(claimed.values, described.values),
            share(*is_described, *arguments),
            share(*is_claimed, *arguments)
        );
    }
    table
}

/// A table of the verdicts on described arguments, and of the reasons of doubtful ones.
fn by_verdict(rows: &[Row]) -> String {
    let mut of: BTreeMap<_, Class> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_described() && row.form != Form::Kept) {
        let reason = row.reason.filter(|_| !row.is_claimed()).unwrap_or_default();
        of.entry((&row.build.compiler, row.verdict, reason)).or_default().add(row);
    }
    let mut table = "| compiler | verdict | reason | values described | wrong | in 100 |\n\
                     | --- | --- | --- | ---: | ---: | ---: |\n"
        .to_owned();
    for ((compiler, verdict, reason), Class { described, .. }) in &of {
        let (values, wrong) = (described.values, described.wrong);
        let _ = writeln!(table, "| {compiler} | {verdict} | {reason} | {values} | {wrong} | {} |", rate(described));
    }
    table
}

fn anchored(is_anchored: bool) -> &'static str {
    if is_anchored { "yes" } else { "" }
}

fn table<K: Ord>(rows: &[Row], heads: &str, key: impl Fn(&Row) -> Option<K>, text: impl Fn(&K) -> String) -> String {
    let mut of: BTreeMap<K, Class> = BTreeMap::new();
    for row in rows {
        if let Some(key) = key(row) {
            of.entry(key).or_default().add(row);
        }
    }
    let columns = heads.matches('|').count();
    let mut table = format!("| {heads} {COLUMNS}|{} {LINES}", " --- |".repeat(columns));
    for (key, class) in &of {
        let _ = writeln!(table, "| {} | {}", text(key), class.cells());
    }
    table
}

/// The tables of the page, each with the name in its comment.
#[must_use]
pub fn tables(rows: &[Row]) -> Vec<(&'static str, String)> {
    vec![
        ("compilers", by_compiler(rows)),
        (
            "builds",
            table(
                rows,
                "program | compiler | anchored |",
                |row| Some((program(row).to_owned(), build(row), row.is_anchored)),
                |(program, build, is_anchored)| format!("{program} | {build} | {}", anchored(*is_anchored)),
            ),
        ),
        (
            "forms",
            table(
                rows,
                "compiler | what the location is | anchored |",
                |row| row.is_described().then(|| (row.build.compiler.clone(), row.form, row.is_anchored)),
                |(compiler, form, is_anchored)| format!("{compiler} | {} | {}", form.as_str(), anchored(*is_anchored)),
            ),
        ),
        ("verdicts", by_verdict(rows)),
        (
            "dwarf",
            table(
                rows,
                "compiler | version of DWARF |",
                |row| Some((row.build.compiler.clone(), row.build.dwarf)),
                |(compiler, dwarf)| format!("{compiler} | {dwarf}"),
            ),
        ),
    ]
}
