//! Checks a filter against the arguments of a site.

use std::ops::Range;
use std::sync::Arc;

use simple_markers_record::integer;
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::text::closest;
use simple_markers_resolver::types::Names;

use super::Filter;
use super::arguments::named;
use super::error::{Mismatch, Unfit};
use super::member;
use super::parse::{Comparison, Operand, Syntax, Term};
use crate::arch::Platform;
use crate::plan::{
    Condition, ContextNumber, FieldPlace, Input, LONGEST_TEXT, LONGEST_THREAD_NAME, Number, Operator, Place,
    PlannedSite, Readable, Reading, Source, TASK, THREAD_NAME, TextPlace,
};

impl Filter {
    /// The filter on the inputs of a site. The site reads in addition what members of whole values need.
    /// `platform` is that of its image.
    ///
    /// # Errors
    ///
    /// Why it cannot be evaluated there.
    pub fn check(&self, site: &mut PlannedSite, platform: Option<Platform>) -> Result<Condition, Unfit> {
        SiteCheck { site, platform }.condition(self.syntax())
    }
}

/// A site whose inputs a filter is checked against.
struct SiteCheck<'s> {
    site: &'s mut PlannedSite,
    platform: Option<Platform>,
}

/// An operand at a site.
enum Side<'s> {
    Literal(i128),
    LiteralText(&'s [u8]),
    Argument(Readable),
}

impl SiteCheck<'_> {
    fn condition(&mut self, syntax: &Syntax) -> Result<Condition, Unfit> {
        match syntax {
            Syntax::Or(left, right) => Ok(Condition::or(self.condition(left)?, self.condition(right)?)),
            Syntax::And(left, right) => Ok(Condition::and(self.condition(left)?, self.condition(right)?)),
            Syntax::Not(inner) => Ok(Condition::not(self.condition(inner)?)),
            Syntax::Compare(comparison) => match self.variant(comparison) {
                Some(condition) => condition,
                None => {
                    let Comparison { left, right, .. } = comparison;
                    let (left, right) = (self.side(left, right)?, self.side(right, left)?);
                    compare(comparison, left, right, self.site)
                }
            },
        }
    }

    /// The condition that a value has a variant; `None` if the comparison is not with the name of one.
    fn variant(&mut self, comparison: &Comparison) -> Option<Result<Condition, Unfit>> {
        let Comparison { left, operator, right } = comparison;
        [(left, right), (right, left)].into_iter().find_map(|(value, other)| {
            let Term::Name(name) = &value.term else { return None };
            let variant = match &other.term {
                Term::Name(variant) if self.is_unknown(variant) => &**variant,
                Term::Text(bytes) => std::str::from_utf8(bytes).ok()?,
                _ => return None,
            };
            let found = member::variant(name, variant, self.site, self.platform)?;
            let why = |why| Unfit { range: value.range.clone(), why };
            Some(match (found, operator) {
                (Ok(Readable::Number { number, .. }), Operator::Equal | Operator::NotEqual) => {
                    Ok(numbers(number, *operator, Number::Known(1)))
                }
                (Ok(_), _) => {
                    let names = member::candidates(name, self.site);
                    Err(why(Mismatch::Variants { name: Arc::clone(name), names }))
                }
                (Err(mismatch), _) => Err(why(mismatch)),
            })
        })
    }

    /// Whether a name is that of neither an argument nor a member.
    fn is_unknown(&self, name: &str) -> bool {
        !has(name, self.site)
    }

    fn side<'o>(&mut self, operand: &'o Operand, other: &Operand) -> Result<Side<'o>, Unfit> {
        match &operand.term {
            Term::Integer(value) => Ok(Side::Literal(*value)),
            Term::Text(bytes) => match std::str::from_utf8(bytes).ok().and_then(|name| self.constant(name, other)) {
                Some(value) => Ok(Side::Literal(value)),
                None => Ok(Side::LiteralText(bytes)),
            },
            Term::Name(name) => {
                let unfit = |why| Unfit { range: operand.range.clone(), why };
                match self.readable(name) {
                    Err(unknown @ Mismatch::Unknown { .. }) => match self.constant(name, other) {
                        Some(value) => Ok(Side::Literal(value)),
                        None => Err(unfit(self.no_constant(name, other).unwrap_or(unknown))),
                    },
                    readable => readable.map(Side::Argument).map_err(unfit),
                }
            }
        }
    }

    /// An argument or a member; of an `Option` what is in its `Some`.
    fn readable(&mut self, name: &Arc<str>) -> Result<Readable, Mismatch> {
        operand(name, self.site, self.platform, true)
    }

    /// The value that has a name among those of the argument that it is compared with.
    fn constant(&mut self, name: &str, with: &Operand) -> Option<i128> {
        let Term::Name(argument) = &with.term else { return None };
        let Readable::Number { size, kind, .. } = self.readable(argument).ok()? else { return None };
        let names = member::names_of(argument, self.site, true)?;
        // Languages name enumerators by their type too: `State::Busy`.
        let value = names.value(name).or_else(|| names.value(name.rsplit("::").next()?))?;
        // An enumerator may be negative where the argument is read as unsigned.
        Some(known(integer::unsigned(value as u64, size), size, kind == NumberKind::Signed))
    }

    /// Why a name is none of a value of a whole value, or of a member of one. `None` if it is compared with
    /// something else.
    fn no_constant(&self, name: &Arc<str>, with: &Operand) -> Option<Mismatch> {
        let Term::Name(of) = &with.term else { return None };
        let candidates = member::candidates(of, self.site);
        let closest = closest(name, candidates.iter().map(String::as_str));
        let unknown = || Mismatch::UnknownEnumerator { of: Arc::clone(of), name: Arc::clone(name), closest };
        (!candidates.is_empty()).then(unknown)
    }
}

/// Whether a site has an argument of this name, or a member, or the kernel knows it of each hit.
#[must_use]
pub fn has(name: &str, site: &PlannedSite) -> bool {
    !named(name, site).is_empty() || member::is_member(name, site) || name == TASK || context(name).is_some()
}

/// The names for the values of an argument or a member; `None` if they have none.
#[must_use]
pub fn names_of(name: &str, site: &PlannedSite) -> Option<Arc<Names>> {
    member::names_of(name, site, false)
}

/// An argument of a site by its name without white space, or a member of one: of a value with variants the
/// number of the variant. If there is neither, what the kernel knows by this name of each hit. The site reads in
/// addition what it needs. `platform` is that of its image.
///
/// # Errors
///
/// There is no such argument, or it cannot be read there.
pub fn readable(name: &Arc<str>, site: &mut PlannedSite, platform: Option<Platform>) -> Result<Readable, Mismatch> {
    operand(name, site, platform, false)
}

/// What a name means at a site. With `is_optional` what is in the `Some` of an `Option`.
fn operand(
    name: &Arc<str>,
    site: &mut PlannedSite,
    platform: Option<Platform>,
    is_optional: bool,
) -> Result<Readable, Mismatch> {
    match member::is_member(name, site) {
        true => member::readable(name, site, platform, is_optional).unwrap_or(Err(Mismatch::Array)),
        false => argument_or_context(name, site),
    }
}

/// What the kernel knows by a name of each hit.
fn context(name: &str) -> Option<Readable> {
    if name == THREAD_NAME {
        return Some(Readable::Text(TextPlace::ThreadName));
    }
    let of = ContextNumber::ALL.into_iter().find(|of| of.name() == name)?;
    let number = Number::Read { at: Place::Context(of), other: None, size: of.size(), is_signed: false };
    Some(Readable::Number { number, size: of.size(), kind: NumberKind::Unsigned })
}

fn argument_or_context(name: &Arc<str>, site: &mut PlannedSite) -> Result<Readable, Mismatch> {
    match named(name, site)[..] {
        [] if &**name == TASK => task(site).ok_or(Mismatch::NoTask),
        [] => context(name).map_or_else(|| argument(name, site), Ok),
        _ => argument(name, site),
    }
}

/// The number of the task that the thread runs, or of a recording the one that it has. `None` if it is not known.
fn task(site: &mut PlannedSite) -> Option<Readable> {
    match (site.task.clone(), site.task_argument().map(|argument| &argument.source)) {
        (Some(task), _) => site.read_also(task),
        (None, Some(Source::Read(reading))) => one(reading),
        (None, _) => None,
    }
}

fn argument(name: &Arc<str>, site: &PlannedSite) -> Result<Readable, Mismatch> {
    let named = self::named(name, site);
    let is_read = |source: &Source| !matches!(source, Source::Unread(_));
    let found = named.iter().find(|argument| is_read(&argument.source)).or(named.first());
    let Some(argument) = found else {
        let closest = closest(name, site.own_arguments().iter().map(|argument| &*argument.text));
        return Err(Mismatch::Unknown { name: Arc::clone(name), closest });
    };
    let doubtful = || Mismatch::Doubtful { name: Arc::clone(name), why: None };
    match &argument.source {
        Source::Unread(why) => Err(Mismatch::Unread { name: Arc::clone(name), why: Box::new(why.clone()) }),
        Source::Read(reading) => one(reading).ok_or(Mismatch::Array),
        Source::Either(here, before) => number(here, Some(before)).ok_or_else(doubtful),
        Source::Doubtful(source) if source.is_taken => one(&source.here).ok_or(Mismatch::Array),
        // Where both places agree there is no doubt.
        Source::Doubtful(source) => {
            let both = source.before.as_ref().and_then(|before| number(&source.here, Some(before)));
            both.ok_or_else(|| Mismatch::Doubtful { name: Arc::clone(name), why: source.why.words() })
        }
    }
}

/// What is at one place. `None` for an array or a whole value.
fn one(reading: &Reading) -> Option<Readable> {
    match reading {
        Reading::Text { field } => Some(Readable::Text(TextPlace::Input(*field))),
        reading => number(reading, None),
    }
}

/// A number at one of two places. `None` for a text.
fn number(reading: &Reading, other: Option<&Reading>) -> Option<Readable> {
    let part = |reading: &Reading| match *reading {
        Reading::Constant { bits, size, kind } => Some((Place::Constant(integer::unsigned(bits, size)), size, kind)),
        Reading::Number { field, size, kind } => Some((Place::Input(field), size, kind)),
        Reading::Text { .. } | Reading::Array { .. } | Reading::Whole { .. } => None,
    };
    let (at, size, kind) = part(reading)?;
    let other = match other {
        Some(other) => Some(part(other).filter(|(_, of, is)| (*of, *is) == (size, kind))?.0),
        None => None,
    };
    let is_signed = kind == NumberKind::Signed;
    let number = match (at, other) {
        (Place::Constant(bits), None) => Number::Known(known(bits, size, is_signed)),
        (at, other) => Number::Read { at, other, size, is_signed },
    };
    Some(Readable::Number { number, size, kind })
}

fn known(bits: u64, size: u8, is_signed: bool) -> i128 {
    match is_signed {
        true => integer::signed(bits, size).into(),
        false => i128::from(bits),
    }
}

fn compare(
    comparison: &Comparison,
    left_side: Side<'_>,
    right_side: Side<'_>,
    site: &PlannedSite,
) -> Result<Condition, Unfit> {
    let Comparison { left, operator, right } = comparison;
    let unfit = |range: &Range<usize>, why| Err(Unfit { range: range.clone(), why });
    let whole = comparison.range();
    let number = |operand: &Operand, readable: Readable| match readable {
        Readable::Number { kind: NumberKind::Float, .. } => {
            Err(Unfit { range: operand.range.clone(), why: Mismatch::Float })
        }
        Readable::Number { number, .. } => Ok(Some(number)),
        Readable::Text(_) => Ok(None),
    };
    match (left_side, right_side) {
        (Side::Argument(a), Side::Argument(b)) => match (number(left, a)?, number(right, b)?) {
            (Some(a), Some(b)) => Ok(numbers(a, *operator, b)),
            (None, None) => unfit(&whole, Mismatch::TwoTexts),
            (Some(_), None) => unfit(&right.range, Mismatch::Text),
            (None, Some(_)) => unfit(&left.range, Mismatch::Text),
        },
        (Side::Argument(argument), Side::Literal(value)) => match number(left, argument)? {
            Some(argument) => literal(argument, *operator, value, &whole),
            None => unfit(&left.range, Mismatch::TextWithNumber),
        },
        (Side::Literal(value), Side::Argument(argument)) => match number(right, argument)? {
            Some(argument) => literal(argument, operator.mirrored(), value, &whole),
            None => unfit(&right.range, Mismatch::TextWithNumber),
        },
        (Side::Argument(argument), Side::LiteralText(bytes)) => match number(left, argument.clone())? {
            Some(_) => unfit(&left.range, Mismatch::NumberWithText),
            None => text(&argument, *operator, bytes, site, &whole),
        },
        (Side::LiteralText(bytes), Side::Argument(argument)) => match number(right, argument.clone())? {
            Some(_) => unfit(&right.range, Mismatch::NumberWithText),
            None => text(&argument, *operator, bytes, site, &whole),
        },
        // The parser refuses comparisons of literals.
        _ => unfit(&whole, Mismatch::Text),
    }
}

/// The result of a comparison that the ranges of its operands decide.
fn decided(left: (i128, i128), operator: Operator, right: (i128, i128)) -> Option<bool> {
    let disjoint = left.1 < right.0 || right.1 < left.0;
    let same = left.0 == left.1 && left == right;
    match operator {
        Operator::Equal if disjoint => Some(false),
        Operator::Equal => same.then_some(true),
        Operator::NotEqual if disjoint => Some(true),
        Operator::NotEqual => same.then_some(false),
        Operator::Less if left.1 < right.0 => Some(true),
        Operator::Less => (left.0 >= right.1).then_some(false),
        Operator::LessEqual if left.1 <= right.0 => Some(true),
        Operator::LessEqual => (left.0 > right.1).then_some(false),
        Operator::Greater | Operator::GreaterEqual => decided(right, operator.mirrored(), left),
    }
}

fn numbers(left: Number, operator: Operator, right: Number) -> Condition {
    match decided(left.range(), operator, right.range()) {
        Some(result) => Condition::Known(result),
        None => Condition::Numbers { left, operator, right },
    }
}

fn literal(argument: Number, operator: Operator, value: i128, whole: &Range<usize>) -> Result<Condition, Unfit> {
    let range = argument.range();
    match decided(range, operator, (value, value)) {
        // A constant argument decides it by its value, not by its type.
        Some(is_true) if !matches!(argument, Number::Known(_)) => {
            Err(Unfit { range: whole.clone(), why: Mismatch::Decided { is_true, range } })
        }
        _ => Ok(numbers(argument, operator, Number::Known(value))),
    }
}

fn text(
    argument: &Readable,
    operator: Operator,
    bytes: &[u8],
    site: &PlannedSite,
    whole: &Range<usize>,
) -> Result<Condition, Unfit> {
    let unfit = |why| Err(Unfit { range: whole.clone(), why });
    let Readable::Text(at) = *argument else { return unfit(Mismatch::Text) };
    let is_equal = match operator {
        Operator::Equal => true,
        Operator::NotEqual => false,
        _ => return unfit(Mismatch::TextOrder),
    };
    if bytes.len() > LONGEST_TEXT {
        return unfit(Mismatch::LongerThan { most: LONGEST_TEXT, is_limit: true });
    }
    let most = match at.input().and_then(|field| site.inputs.get(field)) {
        None if at == TextPlace::ThreadName => LONGEST_THREAD_NAME,
        Some(Input::Text { most, .. }) => usize::from(*most).saturating_sub(1),
        Some(Input::Field { place: FieldPlace::Inline(size), .. }) => usize::from(*size),
        Some(Input::Field { .. }) => LONGEST_TEXT,
        _ => return Ok(Condition::Text { at, literal: bytes.to_vec(), is_equal }),
    };
    if bytes.contains(&0) {
        return unfit(Mismatch::Nul);
    }
    if bytes.len() > most {
        return unfit(Mismatch::LongerThan { most, is_limit: false });
    }
    Ok(Condition::Text { at, literal: bytes.to_vec(), is_equal })
}
