//! Tests of structured values.
