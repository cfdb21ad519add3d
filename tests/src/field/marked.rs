//! A program with markers at random places, from its sources to its images.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::places::{self, Place, Shows};
use super::program::{Failure, Initial, Kind, Program, Wanted, at};
use crate::oracle::builds::With;
use crate::oracle::real;
use crate::oracle::twin::{self, Passes};

/// The most builds until all markers compile: the phases of a compiler, for each package of a program.
const ROUNDS: usize = 20;

/// Which places are chosen.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// How many.
    pub count: usize,
    /// A marker is not passed more often than this.
    pub most: u64,
    /// Another seed chooses others.
    pub seed: u64,
    /// What the markers show.
    pub shows: Shows,
    /// The build that says which markers compile, where the language needs it.
    pub kind: Kind<'a>,
}

/// A program with places for markers.
pub struct Marked<'p> {
    /// The program.
    pub program: &'p dyn Program,
    /// The sources without markers.
    pub source: PathBuf,
    /// The markers.
    pub places: Vec<Place>,
    /// The folder for everything that is made; the sources with markers are in its `marked/`.
    pub folder: PathBuf,
}

impl<'p> Marked<'p> {
    /// Fetches a program into a folder of its name in `folder`, and chooses places in it, all of which a
    /// compiler takes.
    ///
    /// # Errors
    ///
    /// It cannot be fetched or built, or has less than half of the places.
    pub fn choose(program: &'p dyn Program, folder: &Path, choice: Choice<'_>) -> Result<Self, String> {
        let Choice { count, most, seed, shows, kind } = choice;
        let folder = folder.join(program.name());
        at(&folder, fs::create_dir_all(&folder))?;
        let source = program.fetch(&folder)?;
        let candidates = program.candidates(Wanted { source: &source, folder: &folder, most })?;
        let places = places::choose(candidates, count + program.spare(count), seed, shows);
        let marked = folder.join("marked");
        if marked.exists() {
            at(&marked, fs::remove_dir_all(&marked))?;
        }
        real::copy(&source, &marked)?;
        let mut marked = Self { program, source, places, folder };
        if let (1.., Some(with)) = (program.spare(count), program.compilers().first()) {
            marked.build(*with, kind)?;
            let more: HashSet<usize> = marked.places.iter().skip(count).map(|place| place.number).collect();
            marked.leave_out(&more);
        }
        match marked.places.len() {
            few if few * 2 < count => Err(format!("{}: only {few} places", program.name())),
            _ => Ok(marked),
        }
    }

    /// Builds the program with its markers, and returns the path of the image. The markers that the
    /// compiler refuses are left out from now on.
    ///
    /// # Errors
    ///
    /// It does not compile without markers either.
    pub fn build(&mut self, with: With, kind: Kind<'_>) -> Result<PathBuf, String> {
        let marked = self.folder.join("marked");
        for _ in 0..ROUNDS {
            let prints = matches!(kind, Kind::Twin(_));
            at(&marked, places::insert(self.program, &self.places, (&self.source, &marked), prints))?;
            match self.program.build(&marked, with, kind, &self.folder) {
                Ok(image) => return Ok(image),
                Err(Failure::Markers(refused, _)) => self.leave_out(&refused),
                Err(Failure::Other(why)) => return Err(why),
            }
        }
        Err(format!("{}: markers that do not compile", self.program.name()))
    }

    /// Builds the twin, runs it, and returns its passes and its results.
    ///
    /// # Errors
    ///
    /// It is not built, fails, or takes more than `seconds` of a processor.
    pub fn twin(&mut self, with: With, initial: Initial, seconds: u64) -> Result<(Passes, Vec<u8>), String> {
        let image = self.build(with, Kind::Twin(initial))?;
        let results = self.folder.join(format!("results-{initial:?}"));
        let mut command = Command::new(&image);
        command.args(self.program.arguments(&self.folder, &results)?).stdin(Stdio::null());
        if initial == Initial::Pattern {
            command.env("MALLOC_PERTURB_", "85");
        }
        let (passes, printed) = twin::run(command, seconds)?;
        let results = if self.program.prints_results() { printed } else { at(&results, fs::read(&results))? };
        Ok((twin::by_marker(passes), results))
    }

    /// Leaves the markers of these numbers out from now on.
    pub fn leave_out(&mut self, refused: &HashSet<usize>) {
        // A file without markers must lose those that it had.
        let files: HashSet<PathBuf> = self.places.iter().map(|place| place.file.clone()).collect();
        self.places.retain(|place| !refused.contains(&place.number));
        for file in files.iter().filter(|file| self.places.iter().all(|place| place.file != **file)) {
            // A file that cannot be copied is there with markers that do not compile.
            let _ = fs::copy(self.source.join(file), self.folder.join("marked").join(file));
        }
    }
}
