//! What the commands that watch running programs share: their options, the start, and the hits.

mod add;
mod errors;
pub(crate) mod events;
mod groups;
mod headings;
mod matching;
mod named_files;
mod namespaces;
mod options;
mod patterns;
pub(crate) mod pids;
mod pinned;
mod replaced;
mod source;
mod stack_options;
mod start;
mod summary;
mod watching;

pub(crate) use self::add::add;
pub(crate) use self::errors::{explained, without_tracefs};
pub(crate) use self::groups::GroupChoice;
pub(crate) use self::headings::under_heading;
pub(crate) use self::options::{Buffer, Options, RING, STATUS, TEXT, TaskOption, Watch};
pub(crate) use self::pids::Pids;
pub(crate) use self::stack_options::StackOptions;
pub(crate) use self::start::end_after;
pub(crate) use self::watching::Watching;
