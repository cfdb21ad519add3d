//! What there is without the feature `otlp`: settings that cannot be, because `--otlp` is refused.

use crate::console::Console;
use crate::hit_origin::{HitOrigin, HitQuestion};
use crate::metrics::FamilyOutput;
use crate::sinks::{Setting, Sink};

/// There are none.
#[derive(Clone, Debug)]
pub(crate) enum NoOtlp {}

impl NoOtlp {
    pub(crate) fn hits<'a>(
        self,
        _: &Console,
        _: Setting,
        _: HitOrigin,
        _: HitQuestion,
    ) -> anyhow::Result<Box<dyn Sink + 'a>> {
        match self {}
    }

    pub(crate) fn counts(self, _: &Console, _: HitOrigin, _: u64) -> anyhow::Result<Box<dyn FamilyOutput>> {
        match self {}
    }
}
