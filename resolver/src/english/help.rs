//! How to fix a finding, in the language of the marker. `check/fix` has the corrected source; this
//! text is for reports that do not show it.

use crate::verdicts::{self, Code};

/// The help for a code, for a marker in `file` or one of its arguments.
pub(crate) fn help(code: Code, file: &str, argument: Option<&str>) -> String {
    let is_rust = std::path::Path::new(file).extension().is_some_and(|extension| extension == "rs");
    let keep = |argument: &str| match is_rust {
        true => format!("`keep {argument}`"),
        false => "`simple_mark_keep` in place of `simple_mark`".to_owned(),
    };
    let anchor = if is_rust { "`options(anchor)`" } else { "`simple_mark_anchor` in place of `simple_mark`" };
    match (code, argument) {
        (Code::Shared | Code::Unproven, _) => format!("make it exact with {anchor}, one no-operation"),
        (Code::Partial, Some(argument)) => {
            format!("name the part of it that is of interest, or keep it with {}", keep(argument))
        }
        (Code::Entry, Some(argument)) => {
            format!("keep it with {}, or put the marker before what overwrites the register", keep(argument))
        }
        (Code::Lost, Some(argument)) => {
            format!("keep it with {}, or put the marker before its last use", keep(argument))
        }
        (Code::Absent | Code::Unsupported | Code::Undescribed, Some(argument)) => match code {
            Code::Absent => format!("name the variable itself, or keep the value with {}", keep(argument)),
            Code::Unsupported => {
                format!("keep the value with {}, or put it into a variable and name that", keep(argument))
            }
            _ => format!("compile with `-g`, or keep the value with {}", keep(argument)),
        },
        _ => {
            let fix = verdicts::explanation(code).map_or("", |explanation| explanation.fix);
            let words: Vec<&str> = fix.split_whitespace().collect();
            let text = words.join(" ").trim_end_matches('.').to_owned();
            let mut characters = text.chars();
            characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, help};

    #[test]
    fn help_is_written_in_the_language_of_the_marker() {
        assert_eq!(
            help(Code::Lost, "a.rs", Some("total")),
            "keep it with `keep total`, or put the marker before its last use"
        );
        assert!(help(Code::Lost, "a.rs", Some("self.queue.depth")).contains("`keep self.queue.depth`"));
        assert!(help(Code::Lost, "a.rs", Some("*x")).contains("`keep *x`"));
        assert!(help(Code::Lost, "a.c", Some("total")).contains("`simple_mark_keep` in place"));
        assert_eq!(help(Code::Shared, "a.rs", None), "make it exact with `options(anchor)`, one no-operation");
        assert_eq!(help(Code::Outside, "a.c", None), "put the marker before the call");
    }
}
