//! What the comparison needs of a program, in whatever language it is.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::places::{Candidate, Place};
use crate::oracle::builds::With;

/// The value of a variable that the program does not initialise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// 0 in each byte.
    Zero,
    /// Another byte, which depends on the compiler.
    Pattern,
}

/// What a program with markers is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// The markers print, and nothing is optimised.
    Twin(Initial),
    /// The program that is watched, with this level.
    Optimised(&'a str),
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twin(Initial::Zero) => f.write_str("twin"),
            Self::Twin(Initial::Pattern) => f.write_str("twin-pattern"),
            Self::Optimised(level) => f.write_str(level),
        }
    }
}

/// Why a program was not built.
#[derive(Debug)]
pub enum Failure {
    /// These markers do not compile, and what the compiler says.
    Markers(HashSet<usize>, String),
    /// Another reason.
    Other(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// Which statements are candidates.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The folder of the sources, as [`Program::fetch`] returned it.
    pub source: &'a Path,
    /// A folder for the build that counts.
    pub folder: &'a Path,
    /// A marker is not passed more often than this.
    pub most: u64,
}

/// A program that other people wrote, and a run of it.
pub trait Program: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its own version.
    fn version(&self) -> &'static str;

    /// What compiles it.
    fn compilers(&self) -> &'static [With];

    /// Fetches the sources into this folder, and returns theirs.
    ///
    /// # Errors
    ///
    /// Cargo cannot fetch them.
    fn fetch(&self, folder: &Path) -> Result<PathBuf, String>;

    /// The statements that a run passes, and what a marker before each may name.
    ///
    /// # Errors
    ///
    /// The program without markers is not built, or fails.
    fn candidates(&self, wanted: Wanted<'_>) -> Result<Vec<Candidate>, String>;

    /// How many more places than wanted are tried first, because the compiler refuses some.
    fn spare(&self, count: usize) -> usize;

    /// What a file with markers begins with.
    fn header(&self) -> &'static str;

    /// A marker as its language writes it, in a twin if it prints.
    fn marker(&self, place: &Place, prints: bool) -> String;

    /// Builds the program from sources with markers, and returns the path of the image in a folder.
    ///
    /// # Errors
    ///
    /// See [`Failure`].
    fn build(&self, source: &Path, with: With, kind: Kind<'_>, folder: &Path) -> Result<PathBuf, Failure>;

    /// The arguments of a run that writes its results to this file, and reads what it wants in a folder.
    ///
    /// # Errors
    ///
    /// An input cannot be written.
    fn arguments(&self, folder: &Path, results: &Path) -> Result<Vec<String>, String>;

    /// Whether the results are what it prints, and in no file.
    fn prints_results(&self) -> bool;
}

/// A result with the path that it is about.
///
/// # Errors
///
/// That of the result.
pub fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|why| format!("{}: {why}", path.display()))
}

/// The line of a manifest for this version of a package.
pub(super) fn dependency(package: &str, version: &str) -> String {
    format!("{package} = {{ version = \"={version}\", default-features = false }}")
}
