//! Files that become others while they are watched: built again, moved, removed, or overwritten.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use simple_markers_tracer::sys::lease;
use simple_markers_tracer::sys::mapped::{self, MappedFile};
use simple_markers_tracer::sys::paths::Paths;

use super::named_files::{FileChange, NamedFile};
use super::pinned::PinnedFile;
use super::summary::counted;
use super::watching::Watching;
use crate::console::Console;

/// A file that is removed may be built again so soon that nothing is said.
const GRACE: Duration = Duration::from_secs(1);

/// The most old files that are watched because a process may run them of which nothing can be known.
const MOST_UNKNOWN: usize = 8;

impl Watching {
    /// Removes the probes of the files that somebody wants to overwrite, and lets him.
    pub(crate) fn yield_leases(&mut self, console: &Console) {
        if !lease::take_wish() {
            return;
        }
        let is_wanted = |it: &&PinnedFile| it.lease.as_ref().is_some_and(|lease| lease.is_wanted());
        let wanted: Vec<_> = self.pinned.iter().filter(is_wanted).map(|it| (it.id, it.path.clone())).collect();
        for (id, path) in wanted {
            match self.files.files.iter_mut().find(|named| named.file == Some(id)) {
                // It is looked at when the writer has ended.
                Some(named) => {
                    named.is_overwritten = true;
                    named.file = None;
                }
                None => console.note(&format!(
                    "{} is overwritten: it is not watched until a process maps it again",
                    path.display()
                )),
            }
            self.forget_number(id.number());
        }
    }

    /// Watches the new files of the paths that the user named.
    pub(super) fn follow_paths(&mut self, console: &Console) -> anyhow::Result<()> {
        let is_changed = self.files.paths.as_mut().is_some_and(Paths::take);
        if !is_changed && self.files.due() != Some(Duration::ZERO) {
            return Ok(());
        }
        let mut named = std::mem::take(&mut self.files.files);
        let result = named.iter_mut().try_for_each(|named| self.follow_path(console, named));
        self.files.files = named;
        result
    }

    fn follow_path(&mut self, console: &Console, named: &mut NamedFile) -> anyhow::Result<()> {
        // A file that somebody writes to is looked at when he has ended, which is told.
        let is_written = lease::is_written(&named.path);
        let Ok(file) = MappedFile::named(&named.path) else {
            named.written = None;
            match named.gone {
                None if named.file.take().is_some() => named.gone = Some(Instant::now() + GRACE),
                Some(gone) if gone <= Instant::now() => {
                    named.gone = None;
                    console.note(&format!(
                        "{} was removed: processes that run it are still watched, and a new file there will be",
                        named.canonical.display()
                    ));
                }
                _ => {}
            }
            return Ok(());
        };
        (named.gone, named.written) = (None, None);
        if named.file == Some(file.id) {
            return Ok(());
        }
        // At once: a probe of the old program would break the new one.
        named.is_overwritten |= self.forget_number(file.id.number());
        named.file = None;
        named.written = is_written.then(|| Instant::now() + GRACE);
        if is_written {
            return Ok(());
        }
        named.file = Some(file.id);
        let before = std::mem::replace(&mut named.canonical, file.path.clone());
        if self.known.contains(&file.id) {
            return Ok(());
        }
        let change = match std::mem::take(&mut named.is_overwritten) {
            true => FileChange::Overwritten,
            // A symbolic link may lead to another path now.
            false => FileChange::Replaced {
                is_in_use: self.forget_unused(&before, &file) | self.forget_unused(&file.path, &file),
            },
        };
        self.named.insert(file.id);
        self.changes.push((file.path.clone(), change));
        self.watch_files(console, vec![file])
    }

    /// Notes what has become of the files that were watched before, and removes the probes that are in none
    /// of their programs any more.
    pub(super) fn note_change(&mut self, file: &MappedFile) {
        let is_told = self.changes.iter().any(|(path, _)| *path == file.path);
        if self.forget_number(file.id.number()) {
            self.changes.push((file.path.clone(), FileChange::Overwritten));
        } else if !is_told && file.opened_as().is_none() && self.pinned.iter().any(|it| it.is_here_at(&file.path)) {
            let is_in_use = self.forget_unused(&file.path, file);
            self.changes.push((file.path.clone(), FileChange::Replaced { is_in_use }));
        }
    }

    /// Removes the probes of a file with this device and inode. Returns whether there were some.
    fn forget_number(&mut self, number: (u64, u64)) -> bool {
        self.forget(&|pinned| pinned == number)
    }

    /// Removes the probes of files with a path that are older than a new one, unless a process may run them.
    /// Returns whether a process runs one.
    fn forget_unused(&mut self, path: &Path, new: &MappedFile) -> bool {
        let is_old = |it: &&PinnedFile| it.path == path && it.id.number() != new.id.number();
        let of = |it: &PinnedFile| (it.id.number(), mapped::is_in_use(it.id.number()));
        let old: Vec<_> = self.pinned.iter().filter(is_old).map(of).collect();
        let unknown = old.iter().rev().filter(|(_, is_in_use)| is_in_use.is_none()).map(|(number, _)| *number);
        let kept: HashSet<_> = unknown.take(MOST_UNKNOWN).collect();
        let gone = old.iter().filter(|(number, is_in_use)| *is_in_use != Some(true) && !kept.contains(number));
        let gone: HashSet<_> = gone.map(|(number, _)| *number).collect();
        self.forget(&|number| gone.contains(&number));
        old.iter().any(|(_, is_in_use)| *is_in_use == Some(true))
    }

    fn forget(&mut self, is_it: &dyn Fn((u64, u64)) -> bool) -> bool {
        let pinned = std::mem::take(&mut self.pinned).into_iter();
        let (gone, kept) = pinned.partition::<Vec<_>, _>(|pinned| is_it(pinned.id.number()));
        self.pinned = kept;
        for pinned in &gone {
            self.known.remove(&pinned.id);
            if let Some(session) = &mut self.session {
                session.forget(&self.plan, pinned.image);
            }
        }
        !gone.is_empty()
    }

    /// Says what has happened to files. `sites` is the number of the first site of the new ones.
    pub(super) fn tell_changes(&mut self, console: &Console, sites: usize) {
        for (path, change) in std::mem::take(&mut self.changes) {
            let is_its = |image: usize| self.plan.images.get(image).is_some_and(|it| Path::new(&it.path) == path);
            let new: Vec<_> = self.plan.sites.iter().skip(sites).filter(|site| is_its(site.image)).collect();
            let markers: HashSet<usize> = new.iter().map(|site| site.marker).collect();
            let what = format!("{} of {}", counted(new.len(), "site"), counted(markers.len(), "marker"));
            let is_mapped =
                |pinned: &PinnedFile| pinned.path == path && mapped::is_in_use(pinned.id.number()) == Some(true);
            let of_processes = match change == FileChange::Overwritten && self.pinned.iter().any(is_mapped) {
                true => "; processes that have mapped it run its new bytes at their old addresses",
                false => "",
            };
            let path = path.display();
            console.note(&match (change, new.is_empty()) {
                (FileChange::Replaced { .. }, true) => {
                    format!("{path} was replaced: the new file has no marker that is watched")
                }
                (FileChange::Replaced { is_in_use: true }, false) => {
                    format!("{path} was replaced: watching {what} of the new file too; processes still run the old one")
                }
                (FileChange::Replaced { is_in_use: false }, false) => {
                    format!("{path} was replaced: watching {what} of the new file")
                }
                (FileChange::Overwritten, true) => {
                    format!("{path} was overwritten: it has no marker that is watched any more")
                }
                (FileChange::Overwritten, false) => {
                    format!("{path} was overwritten: watching {what} of it{of_processes}")
                }
            });
        }
    }
}
