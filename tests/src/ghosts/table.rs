//! The tables of `docs/measured/survival.md` for ghosts.

use super::tally::{Outcome, Tally, VERDICTS};

/// The head of the table whose rows [`row`] makes.
#[must_use]
pub fn head() -> String {
    let verdicts = VERDICTS.map(|verdict| format!("{} |", verdict.as_str())).join(" ");
    format!(
        "| compiler | passed | plain: live | exact | right | ghosts: located | {verdicts} other | right | likely right |\n\
         | --- {}|",
        "| ---: ".repeat(8 + VERDICTS.len())
    )
}

/// A row: plain markers and ghosts of the same programs, in percent of the markers that are passed.
/// The last number is in percent of the likely ones. Both have passed markers only.
#[must_use]
pub fn row(name: &str, plain: &Tally, ghosts: &Tally) -> String {
    let share = |count: usize| percent(count, ghosts.markers);
    let [exact, ..] = plain.outcomes();
    let outcomes = ghosts.outcomes().map(|outcome| share(outcome.all()));
    let Outcome { equal, .. } = ghosts.outcomes()[1];
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
        ghosts.markers,
        share(plain.located),
        share(exact.all()),
        share(plain.right()),
        share(ghosts.located),
        outcomes.join(" | "),
        share(ghosts.right()),
        percent(equal, ghosts.outcomes()[1].compared()),
    )
}

/// The head of the table whose rows [`promises`] makes.
pub const PROMISES: &str = "\
| compiler | ghosts | located | exact | of these wrong | likely | of these right | shared | of these fewer |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";

/// A row with numbers of markers: of those called exact, those with other hits than passes; of those
/// called likely, those that are hit as often as passed; of those called shared, those that are hit
/// less often. Leaves out what is neither passed nor hit.
#[must_use]
pub fn promises(name: &str, all: &Tally) -> String {
    let [exact, likely, shared, ..] = all.outcomes();
    let share = percent(likely.equal, likely.compared());
    format!(
        "| {name} | {} | {} | {} | {} | {} | {share} % | {} | {} |",
        all.markers,
        all.located,
        exact.compared(),
        exact.more + exact.fewer,
        likely.compared(),
        shared.compared(),
        shared.fewer
    )
}

/// A share with one decimal place; nothing for none.
fn percent(count: usize, whole: usize) -> String {
    match (count, whole) {
        (0, _) | (_, 0) => String::new(),
        _ => format!("{:.1}", 100.0 * count as f64 / whole as f64),
    }
}
