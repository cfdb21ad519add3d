//! Targets without a recorder: nothing can be armed or handled.

use crate::errors::{ArmError, HandleError};
use crate::values::{Arguments, Hit};

mod probe;

pub use probe::{Probe, Probes, probes};

/// Arms probes on targets with a recorder.
///
/// # Errors
///
/// [`ArmError::Unsupported`].
pub fn arm(_patterns: &str, _folder: &str) -> Result<usize, ArmError> {
    Err(ArmError::Unsupported)
}

/// Arms probes on targets with a recorder, and keeps the last records.
///
/// # Errors
///
/// [`ArmError::Unsupported`].
pub fn arm_keeping(_patterns: &str, _folder: &str, _keep: u64) -> Result<usize, ArmError> {
    Err(ArmError::Unsupported)
}

/// Disarms probes on targets with a recorder.
///
/// # Errors
///
/// [`ArmError::Unsupported`].
pub fn disarm(_patterns: &str) -> Result<usize, ArmError> {
    Err(ArmError::Unsupported)
}

/// Sets the handler of probes on targets with a recorder.
///
/// # Errors
///
/// [`HandleError::Unsupported`].
pub fn handle<A: Arguments>(
    _patterns: &str,
    _handler: &'static (impl for<'a> Fn(&Hit<'a>, A::Of<'a>) + Sync),
) -> Result<usize, HandleError> {
    Err(HandleError::Unsupported)
}

/// Removes the handlers of probes on targets with a recorder.
///
/// # Errors
///
/// [`HandleError::Unsupported`].
pub fn unhandle(_patterns: &str) -> Result<usize, HandleError> {
    Err(HandleError::Unsupported)
}
