//! Counts hits at addresses of a program.

use std::path::Path;
use std::process::Command;

use simple_markers_resolver::address::Vaddr;

use crate::computer::Computer;
use crate::gdb::Session;
use crate::generator::ROUNDS;
use crate::tools;
use crate::uprobes::Uprobes;

/// The number of rounds under gdb, where a hit takes a hundred times as long.
const ROUNDS_OF_GDB: u32 = 6;

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

    /// For how many rounds a generated program can be run.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        match self {
            Self::Kernel(_) => ROUNDS,
            Self::Gdb => ROUNDS_OF_GDB,
        }
    }

    /// Runs a program to its end, and counts the hits at each of several distinct addresses, which
    /// come with their offsets in the file. Returns the counts, and what the program prints if that
    /// is known.
    ///
    /// # Panics
    ///
    /// A probe cannot be placed, or the program fails.
    #[must_use]
    pub fn count(&self, image: &Path, rounds: u32, places: &[(Vaddr, u64)]) -> (Vec<u64>, Option<String>) {
        let words = rounds.to_string();
        if places.is_empty() {
            return (Vec::new(), None);
        }
        match self {
            Self::Kernel(uprobes) => {
                let offsets: Vec<u64> = places.iter().map(|(_, offset)| *offset).collect();
                let placed = uprobes.place(image, &offsets);
                let said = tools::run(Command::new(image).arg(&words));
                (placed.hits(), Some(said))
            }
            Self::Gdb => {
                let addresses: Vec<Vaddr> = places.iter().map(|(address, _)| *address).collect();
                (Session::start(Computer::Here, image, &words).count(&addresses), None)
            }
        }
    }
}
