//! Targets without a recorder: there are no probes, and nothing can be armed.

use core::convert::Infallible;

use simple_markers_record::buffer::Layout;

use crate::errors::{ArmError, HandleError};
use crate::values::{Arguments, Hit};

/// A probe of this program or shared library. There is none on this target.
#[derive(Clone, Copy, Debug)]
pub struct Probe(Infallible);

impl Probe {
    /// The name, such as `queue:submit`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.0 {}
    }

    /// The source file, as the compiler was given it.
    #[must_use]
    pub fn file(&self) -> &'static str {
        match self.0 {}
    }

    /// The source line, counted from 1; 0 if it is not a number.
    #[must_use]
    pub fn line(&self) -> u32 {
        match self.0 {}
    }

    /// The printf format.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self.0 {}
    }

    /// The arguments as written, separated by commas.
    #[must_use]
    pub fn arguments(&self) -> &'static str {
        match self.0 {}
    }

    /// The arguments as written, one by one.
    pub fn argument_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.arguments().split(',')
    }

    /// Whether the probe is on.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn layout(&self) -> Layout {
        match self.0 {}
    }

    pub(crate) fn types(&self) -> &'static str {
        match self.0 {}
    }
}

/// The probes of this program or shared library: none on this target.
#[must_use]
pub fn probes() -> Probes {
    Probes(())
}

/// The iterator of [`probes`].
#[derive(Clone, Debug)]
pub struct Probes(());

impl Iterator for Probes {
    type Item = Probe;

    fn next(&mut self) -> Option<Probe> {
        None
    }
}

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
