//! Text: `%s`.

use core::ffi::{CStr, c_char};

/// The type is text, or points to text.
#[diagnostic::on_unimplemented(
    message = "`%s` expects text (str, String, CStr, CString, Box, Rc, Arc or Cow of them, [u8], Vec<u8>, *const c_char), given `{Self}`",
    label = "not text: use a conversion such as `%d` for a number, `%p` for a pointer"
)]
pub trait Text {}

/// Compiles if `%s` shows a `T`.
pub const fn text<T: ?Sized + Text>(_: *const T) {}

/// Implements [`Text`].
macro_rules! text {
    ($($(#[$meta:meta])* [$($generics:tt)*] $type:ty;)*) => {$(
        $(#[$meta])*
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Text for $type {}
    )*};
}

text! {
    [] str;
    [] CStr;
    [] [u8];
    [const N: usize] [u8; N];
    [] *const c_char;
    [] *mut c_char;
    [T: ?Sized + Text] &T;
    [T: ?Sized + Text] &mut T;
    #[cfg(feature = "alloc")]
    [] alloc::string::String;
    #[cfg(feature = "alloc")]
    [] alloc::ffi::CString;
    #[cfg(feature = "alloc")]
    [] alloc::vec::Vec<u8>;
    #[cfg(feature = "alloc")]
    [T: ?Sized + Text] alloc::boxed::Box<T>;
    #[cfg(feature = "alloc")]
    [T: ?Sized + Text] alloc::rc::Rc<T>;
    #[cfg(feature = "alloc")]
    [T: ?Sized + Text] alloc::sync::Arc<T>;
    #[cfg(feature = "alloc")]
    ['a, T: ?Sized + Text + alloc::borrow::ToOwned] alloc::borrow::Cow<'a, T>;
}
