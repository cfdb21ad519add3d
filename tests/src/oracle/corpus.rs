//! Generates, builds and compares many programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::builds::{self, Options, With};
use super::examine::{self, Found, examine};
use super::twin;
use crate::generator::{Form, Program, Rich, Tongue, Variant};

/// A source, the compiler of its twin, and the builds that are compared with that.
#[derive(Clone, Debug)]
pub struct Job {
    /// The name in tables.
    pub program: String,
    /// The kind of markers, in tables.
    pub variant: String,
    /// The source.
    pub source: PathBuf,
    /// The compiler.
    pub with: With,
    /// The options of each build.
    pub builds: Vec<Options>,
}

/// How the programs are run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The arguments of each program.
    pub arguments: Vec<String>,
    /// Its standard input.
    pub stdin: Option<PathBuf>,
    /// The most passes of each marker that are compared.
    pub most: usize,
    /// Where the images go.
    pub folder: PathBuf,
    /// Whether the images stay there.
    pub keeps: bool,
}

/// The generated programs to build.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The seeds.
    pub seeds: std::ops::Range<u64>,
    /// The number of functions of each program.
    pub functions: usize,
    /// Any of `plain`, `rich` and `used`.
    pub kinds: Vec<String>,
    /// The kinds of markers: `place`, `anchor`, `keep`, `keep-anchor`.
    pub variants: Vec<String>,
}

impl Generated {
    /// Writes the sources.
    ///
    /// # Errors
    ///
    /// A variant is unknown, or a file cannot be written.
    pub fn jobs(
        &self,
        folder: &Path,
        compilers: &[With],
        builds: &dyn Fn(With) -> Vec<Options>,
    ) -> Result<Vec<Job>, String> {
        let mut jobs = Vec::new();
        for seed in self.seeds.clone() {
            let has = |name: &str| self.kinds.iter().any(|kind| kind == name);
            let plain = has("plain").then(|| Program::generate(seed, self.functions));
            let rich = has("rich").then(|| Rich::generate(seed, self.functions, false));
            let used = has("used").then(|| Rich::generate(seed, self.functions, true));
            for name in &self.variants {
                let variant = variant(name).ok_or_else(|| format!("{name}: no kind of markers"))?;
                let mut texts = Vec::new();
                if let Some(plain) = &plain {
                    texts.push(("plain.c", plain.c(Form::Marked(variant)).text));
                    texts.push(("plain.rs", plain.rust(Form::Marked(variant)).text));
                }
                if let Some(rich) = &rich {
                    texts.push(("rich.c", rich.text(Tongue::C, variant)));
                    texts.push(("rich.cc", rich.text(Tongue::Cxx, variant)));
                    texts.push(("rich.rs", rich.text(Tongue::Rust, variant)));
                }
                if let Some(used) = &used {
                    texts.push(("used.c", used.text(Tongue::C, variant)));
                    texts.push(("used.cc", used.text(Tongue::Cxx, variant)));
                    texts.push(("used.rs", used.text(Tongue::Rust, variant)));
                }
                for (kind, text) in texts {
                    let source = folder.join(format!("seed{seed}-{name}-{kind}"));
                    fs::write(&source, text).map_err(|why| format!("{}: {why}", source.display()))?;
                    jobs.extend(compilers.iter().filter(|with| with.compiles(&source)).map(|with| Job {
                        program: format!("seed {seed} {kind}"),
                        variant: name.clone(),
                        source: source.clone(),
                        with: *with,
                        builds: builds(*with),
                    }));
                }
            }
        }
        Ok(jobs)
    }
}

/// The kind of markers with this name.
pub(super) fn variant(name: &str) -> Option<Variant> {
    Some(match name {
        "place" => Variant::Place,
        "anchor" => Variant::Anchor,
        "keep" => Variant::Keep,
        "keep-anchor" => Variant::KeepAnchor,
        _ => return None,
    })
}

impl Job {
    /// Builds the twin and the programs, and compares them.
    ///
    /// # Errors
    ///
    /// A program cannot be built, run or resolved.
    pub fn examine(&self, run: &Run) -> Result<Vec<Found>, String> {
        let stem = self.source.file_name().unwrap_or_default().to_string_lossy().replace('.', "-");
        let sources = [self.source.clone()];
        let twin_image = run.folder.join(format!("{stem}-{}-twin", self.with.name()));
        builds::twin(&sources, self.with, &twin_image)?;
        let passes = twin::passes(&twin_image, &run.arguments, run.stdin.as_deref(), twin::SMALL)?;
        let mut all = Vec::new();
        for options in &self.builds {
            let Options { level, lto, dwarf, with } = options;
            let image = run.folder.join(format!("{stem}-{}-{level}-{lto}-{dwarf}", with.name()));
            builds::program(&sources, options, &image)?;
            let program = examine::Program {
                build: options.build(&self.program, &self.variant),
                image: image.clone(),
                arguments: run.arguments.clone(),
                stdin: run.stdin.clone(),
                most: run.most,
                seconds: twin::SMALL,
            };
            all.push(examine(&program, &passes)?);
            if !run.keeps {
                let _ = fs::remove_file(image);
            }
        }
        Ok(all)
    }
}

/// Examines all jobs, `workers` at a time. Returns what was found, in any order, and the errors.
#[must_use]
pub fn examine_all(jobs: &[Job], run: &Run, workers: usize) -> (Vec<Found>, Vec<String>) {
    let (next, results) = (AtomicUsize::new(0), Mutex::new((Vec::new(), Vec::new())));
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = job.examine(run);
            let Ok(mut results) = results.lock() else { return };
            match result {
                Ok(found) => results.0.extend(found),
                Err(why) => results.1.push(format!("{} {} {}: {why}", job.program, job.with.name(), job.variant)),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            scope.spawn(work);
        }
    });
    results.into_inner().unwrap_or_default()
}
