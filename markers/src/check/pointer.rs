//! Pointers: `%p`.

use core::fmt;
use core::mem::MaybeUninit;

/// Always compiles: `%p` shows any address.
pub const fn address<T: ?Sized>(_: *const T) {}

/// The type is a pointer, directly or in an `Option`; `Form` tells the two implementations apart.
#[diagnostic::on_unimplemented(
    message = "`%p` expects a reference, raw pointer, NonNull, Box, Rc, Arc, function pointer or an Option of one, given `{Self}`",
    label = "not a pointer: write `&` before the place for its address, or use the conversion for its type"
)]
pub trait Pointer<Form> {}

/// Compiles if `%p` shows a `T`.
pub const fn pointer<T: ?Sized + Pointer<Form>, Form>(_: *const T) {}

/// An address, for a probe.
#[inline(always)]
pub fn address_word<T: ?Sized>(pointer: *const T) -> u64 {
    pointer.cast::<()>() as usize as u64
}

/// The address in a pointer that `%p` shows. It is the first word of every pointer type of the
/// standard library; of another type that implements `fmt::Pointer`, it is that type's first word.
#[inline(always)]
pub fn pointer_word<T: ?Sized + Pointer<Form>, Form>(value: &T) -> MaybeUninit<u64> {
    if size_of_val(value) < size_of::<u64>() {
        return MaybeUninit::new(0);
    }
    // SAFETY: the value has that many bytes, and any bytes are a `MaybeUninit`.
    unsafe { (&raw const *value).cast::<MaybeUninit<u64>>().read_unaligned() }
}

/// The type is a pointer.
#[derive(Debug)]
pub enum Direct {}

/// The type is an `Option` of a pointer.
#[derive(Debug)]
pub enum Optional {}

// `fmt::Pointer` is exactly the list that `%p` needs; it includes function pointers of every
// signature.
#[diagnostic::do_not_recommend]
impl<T: ?Sized + fmt::Pointer> Pointer<Direct> for T {}

#[diagnostic::do_not_recommend]
impl<T: fmt::Pointer> Pointer<Optional> for Option<T> {}
