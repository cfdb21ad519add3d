//! A module whose functions are never called. In an incremental build, each module has its own
//! object file. The linker takes no unneeded object file from a library, so even the declaration is
//! missing. In other builds, the module shares an object file with others.

use simple_markers::simple_mark;

use crate::witness;

/// The only function of its module.
#[inline(never)]
pub fn alone() {
    simple_mark!(construct:library:unused_module, "alone"); //~ absent in dev, discarded in release
    witness(7050);
}
