//! Malicious debug information: cycles, deep nesting, floods and lies. The resolver must always
//! answer, with work in proportion to the size of the file, and report malformed data with its
//! offset.

use std::fmt::Write as _;

use images::dwarf::SectionBytes;
use images::{Linked, Strings, declaration};
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::english;
use simple_markers_resolver::record::site::Site;
use simple_markers_resolver::report::{TextLayout, Verbosity, json, list};
use simple_markers_resolver::resolve::{Argument, DiagnosticSeverity, ResolvedImage, SitePlace, resolve};

use self::unit::with_length;

mod damaged;
mod ghosts;
mod locations;
mod scopes;
mod tables;
mod unit;

/// A line program of `a.c` with the operations `rows` from 0x1000 on.
fn lines(rows: &[u8]) -> Vec<u8> {
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    header.extend(b"\0a.c\0\0\0\0\0");
    let mut bytes = vec![4, 0];
    bytes.extend(with_length(&header));
    bytes.extend([0, 9, 2]);
    bytes.extend(0x1000u64.to_le_bytes());
    bytes.extend(rows);
    bytes.extend([2, 1, 0, 1, 1]);
    with_length(&bytes)
}

/// Rows of lines 2 to 9, 16 bytes each.
const ROWS: &[u8] = &[3, 1, 1, 2, 16, 3, 1, 1, 2, 16, 3, 5, 1, 2, 16, 3, 1, 1, 2, 0x40];

/// An image with this debug information and one marker on line 5 of `a.c`, at each of the
/// addresses.
fn image(args: &str, at: &[u64], sections: Vec<SectionBytes>) -> Vec<u8> {
    let mut strings = Strings::default();
    let first = strings.site(0, 5, ["a:b", "a.c", "", args, ""]);
    let sites: Vec<Site> = at.iter().map(|pc| Site { pc: *pc, ..first }).collect();
    Linked::new().markers(&[declaration("a:b", "a.c", 5, "", args)], &sites, strings).sections(sections).build()
}

/// Resolves an image.
fn find(image: &[u8]) -> ResolvedImage {
    let mut resolution = resolve("a", image);
    let [_] = resolution.images.as_slice() else { panic!("one image: {:?}", resolution.failures) };
    resolution.images.remove(0)
}

/// Resolves an image and prints it in every format.
fn look(image: &[u8]) -> ResolvedImage {
    let mut resolution = resolve("a", image);
    let mut out = Vec::new();
    list::write(&mut out, &resolution.rows(), TextLayout { colour: false, width: None, verbosity: Verbosity::Full })
        .unwrap();
    json::write(&mut out, &resolution, &|_| true).unwrap();
    assert!(out.len() < 64 << 20, "{} bytes are printed", out.len());
    let [_] = resolution.images.as_slice() else { panic!("one image: {:?}", resolution.failures) };
    resolution.images.remove(0)
}

/// The arguments of the first site.
fn arguments(args: &str, sections: Vec<SectionBytes>) -> Vec<Argument> {
    let image = look(&image(args, &[0x1018], sections));
    let site = image.markers[0].sites.first().expect("the site is there for any debug information");
    assert_eq!(site.place, Some(SitePlace::Address(Vaddr(0x1018))));
    site.args.clone()
}

/// Verdict and reason, or the location, of each argument. Omits arguments without a verdict.
fn said(arguments: &[Argument]) -> String {
    let mut said = String::new();
    for argument in arguments {
        let why = argument.reason.as_ref().map(english::arguments::reason);
        let why = why.as_deref().or(argument.location_text.as_deref());
        let _ = writeln!(said, "{}: {:?}: {}", argument.text, argument.verdict, why.unwrap_or("?"));
    }
    said
}

fn errors(image: &ResolvedImage) -> String {
    let errors = image.diagnostics.iter().filter(|diagnostic| diagnostic.severity == DiagnosticSeverity::Error);
    errors.map(|diagnostic| english::diagnostics::diagnostic(diagnostic) + "\n").collect()
}

/// How many entries a flood has: so many if `CI` is set, and a fifth otherwise.
fn flood(entries: usize) -> usize {
    if std::env::var_os("CI").is_some() { entries } else { entries / 5 }
}

/// `DW_OP_addr 0x2000`.
const STATIC: &[u8] = &[3, 0, 0x20, 0, 0, 0, 0, 0, 0];
