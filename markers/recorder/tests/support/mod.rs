//! What the tests share: probes without the macro, a tool that arms them, and a reader.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod babeltrace;
pub mod child;
pub mod probe;
pub mod reader;
pub mod tool;
