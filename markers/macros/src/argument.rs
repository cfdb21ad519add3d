//! An argument of a marker, as it is written.

use proc_macro2::Span;
use syn::{Expr, Type};

use crate::place::Place;

/// One argument.
#[allow(clippy::large_enum_variant, reason = "there are few of them, and none is moved often")]
pub(crate) enum Argument {
    /// A place, recorded by name.
    Place(Place),
    /// `keep x`, `keep x: T`: a place whose value is an operand.
    KeptPlace { place: Place, width: Option<Type> },
    /// `keep name = value`: an expression whose value is an operand. Without a name it is named as
    /// it is written.
    KeptValue { name: String, span: Span, width: Option<Type>, value: Box<Expr> },
}

impl Argument {
    /// The argument as the record has it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Place(place) | Self::KeptPlace { place, .. } => place.text.clone(),
            Self::KeptValue { name, .. } => name.clone(),
        }
    }

    /// Where an error about the argument points.
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Place(place) | Self::KeptPlace { place, .. } => place.span(),
            Self::KeptValue { span, .. } => *span,
        }
    }

    /// The argument with `keep` before it. One that has it already stays as it is.
    pub(crate) fn into_kept(self) -> Self {
        match self {
            Self::Place(place) => Self::KeptPlace { place, width: None },
            kept @ (Self::KeptPlace { .. } | Self::KeptValue { .. }) => kept,
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        !matches!(self, Self::Place(_))
    }

    /// Whether the argument is `&x`.
    pub(crate) fn is_address(&self) -> bool {
        match self {
            Self::Place(place) | Self::KeptPlace { place, .. } => place.is_address,
            Self::KeptValue { .. } => false,
        }
    }

    /// The type of a kept argument, if it is given: `keep x: T`.
    pub(crate) fn width(&self) -> Option<&Type> {
        match self {
            Self::Place(_) => None,
            Self::KeptPlace { width, .. } | Self::KeptValue { width, .. } => width.as_ref(),
        }
    }
}
