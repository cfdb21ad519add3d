//! Where hits come from, and which of them are sent: what `--otlp` needs to know of its command.

use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::plan::DoubtfulValues;

use crate::moving_spans::MovingSpans;
use crate::{machine, uuid};

/// Where hits come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HitOrigin {
    /// The program, or what else is watched.
    pub(crate) program: String,
    /// The name of the machine, if it is known.
    pub(crate) host: Option<String>,
    /// What tells apart the clocks of two boots of a machine.
    pub(crate) boot: String,
    /// What tells apart two recordings, or two times that something is watched.
    pub(crate) instance: [u8; 16],
    /// The time in ns since the start of 1970 at which the clock of the hits was 0.
    pub(crate) clock_offset: u64,
}

impl HitOrigin {
    /// What happens on this machine now. `program` is what is watched.
    pub(crate) fn here(program: String) -> anyhow::Result<Self> {
        Ok(Self {
            program,
            host: machine::host(),
            boot: machine::boot().unwrap_or_default(),
            instance: uuid::random()?,
            clock_offset: machine::clock_offset(),
        })
    }
}

/// What is sent of hits.
#[cfg_attr(not(feature = "otlp"), expect(dead_code, reason = "nothing is sent"))]
pub(crate) struct HitQuestion {
    /// A [`Question::Time`], whose intervals are sent; `None` for all hits, and the spans of the programs.
    pub(crate) intervals: Option<Question>,
    /// The spans that are known not to stay where they began.
    pub(crate) moving: MovingSpans,
    /// Whether doubtful values tell which end belongs to which begin.
    pub(crate) doubtful: DoubtfulValues,
    /// Whether the last line of JSON is printed.
    pub(crate) is_json: bool,
    /// Whether hits arrive as they happen.
    pub(crate) is_live: bool,
}
