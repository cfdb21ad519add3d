//! The sites of a recording as a plan: what its hits mean, and what filters and questions apply to.

use std::sync::Arc;

use super::{DescribedArgument, DescribedSite, Description, Doubt, FieldType};
use crate::plan::{
    Aggregate, DoubtfulSource, Placeholder, Plan, PlannedArgument, PlannedSite, Reading, Source, UnreadReason,
};

impl Description {
    /// The plan with the same images, markers and sites. The field of an argument has the number of the
    /// argument.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let (images, markers) = (self.images.clone(), self.markers.clone());
        let sites = self.sites.iter().map(|site| planned(self, site)).collect();
        Plan { images, markers, sites, ..Plan::default() }
    }
}

fn planned(description: &Description, site: &DescribedSite) -> PlannedSite {
    let class = site.class.and_then(|class| description.classes.get(class));
    let source = |number: usize, argument: &DescribedArgument| {
        let field = class.and_then(|class| class.fields.iter().find(|field| field.argument == number));
        let here = match (field.map(|field| field.of), argument.unread) {
            (Some(FieldType::Number { size, kind }), _) => Reading::Number { field: number, size, kind },
            (Some(FieldType::Text), _) => Reading::Text { field: number },
            (Some(FieldType::Whole), _) => Reading::Whole { field: number },
            (Some(FieldType::Array { size, kind, count }), _) => Reading::Array { field: number, size, kind, count },
            (None, Some(placeholder)) => return Source::Unread(UnreadReason::Filed { placeholder, words: None }),
            // Without a class there are no events.
            (None, None) => return Source::Unread(UnreadReason::TooMany),
        };
        match argument.doubt {
            Some(doubt) => {
                let words = argument.why.as_deref().map(Arc::from);
                let why = UnreadReason::Filed { placeholder: Placeholder::Doubtful, words };
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
        alias: argument.alias.clone(),
        source: source(number, argument),
        names: argument.names.clone(),
        shown: argument.shown.clone(),
    };
    PlannedSite {
        image: site.image,
        marker: site.marker,
        function: site.function.clone(),
        address: site.address,
        probe: site.probe,
        offset: site.offset,
        switch: None,
        entry_stack_pointer: None,
        task: None,
        frame: None,
        inputs: Vec::new(),
        arguments: arguments.map(argument).collect(),
        members: Vec::new(),
        notes_task: site.has_task,
        filter: None,
        aggregate: Aggregate::Hits,
        recorded: None,
        exit: None,
    }
}
