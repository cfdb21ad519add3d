//! The sinks that write a hit after the other, which `smark trace` and `smark report` share. A new one is
//! a file here, and an option and a line in [`Form`].

mod json;
mod sink;
mod text;
mod wanted;

use clap::Args;

pub(crate) use self::sink::{Next, Setting, Sink};
pub(crate) use self::wanted::HitFilter;

use self::json::Json;
use self::text::Text;

/// How each hit is written: as a line for people, if nothing else is asked for.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Form {
    /// Print a line of JSON for each hit
    #[arg(long)]
    pub(crate) json: bool,
}

impl Form {
    /// The sink that writes hits so.
    pub(crate) fn sink<'a>(self, setting: Setting<'a>) -> Box<dyn Sink + 'a> {
        match self {
            Self { json: true } => Box::new(Json::new(setting)),
            Self { json: false } => Box::new(Text::new(setting)),
        }
    }
}
