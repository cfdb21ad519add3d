//! How often doubtful values were wrong.

use std::fmt::Write as _;

use crate::rates::{Compiler, Programs, REASONS, Rate, before, field, measured, rate};

/// What is not certain about a value that is doubtful for this reason.
fn meaning(reason: &str) -> &'static str {
    match reason {
        "replaced" => "its location changes at the site, and nothing tells whether before or after the marker",
        "begins_here" => "its location begins at the site, and there is none before it",
        "computed" => "the compiler describes it as a computation, in a form that was wrong before",
        "overwritten_unread" => "it is in memory that is overwritten before anything reads it",
        "never_read_again" => "it is in memory that nothing reads after the site",
        "assigned_late" => "an assignment before the marker has its instruction after the site",
        "parameter_in_loop" => "a loop assigns the parameter, and may have been a recursion",
        "stored_over" => "the function keeps the parameter in its frame too, and stores another value there",
        "copied_from" => "it begins to share a register with a variable that is declared later",
        "other_constant" => "it is described as a constant, and the code comes from where it is described otherwise",
        "step_ahead" => {
            "a loop steps its register, and the code uses the value before that too, so it may be a step ahead"
        }
        "same_in_copy" => {
            "two copies of the marker in an unrolled loop have one constant, and others have another one each"
        }
        "written_inlined" => "an inlined function may have assigned it through a pointer, and the constant is older",
        "not_tracked" => "gcc describes it for all of its scope in one place, which has other values too",
        "not_in_frame" => "it is behind a pointer into the frame, where the code has no such object",
        "code_not_followed" => "it is in memory, and the code after the site could not be followed",
        _ => "it is not known why",
    }
}

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
    for of in Programs::ALL.into_iter().filter(|of| REASONS.iter().any(|reason| is_there(*of, reason))) {
        let _ = writeln!(out, "    {:<28}{:>18}{:>18}{:>18}", programs(of), "gcc", "clang", "rustc");
        for reason in REASONS.into_iter().filter(|reason| is_there(of, reason)) {
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
    let meaning = meaning(reason);
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
        assert!(REASONS.iter().all(|reason| meaning(reason) != meaning("")));
        assert_eq!(wrong(Compiler::Gcc, ""), None);
        let words = wrong(Compiler::Clang, "begins_here").expect("there were some");
        assert!(
            words.starts_with("wrong in ") && words.contains(" such values by clang in generated programs"),
            "{words}"
        );
        assert!(table().contains("begins_here"));
        assert!(explained("replaced").starts_with("SM038.replaced"));
    }
}
