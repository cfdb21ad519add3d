//! A hit: a marker was passed, in a program that runs or in one that was recorded.

use std::borrow::Cow;
use std::num::NonZeroU64;

use simple_markers_resolver::address::Vaddr;

use crate::aggregate::Passage;
use crate::filter::{Fields, Inputs, Text};
use crate::frames::EventStacks;
use crate::open_polls::TaskHit;
use crate::plan::{ContextNumber, Plan, PlannedArgument, PlannedImage, PlannedMarker, PlannedSite, Reading};
use crate::record::stack::{CopiedStack, Stack};
use crate::record::{Field, Layout, Record};
use crate::value::{Missing, Value};

/// A marker was passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit<'a> {
    /// The time in ns (`CLOCK_MONOTONIC`).
    pub time: u64,
    /// The CPU.
    pub cpu: u32,
    /// The number of the process.
    pub process: u32,
    /// The number of the thread.
    pub thread: u32,
    /// The name of the thread, which need not be UTF-8.
    pub name: &'a [u8],
    /// The number of the site in the plan.
    pub number: usize,
    /// Where it was.
    pub site: &'a PlannedSite,
    /// The link-time address of the site; `None` if it is not known which copy of a probe was passed.
    pub address: Option<Vaddr>,
    /// The marker.
    pub marker: &'a PlannedMarker,
    /// The program or shared object.
    pub image: &'a PlannedImage,
    /// The plan that has them.
    pub plan: &'a Plan,
    /// What the values are made of.
    pub body: Body<'a>,
}

/// What the values of a hit are made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Body<'a> {
    /// The record of a program that runs.
    Record(Fields<'a>),
    /// The values of a recording.
    Values {
        /// The value of each argument, or why it has none.
        values: Vec<Result<Value<'a>, Missing<'a>>>,
        /// Whether filters, keys and counts take doubtful values.
        takes_doubtful: bool,
        /// The stacks that were recorded.
        stacks: EventStacks<'a>,
    },
}

impl<'a> Hit<'a> {
    /// The hit of a record. `layouts` has the layout of each site's record. `None` if the plan has
    /// no such site, or the record is too short.
    #[must_use]
    pub fn new(record: Record<'a>, plan: &'a Plan, layouts: &'a [Layout]) -> Option<Self> {
        let number = usize::try_from(record.site()).ok()?;
        let (site, layout) = (plan.sites.get(number)?, layouts.get(number)?);
        let least = usize::from(layout.size()).saturating_add(layout.copy_size() as usize);
        if record.0.len() < least {
            return None;
        }
        Some(Self {
            time: record.time(),
            cpu: record.cpu(),
            process: record.process(),
            thread: record.thread(),
            name: record.name(),
            number,
            site,
            address: site.known_address(),
            marker: plan.markers.get(site.marker)?,
            image: plan.images.get(site.image)?,
            plan,
            body: Body::Record(Fields { record, layout }),
        })
    }

    /// The record with its layout; `None` for a hit of a recording.
    #[must_use]
    pub fn record(&self) -> Option<Fields<'a>> {
        match self.body {
            Body::Record(fields) => Some(fields),
            Body::Values { .. } => None,
        }
    }

    /// Each argument of the marker and its value, or why it has none.
    pub fn arguments(
        &self,
    ) -> impl Iterator<Item = (&'a PlannedArgument, Result<Value<'_>, Missing<'_>>)> + Clone + use<'_, 'a> {
        self.fields().take(self.site.own_arguments().len())
    }

    /// The number of the async runtime's task that the thread ran, or why it is not known; `Ok(None)` if it ran
    /// none. `None` if hits of the site do not note it.
    #[must_use]
    pub fn task(&self) -> Option<Result<Option<NonZeroU64>, Missing<'_>>> {
        self.site.task_argument()?;
        let (_, value) = self.fields().last()?;
        Some(value.map(|value| match value {
            Value::Number { bits, .. } => NonZeroU64::new(bits),
            Value::Text { .. } | Value::Null | Value::Array { .. } | Value::Whole(_) => None,
        }))
    }

    /// The hit as one in an async runtime, whose first argument is the frame ([`PlannedMarker::task_point`]).
    #[must_use]
    pub fn of_task(&self) -> TaskHit {
        let frame = match self.values().next() {
            Some(Ok(Value::Number { bits, .. })) => Some(bits),
            _ => None,
        };
        let task = self.task().and_then(|task| Some(task.ok()??.get()));
        TaskHit { process: self.process, thread: self.thread, time: self.time, task, frame }
    }

    /// All that a recording has of the hit: the arguments, and behind them the number of the task if it is noted.
    pub(crate) fn fields(
        &self,
    ) -> impl Iterator<Item = (&'a PlannedArgument, Result<Value<'_>, Missing<'_>>)> + Clone + use<'_, 'a> {
        let value = |number: usize, argument: &PlannedArgument| match &self.body {
            Body::Record(fields) => match argument.source.value(fields.record, fields.layout) {
                Err(Missing::Unreadable { .. }) if self.needs_unseen_entry(fields, argument) => {
                    Err(Missing::EntryUnseen)
                }
                value => value,
            },
            Body::Values { values, .. } => values.get(number).copied().unwrap_or(Err(Missing::Unreadable { at: None })),
        };
        let arguments = self.site.arguments.iter().enumerate();
        arguments.map(move |(number, argument)| (argument, value(number, argument)))
    }

    /// Whether an argument has no value because the entry of the function was not seen.
    fn needs_unseen_entry(&self, fields: &Fields<'_>, argument: &PlannedArgument) -> bool {
        let is_of_entry = |reading: &Reading| {
            let input = reading.field().and_then(|field| self.site.inputs.get(field));
            input.is_some_and(|input| !input.entry_values().is_empty())
        };
        fields.record.is_entry_unseen() && argument.source.readings().into_iter().any(|(_, of)| is_of_entry(of))
    }

    /// The value of each argument, or why it has none.
    pub fn values(&self) -> impl Iterator<Item = Result<Value<'_>, Missing<'_>>> + Clone + use<'_, 'a> {
        self.arguments().map(|(_, value)| value)
    }

    /// The kernel's own record of its event; `None` if there is none, or if it is not complete.
    #[must_use]
    pub fn kernel_record(&self) -> Option<&'a [u8]> {
        let Fields { record, layout } = self.record()?;
        let (record, size) = record.raw(layout)?;
        Some(record).filter(|record| record.len() as u64 == size)
    }

    /// The frames of the program's stack; `None` if they are not recorded.
    #[must_use]
    pub fn stack(&self) -> Option<Stack<'a>> {
        let Fields { record, layout } = self.record()?;
        record.stack(layout)
    }

    /// The frames of the kernel's stack; `None` if they are not recorded.
    #[must_use]
    pub fn kernel_stack(&self) -> Option<Stack<'a>> {
        let Fields { record, layout } = self.record()?;
        record.kernel_stack(layout)
    }

    /// The copied stack of the program; `None` if it is not copied.
    #[must_use]
    pub fn copied_stack(&self) -> Option<CopiedStack<'a>> {
        let Fields { record, layout } = self.record()?;
        record.copied_stack(layout)
    }

    /// The stacks of a hit of a recording; none of a hit of a program that runs.
    #[must_use]
    pub fn recorded_stacks(&self) -> EventStacks<'a> {
        match self.body {
            Body::Record(_) => EventStacks::default(),
            Body::Values { stacks, .. } => stacks,
        }
    }

    /// The hit as one at the site with this number of another plan, with the inputs of that site.
    #[must_use]
    pub fn passage<'i, I: Inputs>(&self, site: usize, inputs: &'i I) -> Passage<'i, I> {
        Passage { site, time: self.time, process: self.process, thread: self.thread, inputs }
    }

    /// The chunks of a whole value that filters, keys and counts take, by the number of the argument. `None`
    /// if there are none, and of the record of a program of the kernel, which reads members itself.
    #[must_use]
    pub fn whole(&self, argument: usize) -> Option<&[u8]> {
        match &self.body {
            Body::Record(fields) if self.site.recorded.is_some() => {
                match fields.record.field(fields.layout, argument) {
                    Field::Whole(chunks) => Some(chunks),
                    _ => None,
                }
            }
            Body::Record(_) => None,
            Body::Values { values, takes_doubtful, .. } => match taken(values, *takes_doubtful, argument)? {
                Value::Whole(chunks) => Some(chunks),
                _ => None,
            },
        }
    }

    /// The name of the thread as text.
    #[must_use]
    pub fn thread_name(&self) -> Cow<'a, str> {
        match std::str::from_utf8(self.name) {
            Ok(name) => Cow::Borrowed(name),
            Err(_) => Cow::Owned(simple_markers_resolver::text::from_bytes(self.name)),
        }
    }
}

/// Of a recording the arguments are the inputs, under the same numbers.
impl Inputs for Hit<'_> {
    fn number(&self, field: usize) -> Option<u64> {
        match &self.body {
            Body::Record(fields) => fields.number(field),
            Body::Values { values, takes_doubtful, .. } => match taken(values, *takes_doubtful, field)? {
                Value::Number { bits, .. } => Some(*bits),
                Value::Text { .. } | Value::Null | Value::Array { .. } | Value::Whole(_) => None,
            },
        }
    }

    fn text(&self, field: usize) -> Option<Text<'_>> {
        match &self.body {
            Body::Record(fields) => fields.text(field),
            Body::Values { values, takes_doubtful, .. } => match taken(values, *takes_doubtful, field)? {
                Value::Text { bytes, .. } => Some(Text::Bytes { bytes, length: bytes.len() as u64 }),
                Value::Null => Some(Text::Null),
                Value::Number { .. } | Value::Array { .. } | Value::Whole(_) => None,
            },
        }
    }

    fn context(&self, of: ContextNumber) -> Option<u64> {
        of.recorded(self.process, self.thread, self.cpu)
    }

    fn thread_name(&self) -> Option<&[u8]> {
        Some(self.name)
    }
}

/// The value that filters, keys and counts take; `None` if there is none.
fn taken<'v>(
    values: &'v [Result<Value<'v>, Missing<'v>>],
    takes_doubtful: bool,
    field: usize,
) -> Option<&'v Value<'v>> {
    match values.get(field)? {
        Ok(value) => Some(value),
        Err(Missing::Doubtful(Some(value))) if takes_doubtful => Some(value),
        Err(_) => None,
    }
}
