//! Recordings of hits as traces in the Common Trace Format 1.8 (<https://diamon.org/ctf/v1.8.3/>).
//!
//! A recording is a folder:
//!
//! | file | what |
//! | --- | --- |
//! | `metadata` | what is in the stream, for readers of CTF ([`metadata`]) |
//! | `stream` | the [`packet`]s with the events |
//! | `smark/recording.json` | what CTF cannot say: the [`description`] |
//! | `smark/end.json` | how the recording ended; missing if the recorder was killed |
//!
//! All of it is plain data here: the [`writer`] makes packets of hits, the [`reader`] makes hits of
//! packets, and [`selection`] says which of them are wanted. A [`flight`] recorder keeps the
//! newest packets.

pub mod description;
pub mod flight;
mod identifier;
pub mod metadata;
pub mod packet;
pub mod reader;
pub mod selection;
pub mod structured;
#[cfg(test)]
mod tests;
pub mod writer;

pub use description::Description;
pub use flight::Flight;
pub use reader::{Events, ReadError};
pub use selection::SiteSelection;
pub use structured::StructuredValues;
pub use writer::Writer;

/// The name of the file with the CTF metadata.
pub const METADATA: &str = "metadata";
/// The name of the file with the packets.
pub const STREAM: &str = "stream";
/// The name of the folder that readers of CTF pass over.
pub const FOLDER: &str = "smark";
/// The path of the description.
pub const DESCRIPTION: &str = "smark/recording.json";
/// The path of the file that says that the trace has structures in place of whole values: it is no
/// recording.
pub const STRUCTURED: &str = "smark/report.json";
/// The path of the file that is written at the end.
pub const END: &str = "smark/end.json";
