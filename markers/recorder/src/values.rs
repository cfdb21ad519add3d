//! The values of a hit as types of Rust.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::str::Split;

use simple_markers_record::buffer::{event, value};

use crate::Probe;

/// A hit of a probe with a handler.
pub struct Hit<'a> {
    probe: Probe,
    words: *const u64,
    /// The words and the texts live while the handler runs.
    values: PhantomData<&'a [u64]>,
}

impl<'a> Hit<'a> {
    // Without a recorder there are no hits.
    #[cfg_attr(not(recorder), allow(dead_code))]
    /// # Safety
    ///
    /// These are the words of a hit of the probe, and they and the texts live for `'a`.
    pub(crate) unsafe fn new(probe: Probe, words: *const u64) -> Self {
        Self { probe, words, values: PhantomData }
    }

    /// The probe: its name, format, arguments and place.
    #[must_use]
    pub fn probe(&self) -> Probe {
        self.probe
    }

    /// The values of the arguments.
    #[must_use]
    pub fn values(&self) -> Values<'a> {
        let left = self.probe.layout().arguments();
        Values { types: self.probe.types().split(' '), left, words: Words(self.words, PhantomData) }
    }
}

impl fmt::Debug for Hit<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Hit").field("probe", &self.probe.name()).field("values", &self.values()).finish()
    }
}

/// The value of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A floating-point number.
    Float(f64),
    /// A pointer.
    Pointer(*const ()),
    /// A text; of a C string at most the first 256 bytes.
    Text(&'a [u8]),
    /// A value of any type.
    Whole(WholeValue<'a>),
}

/// A value of any type: the bytes of a place, or those behind a reference, a `Box`, a slice, a `Vec` or a
/// `String`.
#[derive(Clone, Copy)]
pub struct WholeValue<'a> {
    bytes: &'a [MaybeUninit<u8>],
    is_behind: bool,
}

impl<'a> WholeValue<'a> {
    /// All bytes. Those of its padding may have no value.
    #[must_use]
    pub fn bytes(&self) -> &'a [MaybeUninit<u8>] {
        self.bytes
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the bytes are behind a pointer that the place has.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }
}

impl fmt::Debug for WholeValue<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "<{} bytes>", self.size())
    }
}

/// Those of whole values are compared by their place in memory.
impl PartialEq for WholeValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.bytes, other.bytes) && self.is_behind == other.is_behind
    }
}

/// The words of a hit that were not read yet.
#[derive(Clone, Copy)]
pub struct Words<'a>(*const u64, PhantomData<&'a [u64]>);

impl<'a> Words<'a> {
    /// # Safety
    ///
    /// There is one more.
    unsafe fn next(&mut self) -> u64 {
        // SAFETY: as the caller says.
        unsafe {
            let word = self.0.read();
            self.0 = self.0.add(1);
            word
        }
    }

    /// # Safety
    ///
    /// The next two words are a text.
    unsafe fn text(&mut self) -> &'a [u8] {
        // SAFETY: as the caller says. A text is in memory while the probe is passed.
        unsafe {
            let (text, length) = (self.next() as *const u8, self.next());
            if text.is_null() {
                return &[];
            }
            let is_c_string = length == u64::MAX;
            let length = if is_c_string { measure(text, length).0.into() } else { length.min(isize::MAX as u64) };
            core::slice::from_raw_parts(text, length as usize)
        }
    }

    /// # Safety
    ///
    /// The next two words are a whole value.
    unsafe fn whole(&mut self) -> WholeValue<'a> {
        // SAFETY: as the caller says. A value is in memory while the probe is passed, and any bytes are
        // `MaybeUninit`.
        unsafe {
            let (place, word) = (self.next() as *const u8, self.next());
            let (at, is_behind) = (bytes_at(place, word), word as u32 & value::BEHIND != 0);
            let size = value::size(word as u32).unwrap_or(value::NO_SIZE) as usize;
            let bytes = if at.is_null() { &[] } else { core::slice::from_raw_parts(at.cast(), size) };
            WholeValue { bytes, is_behind }
        }
    }
}

/// The values of a hit, in the order of the arguments.
#[derive(Clone)]
pub struct Values<'a> {
    /// The types of those that are left.
    types: Split<'static, char>,
    left: u32,
    words: Words<'a>,
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        let kind = self.types.next().unwrap_or_default();
        // SAFETY: the probe has as many values, and their types say which words they have.
        unsafe {
            Some(match kind {
                "s" => Value::Text(self.words.text()),
                "v" => Value::Whole(self.words.whole()),
                "8f" => Value::Float(f64::from_bits(self.words.next())),
                "8p" => Value::Pointer(self.words.next() as *const ()),
                kind if kind.starts_with('-') => Value::Signed(self.words.next() as i64),
                _ => Value::Unsigned(self.words.next()),
            })
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Values<'_> {}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.clone()).finish()
    }
}

/// Why values are not those that were asked for.
#[derive(Clone, Copy, Debug)]
pub enum Mismatch {
    /// The number of arguments.
    Count { arguments: usize, asked: usize },
    /// The type of an argument.
    Type { argument: usize, is: &'static str, asked: &'static str },
}

/// The arguments that a handler takes: a tuple of up to twelve, or [`Values`] for any.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take `{Self}`",
    note = "it takes a tuple of `i32`, `u32`, `i64`, `u64`, `isize`, `usize`, `f64`, `*const ()`, `&[u8]` and `WholeValue`, or `Values`",
    note = "a tuple of one is written `(u64,)`; a text is `&[u8]`, because it may not be UTF-8"
)]
pub trait Arguments: sealed::Seal {
    /// The arguments of a hit that lives for `'a`.
    type Of<'a>;

    /// Whether a probe has these arguments.
    #[doc(hidden)]
    fn check(probe: &Probe) -> Result<(), Mismatch>;

    /// The arguments of a hit.
    ///
    /// # Safety
    ///
    /// The probe has these arguments.
    #[doc(hidden)]
    unsafe fn of<'a>(hit: &Hit<'a>) -> Self::Of<'a>;
}

/// One argument that a handler takes.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take an argument of type `{Self}`",
    note = "it takes `i32`, `u32`, `i64`, `u64`, `isize`, `usize`, `f64`, `*const ()`, `&[u8]` and `WholeValue`",
    note = "a text is `&[u8]`, because it may not be UTF-8: use `core::str::from_utf8` or `String::from_utf8_lossy`"
)]
pub trait Argument: sealed::Seal {
    /// The argument of a hit that lives for `'a`.
    type Of<'a>;

    /// The type, as written.
    #[doc(hidden)]
    const NAME: &'static str;

    /// The types of arguments whose values it holds, as in a descriptor.
    #[doc(hidden)]
    const HOLDS: &'static [&'static str];

    /// The next argument.
    ///
    /// # Safety
    ///
    /// It has one of the types.
    #[doc(hidden)]
    unsafe fn of<'a>(words: &mut Words<'a>) -> Self::Of<'a>;
}

mod sealed {
    pub trait Seal {}
}

/// A type of a descriptor, as a type of Rust.
fn name(kind: &str) -> &'static str {
    match kind {
        "s" => "&[u8]",
        "v" => "WholeValue",
        "8f" => "f64",
        "8p" => "*const ()",
        "-4" => "i32",
        "4" => "u32",
        "-8" => "i64",
        "8" => "u64",
        _ => "unknown",
    }
}

macro_rules! scalars {
    ($($type:ty: [$($kind:literal),*] = $word:ident => $value:expr;)*) => {$(
        impl sealed::Seal for $type {}
        impl Argument for $type {
            type Of<'a> = $type;
            const NAME: &'static str = stringify!($type);
            const HOLDS: &'static [&'static str] = &[$($kind),*];

            unsafe fn of<'a>(words: &mut Words<'a>) -> $type {
                // SAFETY: as the caller says.
                let $word = unsafe { words.next() };
                $value
            }
        }
    )*};
}

// A word has the value with its sign.
scalars! {
    i32: ["-4"] = word => word as i32;
    u32: ["4"] = word => word as u32;
    i64: ["-8", "-4", "4"] = word => word as i64;
    u64: ["8", "4"] = word => word;
    isize: ["-8", "-4", "4"] = word => word as isize;
    usize: ["8", "4"] = word => word as usize;
    f64: ["8f"] = word => f64::from_bits(word);
    *const (): ["8p"] = word => word as *const ();
}

impl sealed::Seal for &[u8] {}
impl Argument for &[u8] {
    type Of<'a> = &'a [u8];
    const NAME: &'static str = "&[u8]";
    const HOLDS: &'static [&'static str] = &["s"];

    unsafe fn of<'a>(words: &mut Words<'a>) -> &'a [u8] {
        // SAFETY: as the caller says.
        unsafe { words.text() }
    }
}

impl sealed::Seal for WholeValue<'_> {}
impl Argument for WholeValue<'_> {
    type Of<'a> = WholeValue<'a>;
    const NAME: &'static str = "WholeValue";
    const HOLDS: &'static [&'static str] = &["v"];

    unsafe fn of<'a>(words: &mut Words<'a>) -> WholeValue<'a> {
        // SAFETY: as the caller says.
        unsafe { words.whole() }
    }
}

impl sealed::Seal for Values<'_> {}
impl Arguments for Values<'_> {
    type Of<'a> = Values<'a>;

    fn check(_: &Probe) -> Result<(), Mismatch> {
        Ok(())
    }

    unsafe fn of<'a>(hit: &Hit<'a>) -> Values<'a> {
        hit.values()
    }
}

/// What a handler takes: name and types.
type Parameter = (&'static str, &'static [&'static str]);

fn check(probe: &Probe, asked: &[Parameter]) -> Result<(), Mismatch> {
    let arguments = probe.layout().arguments() as usize;
    if arguments != asked.len() {
        return Err(Mismatch::Count { arguments, asked: asked.len() });
    }
    let mut pairs = probe.types().split(' ').zip(asked).enumerate();
    match pairs.find(|(_, (kind, (_, holds)))| !holds.contains(kind)) {
        Some((argument, (kind, (asked, _)))) => Err(Mismatch::Type { argument, is: name(kind), asked }),
        None => Ok(()),
    }
}

macro_rules! tuples {
    ($($argument:ident)*) => {
        impl<$($argument: Argument),*> sealed::Seal for ($($argument,)*) {}
        impl<$($argument: Argument),*> Arguments for ($($argument,)*) {
            type Of<'a> = ($($argument::Of<'a>,)*);

            fn check(probe: &Probe) -> Result<(), Mismatch> {
                check(probe, &[$(($argument::NAME, $argument::HOLDS)),*])
            }

            #[allow(unused_mut, unused_variables, unused_unsafe, clippy::unused_unit)]
            unsafe fn of<'a>(hit: &Hit<'a>) -> Self::Of<'a> {
                let mut words = Words(hit.words, PhantomData);
                // SAFETY: as the caller says.
                unsafe { ($($argument::of(&mut words),)*) }
            }
        }
    };
}

tuples! {}
tuples! { A }
tuples! { A B }
tuples! { A B C }
tuples! { A B C D }
tuples! { A B C D E }
tuples! { A B C D E F }
tuples! { A B C D E F G }
tuples! { A B C D E F G H }
tuples! { A B C D E F G H I }
tuples! { A B C D E F G H I J }
tuples! { A B C D E F G H I J K }
tuples! { A B C D E F G H I J K L }

/// Where the bytes of a text or a whole value are, by its two words.
///
/// # Safety
///
/// The place of a whole value can be read.
pub(crate) unsafe fn bytes_at(place: *const u8, word: u64) -> *const u8 {
    match value::pointer(word) {
        // SAFETY: as the caller says. There is a pointer.
        Some(number) => unsafe { place.cast::<*const u8>().add(number as usize).read_unaligned() },
        None => place,
    }
}

/// How many bytes of a text or a whole value are copied, and the length that is recorded.
///
/// # Safety
///
/// The text can be read.
pub(crate) unsafe fn measure(text: *const u8, length: u64) -> (u32, u32) {
    let most = event::MAX_TEXT as u32;
    if text.is_null() {
        return (0, 0);
    }
    if value::is_value(length) {
        let size = value::size(length as u32).unwrap_or(value::NO_SIZE);
        return (size.min(event::MAX_VALUE as u32), length as u32);
    }
    if length != u64::MAX {
        let length = u32::try_from(length).unwrap_or(event::NO_LENGTH);
        return (length.min(most), length);
    }
    // SAFETY: the text goes on up to its NUL.
    match (0..most).find(|&offset| unsafe { text.add(offset as usize).read_volatile() } == 0) {
        Some(length) => (length, length),
        None => (most, event::NO_LENGTH),
    }
}
