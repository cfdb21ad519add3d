//! What to do about a finding, in the words of the language that the marker is written in.

use crate::verdicts;

/// What helps against a code, of a marker in `file`, for an argument.
pub(super) fn mend(code: &str, file: &str, argument: Option<&str>) -> String {
    let is_rust = std::path::Path::new(file).extension().is_some_and(|extension| extension == "rs");
    let keep = |argument: &str| match (is_rust, is_name(argument)) {
        (true, true) => format!("`keep {argument}`"),
        (true, false) => match argument.rsplit(['.', ':']).next().filter(|last| is_name(last)) {
            Some(last) => format!("`keep {last} = {argument}`"),
            None => format!("`keep value = {argument}`"),
        },
        (false, _) => "`simple_mark_keep` in place of `simple_mark`".to_owned(),
    };
    let anchor = if is_rust { "`options(anchor)`" } else { "`simple_mark_anchor` in place of `simple_mark`" };
    match (code, argument) {
        ("SM021" | "SM024", _) => format!("make it exact with {anchor}, one no-operation"),
        ("SM032", Some(argument)) => {
            format!("name the part of it that is of interest, or keep it with {}", keep(argument))
        }
        ("SM033", Some(argument)) => {
            format!("keep it with {}, or put the marker before what overwrites the register", keep(argument))
        }
        ("SM034", Some(argument)) => format!("keep it with {}, or put the marker before its last use", keep(argument)),
        ("SM035" | "SM036" | "SM037", Some(argument)) => match code {
            "SM035" => format!("name the variable itself, or keep the value with {}", keep(argument)),
            "SM036" => format!("keep the value with {}, or put it into a variable and name that", keep(argument)),
            _ => format!("compile with `-g`, or keep the value with {}", keep(argument)),
        },
        _ => {
            let mend = verdicts::find(code).map_or("", |explanation| explanation.mend);
            let words: Vec<&str> = mend.split_whitespace().collect();
            let text = words.join(" ").trim_end_matches('.').to_owned();
            let mut characters = text.chars();
            characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|character| character == '_' || character.is_alphanumeric())
        && !text.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::mend;

    #[test]
    fn mends_are_written_in_the_language_of_the_marker() {
        assert_eq!(
            mend("SM034", "a.rs", Some("total")),
            "keep it with `keep total`, or put the marker before its last use"
        );
        assert!(mend("SM034", "a.rs", Some("self.queue.depth")).contains("`keep depth = self.queue.depth`"));
        assert!(mend("SM034", "a.rs", Some("*x")).contains("`keep value = *x`"));
        assert!(mend("SM034", "a.c", Some("total")).contains("`simple_mark_keep` in place"));
        assert_eq!(mend("SM021", "a.rs", None), "make it exact with `options(anchor)`, one no-operation");
        assert_eq!(mend("SM023", "a.c", None), "put the marker before the call");
    }
}
