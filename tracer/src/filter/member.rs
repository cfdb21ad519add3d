//! Members of whole values as operands: which argument and which member a name leads to, and what the
//! site reads for it.
//!
//! A site of a program gets an input of its own for a member. The bytes of a recording have the member,
//! if they were recorded: the same computation is done on them ([`crate::recorded_members`]).

use std::sync::Arc;

use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::export::{MemberFetch, ValueBytes, fetch_member, fetch_variant};
use simple_markers_resolver::location::{Expr, Node, Register, ValueType};
use simple_markers_resolver::text::closest;
use simple_markers_resolver::types::{
    MemberContent, MemberPlace, MemberProblem, Names, Shape, VariantTest, is_name_of, short_name, variant_numbers,
};

use super::arguments::named;
use super::error::Mismatch;
use super::token::normalized;
use crate::arch::Platform;
use crate::bpf::expression::TaskOffsets;
use crate::bpf::{KernelOffsets, Target, input};
use crate::plan::{
    Input, MAX_WORDS, Number, Place, PlannedArgument, PlannedSite, Readable, Reading, RecordedMember, ShownType,
    Source, TextPlace, UnreadReason,
};

/// The most bytes of a text that are read to compare or to count it.
pub(crate) const MEMBER_TEXT: u16 = 128;

/// In a recording, the computations for the members of a value begin with the address of the value in this
/// register.
pub(crate) const VALUE_ADDRESS: Register = Register(0);

/// A value that a name leads to: that of an argument, or a member of it.
pub(super) struct NamedMember<'s> {
    argument: &'s PlannedArgument,
    shown: Arc<ShownType>,
    /// The name of it.
    name: Arc<str>,
    pub(super) place: MemberPlace,
}

/// What is read for a member in one of the fields that have the value.
struct MemberInput {
    field: usize,
    input: Input,
    /// Whether a program reads it, and not a recording.
    is_live: bool,
    /// The size in bytes of a number and how its bits are read; `None` for a text.
    number: Option<(u8, NumberKind)>,
}

/// What of a value is an operand.
enum OperandContent<'c> {
    Content(&'c MemberContent),
    /// Whether it has a variant.
    Variant(Option<&'c VariantTest>),
}

impl<'s> NamedMember<'s> {
    /// What a name without white space leads to; `None` if that is no value that is shown by its type, nor a
    /// member of one.
    pub(super) fn find(name: &str, site: &'s PlannedSite) -> Option<Result<Self, Mismatch>> {
        let (argument, path) = match &*named(name, site) {
            [] => {
                let with = site.arguments.iter().filter(|argument| argument.shown.is_some());
                let paths = with.filter_map(|argument| Some((argument, path_behind(argument, name)?)));
                // The longest name of an argument leaves the shortest path.
                paths.min_by_key(|(argument, path)| (path.len(), !is_whole(argument)))?
            }
            all => (*all.iter().find(|argument| is_whole(argument)).or(all.first())?, ""),
        };
        let shown = Arc::clone(argument.shown.as_ref()?);
        let names = path.replace("->", ".");
        let names = names.split('.').filter(|_| !names.is_empty());
        let mut member = Self {
            argument,
            name: name.strip_suffix(path).unwrap_or(name).trim_end_matches(['.', '>', '-']).into(),
            place: MemberPlace::new(&shown.of),
            shown,
        };
        for name in names {
            member = match member.place.clone().member(name, member.shown.language) {
                Ok(place) => Self { name: format!("{}.{name}", member.name).into(), place, ..member },
                Err(problem) => return Some(Err(member.no_member(name, problem))),
            };
        }
        Some(Ok(member))
    }

    fn no_member(&self, name: &str, problem: MemberProblem) -> Mismatch {
        let names = || self.place.clone().names(self.shown.language);
        let (of, name): (Arc<str>, Arc<str>) = (Arc::clone(&self.name), name.into());
        match problem {
            MemberProblem::Dynamic => Mismatch::DynamicMember { name: of },
            MemberProblem::TooFar => Mismatch::MemberTooFar { name: format!("{of}.{name}").into() },
            MemberProblem::Discriminant | MemberProblem::Size => Mismatch::MemberUnsupported { name: of },
            MemberProblem::InSeveralVariants => {
                let has = |variant: &Arc<str>| {
                    let place = self.place.clone().member(variant, self.shown.language);
                    place.and_then(|place| place.member(&name, self.shown.language)).is_ok()
                };
                let paths = names().into_iter().filter(has).map(|variant| format!("{of}.{variant}.{name}"));
                Mismatch::SeveralMembers { name: Arc::clone(&name), paths: paths.collect() }
            }
            _ => {
                let names = names();
                let closest = closest(&name, names.iter().map(|name| &**name));
                Mismatch::UnknownMember { of, name, closest }
            }
        }
    }

    /// What is there. With `is_optional` what is in the `Some` of an `Option`.
    fn content(&self, is_optional: bool) -> Result<(MemberPlace, MemberContent), Mismatch> {
        let language = self.shown.language;
        self.place.clone().content(language, is_optional).map_err(|problem| match problem {
            MemberProblem::Dynamic => Mismatch::DynamicMember { name: Arc::clone(&self.name) },
            MemberProblem::TooFar => Mismatch::MemberTooFar { name: Arc::clone(&self.name) },
            MemberProblem::Discriminant | MemberProblem::Size => {
                Mismatch::MemberUnsupported { name: Arc::clone(&self.name) }
            }
            _ => Mismatch::Incomparable {
                name: Arc::clone(&self.name),
                type_name: Arc::clone(&self.place.of.name),
                members: self.place.clone().names(language).iter().map(ToString::to_string).collect(),
            },
        })
    }

    /// The names of its variants; `None` if it has none.
    fn variants(&self) -> Option<Vec<(Arc<str>, Option<VariantTest>)>> {
        match self.content(false).ok()?.1 {
            MemberContent::Variants(variants) => Some(variants),
            _ => None,
        }
    }

    /// Names for what its values are counted by.
    fn names(&self, is_optional: bool) -> Option<Names> {
        let (place, content) = self.content(is_optional).ok()?;
        match content {
            MemberContent::Variants(variants) => {
                let names = variants.iter().map(|(name, _)| Arc::from(short_name(name)));
                Some(Names { is_flags: false, pairs: variant_numbers(&variants).0.into_iter().zip(names).collect() })
            }
            MemberContent::Number if place.of.shape == Shape::Boolean => {
                Some(Names { is_flags: false, pairs: vec![(0, "false".into()), (1, "true".into())] })
            }
            MemberContent::Number => Names::of_type(&place.of, self.shown.language),
            _ => None,
        }
    }

    /// Where the bytes of the whole value are that a field has, and whether a program reads them.
    fn bytes(&self, field: usize, inputs: &[Input]) -> (ValueBytes, bool) {
        match inputs.get(field) {
            Some(Input::Whole(whole)) => (whole.bytes.clone(), true),
            _ => {
                let size = self.shown.of.size.and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
                let address = Expr::new(Node::Register(VALUE_ADDRESS, ValueType::Generic));
                (ValueBytes::Memory { address: address.unwrap_or_else(|| Expr::constant(0)), size }, false)
            }
        }
    }

    /// The inputs for what is at a place in the value: two if it is known only where both are the same.
    fn inputs(
        &self,
        place: &MemberPlace,
        of: &OperandContent<'_>,
        inputs: &[Input],
    ) -> Result<Vec<MemberInput>, Mismatch> {
        self.fields()?.into_iter().map(|field| self.input(field, place, of, inputs)).collect()
    }

    fn input(
        &self,
        field: usize,
        place: &MemberPlace,
        of: &OperandContent<'_>,
        inputs: &[Input],
    ) -> Result<MemberInput, Mismatch> {
        let (bytes, is_live) = self.bytes(field, inputs);
        let member = |input, number| MemberInput { field, input, is_live, number };
        let fetched = match of {
            OperandContent::Content(content) => fetch_member(&bytes, &self.shown.gone, place, content),
            OperandContent::Variant(test) => fetch_variant(&bytes, &self.shown.gone, place, *test),
        };
        Ok(match fetched.map_err(|why| self.unread(UnreadReason::Omitted(why)))? {
            MemberFetch::Number { value, size, kind } => member(Input::Number(value), Some((size, kind))),
            MemberFetch::Letters { address, size } => {
                // The kernel counts a NUL that it adds.
                let size = size.map_or(u16::MAX, |size| u16::try_from(size.saturating_add(1)).unwrap_or(u16::MAX));
                member(Input::Text { address, limit: None, most: size.min(MEMBER_TEXT) }, None)
            }
            MemberFetch::Text { address, length } => member(Input::Bytes { address, length, most: MEMBER_TEXT }, None),
        })
    }

    fn unread(&self, why: UnreadReason) -> Mismatch {
        Mismatch::Unread { name: Arc::clone(&self.name), why: Box::new(why) }
    }

    /// The fields that have the value.
    fn fields(&self) -> Result<Vec<usize>, Mismatch> {
        let doubtful = |why| Mismatch::Doubtful { name: Arc::clone(&self.name), why };
        let readings = match &self.argument.source {
            Source::Unread(why) => return Err(self.unread(why.clone())),
            Source::Read(here) => vec![here],
            Source::Either(here, before) => vec![here, before],
            Source::Doubtful(of) if of.is_taken => vec![&of.here],
            Source::Doubtful(of) => match &of.before {
                Some(before) => vec![&of.here, before],
                None => return Err(doubtful(of.why.words())),
            },
        };
        let fields = readings.into_iter().map(|reading| match reading {
            Reading::Whole { field } => Some(*field),
            _ => None,
        });
        fields.collect::<Option<Vec<_>>>().ok_or_else(|| doubtful(None))
    }
}

/// Whether the bytes of an argument are read as a whole value.
fn is_whole(argument: &PlannedArgument) -> bool {
    let reading = match &argument.source {
        Source::Read(here) | Source::Either(here, _) => here,
        Source::Doubtful(of) => &of.here,
        Source::Unread(_) => return false,
    };
    matches!(reading, Reading::Whole { .. })
}

/// What follows the name of an argument and `.` or `->`.
fn path_behind<'n>(argument: &PlannedArgument, name: &'n str) -> Option<&'n str> {
    let behind = |text: &str| {
        let rest = name.strip_prefix(text)?;
        rest.strip_prefix('.').or(rest.strip_prefix("->")).filter(|rest| !rest.is_empty())
    };
    let text = normalized(&argument.text);
    // What a pointer leads to has the members that the pointer has here.
    behind(&text).or_else(|| behind(text.trim_start_matches(['*', '&']))).or_else(|| behind(argument.alias.as_deref()?))
}

/// Whether a name leads to a value that is read as a whole, or to a member of one.
pub(super) fn is_member(name: &str, site: &PlannedSite) -> bool {
    match &*named(name, site) {
        [] => NamedMember::find(name, site).is_some(),
        all => all.iter().any(|argument| is_whole(argument)),
    }
}

/// Names for the values that a name leads to. With `is_optional` those of what is in the `Some` of an
/// `Option`.
pub(super) fn names_of(name: &str, site: &PlannedSite, is_optional: bool) -> Option<Arc<Names>> {
    let words = named(name, site).iter().find_map(|argument| argument.names.clone());
    words.or_else(|| NamedMember::find(name, site)?.ok()?.names(is_optional).map(Arc::new))
}

/// The enumerators or variants that a value may be compared with; none if it has none.
pub(super) fn candidates(name: &str, site: &PlannedSite) -> Vec<String> {
    let variants = NamedMember::find(name, site).and_then(|found| found.ok()?.variants());
    let variants = variants.into_iter().flatten().map(|(name, _)| short_name(&name).to_owned());
    let mut all: Vec<String> = variants.collect();
    for (_, name) in names_of(name, site, true).iter().flat_map(|names| &names.pairs) {
        if !all.contains(&name.to_string()) {
            all.push(name.to_string());
        }
    }
    all
}

/// What a site reads to see which values are at a name. With `is_optional` what is in the `Some` of an
/// `Option`; the number of the variant otherwise.
pub(super) fn readable(
    name: &str,
    site: &mut PlannedSite,
    platform: Option<Platform>,
    is_optional: bool,
) -> Option<Result<Readable, Mismatch>> {
    let found = NamedMember::find(name, site)?;
    let inputs = found.and_then(|member| {
        let (place, content) = member.content(is_optional)?;
        if let (MemberContent::Variants(variants), true) = (&content, is_optional) {
            let names = variants.iter().map(|(name, _)| short_name(name).to_owned()).collect();
            return Err(Mismatch::Variants { name: Arc::clone(&member.name), names });
        }
        let of = OperandContent::Content(&content);
        Ok((Arc::clone(&member.name), member.inputs(&place, &of, &site.inputs)?))
    });
    Some(inputs.and_then(|(name, inputs)| add_all(&name, inputs, site, platform)))
}

/// What a site reads to see whether the value at a name has a variant of this name: 1 if it has. `None` if
/// there is no such variant.
pub(super) fn variant(
    name: &str,
    variant: &str,
    site: &mut PlannedSite,
    platform: Option<Platform>,
) -> Option<Result<Readable, Mismatch>> {
    let member = NamedMember::find(name, site)?.ok()?;
    let variants = member.variants()?;
    let (_, test) = variants.iter().find(|(known, _)| is_name_of(known, variant))?;
    let (place, _) = member.content(false).ok()?;
    let inputs = member.inputs(&place, &OperandContent::Variant(test.as_ref()), &site.inputs);
    let name = Arc::clone(&member.name);
    Some(inputs.and_then(|inputs| add_all(&name, inputs, site, platform)))
}

/// Adds the inputs of a member to a site.
fn add_all(
    name: &Arc<str>,
    inputs: Vec<MemberInput>,
    site: &mut PlannedSite,
    platform: Option<Platform>,
) -> Result<Readable, Mismatch> {
    let mut fields = Vec::new();
    let mut number = None;
    for member in inputs {
        number = member.number;
        fields.push(match member.is_live {
            true => add_input(member.input, site, platform)
                .map_err(|why| Mismatch::Unread { name: Arc::clone(name), why: Box::new(why) })?,
            false => add_recorded(RecordedMember { field: member.field, input: member.input }, site),
        });
    }
    match (fields.as_slice(), number) {
        ([field], None) => Ok(Readable::Text(TextPlace::Input(*field))),
        ([at, rest @ ..], Some((size, kind))) if rest.len() < 2 => {
            let other = rest.first().map(|other| Place::Input(*other));
            let is_signed = kind == NumberKind::Signed;
            Ok(Readable::Number { number: Number::Read { at: Place::Input(*at), other, size, is_signed }, size, kind })
        }
        // A text at two places.
        _ => Err(Mismatch::Doubtful { name: Arc::clone(name), why: None }),
    }
}

/// Adds an input that a program reads, and returns its number.
fn add_input(input: Input, site: &mut PlannedSite, platform: Option<Platform>) -> Result<usize, UnreadReason> {
    if let Some(known) = site.inputs.iter().position(|known| *known == input) {
        return Ok(known);
    }
    // The value itself can be read, and where the kernel has what it needs makes no difference.
    let kernel = KernelOffsets { thread_pointer: Some(0), identity: Some(TaskOffsets::default()) };
    let target = Target {
        probe: site.probe,
        platform,
        thread_local_size: Some(0),
        is_sleepable: true,
        has_exchange: true,
        kernel,
    };
    if platform.is_some() {
        input::check(&input, &target).map_err(UnreadReason::Uncompilable)?;
    }
    if site.inputs.iter().map(Input::words).sum::<usize>() + input.words() > MAX_WORDS {
        return Err(UnreadReason::TooMany);
    }
    site.inputs.push(input);
    Ok(site.inputs.len() - 1)
}

/// Adds a member that a recording has, and returns its number, which follows those of the arguments.
fn add_recorded(member: RecordedMember, site: &mut PlannedSite) -> usize {
    let first = site.arguments.len();
    if let Some(known) = site.members.iter().position(|known| *known == member) {
        return first + known;
    }
    site.members.push(member);
    first + site.members.len() - 1
}
