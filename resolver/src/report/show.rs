//! `show`: everything about a marker, one fact a line, so that `diff` can compare two reports.
//!
//! Values are in one column, the arguments of each site in a table. On a terminal a long text is
//! wrapped into its column; elsewhere nothing is cut or wrapped.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;

use super::{TextLayout, style};
use crate::english::{absence, arguments, exactness, mismatch, notes, rates, sites};
use crate::resolve::{
    Absence, Argument, DeclaredArgument, Exactness, FrameEntry, Marker, Origin, Resolution, ResolvedImage, Site,
    SitePlace, Survival, Verdict,
};
use crate::text::shown;
use crate::verdicts::Code;

/// The column where values start.
const VALUES: usize = 15;
/// The least width that a text is wrapped to, in columns.
const LEAST: usize = 30;
/// The width of a tab in a source line, in columns.
const TAB: usize = 4;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The line, without its end.
    pub text: String,
    /// Whether its file was changed after the image was built. The line may then be another one.
    pub is_newer: bool,
}

/// Finds the source line of a marker; `None` if it is not available.
pub type FindLine<'f> = dyn FnMut(&ResolvedImage, &Marker) -> Option<SourceLine> + 'f;

/// Writes the markers that `keep` selects, with empty lines between them.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    out: &mut dyn Write,
    resolution: &Resolution,
    keep: &dyn Fn(&Marker) -> bool,
    line: &mut FindLine<'_>,
    layout: TextLayout,
) -> io::Result<()> {
    let all = resolution.images.iter().flat_map(|image| image.markers.iter().map(move |marker| (image, marker)));
    let mut page = MarkerPage { out, layout };
    for (index, (image, marker)) in all.filter(|(_, marker)| keep(marker)).enumerate() {
        if index > 0 {
            page.line("")?;
        }
        page.marker(image, marker, line(image, marker))?;
        for (index, site) in marker.sites.iter().enumerate() {
            page.line("")?;
            page.site(marker, site, index + 1)?;
        }
    }
    Ok(())
}

struct MarkerPage<'o> {
    out: &'o mut dyn Write,
    layout: TextLayout,
}

impl MarkerPage<'_> {
    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    fn cell(&mut self, style: Style, cell: &str, columns: usize) -> io::Result<()> {
        style::cell(self.out, self.layout.colour, style, cell, columns)
    }

    /// Writes text at the cursor, which is in the column `indent`, and wraps it into that column.
    fn text(&mut self, style: Style, text: &str, indent: usize) -> io::Result<()> {
        let columns = self.layout.width.map(|width| width.saturating_sub(indent).max(LEAST));
        for (index, line) in style::wrap(text, columns).into_iter().enumerate() {
            let before = if index == 0 { 0 } else { indent };
            write!(self.out, "{:before$}", "")?;
            self.cell(style, line, 0)?;
            self.line("")?;
        }
        Ok(())
    }

    /// A label and its value.
    fn field(&mut self, indent: usize, label: &str, style: Style, value: &str) -> io::Result<()> {
        write!(self.out, "{:indent$}", "")?;
        self.cell(style::QUIET, label, VALUES.saturating_sub(indent))?;
        self.text(style, value, VALUES)
    }

    fn marker(&mut self, image: &ResolvedImage, marker: &Marker, line: Option<SourceLine>) -> io::Result<()> {
        self.cell(style::NAME, &shown(&marker.name), 0)?;
        self.line("")?;
        let mut source = sites::source(marker, marker.column);
        if !marker.declared && !marker.is_note && !marker.is_mark {
            source.push_str(" (not declared in the image: known from its sites alone)");
        }
        self.field(2, "source", style::PLAIN, &source)?;
        if let Some(line) = line {
            self.source_line(marker, &line)?;
        }
        self.field(2, "format", style::PLAIN, &format!("\"{}\"", shown(&marker.format)))?;
        if !marker.description.is_empty() {
            self.field(2, "description", style::PLAIN, &shown(&marker.description))?;
        }
        if !marker.args.is_empty() {
            let argument = |arg: &DeclaredArgument| match &arg.conversion {
                Some(conversion) => format!("{} {}", shown(&arg.text), shown(conversion)),
                None => format!("{} (without a conversion)", shown(&arg.text)),
            };
            self.field(2, "arguments", style::PLAIN, &marker.args.iter().map(argument).collect::<Vec<_>>().join(", "))?;
        }
        if marker.is_ghost {
            self.field(2, "ghost", style::PLAIN, "it is no code, and changes none")?;
        }
        if marker.is_note {
            self.field(2, "note", style::PLAIN, "a static probe of sys/sdt.h, with operands for its arguments")?;
            let known = marker.note.iter().flat_map(|note| note.parameters.iter().zip(&*marker.args));
            let known: Vec<_> =
                known.filter_map(|(parameter, declared)| notes::parameter(&declared.text, parameter)).collect();
            for (index, known) in known.iter().enumerate() {
                self.field(2, if index == 0 { "names" } else { "" }, style::PLAIN, known)?;
            }
        }
        if marker.is_mark {
            self.field(2, "mark", style::PLAIN, "the place was named by the user: the image has no record of it")?;
        }
        if marker.is_probe {
            self.field(2, "probe", style::PLAIN, sites::ARMED_BY)?;
        }
        self.field(2, "id", style::PLAIN, &marker.id.to_string())?;
        self.field(2, "module", style::PLAIN, &shown(&image.module))?;
        let of = format!("{} ({}, {})", shown(&image.path), image.kind.as_str(), image.arch);
        self.field(2, "image", style::PLAIN, &of)?;
        self.field(2, "build id", style::PLAIN, image.build_id.as_deref().unwrap_or("none"))?;
        let debug = image.debug.as_ref().map(|debug| format!("{} ({})", shown(&debug.path), debug.source.as_str()));
        self.field(2, "debug info", style::PLAIN, debug.as_deref().unwrap_or("none"))?;
        let (style, survival) = survival(marker);
        self.field(2, "survival", style, &survival)
    }

    /// The source line with its number. The path of the macro is underlined if its column is known.
    fn source_line(&mut self, marker: &Marker, line: &SourceLine) -> io::Result<()> {
        let number = marker.line.to_string();
        let text = line.text.trim_end();
        let code = text.trim_start();
        let indentation = text.chars().count().saturating_sub(code.chars().count());
        let has_marker = code.contains("mark") || code.contains("probe");
        let expanded = |text: &str| shown(&text.replace('\t', &" ".repeat(TAB))).into_owned();
        write!(self.out, "{:VALUES$}", "")?;
        self.cell(style::QUIET, &format!("{number} | "), 0)?;
        let used = VALUES + number.len() + 3;
        let shown_code = expanded(code);
        let cut = match self.layout.width {
            Some(width) => style::cut(&shown_code, width.saturating_sub(used).max(LEAST)),
            None => Cow::Borrowed(&*shown_code),
        };
        self.cell(style::PLAIN, &cut, 0)?;
        self.line("")?;
        let column = marker.column.and_then(|column| usize::try_from(column).ok()?.checked_sub(indentation + 1));
        let by_column = column.and_then(|column| Some(code.char_indices().nth(column)?.0));
        let at = style::call_among(code, &marker.name).map(|call| call.start).or(by_column);
        let parts = at.and_then(|at| Some((code.get(..at)?, code.get(at..)?)));
        if let (Some((before, call)), true) = (parts, has_marker) {
            let before = style::width(&expanded(before));
            if let Some(room @ 1..) = style::width(&cut).checked_sub(before) {
                write!(self.out, "{:VALUES$}", "")?;
                self.cell(style::QUIET, &format!("{:>1$} | ", "", number.len()), before + number.len() + 3)?;
                let width = style::width(style::call_path(call)).clamp(1, room);
                self.cell(style::NAME, &"^".repeat(width), 0)?;
                self.line("")?;
            }
        }
        let note = match (line.is_newer, has_marker) {
            (true, _) => "(the file was changed after the image was built, this may be another line)",
            // Macros of programs hold most static probes.
            (false, _) if marker.is_note || marker.is_mark => return Ok(()),
            (false, false) => "(no marker by its name here: a macro holds it, or this is another version of the file)",
            (false, true) => return Ok(()),
        };
        write!(self.out, "{:VALUES$}", "")?;
        self.text(style::UNKNOWN, note, VALUES)
    }

    fn site(&mut self, marker: &Marker, site: &Site, number: usize) -> io::Result<()> {
        let title = format!("site {number} of {}", marker.sites.len());
        write!(self.out, "  ")?;
        self.cell(style::HEAD, &title, 0)?;
        let symbol = sites::symbol(site);
        match (&site.place, symbol.is_empty()) {
            (None, _) => {
                write!(self.out, "  ")?;
                self.cell(style::GONE, sites::DROPPED, 0)?;
            }
            (Some(_), true) => write!(self.out, "  in no function that a symbol or the debug information names")?,
            (Some(_), false) => write!(self.out, "  {symbol}")?,
        }
        self.line("")?;
        if site.column != marker.column || site.place.is_none() {
            self.field(4, "source", style::PLAIN, &sites::source(marker, site.column))?;
        }
        let Some(place) = &site.place else { return Ok(()) };
        let file_offset = match site.file_offset {
            Some(offset) => format!("at {offset} of the file"),
            None => "not in the file".to_owned(),
        };
        self.field(4, "address", style::PLAIN, &format!("{}, {file_offset}", sites::address(site)))?;
        if let Some(symbol) = site.symbol.as_deref().filter(|symbol| Some(*symbol) != site.function.as_deref()) {
            self.field(4, "symbol", style::PLAIN, &shown(symbol))?;
        }
        for (index, (inlined, into)) in sites::inlined(site).iter().enumerate() {
            self.field(4, if index == 0 { "inlined" } else { "" }, style::PLAIN, &format!("{inlined} {into}"))?;
        }
        let (style, origin) = origin(marker, site);
        self.field(4, "origin", style, &origin)?;
        if let Some(switch) = &site.switch {
            let style = if switch.problem.is_some() { style::GONE } else { style::PLAIN };
            self.field(4, "switch", style, &sites::switch(switch))?;
        }
        let anchored = match site.anchored {
            true => "yes: the instruction there is the marker's own",
            false => "no: the instruction there is the next one of the program",
        };
        self.field(4, "anchored", style::PLAIN, anchored)?;
        self.exactness(site)?;
        if site.scope_ended {
            let ended = "ended here: the marker is the last thing in it, the instruction there is of another one";
            self.field(4, "scope", style::UNKNOWN, ended)?;
        }
        self.arguments(marker, site, place)
    }

    /// Whether a probe is exact, the predecessors of the address, and what a probe costs.
    fn exactness(&mut self, site: &Site) -> io::Result<()> {
        let Some(exactness) = site.exactness else { return Ok(()) };
        let style = match exactness {
            Exactness::Exact => style::READABLE,
            Exactness::Likely | Exactness::Shared | Exactness::Approximate | Exactness::Unproven => style::UNKNOWN,
            Exactness::Folded | Exactness::Outside => style::GONE,
        };
        let why = site
            .exactness_reason
            .as_ref()
            .map(|why| format!(": {}", shown(&exactness::reason(why))))
            .unwrap_or_default();
        self.field(4, "exactness", style, &format!("{} {}{why}", exactness.as_str(), exactness.code()))?;
        for (index, way) in site.predecessors.iter().enumerate() {
            self.field(4, if index == 0 { "ways in" } else { "" }, style::PLAIN, &sites::predecessor(way))?;
        }
        if let Some(instruction) = site.instruction.as_deref() {
            self.field(4, "code", style::PLAIN, &shown(instruction))?;
        }
        let Some(probe) = &site.probe else { return Ok(()) };
        let is_usable = probe.accepted && probe.cost.is_some();
        let style = if is_usable { style::PLAIN } else { style::GONE };
        self.field(4, "uprobe", style, &sites::probe(probe))
    }

    fn arguments(&mut self, marker: &Marker, site: &Site, place: &SitePlace) -> io::Result<()> {
        if site.args.is_empty() {
            return Ok(());
        }
        let address = match place {
            SitePlace::Address(address) => address.0,
            SitePlace::Section { offset, .. } => offset.0,
        };
        let conversion =
            |index: usize| shown(marker.args.get(index).and_then(|arg| arg.conversion.as_deref()).unwrap_or(""));
        let widest = |cells: &mut dyn Iterator<Item = usize>| cells.max().unwrap_or(0);
        let text_width = widest(&mut site.args.iter().map(|argument| style::width(&shown(&argument.text))));
        let conversion_width = widest(&mut (0..site.args.len()).map(|index| style::width(&conversion(index))));
        let verdict_width = widest(&mut site.args.iter().map(|argument| verdict(argument).len()));
        let conversion_columns = if conversion_width == 0 { 0 } else { conversion_width + 2 };
        let indent = 6 + text_width + 2 + conversion_columns + verdict_width + 2;
        write!(self.out, "    ")?;
        self.cell(style::QUIET, "arguments", 0)?;
        self.line("")?;
        for (index, argument) in site.args.iter().enumerate() {
            write!(self.out, "      ")?;
            self.cell(style::ARGUMENT, &shown(&argument.text), text_width + 2)?;
            self.cell(style::QUIET, &conversion(index), conversion_columns)?;
            let style = style::verdict(argument.verdict);
            let facts = facts(argument, site.frame_entry.as_ref(), address);
            let columns = if facts.is_empty() { 0 } else { verdict_width + 2 };
            self.cell(style, &verdict(argument), columns)?;
            if facts.is_empty() {
                self.line("")?;
            }
            for (index, (style, fact)) in facts.iter().enumerate() {
                let before = if index == 0 { 0 } else { indent };
                write!(self.out, "{:before$}", "")?;
                self.text(*style, fact, indent)?;
            }
        }
        Ok(())
    }
}

/// Whether a marker is in the image, and how often.
fn survival(marker: &Marker) -> (Style, String) {
    match marker.survival {
        Some(Survival::Live) => {
            let live = marker.sites.iter().filter(|site| site.place.is_some()).count();
            let mut words = format!("live: {live} site{}", if live == 1 { "" } else { "s" });
            match marker.sites.len() - live {
                0 => {}
                dead => words.push_str(&format!(", and {dead} that the linker dropped")),
            }
            (style::READABLE, words)
        }
        Some(Survival::Eliminated) => {
            let why = "the compiler removed every copy, or never instantiated the generic function that holds it";
            (style::GONE, format!("eliminated {}: {why}", Code::Eliminated))
        }
        Some(Survival::Discarded) => {
            let why = "the linker dropped every function that holds it";
            (style::GONE, format!("discarded {}: {why}", Code::Discarded))
        }
        None => {
            let why = match marker.absence {
                Some(Absence::Ghost { problem }) => absence::ghost(problem),
                _ => "the image does not say whether it is in the program",
            };
            (style::UNKNOWN, format!("unknown {}: {why}", Code::UnknownSurvival))
        }
    }
}

/// How a site was found.
fn origin(marker: &Marker, site: &Site) -> (Style, String) {
    let declared = marker.line;
    match site.origin {
        Origin::Record => (style::PLAIN, "record: the marker's own, in the image".to_owned()),
        Origin::Line => (style::PLAIN, format!("line: a row of line {declared} in the line table")),
        Origin::Nearest { line } => {
            let why = format!("line {declared} has no row in the line table, line {line} is the next of its function");
            (style::UNKNOWN, format!("nearest {}: {why}", Code::Nearest))
        }
        Origin::Label => (style::PLAIN, "label: the ghost's own, in the debug information".to_owned()),
        Origin::Statement => (style::PLAIN, format!("statement: a row of line {declared} in the line table")),
        Origin::Block => (style::PLAIN, "block: of its function, in the debug information".to_owned()),
        Origin::Return => (style::PLAIN, "return: an instruction that returns, in the code".to_owned()),
        Origin::TailCall => (style::PLAIN, "tail_call: a jump to another function, in the code".to_owned()),
        Origin::Entry => (style::PLAIN, "entry: of its function, in the debug information".to_owned()),
        Origin::Note => (style::PLAIN, "note: of a static probe (sys/sdt.h), in the image".to_owned()),
    }
}

/// The verdict with its code.
fn verdict(argument: &Argument) -> String {
    match argument.verdict {
        Some(verdict) => format!("{} {}", verdict.as_str(), verdict.code()),
        None => "not resolved".to_owned(),
    }
}

/// Remarks on an argument in addition to its verdict, one a line, the most important first. `address` is
/// that of its site, and `entry` the entry of the function of its frame.
fn facts(argument: &Argument, entry: Option<&FrameEntry>, address: u64) -> Vec<(Style, String)> {
    let mut facts = Vec::new();
    let type_name = argument.type_name.as_deref().map(|name| shown(name).into_owned());
    let of: Vec<String> = type_name.into_iter().chain(arguments::size(argument)).collect();
    let mut of = (!of.is_empty()).then(|| of.join(", "));
    let place = match argument.verdict {
        // The verdict says the rest.
        Some(Verdict::Constant) => argument.location_text.as_deref().map(|location| shown(location).into_owned()),
        _ => arguments::place(argument),
    };
    if let Some(place) = place {
        let of = of.take().map(|of| format!(" ({of})")).unwrap_or_default();
        facts.push((style::PLAIN, format!("{place}{of}")));
    }
    let why = shown(&arguments::why(argument)).into_owned();
    if !why.is_empty() {
        facts.push((style::PLAIN, why));
    }
    facts.extend(arguments::at_entry(argument, entry).map(|words| (style::PLAIN, words)));
    let doubt = argument.reason.as_ref().filter(|_| argument.verdict == Some(Verdict::Doubtful));
    if let (Some(reason), Some(compiler)) = (doubt, argument.compiler) {
        facts.extend(rates::wrong(compiler, reason.name()).map(|words| (style::PLAIN, words)));
    }
    facts.extend(of.map(|of| (style::QUIET, of)));
    if !matches!(argument.verdict, Some(Verdict::Live | Verdict::Constant)) {
        let nearest = arguments::nearest(&argument.ranges, address);
        if !nearest.is_empty() {
            facts.push((style::PLAIN, format!("described in {nearest}")));
        }
    }
    if let Some(register) = &argument.vector_register {
        let why = arguments::in_vector_register(register);
        facts.push((style::UNKNOWN, format!("{}: {why}", Code::InVectorRegister)));
    }
    if let Some(mismatch) = &argument.mismatch {
        facts.push((style::GONE, format!("format {}: {}", Code::FormatMismatch, shown(&mismatch::mismatch(mismatch)))));
    }
    facts
}
