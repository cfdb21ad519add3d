//! What `list -v` and `list -vv` add under a row: the marker's variables, and its sites.

use std::io::{self, Write};

use super::{TextLayout, Verbosity, style};
use crate::english::{arguments, sites};
use crate::resolve::{Argument, Row, Site, Verdict};
use crate::text::shown;

/// Written if a variable differs between sites, and each site has its own below.
const DIFFERS: &str = "differs, see the sites";

/// Writes the variables and sites of a row, indented.
pub(super) fn write(out: &mut dyn Write, row: &Row<'_>, layout: TextLayout) -> io::Result<()> {
    let TextLayout { colour, verbosity, .. } = layout;
    let is_full = verbosity == Verbosity::Full;
    let live: Vec<&Site> = row.sites.iter().filter(|site| site.place.is_some()).copied().collect();
    let short = |site: &Site, index: usize| site.args.get(index).and_then(arguments::short);
    // For each argument, whether it is the same at all sites.
    let agree: Vec<bool> = (0..row.marker.args.len())
        .map(|index| {
            let first = live.first().map(|site| short(site, index));
            live.iter().skip(1).all(|site| first == Some(short(site, index)))
        })
        .collect();
    let texts = row.marker.args.iter().map(|arg| style::width(&shown(&arg.text)));
    let text_width = texts.max().unwrap_or(0);
    if !row.marker.args.is_empty() {
        writeln!(out, "      variables:")?;
        variables(out, row, text_width, &live, &agree, layout)?;
    }
    let mut switches: Vec<String> =
        row.sites.iter().filter_map(|site| site.switch.as_ref()).map(sites::switch).collect();
    switches.sort();
    switches.dedup();
    for switch in switches {
        writeln!(out, "      switch: {switch}")?;
    }
    if !row.sites.is_empty() {
        writeln!(out, "      sites:")?;
        let lines: Vec<[String; 4]> = row.sites.iter().map(|site| columns(row, site)).collect();
        // A dead site has no columns.
        let live_lines = row.sites.iter().zip(&lines).filter(|(site, _)| site.place.is_some());
        let widths = live_lines.fold([0; 4], |widest, (_, line)| widest_of(widest, line));
        for (site, line) in row.sites.iter().zip(&lines) {
            write_site(out, line, widths, site.place.is_none(), colour)?;
            if !is_full {
                continue;
            }
            let inlined = sites::inlined(site);
            if let Some((innermost, _)) = inlined.first() {
                // Each name once: a function was inlined into the next one.
                let outward: Vec<&str> = inlined.iter().map(|(_, into)| into.as_str()).collect();
                writeln!(out, "          inlined {innermost} {}", outward.join(", "))?;
            }
            let differing = site.args.iter().zip(&agree).filter(|(_, agree)| !**agree && site.place.is_some());
            for (argument, _) in differing {
                write!(out, "          ")?;
                style::cell(out, colour, style::ARGUMENT, &shown(&argument.text), text_width + 2)?;
                let words = arguments::short(argument).unwrap_or_else(|| "not resolved".to_owned());
                style::cell(out, colour, verdict_style(argument.verdict), &words, 0)?;
                writeln!(out)?;
            }
        }
    }
    Ok(())
}

/// A line for each argument: its text, its conversion, and where it is, or why it is nowhere, if
/// that is the same at all sites.
fn variables(
    out: &mut dyn Write,
    row: &Row<'_>,
    text_width: usize,
    live: &[&Site],
    agree: &[bool],
    layout: TextLayout,
) -> io::Result<()> {
    let colour = layout.colour;
    let args = &row.marker.args;
    let conversion = |index: usize| args.get(index).and_then(|arg| arg.conversion.as_deref()).unwrap_or("");
    let conversion_width = (0..args.len()).map(|index| style::width(&shown(conversion(index)))).max().unwrap_or(0);
    for (index, argument) in args.iter().enumerate() {
        let found = live.first().and_then(|site| site.args.get(index));
        let (words, verdict) = match agree.get(index) {
            Some(false) if layout.verbosity == Verbosity::Full => (DIFFERS.to_owned(), None),
            Some(false) => (readable(live, index), None),
            _ => (found.and_then(arguments::short).unwrap_or_default(), found.and_then(|argument| argument.verdict)),
        };
        let conversion = shown(conversion(index));
        let last = usize::from(!words.is_empty());
        let after = if !conversion.is_empty() || last > 0 { text_width + 2 } else { 0 };
        write!(out, "        ")?;
        style::cell(out, colour, style::ARGUMENT, &shown(&argument.text), after)?;
        style::cell(out, colour, style::QUIET, &conversion, last * (conversion_width + 2))?;
        style::cell(out, colour, verdict_style(verdict), &words, 0)?;
        writeln!(out)?;
    }
    Ok(())
}

/// At how many sites an argument can be read.
fn readable(live: &[&Site], index: usize) -> String {
    let is_readable = |argument: &&Argument| matches!(argument.verdict, Some(Verdict::Live | Verdict::Constant));
    let count = live.iter().filter_map(|site| site.args.get(index)).filter(is_readable).count();
    format!("differs, readable at {count} of {} sites (-vv)", live.len())
}

/// A readable argument is plain, so that the others stand out.
fn verdict_style(verdict: Option<Verdict>) -> anstyle::Style {
    let style = style::verdict(verdict);
    if style == style::READABLE { style::PLAIN } else { style }
}

/// Address, file offset, symbol, and source with remarks.
fn columns(row: &Row<'_>, site: &Site) -> [String; 4] {
    let file_offset = match (&site.place, site.file_offset) {
        (Some(_), Some(offset)) => format!("file {offset}"),
        (Some(_), None) => "not in the file".to_owned(),
        (None, _) => String::new(),
    };
    let mut source = sites::source(row.marker, site.column);
    if site.place.is_some() {
        for remark in sites::remarks(site) {
            source.push_str("  ");
            source.push_str(&remark);
        }
    }
    [sites::address(site), file_offset, sites::symbol(site), source]
}

/// The widths of the columns, with those of `line` included.
fn widest_of(widest: [usize; 4], line: &[String; 4]) -> [usize; 4] {
    let [a, b, c, d] = widest;
    let [one, two, three, four] = line.each_ref().map(|cell| style::width(cell));
    [a.max(one), b.max(two), c.max(three), d.max(four)]
}

fn write_site(out: &mut dyn Write, line: &[String; 4], widths: [usize; 4], dead: bool, colour: bool) -> io::Result<()> {
    write!(out, "        ")?;
    let [address, file_offset, symbol, source] = line;
    if dead {
        style::cell(out, colour, style::GONE, address, 0)?;
        return writeln!(out, "  {source}");
    }
    let [address_width, offset_width, symbol_width, _] = widths;
    style::cell(out, colour, style::PLAIN, address, address_width + 2)?;
    style::cell(out, colour, style::QUIET, file_offset, offset_width + 2)?;
    let symbol_columns = if symbol_width == 0 { 0 } else { symbol_width + 2 };
    style::cell(out, colour, style::PLAIN, symbol, symbol_columns)?;
    writeln!(out, "{source}")
}
