//! What there is at a site: asked of the debug information, then of the instructions.

use super::at_entry::{find_entry, registers_of};
use super::instructions::{Instructions, ProbeFacts, SiteQuery};
use super::join::RawSite;
use super::pc::Pc;
use super::site_answer::{SiteAnswer, Surroundings};
use super::site_debug::{MarkerLine, SiteDebug, SiteKind};
use super::{Argument, EntryReading, Origin, Reason};
use crate::dwarf::Die;
use crate::location::{Expr, Location, Node, ValueType};

/// What sites are looked up in.
#[derive(Clone, Copy)]
pub(super) struct SiteLookup<'a> {
    pub(super) debug: Option<&'a SiteDebug<'a>>,
    pub(super) instructions: Option<&'a Instructions<'a>>,
}

impl SiteLookup<'_> {
    /// Whether there is nothing to look up sites in.
    pub(super) fn is_empty(&self) -> bool {
        self.debug.is_none() && self.instructions.is_none()
    }

    /// Reads what all sites need, if there are any. The first site would read it too, while the others
    /// wait.
    pub(super) fn prepare(self, has_sites: bool) {
        if let Some(instructions) = self.instructions.filter(|_| has_sites) {
            instructions.prepare();
        }
    }

    /// Drops caches, if they are large. Call it when most of what was looked up is no longer needed.
    pub(super) fn release(self) {
        if let Some(debug) = self.debug {
            debug.release();
        }
        if let Some(instructions) = self.instructions {
            instructions.release();
        }
    }

    /// What there is at a site. `args` are the arguments as far as the site's record describes
    /// them. `has_dead` says whether the linker dropped a site of the marker.
    pub(super) fn site(self, wanted: &MarkerLine<'_>, site: &RawSite, args: &[Argument], has_dead: bool) -> SiteAnswer {
        let Some(pc) = site.pc else { return (Ok(Surroundings::default()), ProbeFacts::default()) };
        let mut surroundings = match self.debug {
            Some(debug) => {
                let operands = if site.origin == Origin::Note { args } else { &[] };
                let kind = SiteKind { anchored: site.anchored, origin: site.origin, operands };
                debug.site(pc, wanted, &kind, self.instructions, args)
            }
            None => Ok(Surroundings::default()),
        };
        if let Ok(known) = &mut surroundings {
            find_entry(self.debug, self.instructions, pc, known);
        }
        let Some(instructions) = self.instructions else { return (surroundings, ProbeFacts::default()) };
        if let Ok(known) = &mut surroundings {
            known.entry_stack_pointer = self.entry_stack_pointer(instructions, pc, site.origin, known.instance);
        }
        let known = surroundings.as_ref().ok();
        let resolved = known.into_iter().flat_map(|known| &known.args).filter(|arg| !arg.is_kept);
        let locations = args.iter().chain(resolved).flat_map(locations);
        let mut registers: Vec<_> = locations.flat_map(Location::registers).collect();
        // It tells the calls of a function apart.
        let stack_pointer = known.and_then(|known| known.entry_stack_pointer.clone());
        let of_frame = known.and_then(|known| Some(known.frame_entry.as_ref()?.stack_pointer.clone()));
        registers.extend(stack_pointer.into_iter().chain(of_frame).flat_map(registers_of));
        let is_note = site.origin == Origin::Note;
        let probed = instructions.site(&SiteQuery {
            pc,
            anchored: site.anchored,
            is_probe: site.switch.is_some() && !is_note,
            owns_instruction: site.owns_instruction,
            copies: site.copies,
            may_be_elsewhere: has_dead || site.records > 1 || !(is_note || site.origin == Origin::Record),
            function: known.and_then(|known| known.instance),
            is_not_there: known.is_some_and(|known| known.is_not_there),
            registers: &registers,
        });
        (surroundings, probed)
    }

    /// The stack pointer as it was when the function of a site was entered. The register has it at the first
    /// instruction and at the exits. Behind a prologue, call frame information says where it is.
    fn entry_stack_pointer(
        self,
        instructions: &Instructions<'_>,
        pc: Pc,
        origin: Origin,
        function: Option<Die>,
    ) -> Option<Expr> {
        let here = || Expr::new(Node::Register(instructions.stack_pointer(), ValueType::Generic));
        match origin {
            Origin::Return | Origin::TailCall => here(),
            Origin::Entry => match instructions.behind_entry(pc, function) {
                Some(pc) => self.debug?.info().entry_stack_pointer(pc),
                None => here(),
            },
            _ => None,
        }
    }
}

/// Where an argument is read from. A reader of a doubtful one compares it with its place before the site.
fn locations(argument: &Argument) -> impl Iterator<Item = &Location> {
    let before = match &argument.reason {
        Some(Reason::Replaced { before, .. }) => before.as_ref(),
        _ => None,
    };
    let entered = argument.at_entry.as_ref().and_then(EntryReading::location);
    argument.location.iter().chain(before).chain(entered)
}
