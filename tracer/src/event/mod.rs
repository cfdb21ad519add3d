//! Events of the kernel, which are watched beside markers.
//!
//! In a plan an event is a marker of the image `kernel` with one site. The arguments are the fields
//! of its format. So filters, questions, recordings and their readers treat both alike.

mod fields;
mod file;
mod names;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use simple_markers_resolver::address::{FileOffset, Vaddr};

use crate::aggregate::Aggregate;
use crate::bpf::input::Input;
use crate::ftrace::format::Format;
use crate::ftrace::names::Names;
use crate::ftrace::print::{Choices, Printer};
use crate::plan::{ImageFile, Plan, PlannedArgument, PlannedImage, PlannedMarker, PlannedSite, Source};
use crate::record::Layout;

pub use fields::{COMMON, EventField, Place};
pub use names::{Known, Noting};
pub use text::{EventParts, Notes, Texts};

/// The name of the image that has the kernel's events.
pub const MODULE: &str = "kernel";

/// The largest part of fixed size of a record that is watched. With the dynamic part it fits into the
/// kernel's buffer of 8 KiB.
pub const MAX_FIXED: u16 = 4096;

/// A tracepoint of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelEvent {
    /// Its format.
    pub format: Format,
    /// The names of the values of its fields.
    pub choices: Vec<Choices>,
    /// Its fields but the common ones, which are the arguments in a plan.
    fields: Vec<EventField>,
}

impl KernelEvent {
    /// The event with a format that the kernel has.
    #[must_use]
    pub fn new(format: Format, names: &dyn Names) -> Self {
        let choices = Printer::new(&format, names).map_or_else(|_| Vec::new(), |printer| printer.choices(&format));
        Self { fields: fields::of_format(&format), format, choices }
    }

    /// The group and the name, as `sched:sched_switch`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}:{}", self.format.group, self.format.name)
    }

    /// The number of the event in the kernel.
    #[must_use]
    pub fn id(&self) -> u16 {
        self.format.id
    }

    /// The field with another thread that the event happens to, as `set_event_pid` of the kernel has
    /// it: a thread that is switched to or woken.
    #[must_use]
    pub fn other_thread(&self) -> Option<u16> {
        let name = match (&*self.format.group, &*self.format.name) {
            ("sched", "sched_switch") => "next_pid",
            ("sched", "sched_wakeup" | "sched_wakeup_new" | "sched_waking") => "pid",
            _ => return None,
        };
        let field = self.format.field(name).filter(|field| field.size == 4 && field.offset % 4 == 0)?;
        u16::try_from(field.offset).ok()
    }

    /// The layout of the record of a hit that has `inputs`.
    #[must_use]
    pub fn layout(&self, inputs: &[Input], with_stack: bool) -> Layout {
        let fields = inputs.iter().map(|input| match input {
            Input::Field { offset, place } => (*offset, place.kind()),
            // The inputs of an event are its fields.
            input => (0, input.kind()),
        });
        Layout::of_event(fields, self.fixed_size(), with_stack)
    }

    /// The names of the values of a field; `None` if they have none.
    #[must_use]
    pub fn choices_of(&self, field: &str) -> Option<&Choices> {
        self.choices.iter().find(|choices| choices.field == field)
    }
}

impl Plan {
    /// Adds an event of the kernel, unless the plan has it. Returns `false` if its record is too large
    /// to be watched.
    pub fn add_event(&mut self, event: KernelEvent) -> bool {
        let name: Arc<str> = event.name().into();
        let is_known = |it: &PlannedMarker| it.event.is_some() && it.name == name;
        if self.markers.iter().any(is_known) {
            return true;
        }
        if event.fixed_size() > MAX_FIXED {
            return false;
        }
        let of_kernel = self.markers.iter().find(|marker| marker.event.is_some());
        let image = of_kernel.map_or(self.images.len(), |marker| marker.image);
        if image == self.images.len() {
            let (path, module) = (String::new(), Arc::from(MODULE));
            self.images.push(PlannedImage {
                path,
                file: ImageFile::default(),
                module,
                build_id: None,
                thread_local_size: None,
            });
        }
        let (mut inputs, mut arguments) = (Vec::new(), Vec::new());
        for EventField { name, offset, place, reading } in event.fields.iter().cloned() {
            inputs.push(Input::Field { offset, place });
            arguments.push(PlannedArgument { text: name, source: Source::Read(reading), names: None });
        }
        let (file, format, event) = (Arc::from(""), Arc::from(""), Some(Arc::new(event)));
        self.markers.push(PlannedMarker { image, name, file, line: 0, format, sites: 1, event });
        self.sites.push(PlannedSite {
            image,
            marker: self.markers.len() - 1,
            function: None,
            address: Vaddr(0),
            probe: Vaddr(0),
            offset: FileOffset(0),
            switch: None,
            inputs,
            arguments,
            filter: None,
            aggregate: Aggregate::Hits,
            recorded: None,
        });
        true
    }
}
