//! The description of a recording: what its events mean, and what CTF cannot say. It is written to
//! the recording as JSON.
//!
//! Each site has a class, which says what fields its events have. Sites of one marker whose
//! arguments have the same types share a class. An event of a class has one of two forms:
//!
//! - the plain form, if all of its fields have a value: the values;
//! - the full form otherwise: for each argument its state, and its value if it has one.
//!
//! The plain events of class `n` have the number `2 n` in the stream, the full ones `2 n + 1`.

mod json;
mod plan;

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use simple_markers_events::Choices;
use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::json::{Hexadecimal, JsonError, maybe_object, objects};
use simple_markers_resolver::types::Names;
use strum::IntoStaticStr;

use super::identifier::identifier;
use crate::event::KnownNames;
use crate::frames::StackTable;
use crate::function_names::KnownFunctions;
use crate::plan::{
    KernelEvent, Length, Placeholder, Plan, PlannedImage, PlannedMarker, PlannedSite, ShownType, Source, ValueKind,
};

pub use crate::plan::FieldType;

/// The version of the description. A reader refuses later ones. Version 2 has events of the kernel, version
/// 3 doubtful values, version 4 whole values, and version 5 stacks.
pub const VERSION: u64 = 5;

/// The most classes: the number of an event has 16 bits.
pub const MAX_CLASSES: usize = 1 << 15;

/// What the events of a recording mean. [`Description::from_json`] checks what it reads, as
/// deserialising alone does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The identity of the trace. Every packet repeats it.
    #[serde(skip)]
    pub uuid: [u8; 16],
    /// The version of `smark` that writes the recording.
    pub tool: String,
    /// The time in ns since the start of 1970 at which the clock of the events was 0.
    #[serde(rename = "clock_offset_ns")]
    pub clock_offset: u64,
    /// When the recording started, by the clock of the events, in ns.
    #[serde(rename = "start_ns")]
    pub start: u64,
    /// Where it was recorded; `None` if it does not say so.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub origin: Option<RecordingOrigin>,
    /// The programs and shared objects.
    #[serde(deserialize_with = "objects")]
    pub images: Vec<PlannedImage>,
    /// The markers.
    #[serde(deserialize_with = "objects")]
    pub markers: Vec<PlannedMarker>,
    /// The sites, by their number in the plan.
    #[serde(deserialize_with = "objects")]
    pub sites: Vec<DescribedSite>,
    /// The classes. Their position is their number.
    #[serde(deserialize_with = "objects")]
    pub classes: Vec<Class>,
    /// The sites that were not watched.
    #[serde(deserialize_with = "objects")]
    pub left_out: Vec<DescribedOmission>,
    /// The names of the kernel that the texts of its events used.
    #[serde(skip)]
    pub kernel: KnownNames,
    /// The functions whose addresses its values have.
    #[serde(default, skip_serializing_if = "KnownFunctions::is_empty")]
    pub functions: KnownFunctions,
    /// The frames of the stacks of its events; `None` if they have no stacks.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub stacks: Option<StackTable>,
}

/// Why a description cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// Another version of the description.
    #[error("version {0} of the description; this smark reads version {VERSION}")]
    Version(u64),
    /// A member is missing, or its value cannot be.
    #[error(transparent)]
    Member(#[from] JsonError),
}

/// Where a recording was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingOrigin {
    /// The name of the machine; `None` if it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The boot of its kernel, as `/proc/sys/kernel/random/boot_id` has it; `None` if it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// What was recorded: the name of the program, or of what else was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// A site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DescribedSite {
    /// The image.
    pub image: usize,
    /// The marker.
    pub marker: usize,
    /// The out-of-line function that holds it; `None` if nothing names it, or it is not known which of
    /// several does.
    pub function: Option<Arc<str>>,
    /// How many copies it stands for. If there are several, an event does not say of which it is.
    #[serde(default = "one", deserialize_with = "copies")]
    pub copies: u32,
    /// The link-time address of it, or of the first copy.
    pub address: Vaddr,
    /// The link-time address of the probe.
    pub probe: Vaddr,
    /// The probe's offset in the file.
    #[serde(rename = "file_offset")]
    pub offset: FileOffset,
    /// The class of its events; `None` if there are too many classes.
    pub class: Option<usize>,
    /// The arguments, in the order of the format, and behind them the number of the task if events have it.
    #[serde(deserialize_with = "objects")]
    pub arguments: Vec<DescribedArgument>,
    /// Whether the last argument is no argument of the marker but the number of the task that the thread ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_task: bool,
}

/// An argument at a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DescribedArgument {
    /// The argument as written.
    pub text: Arc<str>,
    /// Another name of it, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<Arc<str>>,
    /// What stands in its place, as it is never read there; `None` if it is.
    pub unread: Option<Placeholder>,
    /// Whether its values may be others than in the source; `None` if not.
    #[serde(rename = "doubtful", skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// Why it is never read, or doubtful, if there is more to say.
    pub why: Option<String>,
    /// Names for its values: the words of the marker's format.
    #[serde(skip)]
    pub names: Option<Arc<Names>>,
    /// How it is shown by its type; `None` if a conversion shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Arc<ShownType>>,
}

/// Which values of an argument may be others than in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, Serialize, Deserialize)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Doubt {
    /// All of them. The name of the field ends with `__maybe`.
    Always,
    /// Those whose state says so: it is at two places.
    Sometimes,
}

impl Doubt {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A site that was not watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedOmission {
    /// The image.
    pub image: usize,
    /// The name of the marker.
    pub marker: Arc<str>,
    /// The site.
    pub place: String,
    /// Why.
    pub why: String,
}

/// The events of the sites of one marker whose arguments have the same types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// The marker.
    pub marker: usize,
    /// Whether an event has the address of its site, because several sites have this class.
    pub has_site: bool,
    /// The fields, in the order of the arguments.
    #[serde(deserialize_with = "objects")]
    pub fields: Vec<ClassField>,
}

/// A field of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "FieldMembers", into = "FieldMembers")]
pub struct ClassField {
    /// The argument.
    pub argument: usize,
    /// The name of the field: letters, digits and `_`.
    pub name: String,
    /// Its type.
    pub of: FieldType,
    /// Values that have names, each once, with their bits; and the names, each once.
    pub labels: Vec<(u64, Arc<str>)>,
}

/// A field as the description has it.
#[derive(Serialize, Deserialize)]
struct FieldMembers {
    argument: usize,
    name: String,
    kind: ValueKind,
    size: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    array: Option<Length>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<(Hexadecimal, Arc<str>)>>,
}

impl From<ClassField> for FieldMembers {
    fn from(ClassField { argument, name, of, labels }: ClassField) -> Self {
        let (kind, size, array) = of.members();
        let labels = labels.into_iter().map(|(bits, name)| (Hexadecimal(bits), name)).collect::<Vec<_>>();
        Self { argument, name, kind, size, array, labels: Some(labels).filter(|labels| !labels.is_empty()) }
    }
}

impl TryFrom<FieldMembers> for ClassField {
    type Error = &'static str;

    fn try_from(members: FieldMembers) -> Result<Self, Self::Error> {
        let FieldMembers { argument, name, kind, size, array, labels } = members;
        let labels = labels.unwrap_or_default().into_iter().map(|(Hexadecimal(bits), name)| (bits, name)).collect();
        Ok(Self { argument, name, of: FieldType::of(kind, size, array)?, labels })
    }
}

fn one() -> u32 {
    1
}

fn copies<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(one))
}

impl Description {
    /// Adds what the plan has and the description has not.
    pub fn add(&mut self, plan: &Plan) {
        // A recording has no computations.
        let image = |image: &PlannedImage| PlannedImage { thread_local_size: None, platform: None, ..image.clone() };
        self.images.extend(plan.images.iter().skip(self.images.len()).map(image));
        self.markers.extend(plan.markers.iter().skip(self.markers.len()).cloned());
        let first = self.sites.len();
        self.sites.extend(plan.sites.iter().skip(first).map(described));
        let first_class = self.classes.len();
        for (number, planned) in plan.sites.iter().enumerate().skip(first) {
            let class = self.class(first_class, number, planned);
            if let Some(site) = self.sites.get_mut(number) {
                site.class = class;
            }
        }
        for (number, class) in self.classes.iter_mut().enumerate().skip(first_class) {
            class.has_site = self.sites.iter().skip(first).filter(|site| site.class == Some(number)).count() > 1;
        }
        let known = self.left_out.len();
        self.left_out.extend(plan.left_out.iter().skip(known).map(|it| DescribedOmission {
            image: it.image,
            marker: Arc::clone(&it.marker),
            place: it.place.clone(),
            why: it.why.to_string(),
        }));
    }

    /// The class of a site. `first` is the first class that may get more sites.
    fn class(&mut self, first: usize, number: usize, planned: &PlannedSite) -> Option<usize> {
        let event = self.markers.get(planned.marker).and_then(|marker| marker.event.as_deref());
        let fields = fields(planned, event);
        let has_it = |class: &Class| class.marker == planned.marker && class.fields == fields;
        // Its address says which of the sites of a class it is. Two sites can have the same address.
        let shares_address = |class: usize| {
            let others = self.sites.iter().take(number);
            others.filter(|site| site.class == Some(class)).any(|site| site.address == planned.address)
        };
        let mut known = self.classes.iter().enumerate().skip(first);
        if let Some((known, _)) = known.find(|(known, class)| has_it(class) && !shares_address(*known)) {
            return Some(known);
        }
        if self.classes.len() >= MAX_CLASSES {
            return None;
        }
        self.classes.push(Class { marker: planned.marker, has_site: false, fields });
        Some(self.classes.len() - 1)
    }

    /// The identity as it is usually written.
    #[must_use]
    pub fn uuid_text(&self) -> String {
        let digits = format!("{:032x}", u128::from_be_bytes(self.uuid));
        let part = |from, to| digits.get(from..to).unwrap_or_default();
        format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
    }
}

impl DescribedSite {
    /// The link-time address of the site; `None` if it is that of one of several copies, and an event does
    /// not say of which.
    #[must_use]
    pub fn known_address(&self) -> Option<Vaddr> {
        (self.copies == 1).then_some(self.address)
    }
}

fn described(planned: &PlannedSite) -> DescribedSite {
    let argument = |argument: &crate::plan::PlannedArgument| {
        let (unread, doubt, why) = match &argument.source {
            Source::Unread(why) => (Some(why.placeholder()), None, why.words()),
            Source::Read(_) | Source::Either(..) => (None, None, None),
            source @ Source::Doubtful(of) if always_doubtful(source) => (None, Some(Doubt::Always), of.why.words()),
            Source::Doubtful(of) => (None, Some(Doubt::Sometimes), of.why.words()),
        };
        let (text, alias, names) = (Arc::clone(&argument.text), argument.alias.clone(), argument.names.clone());
        DescribedArgument { text, alias, unread, doubt, why, names, shown: argument.shown.clone() }
    };
    DescribedSite {
        image: planned.image,
        marker: planned.marker,
        function: planned.function.clone(),
        copies: planned.recorded.as_ref().map_or(1, |recorded| recorded.copies),
        address: planned.address,
        probe: planned.probe,
        offset: planned.offset,
        class: None,
        arguments: planned.arguments.iter().map(argument).collect(),
        has_task: planned.notes_task,
    }
}

/// The fields of the arguments that are read.
fn fields(site: &PlannedSite, event: Option<&KernelEvent>) -> Vec<ClassField> {
    // The field with the address of the site has this name.
    let mut names = vec!["site".to_owned()];
    let mut fields = Vec::new();
    for (number, argument) in site.arguments.iter().enumerate() {
        let Some(of) = argument.source.field_type() else { continue };
        let mut name = identifier(&argument.text, &names);
        names.push(name.clone());
        // Other readers see no more than the name.
        if always_doubtful(&argument.source) {
            name.push_str("__maybe");
        }
        let labels = match (event.and_then(|event| event.choices_of(&argument.text)), &argument.names) {
            (Some(choices), _) => labels_of_choices(choices, of),
            // CTF 1.8 has no flags: readers would show a sum of them as unknown.
            (None, Some(names)) if names.is_flags => Vec::new(),
            (None, Some(names)) => labels(names.pairs.iter().map(|(value, name)| (*value as u64, &**name)), of),
            (None, None) => Vec::new(),
        };
        fields.push(ClassField { argument: number, name, of, labels });
    }
    fields
}

/// The names of the values of a field of an event of the kernel.
fn labels_of_choices(choices: &Choices, of: FieldType) -> Vec<(u64, Arc<str>)> {
    // A name of a part of the value says nothing about the whole.
    if choices.delimiter.is_none() && all_bits(of).is_some_and(|all| choices.mask & all != all) {
        return Vec::new();
    }
    labels(choices.pairs.iter().map(|(bits, name)| (*bits, name.as_str())), of)
}

/// The names of the values of a field of this type: each value once, and each name once.
fn labels<'n>(pairs: impl Iterator<Item = (u64, &'n str)>, of: FieldType) -> Vec<(u64, Arc<str>)> {
    let mut labels: Vec<(u64, Arc<str>)> = Vec::new();
    let Some(all) = all_bits(of) else { return labels };
    let (mut values, mut names) = (HashSet::new(), HashSet::new());
    for (bits, name) in pairs {
        let bits = bits & all;
        if !name.is_empty() && !values.contains(&bits) && names.insert(name) {
            values.insert(bits);
            labels.push((bits, Arc::from(name)));
        }
    }
    labels
}

/// The bits of an integer of this type; `None` if it is none.
fn all_bits(of: FieldType) -> Option<u64> {
    let FieldType::Number { size, kind: NumberKind::Signed | NumberKind::Unsigned } = of else { return None };
    u64::MAX.checked_shr(64 - u32::from(size.clamp(1, 8)) * 8)
}

/// Whether each value of an argument is doubtful.
pub(super) fn always_doubtful(source: &Source) -> bool {
    matches!(source, Source::Doubtful(doubtful) if doubtful.before.is_none())
}
