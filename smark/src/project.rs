//! The settings of a project: the file that has them, what holds with the defaults, and how that is printed.
//! Both `smark` and `cargo smark` read them here; `simple_markers_resolver::check::Settings` has the format.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::{Value as Json, json};
use simple_markers_resolver::check::{Settings, Severity};

/// The settings of a file of its own, and of Cargo.
const NAMES: [&str; 2] = ["smark.toml", MANIFEST];
const MANIFEST: &str = "Cargo.toml";

/// Where distributions put debug information.
pub(crate) const DEBUG_DIR: &str = "/usr/lib/debug";

/// The value of `--settings` for the settings of no file.
pub(crate) const NONE: &str = "none";

/// The settings that hold, and the file that has them.
#[derive(Clone, Debug)]
pub(crate) struct ProjectSettings {
    pub(crate) path: Option<PathBuf>,
    pub(crate) settings: Settings,
}

/// What holds where no setting says something else.
pub(crate) struct Defaults<'d> {
    pub(crate) lock: Option<&'d Path>,
    pub(crate) profile: &'d str,
}

impl ProjectSettings {
    pub(crate) const NONE: Self = Self { path: None, settings: Settings::NONE };

    /// The settings of the file that `--settings` names, or of the first file that has some in a folder or
    /// one above it.
    pub(crate) fn find(named: Option<&Path>, folder: &Path) -> anyhow::Result<Self> {
        match named {
            Some(none) if none == Path::new(NONE) => Ok(Self::NONE),
            Some(path) => match Self::read(path)? {
                Some(found) => Ok(found),
                None => bail!("{}: it is no file, or a manifest without [package.metadata.smark]", path.display()),
            },
            None => {
                // A folder that was removed has no settings.
                let Ok(current) = env::current_dir() else { return Ok(Self::NONE) };
                let folder = current.join(folder);
                let folder = folder.canonicalize().unwrap_or(folder);
                let paths = folder.ancestors().flat_map(|folder| NAMES.map(|name| folder.join(name)));
                for path in paths {
                    if let Some(found) = Self::read(path.strip_prefix(&current).unwrap_or(&path))? {
                        return Ok(found);
                    }
                }
                Ok(Self::NONE)
            }
        }
    }

    /// The settings of a file; `None` if there is no such file, or it is a manifest without settings.
    fn read(path: &Path) -> anyhow::Result<Option<Self>> {
        if !path.is_file() {
            return Ok(None);
        }
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let settings = match path.file_name().is_some_and(|name| name == MANIFEST) {
            true => Settings::parse_manifest(&text),
            false => Settings::parse(&text).map(Some),
        };
        let settings = settings.map_err(|error| anyhow::anyhow!("{}:{error}", path.display()))?;
        Ok(settings.map(|settings| Self { path: Some(path.to_owned()), settings }))
    }

    /// The lock file. Paths are relative to the folder of the settings.
    pub(crate) fn lock(&self) -> Option<PathBuf> {
        self.settings.lock.as_ref().map(|lock| self.beside(&lock.value))
    }

    /// The folders with separate debug files.
    pub(crate) fn debug_dir(&self) -> Option<Vec<PathBuf>> {
        let folders = self.settings.debug_dir.as_ref()?;
        Some(folders.value.iter().map(|folder| self.beside(folder)).collect())
    }

    /// The files of views.
    pub(crate) fn views(&self) -> Option<Vec<PathBuf>> {
        let files = self.settings.views.as_ref()?;
        Some(files.value.iter().map(|file| self.beside(file)).collect())
    }

    pub(crate) fn profile(&self) -> Option<&str> {
        self.settings.profile.as_ref().map(|profile| &*profile.value)
    }

    fn beside(&self, path: &str) -> PathBuf {
        self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).join(path)
    }

    /// Prints what holds, and where each value comes from: as settings with comments, or as JSON.
    pub(crate) fn write(&self, out: &mut dyn Write, defaults: &Defaults<'_>, as_json: bool) -> io::Result<()> {
        let rows = self.rows(defaults);
        if as_json {
            let of = |(name, value, line): &(&str, Json, Option<usize>)| {
                ((*name).to_owned(), json!({ "value": value, "line": line }))
            };
            let settings: serde_json::Map<String, Json> = rows.iter().map(of).collect();
            let path = self.path.as_ref().map(|path| path.display().to_string());
            return writeln!(out, "{}", json!({ "file": path, "settings": settings }));
        }
        self.lines(defaults, &[]).iter().try_for_each(|line| writeln!(out, "{line}"))
    }

    /// The settings with what the given options say in their place, each with where it comes from.
    pub(crate) fn lines(&self, defaults: &Defaults<'_>, options: &[(&str, Option<Json>)]) -> Vec<String> {
        let line = |(name, value, line): (&str, Json, Option<usize>)| {
            let option = options.iter().find(|(option, _)| *option == name).and_then(|(_, value)| value.clone());
            let from = match (&option, &self.path, line) {
                (Some(_), ..) => format!("--{name}"),
                (None, Some(path), Some(line)) => format!("{}:{line}", path.display()),
                _ => "default".to_owned(),
            };
            // A list or a string of JSON is one of TOML too.
            match option.unwrap_or(value) {
                Json::Null => format!("{:<48} # {from}", format!("# no {name}")),
                value => format!("{:<48} # {from}", format!("{name} = {value}")),
            }
        };
        self.rows(defaults).into_iter().map(line).collect()
    }

    /// Each setting, its value, and its line in the file.
    fn rows(&self, defaults: &Defaults<'_>) -> Vec<(&'static str, Json, Option<usize>)> {
        let shown = |path: &Path| path.display().to_string();
        let Settings { levels, debug_dir, lock, profile, views } = &self.settings;
        let mut rows = Vec::new();
        for (name, severity) in [("deny", Severity::Deny), ("warn", Severity::Warn), ("allow", Severity::Allow)] {
            let of = || levels.iter().filter(|level| level.value.severity == severity);
            let words: Vec<&str> = of().map(|level| &*level.value.word).collect();
            rows.push((name, json!(words), of().map(|level| level.line).min()));
        }
        let folders = self.debug_dir().map(|folders| folders.iter().map(|folder| shown(folder)).collect());
        let folders: Vec<String> = folders.unwrap_or_else(|| vec![DEBUG_DIR.to_owned()]);
        rows.push(("debug-dir", json!(folders), debug_dir.as_ref().map(|it| it.line)));
        let path = self.lock().or_else(|| defaults.lock.map(Path::to_owned));
        rows.push(("lock", json!(path.as_deref().map(shown)), lock.as_ref().map(|it| it.line)));
        rows.push(("profile", json!(self.profile().unwrap_or(defaults.profile)), profile.as_ref().map(|it| it.line)));
        let files = self.views().map(|files| files.iter().map(|file| shown(file)).collect::<Vec<_>>());
        rows.push(("views", json!(files.unwrap_or_default()), views.as_ref().map(|it| it.line)));
        rows
    }
}
