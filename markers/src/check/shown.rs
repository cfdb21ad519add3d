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
    label = "mark one of its fields, or its address: `%p` with `&` before the place"
)]
pub trait Shown<L> {
    type As;

    /// The number in 64 bits, for a probe; a float as an `f64`. 0 for what is no number, which no
    /// conversion of numbers shows.
    fn word(&self) -> u64 {
        0
    }
}

/// The right conversion is the one in the format.
#[diagnostic::on_unimplemented(
    message = "`%{L}` expects {Expected}, given `{Given}`: use `%{Self}`",
    label = "use `%{Self}` for `{Given}`"
)]
pub trait Fits<L, Given: ?Sized, Expected> {}

#[diagnostic::do_not_recommend]
impl<L: Conversion, Given: ?Sized, Expected> Fits<L, Given, Expected> for L {}

/// In place of the right conversion: none is right for 128 bits.
#[derive(Debug)]
pub enum Wide {}

// `Narrow` has the message.
#[diagnostic::do_not_recommend]
impl<L, Given: ?Sized, Expected> Fits<L, Given, Expected> for Wide {}

/// Some conversion is right for the type.
#[diagnostic::on_unimplemented(
    message = "no conversion shows the 128 bits of `{Given}`",
    label = "keep two halves: `\"%lx %016lx\", keep high = (x >> 64) as u64, keep low = x as u64`"
)]
pub trait Narrow<Given: ?Sized> {}

#[diagnostic::do_not_recommend]
impl<L: Conversion, Given: ?Sized> Narrow<Given> for L {}
#[diagnostic::do_not_recommend]
impl<Given: ?Sized> Narrow<Given> for s {}
#[diagnostic::do_not_recommend]
impl<Given: ?Sized> Narrow<Given> for p {}

/// Compiles if conversion `L` shows a `T`.
pub const fn shown<L: Conversion, T: ?Sized + Shown<L>>(_: *const T)
where
    T::As: Fits<L, T, L::Expected> + Narrow<T>,
{
}

/// The value of a `T` that conversion `L` shows.
#[inline(always)]
pub fn word<L: Conversion, T: ?Sized + Shown<L>>(value: &T) -> u64
where
    T::As: Fits<L, T, L::Expected> + Narrow<T>,
{
    value.word()
}

/// The type can be the width or precision of a `*`.
#[diagnostic::on_unimplemented(
    message = "a `*` of the format expects an i32 (i8, i16), given `{Self}`",
    label = "make it an `i32`"
)]
pub trait Star {
    /// The number in 64 bits.
    fn word(&self) -> u64;
}

/// Compiles if a `*` takes a `T`.
pub const fn star<T: ?Sized + Star>(_: *const T) {}

/// The value of a width or precision.
#[inline(always)]
pub fn star_word<T: ?Sized + Star>(value: &T) -> u64 {
    value.word()
}

/// Implements [`Shown`] for a primitive, its wrappers and its atomic.
macro_rules! integers {
    ($($integer:ident $right:ident $atomic:ident $width:literal;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<L: Conversion> Shown<L> for $integer {
            type As = L::$right;
            #[inline(always)]
            fn word(&self) -> u64 {
                *self as i64 as u64
            }
        }
        #[diagnostic::do_not_recommend]
        impl<L: Conversion> Shown<L> for NonZero<$integer> {
            type As = L::$right;
            #[inline(always)]
            fn word(&self) -> u64 {
                self.get() as i64 as u64
            }
        }
        #[cfg(target_has_atomic = $width)]
        #[diagnostic::do_not_recommend]
        impl<L: Conversion> Shown<L> for atomic::$atomic {
            type As = L::$right;
            #[inline(always)]
            fn word(&self) -> u64 {
                self.load(atomic::Ordering::Relaxed) as i64 as u64
            }
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

/// Implements [`Shown`] for types whose conversion is `$right`, in terms of `$L`; `$word` is the
/// number in 64 bits.
macro_rules! shown_as {
    ($L:ident: $($(#[$meta:meta])* [$($generics:tt)*] $type:ty => $right:ty $(, $value:ident: $word:expr)?;)*) => {$(
        $(#[$meta])*
        #[diagnostic::do_not_recommend]
        impl<$L: Conversion, $($generics)*> Shown<$L> for $type {
            type As = $right;
            $(
                #[inline(always)]
                fn word(&self) -> u64 {
                    let $value = self;
                    $word
                }
            )?
        }
    )*};
}

shown_as! { L:
    [] i128 => Wide;
    [] u128 => Wide;
    [] bool => L::Bool, value: u64::from(*value);
    #[cfg(target_has_atomic = "8")]
    [] atomic::AtomicBool => L::Bool, value: u64::from(value.load(atomic::Ordering::Relaxed));
    [] char => L::Char, value: u64::from(*value);
    [] f32 => L::Float, value: f64::from(*value).to_bits();
    [] f64 => L::Float, value: value.to_bits();
    [T: ?Sized + Shown<L>] &T => T::As, value: (**value).word();
    [T: ?Sized + Shown<L>] &mut T => T::As, value: (**value).word();
    [T: Shown<L>] Wrapping<T> => T::As, value: value.0.word();
    // SAFETY: no implementation of `word` writes to a cell.
    [T: Shown<L>] Cell<T> => T::As, value: unsafe { &*value.as_ptr() }.word();
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
    ($([$($generics:tt)*] $type:ty, $value:ident: $word:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Star for $type {
            #[inline(always)]
            fn word(&self) -> u64 {
                let $value = self;
                $word
            }
        }
    )*};
}

star! {
    [] i8, value: *value as i64 as u64;
    [] i16, value: *value as i64 as u64;
    [] i32, value: *value as i64 as u64;
    [] NonZero<i8>, value: value.get() as i64 as u64;
    [] NonZero<i16>, value: value.get() as i64 as u64;
    [] NonZero<i32>, value: value.get() as i64 as u64;
    [T: ?Sized + Star] &T, value: (**value).word();
    [T: ?Sized + Star] &mut T, value: (**value).word();
    [T: Star] Wrapping<T>, value: value.0.word();
    // SAFETY: no implementation of `word` writes to a cell.
    [T: Star] Cell<T>, value: unsafe { &*value.as_ptr() }.word();
}
