//! Why an argument is not what its conversion expects, in English.

use crate::resolve::{GivenType, Mismatch, MismatchHelp, WordsMistake};
use crate::types::Language;

use super::{bytes, dwarf};

/// Why an argument is not what its conversion expects, and what would be.
#[must_use]
pub fn mismatch(mismatch: &Mismatch) -> String {
    match mismatch {
        Mismatch::NotAConversion { conversion } => format!("`{conversion}` is no conversion that a marker can have"),
        Mismatch::Type { conversion, given: of, help: None } => format!("`{conversion}` given {}", given(of)),
        Mismatch::Type { conversion, given: of, help: Some(what) } => {
            format!("`{conversion}` given {}: {}", given(of), help(what))
        }
        Mismatch::Star { given: of, language } => {
            let int = if *language == Language::C { "an `int`" } else { "an `i32`" };
            format!("a `*` given {}: it takes {int}", given(of))
        }
        Mismatch::NoNames { given: of } => {
            format!("`{{}}` given {}, which is no enumeration: write the names as `{{NAME=VALUE,..}}`", given(of))
        }
        Mismatch::Words(mistake) => words(mistake),
        Mismatch::NoMember { path, why } => format!("`{path}` of `%p{{..}}`: {}", dwarf::no_such_part(why)),
    }
}

/// What is wrong with braces behind a conversion.
pub(crate) fn words(mistake: &WordsMistake) -> String {
    let WordsMistake { text, kind } = mistake;
    format!("{kind}, at `{text}`")
}

fn given(of: &GivenType) -> String {
    let sign = match of.is_signed {
        Some(true) => ", signed",
        Some(false) => ", unsigned",
        None => "",
    };
    match of.size {
        Some(size) => format!("`{}` ({}{sign})", of.name, bytes(size)),
        None => format!("`{}`", of.name),
    }
}

fn help(help: &MismatchHelp) -> String {
    match help {
        MismatchHelp::Conversion(conversion) => format!("use `{conversion}`"),
        MismatchHelp::MemberOrAddress => "mark one of its members, or its address with `%p`".to_owned(),
    }
}
