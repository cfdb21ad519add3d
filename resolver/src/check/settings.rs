//! Reads the settings of a project: `smark.toml`, or a table in the manifest of Cargo (`docs/check.md`,
//! "Settings"). As in a lock file, an unknown key is an error with its line and column.

use std::cmp::Reverse;

use toml_edit::{Item, TableLike};

use super::lock::{LockError, TomlReader};
use super::policy::{Codes, Severity};
use crate::text::closest;

/// What a project sets, each with its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The severities. One that is more particular comes after one that is less: a group, a code of it, a
    /// reason.
    pub levels: Vec<Setting<Level>>,
    /// The folders that are searched for separate debug files.
    pub debug_dir: Option<Setting<Vec<String>>>,
    /// The lock file.
    pub lock: Option<Setting<String>>,
    /// The profile of the lock file, and of the build.
    pub profile: Option<Setting<String>>,
    /// The files with views of types.
    pub views: Option<Setting<Vec<String>>>,
}

/// A value and where it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// The line in the file, from 1.
    pub line: usize,
}

/// A severity of some codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// The severity.
    pub severity: Severity,
    /// The code, word, group or reason, as written.
    pub word: String,
    /// What it selects.
    pub codes: Codes,
}

const LEVELS: [(&str, Severity); 3] = [("deny", Severity::Deny), ("warn", Severity::Warn), ("allow", Severity::Allow)];

const KEYS: [&str; 7] = ["deny", "warn", "allow", "debug-dir", "lock", "profile", "views"];

impl Settings {
    /// The settings of no file.
    pub const NONE: Self = Self { levels: Vec::new(), debug_dir: None, lock: None, profile: None, views: None };

    /// Reads a `smark.toml`.
    ///
    /// # Errors
    ///
    /// The text is not TOML, a key is unknown or stands for another type, or there is no such code.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let reader = TomlReader { text };
        Self::read(&reader, reader.document()?.as_table())
    }

    /// Reads `package.metadata.smark` of a manifest, or else `workspace.metadata.smark`; `None` if it has
    /// neither.
    ///
    /// # Errors
    ///
    /// As [`Settings::parse`].
    pub fn parse_manifest(text: &str) -> Result<Option<Self>, LockError> {
        let reader = TomlReader { text };
        let document = reader.document()?;
        let of = |owner: &str| document.as_table().get(owner)?.get("metadata")?.get("smark");
        let Some(item) = of("package").or_else(|| of("workspace")) else { return Ok(None) };
        match item.as_table_like() {
            Some(table) => Self::read(&reader, table).map(Some),
            None => Err(reader.error(item.span(), "`smark` must be a table".to_owned())),
        }
    }

    fn read(reader: &TomlReader<'_>, table: &dyn TableLike) -> Result<Self, LockError> {
        if let Some((key, item)) = table.iter().find(|(key, _)| !KEYS.contains(key)) {
            let span = table.key(key).and_then(toml_edit::Key::span).or(item.span());
            let closest = closest(key, KEYS.into_iter()).into_iter().next().unwrap_or_default();
            return Err(reader.error(span, format!("there is no setting `{key}`; closest: {closest}")));
        }
        let mut levels: Vec<Setting<Level>> = Vec::new();
        for (key, severity) in LEVELS {
            for (word, item_span) in strings(reader, table, key)?.unwrap_or_default() {
                let codes = Codes::parse(&word).map_err(|what| reader.error(item_span.clone(), what))?;
                if let Some(Setting { value, line }) = levels.iter().find(|level| level.value.codes == codes) {
                    let what = format!("`{word}` is set in line {line}, as `{}`", value.word);
                    return Err(reader.error(item_span, what));
                }
                let line = reader.line(item_span).0;
                levels.push(Setting { value: Level { severity, word, codes }, line });
            }
        }
        levels.sort_by_key(|level| Reverse(level.value.codes.breadth()));
        let paths = |key| -> Result<_, LockError> {
            let paths = strings(reader, table, key)?;
            let value = paths.map(|paths| paths.into_iter().map(|(path, _)| path).collect());
            Ok(value.map(|value| Setting { value, line: line(reader, table, key) }))
        };
        Ok(Self {
            levels,
            debug_dir: paths("debug-dir")?,
            lock: string(reader, table, "lock")?,
            profile: string(reader, table, "profile")?,
            views: paths("views")?,
        })
    }
}

/// The line of a key.
fn line(reader: &TomlReader<'_>, table: &dyn TableLike, key: &str) -> usize {
    reader.line(table.get(key).and_then(Item::span)).0
}

fn string(reader: &TomlReader<'_>, table: &dyn TableLike, key: &str) -> Result<Option<Setting<String>>, LockError> {
    let Some(item) = table.get(key) else { return Ok(None) };
    match item.as_str().filter(|text| !text.is_empty()) {
        Some(text) => Ok(Some(Setting { value: text.to_owned(), line: line(reader, table, key) })),
        None => Err(reader.error(item.span(), format!("`{key}` must be a string that is not empty"))),
    }
}

type SpannedString = (String, Option<std::ops::Range<usize>>);

/// The strings of a list, or a string alone, each with its place.
fn strings(reader: &TomlReader<'_>, table: &dyn TableLike, key: &str) -> Result<Option<Vec<SpannedString>>, LockError> {
    let Some(item) = table.get(key) else { return Ok(None) };
    if let Some(text) = item.as_str() {
        return Ok(Some(vec![(text.to_owned(), item.span())]));
    }
    let wrong = |span| reader.error(span, format!("`{key}` must be a list of strings"));
    let list = item.as_array().ok_or_else(|| wrong(item.span()))?;
    let texts = list.iter().map(|value| match value.as_str() {
        Some(text) => Ok((text.to_owned(), value.span())),
        None => Err(wrong(value.span())),
    });
    texts.collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_values_and_lines() {
        let text = "lock = \"markers.lock\"\nprofile = \"release\"\ndebug-dir = [\"a\", \"b\"]\nviews = \"v\"\n\
                    allow = [\"SM038.begins_here\"]\ndeny = [\n  \"SM021\",\n  \"all\"]\nwarn = \"exactness\"\n";
        let settings = Settings::parse(text).expect("settings");
        assert_eq!(settings.lock, Some(Setting { value: "markers.lock".to_owned(), line: 1 }));
        assert_eq!(settings.profile, Some(Setting { value: "release".to_owned(), line: 2 }));
        assert_eq!(settings.debug_dir, Some(Setting { value: vec!["a".to_owned(), "b".to_owned()], line: 3 }));
        assert_eq!(settings.views, Some(Setting { value: vec!["v".to_owned()], line: 4 }));
        let levels: Vec<_> =
            settings.levels.iter().map(|level| (level.value.severity, &*level.value.word, level.line)).collect();
        assert_eq!(
            levels,
            [
                (Severity::Deny, "all", 8),
                (Severity::Warn, "exactness", 9),
                (Severity::Deny, "SM021", 7),
                (Severity::Allow, "SM038.begins_here", 5),
            ]
        );
        let manifest = |section: &str| format!("[package]\nname = \"a\"\n[{section}]\nprofile = \"release\"\n");
        for section in ["package.metadata.smark", "workspace.metadata.smark"] {
            let settings = Settings::parse_manifest(&manifest(section)).expect("a manifest").expect("settings");
            assert_eq!(settings.profile, Some(Setting { value: "release".to_owned(), line: 4 }));
        }
        assert_eq!(Settings::parse_manifest(&manifest("package.metadata.other")), Ok(None));
        assert_eq!(Settings::parse(""), Ok(Settings::NONE));
    }

    #[test]
    fn errors_have_a_place_and_the_closest_name() {
        for (text, expected) in [
            ("deny = []\n denny = [\"all\"]", "2:2: there is no setting `denny`; closest: deny"),
            ("debug_dir = [\"a\"]", "1:1: there is no setting `debug_dir`; closest: debug-dir"),
            ("lock = 3", "1:8: `lock` must be a string that is not empty"),
            ("profile = \"\"", "1:11: `profile` must be a string that is not empty"),
            ("warn = [\"all\", 3]", "1:16: `warn` must be a list of strings"),
            ("[warn]\nall = true", "1:1: `warn` must be a list of strings"),
            ("deny = [\"SM021\"]\nallow = [\"shared\"]", "2:10: `shared` is set in line 1, as `SM021`"),
        ] {
            assert_eq!(Settings::parse(text).map_err(|error| error.to_string()), Err(expected.to_owned()), "{text}");
        }
        let error = Settings::parse("deny = [\"SM999\"]").expect_err("no such code");
        assert!((error.line, error.column) == (1, 9) && error.what.starts_with("there is no code `SM999`"), "{error}");
        assert_eq!(Settings::parse("deny = [").expect_err("no TOML").line, 1);
        let manifest = Settings::parse_manifest("[package.metadata]\nsmark = 3");
        assert_eq!(manifest.map_err(|error| error.to_string()), Err("2:9: `smark` must be a table".to_owned()));
    }
}
