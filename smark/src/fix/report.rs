//! What became of each marker, in English: what was changed, what was not and why, and what is left
//! that no change of a marker settles.

use std::collections::HashSet;
use std::io::{self, Write};

use simple_markers_resolver::check::{Finding, fix};
use simple_markers_resolver::english;
use simple_markers_resolver::text::shown;
use simple_markers_resolver::verdicts::Group;

use super::files::FileRefusal;
use super::session::{Edit, Extent, MarkerKey, Reason, Session, Work};
use crate::check::CheckResult;

/// What a probe costs (docs/measured/cost.md).
const PROBE_COST: &str = "A probe costs two instructions while it is off (three with a compiler before Rust 1.87, on AArch64 and \
                          on RISC-V), and a marker none; while it is on, its arguments are evaluated. `--probe never` keeps \
                          markers.";

impl Session {
    /// Lists the changes to each marker, the edits that failed, and the denied findings that no edit
    /// settles.
    pub(super) fn report(&self, out: &mut dyn Write, result: &CheckResult, needs_build: bool) -> io::Result<()> {
        for work in self.work.values() {
            let head = self.head(work);
            if work.edits.probe {
                writeln!(out, "fixed {head}: a probe now, `simple_probe!`")?;
                continue;
            }
            let texts: Vec<String> = work.edits.keep.keys().map(|index| name(work, Edit::Keep(*index))).collect();
            let mut done = Vec::new();
            if !texts.is_empty() {
                done.push(format!("kept {}", texts.join(", ")));
            }
            if work.marker.is_ghost && !work.edits.is_empty() {
                done.push("a marker and no ghost, so the compiler may make other code around it".to_owned());
            }
            if work.edits.anchor {
                done.push("anchored".to_owned());
            }
            if !done.is_empty() {
                writeln!(out, "fixed {head}: {}", shown(&done.join("; ")))?;
            }
            for (edit, (before, now)) in &work.left {
                writeln!(out, "not fixed {head}: {}", shown(&helped(&said(work, *edit), *before, *now)))?;
            }
            for (edit, reason) in &work.failed {
                if let Reason::File(refusal) = reason {
                    self.refused(out, work, refusal)?;
                    continue;
                }
                let edit = edit.map(|edit| said(work, edit));
                writeln!(out, "not fixed {head}: {}", shown(&self.why(edit.as_deref(), reason)))?;
            }
        }
        let probes = self.work.values().filter(|work| work.edits.probe).count();
        if probes > 0 {
            let became =
                if probes == 1 { "1 marker became a probe" } else { &format!("{probes} markers became probes") };
            writeln!(out, "{became}. {PROBE_COST}")?;
        }
        self.left(out, result)?;
        if needs_build {
            writeln!(out, "The sources were changed: build the program, and check it again.")?;
        }
        Ok(())
    }

    /// Says why the file of a marker is not changed, and of which other markers the same is true. Says
    /// it once, with the first of them.
    fn refused(&self, out: &mut dyn Write, work: &Work, refusal: &FileRefusal) -> io::Result<()> {
        let is_refused = |work: &&Work| {
            work.failed.iter().any(|(_, reason)| matches!(reason, Reason::File(other) if other == refusal))
        };
        let mut same = self.work.values().filter(is_refused);
        if !same.next().is_some_and(|first| std::ptr::eq(first, work)) {
            return Ok(());
        }
        writeln!(out, "not fixed {}: {}", self.head(work), shown(&self.file_refusal(refusal)))?;
        let others: Vec<String> = same.map(|work| self.head(work)).collect();
        if !others.is_empty() {
            writeln!(out, "not fixed for the same reason: {}", others.join(", "))?;
        }
        Ok(())
    }

    /// Lists the denied findings that no edit of a marker settles.
    fn left(&self, out: &mut dyn Write, result: &CheckResult) -> io::Result<()> {
        let mut known: HashSet<(MarkerKey, &str)> = HashSet::new();
        for (key, finding) in self.denied(result) {
            let Some(work) = self.work.get(&key) else { continue };
            let is_said = matches!(finding.code.group(), Group::Arguments | Group::Exactness)
                && !(work.failed.is_empty() && work.left.is_empty());
            let has_edit = fix::edits_for(&result.selected.resolution, finding).is_some();
            if !is_said && !has_edit && known.insert((key, finding.code.as_str())) {
                writeln!(out, "not fixed {}: {}", self.head(work), shown(&of_finding(finding)))?;
            }
        }
        // A marker that is gone is not among the markers of the program.
        let is_gone = |finding: &&Finding| finding.is_denied() && finding.index.is_none();
        for finding in result.report.findings.iter().filter(is_gone) {
            writeln!(out, "not fixed {}", shown(&format!("{}: {}", finding.marker, of_finding(finding))))?;
        }
        Ok(())
    }

    /// The name and the place of a marker.
    fn head(&self, work: &Work) -> String {
        let marker = &work.marker;
        let place = match &work.path {
            Ok(path) => self.folders.shown(path),
            Err(_) => marker.file.to_string(),
        };
        shown(&format!("{} ({place}:{})", marker.name, marker.line)).into_owned()
    }

    fn why(&self, edit: Option<&str>, reason: &Reason) -> String {
        let edit = edit.unwrap_or("the change");
        match reason {
            Reason::Source(refusal) => english::fixes::refusal(refusal),
            Reason::File(refusal) => self.file_refusal(refusal),
            Reason::DidNotHelp => format!("{edit} did not help and was taken back"),
            Reason::DoesNotBuild(None) => format!("the program does not compile with {edit}; it was taken back"),
            Reason::DoesNotBuild(Some(message)) => {
                format!("the program does not compile with {edit}, which was taken back: {message}")
            }
        }
    }

    fn file_refusal(&self, refusal: &FileRefusal) -> String {
        let why = match refusal {
            FileRefusal::NotFound => {
                "its source file is not found: it was moved, or the build wrote another path for it"
            }
            FileRefusal::Unreadable => "its source file cannot be read",
            FileRefusal::Outside => "its source file is outside of the folder that may be changed",
            FileRefusal::Dependency(sign) => {
                return format!(
                    "its source file belongs to a dependency, because of {}, which cargo puts into a package that it \
                     unpacks or vendors: if the copy is yours to change, remove that file",
                    self.folders.shown(sign)
                );
            }
            FileRefusal::Generated => "its source file was made by a build",
            FileRefusal::ReadOnly => "its source file is read-only",
        };
        why.to_owned()
    }
}

/// An edit as messages name it.
fn said(work: &Work, edit: Edit) -> String {
    match edit {
        Edit::Keep(_) => format!("`keep` of {}", name(work, edit)),
        Edit::Anchor | Edit::Plain | Edit::Probe => name(work, edit),
    }
}

fn name(work: &Work, edit: Edit) -> String {
    match edit {
        Edit::Keep(index) => {
            work.marker.args.get(index).map_or_else(String::new, |argument| format!("`{}`", argument.text))
        }
        Edit::Anchor => "an anchor".to_owned(),
        Edit::Plain => "a plain marker".to_owned(),
        Edit::Probe => "a probe".to_owned(),
    }
}

/// An edit that helped some copies of a marker.
fn helped(edit: &str, before: Extent, now: Extent) -> String {
    let copies = |extent: Extent| format!("{} of {}", extent.affected, extent.total);
    format!("{edit} helped and stays, but {} copies are left; before it was {}", copies(now), copies(before))
}

/// A finding that no edit settles.
fn of_finding(finding: &Finding) -> String {
    format!("{} ({}) needs another change: {}", finding.code, finding.name(), english::help::help(finding))
}
