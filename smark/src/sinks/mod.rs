//! The sinks that write hits as lines, which `smark trace` and `smark report` share. A new form of a line is a file
//! here, and an option and a line in [`Form`].

mod calls;
mod json;
mod keyed;
mod line;
mod sink;
mod slow;
mod text;
mod wanted;

use std::io::Write;

use clap::Args;

pub(crate) use self::keyed::IntervalSites;
pub(crate) use self::sink::{Next, Setting, Sink};
pub(crate) use self::slow::SlowIntervals;
pub(crate) use self::wanted::HitFilter;

use self::json::Json;
use self::line::{EachHit, HitLine};
use self::slow::Slow;
use self::text::Text;

/// How each hit is written: as a line for people, if nothing else is asked for.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Form {
    /// Print a line of JSON for each hit
    #[arg(long)]
    pub(crate) json: bool,
}

impl Form {
    /// What makes the lines.
    fn lines(self, setting: Setting) -> Box<dyn HitLine> {
        match self {
            Self { json: true } => Box::new(Json::new(setting)),
            Self { json: false } => Box::new(Text::new(setting)),
        }
    }

    /// The sink that writes each hit so.
    pub(crate) fn sink<'a>(self, out: Box<dyn Write + 'a>, setting: Setting) -> Box<dyn Sink + 'a> {
        Box::new(EachHit::new(out, self.lines(setting), self.json))
    }

    /// The sink that writes the hits of slow intervals so.
    pub(crate) fn slow<'a>(
        self,
        out: Box<dyn Write + 'a>,
        setting: Setting,
        intervals: SlowIntervals,
    ) -> Box<dyn Sink + 'a> {
        Box::new(Slow::new(out, self.lines(setting), self.json, intervals))
    }
}
