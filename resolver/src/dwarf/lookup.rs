//! What a name means in a scope.

use super::unit::Die;

/// The result of looking up a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// A variable or parameter.
    Found {
        /// Its entry: that of the instance, or else that of the abstract instance.
        variable: Die,
        /// Whether it was found outside of the function: one for the whole program, or for each
        /// thread.
        is_static: bool,
        /// Whether the entry belongs to the instance or is a definition, so that its location is
        /// valid here. If not, the optimiser removed the variable from this instance, or it is only
        /// declared.
        is_placed: bool,
    },
    /// A variable of that name is in scope only after the marker.
    DeclaredLater {
        /// The line that declares it.
        line: u32,
    },
    /// The scope of the marker is not known ([`super::Doubt::NotThere`]).
    NoScope,
    /// Several variables match, and nothing distinguishes them. They are in one scope, or in
    /// several scopes that the marker may be in.
    Several(Vec<Die>),
    /// A variable of an enclosing function, in another frame (nested functions of GCC).
    OtherFrame {
        /// Its entry.
        variable: Die,
    },
    /// A variable without a name may be what the name means: LLVM described the object of a structured
    /// binding, and none of its names, before version 17.
    Unnamed {
        /// The line that declares it.
        line: u32,
    },
    /// There is no such variable.
    Absent {
        /// Similar names in scope, the closest first.
        similar: Vec<String>,
    },
}
