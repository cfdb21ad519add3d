//! Reads the lock file: what was found and accepted for each marker, by profile and target
//! (`docs/check.md`, "The lock file").
//!
//! The file is TOML with `version = 1`, a `[[profile]]` for each profile and target, and in it a
//! `[[profile.marker]]` for each marker. It has no addresses and no line numbers, so it changes
//! only if markers change. The reader rejects unknown keys and reports line and column: an
//! exception with a misspelt `reason` would otherwise have none. `update` writes the file.

use toml_edit::{Document, Item, Table, Value};

use super::least::Least;
use super::policy::Codes;

/// The version of the format.
pub(super) const VERSION: i64 = 1;

/// A lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// The sections, in file order.
    pub sections: Vec<Section>,
}

/// The accepted markers of one profile and target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name of the profile.
    pub profile: String,
    /// The architecture (`x86_64`), or a target triple that begins with it
    /// (`x86_64-unknown-linux-gnu`).
    pub target: String,
    /// The markers.
    pub markers: Vec<LockedMarker>,
}

/// What is accepted for a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedMarker {
    /// Its name.
    pub name: String,
    /// Its source file; `None` if any file is accepted.
    pub file: Option<String>,
    /// Its format; `None` if it is not compared.
    pub format: Option<String>,
    /// The lowest number of sites; `None` if any number is accepted.
    pub sites: Option<u64>,
    /// The worst accepted verdict on each argument; `None` if they are not compared.
    pub args: Option<Vec<(String, Least)>>,
    /// Of a static probe with notes: what these have; `None` for other markers.
    pub note: Option<LockedNote>,
    /// Whether the marker was gone at the last update, and its entry remains only for its
    /// exceptions and comments.
    pub gone: bool,
    /// The findings that are not reported.
    pub exceptions: Vec<LockException>,
    /// The line in the file, from 1.
    pub line: usize,
}

/// What is accepted for the notes of a static probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedNote {
    /// The sizes of the arguments, as notes write them (`-4, 8`).
    pub arguments: String,
    /// Whether it has a semaphore.
    pub semaphore: bool,
}

/// A finding that the lock file excepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockException {
    /// The codes.
    pub codes: Codes,
    /// The code, word or group, as written.
    pub code: String,
    /// The argument that it applies to; `None` for the marker and all its arguments.
    pub argument: Option<String>,
    /// The reason given.
    pub reason: String,
    /// The line in the file, from 1.
    pub line: usize,
}

/// An error in a lock file or in settings, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct LockError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The error itself.
    pub what: String,
}

impl Section {
    /// Whether it has notes of static probes.
    #[must_use]
    pub fn has_notes(&self) -> bool {
        self.markers.iter().any(|marker| marker.note.is_some() && !marker.gone)
    }
}

impl Lock {
    /// Whether it has notes of static probes.
    #[must_use]
    pub fn has_notes(&self) -> bool {
        self.sections.iter().any(Section::has_notes)
    }

    /// Reads a lock file.
    ///
    /// # Errors
    ///
    /// The text is not TOML, has another version or an unknown key, code or verdict, or has an
    /// exception without a reason.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let reader = TomlReader { text };
        let document = reader.document()?;
        let root = document.as_table();
        reader.known(root, &["version", "profile"])?;
        match root.get("version").map(|version| (version.as_integer(), version)) {
            Some((Some(VERSION), _)) => {}
            Some((_, version)) => {
                return Err(reader.error(version.span(), format!("version: this smark reads {VERSION}")));
            }
            None => return Err(reader.error(Some(0..0), format!("`version = {VERSION}` is missing"))),
        }
        let mut sections: Vec<Section> = Vec::new();
        for table in reader.tables(root, "profile")? {
            reader.known(table, &["name", "target", "marker"])?;
            let profile = reader.string(table, "name")?;
            let target = reader.string(table, "target")?;
            if sections.iter().any(|section| section.profile == profile && section.target == target) {
                let what = format!("the profile `{profile}` for `{target}` stands twice");
                return Err(reader.error(table.span(), what));
            }
            let markers = reader.tables(table, "marker")?;
            let markers = markers.into_iter().map(|table| reader.marker(table)).collect::<Result<_, _>>()?;
            sections.push(Section { profile, target, markers });
        }
        Ok(Self { sections })
    }

    /// The section of a profile for a target: the one for exactly this target, or else the one for
    /// its architecture.
    #[must_use]
    pub fn section(&self, profile: &str, target: &str) -> Option<&Section> {
        let of_profile = || self.sections.iter().filter(|section| section.profile == profile);
        of_profile()
            .find(|section| section.target == target)
            .or_else(|| of_profile().find(|section| is_of(&section.target, target)))
    }
}

/// Whether the target of a section belongs to the architecture `target`.
pub(super) fn is_of(section: &str, target: &str) -> bool {
    section.split_once('-').is_some_and(|(arch, _)| arch == target)
}

/// Reads TOML with the places of errors.
pub(super) struct TomlReader<'t> {
    pub(super) text: &'t str,
}

impl<'t> TomlReader<'t> {
    pub(super) fn document(&self) -> Result<Document<&'t str>, LockError> {
        Document::parse(self.text).map_err(|error| {
            let what = error.message().trim().replace('\n', ", ");
            self.error(error.span(), what)
        })
    }

    /// The line and the column where something begins, from 1.
    pub(super) fn line(&self, span: Option<std::ops::Range<usize>>) -> (usize, usize) {
        let before = self.text.get(..span.map_or(0, |span| span.start)).unwrap_or(self.text);
        let last = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count().saturating_add(1), last.chars().count().saturating_add(1))
    }

    pub(super) fn error(&self, span: Option<std::ops::Range<usize>>, what: String) -> LockError {
        let (line, column) = self.line(span);
        LockError { line, column, what }
    }

    /// Fails if a table has other keys.
    fn known(&self, table: &Table, keys: &[&str]) -> Result<(), LockError> {
        match table.iter().find(|(key, _)| !keys.contains(key)) {
            Some((key, item)) => {
                let span = table.key(key).and_then(toml_edit::Key::span).or(item.span());
                Err(self.error(span, format!("there is no key `{key}` here, only {}", keys.join(", "))))
            }
            None => Ok(()),
        }
    }

    fn tables<'d>(&self, table: &'d Table, key: &str) -> Result<Vec<&'d Table>, LockError> {
        match table.get(key) {
            None => Ok(Vec::new()),
            Some(Item::ArrayOfTables(tables)) => Ok(tables.iter().collect()),
            Some(other) => Err(self.error(other.span(), format!("`{key}` must be written as `[[{key}]]`"))),
        }
    }

    fn optional(&self, table: &Table, key: &str) -> Result<Option<String>, LockError> {
        match table.get(key) {
            None => Ok(None),
            Some(item) => match item.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(self.error(item.span(), format!("`{key}` must be a string"))),
            },
        }
    }

    fn string(&self, table: &Table, key: &str) -> Result<String, LockError> {
        match self.optional(table, key)?.filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(text),
            None => {
                let span = table.get(key).and_then(Item::span).or(table.span());
                Err(self.error(span, format!("`{key}` is missing")))
            }
        }
    }

    fn marker(&self, table: &Table) -> Result<LockedMarker, LockError> {
        self.known(table, &["name", "file", "format", "note", "semaphore", "sites", "args", "gone", "exception"])?;
        let sites = match table.get("sites") {
            None => None,
            Some(item) => match item.as_integer().map(u64::try_from) {
                Some(Ok(sites)) => Some(sites),
                _ => return Err(self.error(item.span(), "`sites` must be a number, not below 0".to_owned())),
            },
        };
        let truth = |key: &str| match table.get(key) {
            None => Ok(false),
            Some(item) => {
                item.as_bool().ok_or_else(|| self.error(item.span(), format!("`{key}` must be true or false")))
            }
        };
        let (gone, semaphore) = (truth("gone")?, truth("semaphore")?);
        let note = self.optional(table, "note")?.map(|arguments| LockedNote { arguments, semaphore });
        let exceptions = self.tables(table, "exception")?;
        Ok(LockedMarker {
            name: self.string(table, "name")?,
            file: self.optional(table, "file")?,
            format: self.optional(table, "format")?,
            sites,
            args: self.args(table)?,
            note,
            gone,
            exceptions: exceptions.into_iter().map(|table| self.exception(table)).collect::<Result<_, _>>()?,
            line: self.line(table.span()).0,
        })
    }

    fn args(&self, table: &Table) -> Result<Option<Vec<(String, Least)>>, LockError> {
        let Some(item) = table.get("args") else { return Ok(None) };
        let Some(args) = item.as_table_like() else {
            return Err(self.error(item.span(), "`args` must be a table: `args.tag = \"live\"`".to_owned()));
        };
        let least = |(key, item): (&str, &Item)| match item.as_value().and_then(Value::as_str).and_then(Least::parse) {
            Some(least) => Ok((key.to_owned(), least)),
            None => {
                let what = "must be live, constant, partial, doubtful, entry, lost, absent, unsupported or undescribed";
                Err(self.error(item.span(), format!("`{key}` {what}")))
            }
        };
        args.iter().map(least).collect::<Result<Vec<_>, _>>().map(Some)
    }

    fn exception(&self, table: &Table) -> Result<LockException, LockError> {
        self.known(table, &["code", "argument", "reason"])?;
        let code = self.string(table, "code")?;
        let at_code = || table.get("code").and_then(Item::span);
        let codes = Codes::parse(&code).map_err(|what| self.error(at_code(), what))?;
        let reason = self.string(table, "reason").map_err(|mut error| {
            error.what = format!("the exception for {code} has no `reason`, which it needs");
            error
        })?;
        let (argument, line) = (self.optional(table, "argument")?, self.line(table.span()).0);
        Ok(LockException { codes, code, argument, reason, line })
    }
}
