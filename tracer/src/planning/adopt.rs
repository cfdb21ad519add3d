//! Takes images of a plan file into a plan, as the machine at hand can watch them.

use super::make::is_readable;
use crate::bpf::{KernelOffsets, Target, input};
use crate::plan::{
    Input, LeftOut, Placeholder, Plan, PlannedEntry, PlannedImage, PlannedMarker, PlannedSite, Reading, Source,
    Uncompilable, UnreadReason, table_number,
};

impl Plan {
    /// Adds an image of another plan as the file `path`, with those of its markers and of its sites
    /// that are left out that the functions accept. Arguments that cannot be read on this machine
    /// become [`UnreadReason::Uncompilable`]. `kernel` is that of this machine.
    ///
    /// It does nothing if the other plan has no such image.
    pub fn adopt(
        &mut self,
        other: &Self,
        image: usize,
        path: &str,
        keep: &dyn Fn(usize) -> bool,
        keep_left_out: &dyn Fn(&LeftOut) -> bool,
        kernel: KernelOffsets,
    ) {
        let Some(of) = other.images.get(image) else { return };
        let number = self.images.len();
        self.images.push(PlannedImage { path: path.to_owned(), ..of.clone() });
        let mut markers: Vec<Option<usize>> = vec![None; other.markers.len()];
        for ((index, known), marker) in markers.iter_mut().enumerate().zip(&other.markers) {
            if marker.image == image && keep(index) {
                *known = Some(self.markers.len());
                self.markers.push(PlannedMarker { image: number, ..marker.clone() });
            }
        }
        for site in &other.sites {
            let Some(marker) = markers.get(site.marker).copied().flatten() else { continue };
            let target = Target {
                probe: site.probe,
                platform: of.platform,
                thread_local_size: of.thread_local_size,
                is_sleepable: true,
                has_exchange: true,
                kernel,
            };
            let mut site = PlannedSite { image: number, marker, ..site.clone() };
            site.settle(&target);
            site.frame.take_if(|_| !site.inputs.iter().any(|input| !input.entry_values().is_empty()));
            if let Some(frame) = &mut site.frame {
                let Some(entry) = other.entries.get(frame.entry) else { continue };
                let entry = PlannedEntry { image: number, ..entry.clone() };
                frame.entry = self.entries.iter().position(|known| *known == entry).unwrap_or(self.entries.len());
                if frame.entry == self.entries.len() {
                    self.entries.push(entry);
                }
            }
            for input in &mut site.inputs {
                let Input::Whole(whole) = input else { continue };
                let Some(table) = other.reads.get(whole.reads) else { continue };
                whole.reads = table_number(&mut self.reads, table);
            }
            self.sites.push(site);
        }
        let left_out = other.left_out.iter().filter(|it| it.image == image && keep_left_out(it));
        self.left_out.extend(left_out.cloned().map(|it| LeftOut { image: number, ..it }));
    }
}

impl PlannedSite {
    /// Leaves out the inputs that no program can read.
    fn settle(&mut self, target: &Target) {
        self.entry_stack_pointer.take_if(|of| !is_readable(of, target));
        self.task.take_if(|of| !is_readable(of, target));
        let checked = self.inputs.iter().map(|input| input::check(input, target));
        let mut next = 0;
        let fields: Vec<Result<usize, Uncompilable>> = checked
            .map(|checked| {
                checked.map(|()| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        if next == fields.len() {
            return;
        }
        let inputs = std::mem::take(&mut self.inputs).into_iter().zip(&fields);
        self.inputs = inputs.filter(|(_, field)| field.is_ok()).map(|(input, _)| input).collect::<Vec<Input>>();
        for argument in &mut self.arguments {
            argument.source.renumber(&fields);
        }
    }
}

impl Source {
    /// Gives the inputs other numbers. A source that needs an input without one cannot be read.
    fn renumber(&mut self, fields: &[Result<usize, Uncompilable>]) {
        match self {
            Self::Read(reading) => {
                if let Err(why) = reading.renumber(fields) {
                    *self = Self::Unread(UnreadReason::Uncompilable(why));
                }
            }
            Self::Either(here, before) => {
                if here.renumber(fields).and_then(|()| before.renumber(fields)).is_err() {
                    *self = Self::Unread(UnreadReason::Filed { placeholder: Placeholder::Doubtful, words: None });
                }
            }
            Self::Doubtful(doubtful) => {
                if doubtful.before.as_mut().is_some_and(|before| before.renumber(fields).is_err()) {
                    doubtful.before = None;
                }
                if doubtful.here.renumber(fields).is_err() {
                    *self = Self::Unread(doubtful.why.clone());
                }
            }
            Self::Unread(_) => {}
        }
    }
}

impl Reading {
    fn renumber(&mut self, fields: &[Result<usize, Uncompilable>]) -> Result<(), Uncompilable> {
        match self {
            Self::Constant { .. } => {}
            Self::Number { field, .. } | Self::Text { field } | Self::Array { field, .. } | Self::Whole { field } => {
                *field = fields.get(*field).copied().unwrap_or(Err(Uncompilable::TooLarge))?;
            }
        }
        Ok(())
    }
}
