//! How often doubtful values were wrong in programs whose values are known, by reason and compiler.
//!
//! `benches/truth` measures it and writes `rates.txt` (`docs/measured/truth.md` says how), and
//! `tests/field/table` the lines `places` (`docs/measured/field.md`). `english/rates.rs` says it in
//! words.

use std::str::FromStr;

/// A compiler whose doubtful values were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compiler {
    /// gcc.
    Gcc,
    /// clang.
    Clang,
    /// rustc.
    Rustc,
}

impl Compiler {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gcc, Self::Clang, Self::Rustc];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
            Self::Rustc => "rustc",
        }
    }

    /// The version that was measured.
    #[must_use]
    pub fn version(self) -> &'static str {
        fact(self.as_str())
    }
}

impl FromStr for Compiler {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|compiler| compiler.as_str() == text).ok_or(())
    }
}

/// The programs whose values were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Programs {
    /// Programs that a generator wrote.
    Generated,
    /// Lua and ripgrep.
    Real,
    /// SQLite, QuickJS and zstd, with markers at random places (`docs/measured/field.md`).
    Places,
}

impl Programs {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Generated, Self::Real, Self::Places];

    /// The word for them in the data.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generated => "generated",
            Self::Real => "real",
            Self::Places => "places",
        }
    }
}

/// How many values were compared, and how many of them were wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The values that were called doubtful for this reason.
    pub values: u64,
    /// Those of them that the source did not have.
    pub wrong: u64,
}

/// The names of all reasons for a doubt ([`crate::resolve::Reason::name`]), in the order of their
/// documentation.
pub const REASONS: [&str; 18] = [
    "replaced",
    "begins_here",
    "computed",
    "overwritten_unread",
    "never_read_again",
    "partly_used",
    "assigned_late",
    "parameter_in_loop",
    "stored_over",
    "copied_from",
    "other_constant",
    "other_offset",
    "step_ahead",
    "same_in_copy",
    "written_inlined",
    "not_in_frame",
    "not_tracked",
    "code_not_followed",
];

/// What was measured. A line that starts with `#` is a comment. `measured DATE`, and `COMPILER
/// VERSION`, precede the counts: `PROGRAMS COMPILER REASON VALUES WRONG`. `field` has counts of all
/// reasons together, of each compiler: `COMPILER VALUES WRONG`.
const DATA: &str = include_str!("rates.txt");

/// The name of a reason for a doubt, in any case; `None` if there is no such reason.
#[must_use]
pub fn reason(name: &str) -> Option<&'static str> {
    REASONS.into_iter().find(|reason| reason.eq_ignore_ascii_case(name))
}

/// When it was measured.
#[must_use]
pub fn measured() -> &'static str {
    fact("measured")
}

/// How often values of other real programs by a compiler were wrong that were called doubtful, for all
/// reasons together, rounded; `None` if there were none.
#[must_use]
pub fn field(compiler: Compiler) -> Option<Rate> {
    let mut words = fact("field").split_whitespace().skip_while(|word| *word != compiler.as_str()).skip(1);
    let mut number = || words.next()?.parse().ok();
    Some(Rate { values: number()?, wrong: number()? })
}

/// How often values by a compiler that are doubtful for this reason were wrong; `None` if there was no
/// such value.
#[must_use]
pub fn rate(programs: Programs, compiler: Compiler, reason: &str) -> Option<Rate> {
    let key = [programs.as_str(), compiler.as_str(), reason];
    let mut counts = DATA.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        key.iter().all(|word| words.next() == Some(word)).then_some(words)
    });
    let mut words = counts.next()?;
    let mut number = || words.next()?.parse().ok();
    Some(Rate { values: number()?, wrong: number()? }).filter(|rate| rate.values > 0)
}

/// The rest of the line that starts with a word; empty without one.
fn fact(word: &str) -> &'static str {
    let mut lines = DATA.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    lines.next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_line_is_known() {
        assert!(!measured().is_empty());
        assert!(Compiler::ALL.into_iter().all(|compiler| !compiler.version().is_empty()));
        for line in DATA.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["measured", _] => {}
                ["field", ..] => assert!(Compiler::ALL.into_iter().all(|compiler| field(compiler).is_some())),
                [compiler, _] => assert!(compiler.parse::<Compiler>().is_ok(), "{line}"),
                [programs, compiler, name, values, wrong] => {
                    let programs = Programs::ALL.into_iter().find(|it| it.as_str() == *programs).expect(line);
                    let compiler = compiler.parse().expect(line);
                    let expected = Rate { values: values.parse().expect(line), wrong: wrong.parse().expect(line) };
                    assert_eq!(rate(programs, compiler, reason(name).expect(line)), Some(expected), "{line}");
                    assert!(expected.wrong <= expected.values, "{line}");
                }
                _ => panic!("{line}"),
            }
        }
        assert_eq!(rate(Programs::Generated, Compiler::Gcc, "nothing"), None);
    }

    /// Both are written by the same measurement.
    #[test]
    fn generated_programs_are_those_of_the_page() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/measured/truth.md");
        let page = fs::read_to_string(page).expect("the page");
        let mut count = 0;
        for line in page.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let ["", compiler, "doubtful", name, values, wrong, ..] = cells.as_slice() else { continue };
            let compiler = compiler.parse().expect(line);
            let of_page = Rate { values: values.parse().expect(line), wrong: wrong.parse().expect(line) };
            let of_page = Some(of_page).filter(|rate| rate.values > 0);
            assert_eq!(rate(Programs::Generated, compiler, reason(name).expect(line)), of_page, "{line}");
            count += 1;
        }
        assert!(count > 20, "{count}");
        let counted = DATA.lines().filter(|line| line.starts_with("generated ")).count();
        assert!(counted <= count, "{counted}");
    }

    #[test]
    fn every_reason_is_documented() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/json.md");
        let page = fs::read_to_string(page).expect("the page");
        let (_, table) = page.split_once("| `reason` of a doubtful argument |").expect("the table");
        let rows = table.lines().skip(2).take_while(|line| line.starts_with("| `"));
        let names: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
        assert_eq!(names, REASONS);
    }
}
