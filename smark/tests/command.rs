//! The command on images that are built in memory.

mod cli;
mod export;
