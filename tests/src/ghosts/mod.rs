//! Counts how often the sites of ghosts are hit, and compares that with how often the ghosts are
//! passed.
//!
//! A ghost has no record in the assembly, so no counter can be placed there (`counted`). Its passes
//! come from the same generated program with counters in the source ([`Truth`]): all arithmetic is
//! defined, so every build passes each marker equally often. A [`Counted`] marker has the hits at all
//! of its sites, which the kernel's uprobes or gdb's breakpoints count ([`Probes`]). Where the
//! verdict is exact, they are together its passes. [`Tally`] has the results by verdict.

mod count;
mod probes;
pub mod table;
mod tally;

pub use count::{Counted, CountedSite, Hits, Truth};
pub use probes::Probes;
pub use tally::{Outcome, Tally, VERDICTS};
