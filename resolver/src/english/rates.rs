//! How often doubtful values were wrong.

use std::fmt::Write as _;

use super::arguments::doubt;
use crate::rates::{Compiler, Programs, Rate, before, field, measured, rate};
use crate::resolve::Reason;

/// The programs with their preposition.
fn programs(of: Programs) -> &'static str {
    match of {
        Programs::Generated => "in generated programs",
        Programs::More => "in others of these",
        Programs::Real => "in Lua and ripgrep",
        Programs::Places => "in SQLite, QuickJS and zstd",
        Programs::Field => "in builds that show it",
    }
}

/// The programs with their preposition, and those that have wrong values.
fn shown(of: Programs, rate: Rate) -> String {
    match rate.shown_by {
        "" => programs(of).to_owned(),
        names if of == Programs::Field => format!("in builds of {names}"),
        names => format!("{} ({names})", programs(of)),
    }
}

/// A number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `3 of 1,204`.
fn share(rate: Rate) -> String {
    format!("{} of {}", grouped(rate.wrong), grouped(rate.values))
}

/// How often such values by a compiler were wrong: `wrong in 3 of 1,204 such values by clang in
/// generated programs`. `None` if there were none.
pub(crate) fn wrong(compiler: Compiler, reason: &str) -> Option<String> {
    let mut words = String::new();
    for of in Programs::ALL {
        let Some(rate) = rate(of, compiler, reason) else { continue };
        // Writing to a String cannot fail.
        let _ = match words.is_empty() {
            true => write!(words, "wrong in {} such values by {} {}", share(rate), compiler.as_str(), shown(of, rate)),
            false => write!(words, ", in {} {}", share(rate), shown(of, rate)),
        };
    }
    let _ = match (before(compiler, reason), words.is_empty()) {
        ("", _) => Ok(()),
        (values, true) => write!(words, "wrong by {} before this rule: {values}", compiler.as_str()),
        (values, false) => write!(words, ", before this rule {values}"),
    };
    (!words.is_empty()).then_some(words)
}

/// When it was measured, and with which compilers.
fn conditions() -> String {
    let versions = Compiler::ALL.map(|compiler| format!("{} {}", compiler.as_str(), compiler.version()));
    format!("measured on {} with {}", measured(), versions.join(", "))
}

/// A line for each reason, programs and compiler with the number of wrong values among all that were
/// compared.
pub(crate) fn table() -> String {
    let mut out = format!("How often such values were wrong, {}:\n\n", conditions());
    let cell = |of, compiler, reason| rate(of, compiler, reason).map_or_else(|| "-".to_owned(), share);
    let is_there = |of, reason| Compiler::ALL.iter().any(|with| rate(of, *with, reason).is_some());
    for of in Programs::ALL.into_iter().filter(|of| Reason::doubts().iter().any(|reason| is_there(*of, reason))) {
        let _ = writeln!(out, "    {:<28}{:>18}{:>18}{:>18}", programs(of), "gcc", "clang", "rustc");
        for reason in Reason::doubts().iter().filter(|reason| is_there(of, reason)) {
            let _ = write!(out, "    {reason:<28}");
            for compiler in Compiler::ALL {
                let _ = write!(out, "{:>18}", cell(of, compiler, reason));
            }
            out.push('\n');
        }
        out.push('\n');
    }
    let others =
        Compiler::ALL.into_iter().filter_map(|with| Some(format!("{} by {}", share(field(with)?), with.as_str())));
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        let _ = writeln!(
            out,
            "In quickjs, SQLite, zstd, jaq and other programs with markers at random places, for all reasons together: about\n{}.\n",
            others.join(", ")
        );
    }
    let _ = writeln!(out, "`smark explain REASON` says what a reason means.");
    out
}

/// What a reason means, and how often values with it were wrong.
pub(crate) fn explained(reason: &str) -> String {
    let mut out = format!("SM038.{reason}: a doubtful argument ({})\n\n", crate::verdicts::Code::Doubtful.name());
    let meaning = doubt(reason);
    let _ = writeln!(
        out,
        "{}{}.\n",
        meaning.get(..1).unwrap_or_default().to_uppercase(),
        meaning.get(1..).unwrap_or_default()
    );
    let _ = writeln!(out, "How often such values were wrong, {}:\n", conditions());
    let mut is_empty = true;
    for compiler in Compiler::ALL {
        for of in Programs::ALL {
            if let Some(rate) = rate(of, compiler, reason) {
                is_empty = false;
                let _ = writeln!(out, "    {:<8}{:>20} {}", compiler.as_str(), share(rate), shown(of, rate));
            }
        }
        let values = before(compiler, reason);
        if !values.is_empty() {
            is_empty = false;
            let _ = writeln!(out, "    {:<8}{values} before this rule", compiler.as_str());
        }
    }
    if is_empty {
        let _ = writeln!(out, "    there were none");
    }
    let _ = writeln!(
        out,
        "\nFix: as of SM038 (`smark explain SM038`). `smark check --allow SM038.{reason}` accepts such arguments."
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_groups() {
        let numbers = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn every_reason_has_a_meaning() {
        assert!(Reason::doubts().iter().all(|reason| doubt(reason) != doubt("")));
        assert_eq!(wrong(Compiler::Gcc, ""), None);
        let words = wrong(Compiler::Clang, "begins_here").expect("there were some");
        assert!(
            words.starts_with("wrong in ") && words.contains(" such values by clang in generated programs"),
            "{words}"
        );
        assert!(table().contains("begins_here"));
        assert!(explained("replaced").starts_with("SM038.replaced"));
    }
    /// `docs/json.md` has the same words.
    #[test]
    fn the_table_is_the_one_in_docs() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/json.md");
        let page = std::fs::read_to_string(path).expect("the page");
        let (start, rest) = page.split_once("<!-- table: doubts -->\n").expect("the table");
        let (_, end) = rest.split_once("<!-- end -->").expect("its end");
        let mut table = "| `reason` of a doubtful argument | what is not certain |\n| --- | --- |\n".to_owned();
        for reason in Reason::doubts() {
            let _ = writeln!(table, "| `{reason}` | {} |", doubt(reason));
        }
        let expected = format!("{start}<!-- table: doubts -->\n{table}<!-- end -->{end}");
        if page != expected && std::env::var_os("WRITE_DOCS").is_some() {
            std::fs::write(path, &expected).expect("the page is written");
        }
        assert!(page == expected, "docs/json.md is not what WRITE_DOCS=1 cargo test -p simple-markers-resolver writes");
    }
}
