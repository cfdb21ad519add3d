//! A replacement of `simple-markers` whose markers print their arguments.
//!
//! A program that is built without optimisation and with this crate in place of `simple-markers`
//! writes a line for each pass of a marker to the file that the environment variable
//! `SIMPLE_MARKER_TWIN` names:
//!
//! ```text
//! NAME TAB FILE TAB LINE TAB THREAD (TAB VALUE)*
//! ```
//!
//! A backslash, a tab or a newline in the name is written as `\\`, `\t` or `\n`. A `VALUE` is the bytes
//! of the place in hexadecimal, in memory order. For a reference to a scalar or a text, `*` and the
//! bytes behind the reference follow. The type of the place, which the debug information of the
//! optimised program describes, says what the bytes mean.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;

#[doc(hidden)]
pub use simple_markers_twin_macros::marker;

/// The marker: evaluates its arguments and prints them.
#[macro_export]
macro_rules! simple_mark {
    ($($marker:tt)*) => { $crate::marker! { $crate twin $($marker)* } };
}

/// More bytes of a value are not printed.
const MOST: usize = 4096;

/// More bytes of a text are not printed.
const MOST_TEXT: usize = 256;

/// Prints one pass of a marker.
///
/// # Panics
///
/// The file cannot be written.
pub fn pass(name: &str, file: &str, line: u32, values: &[String]) {
    static OUTPUT: OnceLock<Option<File>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("SIMPLE_MARKER_TWIN")?;
        Some(File::options().create(true).append(true).open(path).expect("the file of SIMPLE_MARKER_TWIN"))
    };
    let Some(mut output) = OUTPUT.get_or_init(open).as_ref() else { return };
    let name = name.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n");
    let mut text = format!("{name}\t{file}\t{line}\t{}", number(std::thread::current().id()));
    for value in values {
        text.push('\t');
        text.push_str(value);
    }
    text.push('\n');
    output.write_all(text.as_bytes()).expect("the file of SIMPLE_MARKER_TWIN");
}

/// More places are not counted.
const PLACES: usize = 1 << 16;

static COUNTS: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

/// Counts a pass of the place with this number. When the program ends, it writes a line with the count
/// of each place to the file that the environment variable `SIMPLE_MARKER_COUNTS` names.
pub fn count(place: usize) {
    static AT_END: OnceLock<()> = OnceLock::new();
    AT_END.get_or_init(|| {
        // SAFETY: this is the function of the C library, which every program with `std` is linked with.
        unsafe { atexit(write_counts) };
    });
    if let Some(count) = COUNTS.get(place) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}

extern "C" fn write_counts() {
    let Some(path) = std::env::var_os("SIMPLE_MARKER_COUNTS") else { return };
    let mut text = String::new();
    for count in &COUNTS {
        let _ = writeln!(text, "{}", count.load(Ordering::Relaxed));
    }
    // A reader misses the file.
    let _ = std::fs::write(path, text);
}

/// The number of a thread, in the order in which threads are started.
fn number(thread: ThreadId) -> u64 {
    let text = format!("{thread:?}");
    text.trim_start_matches("ThreadId(").trim_end_matches(')').parse().unwrap_or(0)
}

/// A value that is an address: whether it is null.
pub fn address<T: ?Sized>(place: *const T) -> String {
    hex(&u64::from(!place.cast::<u8>().is_null()).to_le_bytes())
}

/// The bytes of a place, and those behind it.
///
/// # Safety
///
/// The place can be read.
pub unsafe fn value<T: ?Sized>(place: *const T) -> String {
    // SAFETY: the caller says so. Padding has any bytes, and nobody compares it.
    let bytes = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), size_of_val(&*place).min(MOST)) };
    let mut text = hex(bytes);
    // SAFETY: the name is that of the type.
    if let Some(behind) = unsafe { behind(std::any::type_name::<T>(), place.cast()) } {
        text.push('*');
        text.push_str(&hex(behind));
    }
    text
}

/// The bytes behind a reference to a scalar, and the text of a string.
///
/// # Safety
///
/// The place has the type with this name.
unsafe fn behind<'a>(type_name: &str, place: *const u8) -> Option<&'a [u8]> {
    let text = |text: &'a [u8]| Some(&text[..text.len().min(MOST_TEXT)]);
    // SAFETY: the types are those of the name, and `u8` stands for any byte.
    unsafe {
        match type_name {
            "&str" | "&mut str" | "&[u8]" | "&mut [u8]" => return text(*place.cast::<&'a [u8]>()),
            "alloc::string::String" => return text((*place.cast::<String>()).as_bytes()),
            "alloc::vec::Vec<u8>" => return text(&*place.cast::<Vec<u8>>()),
            _ => {}
        }
        let target = type_name.strip_prefix("&mut ").or_else(|| type_name.strip_prefix('&'))?;
        let pointer = *place.cast::<*const u8>();
        let size = match target {
            "u8" | "i8" | "bool" => 1,
            "u16" | "i16" => 2,
            "u32" | "i32" | "char" | "f32" => 4,
            "u64" | "i64" | "usize" | "isize" | "f64" => 8,
            "u128" | "i128" => 16,
            "&str" => return text(*pointer.cast::<&'a [u8]>()),
            "alloc::string::String" => return text((*pointer.cast::<String>()).as_bytes()),
            "alloc::vec::Vec<u8>" => return text(&*pointer.cast::<Vec<u8>>()),
            _ => return None,
        };
        Some(std::slice::from_raw_parts(pointer, size))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
