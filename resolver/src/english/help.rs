//! How to fix a finding, in the language of the marker. `check/fix` has the corrected source; this
//! text is for reports that do not show it.

use crate::check::{CanKeep, Cause, DebugSetting, Finding, Problem, ProfileSettings, StripSetting};
use crate::resolve::{Absence, GhostProblem};
use crate::verdicts::{self, Code};

/// The help for a finding.
#[must_use]
pub fn help(finding: &Finding) -> String {
    if let Problem::NoVariables { has_lines, rust, c, setting, .. } = &finding.problem {
        return debug_information(*has_lines, *rust, *c, setting.as_ref());
    }
    if finding.is_mark {
        return of_mark(finding);
    }
    // An argument that got worse needs what its verdict needs.
    let code = match finding.problem {
        Problem::Worse { found, .. } => found.code(),
        _ => finding.code,
    };
    let ghost = finding.causes.iter().find_map(|cause| match cause {
        Cause::Absence { absence: Absence::Ghost { problem }, .. } => Some(*problem),
        _ => None,
    });
    match (code, ghost) {
        (Code::UnknownSurvival, Some(problem)) => return found_ghost(problem, &finding.file),
        (Code::Shared | Code::Unproven, _) if finding.is_anchored => return anchored(code).to_owned(),
        _ => {}
    }
    let is_change = |cause: &Cause| matches!(cause, Cause::Argument(reason) if reason.is_change_at_site());
    let anchor_helps = finding.causes.iter().any(is_change);
    let place = FindingPlace { file: &finding.file, is_async: finding.is_async };
    advice(code, place, finding.argument.as_deref(), finding.can_keep, anchor_helps)
}

/// The help for a place that the user named.
fn of_mark(finding: &Finding) -> String {
    let place = format!("{}:{}", finding.file, finding.line.unwrap_or(0));
    match (finding.code, &finding.argument) {
        (Code::FormatMismatch, _) => "write the conversion for the type".to_owned(),
        (_, Some(_)) => format!("`smark list --at {place}` says which variables can be read there and nearby"),
        (_, None) => format!("name another place: `smark list --at {place}` says which lines nearby are better"),
    }
}

/// The help for an anchored marker that is not exact.
fn anchored(code: Code) -> &'static str {
    match code {
        Code::Shared => {
            "it is anchored already, and something else leads to its instruction too: put the marker at another place, or \
             accept it with an exception in the lock file"
        }
        _ => {
            "it is anchored already: what is not known about its code is said above; accept it with an exception in the lock \
             file, or take the site with `--include`"
        }
    }
}

/// The help for a ghost that is not found.
fn found_ghost(problem: GhostProblem, file: &str) -> String {
    let plain = if is_rust(file) { "take `ghost` out of its options" } else { "write `simple_mark`" };
    let find = match problem {
        GhostProblem::NoDebugInfo => {
            "compile its file with `-g`, in a profile of Cargo `debug = \"full\"`, or name the folder of separate debug files \
             with `--debug-dir`"
        }
        GhostProblem::LinesOnly => "compile its file with `-g` and not `-g1`, in a profile of Cargo `debug = \"full\"`",
        GhostProblem::Unreadable => {
            "build its file again, or name the folder of separate debug files with `--debug-dir`"
        }
        GhostProblem::Unsupported => "compile its file with clang, gcc or rustc",
        GhostProblem::SharedLine | GhostProblem::CodeOnLine => "put it on a line of its own",
        GhostProblem::Unoptimized => "compile its file with `-Og` or `-O1` at least",
        GhostProblem::NoStatements => "compile its file with `-gstatement-frontiers`",
        GhostProblem::NoPlace => "put it before a statement that has code",
    };
    format!("{find}; or make it a plain marker, which is found everywhere: {plain}")
}

fn is_rust(file: &str) -> bool {
    std::path::Path::new(file).extension().is_some_and(|extension| extension == "rs")
}

/// What evaluates an argument that nothing holds.
const PROBE: &str = "write `simple_probe!` in place of `simple_mark!`, which evaluates any expression while it is on, and \
                     costs two instructions";

/// Where a marker is.
#[derive(Clone, Copy)]
struct FindingPlace<'p> {
    file: &'p str,
    /// Whether it is in an async function: rustc (1.95) describes no variable of one that was inlined, before
    /// or behind its last use.
    is_async: bool,
}

/// The help for a code, for a marker or one of its arguments. `anchor_helps` says that an
/// anchor settles a doubtful argument.
fn advice(
    code: Code,
    place: FindingPlace<'_>,
    argument: Option<&str>,
    can_keep: CanKeep,
    anchor_helps: bool,
) -> String {
    let is_rust = is_rust(place.file);
    let anchor = if is_rust { "`options(anchor)`" } else { "`simple_mark_anchor` in place of `simple_mark`" };
    let argument = match (code, argument) {
        (Code::Refused, _) => return format!("put a no-operation there for the probe, with {anchor}"),
        (Code::Shared | Code::Unproven, _) => return format!("make it exact with {anchor}, one no-operation"),
        (_, Some(argument)) => argument,
        (_, None) => return explained(code),
    };
    let keep = match (can_keep, is_rust) {
        (CanKeep::Yes, true) => Some(format!("`keep {argument}`")),
        (CanKeep::Yes, false) => Some("`simple_mark_keep` in place of `simple_mark`".to_owned()),
        (CanKeep::PointerAndLength | CanKeep::No, _) => None,
    };
    let with = |one: &str, other: &str| keep.as_ref().map_or(other.to_owned(), |keep| one.replace("{keep}", keep));
    let help = match code {
        Code::Partial => with(
            "name the part of it that is of interest, or keep it with {keep}",
            "name the part of it that is of interest",
        ),
        Code::Entry => with(
            "keep it with {keep}, or put the marker before what overwrites the register",
            "put the marker before what overwrites the register",
        ),
        Code::Lost | Code::Unsupported if place.is_async => with(&format!("keep it with {{keep}}, or {PROBE}"), PROBE),
        Code::Lost => {
            with("keep it with {keep}, or put the marker before its last use", "put the marker before its last use")
        }
        Code::Absent => with("name the variable itself, or keep the value with {keep}", "name the variable itself"),
        Code::Unsupported => with(
            "keep the value with {keep}, or put it into a variable and name that",
            "put it into a variable and name that",
        ),
        Code::Doubtful if anchor_helps => with(
            &format!("part the values before and after the marker with {anchor}, or keep it with {{keep}}"),
            &format!("part the values before and after the marker with {anchor}"),
        ),
        Code::Doubtful => with(
            "keep it with {keep}, or put the marker where the code still reads it afterwards",
            "put the marker where the code still reads it afterwards",
        ),
        Code::InVectorRegister => with(
            "keep it with {keep}: it then goes through a general register",
            "name a place in memory, or keep the value with the marker",
        ),
        Code::Undescribed => with("compile with `-g`, or keep the value with {keep}", "compile with `-g`"),
        _ => return explained(code),
    };
    match can_keep {
        CanKeep::PointerAndLength => {
            // A method binds tighter than an operator before the place.
            let text = match argument.starts_with(['*', '&']) {
                true => format!("({argument})"),
                false => argument.to_owned(),
            };
            let mut help = format!(
                "{help}; a text cannot be kept, but its pointer and its length can: `keep start = {text}.as_ptr()` for `%p` \
                 and `keep length = {text}.len()` for `%zu`"
            );
            if code == Code::Lost && !place.is_async {
                help.push_str(&format!("; or {PROBE}"));
            }
            help
        }
        CanKeep::Yes | CanKeep::No => help,
    }
}

/// How to get debug information of variables.
fn debug_information(has_lines: bool, rust: bool, c: bool, setting: Option<&ProfileSettings>) -> String {
    let mut help: Vec<String> = Vec::new();
    if rust {
        help.push(match setting {
            Some(setting) => settings(setting),
            None => "compile Rust with `-C debuginfo=2`, in a profile of Cargo `debug = \"full\"`".to_owned(),
        });
    }
    if c {
        help.push(match has_lines {
            true => "compile C with `-g` instead of `-g1` or `-gline-tables-only`".to_owned(),
            false => "compile C with `-g`".to_owned(),
        });
    }
    if !has_lines {
        help.push("or name the folder of separate debug files with `--debug-dir`".to_owned());
    }
    help.join("; ")
}

/// What to change in the manifest, so that the program has debug information of variables.
#[must_use]
pub fn settings(settings: &ProfileSettings) -> String {
    let Some(StripSetting { manifest, line: at, value: strip }) = &settings.strip else {
        return debug_setting(&settings.debug);
    };
    let change = format!("`strip = \"none\"` instead of `strip = {strip}`");
    match &settings.debug {
        DebugSetting::Line { line, value, .. } => {
            let (first, second) = (line.min(at), line.max(at));
            format!(
                "in lines {first} and {second} of {manifest} write `debug = \"full\"` instead of `debug = {value}`, and {change}"
            )
        }
        DebugSetting::Overridden { .. } => format!("in line {at} of {manifest} write {change}"),
        debug => format!("{}, and in line {at} write {change}", debug_setting(debug)),
    }
}

/// What to change in the manifest, so that the profile has debug information of variables.
fn debug_setting(setting: &DebugSetting) -> String {
    match setting {
        DebugSetting::Line { manifest, line, value } => {
            format!("in line {line} of {manifest} write `debug = \"full\"` instead of `debug = {value}`")
        }
        DebugSetting::Section { manifest, line, profile } => {
            format!("add `debug = \"full\"` to the section `[profile.{profile}]` in line {line} of {manifest}")
        }
        DebugSetting::NoSection { manifest, profile } => {
            format!("add a section `[profile.{profile}]` with `debug = \"full\"` to {manifest}")
        }
        DebugSetting::Overridden { manifest, line } => format!(
            "line {line} of {manifest} asks for debug information: look for what overrides it, in the environment \
             (`CARGO_PROFILE_*_DEBUG`, `RUSTFLAGS`) and in `.cargo/config.toml`"
        ),
    }
}

/// The fix in the explanation of a code.
fn explained(code: Code) -> String {
    let fix = verdicts::explanation(code).map_or("", |explanation| explanation.fix);
    let words: Vec<&str> = fix.split_whitespace().collect();
    let text = words.join(" ").trim_end_matches('.').to_owned();
    let mut characters = text.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{CanKeep, Code, FindingPlace, PROBE, advice};

    fn at(file: &str) -> FindingPlace<'_> {
        FindingPlace { file, is_async: false }
    }

    fn help(code: Code, file: &str, argument: Option<&str>) -> String {
        advice(code, at(file), argument, CanKeep::Yes, false)
    }

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

    #[test]
    fn nothing_is_kept_that_no_register_holds() {
        let advice = |code, file, argument, can_keep| advice(code, at(file), Some(argument), can_keep, false);
        assert_eq!(advice(Code::Lost, "a.rs", "all", CanKeep::No), "put the marker before its last use");
        assert_eq!(advice(Code::Undescribed, "a.c", "all", CanKeep::No), "compile with `-g`");
        let text = advice(Code::Lost, "a.rs", "self.name", CanKeep::PointerAndLength);
        assert!(text.starts_with("put the marker before its last use; a text cannot be kept"), "{text}");
        assert!(text.contains("`keep start = self.name.as_ptr()`") && !text.contains("`keep self.name`"), "{text}");
        assert!(text.ends_with(&format!("; or {PROBE}")), "{text}");
        let text = advice(Code::Lost, "a.rs", "*name", CanKeep::PointerAndLength);
        assert!(
            text.contains("`keep start = (*name).as_ptr()`") && text.contains("`keep length = (*name).len()`"),
            "{text}"
        );
    }

    /// To put the marker elsewhere does not help there: no variable has a place.
    #[test]
    fn a_lost_argument_of_an_async_function_needs_a_probe() {
        let place = FindingPlace { file: "a.rs", is_async: true };
        let advice = |can_keep| advice(Code::Lost, place, Some("path"), can_keep, false);
        assert_eq!(advice(CanKeep::Yes), format!("keep it with `keep path`, or {PROBE}"));
        assert_eq!(advice(CanKeep::No), PROBE);
        let text = advice(CanKeep::PointerAndLength);
        let rest = text.strip_prefix(PROBE).expect("the probe first");
        assert!(rest.starts_with("; a text cannot be kept") && rest.ends_with("for `%zu`"), "{text}");
        let unsupported = super::advice(Code::Unsupported, place, Some("path"), CanKeep::No, false);
        assert_eq!(unsupported, PROBE);
    }

    #[test]
    fn a_doubtful_argument_is_kept_or_the_marker_is_anchored() {
        assert_eq!(
            advice(Code::Doubtful, at("a.rs"), Some("x"), CanKeep::Yes, true),
            "part the values before and after the marker with `options(anchor)`, or keep it with `keep x`"
        );
        assert_eq!(
            advice(Code::Doubtful, at("a.c"), Some("x"), CanKeep::No, true),
            "part the values before and after the marker with `simple_mark_anchor` in place of `simple_mark`"
        );
        let text = advice(Code::Doubtful, at("a.rs"), Some("self.x"), CanKeep::Yes, false);
        assert!(text.starts_with("keep it with `keep self.x`, or put the marker where"), "{text}");
        let text = advice(Code::Doubtful, at("a.c"), Some("all"), CanKeep::No, false);
        assert!(text.starts_with("put the marker where"), "{text}");
    }
}
