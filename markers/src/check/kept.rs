//! Kept arguments: the types that can be an operand of the assembly.

use core::ffi::c_char;

use super::shown::{Fits, Narrow, Wide};
use crate::conversion::Conversion;

/// A number that fits a register. `As` is the right conversion, to be compared with `L`.
#[diagnostic::on_unimplemented(
    message = "`keep` with `%{L}` takes integers, bool, char and floats, given `{Self}`",
    label = "keep a number instead: `keep name = ...`"
)]
pub trait KeptScalar<L> {
    type As;
}

/// Compiles if a `T` can be kept and conversion `L` shows it.
pub const fn kept_scalar<L: Conversion, T: KeptScalar<L>>(_: *const T)
where
    T::As: Fits<L, T, L::Expected> + Narrow<T>,
{
}

/// The type is a thin pointer.
#[diagnostic::on_unimplemented(
    message = "`keep` with `%p` takes thin references and pointers, given `{Self}`",
    label = "keep a thin pointer: `keep p = x.as_ptr()`, `keep p = f as *const ()`"
)]
pub trait KeptPointer {}

/// Compiles if a `T` can be kept and `%p` shows it.
pub const fn kept_pointer<T: KeptPointer>(_: *const T) {}

/// Compiles if the address of a `T` is thin.
pub const fn kept_address<T>(_: *const T) {}

/// The type is a pointer to C characters.
#[diagnostic::on_unimplemented(
    message = "`keep` with `%s` takes a `*const c_char`, which one register holds, given `{Self}`",
    label = "mark the place itself without `keep`",
    note = "of a `str`, `String`, `[u8]` or `Vec<u8>` keep the length and the pointer: `\"%.*s\", keep length = s.len() as i32, keep s = s.as_ptr().cast::<core::ffi::c_char>()`",
    note = "of a `CStr` or `CString` keep the pointer: `\"%s\", keep s = s.as_ptr()`"
)]
pub trait KeptText {}

/// Compiles if a `T` can be kept and `%s` shows it.
pub const fn kept_text<T: KeptText>(_: *const T) {}

/// The type can be the width or precision of a `*`, and fits a register.
#[diagnostic::on_unimplemented(
    message = "`keep` for a `*` of the format takes an i32 (i8, i16), given `{Self}`",
    label = "make it an `i32`"
)]
pub trait KeptStar {}

/// Compiles if a `T` can be kept and a `*` takes it.
pub const fn kept_star<T: KeptStar>(_: *const T) {}

/// Implements [`KeptScalar`].
macro_rules! scalars {
    ($($type:ident $right:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<L: Conversion> KeptScalar<L> for $type {
            type As = L::$right;
        }
    )*};
}

scalars! {
    i8 I8 i16 I16 i32 I32 i64 I64 isize Isize
    u8 U8 u16 U16 u32 U32 u64 U64 usize Usize
    bool Bool char Char f32 Float f64 Float
}

#[diagnostic::do_not_recommend]
impl<L: Conversion> KeptScalar<L> for i128 {
    type As = Wide;
}
#[diagnostic::do_not_recommend]
impl<L: Conversion> KeptScalar<L> for u128 {
    type As = Wide;
}

#[diagnostic::do_not_recommend]
impl<T> KeptPointer for &T {}
#[diagnostic::do_not_recommend]
impl<T> KeptPointer for &mut T {}
#[diagnostic::do_not_recommend]
impl<T> KeptPointer for *const T {}
#[diagnostic::do_not_recommend]
impl<T> KeptPointer for *mut T {}

#[diagnostic::do_not_recommend]
impl KeptText for *const c_char {}
#[diagnostic::do_not_recommend]
impl KeptText for *mut c_char {}

#[diagnostic::do_not_recommend]
impl KeptStar for i8 {}
#[diagnostic::do_not_recommend]
impl KeptStar for i16 {}
#[diagnostic::do_not_recommend]
impl KeptStar for i32 {}
