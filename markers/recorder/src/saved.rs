//! Calls of compiled code from `entry/`: everything that the compiler may use is saved before and
//! restored after.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::prepare;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::prepare;
