//! Passes a probe with random registers, and compares.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::{hit, level};
#[cfg(target_arch = "x86_64")]
pub use x86_64::{hit, level};
