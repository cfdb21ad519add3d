//! What this program was built without.

/// What is said of something that belongs to a feature which is off.
pub(crate) fn without(feature: &str) -> String {
    format!("this smark was built without it; cargo install with --features {feature} builds one that has it")
}
