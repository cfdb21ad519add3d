//! Why a marker's source is not changed (`check/fix`).

use simple_markers_record::buffer::MAX_WORDS;

use crate::check::fix::FixRefusal;

/// Why a marker's source is not changed.
#[must_use]
pub fn refusal(refusal: &FixRefusal) -> String {
    match refusal {
        FixRefusal::UnknownLanguage => "its source file is neither Rust nor C".to_owned(),
        FixRefusal::NotUtf8 => "its source file is not UTF-8".to_owned(),
        FixRefusal::NotTokens => "its source file is not Rust that can be read".to_owned(),
        FixRefusal::Changed => "its source line has no such marker: the file was changed after the build".to_owned(),
        FixRefusal::Ambiguous => "several markers in its source file could be meant".to_owned(),
        FixRefusal::InMacro { name } => format!("the macro `{name}` writes the marker: change that macro"),
        FixRefusal::CannotKeep { argument, type_name: Some(type_name) } => {
            format!("`{argument}` cannot be kept: no register holds a `{type_name}`")
        }
        FixRefusal::CannotKeep { argument, type_name: None } => {
            format!("`{argument}` cannot be kept: no register holds it")
        }
        FixRefusal::WouldEvaluate { argument } => {
            format!("`{argument}` is not kept: the program would evaluate it, and it may do more than read a value")
        }
        FixRefusal::TooMany { count } => {
            format!("`simple_mark_keep` takes at most 8 arguments, and the marker has {count}")
        }
        FixRefusal::ByAttribute => {
            "the attribute `ghosts` makes a ghost of it: take the attribute away, or move the marker out of its item"
                .to_owned()
        }
        FixRefusal::ProbeLanguage => "only markers of Rust are made probes".to_owned(),
        FixRefusal::ProbeTarget { arch } => {
            format!("it is not made a probe: on {arch} a probe is checked and is no code")
        }
        FixRefusal::ProbeInKernel => "it is not made a probe: nothing arms one in the kernel".to_owned(),
        FixRefusal::ProbeWidth { argument } => {
            format!("it is not made a probe: `{argument}` is kept with a type of its own, which a probe does not take")
        }
        FixRefusal::ProbeTooMany { count } => format!(
            "it is not made a probe: one takes {MAX_WORDS} values, of which text counts as two, and the marker has {count}"
        ),
        FixRefusal::WholeValue => {
            "it shows whole values (`{}` or `%p{}`), which are not kept: write conversions of printf, such as `%lu`"
                .to_owned()
        }
        FixRefusal::Nothing => "the source has the change already: build the program again".to_owned(),
    }
}
