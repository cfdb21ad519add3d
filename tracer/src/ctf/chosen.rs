//! Which events of a recording are wanted, and what is counted at them. The sites of the recording
//! become a plan, so filters and questions apply to them as they do to running programs.

use std::sync::Arc;

use super::description::{DescribedArgument, DescribedSite, Description, Doubt, FieldType};
use super::reader::Event;
use crate::aggregate::{Passage, Question, Refused};
use crate::filter::{Filter, Values};
use crate::plan::{
    DoubtfulSource, DoubtfulValues, Placeholder, Plan, PlannedArgument, PlannedSite, Reading, Source, Unread,
};

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
    /// question can be applied; and the sites where they cannot. `doubtful` says whether both take
    /// doubtful arguments.
    #[must_use]
    pub fn new(
        description: &Description,
        keep: &dyn Fn(usize) -> bool,
        filter: Option<&Filter>,
        question: &Question,
        doubtful: DoubtfulValues,
    ) -> (Self, Vec<Refused>) {
        let (images, markers) = (description.images.clone(), description.markers.clone());
        let mut plan = Plan { images, markers, ..Plan::default() };
        let (mut numbers, mut refused) = (Vec::with_capacity(description.sites.len()), Vec::new());
        for site in &description.sites {
            let number = plan.sites.len();
            if keep(site.marker) {
                plan.sites.push(planned(description, site));
                plan.treat(number, doubtful);
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
    /// The event as a hit at the site of a plan. `inputs` are its own.
    #[must_use]
    pub fn passage<'i>(&self, site: usize, inputs: &'i Values<'i>) -> Passage<'i, Values<'i>> {
        Passage { site, time: self.time, process: self.process, thread: self.thread, inputs }
    }
}

fn planned(description: &Description, site: &DescribedSite) -> PlannedSite {
    let class = site.class.and_then(|class| description.classes.get(class));
    let source = |number: usize, argument: &DescribedArgument| {
        let field = class.and_then(|class| class.fields.iter().find(|field| field.argument == number));
        let here = match (field.map(|field| field.of), argument.unread) {
            (Some(FieldType::Number { size, kind }), _) => Reading::Number { field: number, size, kind },
            (Some(FieldType::Text), _) => Reading::Text { field: number },
            (Some(FieldType::Array { size, kind, count }), _) => Reading::Array { field: number, size, kind, count },
            (None, Some(placeholder)) => return Source::Unread(Unread::Filed { placeholder, words: None }),
            // Without a class there are no events.
            (None, None) => return Source::Unread(Unread::TooMany),
        };
        match argument.doubt {
            Some(doubt) => {
                let words = argument.why.as_deref().map(Arc::from);
                let why = Unread::Filed { placeholder: Placeholder::Doubtful, words };
                // The event says whether both values were the same.
                let before = (doubt == Doubt::Sometimes).then(|| here.clone());
                Source::Doubtful(Box::new(DoubtfulSource { here, before, why, is_taken: false }))
            }
            None => Source::Read(here),
        }
    };
    let arguments = site.arguments.iter().enumerate();
    let argument = |(number, argument): (usize, &DescribedArgument)| PlannedArgument {
        text: Arc::clone(&argument.text),
        source: source(number, argument),
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
