//! How often doubtful values were wrong in programs whose values are known, by reason and compiler.
//!
//! `benches/truth` measures it and writes `rates.txt` (`docs/measured/truth.md` says how), and
//! `tests/field/table` the lines `places` (`docs/measured/field.md`). `english/rates.rs` says it in
//! words.

use strum::{EnumString, IntoStaticStr};

/// A compiler whose doubtful values were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
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
        self.into()
    }

    /// The version that was measured.
    #[must_use]
    pub fn version(self) -> &'static str {
        fact(self.as_str())
    }
}

/// The programs whose values were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Programs {
    /// Programs that a generator wrote.
    Generated,
    /// Those of other seeds.
    More,
    /// Lua and ripgrep.
    Real,
    /// SQLite, QuickJS and zstd, with markers at random places (`docs/measured/field.md`).
    Places,
    /// The builds in the table of `docs/measured/field.md` that have wrong values for this reason.
    Field,
}

impl Programs {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Generated, Self::More, Self::Real, Self::Places, Self::Field];

    /// The word for them in the data.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// How many values were compared, and how many of them were wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The values that were called doubtful for this reason.
    pub values: u64,
    /// Those of them that the source did not have.
    pub wrong: u64,
    /// The real programs that have these.
    pub shown_by: &'static str,
}

/// What was measured. A line that starts with `#` is a comment. `measured DATE`, and `COMPILER
/// VERSION`, precede the counts: `PROGRAMS COMPILER REASON VALUES WRONG`, and the names of the real
/// programs with wrong ones. `all` has counts of all reasons together, of each compiler: `COMPILER
/// VALUES WRONG`. `before COMPILER REASON PROGRAMS` names the programs that a rule was made for.
const DATA: &str = include_str!("rates.txt");

/// When it was measured.
#[must_use]
pub fn measured() -> &'static str {
    fact("measured")
}

/// How often values of other real programs by a compiler were wrong that were called doubtful, for all
/// reasons together, rounded; `None` if there were none.
#[must_use]
pub fn field(compiler: Compiler) -> Option<Rate> {
    let mut words = fact("all").split_whitespace().skip_while(|word| *word != compiler.as_str()).skip(1);
    let mut number = || words.next()?.parse().ok();
    Some(Rate { values: number()?, wrong: number()?, shown_by: "" })
}

/// How often values by a compiler that are doubtful for this reason were wrong; `None` if there was no
/// such value.
#[must_use]
pub fn rate(programs: Programs, compiler: Compiler, reason: &str) -> Option<Rate> {
    let mut words = fact(&format!("{} {} {reason}", programs.as_str(), compiler.as_str())).splitn(3, ' ');
    let mut number = || words.next()?.parse().ok();
    let (values, wrong) = (number()?, number()?);
    Some(Rate { values, wrong, shown_by: words.next().unwrap_or_default() }).filter(|rate| rate.values > 0)
}

/// The programs in which values by a compiler were called live or constant and were wrong before there was
/// this reason; empty if none is known.
#[must_use]
pub fn before(compiler: Compiler, reason: &str) -> &'static str {
    fact(&format!("before {} {reason}", compiler.as_str()))
}

/// The rest of the line that starts with these words; empty without one.
fn fact(words: &str) -> &'static str {
    let mut lines = DATA.lines().filter_map(|line| line.strip_prefix(words)?.strip_prefix(' '));
    lines.next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::resolve::Reason;

    #[test]
    fn every_line_is_known() {
        assert!(!measured().is_empty());
        assert!(Compiler::ALL.into_iter().all(|compiler| !compiler.version().is_empty()));
        for line in DATA.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["measured", _] => {}
                ["before", compiler, name, _, ..] => {
                    assert!(Reason::doubt(name).is_some(), "{line}");
                    assert!(!before(compiler.parse().expect(line), name).is_empty(), "{line}");
                }
                ["all", ..] => assert!(Compiler::ALL.into_iter().all(|compiler| field(compiler).is_some())),
                [compiler, _] => assert!(compiler.parse::<Compiler>().is_ok(), "{line}"),
                [programs, compiler, name, values, wrong, shown_by @ ..] => {
                    let programs = programs.parse().expect(line);
                    let compiler = compiler.parse().expect(line);
                    let found = rate(programs, compiler, Reason::doubt(name).expect(line)).expect(line);
                    assert_eq!([found.values, found.wrong], [values, wrong].map(|it| it.parse::<u64>().expect(line)));
                    assert_eq!(found.shown_by, shown_by.join(" "));
                    assert!(found.wrong <= found.values, "{line}");
                    // Whoever reads of wrong values of real programs reads which programs have them.
                    let is_real = !matches!(programs, Programs::Generated | Programs::More);
                    assert_eq!(is_real && found.wrong > 0, !found.shown_by.is_empty(), "{line}");
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
            let (values, wrong) = (values.parse().expect(line), wrong.parse().expect(line));
            let of_page = Some(Rate { values, wrong, shown_by: "" }).filter(|rate| rate.values > 0);
            assert_eq!(rate(Programs::Generated, compiler, Reason::doubt(name).expect(line)), of_page, "{line}");
            count += 1;
        }
        assert!(count > 20, "{count}");
        let counted = DATA.lines().filter(|line| line.starts_with("generated ")).count();
        assert!(counted <= count, "{counted}");
    }

    /// `tests/field/table` writes both.
    #[test]
    fn programs_in_the_field_are_those_of_the_page() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/measured/field.md");
        let page = fs::read_to_string(page).expect("the page");
        let (_, table) = page.split_once("<!-- table: field -->").expect("the table");
        let (table, _) = table.split_once("<!-- end -->").expect("its end");
        let mut of_page = BTreeMap::<_, (u64, u64, BTreeSet<&str>)>::new();
        for line in table.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let ["", program, built_by, .., reasons, ""] = cells.as_slice() else { continue };
            let Some(Ok(compiler)) = built_by.split(' ').next().map(str::parse) else { continue };
            for reason in reasons.split(", ").filter(|reason| !reason.is_empty()) {
                let [name, wrong, "of", values] = reason.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
                let sum = of_page.entry((compiler, name.trim_matches('`'))).or_default();
                sum.0 += values.parse::<u64>().expect(line);
                sum.1 += wrong.parse::<u64>().expect(line);
                sum.2.extend(program.split(' ').next());
            }
        }
        assert!(of_page.len() > 5, "{of_page:?}");
        for compiler in Compiler::ALL {
            for reason in Reason::doubts() {
                let found = rate(Programs::Field, compiler, reason);
                let found = found.map(|it| (it.values, it.wrong, it.shown_by.split(", ").collect()));
                assert_eq!(found, of_page.remove(&(compiler, *reason)), "{} {reason}", compiler.as_str());
            }
        }
        assert!(of_page.is_empty(), "{of_page:?}");
    }

    /// A rule that refuses only right values does not pay.
    #[test]
    fn every_reason_was_right_somewhere() {
        for reason in Reason::doubts() {
            let is_wrong = |(of, compiler)| rate(of, compiler, reason).is_some_and(|rate| rate.wrong > 0);
            let all = || Programs::ALL.into_iter().flat_map(|of| Compiler::ALL.map(|compiler| (of, compiler)));
            let is_before = |compiler| !before(compiler, reason).is_empty();
            assert!(all().any(is_wrong) || Compiler::ALL.into_iter().any(is_before), "{reason}");
        }
    }
}
