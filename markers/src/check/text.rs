//! Text: `%s`.

use core::ffi::{CStr, c_char};

/// The type is text, or points to text.
#[diagnostic::on_unimplemented(
    message = "`%s` expects text (str, String, CStr, CString, Box, Rc, Arc or Cow of them, [u8], Vec<u8>, *const c_char), given `{Self}`",
    label = "not text: use a conversion such as `%d` for a number, `%p` for a pointer"
)]
pub trait Text {
    /// The address of the first byte and the length in bytes; `usize::MAX` if a NUL ends it.
    fn words(&self) -> (*const u8, usize);
}

/// Compiles if `%s` shows a `T`.
pub const fn text<T: ?Sized + Text>(_: *const T) {}

/// The text that `%s` shows, for a probe.
#[inline(always)]
pub fn text_words<T: ?Sized + Text>(value: &T) -> (*const u8, usize) {
    value.words()
}

/// Implements [`Text`].
macro_rules! text {
    ($($(#[$meta:meta])* [$($generics:tt)*] $type:ty, $value:ident: $words:expr;)*) => {$(
        $(#[$meta])*
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Text for $type {
            #[inline(always)]
            fn words(&self) -> (*const u8, usize) {
                let $value = self;
                $words
            }
        }
    )*};
}

text! {
    [] str, value: (value.as_ptr(), value.len());
    [] CStr, value: (value.as_ptr().cast(), value.count_bytes());
    [] [u8], value: (value.as_ptr(), value.len());
    [const N: usize] [u8; N], value: (value.as_ptr(), N);
    [] *const c_char, value: (value.cast(), usize::MAX);
    [] *mut c_char, value: (value.cast_const().cast(), usize::MAX);
    [T: ?Sized + Text] &T, value: (**value).words();
    [T: ?Sized + Text] &mut T, value: (**value).words();
    #[cfg(feature = "alloc")]
    [] alloc::string::String, value: (value.as_ptr(), value.len());
    #[cfg(feature = "alloc")]
    [] alloc::ffi::CString, value: value.as_c_str().words();
    #[cfg(feature = "alloc")]
    [] alloc::vec::Vec<u8>, value: (value.as_ptr(), value.len());
    #[cfg(feature = "alloc")]
    [T: ?Sized + Text] alloc::boxed::Box<T>, value: (**value).words();
    #[cfg(feature = "alloc")]
    [T: ?Sized + Text] alloc::rc::Rc<T>, value: (**value).words();
    #[cfg(feature = "alloc")]
    [T: ?Sized + Text] alloc::sync::Arc<T>, value: (**value).words();
    #[cfg(feature = "alloc")]
    ['a, T: ?Sized + Text + alloc::borrow::ToOwned] alloc::borrow::Cow<'a, T>, value: (**value).words();
}
