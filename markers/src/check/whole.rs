//! Whole values of a probe: `%p{..}`, and `{}` of Rust's notation.
//!
//! The bytes of a value are those of its place. Of a reference, a `Box`, a slice, a `Vec` or a `String` they
//! are those that it leads to. No trait says which types these are, so the expansion calls a method that two
//! implementations have, and the compiler takes the one for the type. In generic code nothing is known of a
//! type parameter: there the bytes are those of the place.

#[cfg(feature = "alloc")]
use core::mem::ManuallyDrop;
use core::ptr;

/// A place of any type.
#[derive(Debug)]
pub struct ValuePlace<T: ?Sized>(*const T);

/// The place that the pointer points to.
pub const fn value_place<T: ?Sized>(place: *const T) -> ValuePlace<T> {
    ValuePlace(place)
}

/// A place, and which bytes belong to it.
#[derive(Clone, Copy, Debug)]
pub struct ValueExtent {
    place: *const (),
    /// How many bytes there are.
    size: usize,
    /// The number of the word of the place that points to the bytes; `None` if they are in the place.
    pointer: Option<u32>,
}

impl ValueExtent {
    /// The address of the place, and the word that says which bytes belong to it, of these parts: for no
    /// bytes in the place, for no bytes behind its first word, what the next word adds to that, and the
    /// largest size.
    #[must_use]
    pub fn words<const IN_PLACE: u64, const BEHIND: u64, const NEXT: u64, const LARGEST: u64>(
        self,
    ) -> (*const (), u64) {
        let start = match self.pointer {
            None => IN_PLACE,
            Some(number) => BEHIND + NEXT * u64::from(number),
        };
        (self.place, start + (self.size as u64).min(LARGEST))
    }
}

/// The value is behind a pointer.
pub trait Behind: Sized {
    /// The address of the bytes, and how many there are.
    ///
    /// # Safety
    ///
    /// The place, which need not be aligned, has a value.
    unsafe fn bytes(place: *const Self) -> (*const (), usize);
}

impl<T: Behind> ValuePlace<T> {
    /// The bytes behind the pointer.
    ///
    /// # Safety
    ///
    /// The place has a value.
    #[inline(always)]
    #[must_use]
    pub unsafe fn extent(&self) -> ValueExtent {
        let Self(place) = *self;
        // SAFETY: as the caller says.
        let (bytes, size) = unsafe { T::bytes(place) };
        let words = place.cast::<*const ()>();
        // SAFETY: a pointer, a length and a capacity are words.
        let is_it = |number: &usize| unsafe { ptr::addr_eq(words.add(*number).read_unaligned(), bytes) };
        let pointer = (0..size_of::<T>() / size_of::<*const ()>()).find(is_it);
        match pointer {
            Some(number) => ValueExtent { place: place.cast(), size, pointer: Some(number as u32) },
            None => ValueExtent { place: place.cast(), size: size_of::<T>(), pointer: None },
        }
    }
}

/// The size of the type is known.
#[diagnostic::on_unimplemented(
    message = "a probe shows a whole value whose size is known, given `{Self}`",
    label = "mark what points to it: `text` in place of `*text`"
)]
pub trait ValueSize {
    /// In bytes.
    const SIZE: usize;
}

#[diagnostic::do_not_recommend]
impl<T> ValueSize for T {
    const SIZE: usize = size_of::<T>();
}

/// Any place.
pub trait OtherPlace {
    /// The type of the value.
    type Of: ?Sized;

    /// The bytes of the place.
    ///
    /// # Safety
    ///
    /// The place has a value.
    unsafe fn extent(&self) -> ValueExtent
    where
        Self::Of: ValueSize;
}

impl<T: ?Sized> OtherPlace for ValuePlace<T> {
    type Of = T;

    #[inline(always)]
    unsafe fn extent(&self) -> ValueExtent
    where
        T: ValueSize,
    {
        ValueExtent { place: self.0.cast(), size: T::SIZE, pointer: None }
    }
}

/// Implements [`Behind`] for pointers.
macro_rules! behind {
    ($($(#[$meta:meta])* [$($generics:tt)*] $type:ty => $to:ty;)*) => {$(
        $(#[$meta])*
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Behind for $type {
            #[inline(always)]
            unsafe fn bytes(place: *const Self) -> (*const (), usize) {
                // SAFETY: as the caller says. A copy of a reference could end other borrows, so it is a raw
                // pointer; what it points to is there.
                unsafe {
                    let pointer = place.cast::<*const $to>().read_unaligned();
                    (pointer.cast(), size_of_val(&*pointer))
                }
            }
        }
    )*};
}

behind! {
    [T] &T => T;
    [T] &mut T => T;
    [] &str => str;
    [] &mut str => str;
    [T] &[T] => [T];
    [T] &mut [T] => [T];
    #[cfg(feature = "alloc")]
    [T] alloc::boxed::Box<T> => T;
    #[cfg(feature = "alloc")]
    [] alloc::boxed::Box<str> => str;
    #[cfg(feature = "alloc")]
    [T] alloc::boxed::Box<[T]> => [T];
}

#[cfg(feature = "alloc")]
impl<T> Behind for alloc::vec::Vec<T> {
    #[inline(always)]
    unsafe fn bytes(place: *const Self) -> (*const (), usize) {
        // SAFETY: as the caller says. The copy is not dropped.
        let copy = unsafe { ManuallyDrop::new(place.read_unaligned()) };
        (copy.as_ptr().cast(), copy.len() * size_of::<T>())
    }
}

#[cfg(feature = "alloc")]
impl Behind for alloc::string::String {
    #[inline(always)]
    unsafe fn bytes(place: *const Self) -> (*const (), usize) {
        // SAFETY: as the caller says. The copy is not dropped.
        let copy = unsafe { ManuallyDrop::new(place.read_unaligned()) };
        (copy.as_ptr().cast(), copy.len())
    }
}
