//! Joined records become [`Marker`]s: sites in order, what was found at each, and a verdict.
//!
//! Markers are built in batches, so that the debug information of a batch can be dropped before the
//! next one.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use object::SectionIndex;
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _,
};
use simple_markers_record::buffer::Layout as Words;
use simple_markers_record::{DECLARATIONS, SITES};

use super::descriptions::Descriptions;
use super::diagnostics::Diagnostics;
use super::doubt::doubt_copies;
use super::folded_markers::FoldedMarkers;
use super::frame_entry::FoundEntry;
use super::functions::SiteFunction;
use super::instructions::ProbeFacts;
use super::interner::Interner;
use super::join::{RawMarker, RawSite};
use super::lookup::SiteLookup;
use super::note_facts::NoteDescription;
use super::operand_variables::OperandVariable;
use super::pc::Pc;
use super::shared_places::SharedPlaces;
use super::site_answer::{SiteAnswer, Surroundings};
use super::site_debug::MarkerLine;
use super::{
    Absence, Argument, DeclaredArgument, DiagnosticKind, Exactness, FormatDescription, FrameEntry, LineProblem, Marker,
    NoteSource, Origin, Site, SitePlace, Switch, SwitchProblem, describe, kept, note_arguments, note_description,
    operand_variables, raw_sites, switch, words,
};
use crate::Error;
use crate::address::{FileOffset, SectionOffset, Vaddr};
use crate::image::{Image, NamedSymbols, SDT_NOTES};
use crate::location::Location;
use crate::location::operand::OperandContext;
use crate::notes::NoteDescriptions;
use crate::text;

/// How many markers are looked up before the debug information that they needed is dropped.
const BATCH: usize = 1024;

/// Builds the markers of an image.
pub(super) struct MarkerBuilder<'a> {
    image: &'a Image<'a>,
    /// The file with the symbols.
    named_image: &'a Image<'a>,
    /// Its symbols, read when a note names one.
    symbols: OnceCell<NamedSymbols<'a>>,
    texts: Interner<'a>,
    named: HashMap<Pc, SiteFunction>,
    descriptions: Descriptions,
    /// What is said of notes.
    said: &'a NoteDescriptions,
    section_names: HashMap<usize, Arc<str>>,
    folded: FoldedMarkers,
    shared_places: SharedPlaces,
    diagnostics: &'a mut Diagnostics,
}

/// A marker whose sites are still to be looked up. All drafts of a batch are looked up in parallel.
struct Draft {
    /// Index of the marker in the list of all markers.
    index: usize,
    raw: RawMarker,
    file: Arc<str>,
    described: FormatDescription,
    /// For each site what its record says about the arguments.
    kept: Vec<KeptArguments>,
}

/// The arguments of a site as far as its record describes them, and what is wrong with the record.
type KeptArguments = (Vec<Argument>, Vec<Error>);

impl<'a> MarkerBuilder<'a> {
    pub(super) fn new(
        (image, named_image): (&'a Image<'a>, &'a Image<'a>),
        texts: Interner<'a>,
        named: HashMap<Pc, SiteFunction>,
        (descriptions, said): (Descriptions, &'a NoteDescriptions),
        diagnostics: &'a mut Diagnostics,
    ) -> Self {
        let (section_names, folded) = (HashMap::new(), FoldedMarkers::default());
        let (shared_places, symbols) = (SharedPlaces::default(), OnceCell::new());
        Self {
            image,
            named_image,
            symbols,
            texts,
            named,
            descriptions,
            said,
            section_names,
            folded,
            shared_places,
            diagnostics,
        }
    }

    /// The markers, in the order of `raw`. `sites_are_known` says whether a marker without a site
    /// has none anywhere.
    pub(super) fn build(mut self, raw: Vec<RawMarker>, lookup: SiteLookup<'_>, sites_are_known: bool) -> Vec<Marker> {
        let mut finished = Vec::with_capacity(raw.len());
        let mut raw = in_batch_order(raw).into_iter();
        loop {
            let batch = raw.by_ref().take(BATCH);
            let mut drafts: Vec<Draft> = batch.map(|(index, raw)| self.draft(index, raw)).collect();
            if drafts.is_empty() {
                break;
            }
            drafts.par_iter_mut().for_each(|draft| draft.look_up(lookup));
            finished.extend(drafts.into_iter().map(|draft| (draft.index, self.marker(draft, sites_are_known))));
            lookup.release();
        }
        finished.sort_unstable_by_key(|(index, _)| *index);
        let mut markers = finished.into_iter().map(|(_, marker)| marker).collect::<Vec<_>>();
        self.folded.mark(&mut markers);
        self.shared_places.settle(&mut markers);
        markers
    }

    /// Everything about a marker that its records say.
    fn draft(&mut self, index: usize, mut raw: RawMarker) -> Draft {
        raw_sites::settle(&mut raw.sites);
        self.complete_format(&mut raw);
        let described = self.descriptions.of(&mut self.texts, raw.format, raw.args);
        let count = raw.note.as_ref().map_or(described.args.len(), |arguments| arguments.len());
        let size = count.saturating_mul(size_of::<Argument>());
        let kept = raw.sites.iter().map(|site| match self.texts.charge(size) {
            true => self.kept_arguments(site, &described.args),
            false => (Vec::new(), Vec::new()),
        });
        let kept = kept.collect();
        Draft { index, file: self.texts.text(raw.file), raw, described, kept }
    }

    /// Takes the format of the first site if only sites have the values of its words. Sites keep a
    /// format of their own if it is another one.
    fn complete_format(&self, raw: &mut RawMarker) {
        let has_unknown = words::has_unknown(self.texts.bytes(raw.format));
        if let Some(known) = raw.sites.iter().find_map(|site| site.format).filter(|_| has_unknown) {
            raw.format = known;
        }
        for site in &mut raw.sites {
            site.format = site.format.filter(|own| has_unknown && *own != raw.format);
        }
    }

    /// The arguments of a site as far as its record describes them.
    fn kept_arguments(&self, raw: &RawSite, declared: &[DeclaredArgument]) -> KeptArguments {
        let operands = raw.operands.map_or(&[][..], |id| self.texts.bytes(id));
        if raw.origin == Origin::Note {
            return (self.note_arguments(raw, operands), Vec::new());
        }
        let mut errors = Vec::new();
        let args = kept::arguments(declared, operands, self.image.processor(), |entry| {
            let (offset, entry) = (SectionOffset(raw.offset as u64), text::from_bytes(entry));
            errors.push(Error::Operand { section: SITES, offset, entry });
        });
        (args, errors)
    }

    /// The arguments of a note, in the order of its operands.
    fn note_arguments(&self, raw: &RawSite, operands: &[u8]) -> Vec<Argument> {
        let symbols = |name: &str| self.symbols.get_or_init(|| self.named_image.named_symbols()).place(name);
        let context = OperandContext {
            processor: self.image.processor(),
            order: self.image.byte_order(),
            here: raw.pc.filter(|pc| pc.section.is_none()).map(|pc| Vaddr(pc.address)),
            symbols: &symbols,
        };
        note_arguments::arguments(operands, self.image.address_size(), &context)
    }

    /// The marker that was drafted and looked up.
    fn marker(&mut self, draft: Draft, sites_are_known: bool) -> Marker {
        let Draft { index, raw, file, mut described, kept } = draft;
        let is_note = raw.is_note();
        let note = self.describe_note(&raw);
        let mut format = self.texts.text(raw.format);
        let note = note.map(|(own, of, description)| {
            (format, described) = (own, of);
            Arc::new(description)
        });
        let mut found = raw.found.into_iter();
        let (mut sites, mut refused, mut shares_page) = (Vec::with_capacity(raw.sites.len()), None, false);
        let (mut path, mut lines) = (None, Vec::new());
        for (site, kept) in raw.sites.iter().zip(kept) {
            let (mut surroundings, mut probed, mut args) = self.without_errors(found.next(), kept);
            if let Some(note) = &note {
                args = note.arguments(&args, &described.args, self.image.address_size());
            }
            path = path.or_else(|| surroundings.path.take());
            if site.pc.is_some() {
                lines.push(surroundings.line.take());
            }
            if let (Some(pc), Some(_), false) = (site.pc, &probed.probe, probed.places.is_empty()) {
                self.shared_places.add(pc, index, sites.len(), std::mem::take(&mut probed.places));
            }
            if let (Some(pc), Some(instance)) = (site.pc, surroundings.instance.filter(|_| is_inside(&probed))) {
                let function = (!surroundings.is_not_there).then_some(instance);
                self.folded.add(pc, function, index, sites.len());
            }
            let declared = match site.format {
                Some(format) => self.descriptions.of(&mut self.texts, format, raw.args).args,
                None => Arc::clone(&described.args),
            };
            let site = self.site(site, &declared, args, surroundings, probed);
            if let (Some(problem), Some(_)) = (site.switch.as_ref().and_then(|switch| switch.problem), site.file_offset)
            {
                refused.get_or_insert(problem);
            }
            shares_page |= site.switch.as_ref().is_some_and(|switch| switch.shares_page);
            sites.push(site);
        }
        // A note has no source of its own. Copies may be in several places.
        let common =
            lines.first().cloned().flatten().filter(|first| lines.iter().all(|line| line.as_ref() == Some(first)));
        let (file, line) = common.filter(|_| is_note).unwrap_or((file, raw.line));
        let name = self.texts.text(raw.name);
        for mistake in described.args.iter().filter_map(|declared| declared.mistake.clone()) {
            let (name, file) = (Arc::clone(&name), Arc::clone(&file));
            self.diagnostics.note(DECLARATIONS, DiagnosticKind::Words { name, file, line, mistake });
        }
        let at = || (Arc::clone(&name), Arc::clone(&file), line);
        let section = if is_note { SDT_NOTES } else { SITES };
        if let Some(problem) = refused {
            let (name, file, line) = at();
            self.diagnostics.note(section, DiagnosticKind::Switch { name, file, line, problem });
        } else if shares_page {
            let (name, file, line) = at();
            self.diagnostics.note(section, DiagnosticKind::SwitchSharesPage { name, file, line });
        }
        Marker {
            id: 0,
            name,
            file,
            path,
            line,
            column: sites.iter().find_map(|site| site.column),
            format,
            description: described.description,
            args: described.args,
            declared: raw.declared,
            survival: raw_sites::survival(&raw.sites, if raw.is_ghost { raw.ghost.is_none() } else { sites_are_known }),
            is_ghost: raw.is_ghost,
            is_probe: !is_note && sites.iter().any(|site| site.switch.is_some()),
            is_note,
            is_mark: raw.is_mark,
            inlined_copies: raw.inlined_copies,
            task_point: raw.task_point,
            note,
            sites,
            absence: raw.problem.map(unplaced).or(raw.ghost.map(|problem| Absence::Ghost { problem })),
        }
    }

    /// The format of a note, its arguments, and what is known of them; `None` for other markers.
    fn describe_note(&mut self, raw: &RawMarker) -> Option<(Arc<str>, FormatDescription, NoteDescription)> {
        let arguments = raw.note.as_ref()?;
        let name = self.texts.text(raw.name);
        let sites = raw.sites.iter().zip(&raw.found).filter(|(site, _)| site.pc.is_some());
        let sites = sites.filter(|_| !self.said.is_plain);
        let found = sites.map(|(_, (found, _))| found.as_ref().map_or(&[][..], |found| &found.variables));
        let variables = operand_variables::common(found, arguments.len());
        let of = |variables: &[Option<OperandVariable>]| {
            note_description::describe(&name, arguments, variables, self.said, self.image.address_size())
        };
        let mut note = of(&variables);
        // The names of the debug information may be long.
        if !self.texts.charge(note.format.len().saturating_add(note.names.len()).saturating_mul(16)) {
            note = of(&[]);
        }
        for problem in note.problems {
            let name = Arc::clone(&name);
            self.diagnostics.note(SDT_NOTES, DiagnosticKind::Note { name, problem });
        }
        let mut described = describe(note.format.as_bytes(), note.names.as_bytes());
        let format: Arc<str> = note.format.into();
        if note.description.format_from != NoteSource::Format {
            // `arg0 $arg0` says nothing.
            described.description = Arc::clone(&format);
        }
        Some((format, described, note.description))
    }

    /// What was found at a site, with the errors reported.
    fn without_errors(
        &mut self,
        found: Option<SiteAnswer>,
        (args, errors): KeptArguments,
    ) -> (Surroundings, ProbeFacts, Vec<Argument>) {
        errors.iter().for_each(|error| self.diagnostics.error(error));
        let (surroundings, probed) = found.unwrap_or_else(|| (Ok(Surroundings::default()), ProbeFacts::default()));
        let surroundings = surroundings.unwrap_or_else(|error| {
            self.diagnostics.error(&error);
            Surroundings::default()
        });
        (surroundings, probed, args)
    }

    fn site(
        &mut self,
        raw: &RawSite,
        declared: &[DeclaredArgument],
        mut args: Vec<Argument>,
        surroundings: Surroundings,
        probed: ProbeFacts,
    ) -> Site {
        let (place, file_offset) = raw.pc.map(|pc| self.place(pc)).unzip();
        let switch = raw.switch.map(|switch| self.switch(switch, raw.origin == Origin::Note));
        let named = raw.pc.and_then(|pc| self.named.get(&pc)).cloned();
        let (symbol, symbol_offset) = named.as_ref().and_then(|named| named.symbol.clone()).unzip();
        for (argument, resolved) in args.iter_mut().zip(surroundings.args) {
            match argument.is_kept {
                false => *argument = resolved,
                // A whole value in memory. Without a type, only its place is known.
                true if resolved.is_kept && resolved.ty.is_some() => *argument = resolved,
                true => (argument.names, argument.mismatch) = (resolved.names, resolved.mismatch),
            }
        }
        words::add_names(&mut args, declared);
        let function = named.as_ref().map(|named| Arc::clone(&named.function)).or(surroundings.function);
        let frame_entry = surroundings.frame_entry.map(|found| {
            let (place, file_offset) = self.place(found.pc);
            let FoundEntry { probe, entry_stack_pointer, stack_pointer, .. } = found;
            FrameEntry { place, file_offset, function: function.clone(), probe, entry_stack_pointer, stack_pointer }
        });
        let processor = self.image.processor();
        for argument in &mut args {
            let registers = argument.location.as_ref().map(Location::registers).unwrap_or_default();
            let vector = registers.into_iter().find(|register| register.is_vector(processor));
            argument.vector_register = vector.map(|register| register.name(processor).into());
        }
        Site {
            place,
            file_offset: file_offset.flatten(),
            symbol,
            symbol_offset,
            source_function: named.as_ref().and_then(|named| named.source.clone()),
            function,
            inlined: surroundings.inlined,
            scope_ended: surroundings.scope_ended,
            column: (raw.column != 0).then_some(raw.column),
            origin: raw.origin,
            callee: raw.callee.map(|callee| self.texts.text(callee)),
            entry_stack_pointer: surroundings.entry_stack_pointer,
            frame_entry,
            record_offset: (raw.origin == Origin::Record).then_some(raw.offset as u64),
            anchored: raw.anchored,
            exactness: probed.exactness,
            exactness_reason: probed.reason,
            predecessors: probed.predecessors,
            instruction: probed.instruction,
            probe: probed.probe,
            switch,
            args,
        }
    }

    /// The switch of a probe, or the semaphore of a note.
    fn switch(&mut self, at: Option<Pc>, is_note: bool) -> Switch {
        let size = if is_note { switch::SEMAPHORE_SIZE } else { switch::SIZE };
        let (place, file_offset) = at.map(|at| self.place(at)).unzip();
        let file_offset = file_offset.flatten();
        let problem = match (&place, file_offset) {
            (None, _) => Some(SwitchProblem::Dropped),
            (Some(SitePlace::Section { .. }), _) => None,
            (Some(SitePlace::Address(_)), None) => Some(SwitchProblem::NotInFile),
            (Some(SitePlace::Address(address)), Some(offset)) => match self.image.is_writable(*address, size) {
                false => Some(SwitchProblem::NotWritable),
                true => (offset.0 % 2 != 0).then_some(SwitchProblem::NotAligned),
            },
        };
        let shares_page = match &place {
            Some(SitePlace::Address(address)) => self.image.shares_page(*address),
            _ => false,
        };
        let words = match &place {
            Some(SitePlace::Address(address)) if !is_note => self.image.bytes(Vaddr(address.0.wrapping_add(size)), 4),
            _ => None,
        };
        let words = words.and_then(<[u8]>::first_chunk).map(|bytes| Words(u32::from_le_bytes(*bytes)));
        Switch { place, file_offset, problem, shares_page, words: words.filter(|words| words.is_valid()) }
    }

    /// Where a live site is in the image, and in the file.
    fn place(&mut self, pc: Pc) -> (SitePlace, Option<FileOffset>) {
        let Some(index) = pc.section else {
            let address = Vaddr(pc.address);
            return (SitePlace::Address(address), self.image.file_offset(address));
        };
        let offset = SectionOffset(pc.address);
        let name = self.section_names.entry(index);
        let section = Arc::clone(name.or_insert_with(|| self.image.section_name(SectionIndex(index)).into()));
        let file_offset = self.image.section_file_offset(SectionIndex(index), offset);
        (SitePlace::Section { section, offset }, file_offset)
    }
}

impl Draft {
    /// Finds what there is at each site, unless that is known already.
    fn look_up(&mut self, lookup: SiteLookup<'_>) {
        if !self.raw.found.is_empty() || lookup.is_empty() {
            return;
        }
        let has_dead = self.raw.sites.iter().any(|site| site.pc.is_none());
        let wanted = MarkerLine { file: &self.file, line: self.raw.line, args: &self.described.args, is_entry: false };
        let sites = self.raw.sites.par_iter().zip(&self.kept);
        self.raw.found = sites.map(|(site, (args, _))| lookup.site(&wanted, site, args, has_dead)).collect();
        let found = self.raw.sites.iter().zip(&mut self.raw.found);
        doubt_copies(found.filter_map(|(site, (surroundings, _))| Some((site.pc?, surroundings.as_mut().ok()?))));
    }
}

/// The markers with their indices. If they fill more than one batch, they are sorted by address:
/// then the markers of one unit are in one batch, and its debug information is read only once.
fn in_batch_order(raw: Vec<RawMarker>) -> Vec<(usize, RawMarker)> {
    let mut raw: Vec<(usize, RawMarker)> = raw.into_iter().enumerate().collect();
    if raw.len() > BATCH {
        raw.sort_by_cached_key(|(_, marker)| marker.sites.iter().filter_map(|site| site.pc).min());
    }
    raw
}

/// The absence reason of a marker that the line table has no place for.
fn unplaced(problem: LineProblem) -> Absence {
    match problem {
        LineProblem::SeveralFiles(files) => Absence::Ambiguous { files },
        problem => Absence::Unresolved { problem },
    }
}

/// Whether a site is inside its function.
fn is_inside(probed: &ProbeFacts) -> bool {
    !matches!(probed.exactness, None | Some(Exactness::Outside))
}
