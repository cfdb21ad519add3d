//! The sites that are not watched.

use std::fmt::{self, Display};
use std::sync::Arc;

use simple_markers_resolver::english;
use simple_markers_resolver::export::SiteOmission;
use simple_markers_resolver::resolve::Exactness;

/// A site that is not watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The image.
    pub image: usize,
    /// The name of the marker.
    pub marker: Arc<str>,
    /// Its address.
    pub place: String,
    /// Why it is not watched.
    pub why: UnwatchedReason,
}

/// Why a site is not watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnwatchedReason {
    /// As the resolution says it.
    Omitted(SiteOmission),
    /// As a plan file or a recording says it.
    Filed {
        /// The kind of the reason.
        kind: UnwatchedKind,
        /// The reason, for people.
        words: Arc<str>,
    },
}

/// The kind of the reason for which a site is not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnwatchedKind {
    /// The marker has no site.
    NoSite,
    /// A probe may fire where the marker is not passed.
    NotExact(Exactness),
    /// Another reason.
    Other,
}

impl UnwatchedReason {
    /// The kind of the reason.
    #[must_use]
    pub fn kind(&self) -> UnwatchedKind {
        match self {
            Self::Omitted(SiteOmission::NoSite(_)) => UnwatchedKind::NoSite,
            Self::Omitted(SiteOmission::NotExact { exactness, .. }) => UnwatchedKind::NotExact(*exactness),
            Self::Omitted(_) => UnwatchedKind::Other,
            Self::Filed { kind, .. } => *kind,
        }
    }
}

impl Display for UnwatchedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Omitted(omission) => f.write_str(&english::export::site(omission)),
            Self::Filed { words, .. } => f.write_str(words),
        }
    }
}
