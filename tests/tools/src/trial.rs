//! What a test says while it runs: `harness::main` asks for it. Where no harness asks, as in unit
//! tests, it is printed.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

thread_local! {
    static SAID: RefCell<Option<Said>> = const { RefCell::new(None) };
}

/// What the test of a thread has said.
pub struct Said {
    /// What it lacks, each once.
    pub missing: Vec<String>,
    /// What it printed; `None` if that is printed at once.
    pub printed: Option<String>,
}

impl Said {
    /// Runs a test in this thread.
    pub fn by(test: impl FnOnce(), is_printed: bool) -> (thread::Result<()>, Self) {
        let nothing = || Self { missing: Vec::new(), printed: (!is_printed).then(String::new) };
        SAID.set(Some(nothing()));
        (catch_unwind(AssertUnwindSafe(test)), SAID.take().unwrap_or_else(nothing))
    }
}

/// Whether this thread runs a test of a harness; then the line is kept or printed.
pub fn note(line: fmt::Arguments<'_>) -> bool {
    SAID.with_borrow_mut(|said| {
        match said.as_mut().map(|said| &mut said.printed) {
            None => return false,
            Some(None) => println!("{line}"),
            Some(Some(printed)) => printed.push_str(&format!("{line}\n")),
        }
        true
    })
}

/// Whether this thread runs a test of a harness; then this is a reason why it is ignored.
pub(crate) fn lacks(what: &str) -> bool {
    SAID.with_borrow_mut(|said| {
        let Some(Said { missing, .. }) = said else { return false };
        if !missing.iter().any(|other| other == what) {
            missing.push(what.to_owned());
        }
        true
    })
}

/// Prints a line if the test fails, or with `--nocapture`.
#[macro_export]
macro_rules! note {
    ($($argument:tt)*) => {
        if !$crate::trial::note(format_args!($($argument)*)) {
            println!($($argument)*);
        }
    };
}
