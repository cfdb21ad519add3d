//! Makes a plan of a resolution: selects the sites, and says what to read for each argument.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use simple_markers_resolver::address::FileOffset;
use simple_markers_resolver::export::fetch::{Fetch, Operand, fetch};
use simple_markers_resolver::export::{
    self, ArgumentOmission, ExportError, PlanEntry, PlannedArgument as WantedArgument, Point, Precision, ValueBytes,
};
use simple_markers_resolver::location::{Binary, Expr, Location, Node, Unary, ValueType};
use simple_markers_resolver::resolve::{
    Argument, Marker, Origin, Reason, ResolvedImage, SitePlace, Verdict, format_with_names,
};
use simple_markers_resolver::types::{Names, ReadTable, Shape, Type};

use super::entry::EntryBuilder;
use super::recorded::{self, RecordedArgument};
use super::task::{make_task_point, task_number};
use crate::arch::Platform;
use crate::bpf::{KernelOffsets, Target, input};
use crate::plan::{
    Aggregate, CallExit, DoubtfulSource, DoubtfulValues, ImageFile, Input, LeftOut, MAX_TEXT, MAX_WHOLE, MAX_WORDS,
    Plan, PlannedArgument, PlannedImage, PlannedMarker, PlannedSite, ReadLimits, Reading, RecorderProbe, ShownType,
    Source, TextLimit, Uncompilable, UnreadReason, UnwatchedReason, WholeInput,
};
use crate::thread_local::ThreadLocals;

/// How much of whole values is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueBudget {
    /// The most elements of a collection.
    pub elements: u16,
    /// How many pointers are followed.
    pub depth: u32,
    /// The most bytes of the whole values of a hit, with 16 bytes for each read; at most [`MAX_WHOLE`].
    pub bytes: u16,
}

impl Default for ValueBudget {
    /// 16 elements, 4 pointers, 1 KiB.
    fn default() -> Self {
        Self { elements: 16, depth: 4, bytes: 1024 }
    }
}

/// How a plan is made.
#[derive(Clone, Debug)]
pub struct PlanSettings {
    /// Which sites are watched besides exact ones, and where the probes go.
    pub export: export::ExportSettings,
    /// The most bytes of a text that are read, from 1 to [`MAX_TEXT`].
    pub text: u16,
    /// How much of whole values is read.
    pub values: ValueBudget,
    /// Where the kernel has what the programs need.
    pub kernel: KernelOffsets,
    /// Whether the programs may sleep.
    pub is_sleepable: bool,
    /// Whether programs with a recorder record their probes themselves.
    pub is_recorded: bool,
    /// What becomes of doubtful arguments. [`export::ExportSettings::doubtful`] is not used.
    pub doubtful: DoubtfulValues,
}

impl Default for PlanSettings {
    /// Exact sites, texts of 256 bytes, and no thread-local variables, for programs that may sleep.
    fn default() -> Self {
        let export = export::ExportSettings::default();
        let doubtful = DoubtfulValues::default();
        Self {
            export,
            text: 256,
            values: ValueBudget::default(),
            kernel: KernelOffsets::default(),
            is_sleepable: true,
            is_recorded: false,
            doubtful,
        }
    }
}

impl PlanSettings {
    /// How much of a whole value is read.
    fn read_limits(&self) -> ReadLimits {
        let ValueBudget { elements, depth, .. } = self.values;
        ReadLimits { elements, depth, text: self.text }
    }
}

impl Plan {
    /// Adds the markers of an image that `keep` accepts. `path` is its absolute path.
    /// `thread_locals` says how its thread-local variables are found.
    ///
    /// # Errors
    ///
    /// The image is not an executable or a shared object, or its programs are not watched.
    pub fn add(
        &mut self,
        image: &ResolvedImage,
        path: &str,
        thread_locals: &ThreadLocals,
        keep: &dyn Fn(&Marker) -> bool,
        settings: &PlanSettings,
    ) -> Result<(), ExportError> {
        // Doubtful arguments are read below.
        let at_entry = settings.kernel.identity.is_some();
        let chosen = export::ExportSettings { doubtful: false, at_entry, ..settings.export.clone() };
        let planned = export::points(image, keep, &chosen)?;
        let (number, thread_local_size) = (self.images.len(), thread_locals.size());
        let platform = Platform::of(image.arch);
        let (path, module) = (path.to_owned(), Arc::clone(&image.module));
        self.images.push(PlannedImage {
            path,
            file: ImageFile::default(),
            module,
            build_id: image.build_id.clone(),
            thread_local_size,
            platform,
        });
        let (first, mut orders) = (self.sites.len(), Vec::new());
        for planned in planned {
            match planned {
                PlanEntry::Point(point) => {
                    let marker = self.marker(number, &point);
                    let names = self.markers.get(marker).map(PlannedMarker::names).unwrap_or_default();
                    let control = image.recorder.filter(|_| settings.is_recorded);
                    let recorded = control.and_then(|control| recorded_site(&point, number, marker, &names, control));
                    if let Some(recorded) = recorded {
                        match self.sites.iter_mut().find(|site| site.marker == marker && site.is_copy(&recorded)) {
                            Some(site) => site.add_copy(&recorded),
                            None => self.sites.push(recorded),
                        }
                        continue;
                    }
                    let target = Target {
                        probe: point.address,
                        platform,
                        thread_local_size,
                        is_sleepable: settings.is_sleepable,
                        has_exchange: true,
                        kernel: settings.kernel,
                    };
                    let mut entry = EntryBuilder::new(&point, number, &self.entries);
                    let reads = &mut self.reads;
                    let mut site =
                        site(&point, number, (marker, &names), &target, thread_locals, settings, (reads, &mut entry));
                    site.frame = entry.add_to(&mut self.entries);
                    site.task = task_number(&image.tasks, thread_locals).filter(|of| is_readable(of, &target));
                    if let Some(what) = point.marker.task_point {
                        make_task_point(&mut site, what);
                        site.task.take_if(|of| !is_readable(of, &target));
                    }
                    self.sites.push(site);
                    orders.push((self.sites.len() - 1, point.site.record_offset));
                }
                PlanEntry::LeftOut { marker, place, why } => {
                    let (marker, why) = (Arc::clone(&marker.name), UnwatchedReason::Omitted(why));
                    self.left_out.push(LeftOut { image: number, marker, place, why });
                }
            }
        }
        self.put_in_order(first, &orders);
        Ok(())
    }

    /// Puts the sites whose probes have one address in the order in which the program passes them. These
    /// are sites with one address, or with nothing but straight code between. `orders` has the numbers
    /// of the sites from the number `first` on, each with the offset of its record.
    fn put_in_order(&mut self, first: usize, orders: &[(usize, Option<u64>)]) {
        let mut places: BTreeMap<FileOffset, Vec<(usize, Option<u64>)>> = BTreeMap::new();
        for (number, record) in orders {
            let Some(site) = self.sites.get(*number) else { continue };
            places.entry(site.offset).or_default().push((*number, *record));
        }
        let new = self.sites.split_off(first);
        let mut sources: Vec<usize> = (0..new.len()).collect();
        for place in places.values().filter(|place| place.len() > 1) {
            let mut sorted = place.clone();
            // A site without a record is that of a ghost: its line says where it may be.
            let line = |site: &PlannedSite| self.markers.get(site.marker).map(|marker| marker.line);
            sorted.sort_by_key(|(number, record)| {
                let site = new.get(number - first);
                (site.map(|site| site.address), record.is_none(), *record, site.and_then(line))
            });
            for ((to, _), (from, _)) in place.iter().zip(&sorted) {
                if let Some(source) = sources.get_mut(to - first) {
                    *source = from - first;
                }
            }
        }
        self.sites.extend(sources.into_iter().filter_map(|source| new.get(source).cloned()));
    }

    /// The number of the marker of a site. The copies of a marker may have other names for values.
    fn marker(&mut self, image: usize, point: &Point<'_>) -> usize {
        let marker = point.marker;
        let planned = PlannedMarker {
            image,
            name: Arc::clone(&marker.name),
            file: Arc::clone(&marker.file),
            line: marker.line,
            // The arguments lead to the number of the task.
            format: if marker.task_point.is_some() { Arc::from("") } else { format_with_names(marker, point.site) },
            sites: marker.sites.len(),
            task_point: marker.task_point,
            event: None,
        };
        // The points come in the order of the markers.
        let is_it = |known: &PlannedMarker| {
            known.image == image
                && known.name == planned.name
                && known.line == planned.line
                && known.file == planned.file
        };
        let mut known = self.markers.iter().enumerate().rev().take_while(|(_, known)| is_it(known));
        if let Some((number, _)) = known.find(|(_, known)| **known == planned) {
            return number;
        }
        self.markers.push(planned);
        self.markers.len() - 1
    }
}

fn site(
    point: &Point<'_>,
    image: usize,
    (marker, names): (usize, &[Option<Arc<Names>>]),
    target: &Target,
    thread_locals: &ThreadLocals,
    settings: &PlanSettings,
    (reads, entry): (&mut Vec<Arc<ReadTable>>, &mut EntryBuilder),
) -> PlannedSite {
    let mut inputs = Vec::new();
    let wanted = point.wanted();
    let limits: Vec<_> = (0..wanted.len()).map(|index| limit(&wanted, index)).collect();
    let read = wanted.iter().zip(limits).map(|(wanted, limit)| match (limit, wanted.fetch.clone()) {
        // A text with a doubtful precision may end elsewhere.
        (Ok((limit, Some(why))), Ok(_) | Err(ArgumentOmission::Doubtful(_))) => (limit, Err(why)),
        (Ok((limit, _)), fetched) => (limit, fetched),
        // Where a text ends is not known without its precision.
        (Err(why), _) => (None, Err(why)),
    });
    let read: Vec<(Option<Expr>, Result<Fetch, ArgumentOmission>)> = read.collect();
    let text = settings.text.clamp(1, MAX_TEXT);
    let wholes: usize =
        wanted.iter().zip(&read).map(|(wanted, (_, fetched))| whole_values(wanted, fetched, settings.doubtful)).sum();
    let most = settings.values.bytes.min(MAX_WHOLE) / u16::try_from(wholes.max(1)).unwrap_or(u16::MAX);
    let shown: Vec<Option<Arc<ShownType>>> = wanted.iter().map(|wanted| shown(wanted, target)).collect();
    let mut source = |index: usize, wanted: &WantedArgument<'_>, (limit, fetched): &(Option<Expr>, _)| {
        let mut reader = InputBuilder {
            inputs: &mut inputs,
            target,
            thread_locals,
            text,
            limit: limit.clone(),
            entry,
            reads,
            limits: settings.read_limits(),
            shown: shown.get(index).and_then(Option::as_deref),
            most,
        };
        match fetched {
            Err(ArgumentOmission::Doubtful(why)) => reader.doubtful(wanted, why.clone(), settings.doubtful),
            fetched => reader.source(fetched, wanted.argument),
        }
    };
    // What doubtful arguments need comes last, so that it takes no place from others.
    let mut sources: Vec<Option<Source>> = vec![None; wanted.len()];
    for is_last in [false, true] {
        for (index, ((wanted, read), place)) in wanted.iter().zip(&read).zip(&mut sources).enumerate() {
            if is_last == matches!(read.1, Err(ArgumentOmission::Doubtful(_))) {
                *place = Some(source(index, wanted, read));
            }
        }
    }
    let arguments =
        wanted.iter().zip(sources).zip(&shown).enumerate().filter_map(|(index, ((wanted, source), shown))| {
            let names = names.get(index).cloned().flatten();
            let (text, alias) = (Arc::clone(&wanted.argument.text), wanted.argument.alias.clone());
            Some(PlannedArgument { text, alias, source: source?, names, shown: shown.clone() })
        });
    let arguments = arguments.collect();
    PlannedSite {
        image,
        marker,
        function: point.site.function.clone(),
        address: match point.site.place {
            Some(SitePlace::Address(address)) => address,
            _ => point.address,
        },
        probe: point.address,
        offset: point.offset,
        switch: point.switch.map(|switch| switch.offset),
        entry_stack_pointer: point.site.entry_stack_pointer.clone().filter(|of| is_readable(of, target)),
        task: None,
        frame: None,
        inputs,
        arguments,
        members: Vec::new(),
        notes_task: false,
        filter: None,
        aggregate: Aggregate::Hits,
        recorded: None,
        exit: match point.site.origin {
            Origin::Return => Some(CallExit::Return),
            Origin::TailCall => Some(CallExit::TailCall { function: point.site.callee.clone() }),
            _ => None,
        },
    }
}

/// How many whole values are read for an argument. A doubtful one may be at two places, and a strict plan
/// reads only those.
fn whole_values(
    wanted: &WantedArgument<'_>,
    fetched: &Result<Fetch, ArgumentOmission>,
    doubtful: DoubtfulValues,
) -> usize {
    let argument = wanted.argument;
    let before = match &argument.reason {
        Some(Reason::Replaced { before, .. }) => before.as_ref(),
        _ => None,
    };
    let is_whole = |location: Option<&Location>| {
        matches!(export::fetch_whole(&at_location(argument, location), false), Ok(Fetch::Whole(_)))
    };
    match fetched {
        Ok(Fetch::Whole(_)) => 1,
        Err(ArgumentOmission::Doubtful(_)) if wanted.form.is_some() => {
            let places = [argument.location.as_ref(), before];
            let read = places.into_iter().filter(|place| place.is_some() && is_whole(*place)).count();
            if doubtful == DoubtfulValues::Strict && read < 2 { 0 } else { read }
        }
        _ => 0,
    }
}

/// An argument as if it were certainly at a location.
fn at_location(argument: &Argument, location: Option<&Location>) -> Argument {
    Argument { verdict: Some(Verdict::Live), location: location.cloned(), reason: None, ..argument.clone() }
}

/// How an argument is shown by its type; `None` if it is not.
fn shown(wanted: &WantedArgument<'_>, target: &Target) -> Option<Arc<ShownType>> {
    let (argument, form) = (wanted.argument, wanted.form.clone()?);
    let (gone, unread) = match export::fetch_whole(argument, true) {
        Ok(Fetch::Whole(whole)) => (whole.gone, readable_parts(whole.bytes, target).1),
        _ => (Vec::new(), Vec::new()),
    };
    let (of, language) = (Arc::clone(argument.ty.as_ref()?), argument.language);
    Some(Arc::new(ShownType { of, language, form, gone, unread }))
}

/// A value without the parts that a program cannot compute, and the bits of these. With all of its parts
/// if it can compute none.
fn readable_parts(bytes: ValueBytes, target: &Target) -> (ValueBytes, Vec<Range<u64>>) {
    let ValueBytes::Parts { parts, size } = bytes else { return (bytes, Vec::new()) };
    let is_read = |part: &Option<Expr>| part.as_ref().is_none_or(|part| is_readable(part, target));
    let mut unread = Vec::new();
    let mut read = Vec::new();
    for (start, part) in (0..).step_by(64).zip(&parts) {
        let is_read = is_read(part);
        read.push(part.clone().filter(|_| is_read));
        if !is_read {
            unread.push(start..(start + 64).min(u64::from(size) * 8));
        }
    }
    match read.iter().all(Option::is_none) {
        true => (ValueBytes::Parts { parts, size }, Vec::new()),
        false => (ValueBytes::Parts { parts: read, size }, unread),
    }
}

/// Whether a program can compute a number.
pub(super) fn is_readable(of: &Expr, target: &Target) -> bool {
    input::check(&Input::Number(of.clone()), target).is_ok()
}

/// The site of a probe that the program records itself. `None` if it is no probe, or one whose
/// arguments the recorder describes otherwise than the marker.
fn recorded_site(
    point: &Point<'_>,
    image: usize,
    marker: usize,
    names: &[Option<Arc<Names>>],
    control: FileOffset,
) -> Option<PlannedSite> {
    let (switch, words) = (point.switch?, point.site.switch.as_ref()?.words?);
    let (mut inputs, mut arguments, mut limits, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (index, wanted) in point.wanted().into_iter().enumerate() {
        let has_two_words = words.has_two_words(u32::try_from(index).ok()?);
        let RecordedArgument { kind, source, shown, value } = recorded::argument(&wanted, index, has_two_words);
        let is_text = has_two_words && value.is_none();
        values.push(value);
        inputs.push(Input::Recorded { argument: u16::try_from(index).ok()?, kind });
        let (text, names) = (Arc::clone(&wanted.argument.text), names.get(index).cloned().flatten());
        arguments.push(PlannedArgument { names, shown, ..PlannedArgument::new(text, source) });
        limits.push(wanted.precision.filter(|_| is_text).map(|precision| match precision {
            Precision::Digits(digits) => TextLimit::Bytes(digits),
            Precision::Argument { index, .. } => TextLimit::Argument(index),
        }));
    }
    (words.arguments() as usize == arguments.len()).then(|| PlannedSite {
        image,
        marker,
        function: point.site.function.clone(),
        address: point.address,
        probe: point.address,
        offset: point.offset,
        switch: Some(switch.offset),
        entry_stack_pointer: None,
        task: None,
        frame: None,
        inputs,
        arguments,
        members: Vec::new(),
        notes_task: false,
        filter: None,
        aggregate: Aggregate::Hits,
        recorded: Some(RecorderProbe { control, words, limits, values, copies: 1 }),
        exit: None,
    })
}

impl PlannedSite {
    /// Whether a site is a copy of the same probe, which the program records itself.
    fn is_copy(&self, of: &Self) -> bool {
        self.recorded.is_some() && self.switch == of.switch
    }

    /// Notes that a probe has another copy.
    fn add_copy(&mut self, copy: &Self) {
        if let Some(recorded) = &mut self.recorded {
            recorded.copies = recorded.copies.saturating_add(1);
        }
        if self.function != copy.function {
            self.function = None;
        }
    }
}

/// The precision of the text of an argument, an `int`, and why it is doubtful.
fn limit(
    wanted: &[WantedArgument<'_>],
    index: usize,
) -> Result<(Option<Expr>, Option<ArgumentOmission>), ArgumentOmission> {
    match wanted.get(index).and_then(|wanted| wanted.precision.as_ref()) {
        None => Ok((None, None)),
        Some(Precision::Digits(digits)) => Ok((Some(Expr::constant((*digits).into())), None)),
        Some(Precision::Argument { index: star, fetch: fetched }) => {
            let Some(star) = wanted.get(*star) else { return Ok((None, None)) };
            let (fetched, doubt) = match fetched.as_ref() {
                Err(why @ ArgumentOmission::Doubtful(_)) => {
                    (fetch(star.argument, star.letter, true), Some(why.clone()))
                }
                fetched => (fetched.clone(), None),
            };
            match fetched? {
                Fetch::Number { at, size: size @ 4.., .. } => Ok((operand(&at, size).ok(), doubt)),
                _ => Ok((None, None)),
            }
        }
    }
}

/// The smaller of a length of 8 bytes and a precision, an `int`; a negative precision is none. `None` if
/// the computation would be too large.
fn smaller(length: &Expr, limit: &Expr) -> Option<Expr> {
    let word = ValueType::Unsigned(8);
    let node = |node: Node| Expr::new(node);
    let length = node(Node::Convert(word, length.clone()))?;
    let limit = node(Node::Convert(word, node(Node::Convert(ValueType::Signed(4), limit.clone()))?))?;
    let is_less = node(Node::Binary(Binary::Lt, length.clone(), limit.clone()))?;
    // All ones if the length is the smaller one: then the exclusive or is undone.
    let one = node(Node::Convert(ValueType::Signed(8), is_less))?;
    let mask = node(Node::Convert(word, node(Node::Unary(Unary::Neg, one))?))?;
    let differing = node(Node::Binary(Binary::Xor, length, limit.clone()))?;
    node(Node::Binary(Binary::Xor, limit, node(Node::Binary(Binary::And, differing, mask))?))
}

/// Makes the inputs of a site.
struct InputBuilder<'a> {
    inputs: &'a mut Vec<Input>,
    target: &'a Target,
    thread_locals: &'a ThreadLocals,
    text: u16,
    /// The precision of a text.
    limit: Option<Expr>,
    /// The entry of the function of the frame.
    entry: &'a mut EntryBuilder,
    /// The tables of the plan.
    reads: &'a mut Vec<Arc<ReadTable>>,
    /// How much of whole values is read.
    limits: ReadLimits,
    /// How the value is shown; `None` if it is not shown by its type.
    shown: Option<&'a ShownType>,
    /// The most bytes of a whole value.
    most: u16,
}

impl InputBuilder<'_> {
    fn source(&mut self, fetched: &Result<Fetch, ArgumentOmission>, argument: &Argument) -> Source {
        match fetched.as_ref() {
            Ok(fetched) => self.reading(argument, fetched).map_or_else(Source::Unread, Source::Read),
            Err(why) => Source::Unread(UnreadReason::Omitted(why.clone())),
        }
    }

    /// The source of an argument that is doubtful for a reason, its own or that of its precision. A
    /// strict plan has its value only if it is at two places, and both are read.
    fn doubtful(&mut self, wanted: &WantedArgument<'_>, why: Option<Reason>, doubtful: DoubtfulValues) -> Source {
        let argument = wanted.argument;
        let used = self.inputs.len();
        let here = self.at(wanted, argument.location.as_ref());
        let before = match &argument.reason {
            Some(Reason::Replaced { before: Some(before), .. }) if why == argument.reason => {
                self.at(wanted, Some(before))
            }
            _ => None,
        };
        let why = UnreadReason::Omitted(ArgumentOmission::Doubtful(why));
        match (here, before) {
            (Some(here), Some(before)) if doubtful == DoubtfulValues::Strict => Source::Either(here, before),
            (Some(here), before) if doubtful != DoubtfulValues::Strict => {
                let is_taken = doubtful == DoubtfulValues::Taken;
                Source::Doubtful(Box::new(DoubtfulSource { here, before, why, is_taken }))
            }
            _ => {
                self.inputs.truncate(used);
                Source::Unread(why)
            }
        }
    }

    /// Reads an argument at a location. `None` if it cannot be read there.
    fn at(&mut self, wanted: &WantedArgument<'_>, location: Option<&Location>) -> Option<Reading> {
        let at = at_location(wanted.argument, location);
        let fetched = match wanted.form {
            Some(_) => export::fetch_whole(&at, false),
            None => fetch(&at, wanted.letter, false),
        };
        self.reading(&at, &fetched.ok()?).ok()
    }

    fn reading(&mut self, argument: &Argument, fetched: &Fetch) -> Result<Reading, UnreadReason> {
        match fetched {
            Fetch::Number { at: Operand::Constant(bits), size, kind } => {
                Ok(Reading::Constant { bits: *bits, size: *size, kind: *kind })
            }
            Fetch::Number { at, size, kind } => {
                let field = self.input(Input::Number(operand(at, *size)?))?;
                Ok(Reading::Number { field, size: *size, kind: *kind })
            }
            Fetch::Whole(whole) => {
                let (bytes, unread) = readable_parts(whole.bytes.clone(), self.target);
                // Bits that are missing only at this place would be shown as zeros.
                let omitted = || UnreadReason::Omitted(ArgumentOmission::OptimizedOut);
                let is_shown = |shown: &&ShownType| shown.gone == whole.gone && shown.unread == unread;
                let shown = self.shown.filter(is_shown).ok_or_else(omitted)?;
                let levels = ShownType::choice_of(&shown.form).levels;
                let input = WholeInput::new(bytes, self.most, self.limits);
                let input = input.with_reads((&whole.of, whole.language, levels), self.reads);
                Ok(Reading::Whole { field: self.input(Input::Whole(Box::new(input)))? })
            }
            Fetch::Pointed(at) => {
                let field =
                    self.input(Input::Text { address: operand(at, 8)?, limit: self.limit.clone(), most: self.text })?;
                Ok(Reading::Text { field })
            }
            Fetch::Array(address) => {
                // An array may end without a NUL. The kernel counts a NUL that it adds.
                let size = argument.ty.as_deref().and_then(array_size).unwrap_or(u64::MAX);
                let most = u16::try_from(size.saturating_add(1)).unwrap_or(u16::MAX).min(self.text);
                let field = self.input(Input::Text { address: address.clone(), limit: self.limit.clone(), most })?;
                Ok(Reading::Text { field })
            }
            Fetch::Text { data, offset, length } => {
                let address = operand(data, 8)?;
                let address = match i64::try_from(*offset) {
                    Ok(0) => Some(address),
                    Ok(offset) => generic(address).and_then(|address| address.plus(offset)),
                    Err(_) => None,
                };
                let address = address.ok_or(UnreadReason::Uncompilable(Uncompilable::TooLarge))?;
                let length = operand(length, 8)?;
                let length = match &self.limit {
                    Some(limit) => smaller(&length, limit).ok_or(UnreadReason::Uncompilable(Uncompilable::TooLarge))?,
                    None => length,
                };
                let field = self.input(Input::Bytes { address, length, most: self.text })?;
                Ok(Reading::Text { field })
            }
        }
    }

    /// Adds an input, and returns the field of the record that has its value.
    fn input(&mut self, input: Input) -> Result<usize, UnreadReason> {
        let input = located(input, self.thread_locals).ok_or(UnreadReason::Uncompilable(Uncompilable::ThreadLocal))?;
        let input = self.entry.settled(input).ok_or(UnreadReason::Uncompilable(Uncompilable::TooLarge))?;
        input::check(&input, self.target).map_err(UnreadReason::Uncompilable)?;
        if let Some(field) = self.inputs.iter().position(|known| *known == input) {
            return Ok(field);
        }
        let words = self.inputs.iter().map(Input::words).sum::<usize>();
        if words + input.words() > MAX_WORDS {
            return Err(UnreadReason::TooMany);
        }
        self.entry.note(&input)?;
        self.inputs.push(input);
        Ok(self.inputs.len() - 1)
    }
}

/// An input whose thread-local variables are found; `None` if one of them is not.
fn located(input: Input, by: &ThreadLocals) -> Option<Input> {
    input.mapped(&|of| by.located(of))
}

/// The size in bytes of an array of characters.
fn array_size(of: &Type) -> Option<u64> {
    matches!(of.shape, Shape::Array { .. }).then_some(of.size).flatten()
}

/// The computation of a number of `size` bytes.
fn operand(at: &Operand, size: u8) -> Result<Expr, UnreadReason> {
    let unsigned = ValueType::Unsigned(size);
    let expr = match at {
        Operand::Register(register) => Expr::new(Node::Register(*register, unsigned)),
        Operand::Memory(address) => Expr::new(Node::Memory { address: address.clone(), size, to: unsigned }),
        Operand::Value(value) => Some(value.clone()),
        Operand::Constant(value) => Some(Expr::constant(*value)),
    };
    expr.ok_or(UnreadReason::Uncompilable(Uncompilable::TooLarge))
}

/// A number of 8 bytes as an address.
fn generic(value: Expr) -> Option<Expr> {
    match value.value_type() {
        ValueType::Generic => Some(value),
        _ => Expr::new(Node::Convert(ValueType::Generic, value)),
    }
}
