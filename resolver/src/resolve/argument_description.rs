//! What the debug information says of an argument away from its site, for the rules that doubt it.

use std::ops::Range;
use std::sync::Arc;

use super::arguments::{Arguments, Stop};
use super::doubt::{Description, PreviousPlace, SourceSide, covers};
use super::instructions::FunctionCode;
use super::path::Path;
use super::site_answer::STEPS;
use crate::address::Vaddr;
use crate::dwarf::{Die, Frame, Moment, SharingVariable};
use crate::location::{Expr, Location};

/// An argument at a site, described elsewhere.
pub(super) struct ArgumentDescription<'a, 's> {
    pub(super) arguments: &'a Arguments<'s>,
    pub(super) stop: &'a Stop<'a>,
    pub(super) path: &'a Path,
    /// The argument's size in bytes, if it is known.
    pub(super) size: Option<u64>,
    /// Its variable, if it has one.
    pub(super) variable: Option<Die>,
    pub(super) code: Option<&'a FunctionCode<'a>>,
    /// Whether it is read from values of the function's entry. If not, what is described by such values
    /// elsewhere cannot be read there.
    pub(super) takes_entry_values: bool,
}

impl ArgumentDescription<'_, '_> {
    fn locate(&self, frame: Frame) -> Option<Location> {
        let location = self.arguments.locator.locate(self.path, self.size, &frame)?;
        (self.takes_entry_values || location.entry_values().is_empty()).then_some(location)
    }

    /// The line of the marker's function.
    fn declared(&self) -> Option<u32> {
        self.stop.scope?.frames.first()?.decl_line
    }
}

impl Description for ArgumentDescription<'_, '_> {
    fn location_at(&self, pc: Vaddr) -> Option<Location> {
        self.arguments.debug.allow(STEPS);
        self.locate(Frame { pc, at_entry: false, moment: Moment::Last, ..self.stop.frame })
    }

    fn before(&self) -> Vec<PreviousPlace> {
        let frame = self.stop.frame;
        match self.code.and_then(|code| code.predecessors(frame.pc)) {
            // GCC ends a location inside the call that overwrites it.
            Some(all) => all
                .iter()
                .map(|it| {
                    let pc = Vaddr(it.end.saturating_sub(1));
                    let location = self.locate(Frame { pc, at_entry: false, moment: Moment::Last, ..frame });
                    PreviousPlace { instruction: Some(it.start), location }
                })
                .collect(),
            None => {
                vec![PreviousPlace {
                    instruction: None,
                    location: self.locate(Frame { moment: Moment::First, ..frame }),
                }]
            }
        }
    }

    fn text(&self, location: &Location) -> Arc<str> {
        self.arguments.locator.text(location)
    }

    fn has_lines(&self) -> bool {
        self.declared().is_some()
    }

    fn line(&self, at: Vaddr) -> Option<u32> {
        let (file, line) = self.arguments.debug.line_at(at)?;
        let is_same = *file == *self.stop.file || file.ends_with(self.stop.file) || self.stop.file.ends_with(&*file);
        is_same.then_some(line)
    }

    fn side(&self, at: Vaddr) -> SourceSide {
        match self.line(at) {
            Some(line) if line > self.stop.line => SourceSide::After,
            Some(line) if line < self.stop.line && self.declared().is_some_and(|declared| line > declared) => {
                SourceSide::Before
            }
            _ => SourceSide::Neither,
        }
    }

    fn is_in_instance(&self, at: Vaddr) -> bool {
        let frames = self.stop.scope.map_or(&[][..], |scope| &scope.frames);
        match frames {
            [instance, _, ..] => {
                let code = self.arguments.debug.code_of(instance.instance).unwrap_or_default();
                code.iter().any(|range| range.contains(&at.0))
            }
            _ => true,
        }
    }

    fn block_of_object(&self, address: &Expr) -> Option<Vec<Range<u64>>> {
        let debug = self.arguments.debug;
        debug.allow(STEPS);
        let holds = |location: &Location, size: u64| covers(location, size, address);
        debug.block_of_object(self.stop.scope?, &self.stop.frame, &holds).ok()?
    }

    fn scope_of_variable(&self) -> Vec<Range<u64>> {
        let scope = self.stop.scope.zip(self.variable);
        let block = scope.and_then(|(scope, variable)| self.arguments.debug.block_of_variable(scope, variable).ok());
        block.unwrap_or_default()
    }

    fn shared(&self) -> Option<SharingVariable> {
        // gcc's view numbers tell the order of assignments.
        if matches!(self.stop.frame.moment, Moment::View(_)) {
            return None;
        }
        self.arguments.sharing(self.stop, self.variable?, &self.stop.frame)
    }

    fn has_only_whole_scopes(&self, is_meant: &dyn Fn(&Location) -> bool) -> bool {
        let Some(function) = self.stop.frame.function else { return false };
        self.arguments.debug.has_only_whole_scopes(function, &self.stop.frame, is_meant).unwrap_or(false)
    }

    fn lost_pointer_in(&self, range: &Range<u64>) -> bool {
        let instance = self.stop.scope.and_then(|scope| scope.frames.first()).map(|frame| frame.instance);
        let (Some(variable), Some(instance)) = (self.variable, instance) else { return false };
        self.arguments.debug.lost_pointer_to(variable, instance, range).unwrap_or(false)
    }
}
