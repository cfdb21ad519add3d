//! A log of the last messages, as a C library (`include/ringlog.h`).
//!
//! The markers of a shared library are in the library, not in its callers:
//! `smark list libringlog.so`.

use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use simple_markers::simple_mark;

/// The last messages.
#[derive(Debug)]
pub struct Ringlog {
    messages: VecDeque<Message>,
    capacity: usize,
    used: usize,
}

#[derive(Debug)]
struct Message {
    level: c_int,
    text: CString,
}

impl Message {
    fn size(&self) -> usize {
        self.text.count_bytes() + 1
    }
}

impl Ringlog {
    /// Drops the oldest messages until `size` bytes are free; returns how many.
    fn make_room(&mut self, size: usize) -> c_int {
        let mut evicted = 0;
        while self.used + size > self.capacity {
            let Some(oldest) = self.messages.pop_front() else { break };
            self.used -= oldest.size();
            evicted += 1;
            simple_mark!(ringlog:evict, "level %d, %zu of %zu bytes used", oldest.level, self.used, self.capacity);
        }
        evicted
    }
}

/// See `ringlog.h`.
#[unsafe(no_mangle)]
pub extern "C" fn ringlog_open(capacity: usize) -> Option<Box<Ringlog>> {
    if capacity == 0 {
        return None;
    }
    let log = Box::new(Ringlog { messages: VecDeque::new(), capacity, used: 0 });
    simple_mark!(ringlog:open, "%p for %zu bytes", log, log.capacity);
    Some(log)
}

/// See `ringlog.h`.
///
/// # Safety
///
/// `log` is from [`ringlog_open`], and no other call uses it now. `message` ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringlog_append(log: &mut Ringlog, level: c_int, message: *const c_char) -> c_int {
    simple_mark!(ringlog:append, "level %d: %s", level, message);
    // SAFETY: the caller's message ends with a NUL.
    let message = Message { level, text: unsafe { CStr::from_ptr(message) }.to_owned() };
    let size = message.size();
    if size > log.capacity {
        simple_mark!(ringlog:refuse, "%zu bytes do not fit %zu", keep size, log.capacity);
        return -1;
    }
    let evicted = log.make_room(size);
    log.used += size;
    log.messages.push_back(message);
    simple_mark!(ringlog:appended, "%d made room for %zu bytes", keep evicted, size, options(anchor));
    evicted
}

/// See `ringlog.h`.
///
/// # Safety
///
/// `log` is from [`ringlog_open`]. `visit` can be called with `context` and does not change the
/// log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringlog_each(
    log: &Ringlog,
    visit: unsafe extern "C" fn(*mut c_void, c_int, *const c_char) -> c_int,
    context: *mut c_void,
) -> c_int {
    for message in &log.messages {
        // SAFETY: the caller passed `visit` and `context` for this call.
        let result = unsafe { visit(context, message.level, message.text.as_ptr()) };
        if result != 0 {
            simple_mark!(ringlog:stopped, "by %p with %d", visit, result);
            return result;
        }
    }
    0
}

/// See `ringlog.h`.
#[unsafe(no_mangle)]
pub extern "C" fn ringlog_close(log: Option<Box<Ringlog>>) {
    if let Some(log) = log {
        simple_mark!(ringlog:close, "%p with %zu messages", log, keep messages = log.messages.len());
    }
}
