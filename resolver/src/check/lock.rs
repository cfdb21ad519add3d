//! The lock file, read: what was found and accepted of each marker, for profiles and targets (`docs/check.md`, "The lock file").
//!
//! TOML with `version = 1` and a `[[profile]]` for each profile and target, in which a `[[profile.marker]]` stands for each marker. It has no
//! addresses and no lines, so that it changes only where markers do. Reading is strict, with line and column: a misspelt `reason` is an
//! exception without one. `update` writes it.

use toml_edit::{Document, Item, Table, Value};

use super::Codes;
use super::findings::code_of;
use crate::resolve::Verdict;
use crate::verdicts::Code;

/// The version that is read and written.
pub(super) const VERSION: i64 = 1;

/// A lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// Its sections, in their order.
    pub sections: Vec<Section>,
}

/// What was found for a profile and a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name of the profile.
    pub profile: String,
    /// The architecture (`x86_64`), or a target that begins with it (`x86_64-unknown-linux-gnu`).
    pub target: String,
    /// The markers.
    pub markers: Vec<Locked>,
}

/// What is accepted of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Its name.
    pub name: String,
    /// Its source file; `None` where any will do.
    pub file: Option<String>,
    /// Its format; `None` where it is not compared.
    pub format: Option<String>,
    /// The least number of sites; `None` where any will do.
    pub sites: Option<u64>,
    /// The least verdict of each argument; `None` where they are not compared.
    pub args: Option<Vec<(String, Least)>>,
    /// Whether it was gone when the file was last updated, and is there for its exceptions and comments only.
    pub gone: bool,
    /// What is not reported.
    pub exceptions: Vec<Excepted>,
    /// The line of the file, from 1.
    pub line: usize,
}

/// A finding about a marker that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excepted {
    /// The codes.
    pub codes: Codes,
    /// The code, word or group, as written.
    pub code: String,
    /// The argument that it is for; `None` for the marker and all of them.
    pub argument: Option<String>,
    /// Why.
    pub reason: String,
    /// The line of the file, from 1.
    pub line: usize,
}

/// A verdict on an argument, or that there is none, by which is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least(Option<Verdict>);

impl Least {
    /// The verdict as it was found.
    #[must_use]
    pub fn new(verdict: Option<Verdict>) -> Self {
        Self(verdict)
    }

    /// The verdict of a word; `None` where it is none.
    fn parse(word: &str) -> Option<Self> {
        Verdict::ALL.into_iter().map(Some).chain([None]).map(Self).find(|least| least.as_str() == word)
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self.0 {
            Some(verdict) => verdict.as_str(),
            None => Code::Undescribed.name(),
        }
    }

    /// Its code.
    #[must_use]
    pub fn code(self) -> Code {
        code_of(self.0)
    }

    /// 0 for the best. What can be read is as good as what is known without reading.
    #[must_use]
    pub fn rank(self) -> u8 {
        match self.0 {
            Some(Verdict::Live | Verdict::Constant) => 0,
            Some(Verdict::Partial) => 1,
            Some(Verdict::Entry) => 2,
            Some(Verdict::Lost) => 3,
            Some(Verdict::Absent) => 4,
            Some(Verdict::Unsupported) => 5,
            None => 6,
        }
    }
}

/// What is wrong with a lock file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct LockError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What.
    pub what: String,
}

impl Lock {
    /// Reads a lock file.
    ///
    /// # Errors
    ///
    /// It is not TOML, of another version, or has a key, a code or a verdict that there is not, or an exception without a reason.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let reader = Reader { text };
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

    /// The section of a profile for a target: that of its very name, else the one of its architecture.
    #[must_use]
    pub fn section(&self, profile: &str, target: &str) -> Option<&Section> {
        let of_profile = || self.sections.iter().filter(|section| section.profile == profile);
        of_profile()
            .find(|section| section.target == target)
            .or_else(|| of_profile().find(|section| is_of(&section.target, target)))
    }
}

/// Whether the target of a section is of the architecture `target`.
pub(super) fn is_of(section: &str, target: &str) -> bool {
    section.split_once('-').is_some_and(|(arch, _)| arch == target)
}

struct Reader<'t> {
    text: &'t str,
}

impl<'t> Reader<'t> {
    fn document(&self) -> Result<Document<&'t str>, LockError> {
        Document::parse(self.text).map_err(|error| {
            let what = error.message().trim().replace('\n', ", ");
            self.error(error.span(), what)
        })
    }

    fn line(&self, span: Option<std::ops::Range<usize>>) -> (usize, usize) {
        let before = self.text.get(..span.map_or(0, |span| span.start)).unwrap_or(self.text);
        let last = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count().saturating_add(1), last.chars().count().saturating_add(1))
    }

    fn error(&self, span: Option<std::ops::Range<usize>>, what: String) -> LockError {
        let (line, column) = self.line(span);
        LockError { line, column, what }
    }

    /// That a table has no other keys.
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
                None => Err(self.error(item.span(), format!("`{key}` is to be a string"))),
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

    fn marker(&self, table: &Table) -> Result<Locked, LockError> {
        self.known(table, &["name", "file", "format", "sites", "args", "gone", "exception"])?;
        let sites = match table.get("sites") {
            None => None,
            Some(item) => match item.as_integer().map(u64::try_from) {
                Some(Ok(sites)) => Some(sites),
                _ => return Err(self.error(item.span(), "`sites` is to be a number, not below 0".to_owned())),
            },
        };
        let gone = match table.get("gone") {
            None => false,
            Some(item) => {
                item.as_bool().ok_or_else(|| self.error(item.span(), "`gone` is to be true or false".to_owned()))?
            }
        };
        let exceptions = self.tables(table, "exception")?;
        Ok(Locked {
            name: self.string(table, "name")?,
            file: self.optional(table, "file")?,
            format: self.optional(table, "format")?,
            sites,
            args: self.args(table)?,
            gone,
            exceptions: exceptions.into_iter().map(|table| self.exception(table)).collect::<Result<_, _>>()?,
            line: self.line(table.span()).0,
        })
    }

    fn args(&self, table: &Table) -> Result<Option<Vec<(String, Least)>>, LockError> {
        let Some(item) = table.get("args") else { return Ok(None) };
        let Some(args) = item.as_table_like() else {
            return Err(self.error(item.span(), "`args` is to be a table: `args.tag = \"live\"`".to_owned()));
        };
        let least = |(key, item): (&str, &Item)| match item.as_value().and_then(Value::as_str).and_then(Least::parse) {
            Some(least) => Ok((key.to_owned(), least)),
            None => {
                let what = "is to be live, constant, partial, entry, lost, absent, unsupported or undescribed";
                Err(self.error(item.span(), format!("`{key}` {what}")))
            }
        };
        args.iter().map(least).collect::<Result<Vec<_>, _>>().map(Some)
    }

    fn exception(&self, table: &Table) -> Result<Excepted, LockError> {
        self.known(table, &["code", "argument", "reason"])?;
        let code = self.string(table, "code")?;
        let at_code = || table.get("code").and_then(Item::span);
        let codes = Codes::parse(&code).map_err(|what| self.error(at_code(), what))?;
        let reason = self.string(table, "reason").map_err(|mut error| {
            error.what = format!("the exception for {code} has no `reason`, which it needs");
            error
        })?;
        let (argument, line) = (self.optional(table, "argument")?, self.line(table.span()).0);
        Ok(Excepted { codes, code, argument, reason, line })
    }
}
