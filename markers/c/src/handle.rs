//! `simple_probe_handle.h`.

use core::ffi::{CStr, c_char, c_double, c_int, c_longlong, c_uint, c_ulonglong, c_void};

use simple_markers_recorder::{Hit, Values, handle, unhandle};

/// `simple_probe_value.value`.
#[repr(C)]
#[derive(Clone, Copy)]
union Union {
    i: c_longlong,
    u: c_ulonglong,
    f: c_double,
    p: *const (),
    s: *const u8,
}

/// `simple_probe_value`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Value {
    kind: c_uint,
    value: Union,
    length: usize,
}

/// `simple_probe_hit`.
#[repr(C)]
struct CHit {
    name: *const c_char,
    file: *const c_char,
    format: *const c_char,
    arguments: *const c_char,
    line: c_uint,
    count: c_uint,
    values: *const Value,
}

type Handler = unsafe extern "C-unwind" fn(*const CHit, *mut c_void);

/// A handler and its data.
struct Handled {
    handler: Handler,
    data: *mut c_void,
}

// SAFETY: the program says that the handler may be called with its data in every thread.
unsafe impl Sync for Handled {}

/// See `simple_probe_handle.h`.
///
/// # Safety
///
/// `patterns` is null or a C string. The handler may be called with `data` for ever, in every thread.
#[unsafe(no_mangle)]
unsafe extern "C" fn simple_probe_handle(
    patterns: *const c_char,
    handler: Option<Handler>,
    data: *mut c_void,
) -> c_int {
    if patterns.is_null() {
        return -1;
    }
    // SAFETY: as the caller says.
    let Ok(patterns) = unsafe { CStr::from_ptr(patterns) }.to_str() else { return -1 };
    let result = match handler {
        None => unhandle(patterns),
        Some(handler) => {
            let handled: &'static Handled = Box::leak(Box::new(Handled { handler, data }));
            let call = move |hit: &Hit<'_>, values: Values<'_>| handled.call(hit, values);
            handle::<Values<'_>>(patterns, Box::leak(Box::new(call)))
        }
    };
    result.ok().and_then(|count| c_int::try_from(count).ok()).unwrap_or(-1)
}

impl Handled {
    fn call(&self, hit: &Hit<'_>, values: Values<'_>) {
        const MOST: usize = 12;
        let mut room = [Value { kind: 0, value: Union { u: 0 }, length: 0 }; MOST];
        let count = values.len().min(MOST);
        for (to, value) in room.iter_mut().zip(values) {
            *to = value.into();
        }
        let probe = hit.probe();
        let hit = CHit {
            name: string(probe.name()),
            file: string(probe.file()),
            format: string(probe.format()),
            arguments: string(probe.arguments()),
            line: probe.line(),
            count: count as c_uint,
            values: room.as_ptr(),
        };
        // SAFETY: the program says so.
        unsafe { (self.handler)(&raw const hit, self.data) };
    }
}

/// A string of a descriptor, which has a NUL.
fn string(text: &'static str) -> *const c_char {
    if text.is_empty() { c"".as_ptr() } else { text.as_ptr().cast() }
}

impl From<simple_markers_recorder::Value<'_>> for Value {
    fn from(value: simple_markers_recorder::Value<'_>) -> Self {
        use simple_markers_recorder::Value as Given;
        let (kind, value, length) = match value {
            Given::Signed(i) => (0, Union { i }, 0),
            Given::Unsigned(u) => (1, Union { u }, 0),
            Given::Float(f) => (2, Union { f }, 0),
            Given::Pointer(p) => (3, Union { p }, 0),
            Given::Text(text) => (4, Union { s: text.as_ptr() }, text.len()),
            Given::Whole(value) => (5, Union { s: value.bytes().as_ptr().cast() }, value.size()),
        };
        Self { kind, value, length }
    }
}
