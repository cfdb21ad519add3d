//! Why a marker's source is not changed (`check/fix`).

use std::fmt;

use simple_markers_record::buffer::MAX_WORDS;

use crate::check::fix::Refusal;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownLanguage => f.write_str("its source file is neither Rust nor C"),
            Self::NotUtf8 => f.write_str("its source file is not UTF-8"),
            Self::NotTokens => f.write_str("its source file is not Rust that can be read"),
            Self::Changed => f.write_str("its source line has no such marker: the file was changed after the build"),
            Self::Ambiguous => f.write_str("several markers in its source file could be meant"),
            Self::InMacro { name } => write!(f, "the macro `{name}` writes the marker: change that macro"),
            Self::CannotKeep { argument, type_name: Some(type_name) } => {
                write!(f, "`{argument}` cannot be kept: no register holds a `{type_name}`")
            }
            Self::CannotKeep { argument, type_name: None } => {
                write!(f, "`{argument}` cannot be kept: no register holds it")
            }
            Self::WouldEvaluate { argument } => {
                write!(
                    f,
                    "`{argument}` is not kept: the program would evaluate it, and it may do more than read a value"
                )
            }
            Self::TooMany { count } => {
                write!(f, "`simple_mark_keep` takes at most 8 arguments, and the marker has {count}")
            }
            Self::ByAttribute => f.write_str(
                "the attribute `ghosts` makes a ghost of it: take the attribute away, or move the marker out of its item",
            ),
            Self::ProbeLanguage => f.write_str("only markers of Rust are made probes"),
            Self::ProbeTarget { arch } => {
                write!(f, "it is not made a probe: on {arch} a probe is checked and is no code")
            }
            Self::ProbeInKernel => f.write_str("it is not made a probe: nothing arms one in the kernel"),
            Self::ProbeWidth { argument } => {
                write!(f, "it is not made a probe: `{argument}` is kept with a type of its own, which a probe does not take")
            }
            Self::ProbeTooMany { count } => write!(
                f,
                "it is not made a probe: one takes {MAX_WORDS} values, of which text counts as two, and the marker has {count}"
            ),
            Self::Nothing => f.write_str("the source has the change already: build the program again"),
        }
    }
}
