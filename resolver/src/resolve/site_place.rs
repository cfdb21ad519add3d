//! Where a site is.

use std::sync::Arc;

use crate::address::{SectionOffset, Vaddr};

/// Where in an image a site is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SitePlace {
    /// At a link-time address.
    Address(Vaddr),
    /// In a section of a relocatable object.
    Section {
        /// The section's name.
        section: Arc<str>,
        /// The offset in the section.
        offset: SectionOffset,
    },
}
