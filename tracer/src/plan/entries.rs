//! Entries of functions, where a probe notes values that sites of the function read later.

use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::ValueBytes;
use simple_markers_resolver::location::Expr;

use super::expression::Computation;
use super::input::Input;
use super::whole::WholeInput;

/// The most values that are noted at the entry of a function.
pub const MAX_ENTRY_VALUES: usize = 8;

/// The entry of a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedEntry {
    /// The image.
    pub image: usize,
    /// The function; `None` if nothing names it.
    pub function: Option<Arc<str>>,
    /// The link-time address of the entry.
    pub address: Vaddr,
    /// The link-time address of the probe, which may be near the entry. The registers are the same there.
    pub probe: Vaddr,
    /// The probe's offset in the file.
    #[serde(rename = "file_offset")]
    pub offset: FileOffset,
    /// The stack pointer, which tells the frames of the function apart.
    #[serde(serialize_with = "serialize", deserialize_with = "deserialize")]
    pub stack_pointer: Expr,
    /// What is noted: computations on registers, at most [`MAX_ENTRY_VALUES`].
    #[serde(serialize_with = "serialize_all", deserialize_with = "deserialize_all")]
    pub values: Vec<Expr>,
}

/// The frame of a site whose values at the entry are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteFrame {
    /// The number of the entry of its function in the plan.
    pub entry: usize,
    /// At the site, the stack pointer as it was at the entry.
    #[serde(serialize_with = "serialize", deserialize_with = "deserialize")]
    pub stack_pointer: Expr,
}

impl Input {
    /// The computations that it is read by.
    pub(crate) fn computations(&self) -> Vec<&Expr> {
        match self {
            Self::Number(value) => vec![value],
            Self::Text { address, limit, .. } => std::iter::once(address).chain(limit).collect(),
            Self::Bytes { address, length, .. } => vec![address, length],
            Self::Whole(whole) => match &**whole {
                WholeInput { bytes: ValueBytes::Memory { address, .. }, .. } => vec![address],
                WholeInput { bytes: ValueBytes::Parts { parts, .. }, .. } => parts.iter().flatten().collect(),
            },
            Self::Field { .. } | Self::Recorded { .. } => Vec::new(),
        }
    }

    /// The same with other computations; `None` if there is none in place of one.
    pub(crate) fn mapped(self, by: &dyn Fn(&Expr) -> Option<Expr>) -> Option<Self> {
        Some(match self {
            Self::Number(value) => Self::Number(by(&value)?),
            Self::Text { address, limit, most } => {
                let limit = match limit {
                    Some(limit) => Some(by(&limit)?),
                    None => None,
                };
                Self::Text { address: by(&address)?, limit, most }
            }
            Self::Bytes { address, length, most } => Self::Bytes { address: by(&address)?, length: by(&length)?, most },
            Self::Whole(whole) => {
                let bytes = match &whole.bytes {
                    ValueBytes::Memory { address, size } => ValueBytes::Memory { address: by(address)?, size: *size },
                    ValueBytes::Parts { parts, size } => {
                        let part = |part: &Option<Expr>| match part {
                            Some(part) => by(part).map(Some),
                            None => Some(None),
                        };
                        ValueBytes::Parts { parts: parts.iter().map(part).collect::<Option<_>>()?, size: *size }
                    }
                };
                Self::Whole(Box::new(WholeInput { bytes, ..*whole }))
            }
            other @ (Self::Field { .. } | Self::Recorded { .. }) => other,
        })
    }

    /// The values of the entry of the function that it needs, without duplicates.
    #[must_use]
    pub fn entry_values(&self) -> Vec<Expr> {
        let mut values = Vec::new();
        self.computations().into_iter().for_each(|of| of.add_entry_values(&mut values));
        values
    }
}

fn serialize<S: Serializer>(of: &Expr, serializer: S) -> Result<S::Ok, S::Error> {
    Computation(of).serialize(serializer)
}

fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Expr, D::Error> {
    Computation::deserialize(deserializer).map(|Computation(of)| of)
}

fn serialize_all<S: Serializer>(all: &[Expr], serializer: S) -> Result<S::Ok, S::Error> {
    if all.len() > MAX_ENTRY_VALUES {
        return Err(S::Error::custom("too many values of an entry"));
    }
    serializer.collect_seq(all.iter().map(Computation))
}

fn deserialize_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Expr>, D::Error> {
    let all: Vec<Computation<Expr>> = Vec::deserialize(deserializer)?;
    Ok(all.into_iter().map(|Computation(of)| of).collect())
}
