//! Enumerations: `%d{}`.
//!
//! No trait says that a type is an enumeration without fields, but the operator `as` takes one. The
//! expansion has both: a cast, and a call that checks a number as without `{}`.

use core::marker::PhantomData;

use super::shown::{Fits, Narrow, Shown};
use crate::conversion::Conversion;

/// An argument of type `T` for conversion `L`. Its method `kind` is that of the implementation if a
/// conversion shows the type, else that of [`OtherKind`].
#[derive(Debug)]
pub struct Named<L, T>(PhantomData<(L, fn() -> T)>);

/// The argument that the pointer points to.
pub const fn named<L: Conversion, T>(_: *const T) -> Named<L, T> {
    Named(PhantomData)
}

impl<L: Conversion, T: Shown<L>> Named<L, T> {
    /// A type that a conversion shows.
    #[must_use]
    pub const fn kind(&self) -> Plain<L, T> {
        Plain(PhantomData)
    }
}

/// Any type.
pub trait OtherKind {
    /// A type that no conversion shows.
    fn kind(&self) -> Other {
        Other
    }
}

impl<L, T> OtherKind for Named<L, T> {}

/// A type that some conversion shows.
#[derive(Debug)]
pub struct Plain<L, T>(PhantomData<(L, fn() -> T)>);

impl<L: Conversion, T: Shown<L>> Plain<L, T> {
    /// Compiles if the conversion is the right one.
    pub const fn right(&self)
    where
        T::As: Fits<L, T, L::Expected> + Narrow<T>,
    {
    }
}

/// A type that no conversion shows. It is an enumeration if the cast compiles.
#[derive(Debug)]
pub struct Other;

impl Other {
    /// Compiles.
    pub const fn right(&self) {}
}
