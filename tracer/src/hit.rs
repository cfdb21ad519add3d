//! A hit: a record, with the plan that says what its fields mean.

use std::borrow::Cow;

use crate::plan::{KernelEvent, Plan, PlannedImage, PlannedMarker, PlannedSite};
use crate::record::{Layout, Record, Stack};
use crate::value::{Missing, Value};

/// A marker was passed.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// The record.
    pub record: Record<'a>,
    /// Where it was.
    pub site: &'a PlannedSite,
    /// The marker.
    pub marker: &'a PlannedMarker,
    /// The program or shared object.
    pub image: &'a PlannedImage,
    /// The plan that has them.
    pub plan: &'a Plan,
    layout: &'a Layout,
}

impl<'a> Hit<'a> {
    /// The hit of a record. `layouts` has the layout of each site's record. `None` if the plan has
    /// no such site, or the record is too short.
    #[must_use]
    pub fn new(record: Record<'a>, plan: &'a Plan, layouts: &'a [Layout]) -> Option<Self> {
        let number = usize::try_from(record.site()).ok()?;
        let (site, layout) = (plan.sites.get(number)?, layouts.get(number)?);
        if record.0.len() < usize::from(layout.size()) {
            return None;
        }
        let (marker, image) = (plan.markers.get(site.marker)?, plan.images.get(site.image)?);
        Some(Self { record, site, marker, image, plan, layout })
    }

    /// The layout of the record.
    #[must_use]
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The value of each argument, or why it has none.
    pub fn values(&self) -> impl Iterator<Item = Result<Value<'a>, Missing<'a>>> + Clone + use<'a> {
        let Self { record, site, layout, .. } = *self;
        site.arguments.iter().map(move |argument| argument.source.value(record, layout))
    }

    /// The name and the value of each argument.
    pub fn arguments(&self) -> impl Iterator<Item = (&'a str, Result<Value<'a>, Missing<'a>>)> + Clone + use<'a> {
        self.site.arguments.iter().map(|argument| &*argument.text).zip(self.values())
    }

    /// What the text of an event of the kernel needs; `None` for a marker.
    #[must_use]
    pub fn event(&self) -> Option<EventParts<'a>> {
        let (record, size) = self.record.raw(self.layout)?;
        let record = Some(record).filter(|record| record.len() as u64 == size);
        let event = self.marker.event.as_deref()?;
        Some(EventParts { marker: self.site.marker, event, thread: self.record.thread(), record })
    }

    /// The stack of the thread; `None` if stacks are not recorded.
    #[must_use]
    pub fn stack(&self) -> Option<Stack<'a>> {
        self.record.stack(self.layout)
    }

    /// The name of the thread.
    #[must_use]
    pub fn thread_name(&self) -> Cow<'a, str> {
        match std::str::from_utf8(self.record.name()) {
            Ok(name) => Cow::Borrowed(name),
            Err(_) => Cow::Owned(simple_markers_resolver::text::from_bytes(self.record.name())),
        }
    }
}

/// What the text of an event needs besides its fields.
#[derive(Clone, Copy, Debug)]
pub struct EventParts<'a> {
    /// The number of the event among the markers of its plan.
    pub marker: usize,
    /// The event.
    pub event: &'a KernelEvent,
    /// The number of the thread.
    pub thread: u32,
    /// The whole record of the kernel; `None` if it is made of the fields.
    pub record: Option<&'a [u8]>,
}
