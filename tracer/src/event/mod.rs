//! Events of the kernel, which are watched beside markers.
//!
//! In a plan an event is a marker of the image `kernel` with one site. The arguments are the fields
//! of its format. So filters, questions, recordings and their readers treat both alike.

mod names;
mod record;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use crate::plan::{
    EventField, ImageFile, Input, KernelEvent, Plan, PlannedArgument, PlannedImage, PlannedMarker, PlannedSite, Source,
};

pub use names::{KnownNames, Noting};
pub use text::{Notes, Texts};

/// The name of the image that has the kernel's events.
pub const MODULE: &str = "kernel";

/// The largest part of fixed size of a record that is watched. With the dynamic part it fits into the
/// kernel's buffer of 8 KiB.
pub const MAX_FIXED: u16 = 4096;

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
                platform: None,
            });
        }
        let (mut inputs, mut arguments) = (Vec::new(), Vec::new());
        for EventField { name, offset, place, reading } in event.fields.iter().cloned() {
            inputs.push(Input::Field { offset, place });
            arguments.push(PlannedArgument::new(name, Source::Read(reading)));
        }
        let (file, format, event) = (Arc::from(""), Arc::from(""), Some(Arc::new(event)));
        self.markers.push(PlannedMarker { image, name, file, line: 0, format, sites: 1, task_point: None, event });
        self.sites.push(PlannedSite::without_code(image, self.markers.len() - 1, inputs, arguments));
        true
    }
}
