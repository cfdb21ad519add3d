//! What to watch: the sites, where the probes go, and what to read at each. A plan is plain data,
//! made of a resolution.

use std::sync::Arc;

use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::fetch::{Fetch, NumberKind, Operand, fetch};
use simple_markers_resolver::export::{self, ArgumentOmission, ExportError, Planned, Point, SiteOmission};
use simple_markers_resolver::location::{Expr, Location, Node, ValueType};
use simple_markers_resolver::resolve::{Argument, Marker, Reason, ResolvedImage, SitePlace, Verdict};
use simple_markers_resolver::types::{Shape, Type};

use crate::aggregate::Aggregate;
use crate::bpf::program::{self, Input, MAX_WORDS};
use crate::bpf::{Target, Uncompilable};
use crate::filter::Condition;

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

/// How a plan is made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which sites are watched besides exact ones, and where the probes go.
    pub export: export::Settings,
    /// The most bytes of a text that are read.
    pub text: u16,
    /// The offset of `thread.fsbase` in the kernel's `task_struct`; `None` if it is not known.
    pub thread_pointer: Option<u32>,
    /// Whether the programs may sleep.
    pub is_sleepable: bool,
}

impl Plan {
    /// Adds the markers of an image that `keep` accepts. `path` is its absolute path.
    /// `thread_local_size` is the size of the thread-local storage of an executable, rounded up to
    /// its alignment.
    ///
    /// # Errors
    ///
    /// The image is not an executable or a shared object for x86-64.
    pub fn add(
        &mut self,
        image: &ResolvedImage,
        path: &str,
        thread_local_size: Option<u64>,
        keep: &dyn Fn(&Marker) -> bool,
        settings: &Settings,
    ) -> Result<(), ExportError> {
        let planned = export::points(image, keep, &settings.export)?;
        let number = self.images.len();
        let (path, module) = (path.to_owned(), Arc::clone(&image.module));
        self.images.push(PlannedImage { path, module, build_id: image.build_id.clone(), thread_local_size });
        for planned in planned {
            match planned {
                Planned::Point(point) => {
                    let marker = self.marker(number, point.marker);
                    let target = Target {
                        probe: point.address,
                        thread_local_size,
                        thread_pointer: settings.thread_pointer,
                        is_sleepable: settings.is_sleepable,
                    };
                    self.sites.push(site(&point, number, marker, &target, settings));
                }
                Planned::LeftOut { marker, place, why } => {
                    let marker = Arc::clone(&marker.name);
                    self.left_out.push(LeftOut { image: number, marker, place, why });
                }
            }
        }
        Ok(())
    }

    /// The number of a marker.
    fn marker(&mut self, image: usize, marker: &Marker) -> usize {
        let planned = PlannedMarker {
            image,
            name: Arc::clone(&marker.name),
            file: Arc::clone(&marker.file),
            line: marker.line,
            format: Arc::clone(&marker.format),
            sites: marker.sites.len(),
        };
        // The points come in the order of the markers.
        if self.markers.last() != Some(&planned) {
            self.markers.push(planned);
        }
        self.markers.len() - 1
    }

    /// The marker of a site; `None` if there is no such site.
    #[must_use]
    pub fn marker_of(&self, site: usize) -> Option<&PlannedMarker> {
        self.markers.get(self.sites.get(site)?.marker)
    }
}

fn site(point: &Point<'_>, image: usize, marker: usize, target: &Target, settings: &Settings) -> PlannedSite {
    let mut inputs = Vec::new();
    let arguments = point
        .wanted()
        .into_iter()
        .map(|wanted| {
            let mut reader = Reader { inputs: &mut inputs, target, text: settings.text };
            let source = reader.source(wanted.argument, wanted.letter, wanted.fetch);
            PlannedArgument { text: Arc::clone(&wanted.argument.text), source }
        })
        .collect();
    PlannedSite {
        image,
        marker,
        function: point.site.function.clone(),
        address: match point.site.place {
            Some(SitePlace::Address(address)) => address,
            _ => point.address,
        },
        probe: point.address,
        offset: point.offset,
        inputs,
        arguments,
        filter: None,
        aggregate: Aggregate::Hits,
    }
}

/// Makes the inputs of a site.
struct Reader<'a> {
    inputs: &'a mut Vec<Input>,
    target: &'a Target,
    text: u16,
}

impl Reader<'_> {
    fn source(&mut self, argument: &Argument, letter: char, fetched: Result<Fetch, ArgumentOmission>) -> Source {
        if let (Err(ArgumentOmission::Doubtful(_)), Some(Reason::Replaced { before: Some(before), .. })) =
            (&fetched, &argument.reason)
        {
            if let Some(source) = self.either(argument, before, letter) {
                return source;
            }
        }
        match fetched.map_err(Unread::Omitted).and_then(|fetched| self.reading(argument, &fetched)) {
            Ok(reading) => Source::Read(reading),
            Err(why) => Source::Unread(why),
        }
    }

    /// Reads a doubtful argument at both of its places. `None` if one of them cannot be read.
    fn either(&mut self, argument: &Argument, before: &Location, letter: char) -> Option<Source> {
        let used = self.inputs.len();
        let at = |location: Option<&Location>| {
            let verdict = Some(Verdict::Live);
            Argument { verdict, location: location.cloned(), reason: None, ..argument.clone() }
        };
        let mut read = |at: &Argument| self.reading(at, &fetch(at, letter, false).ok()?).ok();
        let readings = (read(&at(argument.location.as_ref())), read(&at(Some(before))));
        let (Some(here), Some(before)) = readings else {
            self.inputs.truncate(used);
            return None;
        };
        Some(Source::Either(here, before))
    }

    fn reading(&mut self, argument: &Argument, fetched: &Fetch) -> Result<Reading, Unread> {
        match fetched {
            Fetch::Number { at: Operand::Constant(bits), size, kind } => {
                Ok(Reading::Constant { bits: *bits, size: *size, kind: *kind })
            }
            Fetch::Number { at, size, kind } => {
                let field = self.input(Input::Number(operand(at, *size)?))?;
                Ok(Reading::Number { field, size: *size, kind: *kind })
            }
            Fetch::Pointed(at) => {
                let field = self.input(Input::Text { address: operand(at, 8)?, most: self.text })?;
                Ok(Reading::Text { field })
            }
            Fetch::Array(address) => {
                // An array may end without a NUL. The kernel counts a NUL that it adds.
                let size = argument.ty.as_deref().and_then(array_size).unwrap_or(u64::MAX);
                let most = u16::try_from(size.saturating_add(1)).unwrap_or(u16::MAX).min(self.text);
                let field = self.input(Input::Text { address: address.clone(), most })?;
                Ok(Reading::Text { field })
            }
            Fetch::Text { data, offset, length } => {
                let address = operand(data, 8)?;
                let address = match i64::try_from(*offset) {
                    Ok(0) => Some(address),
                    Ok(offset) => generic(address).and_then(|address| address.plus(offset)),
                    Err(_) => None,
                };
                let address = address.ok_or(Unread::Uncompilable(Uncompilable::TooLarge))?;
                let length = operand(length, 8)?;
                let field = self.input(Input::Bytes { address, length, most: self.text })?;
                Ok(Reading::Text { field })
            }
        }
    }

    /// Adds an input, and returns the field of the record that has its value.
    fn input(&mut self, input: Input) -> Result<usize, Unread> {
        program::check(&input, self.target).map_err(Unread::Uncompilable)?;
        if let Some(field) = self.inputs.iter().position(|known| *known == input) {
            return Ok(field);
        }
        let words = self.inputs.iter().map(Input::words).sum::<usize>();
        if words + input.words() > MAX_WORDS {
            return Err(Unread::TooMany);
        }
        self.inputs.push(input);
        Ok(self.inputs.len() - 1)
    }
}

/// The size in bytes of an array of characters.
fn array_size(of: &Type) -> Option<u64> {
    matches!(of.shape, Shape::Array { .. }).then_some(of.size).flatten()
}

/// The computation of a number of `size` bytes.
fn operand(at: &Operand, size: u8) -> Result<Expr, Unread> {
    let unsigned = ValueType::Unsigned(size);
    let expr = match at {
        Operand::Register(register) => Expr::new(Node::Register(*register, unsigned)),
        Operand::Memory(address) => Expr::new(Node::Memory { address: address.clone(), size, to: unsigned }),
        Operand::Value(value) => Some(value.clone()),
        Operand::Constant(value) => Some(Expr::constant(*value)),
    };
    expr.ok_or(Unread::Uncompilable(Uncompilable::TooLarge))
}

/// A number of 8 bytes as an address.
fn generic(value: Expr) -> Option<Expr> {
    match value.value_type() {
        ValueType::Generic => Some(value),
        _ => Expr::new(Node::Convert(ValueType::Generic, value)),
    }
}
