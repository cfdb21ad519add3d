//! A module of which nothing is called. An incremental build gives each module an object file of its own: the linker takes none
//! that nobody needs from a library, and not even the declaration arrives. Otherwise the module shares one with others.

use simple_markers::simple_mark;

use crate::witness;

/// The only function of its module.
#[inline(never)]
pub fn alone() {
    simple_mark!(construct:library:unused_module, "alone"); //~ absent in dev, discarded in release
    witness(7050);
}
