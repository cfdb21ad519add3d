//! Tests of the library on images that are built in memory.

mod check;
mod export;
mod hostile;
mod hostile_dwarf;
mod json;
mod list;
mod notes;
mod probes;
mod resolve;
mod sentences;
mod show;
