//! What to watch: images, their markers, and the sites of these.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simple_markers_record::buffer::Layout as Words;
use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::json::{maybe_object, objects};
use simple_markers_resolver::location::Expr;
use simple_markers_resolver::marks::TaskPoint;
use simple_markers_resolver::resolve::names_of;
use simple_markers_resolver::types::{Names, ReadTable};

use super::aggregate::Aggregate;
use super::argument::{DoubtfulValues, PlannedArgument, Source};
use super::condition::{Condition, Number, Place, Readable};
use super::entries::{PlannedEntry, SiteFrame};
use super::event::KernelEvent;
use super::expression::{deserialize_maybe, serialize_maybe};
use super::input::{Input, MAX_WORDS};
use super::left_out::LeftOut;
use crate::arch::Platform;

/// What to watch. [`Plan::from_json`] checks what it reads, as deserialising alone does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The programs and shared objects.
    #[serde(deserialize_with = "objects")]
    pub images: Vec<PlannedImage>,
    /// The markers that have a site here.
    #[serde(deserialize_with = "objects")]
    pub markers: Vec<PlannedMarker>,
    /// The sites. Their position is their number. Sites whose probes have one address are in the order
    /// in which the program passes them.
    #[serde(deserialize_with = "objects")]
    pub sites: Vec<PlannedSite>,
    /// The entries of functions where values are noted for sites. Their position is their number.
    #[serde(default, deserialize_with = "objects", skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<PlannedEntry>,
    /// The sites that are not watched.
    #[serde(deserialize_with = "objects")]
    pub left_out: Vec<LeftOut>,
    /// What is read of whole values.
    #[serde(skip)]
    pub reads: Vec<Arc<ReadTable>>,
}

/// A program or a shared object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedImage {
    /// The absolute path.
    pub path: String,
    /// Which file it is, if another file may have its path.
    #[serde(skip)]
    pub file: ImageFile,
    /// The name of the file without folder and extension.
    pub module: Arc<str>,
    /// The GNU build id in hexadecimal; `None` if the image has none.
    pub build_id: Option<String>,
    /// The distance from the place where thread-local addresses start to the thread pointer: the size
    /// of an executable's storage, rounded up to its alignment; 0 for a shared object, whose
    /// computations start at the thread pointer. `None` if there are no thread-local addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_local_size: Option<u64>,
    /// What its machine code is for; `None` if it has none, as the kernel's events and recordings.
    #[serde(rename = "machine", default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
}

/// Which file an image is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageFile {
    /// The path under which it is open, if its own path leads to another file, or to none.
    pub opened: Option<String>,
    /// The device and the inode; `None` if only the path is known.
    pub number: Option<(u64, u64)>,
}

impl PlannedImage {
    /// The path under which the file can be opened.
    #[must_use]
    pub fn place(&self) -> &str {
        self.file.opened.as_deref().unwrap_or(&self.path)
    }
}

/// A marker that is watched, or an event of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedMarker {
    /// The image that has it.
    pub image: usize,
    /// Its name.
    pub name: Arc<str>,
    /// The source file.
    pub file: Arc<str>,
    /// The source line, from 1.
    pub line: u32,
    /// The printf format. The names that the debug information has for `{}` are in it as words.
    pub format: Arc<str>,
    /// How many sites it has in the image, with those that are not watched.
    pub sites: usize,
    /// What a task of an async runtime does there, if a view of a runtime names the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_point: Option<TaskPoint>,
    /// What it is if it is no marker of a program.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub event: Option<Arc<KernelEvent>>,
}

/// A site that is watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedSite {
    /// The image, which is that of the marker.
    #[serde(skip)]
    pub image: usize,
    /// The marker.
    pub marker: usize,
    /// The out-of-line function that holds it; `None` if nothing names it, or it is not known which of
    /// several does.
    pub function: Option<Arc<str>>,
    /// The link-time address of the site.
    pub address: Vaddr,
    /// The link-time address of the probe, which may be near the site. No other site is between both.
    pub probe: Vaddr,
    /// The probe's offset in the file.
    #[serde(rename = "file_offset")]
    pub offset: FileOffset,
    /// The offset in the file of the switch that the kernel arms while the site is watched; `None` if
    /// the marker is not a probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<FileOffset>,
    /// The stack pointer as it was when the function was entered, which tells its calls apart. `None` if it is
    /// not known, and where the function is neither entered nor left.
    #[serde(
        default,
        serialize_with = "serialize_maybe",
        deserialize_with = "deserialize_maybe",
        skip_serializing_if = "Option::is_none"
    )]
    pub entry_stack_pointer: Option<Expr>,
    /// The number of the async runtime's task that the thread runs, 0 if it runs none. `None` if it is not known where
    /// the runtime keeps it.
    #[serde(
        default,
        serialize_with = "serialize_maybe",
        deserialize_with = "deserialize_maybe",
        skip_serializing_if = "Option::is_none"
    )]
    pub task: Option<Expr>,
    /// The frame of the site, if an input has values of the entry of its function.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub frame: Option<SiteFrame>,
    /// What the program at the site reads.
    pub inputs: Vec<Input>,
    /// The arguments, in the order of the format, and behind them the number of the task if hits note it.
    #[serde(deserialize_with = "objects")]
    pub arguments: Vec<PlannedArgument>,
    /// Whether hits note the number of the task that the thread runs. Then it is the last one of the arguments.
    #[serde(skip)]
    pub notes_task: bool,
    /// Members of whole values that a recording has, numbered after the arguments.
    #[serde(skip)]
    pub members: Vec<RecordedMember>,
    /// The hits that are wanted; `None` for all.
    #[serde(skip)]
    pub filter: Option<Condition>,
    /// What is counted, if hits are counted.
    #[serde(skip)]
    pub aggregate: Aggregate,
    /// How the program records the site itself; `None` if a program of the kernel reads it.
    #[serde(skip)]
    pub recorded: Option<RecorderProbe>,
    /// How the function is left there; `None` if it is not.
    #[serde(skip)]
    pub exit: Option<CallExit>,
}

/// A member of a whole value that a recording has.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMember {
    /// The number of the argument with the value.
    pub field: usize,
    /// What a program would read, if the address of the value were in its register
    /// ([`crate::recorded_members`]).
    pub input: Input,
}

/// How a function is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallExit {
    /// It returns.
    Return,
    /// It jumps to another function, which returns for it.
    TailCall {
        /// The other function; `None` if only the running program knows.
        function: Option<Arc<str>>,
    },
}

impl PlannedSite {
    /// The arguments of the marker, in the order of the format.
    #[must_use]
    pub fn own_arguments(&self) -> &[PlannedArgument] {
        let count = self.arguments.len().saturating_sub(self.notes_task.into());
        self.arguments.get(..count).unwrap_or_default()
    }

    /// Where hits have the number of the task; `None` if they do not note it.
    #[must_use]
    pub fn task_argument(&self) -> Option<&PlannedArgument> {
        self.arguments.last().filter(|_| self.notes_task)
    }

    /// A number of 8 bytes without a sign that the site reads in addition. `None` if there is no room for it, or the
    /// program records the site itself.
    pub(crate) fn read_also(&mut self, value: Expr) -> Option<Readable> {
        const SIZE: u8 = 8;
        if self.recorded.is_some() {
            return None;
        }
        let input = Input::Number(value);
        let known = self.inputs.iter().position(|known| *known == input);
        let words: usize = self.inputs.iter().map(Input::words).sum();
        if known.is_none() && words + input.words() > MAX_WORDS {
            return None;
        }
        let field = known.unwrap_or_else(|| {
            self.inputs.push(input);
            self.inputs.len() - 1
        });
        let number = Number::Read { at: Place::Input(field), other: None, size: SIZE, is_signed: false };
        Some(Readable::Number { number, size: SIZE, kind: NumberKind::Unsigned })
    }

    /// The site of hits that have no place in the code of an image.
    #[must_use]
    pub(crate) fn without_code(
        image: usize,
        marker: usize,
        inputs: Vec<Input>,
        arguments: Vec<PlannedArgument>,
    ) -> Self {
        Self {
            image,
            marker,
            function: None,
            address: Vaddr(0),
            probe: Vaddr(0),
            offset: FileOffset(0),
            switch: None,
            entry_stack_pointer: None,
            task: None,
            frame: None,
            inputs,
            arguments,
            members: Vec::new(),
            notes_task: false,
            filter: None,
            aggregate: Aggregate::Hits,
            recorded: None,
            exit: None,
        }
    }
}

/// A probe that the program records itself (`simple_markers_record::buffer`). All copies of a probe
/// are one site, that of the first one: a record does not say which copy was passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderProbe {
    /// The offset of the recorder's control block in the file.
    pub control: FileOffset,
    /// What the recorder writes.
    pub words: Words,
    /// Where the text of each argument ends; `None` at its NUL.
    pub limits: Vec<Option<TextLimit>>,
    /// What the bytes of each argument are that is a whole value; `None` for another one.
    pub values: Vec<Option<RecordedValue>>,
    /// How many copies there are.
    pub copies: u32,
}

impl RecorderProbe {
    /// A bit for each argument that is a whole value.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        self.values.iter().rev().fold(0, |bits, value| bits << 1 | u32::from(value.is_some()))
    }
}

/// What the recorded bytes of a whole value are by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedValue {
    /// The type is not known.
    Unknown,
    /// The value, which is in the place itself.
    Place,
    /// The value, which is behind the pointer that the place is.
    Behind,
    /// The type is not known: bytes, which are shown as those of this sequence.
    Bytes(RecordedTarget),
    /// Of a pointer whose target is not described as a value, or of a sequence, what it leads to.
    Target(RecordedTarget),
}

/// A value that is a pointer to the bytes that are recorded, perhaps with their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedTarget {
    /// The size of the value in bytes.
    pub size: u16,
    /// The offset of the pointer in it.
    pub pointer: u16,
    /// The offset of the number of elements, its size in bytes, and the size of an element.
    pub count: Option<(u16, u8, u32)>,
    /// The offset of a capacity.
    pub capacity: Option<u16>,
}

/// The precision of a text that the program records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLimit {
    /// So many bytes.
    Bytes(u32),
    /// The value of this argument, an `int`. A negative one is no limit.
    Argument(usize),
}

impl PlannedSite {
    /// The link-time address of the site; `None` if it is that of one of several copies, and a hit does
    /// not say of which.
    #[must_use]
    pub fn known_address(&self) -> Option<Vaddr> {
        self.recorded.as_ref().is_none_or(|recorded| recorded.copies == 1).then_some(self.address)
    }
}

impl PlannedMarker {
    /// The names for the values of each argument.
    #[must_use]
    pub fn names(&self) -> Vec<Option<Arc<Names>>> {
        match self.event {
            Some(_) => Vec::new(),
            None => names_of(&self.format),
        }
    }
}

impl Plan {
    /// Says for the sites from the number `first` on what becomes of doubtful arguments.
    pub fn treat(&mut self, first: usize, doubtful: DoubtfulValues) {
        let sites = self.sites.iter_mut().skip(first);
        for source in sites.flat_map(|site| &mut site.arguments).map(|argument| &mut argument.source) {
            let Source::Doubtful(of) = source else { continue };
            of.is_taken = doubtful == DoubtfulValues::Taken;
            if doubtful == DoubtfulValues::Strict {
                *source = match &of.before {
                    Some(before) => Source::Either(of.here.clone(), before.clone()),
                    None => Source::Unread(of.why.clone()),
                };
            }
        }
    }

    /// The kernel event of a site; `None` if the site is one of a program.
    #[must_use]
    pub fn event_of(&self, site: &PlannedSite) -> Option<&Arc<KernelEvent>> {
        self.markers.get(site.marker)?.event.as_ref()
    }

    /// The numbers of the sites that probes are set for, from the number `first` on: those with one address
    /// together, in the order in which the program passes them. Sites of which no hit is wanted are missing,
    /// and those that the programs record themselves.
    #[must_use]
    pub fn by_address(&self, first: usize) -> Vec<Vec<usize>> {
        let (mut together, mut known): (Vec<Vec<usize>>, HashMap<_, usize>) = (Vec::new(), HashMap::new());
        for (number, site) in self.sites.iter().enumerate().skip(first) {
            if site.recorded.is_some() || site.filter == Some(Condition::Known(false)) {
                continue;
            }
            let is_event = self.event_of(site).is_some();
            let place = *known.entry((site.image, site.offset, is_event.then_some(number))).or_insert(together.len());
            match together.get_mut(place) {
                Some(same) => same.push(number),
                None => together.push(vec![number]),
            }
        }
        together
    }

    /// The marker of a site; `None` if there is no such site.
    #[must_use]
    pub fn marker_of(&self, site: usize) -> Option<&PlannedMarker> {
        self.markers.get(self.sites.get(site)?.marker)
    }
}
