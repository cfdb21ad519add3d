//! Counts of values by class, as tables in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::form::Form;
use super::row::Row;

/// Counts of the values that are called live or constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Values that were compared.
    pub values: usize,
    /// Values that differ.
    pub wrong: usize,
    /// Booleans whose lowest bit is right.
    pub masked: usize,
    /// Pointers to another value.
    pub behind: usize,
    /// Values that could not be read.
    pub unreadable: usize,
}

impl Count {
    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        self.values += row.right + row.masked + row.wrong_behind + row.wrong;
        self.wrong += row.wrong;
        self.masked += row.masked;
        self.behind += row.wrong_behind;
        self.unreadable += row.unreadable;
    }

    /// Wrong values of a million.
    #[must_use]
    pub fn per_million(&self) -> f64 {
        if self.values == 0 { 0.0 } else { self.wrong as f64 * 1e6 / self.values as f64 }
    }
}

/// The counts of all rows that are called live or constant.
#[must_use]
pub fn total(rows: &[Row]) -> Count {
    let mut count = Count::default();
    rows.iter().filter(|row| row.is_claimed()).for_each(|row| count.add(row));
    count
}

/// The counts of one build.
#[derive(Default)]
struct OfBuild {
    whole: Count,
    forms: BTreeMap<Form, Count>,
    readable: usize,
    arguments: usize,
}

/// A table of the compilers and levels, with the wrong values of each form.
#[must_use]
pub fn by_build(rows: &[Row]) -> String {
    let mut of: BTreeMap<String, OfBuild> = BTreeMap::new();
    for row in rows {
        let build = &row.build;
        let lto = if build.lto == "none" { String::new() } else { format!(" {} LTO", build.lto) };
        let name = format!("{} O{}{lto} dwarf {} {}", build.compiler, build.level, build.dwarf, build.variant);
        let counts = of.entry(name).or_default();
        counts.arguments += 1;
        if row.is_claimed() {
            counts.readable += 1;
            counts.whole.add(row);
            counts.forms.entry(row.form).or_default().add(row);
        }
    }
    let forms: Vec<_> = Form::ALL.into_iter().filter(|form| *form != Form::None).collect();
    let mut text = "| build | arguments | readable | values | wrong | in 10^6 | _Bool | behind |".to_owned();
    for form in &forms {
        let _ = write!(text, " {} |", form.as_str());
    }
    text.push_str("\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    forms.iter().for_each(|_| text.push_str(" ---: |"));
    text.push('\n');
    for (name, OfBuild { whole, forms: by_form, readable, arguments }) in &of {
        let share = 100.0 * *readable as f64 / (*arguments).max(1) as f64;
        let Count { values, wrong, masked, behind, .. } = whole;
        let rate = whole.per_million();
        let _ = write!(
            text,
            "| {name} | {arguments} | {share:.1} % | {values} | {wrong} | {rate:.0} | {masked} | {behind} |"
        );
        for form in &forms {
            let _ = match by_form.get(form) {
                Some(count) => write!(text, " {} of {} |", count.wrong, count.values),
                None => write!(text, " |"),
            };
        }
        text.push('\n');
    }
    text
}

/// A table of the forms of location and place for each compiler.
#[must_use]
pub fn by_form(rows: &[Row]) -> String {
    let mut of = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_claimed() && row.passes > 0) {
        let key = (&*row.build.compiler, row.verdict, row.form, row.place, row.begins, row.is_anchored);
        let (places, count): &mut (usize, Count) = of.entry(key).or_default();
        *places += 1;
        count.add(row);
    }
    let mut text =
        "| compiler | verdict | location | place | begins at the site | anchored | places | values | wrong | \
                    in 10^6 |\n| --- | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: |\n"
            .to_owned();
    let yes = |is_so| if is_so { "yes" } else { "" };
    for ((compiler, verdict, form, place, begins, anchored), (places, count)) in &of {
        let _ = writeln!(
            text,
            "| {compiler} | {verdict} | {} | {place} | {} | {} | {places} | {} | {} | {:.0} |",
            form.as_str(),
            yes(*begins),
            yes(*anchored),
            count.values,
            count.wrong,
            count.per_million()
        );
    }
    text
}

/// A line for each argument with a wrong value, for minimising.
#[must_use]
pub fn wrong(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.is_claimed() && row.wrong > 0) {
        let build = &row.build;
        let first = row.json()["first_wrong"].clone();
        let _ = writeln!(
            text,
            "{} {} -O{} lto={} dwarf={} {}: {}:{} {} {} in {}: {} {} {} `{}`{}{}: {} of {} wrong; pass {}: true {}, ours {}",
            build.program,
            build.compiler,
            build.level,
            build.lto,
            build.dwarf,
            build.variant,
            row.file,
            row.line,
            row.marker,
            row.argument,
            row.function,
            row.verdict,
            row.form.as_str(),
            row.type_name,
            row.location,
            if row.begins { " begins" } else { "" },
            if row.ends { " ends" } else { "" },
            row.wrong,
            row.passes,
            first["pass"],
            first["truth"],
            first["ours"],
        );
    }
    text
}
