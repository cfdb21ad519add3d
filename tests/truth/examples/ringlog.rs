//! `examples/ringlog`, library and user, as one program.
use std::ffi::{c_char, c_int, c_void};

#[path = "../../../examples/ringlog/src/lib.rs"]
mod ringlog;

/// Stops after three messages.
unsafe extern "C" fn count(context: *mut c_void, _: c_int, _: *const c_char) -> c_int {
    // SAFETY: the context is a number of main.
    let visited = unsafe { &mut *context.cast::<c_int>() };
    *visited += 1;
    c_int::from(*visited == 3)
}

fn main() {
    let messages = [
        c"starting",
        c"reading the configuration",
        c"no configuration: using the defaults",
        c"listening",
        c"ready",
        c"a message that is so long that it does not fit a log of sixty-four bytes",
    ];
    let mut log = ringlog::ringlog_open(64).expect("a log");
    let mut visited: c_int = 0;
    for (level, message) in (4..).zip(messages) {
        // SAFETY: the message ends with a NUL, and the context is what `count` expects.
        let (dropped, stopped) = unsafe {
            let dropped = ringlog::ringlog_append(&mut log, level % 3 + 4, message.as_ptr());
            (dropped, ringlog::ringlog_each(&log, count, (&raw mut visited).cast()))
        };
        println!("{dropped} {stopped}");
    }
    ringlog::ringlog_close(Some(log));
}
