//! Pointers: `%p`.

use core::fmt;

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
