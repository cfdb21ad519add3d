//! Compares what the resolver reads of the static probes of packages with readelf, gdb and bpftrace:
//! `notes FOLDER...`. Each FOLDER has the unpacked files of the package that it is named after, as
//! `PACKAGE_VERSION`.
//!
//! It prints the rows of the table of `docs/measured/notes.md`, and each difference on standard
//! error. Then the exit status is 1.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process;

use simple_markers_resolver::resolve::{Architecture, Detail, Exactness, Reason, ResolvedImage, Site};
use simple_markers_tests::notes::{files, gdb, listed_by_bpftrace, ours, readelf, resolved};

/// The totals of one row.
#[derive(Default)]
struct Counts {
    files: usize,
    notes: usize,
    exact: usize,
    arguments: usize,
    readable: usize,
    /// Arguments that are not readable, by reason.
    unread: BTreeMap<&'static str, usize>,
    same: usize,
    /// Arguments that gdb does not read, by what it says.
    refused: BTreeMap<String, usize>,
    differences: usize,
}

impl Counts {
    fn add(&mut self, path: &Path) {
        let image = resolved(path, Detail::Places);
        let theirs = readelf::notes(path);
        let ours = ours(&image);
        for note in theirs.symmetric_difference(&ours) {
            self.differs(
                path,
                &format!("{note:x?} is only in the list of {}", if ours.contains(note) { "smark" } else { "readelf" }),
            );
        }
        self.files += 1;
        self.notes += theirs.len();
        for diagnostic in &image.diagnostics {
            self.differs(path, &format!("{diagnostic:?}"));
        }
        for site in sites(&image) {
            self.exact += usize::from(site.exactness == Some(Exactness::Exact));
            for argument in &site.args {
                self.arguments += 1;
                self.readable += usize::from(argument.location.is_some());
                if let Some(Reason::Operand { problem, .. }) = &argument.reason {
                    *self.unread.entry(problem.into()).or_default() += 1;
                }
            }
        }
        if image.arch == Architecture::X86_64 {
            let compared = gdb::compare(path, &image);
            self.same += compared.same;
            for (why, count) in compared.refused {
                *self.refused.entry(why).or_default() += count;
            }
            for difference in compared.different {
                self.differs(path, &difference);
            }
            let listed = listed_by_bpftrace(path);
            let named: BTreeSet<String> = theirs.into_iter().map(|(name, ..)| name).collect();
            if listed != named {
                let only: Vec<_> = listed.symmetric_difference(&named).collect();
                self.differs(path, &format!("bpftrace lists other names: {only:?}"));
            }
        }
    }

    fn differs(&mut self, path: &Path, what: &str) {
        self.differences += 1;
        eprintln!("{}: {what}", path.display());
    }

    fn row(&self, name: &str, version: &str) -> String {
        let unread: Vec<_> = self.unread.iter().map(|(problem, count)| format!("`{problem}` {count}")).collect();
        format!(
            "| {name} | {version} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.files,
            self.notes,
            self.exact,
            self.arguments,
            self.readable,
            unread.join(", "),
            self.same,
            self.refused.values().sum::<usize>(),
            self.differences
        )
    }
}

fn sites(image: &ResolvedImage) -> impl Iterator<Item = &Site> {
    image.markers.iter().filter(|marker| marker.is_note).flat_map(|marker| &marker.sites)
}

fn main() {
    let mut total = Counts::default();
    for folder in std::env::args_os().skip(1).map(PathBuf::from) {
        let mut counts = Counts::default();
        files(&folder).iter().for_each(|path| counts.add(path));
        if counts.notes == 0 {
            continue;
        }
        let package = folder.file_name().unwrap_or_default().to_string_lossy();
        let (name, version) = package.split_once('_').unwrap_or((&package, ""));
        println!("{}", counts.row(name, version));
        total.files += counts.files;
        total.notes += counts.notes;
        total.exact += counts.exact;
        total.arguments += counts.arguments;
        total.readable += counts.readable;
        for (problem, count) in counts.unread {
            *total.unread.entry(problem).or_default() += count;
        }
        total.same += counts.same;
        for (why, count) in counts.refused {
            *total.refused.entry(why).or_default() += count;
        }
        total.differences += counts.differences;
    }
    println!("{}", total.row("all", ""));
    for (why, count) in &total.refused {
        eprintln!("gdb, {count} arguments: {why}");
    }
    process::exit(i32::from(total.differences > 0));
}
