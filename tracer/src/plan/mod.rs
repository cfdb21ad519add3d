//! What to watch: the sites, where the probes go, and what to read at each. A plan is plain data,
//! made of a resolution.

mod make;

use std::sync::Arc;

use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::export::{ArgumentOmission, SiteOmission};
use simple_markers_resolver::resolve::Verdict;

use crate::aggregate::Aggregate;
use crate::bpf::Uncompilable;
use crate::bpf::program::Input;
use crate::filter::Condition;

pub use make::Settings;

/// What to watch.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The programs and shared objects.
    pub images: Vec<PlannedImage>,
    /// The markers that have a site here.
    pub markers: Vec<PlannedMarker>,
    /// The sites. Their position is their number.
    pub sites: Vec<PlannedSite>,
    /// The sites that are not watched.
    pub left_out: Vec<LeftOut>,
}

/// A program or a shared object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedImage {
    /// The absolute path.
    pub path: String,
    /// The name of the file without folder and extension.
    pub module: Arc<str>,
    /// The GNU build id in hexadecimal; `None` if the image has none.
    pub build_id: Option<String>,
    /// The size of the thread-local storage, rounded up to its alignment; `None` for a shared
    /// object.
    pub thread_local_size: Option<u64>,
}

/// A marker that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMarker {
    /// The image that has it.
    pub image: usize,
    /// Its name.
    pub name: Arc<str>,
    /// The source file.
    pub file: Arc<str>,
    /// The source line, from 1.
    pub line: u32,
    /// The printf format.
    pub format: Arc<str>,
    /// How many sites it has in the image, with those that are not watched.
    pub sites: usize,
}

/// A site that is watched.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedSite {
    /// The image.
    pub image: usize,
    /// The marker.
    pub marker: usize,
    /// The out-of-line function that holds it; `None` if nothing names it.
    pub function: Option<Arc<str>>,
    /// The link-time address of the site.
    pub address: Vaddr,
    /// The link-time address of the probe, which may follow the site.
    pub probe: Vaddr,
    /// The probe's offset in the file.
    pub offset: FileOffset,
    /// What the program at the site reads.
    pub inputs: Vec<Input>,
    /// The arguments, in the order of the format.
    pub arguments: Vec<PlannedArgument>,
    /// The hits that are wanted; `None` for all.
    pub filter: Option<Condition>,
    /// What is counted, if hits are counted.
    pub aggregate: Aggregate,
}

/// An argument at a site.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedArgument {
    /// The argument as written.
    pub text: Arc<str>,
    /// Where its value comes from.
    pub source: Source,
}

/// Where the value of an argument comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// It is read.
    Read(Reading),
    /// The variable changes at the site, and nothing tells whether before or after the marker. The
    /// value is known if both readings are equal.
    Either(Reading, Reading),
    /// It cannot be read.
    Unread(Unread),
}

/// How a value is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A number that is always the same.
    Constant {
        /// Its bits.
        bits: u64,
        /// Its size in bytes.
        size: u8,
        /// How the bits are read.
        kind: NumberKind,
    },
    /// A number in a field of the record.
    Number {
        /// The field.
        field: usize,
        /// Its size in bytes.
        size: u8,
        /// How the bits are read.
        kind: NumberKind,
    },
    /// A text in a field of the record.
    Text {
        /// The field.
        field: usize,
    },
}

/// Why an argument is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The resolution does not say where it is.
    Omitted(ArgumentOmission),
    /// A BPF program cannot read it.
    Uncompilable(Uncompilable),
    /// The site has more arguments than one program can read.
    TooMany,
}

/// What stands in place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The argument has no location at the site.
    Lost,
    /// It may have another value than in the source.
    Doubtful,
    /// It has a location that cannot be read.
    Unreadable,
}

impl Placeholder {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Lost, Self::Doubtful, Self::Unreadable];

    /// The word that people and programs read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Doubtful => "doubtful",
            Self::Unreadable => "unreadable",
        }
    }
}

impl Unread {
    /// What stands in place of the value.
    #[must_use]
    pub fn placeholder(&self) -> Placeholder {
        match self {
            Self::Omitted(ArgumentOmission::Doubtful(_)) => Placeholder::Doubtful,
            Self::Omitted(ArgumentOmission::Unavailable(Verdict::Unsupported, _)) => Placeholder::Unreadable,
            Self::Omitted(ArgumentOmission::Unavailable(..) | ArgumentOmission::OptimizedOut) => Placeholder::Lost,
            Self::Omitted(_) | Self::Uncompilable(_) | Self::TooMany => Placeholder::Unreadable,
        }
    }
}

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
    pub why: SiteOmission,
}

impl Plan {
    /// The marker of a site; `None` if there is no such site.
    #[must_use]
    pub fn marker_of(&self, site: usize) -> Option<&PlannedMarker> {
        self.markers.get(self.sites.get(site)?.marker)
    }
}
