//! What is asked of a page.

use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::filter::Filter;
use simple_markers_tracer::plan::DoubtfulValues;

use super::super::perfetto::Target;
use crate::count::ValueLimits;

/// What is asked for besides the recording.
pub(in crate::report) struct PageRequest<'a> {
    /// The pairs and spans; each is a [`Question::Time`].
    pub(in crate::report) questions: Vec<Question>,
    pub(in crate::report) kept: ValueLimits,
    pub(in crate::report) filter: Option<&'a Filter>,
    pub(in crate::report) patterns: &'a [String],
    pub(in crate::report) doubtful: DoubtfulValues,
    pub(in crate::report) to: Target,
}
