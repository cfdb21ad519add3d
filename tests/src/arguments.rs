//! The command lines of the programs that compile in many ways: options that all have a value.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::field::program::at;
use crate::fixture;
use crate::oracle::builds::{self, Options, With};

/// The options of a command line.
pub struct Arguments(HashMap<String, String>);

impl Arguments {
    /// The options that this program was started with: `--seeds 0..4`.
    ///
    /// # Errors
    ///
    /// One is not in `known`, or has no value.
    pub fn parse(known: &[&str]) -> Result<Self, String> {
        let mut words = env::args().skip(1);
        let mut found = HashMap::new();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").filter(|name| known.contains(name));
            let name = name.ok_or_else(|| format!("{word}? The options are --{}", known.join(", --")))?;
            let value = words.next().ok_or_else(|| format!("--{name} needs a value"))?;
            found.insert(name.to_owned(), value);
        }
        Ok(Self(found))
    }

    /// The value of an option; `None` if it is not given.
    #[must_use]
    pub fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of an option, or else `otherwise`.
    #[must_use]
    pub fn get<'a>(&'a self, name: &str, otherwise: &'a str) -> &'a str {
        self.given(name).unwrap_or(otherwise)
    }

    /// The folder of `--folder`, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// It is not given, or cannot be made.
    pub fn folder(&self) -> Result<PathBuf, String> {
        let folder = Path::new(self.given("folder").ok_or("--folder FOLDER?")?);
        at(folder, fs::create_dir_all(folder).and_then(|()| fs::canonicalize(folder)))
    }

    /// The `smark` of `--smark`, or else the one that was built with this program.
    #[must_use]
    pub fn smark(&self) -> PathBuf {
        self.given("smark").map_or_else(|| fixture::smark().to_owned(), PathBuf::from)
    }

    /// The values that commas separate.
    #[must_use]
    pub fn list(&self, name: &str, otherwise: &str) -> Vec<String> {
        self.get(name, otherwise).split(',').map(str::to_owned).collect()
    }

    /// A number.
    ///
    /// # Errors
    ///
    /// The value is none.
    pub fn number(&self, name: &str, otherwise: usize) -> Result<usize, String> {
        self.given(name).map_or(Ok(otherwise), |text| text.parse().map_err(|_| format!("--{name}: {text}?")))
    }

    /// The seeds of `--seeds 0..4`.
    ///
    /// # Errors
    ///
    /// The value is no range.
    pub fn seeds(&self, otherwise: &str) -> Result<Range<u64>, String> {
        let seeds = self.get("seeds", otherwise);
        let (first, last) = seeds.split_once("..").ok_or_else(|| format!("--seeds {seeds}? It is like 0..20"))?;
        let seed = |text: &str| text.parse::<u64>().map_err(|_| format!("--seeds {seeds}?"));
        Ok(seed(first)?..seed(last)?)
    }

    /// The compilers of `--compilers rustc,gcc,clang` that are installed.
    ///
    /// # Errors
    ///
    /// One is unknown.
    pub fn compilers(&self) -> Result<Vec<With>, String> {
        let mut found = Vec::new();
        for name in self.list("compilers", "rustc,gcc,clang") {
            let with = With::ALL.into_iter().find(|with| with.name() == name).ok_or_else(|| format!("{name}?"))?;
            if builds::is_installed(with) {
                found.push(with);
            }
        }
        Ok(found)
    }

    /// The builds of `--levels`, `--lto` and `--dwarf` that a compiler has.
    #[must_use]
    pub fn builds(&self, with: With, levels: &str, dwarf: &str) -> Vec<Options> {
        let mut builds = Vec::new();
        for level in self.list("levels", levels).into_iter().filter(|level| with.levels().contains(&&**level)) {
            for lto in self.list("lto", "none").into_iter().filter(|lto| with.has_lto(lto)) {
                for dwarf in self.list("dwarf", dwarf).iter().filter_map(|text| text.parse().ok()) {
                    builds.push(Options { with, level: level.clone(), lto: lto.clone(), dwarf });
                }
            }
        }
        builds
    }
}
