//! The procedural macro of simple-markers.
