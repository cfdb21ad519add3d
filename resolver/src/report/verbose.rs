//! What `list -v` adds under a row: the marker's variables, and its sites.

use std::io::{self, Write};

use super::style;
use crate::resolve::{Argument, Encoding, Place, Row, Site, Verdict};
use crate::text::shown;

/// Writes the variables and sites of a row, indented.
pub(super) fn write(out: &mut dyn Write, row: &Row<'_>, colour: bool) -> io::Result<()> {
    let live: Vec<&Site> = row.sites.iter().filter(|site| site.place.is_some()).copied().collect();
    let agree = live.windows(2).all(|pair| matches!(pair, [one, other] if one.args == other.args));
    if !row.marker.args.is_empty() {
        writeln!(out, "      variables:")?;
        variables(out, row, live.first().copied(), agree, colour)?;
    }
    if !row.sites.is_empty() {
        writeln!(out, "      sites:")?;
        let lines: Vec<[String; 4]> = row.sites.iter().map(|site| columns(row, site)).collect();
        let widths = lines.iter().fold([0; 4], widest_of);
        for (site, line) in row.sites.iter().zip(&lines) {
            write_site(out, line, widths, site.place.is_none(), colour)?;
            if !agree && site.place.is_some() {
                let kept = site.args.iter().filter_map(|arg| Some((arg, location(arg)?)));
                for (argument, location) in kept {
                    writeln!(out, "          {} {location}", shown(&argument.text))?;
                }
            }
        }
    }
    Ok(())
}

/// A line for each argument: as written, its conversion, and where it is kept, where that is the same at each site.
fn variables(out: &mut dyn Write, row: &Row<'_>, site: Option<&Site>, agree: bool, colour: bool) -> io::Result<()> {
    let args = &row.marker.args;
    let text_width = args.iter().map(|arg| style::width(&shown(&arg.text))).max().unwrap_or(0);
    let conversion = |index: usize| args.get(index).and_then(|arg| arg.conversion.as_deref()).unwrap_or("");
    let conversion_width = (0..args.len()).map(|index| style::width(&shown(conversion(index)))).max().unwrap_or(0);
    for (index, argument) in args.iter().enumerate() {
        let location = match site.and_then(|site| site.args.get(index)).and_then(location) {
            Some(_) if !agree => "kept, see the sites".to_owned(),
            location => location.unwrap_or_default(),
        };
        let conversion = shown(conversion(index));
        let last = usize::from(!location.is_empty());
        let after = if !conversion.is_empty() || last > 0 { text_width + 2 } else { 0 };
        write!(out, "        ")?;
        style::cell(out, colour, style::ARGUMENT, &shown(&argument.text), after)?;
        style::cell(out, colour, style::QUIET, &conversion, last * (conversion_width + 2))?;
        writeln!(out, "{location}")?;
    }
    Ok(())
}

/// Where an argument is, in words; `None` where not resolved.
fn location(argument: &Argument) -> Option<String> {
    let location = shown(argument.location.as_deref()?);
    let mut words = match argument.verdict? {
        Verdict::Constant => format!("constant {location}"),
        Verdict::Live => format!("kept in {location}"),
    };
    if let Some(size) = argument.size {
        let encoding = match argument.encoding {
            Some(Encoding::Signed) => ", signed",
            Some(Encoding::Unsigned) => ", unsigned",
            Some(Encoding::Float) => ", float",
            None => "",
        };
        let plural = if size == 1 { "" } else { "s" };
        words.push_str(&format!(" ({size} byte{plural}{encoding})"));
    }
    Some(words)
}

/// Address, file offset, symbol, and source with what else there is to say.
fn columns(row: &Row<'_>, site: &Site) -> [String; 4] {
    let address = match &site.place {
        Some(Place::Address(address)) => address.to_string(),
        Some(Place::Section { section, offset }) => format!("{}+{offset}", shown(section)),
        None => "discarded by the linker".to_owned(),
    };
    let file_offset = match (&site.place, site.file_offset) {
        (Some(_), Some(offset)) => format!("file {offset}"),
        (Some(_), None) => "not in the file".to_owned(),
        (None, _) => String::new(),
    };
    let symbol = match (site.function.as_deref(), site.symbol_offset) {
        (Some(function), Some(offset)) => format!("{}+{offset:#x}", shown(function)),
        (Some(function), None) => shown(function).into_owned(),
        (None, _) => String::new(),
    };
    let mut source = format!("{}:{}", shown(&row.marker.file), row.marker.line);
    if let Some(column) = site.column {
        source.push_str(&format!(":{column}"));
    }
    if site.anchored && site.place.is_some() {
        source.push_str("  anchored");
    }
    [address, file_offset, symbol, source]
}

/// The widths of the columns when `line` is among them.
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
