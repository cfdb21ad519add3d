//! Which events of a recording are wanted, and what is counted at them. The sites of the recording
//! become a plan, so filters and questions apply to them as they do to running programs.

use std::sync::Arc;

use super::description::{DescribedSite, Description, FieldType};
use super::reader::Event;
use crate::aggregate::{Passage, Question, Refused};
use crate::filter::Filter;
use crate::plan::{Plan, PlannedArgument, PlannedSite, Reading, Source, Unread};
use crate::value::{Missing, Value};

/// The sites of a recording whose events are wanted.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The wanted sites. The field of an argument has the number of the argument.
    pub plan: Plan,
    /// The number in the plan of each site of the recording; `None` if its events are not wanted.
    numbers: Vec<Option<usize>>,
}

impl Chosen {
    /// The sites of the markers that `keep` accepts, by their number, and where the filter and the
    /// question can be applied; and the sites where they cannot.
    #[must_use]
    pub fn new(
        description: &Description,
        keep: &dyn Fn(usize) -> bool,
        filter: Option<&Filter>,
        question: &Question,
    ) -> (Self, Vec<Refused>) {
        let (images, markers) = (description.images.clone(), description.markers.clone());
        let mut plan = Plan { images, markers, ..Plan::default() };
        let (mut numbers, mut refused) = (Vec::with_capacity(description.sites.len()), Vec::new());
        for site in &description.sites {
            let number = plan.sites.len();
            if keep(site.marker) {
                plan.sites.push(planned(description, site));
                refused.extend(plan.narrow(number, filter, question));
            }
            numbers.push((plan.sites.len() > number).then_some(number));
        }
        (Self { plan, numbers }, refused)
    }

    /// The wanted site of an event with its number in the plan; `None` if the event is not wanted.
    #[must_use]
    pub fn site(&self, event: &Event<'_>) -> Option<(usize, &PlannedSite)> {
        let number = self.numbers.get(event.number).copied()??;
        Some((number, self.plan.sites.get(number)?))
    }
}

impl Event<'_> {
    /// The event as a hit at the site of a plan.
    #[must_use]
    pub fn passage(&self, site: usize) -> Passage<'_, [Result<Value<'_>, Missing>]> {
        Passage { site, time: self.time, process: self.process, thread: self.thread, inputs: &self.values }
    }
}

fn planned(description: &Description, site: &DescribedSite) -> PlannedSite {
    let class = site.class.and_then(|class| description.classes.get(class));
    let source = |number: usize, unread: Option<_>| {
        let field = class.and_then(|class| class.fields.iter().find(|field| field.argument == number));
        match (field.map(|field| field.of), unread) {
            (Some(FieldType::Number { size, kind }), _) => Source::Read(Reading::Number { field: number, size, kind }),
            (Some(FieldType::Text), _) => Source::Read(Reading::Text { field: number }),
            (Some(FieldType::Array { size, kind, count }), _) => {
                Source::Read(Reading::Array { field: number, size, kind, count })
            }
            (None, Some(placeholder)) => Source::Unread(Unread::Filed { placeholder, words: None }),
            // Without a class there are no events.
            (None, None) => Source::Unread(Unread::TooMany),
        }
    };
    let arguments = site.arguments.iter().enumerate();
    let argument = |(number, argument): (usize, &super::description::DescribedArgument)| PlannedArgument {
        text: Arc::clone(&argument.text),
        source: source(number, argument.unread),
        names: argument.names.clone(),
    };
    PlannedSite {
        image: site.image,
        marker: site.marker,
        function: site.function.clone(),
        address: site.address,
        probe: site.probe,
        offset: site.offset,
        switch: None,
        inputs: Vec::new(),
        arguments: arguments.map(argument).collect(),
        filter: None,
        aggregate: Default::default(),
        recorded: None,
    }
}
