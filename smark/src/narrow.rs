//! `--where` and the other options that choose among hits: their errors, and what is left out.

use std::fmt::{self, Display};
use std::ops::Range;

use simple_markers_resolver::text::closest;
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::{IntervalSubject, Question, Refusal, RefusedSite, Tally};
use simple_markers_tracer::filter::{Filter, Mismatch, Unfit, normalized};
use simple_markers_tracer::plan::{Condition, PlannedSite, Source};
use simple_markers_tracer::sys::{self, Session};

use crate::console::Console;

/// Parses the value of `--where`.
pub(crate) fn filter(text: &str) -> Result<Filter, BadFilter> {
    Filter::parse(text).map_err(|error| BadFilter {
        what: error.to_string(),
        filter: text.to_owned(),
        range: error.range,
        is_parsed: false,
    })
}

/// The filter is malformed, or cannot be evaluated at any site.
#[derive(Debug)]
pub(crate) struct BadFilter {
    what: String,
    filter: String,
    /// The bytes of the filter that are wrong.
    range: Range<usize>,
    is_parsed: bool,
}

impl BadFilter {
    /// The error alone.
    #[cfg(feature = "view")]
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// The error, the filter, and a line with carets under the range.
    pub(crate) fn lines(&self) -> [String; 3] {
        // One column for each character.
        let filter: String = self.filter.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let columns = |range: Range<usize>| self.filter.get(range).unwrap_or_default().chars().count();
        let (before, under) = (columns(0..self.range.start), columns(self.range.clone()).max(1));
        let what = if self.is_parsed { format!("--where: {}", self.what) } else { self.what.clone() };
        [what, format!("    {filter}"), format!("    {}{}", " ".repeat(before), "^".repeat(under))]
    }
}

impl Display for BadFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

impl std::error::Error for BadFilter {}

/// How many hits could not be filtered.
pub(crate) fn unfiltered(session: &Session) -> Result<u64, sys::Error> {
    Ok(session.tallies()?.iter().map(|tallies| tallies.get(Tally::Unfiltered)).sum())
}

/// Says how many hits at the sites of a plan could not be filtered.
pub(crate) fn tell_unfiltered(console: &Console, plan: &Plan, count: u64) {
    if count > 0 {
        let hits = if count == 1 { "hit" } else { "hits" };
        // A filter refuses other doubtful arguments.
        let is_doubtful =
            |source: &Source| matches!(source, Source::Doubtful(of) if of.before.is_some() && !of.is_taken);
        let mut filtered = plan.sites.iter().filter(|site| site.filter.is_some());
        let is_any = filtered.clone().flat_map(|site| &site.arguments).any(|it| is_doubtful(&it.source));
        let doubtful = if is_any { ", or is doubtful (--include doubtful takes it)" } else { "" };
        let has_members = filtered.any(has_members);
        let absent = if has_members { ", or a member was not there (another variant, a null pointer)" } else { "" };
        let or = format!("{absent}{doubtful}");
        console
            .error(&format!("{count} {hits} could not be filtered: an argument of the filter could not be read{or}"));
    }
}

/// Whether the filter of a site needs something that is no argument: a member of one.
fn has_members(site: &PlannedSite) -> bool {
    let fields = site.filter.iter().flat_map(Condition::inputs);
    fields.into_iter().any(|field| !site.arguments.iter().any(|argument| argument.source.is_in(field)))
}

/// The most names that a note lists.
const LISTED: usize = 8;

/// What is asked about hits, and which hits are chosen.
#[derive(Clone, Copy)]
pub(crate) struct HitQuery<'a> {
    pub(crate) filter: Option<&'a Filter>,
    pub(crate) question: &'a Question,
    /// The option that the question comes from; `None` if the question tells.
    pub(crate) option: Option<&'static str>,
}

impl HitQuery<'_> {
    /// Whether the markers of an interval are among those with these names. Says which are not, for the
    /// option that asks for it.
    pub(crate) fn has_markers<'n>(
        &self,
        console: &Console,
        option: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> bool {
        let Question::Time { from, to, .. } = self.question else { return true };
        let names: Vec<&str> = names.collect();
        let mut has_all = true;
        for name in [from, to].into_iter().filter(|name| !names.contains(&name.as_str())) {
            let closest = closest(name, names.iter().copied()).join(", ");
            console.error(&format!("{option}: no marker is called `{name}`; closest: {closest}"));
            has_all = false;
        }
        has_all
    }

    /// Says which sites are left out. It is an error if none is left.
    pub(crate) fn judge(&self, console: &Console, refused: &[RefusedSite], is_empty: bool) -> anyhow::Result<()> {
        let is_fatal = !refused.is_empty() && is_empty;
        if !is_fatal || refused.iter().any(|it| refused.first().is_some_and(|first| first.why != it.why)) {
            tell(console, refused);
        }
        if is_fatal { Err(self.nothing(refused)) } else { Ok(()) }
    }

    /// The error if no site is left.
    fn nothing(&self, refused: &[RefusedSite]) -> anyhow::Error {
        // A mistake in the types says more than a marker without the argument.
        let is_unknown = |it: &&RefusedSite| matches!(mismatch(&it.why), Some(Mismatch::Unknown { .. }));
        let shown = refused.iter().find(|it| !is_unknown(it)).or_else(|| refused.first());
        let Some(shown) = shown else { return anyhow::anyhow!("there is no site to watch") };
        let mut what = match mismatch(&shown.why) {
            None if matches!(shown.why, Refusal::Key(_)) => shown.why.to_string(),
            None | Some(Mismatch::Unread { .. } | Mismatch::Doubtful { .. }) => {
                format!("no site is left: {}", shown.why)
            }
            Some(why) => why.to_string(),
        };
        if let Some(Mismatch::Unknown { name, .. }) = mismatch(&shown.why) {
            let known: Vec<&str> = refused.iter().flat_map(|it| suggestions(&it.why)).map(String::as_str).collect();
            what = match closest(name, known.into_iter()).as_slice() {
                // Another marker has it, and lacks another one.
                [first, ..] if normalized(first) == **name => {
                    format!("no selected marker has all of the arguments: {} has no `{name}`", shown.marker)
                }
                [] => format!("no selected marker has an argument `{name}`: they have none"),
                names => format!("no selected marker has an argument `{name}`; closest: `{}`", names.join("`, `")),
            };
        }
        match (&shown.why, self.filter) {
            (Refusal::Filter(Unfit { range, .. }), Some(filter)) => {
                let filter = filter.text().to_owned();
                BadFilter { what, filter, range: range.clone(), is_parsed: true }.into()
            }
            _ => anyhow::anyhow!("{}: {what}", self.option.unwrap_or_else(|| option(self.question))),
        }
    }
}

/// The option that a question comes from.
fn option(question: &Question) -> &'static str {
    match question {
        Question::Hits | Question::Processes | Question::Stacks { .. } => "--where",
        Question::Values(_) => "--by",
        Question::Histogram(_) => "--hist",
        Question::Amounts { .. } => "--sum",
        Question::Time { key: IntervalSubject::Arguments(_), .. } => "--key",
        Question::Time { key: IntervalSubject::Call, by, .. } if by.is_empty() => "--time",
        Question::Time { by, .. } if by.is_empty() => "--key",
        Question::Time { .. } => "--by",
    }
}

fn mismatch(why: &Refusal) -> Option<&Mismatch> {
    match why {
        Refusal::Filter(unfit) => Some(&unfit.why),
        Refusal::Argument(why) => Some(why),
        Refusal::Key(_) | Refusal::Frame => None,
    }
}

fn suggestions(why: &Refusal) -> &[String] {
    match mismatch(why) {
        Some(Mismatch::Unknown { closest, .. }) => closest,
        _ => &[],
    }
}

/// Says which sites are left out, in a line for each reason.
fn tell(console: &Console, refused: &[RefusedSite]) {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for RefusedSite { marker, address, why } in refused {
        let (why, what) = match mismatch(why) {
            Some(Mismatch::Unknown { name, .. }) => (format!("there is no argument `{name}`"), marker.to_string()),
            _ => (why.to_string(), format!("{marker} at {address}")),
        };
        match lines.iter_mut().find(|(known, _)| *known == why) {
            Some((_, whats)) if whats.contains(&what) => {}
            Some((_, whats)) => whats.push(what),
            None => lines.push((why, vec![what])),
        }
    }
    for (why, whats) in lines {
        let more = match whats.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed: Vec<&str> = whats.iter().take(LISTED).map(String::as_str).collect();
        console.note(&format!("left out {}{more}: {why}", listed.join(", ")));
    }
}
