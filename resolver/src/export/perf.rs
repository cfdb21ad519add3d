//! A shell script that gives `perf probe` the sites by address, with the arguments as the kernel takes them (perf-probe(1), "PROBE SYNTAX").
//! `perf probe -D` prints the same definitions as the export for `uprobe_events` has.

use super::plan::Planned;
use super::symbols::FunctionNames;
use super::{Writer, uprobe};
use crate::location::{Processor, Register};

const MARK: &str = "#";

/// Room for the arguments: `perf` writes the line of `uprobe_events`, with the path.
const LINE: usize = 3900;

pub(super) fn write(writer: &mut Writer<'_>, planned: &[Planned<'_>], bytes: &[u8]) -> Result<(), String> {
    let names = FunctionNames::of(bytes)?;
    if writer.path.contains(char::is_control) {
        return Err("a path with control characters is not exported".to_owned());
    }
    if writer.path.contains([' ', ':', '#', '(']) {
        return Err("the kernel takes no path with white space, `:`, `(` or `#`: make a link to the file, or copy it"
            .to_owned());
    }
    writer.line("#!/bin/sh");
    writer.heading(
        MARK,
        &["As root: sh THIS; with -D the definitions are only shown, -d takes them away: perf probe -d 'GROUP:*'"],
    );
    writer.line("");
    writer.line("set -e");
    writer.line("[ \"$1\" = -D ] && do=-D || do=--add");
    let aarch64 = writer.image.arch == "aarch64";
    writer.each(MARK, planned, &mut |writer, point| {
        let (arguments, left_out) = uprobe::arguments(point, aarch64, LINE.saturating_sub(writer.path.len()));
        for (argument, why) in left_out {
            writer.without(MARK, &argument, &why);
        }
        // perf 6.1 takes a number for an offset in the file, others for an address.
        let place = match point.address.0 == point.offset.0 {
            true => point.address.to_string(),
            false => {
                let (name, offset) =
                    names.unique(point.address).map_err(|why| format!("{why}, and perf has no other way to say it"))?;
                format!("{name}+{offset}")
            }
        };
        let mut definition = format!("{}:{}={place}", point.group, point.event);
        for argument in arguments {
            definition.push(' ');
            definition.push_str(&argument);
        }
        let line = format!("perf probe -q -x {} \"$do\" {}", quoted(writer.path), quoted(&definition));
        writer.line(&line);
        Ok(())
    });
    Ok(())
}

/// A word of a shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A register as the kernel's probes name it (`arch/*/kernel/ptrace.c`).
pub(super) fn register(register: Register, aarch64: bool) -> Result<String, String> {
    let processor = if aarch64 { Processor::Aarch64 } else { Processor::X86_64 };
    let name = register.name(processor);
    match (aarch64, register.0) {
        (false, 0..=7) => Ok(format!("%{}", name.trim_start_matches("%r"))),
        (false, 8..=15) => Ok(name.into_owned()),
        (false, 16) => Ok("%ip".to_owned()),
        (true, 0..=32) => Ok(format!("%{name}")),
        _ => Err(format!("it is in {name}, which the kernel does not fetch")),
    }
}
