//! The one place where reasons become English.
//!
//! What the resolver finds out travels as enums with their data. Each file here renders those of one
//! subject. All sentences start in lower case and have no full stop, so that they can stand after a colon.
//! Nobody parses or compares what comes out; a program reads the stable name of a reason instead.

pub(crate) mod dwarf;
mod exactness;
mod probe;
