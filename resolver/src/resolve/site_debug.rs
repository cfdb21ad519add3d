//! What the debug information says about the sites of an image: inlined functions, arguments, and
//! the sites of markers without site records.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::argument_description::ArgumentDescription;
use super::arguments::{ArgumentFacts, Arguments, Stop, TypeDetail};
use super::doubt::{Case, doubt};
use super::instructions::{FunctionCode, Instructions};
use super::interner::{Interner, TextId};
use super::join::RawMarker;
use super::line_sites::{LineProblem, LineSearch, LineSites};
use super::names::AddressNames;
use super::path::Path;
use super::pc::{self, Pc};
use super::returned;
use super::site_answer::{STEPS, Surroundings};
use super::{
    Argument, DeclaredArgument, DeclaredWords, EntryProblem, EntryReading, InlinedFunction, LocationEnd, Origin,
    Reason, Verdict, operand_variables,
};
use crate::Error;
use crate::address::Vaddr;
use crate::dwarf::{DebugInfo, Die, Doubt, Frame, LineAbsence, Moment, Scope};
use crate::image::Layout;
use crate::location::{Location, Piece, Source};
use crate::rates::Compiler;
use crate::types::Language;

/// The debug information of an image, asked by site.
pub(super) struct SiteDebug<'a> {
    debug: &'a DebugInfo<'a>,
    layout: Option<&'a Layout>,
    arguments: Arguments<'a>,
}

/// The marker whose sites are looked up.
pub(super) struct MarkerLine<'w> {
    pub(super) file: &'w str,
    pub(super) line: u32,
    pub(super) args: &'w [DeclaredArgument],
    /// Whether it is where a function is entered.
    pub(super) is_entry: bool,
}

/// What is known of a site before it is looked up.
pub(super) struct SiteKind<'s> {
    pub(super) anchored: bool,
    pub(super) origin: Origin,
    /// The operands of a note; empty for other sites.
    pub(super) operands: &'s [Argument],
}

/// The sites of a line near a marker's.
pub(super) struct OfLine {
    /// The places. Each has a line if it is not the marker's own line.
    pub(super) sites: Vec<(Pc, Option<u32>)>,
    /// Why there are none.
    pub(super) problem: Option<LineProblem>,
}

impl<'a> SiteDebug<'a> {
    pub(super) fn new(
        debug: &'a DebugInfo<'a>,
        layout: Option<&'a Layout>,
        names: AddressNames<'a>,
        detail: TypeDetail,
    ) -> Self {
        let arguments = Arguments::new(debug, names, detail);
        Self { debug, layout, arguments }
    }

    /// What there is at a site of a marker, which may be `anchored`. `operands` are those of a note.
    /// `known` are the arguments as far as the site's record describes them. Of those that the program
    /// keeps only the types of whole values and the names for values are looked up.
    pub(super) fn site(
        &self,
        pc: Pc,
        wanted: &MarkerLine<'_>,
        &SiteKind { anchored, origin, operands }: &SiteKind<'_>,
        instructions: Option<&Instructions<'_>>,
        known: &[Argument],
    ) -> Result<Surroundings, Error> {
        let &MarkerLine { file, line, args: declared, is_entry } = wanted;
        let Some(pc) = pc.vaddr(self.layout) else { return Ok(Surroundings::default()) };
        let looked_up = declared.len().saturating_add(operands.len());
        self.debug.allow(STEPS.saturating_mul(looked_up as u64 + 1));
        if let Some(why) = self.debug.missing_at(pc) {
            let (verdict, reason) = (Some(Verdict::Unsupported), Some(Reason::Unsupported(why)));
            let argument = |argument: &DeclaredArgument| Argument {
                verdict,
                reason: reason.clone(),
                ..Argument::unresolved(&argument.text)
            };
            return Ok(Surroundings { args: declared.iter().map(argument).collect(), ..Surroundings::default() });
        }
        let scope = self.debug.scope_at(pc, file, line)?;
        let out_of_line = scope.as_ref().and_then(|scope| scope.frames.last());
        let instance = out_of_line.map(|frame| frame.instance);
        let code = instructions.zip(instance).and_then(|(instructions, instance)| instructions.function(instance));
        let at_entry = code.as_ref().is_some_and(|code| code.is_entry(pc));
        // Only arguments at sites without an anchor depend on the view, and it needs the rows.
        let view =
            if anchored || declared.is_empty() { None } else { self.debug.view_of(pc, file, line).ok().flatten() };
        // The parameters are passed before the first statement.
        let is_entered = is_entry && at_entry;
        let moment = if is_entered { Moment::View(0) } else { view.map_or(Moment::Last, Moment::View) };
        let frame = Frame { pc, function: instance, at_entry, moment };
        let no_result = returned::no_result(origin);
        let stop = Stop { scope: scope.as_ref(), frame, file, line, is_entered, no_result };
        let code = code.as_ref();
        let argument = |(index, declared): (usize, &DeclaredArgument)| match known.get(index) {
            None => self.named(declared, &stop),
            Some(kept) if kept.is_kept && declared.form.is_some() => self.kept_value(declared, kept, &stop),
            Some(kept) if kept.is_kept => self.named(declared, &stop),
            Some(_) => self.argument(declared, &stop, code, instructions, anchored),
        };
        let reported = |address| pc::reported(Vaddr(address), self.layout);
        let mut args: Vec<Argument> = declared.iter().enumerate().map(argument).collect();
        for range in args.iter_mut().flat_map(|argument| &mut argument.ranges) {
            *range = reported(range.start)..reported(range.end);
        }
        Ok(Surroundings {
            entry_stack_pointer: None,
            frame_entry: None,
            function: out_of_line.and_then(|frame| frame.function.clone()),
            instance,
            // A note has no file that a function is found by.
            is_not_there: !file.is_empty() && scope.as_ref().is_some_and(|scope| scope.doubt == Some(Doubt::NotThere)),
            inlined: scope.as_ref().map(inlined).unwrap_or_default(),
            scope_ended: scope.is_some_and(|scope| scope.ended),
            args,
            // Without them the operands have no names.
            variables: operand_variables::variables(self.debug, &frame, operands).unwrap_or_default(),
            line: if file.is_empty() { self.debug.line_at(pc) } else { None },
            path: file.starts_with("../").then(|| self.debug.path_of(pc, file)).flatten(),
        })
    }

    /// An argument that the program keeps. Only the names for its values are looked up.
    fn named(&self, declared: &DeclaredArgument, stop: &Stop<'_>) -> Argument {
        let mut argument = Argument::unresolved(&declared.text);
        if declared.words == Some(DeclaredWords::Type) {
            let looked = self.arguments.resolve(declared, stop).argument;
            (argument.names, argument.mismatch) = (looked.names, looked.mismatch);
        }
        argument
    }

    /// An argument that is shown as a whole value, of which the program keeps the address, or in C a pointer
    /// to it. Its type is that of its place.
    fn kept_value(&self, declared: &DeclaredArgument, kept: &Argument, stop: &Stop<'_>) -> Argument {
        let known = self.arguments.resolve_at(declared, kept.location.as_ref(), stop).argument;
        // A number of Rust is kept by its own type.
        let is_address = kept.size.is_none();
        let location = known.location.as_ref().and_then(Location::source);
        if !is_address && (known.language == Language::Rust || !matches!(location, Some(Source::Memory(_)))) {
            return self.named(declared, stop);
        }
        let location_text = if is_address { kept.location_text.clone() } else { known.location_text };
        Argument { ranges: Vec::new(), is_kept: true, location_text, ..known }
    }

    /// An argument, doubted. `code` is that of the function that holds the site.
    fn argument(
        &self,
        declared: &DeclaredArgument,
        stop: &Stop<'_>,
        code: Option<&FunctionCode<'_>>,
        instructions: Option<&Instructions<'_>>,
        anchored: bool,
    ) -> Argument {
        let mut facts = self.arguments.resolve(declared, stop);
        if let Some(reason) = self.doubt(&facts, declared.form.is_some(), stop, code, anchored) {
            let reason = reason.with_addresses(|at| pc::reported(Vaddr(at), self.layout));
            if facts.argument.at_entry.is_some() {
                let problem = EntryProblem::Doubtful(Box::new(reason));
                facts.argument.at_entry = Some(EntryReading::Refused(problem));
            } else {
                facts.argument.verdict = Some(Verdict::Doubtful);
                facts.argument.reason = Some(reason);
            }
        }
        if facts.argument.verdict == Some(Verdict::Entry) {
            // These are not addresses where it can be read.
            facts.argument.ranges.clear();
        }
        // Other copies of the marker may show that it is doubtful.
        if matches!(facts.argument.verdict, Some(Verdict::Doubtful | Verdict::Constant)) {
            facts.argument.compiler = stop.frame.function.and_then(|function| self.debug.compiler(function));
        }
        facts.argument.ended = self.ended(&facts, stop, instructions);
        facts.argument
    }

    /// Why an argument is doubtful; `None` if it is not, or cannot be read. `shows_target`: what a pointer leads
    /// to is shown. `code` is that of the function that holds the site.
    fn doubt(
        &self,
        facts: &ArgumentFacts,
        shows_target: bool,
        stop: &Stop<'_>,
        code: Option<&FunctionCode<'_>>,
        anchored: bool,
    ) -> Option<Reason> {
        let ArgumentFacts { argument, .. } = facts;
        let entered = argument.at_entry.as_ref().and_then(EntryReading::location);
        let location = argument.location.as_ref().or(entered)?;
        if !matches!(argument.verdict, Some(Verdict::Live | Verdict::Constant | Verdict::Partial | Verdict::Entry)) {
            return None;
        }
        let function = stop.frame.function;
        // The convention says where a result is, not the debug information.
        if facts.path.as_ref().is_some_and(Path::is_of_result) {
            return None;
        }
        // Without optimisation, LLVM gives a list only to a parameter that is passed by reference:
        // it ends where the register with the address is overwritten.
        let is_unoptimized = |function| self.debug.is_unoptimized(function).unwrap_or(false);
        let is_in_memory = |piece: &Piece| matches!(piece.source, Source::Memory(_));
        if (argument.ranges.is_empty() || location.pieces.iter().all(is_in_memory))
            && function.is_some_and(is_unoptimized)
        {
            return None;
        }
        let (path, variable) = (facts.path.as_ref()?, facts.extent.variable);
        let (arguments, size, takes_entry_values) = (&self.arguments, argument.size, entered.is_some());
        let description = ArgumentDescription { arguments, stop, path, size, variable, code, takes_entry_values };
        doubt(&Case {
            argument,
            location,
            pc: stop.frame.pc,
            code,
            description: &description,
            compiler: function.and_then(|function| self.debug.compiler(function)),
            // An anchor is an instruction between the changes before the marker and those after it.
            change: facts.extent.change.filter(|_| !anchored && !self.is_passed(variable, location, stop)),
            is_ours: facts.is_extracted || !shows_target && argument.text.trim_start().starts_with('&'),
            is_parameter: variable.is_some_and(|variable| self.debug.is_parameter(variable)),
            is_inlined: stop.scope.is_some_and(|scope| scope.frames.len() > 1),
            object: facts.object,
            is_behind: facts.is_behind,
            way: &facts.way,
            block: OnceCell::new(),
        })
    }

    /// Whether a location of a variable that begins where its function is entered is that in which its
    /// caller passed it. LLVM may give a parameter a register of another one there, after `a = b;`.
    fn is_passed(&self, variable: Option<Die>, location: &Location, stop: &Stop<'_>) -> bool {
        let Some(variable) = variable.filter(|of| stop.is_entered && self.debug.is_parameter(*of)) else {
            return false;
        };
        let by_gcc = self.debug.compiler(variable) == Some(Compiler::Gcc);
        let is_computed = location.pieces.iter().any(|piece| matches!(piece.source, Source::Value(_)));
        by_gcc || (!is_computed && self.arguments.sharing(stop, variable, &stop.frame).is_none())
    }

    /// Where a lost argument was last described before a site, and what ended that.
    fn ended(
        &self,
        ArgumentFacts { argument, extent, .. }: &ArgumentFacts,
        stop: &Stop<'_>,
        instructions: Option<&Instructions<'_>>,
    ) -> Option<LocationEnd> {
        if argument.verdict != Some(Verdict::Lost) {
            return None;
        }
        let Frame { pc, function: instance, .. } = stop.frame;
        let ranges = argument.ranges.iter().filter(|range| range.start < range.end && range.end <= pc.0);
        let end = ranges.map(|range| range.end).max()?;
        // If a call overwrites a location, GCC ends its range inside the call instruction.
        let last = Vaddr(end.checked_sub(1)?);
        let by = instructions.zip(instance).and_then(|(code, instance)| code.holding(instance, last));
        let (at, instruction) = by.unzip();
        let (file, line) = at.and_then(|at| self.debug.line_at(at)).unzip();
        // A member may share its location too, but no scope has its name.
        let variable = extent.named.filter(|_| argument.text.trim() == &*argument.name);
        let before = Frame { pc: last, at_entry: false, moment: Moment::Last, ..stop.frame };
        let shared = variable.and_then(|variable| self.arguments.sharing(stop, variable, &before));
        let shared = shared.map(|other| other.name);
        Some(LocationEnd { distance: pc.0.saturating_sub(end), instruction, file, line, shared })
    }

    /// What became of the function that a line is in; `None` if the debug information does not
    /// tell.
    pub(super) fn absence(&self, file: &str, line: u32) -> Result<Option<LineAbsence>, Error> {
        self.debug.allow(STEPS);
        self.debug.absence_of_line(file, line)
    }

    /// The path of the file that the code at a place names `file`, from its compilation directory on;
    /// `None` if the debug information does not say.
    pub(super) fn path_of(&self, pc: Pc, file: &str) -> Option<Arc<str>> {
        self.debug.path_of(pc.vaddr(self.layout)?, file)
    }

    /// The name of the function that starts at an address; `None` if there is none.
    pub(super) fn function_starting_at(&self, address: Vaddr) -> Option<Arc<str>> {
        self.debug.allow(STEPS);
        self.debug.function_starting_at(address).ok().flatten()
    }

    /// The parameters and variables that a marker of `file` and `line` at a place can name, the outermost
    /// first.
    pub(super) fn visible(&self, pc: Pc, file: &str, line: u32) -> Result<Vec<String>, Error> {
        let Some(pc) = pc.vaddr(self.layout) else { return Ok(Vec::new()) };
        match self.debug.scope_at(pc, file, line)? {
            Some(scope) => self.debug.visible_names(&scope, file, line),
            None => Ok(Vec::new()),
        }
    }

    /// The out-of-line function that holds a place; `None` if the debug information describes none.
    pub(super) fn function(&self, pc: Pc) -> Result<Option<Arc<str>>, Error> {
        let Some(pc) = pc.vaddr(self.layout) else { return Ok(None) };
        self.debug.allow(STEPS);
        // Without a file: it does not matter which inlined function is meant.
        Ok(self.debug.scope_at(pc, "", 0)?.and_then(|scope| scope.frames.last()?.function.clone()))
    }

    /// Finds files before their lines are asked for.
    pub(super) fn find_files(&self, files: &[Arc<str>]) -> Result<(), Error> {
        self.debug.find_files(files)
    }

    /// Finds the files of markers before their lines are asked for.
    pub(super) fn find_files_of<'m>(
        &self,
        markers: impl Iterator<Item = &'m RawMarker>,
        texts: &Interner<'_>,
    ) -> Result<(), Error> {
        let files: BTreeSet<TextId> = markers.map(|marker| marker.file).collect();
        self.find_files(&files.into_iter().map(|file| texts.text(file)).collect::<Vec<_>>())
    }

    /// Starts the search for the sites of a line, or says why there are none.
    pub(super) fn search_line(&self, file: &str, line: u32) -> Result<Result<LineSearch, LineProblem>, Error> {
        self.debug.allow(STEPS);
        self.debug.search_line(file, line)
    }

    /// The places of exactly this line in some units, without those that an earlier search found.
    pub(super) fn search_units(&self, search: &mut LineSearch, units: Range<usize>) -> Result<Vec<Pc>, Error> {
        let sites = self.debug.search_units(search, units)?;
        Ok(sites.iter().filter_map(|site| self.pc(site.address)).collect())
    }

    /// The places of the next line that has code, or why there are none.
    pub(super) fn nearest_sites(&self, search: &LineSearch) -> Result<OfLine, Error> {
        let LineSites { sites, problem } = self.debug.nearest_sites(search)?;
        let site = |site: &super::LineSite| Some((self.pc(site.address)?, (!site.is_exact).then_some(site.line)));
        Ok(OfLine { sites: sites.iter().filter_map(site).collect(), problem })
    }

    /// The debug information of the image.
    pub(super) fn info(&self) -> &'a DebugInfo<'a> {
        self.debug
    }

    /// Drops the caches of units that are no longer needed.
    pub(super) fn release(&self) {
        self.debug.release();
    }

    /// The address of a place; `None` if it has none.
    pub(super) fn address(&self, pc: Pc) -> Option<Vaddr> {
        pc.vaddr(self.layout)
    }

    /// The place of an address; `None` if it is in no section of a relocatable object.
    pub(super) fn pc(&self, address: Vaddr) -> Option<Pc> {
        Pc::of(address, self.layout)
    }
}

fn inlined(scope: &Scope) -> Vec<InlinedFunction> {
    let inlined = scope.frames.iter().rev().skip(1).rev();
    let unnamed = || Arc::from("<no name>");
    inlined
        .map(|frame| InlinedFunction {
            function: frame.function.clone().unwrap_or_else(unnamed),
            call_file: frame.call_file.clone(),
            call_line: frame.call_line,
        })
        .collect()
}
