//! Finds simple markers in built programs.
