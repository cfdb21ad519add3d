//! Numbers and characters: `%d`, `%lu`, `%c`, `%g` and so on.

use core::cell::Cell;
use core::ffi::CStr;
use core::num::{NonZero, Wrapping};
use core::ptr::NonNull;
use core::sync::atomic;

use crate::conversion::{Conversion, p, s};

/// Some conversion can show the type. `As` is the right one, to be compared with `L`.
#[diagnostic::on_unimplemented(
    message = "no conversion shows a `{Self}` as a number or as text",
    label = "mark one of its fields, or its address: `%p` with `&` before the place",
    note = "keep a 128-bit integer as two halves: `keep low = x as u64`"
)]
pub trait Shown<L> {
    type As;
}

/// The right conversion is the one in the format.
#[diagnostic::on_unimplemented(
    message = "`%{L}` expects {Expected}, given `{Given}`: use `%{Self}`",
    label = "use `%{Self}` for `{Given}`"
)]
pub trait Fits<L, Given: ?Sized, Expected> {}

#[diagnostic::do_not_recommend]
impl<L, Given: ?Sized, Expected> Fits<L, Given, Expected> for L {}

/// Compiles if conversion `L` shows a `T`.
pub const fn shown<L: Conversion, T: ?Sized + Shown<L>>(_: *const T)
where
    T::As: Fits<L, T, L::Expected>,
{
}

/// The type can be the width or precision of a `*`.
#[diagnostic::on_unimplemented(
    message = "a `*` of the format expects an i32 (i8, i16), given `{Self}`",
    label = "make it an `i32`"
)]
pub trait Star {}

/// Compiles if a `*` takes a `T`.
pub const fn star<T: ?Sized + Star>(_: *const T) {}

/// Implements [`Shown`] for a primitive, its wrappers and its atomic.
macro_rules! integers {
    ($($integer:ident $right:ident $atomic:ident $width:literal;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<L: Conversion> Shown<L> for $integer {
            type As = L::$right;
        }
        #[diagnostic::do_not_recommend]
        impl<L: Conversion> Shown<L> for NonZero<$integer> {
            type As = L::$right;
        }
        #[cfg(target_has_atomic = $width)]
        #[diagnostic::do_not_recommend]
        impl<L: Conversion> Shown<L> for atomic::$atomic {
            type As = L::$right;
        }
    )*};
}

integers! {
    i8 I8 AtomicI8 "8";
    i16 I16 AtomicI16 "16";
    i32 I32 AtomicI32 "32";
    i64 I64 AtomicI64 "64";
    isize Isize AtomicIsize "ptr";
    u8 U8 AtomicU8 "8";
    u16 U16 AtomicU16 "16";
    u32 U32 AtomicU32 "32";
    u64 U64 AtomicU64 "64";
    usize Usize AtomicUsize "ptr";
}

/// Implements [`Shown`] for types whose conversion is `$right`, in terms of `$L`.
macro_rules! shown_as {
    ($L:ident: $($(#[$meta:meta])* [$($generics:tt)*] $type:ty => $right:ty;)*) => {$(
        $(#[$meta])*
        #[diagnostic::do_not_recommend]
        impl<$L: Conversion, $($generics)*> Shown<$L> for $type {
            type As = $right;
        }
    )*};
}

shown_as! { L:
    [] bool => L::Bool;
    #[cfg(target_has_atomic = "8")]
    [] atomic::AtomicBool => L::Bool;
    [] char => L::Char;
    [] f32 => L::Float;
    [] f64 => L::Float;
    [T: ?Sized + Shown<L>] &T => T::As;
    [T: ?Sized + Shown<L>] &mut T => T::As;
    [T: Shown<L>] Wrapping<T> => T::As;
    [T: Shown<L>] Cell<T> => T::As;
    [] str => s;
    [] CStr => s;
    [] [u8] => s;
    [const N: usize] [u8; N] => s;
    [T: ?Sized] *const T => p;
    [T: ?Sized] *mut T => p;
    [T: ?Sized] NonNull<T> => p;
    #[cfg(feature = "alloc")]
    [] alloc::string::String => s;
    #[cfg(feature = "alloc")]
    [] alloc::ffi::CString => s;
    #[cfg(feature = "alloc")]
    [] alloc::vec::Vec<u8> => s;
    #[cfg(feature = "alloc")]
    [T: ?Sized] alloc::boxed::Box<T> => p;
    #[cfg(feature = "alloc")]
    [T: ?Sized] alloc::rc::Rc<T> => p;
    #[cfg(feature = "alloc")]
    [T: ?Sized] alloc::sync::Arc<T> => p;
    #[cfg(feature = "alloc")]
    [] alloc::borrow::Cow<'_, str> => s;
    #[cfg(feature = "alloc")]
    [] alloc::borrow::Cow<'_, CStr> => s;
    #[cfg(feature = "alloc")]
    [] alloc::borrow::Cow<'_, [u8]> => s;
    [T: ?Sized] Option<&T> => p;
    [T: ?Sized] Option<&mut T> => p;
    [T: ?Sized] Option<NonNull<T>> => p;
    #[cfg(feature = "alloc")]
    [T: ?Sized] Option<alloc::boxed::Box<T>> => p;
    #[cfg(feature = "alloc")]
    [T: ?Sized] Option<alloc::rc::Rc<T>> => p;
    #[cfg(feature = "alloc")]
    [T: ?Sized] Option<alloc::sync::Arc<T>> => p;
}

/// Implements [`Star`].
macro_rules! star {
    ($($type:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl Star for $type {}
        #[diagnostic::do_not_recommend]
        impl Star for NonZero<$type> {}
    )*};
}

star! { i8 i16 i32 }

#[diagnostic::do_not_recommend]
impl<T: ?Sized + Star> Star for &T {}
#[diagnostic::do_not_recommend]
impl<T: ?Sized + Star> Star for &mut T {}
#[diagnostic::do_not_recommend]
impl<T: Star> Star for Wrapping<T> {}
#[diagnostic::do_not_recommend]
impl<T: Star> Star for Cell<T> {}
