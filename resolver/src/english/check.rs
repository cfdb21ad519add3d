//! The findings of a check in English: what is wrong, what was expected and found, and why.

use std::sync::Arc;

use super::{absence, all_of, arguments, bytes, counted, diagnostics, exactness, mismatch, probe, sites};
use crate::check::{Cause, Exception, Finding, NoteAbsence, Problem, Remark};
use crate::resolve::{Exactness, LocationEnd, Verdict};
use crate::verdicts::{Code, Group};

/// What is wrong, in a sentence without the place.
#[must_use]
pub fn message(finding: &Finding) -> String {
    let name = &finding.marker;
    let text = finding.argument.as_deref().unwrap_or_default();
    let copies = in_copies(finding);
    match &finding.problem {
        Problem::Eliminated => format!("{name} was eliminated: it was compiled, and no copy of it is in the image"),
        Problem::Discarded => format!("{name} was discarded: the linker dropped all code that holds it"),
        Problem::Unresolved => format!("{name} has no site record, and the line table has no place for it"),
        Problem::Ambiguous => format!("{name} has no site record, and its line could be one of several files"),
        Problem::UnknownSurvival => {
            format!("whether {name} is in the program is unknown: the image does not say")
        }
        Problem::Nearest { line, .. } => format!("{name} is not on its line: the site is that of line {line}"),
        Problem::Exactness(exactness) => match exactness {
            Exactness::Exact => format!("a probe at {name} is exact{copies}"),
            Exactness::Likely => format!("a probe at {name} is most likely exact{copies}"),
            Exactness::Approximate => format!("the hits of a probe at {name} are not its passes{copies}"),
            Exactness::Shared => format!("a probe at {name} may fire where the marker is not passed{copies}"),
            Exactness::Folded => format!("a probe at {name} also fires for markers of other functions{copies}"),
            Exactness::Outside => format!("{name} is in no code of its function{copies}"),
            Exactness::Unproven => format!("whether a probe at {name} is exact is unknown{copies}"),
        },
        Problem::Refused => format!("no probe can be put at {name}{copies}"),
        Problem::Argument(verdict) => match verdict {
            Some(Verdict::Live | Verdict::Constant) => format!("`{text}` of {name} is readable{copies}"),
            Some(Verdict::Partial) => format!("parts of `{text}` of {name} are gone{copies}"),
            Some(Verdict::Doubtful) => format!("`{text}` of {name} may have another value than in the source{copies}"),
            Some(Verdict::Entry) => format!("`{text}` of {name} is only known as an entry value{copies}"),
            Some(Verdict::Lost) => format!("`{text}` of {name} is lost{copies}"),
            Some(Verdict::Absent) => format!("`{text}` of {name} names nothing that is in scope{copies}"),
            Some(Verdict::Unsupported) => format!("`{text}` of {name} has an unsupported location{copies}"),
            None => format!("whether `{text}` of {name} can be read is not known{copies}"),
        },
        Problem::NoVariables { markers, arguments, has_lines, .. } => {
            let has = match has_lines {
                true => "has debug information of lines only",
                false => "has no debug information",
            };
            let (arguments, markers) = (counted(*arguments, "argument"), counted(*markers, "marker"));
            format!("the program {has}: {arguments} of {markers} cannot be read")
        }
        Problem::InVectorRegister { register } => {
            format!("`{text}` of {name} is in {register}, a vector register, which only a debugger reads{copies}")
        }
        Problem::Format { conversion, .. } => {
            format!("`{text}` of {name} is not what `{}` prints", conversion_or_none(conversion.as_ref()))
        }
        Problem::Duplicate { file, line, .. } => format!("the name {name} is declared at {file}:{line} too"),
        Problem::New => format!("{name} is new: the lock file does not have it"),
        Problem::NewArgument => format!("`{text}` is a new argument of {name}"),
        Problem::Renamed { before } => format!("{before} is called {name} by now"),
        Problem::FewerCopies { found, accepted } => format!("{name} has {} of {accepted} copies", site_count(*found)),
        Problem::Worse { found, accepted } => {
            format!("`{text}` of {name} got worse: {} in place of {}", found.as_str(), accepted.as_str())
        }
        Problem::Better { found, accepted } => {
            format!("`{text}` of {name} got better: {} in place of {}", found.as_str(), accepted.as_str())
        }
        Problem::Gone => format!("{name} is gone: the program does not declare it any more"),
        Problem::GoneArgument => format!("`{text}` is no longer an argument of {name}"),
        Problem::NoteGone => format!("{name} is gone: the program has no note of this static probe"),
        Problem::NoteArguments { found, accepted } => {
            format!("{name} has the arguments {} in place of {}", sizes(found), sizes(accepted))
        }
        Problem::NoSemaphore => format!("{name} has no semaphore any more"),
    }
}

/// What was expected.
#[must_use]
pub fn expected(finding: &Finding) -> String {
    match &finding.problem {
        Problem::Eliminated
        | Problem::Discarded
        | Problem::Unresolved
        | Problem::Ambiguous
        | Problem::UnknownSurvival => "live: a site in a function that is in the image".to_owned(),
        Problem::Nearest { declared, .. } => format!("a site record, or code on line {declared}"),
        Problem::Exactness(_) => "exact: a probe fires when, and only when, the marker is passed".to_owned(),
        Problem::Refused => "an instruction that the kernel takes a probe at".to_owned(),
        Problem::Argument(_) => "live or constant: readable wherever the marker is passed".to_owned(),
        Problem::InVectorRegister { .. } => "a general register, memory or a constant".to_owned(),
        Problem::NoVariables { .. } => "debug information of variables".to_owned(),
        Problem::Format { conversion, .. } => format!("what `{}` prints", conversion_or_none(conversion.as_ref())),
        Problem::Duplicate { .. } => "one declaration of the name in the image".to_owned(),
        Problem::New => "the markers of the lock file".to_owned(),
        Problem::NewArgument => "the arguments of the lock file".to_owned(),
        Problem::Renamed { before } => format!("`{before}`"),
        Problem::FewerCopies { accepted, .. } => format!("{accepted} sites at least"),
        Problem::Worse { accepted, .. } => format!("{} at least", accepted.as_str()),
        Problem::Better { accepted, .. } => accepted.as_str().to_owned(),
        Problem::Gone => format!("a marker `{}`", finding.marker),
        Problem::GoneArgument => format!("an argument `{}`", finding.argument.as_deref().unwrap_or_default()),
        Problem::NoteGone => format!("a note `{}`", finding.marker),
        Problem::NoteArguments { accepted, .. } => sizes(accepted),
        Problem::NoSemaphore => "a semaphore".to_owned(),
    }
}

/// What was found.
#[must_use]
pub fn found(finding: &Finding) -> String {
    match &finding.problem {
        Problem::Eliminated
        | Problem::Discarded
        | Problem::Unresolved
        | Problem::Ambiguous
        | Problem::UnknownSurvival
        | Problem::Exactness(_)
        | Problem::Refused
        | Problem::Argument(_) => finding.name().to_owned(),
        Problem::NoVariables { has_lines: true, .. } => "line tables".to_owned(),
        Problem::NoVariables { has_lines: false, .. } => "no debug information".to_owned(),
        Problem::Nearest { line, .. } => format!("code on line {line}"),
        Problem::InVectorRegister { register } => format!("`{register}`"),
        Problem::Format { type_name, .. } => format!("`{}`", type_name.as_deref().unwrap_or("another type")),
        Problem::Duplicate { declarations, .. } => format!("{declarations} declarations"),
        Problem::New => "a marker that is not in it".to_owned(),
        Problem::NewArgument => "one that is not in it".to_owned(),
        Problem::Renamed { .. } => {
            format!("`{}`, in the same file, with the same format and arguments", finding.marker)
        }
        Problem::FewerCopies { found, .. } => site_count(*found),
        Problem::Worse { found, .. } | Problem::Better { found, .. } => found.as_str().to_owned(),
        Problem::Gone => "no marker with this name, and no new marker with its file, format and arguments".to_owned(),
        Problem::GoneArgument => "no argument with this name".to_owned(),
        Problem::NoteGone => "no note with this name".to_owned(),
        Problem::NoteArguments { found, .. } => sizes(found),
        Problem::NoSemaphore => "none".to_owned(),
    }
}

fn conversion_or_none(conversion: Option<&Arc<str>>) -> &str {
    conversion.map_or("no conversion", |conversion| conversion)
}

/// The sizes of the arguments of a note.
fn sizes(sizes: &str) -> String {
    if sizes.is_empty() { "none".to_owned() } else { format!("`{sizes}`") }
}

fn note_absence(absence: NoteAbsence) -> &'static str {
    match absence {
        NoteAbsence::Others => "it has other notes in `.note.stapsdt`",
        NoteAbsence::Removed => {
            "it has no section `.note.stapsdt`, but sections that come with it: a tool removed it after the build"
        }
        NoteAbsence::NotBuilt => {
            "it has neither `.note.stapsdt` nor `.stapsdt.base`: it was built without static probes, or the linker \
             dropped them"
        }
        NoteAbsence::NoSections => "it has no sections that tell: a tool removed their headers",
    }
}

fn site_count(count: u64) -> String {
    if count == 1 { "1 site".to_owned() } else { format!("{count} sites") }
}

/// The number of affected copies, if there are several.
fn in_copies(finding: &Finding) -> String {
    match finding.sites {
        Some((affected, total)) if total > 1 && affected < total => format!(" in {affected} of {total} copies"),
        Some((_, total)) if total > 1 => format!(" in all {total} copies"),
        _ => String::new(),
    }
}

/// The problems of a marker in one sentence: the headline of a block in the human report.
pub(crate) fn headline(findings: &[&Finding]) -> String {
    if let [finding] = findings {
        return message(finding);
    }
    let Some(first) = findings.first() else { return String::new() };
    let mut parts: Vec<String> = Vec::new();
    let mut arguments: Vec<(Code, Vec<&str>)> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.code.group() == Group::Arguments) {
        let text = finding.argument.as_deref().unwrap_or_default();
        match arguments.iter_mut().find(|(code, _)| *code == finding.code) {
            Some((_, texts)) if texts.contains(&text) => {}
            Some((_, texts)) => texts.push(text),
            None => arguments.push((finding.code, vec![text])),
        }
    }
    parts.extend(arguments.iter().map(|(code, texts)| {
        let be = if texts.len() == 1 { "is" } else { "are" };
        format!("{} {be} {}", all_of(texts), code.name())
    }));
    for finding in findings {
        let part = match finding.code {
            Code::Shared => "a probe may fire where the marker is not passed",
            Code::Likely => "a probe is most likely exact",
            Code::Approximate => "the hits of a probe are not its passes",
            Code::Folded => "a probe also fires for markers of other functions",
            Code::Outside => "it is in no code of its function",
            Code::Unproven => "whether a probe is exact is unknown",
            Code::Refused => "no probe can be put there",
            Code::FormatMismatch => "an argument is not what its conversion prints",
            Code::Duplicate => "its name is declared twice",
            Code::Worse => "it got worse than in the lock file",
            code if code.group() == Group::Baseline => "it differs from the lock file",
            code if code.group() == Group::Arguments => continue,
            _ => finding.code.name(),
        };
        if !parts.iter().any(|known| known == part) {
            parts.push(part.to_owned());
        }
    }
    let last = parts.pop().unwrap_or_default();
    match parts.as_slice() {
        [] => format!("{}: {last}", first.marker),
        _ => format!("{}: {}, and {last}", first.marker, parts.join(", ")),
    }
}

/// A label and the text of a finding: what was found, and its causes. `is_one_of_several` says that
/// the headline does not repeat its message.
pub(crate) fn fact(finding: &Finding, is_one_of_several: bool) -> (String, String) {
    let group = finding.code.group();
    let label = match (group, finding.argument.as_deref()) {
        (Group::Arguments, Some(argument)) => format!("`{argument}`"),
        _ => group.as_str().to_owned(),
    };
    let what = match group {
        Group::Arguments | Group::Exactness | Group::Survival => found(finding),
        Group::Baseline if is_one_of_several => format!("{}, expected {}", message(finding), expected(finding)),
        _ => format!("found {}, expected {}", found(finding), expected(finding)),
    };
    let copies = if group == Group::Baseline { String::new() } else { in_copies(finding) };
    let causes = finding.causes.iter().map(cause).collect::<Vec<_>>().join("; ");
    let separator = if causes.is_empty() { "" } else { ": " };
    (label, format!("{what}{copies}{separator}{causes}"))
}

/// A cause of a finding.
#[must_use]
pub fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Absence { absence, file } => absence::absence(absence, file),
        Cause::DroppedFunctions => "the linker dropped every function that holds it".to_owned(),
        Cause::Image(diagnostic) => diagnostics::diagnostic(diagnostic),
        Cause::NoRow { declared, line } => format!(
            "it has no site record, line {declared} has no row in the line table, and line {line} is the next of \
             its function that has one"
        ),
        Cause::Exactness(reason) => exactness::reason(reason),
        Cause::Probe { instruction, reason } => {
            let instruction = match instruction.as_deref() {
                Some(instruction) => format!("`{}`", one_line(instruction)),
                None => "the instruction there".to_owned(),
            };
            let why = reason.map(|reason| format!(": {}", probe::reason(reason))).unwrap_or_default();
            format!("a uprobe cannot be on {instruction}{why}")
        }
        Cause::Predecessor(way) => format!("way in: {}", sites::predecessor(way)),
        Cause::MorePredecessors { count } => format!("{count} more ways in"),
        Cause::ScopeEnded => {
            "the marker is the last thing in its function, so the instruction there belongs to another one".to_owned()
        }
        Cause::UnknownInstructions => "its instructions are not understood, or not in the file".to_owned(),
        Cause::Argument(reason) => arguments::reason(reason),
        Cause::RangeEnded(ended) => range_ended(ended),
        Cause::SharedRegister { variable } => format!(
            "folded into another variable: up to there it was where `{variable}` was, which goes on without it \
             and may have another value by now"
        ),
        Cause::InlinedWithoutPlace { function } => {
            let function = sites::named(function);
            format!("`{function}` was inlined here, and the copy has no place of its own for it")
        }
        Cause::InlinedThrough { function, inlined } => {
            let chain = sites::inlined_through(inlined, function.as_ref());
            let chain: Vec<String> =
                chain.iter().map(|(function, into)| format!("`{function}` inlined {into}")).collect();
            format!("in this copy: {}", chain.join(", "))
        }
        Cause::Duplicated { function, count } => {
            format!(
                "the compiler made {count} copies of the code around it{}: a loop unrolled, or a block doubled",
                in_function(function.as_ref())
            )
        }
        Cause::InlinedTwice { function, count } => {
            format!(
                "{count} copies{} were inlined through the same lines: a loop unrolled, a block doubled, or several \
                 calls on one line",
                in_function(function.as_ref())
            )
        }
        Cause::RemovedEarly => {
            "it is not in the source any more, or in code that the compiler removed: in C nothing is left of a marker \
             in a dead branch, or in a `static` function that nothing calls"
                .to_owned()
        }
        Cause::Mismatch(mismatch) => mismatch::mismatch(mismatch),
        Cause::Declared { file, line } => format!("declared at {file}:{line}"),
        Cause::Notes { image, absence } => format!("{image}: {}", note_absence(*absence)),
        Cause::Copies { function, count } => {
            format!(
                "{} in `{}`",
                site_count(*count),
                function.as_deref().map_or_else(|| "a function without a name".to_owned(), sites::named)
            )
        }
    }
}

fn in_function(function: Option<&Arc<str>>) -> String {
    function.map(|function| format!(" in `{}`", sites::named(function))).unwrap_or_default()
}

/// An instruction without the columns of its listing.
fn one_line(instruction: &str) -> String {
    instruction.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn range_ended(ended: &LocationEnd) -> String {
    let distance = match ended.distance {
        0 => "right at the site".to_owned(),
        distance => format!("{} before the site", bytes(distance)),
    };
    let place = match (ended.file.as_deref(), ended.line) {
        (Some(file), Some(line)) => format!(" ({}:{line})", file.rsplit('/').next().unwrap_or(file)),
        _ => String::new(),
    };
    let by = match ended.instruction.as_deref() {
        Some(instruction) => format!(", with `{}`{place}", one_line(instruction)),
        None => String::new(),
    };
    format!("its live range ends {distance}{by}")
}

/// Why a finding is excepted.
#[must_use]
pub fn exception(exception: &Exception) -> String {
    match exception {
        Exception::Accepted(least) => format!("the lock file accepts `{}`", least.as_str()),
        Exception::Written { reason } => reason.to_string(),
    }
}

/// A remark that is not a finding.
#[must_use]
pub fn remark(remark: &Remark) -> String {
    match remark {
        Remark::StaleException { line, marker, argument, code } => {
            let of = argument.as_ref().map(|text| format!(" and its `{text}`")).unwrap_or_default();
            format!(
                "line {line} of the lock file: the exception of {marker}{of} for {code} applies to nothing any more"
            )
        }
    }
}
