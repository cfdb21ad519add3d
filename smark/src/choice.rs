//! The options that choose sites that are not exact, doubtful arguments, and where the probes go.

use clap::{Args, ValueEnum};
use simple_markers_resolver::export::{self, ExportSettings};
use simple_markers_resolver::resolve::Exactness;
use simple_markers_tracer::plan::DoubtfulValues;

/// The options of the commands that set probes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Choice {
    /// Also take sites and arguments of these kinds, separated by commas; may be given several times
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    include: Vec<Include>,
    /// Where to put uprobes: at the cheapest equivalent address, or at the site itself
    #[arg(long, value_name = "WHERE", default_value = "best")]
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Include {
    /// The place of a ghost that is most likely exact
    Likely,
    /// Several paths lead to the address, and some may not pass the marker
    Shared,
    /// The hits at the place of a ghost are not its passes
    Approximate,
    /// The linker folded several functions at the address
    Folded,
    /// The address is outside the marker's function
    Outside,
    /// It could not be proven whether the site is exact
    Unproven,
    /// What a uprobe does at the instruction is unknown
    UnknownProbe,
    /// Arguments that may have another value than in the source
    Doubtful,
    /// All of these: each site whose hits may not be the marker's passes, and arguments whose values may be wrong
    All,
}

/// The option of the commands that read values.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Strict {
    /// Do not read arguments that may have another value than in the source; otherwise they are marked: `17?`
    #[arg(long)]
    strict: bool,
}

impl Strict {
    /// What becomes of doubtful arguments. `is_named` says whether the user named them, and `is_included`
    /// whether they are among what the user named.
    pub(crate) fn values(self, is_named: bool, is_included: bool) -> anyhow::Result<DoubtfulValues> {
        match (self.strict, is_included) {
            (true, _) if is_named => anyhow::bail!("--strict and --include doubtful contradict each other"),
            (true, _) => Ok(DoubtfulValues::Strict),
            (false, true) => Ok(DoubtfulValues::Taken),
            (false, false) => Ok(DoubtfulValues::Marked),
        }
    }
}

/// The option of the commands that may set probes besides those of the sites.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Assist {
    /// Set no probes at the entries of functions for arguments that are only known there
    #[arg(long)]
    no_assist: bool,
}

impl Assist {
    /// Whether arguments are read at the entries of functions.
    pub(crate) fn at_entry(self) -> bool {
        !self.no_assist
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum At {
    /// The cheapest equivalent address
    Best,
    /// The site itself
    Site,
}

impl Choice {
    fn includes(&self, kind: Include) -> bool {
        self.include.contains(&kind) || self.include.contains(&Include::All)
    }

    /// What becomes of doubtful arguments.
    pub(crate) fn doubtful(&self, strict: Strict) -> anyhow::Result<DoubtfulValues> {
        strict.values(self.include.contains(&Include::Doubtful), self.includes(Include::Doubtful))
    }

    /// Whether the user chose sites or places.
    pub(crate) fn is_of_sites(&self) -> bool {
        self.include.iter().any(|kind| *kind != Include::Doubtful)
    }

    /// The settings of the library.
    pub(crate) fn settings(&self) -> ExportSettings {
        let is = |kind| self.includes(kind);
        let kinds = [
            (Include::Likely, Exactness::Likely),
            (Include::Shared, Exactness::Shared),
            (Include::Approximate, Exactness::Approximate),
            (Include::Folded, Exactness::Folded),
            (Include::Outside, Exactness::Outside),
            (Include::Unproven, Exactness::Unproven),
        ];
        ExportSettings {
            at: match self.at {
                At::Best => export::At::Best,
                At::Site => export::At::Site,
            },
            include: kinds.into_iter().filter(|(kind, _)| is(*kind)).map(|(_, exactness)| exactness).collect(),
            unknown_probes: is(Include::UnknownProbe),
            doubtful: is(Include::Doubtful),
            at_entry: false,
        }
    }
}
