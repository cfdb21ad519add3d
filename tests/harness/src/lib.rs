//! Runs the tests of a program as the built-in harness does, but a test can be ignored while it runs.
//!
//! A program has `harness = false` in `Cargo.toml`, `#[macro_use] extern crate harness`, which makes
//! `#[test]` the one of this crate, and calls [`main`].

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic;
use std::process::ExitCode;

use clap::Parser;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tools::trial::{self, Said};

pub use attribute::test;
pub use tools::note;

#[doc(hidden)]
pub use inventory;

/// A test of this program.
#[doc(hidden)]
pub struct Test {
    pub name: &'static str,
    pub run: fn(),
}

inventory::collect!(Test);

impl Test {
    fn trial(&self, is_printed: bool) -> Trial {
        // Without the name of the program.
        let name = self.name.split_once("::").map_or(self.name, |(_, name)| name);
        let run = self.run;
        Trial::ignorable_test(name, move || {
            let (result, said) = Said::by(run, is_printed);
            match result {
                Err(_) => Err(said.printed.map_or_else(Failed::without_message, Failed::from)),
                Ok(()) if said.missing.is_empty() => Ok(Completion::Completed),
                Ok(()) => Ok(Completion::ignored_with(said.missing.join("; "))),
            }
        })
    }
}

/// Adds a function to the tests of this program.
#[doc(hidden)]
#[macro_export]
macro_rules! register {
    ($function:ident) => {
        $crate::inventory::submit! {
            $crate::Test { name: concat!(module_path!(), "::", stringify!($function)), run: $function }
        }
    };
}

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    arguments: Arguments,
    /// More filters. A test runs if its name contains one of them.
    filters: Vec<String>,
}

/// Runs the tests that the command line selects.
#[must_use]
pub fn main() -> ExitCode {
    let Options { mut arguments, mut filters } = Options::parse();
    let threads = || std::env::var("RUST_TEST_THREADS").ok()?.parse().ok();
    arguments.test_threads = arguments.test_threads.or_else(threads);
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let is_noted = trial::note(format_args!("{panic}"));
        // It prints a backtrace if one is wanted.
        if !is_noted || Backtrace::capture().status() == BacktraceStatus::Captured {
            default(panic);
        }
    }));

    let is_printed = arguments.nocapture;
    let mut trials: Vec<_> = inventory::iter::<Test>().map(|test| test.trial(is_printed)).collect();
    trials.sort_by(|one, other| one.name().cmp(other.name()));
    if !filters.is_empty() {
        filters.extend(arguments.filter.take());
        let with = |filter: &String| Arguments { filter: Some(filter.clone()), ..arguments.clone() };
        trials.retain(|trial| filters.iter().any(|filter| !with(filter).is_filtered_out(trial)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
