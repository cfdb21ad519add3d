//! The options that say how much of a whole value (`%p{}`) is read.

use clap::Args;
use simple_markers_tracer::plan::MAX_WHOLE;
use simple_markers_tracer::planning::ValueBudget;

/// How much of a whole value is read.
#[derive(Debug, Args)]
pub(crate) struct Values {
    /// Read at most so many elements of a collection in a whole value (%p{})
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u16).range(1..=256))]
    elements: u16,
    /// Follow so many pointers inside each other in a whole value
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(0..=4))]
    depth: u32,
    /// Read at most so many bytes for the whole values of a hit, with 16 bytes for each read
    #[arg(long, value_name = "N", default_value = "1024", value_parser = clap::value_parser!(u16).range(64..=i64::from(MAX_WHOLE)))]
    bytes: u16,
}

impl Values {
    pub(crate) fn budget(&self) -> ValueBudget {
        ValueBudget { elements: self.elements, depth: self.depth, bytes: self.bytes }
    }
}
