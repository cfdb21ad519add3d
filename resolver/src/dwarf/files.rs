//! Names of source files, and how they are matched with the name in a marker. This module decides which of several files a name means
//! (`docs/design.md`, "The place of a marker"). `file_tables` reads the names of a unit.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The name of a file in parts, from its root down. The first part of an absolute name is `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourcePath {
    text: Arc<str>,
}

/// How well two names of files agree. A greater value is a better match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Agreement {
    /// This number of last components agree, and then the names differ. A prefix was remapped, or
    /// it is another file.
    Tail(usize),
    /// One name is the end of the other. They have this number of components in common.
    Contained(usize),
    /// One name is what the compiler was given, and the other is that name resolved in the
    /// compilation directory.
    AsWritten,
    /// Both are absolute, and the same.
    Same,
}

impl SourcePath {
    /// The name with `.`, `..`, double slashes and backslashes resolved textually. Symbolic links
    /// are not followed.
    pub(crate) fn new(text: &str) -> Self {
        Self { text: normalised(text).into() }
    }

    pub(crate) fn as_str(&self) -> &Arc<str> {
        &self.text
    }

    /// The last component.
    pub(super) fn last(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }

    fn is_absolute(&self) -> bool {
        self.text.starts_with('/')
    }

    /// Whether the last components are equal: only then the names agree.
    pub(super) fn has_last_of(&self, other: &Self) -> bool {
        let last = other.last();
        let before = self.text.strip_suffix(last).filter(|_| !last.is_empty());
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    }

    /// How well the names agree; `None` if their last components differ.
    pub(crate) fn agreement(&self, other: &Self) -> Option<Agreement> {
        if self.text == other.text && self.is_absolute() {
            return Some(Agreement::Same);
        }
        if !self.has_last_of(other) {
            return None;
        }
        fn parts(path: &SourcePath) -> impl Iterator<Item = &str> {
            path.text.rsplit('/').filter(|part| !part.is_empty())
        }
        let common = parts(self).zip(parts(other)).take_while(|(one, two)| one == two).count();
        // An absolute name is not the end of a longer one.
        let ends = |path: &Self| parts(path).nth(common).is_none() && !path.is_absolute();
        match ends(self) || ends(other) {
            true => Some(Agreement::Contained(common)),
            false => Some(Agreement::Tail(common)),
        }
    }
}

/// The texts of the paths that were read, each once: the units of a program name the same headers.
#[derive(Debug, Default)]
pub(super) struct SharedPaths(Mutex<HashSet<Arc<str>>>);

impl SharedPaths {
    /// As [`SourcePath::new`]; equal paths share their text.
    pub(super) fn path(&self, text: &str) -> SourcePath {
        let text = normalised(text);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&*text) {
            return SourcePath { text: Arc::clone(known) };
        }
        let text: Arc<str> = text.into();
        known.insert(Arc::clone(&text));
        SourcePath { text }
    }
}

/// A name without `.`, `..`, doubled slashes and backslashes.
fn normalised(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('\\', "/");
    let is_absolute = text.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if is_absolute => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    Cow::Owned(if is_absolute { format!("/{joined}") } else { joined })
}

/// Whether a name has no `.`, `..`, empty part or backslash.
fn is_plain(text: &str) -> bool {
    let relative = text.strip_prefix('/').unwrap_or(text);
    !text.contains('\\') && relative.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The candidates with the best agreement, in their order.
pub(crate) fn best<T>(candidates: impl IntoIterator<Item = (Agreement, T)>) -> Vec<(Agreement, T)> {
    let mut best: Vec<(Agreement, T)> = Vec::new();
    for (agreement, candidate) in candidates {
        match best.first().map_or(Ordering::Greater, |(first, _)| agreement.cmp(first)) {
            Ordering::Greater => best = vec![(agreement, candidate)],
            Ordering::Equal => best.push((agreement, candidate)),
            Ordering::Less => {}
        }
    }
    best
}

/// The files that a unit names, by number. A number without a file has `None`.
#[derive(Debug, Default)]
pub(super) struct UnitFiles {
    pub(super) files: Vec<Option<SourcePath>>,
    /// The compilation directory; `None` if the unit does not state it.
    pub(super) compiled_in: Option<String>,
}

impl UnitFiles {
    /// The file with a number.
    pub(super) fn get(&self, number: u64) -> Option<&SourcePath> {
        self.files.get(usize::try_from(number).ok()?)?.as_ref()
    }

    /// How many numbers there are.
    pub(super) fn count(&self) -> usize {
        self.files.len()
    }

    /// All files, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &SourcePath)> {
        self.files.iter().enumerate().filter_map(|(number, file)| Some((number as u64, file.as_ref()?)))
    }

    /// The numbers of the files that agree best with a name, and how well; empty if none does.
    pub(super) fn matching(&self, name: &SourcePath) -> Vec<(Agreement, u64)> {
        let compiled_in = self.compiled_in.as_deref().filter(|_| !name.is_absolute());
        let meant = compiled_in.map(|folder| SourcePath::new(&format!("{folder}/{}", name.text)));
        let agreement = |file: &SourcePath| match meant.as_ref() == Some(file) {
            true => Some(Agreement::AsWritten),
            false => file.agreement(name),
        };
        // Most files of a unit have another last component.
        let last = name.last();
        let may_agree = self.iter().filter(|(_, file)| file.text.ends_with(last));
        best(may_agree.filter_map(|(number, file)| Some((agreement(file)?, number))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(one: &str, two: &str) -> Option<Agreement> {
        SourcePath::new(one).agreement(&SourcePath::new(two))
    }

    #[test]
    fn names_are_normalised() {
        let text = |path: &str| SourcePath::new(path).as_str().to_string();
        assert_eq!(text("/a/./b//../c.c"), "/a/c.c");
        assert_eq!(text("../x/../y.c"), "../y.c");
        assert_eq!(text("/../y.c"), "/y.c");
        assert_eq!(text("src\\main.rs"), "src/main.rs");
    }

    #[test]
    fn components_agree_from_the_end() {
        assert_eq!(agree("/a/b.c", "/a/b.c"), Some(Agreement::Same));
        assert_eq!(agree("src/b.c", "/a/src/b.c"), Some(Agreement::Contained(2)));
        assert_eq!(agree("b.c", "b.c"), Some(Agreement::Contained(1)));
        assert_eq!(agree("/src/b.c", "/a/src/b.c"), Some(Agreement::Tail(2)), "an absolute name is no end of another");
        assert_eq!(agree("/x/src/b.c", "/y/src/b.c"), Some(Agreement::Tail(2)));
        assert_eq!(agree("/x/lib.c", "/x/b.c"), None);
        assert_eq!(agree("/x/ab.c", "/x/b.c"), None);
        assert!(Agreement::Same > Agreement::Contained(9) && Agreement::Contained(1) > Agreement::Tail(9));
    }

    #[test]
    fn the_file_that_the_compiler_was_given_is_meant_not_one_that_ends_like_it() {
        let path = |text: &str| Some(SourcePath::new(text));
        let files = vec![None, path("/linux/arch/x86/kernel/resource.c"), path("/linux/kernel/resource.c")];
        let of = |compiled_in: &str| UnitFiles { files: files.clone(), compiled_in: Some(compiled_in.to_owned()) };
        let name = SourcePath::new("kernel/resource.c");
        assert_eq!(of("/linux").matching(&name), [(Agreement::AsWritten, 2)]);
        assert_eq!(of("/linux/").matching(&name), [(Agreement::AsWritten, 2)]);
        let contained = Agreement::Contained(2);
        assert_eq!(of("/elsewhere").matching(&name), [(contained, 1), (contained, 2)]);
        assert_eq!(of("/linux").matching(&SourcePath::new("/linux/kernel/resource.c")), [(Agreement::Same, 2)]);
    }

    #[test]
    fn the_best_are_all_kept() {
        let candidates = [(Agreement::Tail(1), 'a'), (Agreement::Contained(1), 'b'), (Agreement::Contained(1), 'c')];
        assert_eq!(best(candidates), [(Agreement::Contained(1), 'b'), (Agreement::Contained(1), 'c')]);
    }
}
