//! The sites that are not watched.

use std::fmt::{self, Display};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simple_markers_resolver::english;
use simple_markers_resolver::export::SiteOmission;
use simple_markers_resolver::resolve::Exactness;

/// A site that is not watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Omission", into = "Omission")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "it is neither `no site`, nor a word for exactness, nor `other`")]
pub enum UnwatchedKind {
    /// The marker has no site.
    #[serde(rename = "no site")]
    NoSite,
    /// Another reason.
    #[serde(rename = "other")]
    Other,
    /// A probe may fire where the marker is not passed.
    #[serde(untagged)]
    NotExact(Exactness),
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

/// A site that is not watched, as a plan file has it.
#[derive(Serialize, Deserialize)]
struct Omission {
    image: usize,
    marker: Arc<str>,
    place: String,
    kind: UnwatchedKind,
    why: Arc<str>,
}

impl From<Omission> for LeftOut {
    fn from(Omission { image, marker, place, kind, why }: Omission) -> Self {
        Self { image, marker, place, why: UnwatchedReason::Filed { kind, words: why } }
    }
}

impl From<LeftOut> for Omission {
    fn from(LeftOut { image, marker, place, why }: LeftOut) -> Self {
        Self { image, marker, place, kind: why.kind(), why: why.to_string().into() }
    }
}
