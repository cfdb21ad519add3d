//! The paths of views: steps through the members of a type.

use super::problem::{PathProblem, ViewProblem};

/// A path to a part of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ViewPath {
    /// The steps to its type, and to its place if `place` is `None`.
    pub(crate) of: Vec<ViewStep>,
    /// The steps to its place.
    pub(crate) place: Option<Vec<ViewStep>>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ViewStep {
    /// `name`, `0`: a member, or the variant of an enum.
    Member(Box<str>),
    /// `~`: the pointer in wrappers.
    Pointer,
    /// `*`: the target of a pointer.
    Target,
    /// `$0`: the type of a template parameter.
    Parameter(usize),
    /// `:name`: the type of a `typedef` in the class.
    Typedef(Box<str>),
    /// `^0`: the base class of this number.
    Base(usize),
    /// `^name`: the base class of this name, which has neither path nor parameters.
    NamedBase(Box<str>),
    /// `[1:7]`: bits of a number, from the first one on, and how many.
    Bits { first: u64, count: u64 },
}

impl ViewPath {
    pub(super) fn parse(text: &str) -> Result<Self, ViewProblem> {
        let error = |why| ViewProblem::Path { path: text.into(), why };
        let (of, place) = match text.split_once('@') {
            Some((_, place)) if place.contains('@') => return Err(error(PathProblem::TwoPlaces)),
            Some((of, place)) => (of, Some(place)),
            None => (text, None),
        };
        let steps = |path: &str| path.split('.').map(ViewStep::parse).collect::<Result<Vec<_>, _>>().map_err(error);
        Ok(Self { of: steps(of)?, place: place.map(steps).transpose()? })
    }
}

impl ViewStep {
    fn parse(text: &str) -> Result<Self, PathProblem> {
        let name = |name: &str| match name {
            "" => Err(PathProblem::EmptyStep),
            name => Ok(Box::from(name)),
        };
        if let Some(base) = text.strip_prefix('^') {
            return name(base).map(|name| base.parse().map_or(Self::NamedBase(name), Self::Base));
        }
        if let Some(bits) = text.strip_prefix('[') {
            let bits = bits.strip_suffix(']').and_then(|bits| bits.split_once(':'));
            let bits = bits.and_then(|(first, count)| Some((first.parse().ok()?, count.parse().ok()?)));
            let (first, count) = bits.filter(|(_, count)| (1..=64).contains(count)).ok_or(PathProblem::Bits)?;
            return Ok(Self::Bits { first, count });
        }
        Ok(match (text, text.strip_prefix('$'), text.strip_prefix(':')) {
            ("~", ..) => Self::Pointer,
            ("*", ..) => Self::Target,
            (_, Some(number), _) => Self::Parameter(number.parse().map_err(|_| PathProblem::Parameter)?),
            (_, _, Some(typedef)) => Self::Typedef(name(typedef)?),
            _ => Self::Member(name(text)?),
        })
    }
}
