//! What the user asks for, and what of it is counted at each site.

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::sync::Arc;

use simple_markers_resolver::export::fetch::NumberKind;

use super::key::KeyMisfit;
use crate::arch::Platform;
use crate::filter::{Filter, Mismatch, Unfit, normalized, readable};
use crate::plan::{
    Aggregate, By, Interval, KeyFields, Number, Pairing, Plan, PlannedMarker, PlannedSite, Readable, StackNotes,
};

/// What the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Question {
    /// How many hits there are.
    #[default]
    Hits,
    /// How many hits each process has, of all markers together.
    Processes,
    /// How many hits each stack has.
    Stacks {
        /// Whether it is that of the kernel.
        is_kernel: bool,
    },
    /// Which values arguments have.
    Values(Vec<Arc<str>>),
    /// How the values of an argument are distributed.
    Histogram(Arc<str>),
    /// How much the values of an argument are altogether, and how they are distributed.
    Amounts {
        /// The argument.
        of: Arc<str>,
        /// The arguments by whose values they are told apart; none if they are not.
        by: Vec<Arc<str>>,
    },
    /// How long it takes from one marker to another.
    Time {
        /// The name of the marker where an interval starts.
        from: String,
        /// The name of the marker where it ends.
        to: String,
        /// What tells which start an end belongs to.
        key: IntervalSubject,
        /// The arguments of the first marker, or else of the second one, by whose values the times are
        /// counted; none if they are not.
        by: Vec<Arc<str>>,
        /// Whether the time on a CPU, the wait for one and the rest are told apart.
        is_split: bool,
        /// The stacks that are noted meanwhile, which takes that times are split.
        notes: StackNotes,
    },
}

/// What tells which start an end belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IntervalSubject {
    /// Both are in one thread.
    #[default]
    Thread,
    /// These arguments have the same values at both.
    Arguments(Vec<Arc<str>>),
    /// Both are of one call of a function: its entry, and its returns and tail calls.
    Call,
}

impl IntervalSubject {
    /// The arguments; none if something else tells it.
    #[must_use]
    pub fn arguments(&self) -> &[Arc<str>] {
        match self {
            Self::Arguments(names) => names,
            Self::Thread | Self::Call => &[],
        }
    }
}

impl Question {
    /// Whether it is about a marker.
    #[must_use]
    pub fn asks_for(&self, marker: &str) -> bool {
        match self {
            Self::Hits
            | Self::Processes
            | Self::Stacks { .. }
            | Self::Values(_)
            | Self::Histogram(_)
            | Self::Amounts { .. } => true,
            Self::Time { from, to, .. } => from == marker || to == marker,
        }
    }

    /// Whether it asks for an argument of this name.
    #[must_use]
    pub fn names(&self, argument: &str) -> bool {
        let has = |names: &[Arc<str>]| names.iter().any(|name| **name == *argument);
        match self {
            Self::Hits | Self::Processes | Self::Stacks { .. } => false,
            Self::Values(names) => has(names),
            Self::Histogram(name) => **name == *argument,
            Self::Amounts { of, by } => **of == *argument || has(by),
            Self::Time { key, by, .. } => has(key.arguments()) || has(by),
        }
    }

    /// Whether the parts of times are told apart.
    #[must_use]
    pub fn is_split(&self) -> bool {
        matches!(self, Self::Time { is_split: true, .. })
    }

    /// The stacks that are noted during intervals.
    #[must_use]
    pub fn notes(&self) -> StackNotes {
        if let Self::Time { notes, .. } = self { *notes } else { StackNotes::default() }
    }
}

/// A site that is not watched because of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedSite {
    /// The name of the marker.
    pub marker: Arc<str>,
    /// The address of the site.
    pub address: String,
    /// What cannot be done.
    pub why: Refusal,
}

/// What cannot be done at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The filter cannot be evaluated.
    Filter(Unfit),
    /// The argument cannot be counted.
    Argument(Mismatch),
    /// The values of several arguments together cannot be told apart.
    Key(KeyMisfit),
    /// Calls cannot be told apart there.
    Frame,
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(Unfit { why: why @ (Mismatch::Unread { .. } | Mismatch::Doubtful { .. }), .. }) => {
                write!(f, "the filter needs {why}")
            }
            Self::Argument(why @ (Mismatch::Unread { .. } | Mismatch::Doubtful { .. })) => {
                write!(f, "it counts by {why}")
            }
            Self::Filter(unfit) => write!(f, "{unfit}"),
            Self::Argument(why) => write!(f, "{why}"),
            Self::Key(why) => write!(f, "{why}"),
            Self::Frame => write!(f, "the frame of a call is not read there"),
        }
    }
}

impl Plan {
    /// The first marker of the same name in the same image. Their hits are counted together.
    #[must_use]
    pub fn group(&self, marker: usize) -> usize {
        let Some(of) = self.markers.get(marker) else { return marker };
        let is_same = |it: &PlannedMarker| it.image == of.image && it.name == of.name;
        self.markers.iter().position(is_same).unwrap_or(marker)
    }

    /// Says for the sites from the number `first` on what is counted there, and when. Removes those
    /// where it cannot be done, and returns them.
    pub fn narrow(&mut self, first: usize, filter: Option<&Filter>, question: &Question) -> Vec<RefusedSite> {
        let mut refused = Vec::new();
        let by = self.by(question);
        let chosen = filter.map_or_else(HashSet::new, |filter| self.chosen_calls(first, filter));
        let (markers, images) = (&self.markers, &self.images);
        let new = self.sites.split_off(first.min(self.sites.len()));
        for mut site in new {
            let name = markers.get(site.marker).map_or_else(|| Arc::from(""), |marker| Arc::clone(&marker.name));
            let frame = match question {
                Question::Time { key: IntervalSubject::Call, .. } => frame(&mut site),
                _ => None,
            };
            let platform = images.get(site.image).and_then(|image| image.platform);
            let why = match aggregate(question, by.as_ref(), frame.as_ref(), &name, (&mut site, platform)) {
                // The user did not ask for this marker.
                Ok(None) => continue,
                Ok(Some(aggregate)) => {
                    // An interval is chosen by its start, and polls are those of all tasks.
                    let is_poll = markers.get(site.marker).is_some_and(|marker| marker.task_point.is_some());
                    let filter = filter.filter(|_| !is_poll && !matches!(aggregate, Aggregate::End(_)));
                    site.aggregate = aggregate;
                    let condition = filter.map(|filter| filter.check(&mut site, platform)).transpose();
                    // One side of a system call has what chooses the call.
                    let condition = match condition {
                        Err(Unfit { why: Mismatch::Unknown { .. }, .. }) if chosen.contains(&site.marker) => Ok(None),
                        condition => condition,
                    };
                    match condition {
                        Ok(condition) => {
                            site.filter = condition;
                            self.sites.push(site);
                            continue;
                        }
                        Err(why) => Refusal::Filter(why),
                    }
                }
                Err(why) => why,
            };
            refused.push(RefusedSite { marker: name, address: site.address.to_string(), why });
        }
        refused
    }
}

impl Plan {
    /// The markers that are sides of system calls that a filter can choose: at least by the other side.
    fn chosen_calls(&self, first: usize, filter: &Filter) -> HashSet<usize> {
        let call = |site: &PlannedSite| Some(&*self.event_of(site)?.call.as_ref()?.name);
        let new = self.sites.iter().skip(first).filter_map(|site| Some((site, call(site)?)));
        let fits = |site: &PlannedSite| filter.check(&mut site.clone(), None).is_ok();
        let calls: HashSet<&str> = new.clone().filter(|(site, _)| fits(site)).map(|(_, call)| call).collect();
        new.filter(|(_, call)| calls.contains(call)).map(|(site, _)| site.marker).collect()
    }

    /// By what a question counts times: the arguments as one site at the start of intervals reads them, if one
    /// has them. `None` if no site there has them.
    fn by(&self, question: &Question) -> Option<KeyFields> {
        let Question::Time { from, by, .. } = question else { return None };
        let starts =
            self.sites.iter().filter(|site| self.markers.get(site.marker).is_some_and(|marker| *marker.name == **from));
        starts.filter_map(|site| fields(by, &mut site.clone(), None).ok().flatten()).next()
    }
}

/// The frame of a call, which a site at the entry of the function and at its exits reads in addition: the
/// stack pointer of the entry, which is another one in calls of the function by itself. `None` if it cannot
/// be read.
fn frame(site: &mut PlannedSite) -> Option<KeyFields> {
    site.read_also(site.entry_stack_pointer.clone()?).map(|frame| KeyFields(vec![frame]))
}

/// An argument of a site that is counted.
fn argument(name: &str, site: &mut PlannedSite, platform: Option<Platform>) -> Result<Readable, Refusal> {
    readable(&Arc::from(normalized(name)), site, platform).map_err(Refusal::Argument)
}

/// The arguments of a site with these names; `None` without a name.
fn fields(
    names: &[Arc<str>],
    site: &mut PlannedSite,
    platform: Option<Platform>,
) -> Result<Option<KeyFields>, Refusal> {
    let fields = names.iter().map(|name| argument(name, site, platform)).collect::<Result<Vec<_>, _>>()?;
    let fields = KeyFields(fields);
    fields.misfit().map_or(Ok(()), |why| Err(Refusal::Key(why)))?;
    Ok((!fields.0.is_empty()).then_some(fields))
}

/// An argument of a site whose values are amounts.
fn amount(name: &str, site: &mut PlannedSite, platform: Option<Platform>) -> Result<Number, Refusal> {
    match argument(name, site, platform)? {
        Readable::Number { kind: NumberKind::Float, .. } => Err(Refusal::Argument(Mismatch::Float)),
        Readable::Number { number, .. } => Ok(number),
        Readable::Text(_) => Err(Refusal::Argument(Mismatch::Text)),
    }
}

/// What is counted at a site; `None` if nothing is. `by_start` has the arguments of the start of an interval
/// by which times are counted, if it has them. `frame` is that of the call.
fn aggregate(
    question: &Question,
    by_start: Option<&KeyFields>,
    frame: Option<&KeyFields>,
    marker: &str,
    (site, platform): (&mut PlannedSite, Option<Platform>),
) -> Result<Option<Aggregate>, Refusal> {
    let mut read = |names: &[Arc<str>]| fields(names, site, platform);
    let (is_split, notes) = (question.is_split(), question.notes());
    let mut interval = |key: &IntervalSubject, by: &[Arc<str>], is_start: bool| {
        let by = match by_start {
            Some(of_start) if !is_start => By::AtStart(of_start.clone()),
            None if is_start => By::Nothing,
            _ => read(by)?.map_or(By::Nothing, By::Here),
        };
        let key = match key {
            IntervalSubject::Thread => Pairing::Thread,
            IntervalSubject::Arguments(names) => read(names)?.map_or(Pairing::Thread, Pairing::Arguments),
            IntervalSubject::Call => Pairing::Frame(frame.cloned().ok_or(Refusal::Frame)?),
        };
        Ok(Interval { key, by, is_split, notes })
    };
    match question {
        Question::Hits => Ok(Some(Aggregate::Hits)),
        Question::Processes => Ok(Some(Aggregate::Processes)),
        Question::Stacks { is_kernel } => Ok(Some(Aggregate::Stacks { is_kernel: *is_kernel })),
        Question::Values(names) => Ok(Some(read(names)?.map_or(Aggregate::Hits, Aggregate::Values))),
        Question::Histogram(name) => Ok(Some(Aggregate::Histogram(amount(name, site, platform)?))),
        Question::Amounts { of, by } => {
            let by = read(by)?;
            Ok(Some(Aggregate::Amounts { of: amount(of, site, platform)?, by }))
        }
        Question::Time { from, key, by, .. } if *from == marker => Ok(Some(Aggregate::Start(interval(key, by, true)?))),
        Question::Time { to, key, by, .. } if *to == marker => Ok(Some(Aggregate::End(interval(key, by, false)?))),
        Question::Time { .. } => Ok(None),
    }
}
