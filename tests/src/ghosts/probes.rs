//! Counts hits at addresses of a program.

use std::path::Path;
use std::process::Command;

use simple_markers_resolver::address::Vaddr;

use crate::computer::Computer;
use crate::gdb::Session;
use crate::generator::ROUNDS;
use crate::tools;
use crate::uprobes::Uprobes;

/// The rounds of the runs of a program. The counts of several runs tell more places apart than those
/// of one.
const RUNS: [u32; 6] = [1, 2, 5, 12, 30, ROUNDS];

/// The rounds under gdb, where a hit takes a hundred times as long.
const RUNS_UNDER_GDB: [u32; 2] = [2, 6];

/// What counts hits.
pub enum Probes {
    /// The kernel's uprobes.
    Kernel(Uprobes),
    /// gdb's breakpoints.
    Gdb,
}

impl Probes {
    /// Uprobes with the right to use them, and otherwise gdb.
    #[must_use]
    pub fn open() -> Self {
        Uprobes::open().map_or(Self::Gdb, Self::Kernel)
    }

    /// The rounds of each run of a generated program.
    #[must_use]
    pub fn runs(&self) -> &'static [u32] {
        match self {
            Self::Kernel(_) => &RUNS,
            Self::Gdb => &RUNS_UNDER_GDB,
        }
    }

    /// Runs a program to its end, as often as [`Probes::runs`] says. Counts the hits at each of several
    /// distinct addresses, which come with their offsets in the file: returns the counts of each run.
    ///
    /// # Errors
    ///
    /// A run prints something other than the result of that run in `results`. gdb does not tell.
    ///
    /// # Panics
    ///
    /// A probe cannot be placed, or the program fails.
    pub fn count(&self, image: &Path, places: &[(Vaddr, u64)], results: &[String]) -> Result<Vec<Vec<u64>>, String> {
        let addresses: Vec<Vaddr> = places.iter().map(|(address, _)| *address).collect();
        let offsets: Vec<u64> = places.iter().map(|(_, offset)| *offset).collect();
        if places.is_empty() {
            return Ok(vec![Vec::new(); self.runs().len()]);
        }
        let uprobes = match self {
            Self::Kernel(uprobes) => uprobes,
            Self::Gdb => {
                let count = |rounds: &u32| Session::start(Computer::Here, image, &rounds.to_string()).count(&addresses);
                return Ok(self.runs().iter().map(count).collect());
            }
        };
        let placed = uprobes.place(image, &offsets);
        let (mut before, mut counts) = (vec![0; places.len()], Vec::new());
        for (rounds, result) in self.runs().iter().zip(results) {
            let said = tools::run(Command::new(image).arg(rounds.to_string()));
            if said.trim() != result {
                return Err(format!("under probes it computes {}, and not {result}", said.trim()));
            }
            // The kernel counts the hits since the probes were placed.
            let hits = placed.hits();
            counts.push(hits.iter().zip(&before).map(|(now, before)| now - before).collect());
            before = hits;
        }
        Ok(counts)
    }
}
