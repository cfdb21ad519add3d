//! A function whose code was decoded, and what was found out about it since.

use std::sync::{Arc, OnceLock};

use crate::code::{Cfg, Flows, Function, Values};
use crate::dwarf::Die;
use crate::resolve::ExactnessReason;

pub(super) type Cell<'c> = Arc<OnceLock<Result<Arc<DecodedFunction<'c>>, ExactnessReason>>>;

/// What says where a function's code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Described(Die),
    Symbol(u64),
}

pub(super) struct DecodedFunction<'c> {
    pub(super) function: Function<'c>,
    pub(super) cfg: Cfg,
    /// Why edges may exist that the graph does not have.
    pub(super) unknown_edges: Option<ExactnessReason>,
    /// What the instructions do with values, once that is asked for; `None` if it is not known.
    pub(super) flows: OnceLock<Option<Arc<Flows>>>,
    /// The values of registers and memory, once they are asked for; `None` if they cannot be
    /// followed.
    pub(super) values: OnceLock<Option<Values>>,
}

impl DecodedFunction<'_> {
    pub(super) fn flows(&self) -> Option<&Arc<Flows>> {
        let read = || match self.unknown_edges {
            Some(_) => None,
            None => Flows::of(&self.function, &self.cfg).map(Arc::new),
        };
        self.flows.get_or_init(read).as_ref()
    }

    pub(super) fn values(&self) -> Option<&Values> {
        self.values.get_or_init(|| Values::of(self.flows()?, &self.cfg)).as_ref()
    }
}
