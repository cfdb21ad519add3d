//! The probes on targets without a recorder: there are none.

use core::convert::Infallible;

use simple_markers_record::buffer::Layout;

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
