//! Runs the tests of a program as the built-in harness does, but a test can be ignored while it runs.
//!
//! A program has `harness = false` in `Cargo.toml`, `#[macro_use] extern crate harness`, which makes
//! `#[test]` the one of this crate, and calls [`main`].
//!
//! `#[test(cases = ROWS)]` before a function with a parameter makes a trial of each row, which is named
//! after it. With `desk = [0, 3]` only those rows are tried where the variable `CI` is not set; the others
//! are ignored. `#[test(desk = false)]` is tried where `CI` is set only.
//!
//! With `SLOWEST=20` in the environment the 20 trials that took longest are printed at the end.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Debug;
use std::panic;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    pub cases: fn() -> Vec<Case>,
}

inventory::collect!(Test);

/// How long each trial took that has ended.
static TIMES: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

/// What one trial runs.
#[doc(hidden)]
pub struct Case {
    /// Nothing for the only one.
    name: String,
    run: Box<dyn FnOnce() + Send>,
    is_tried: bool,
}

impl Case {
    #[must_use]
    pub fn only(run: fn()) -> Vec<Self> {
        vec![Self { name: String::new(), run: Box::new(run), is_tried: true }]
    }

    /// The same, without CI ignored.
    #[must_use]
    pub fn only_in_ci(run: fn()) -> Vec<Self> {
        vec![Self { name: String::new(), run: Box::new(run), is_tried: tools::tries_everything() }]
    }

    /// A trial for each value, named after it. Without CI only those at the indices in `desk` are tried, if
    /// it is given.
    #[must_use]
    pub fn each<T, const N: usize>(cases: impl IntoIterator<Item = T>, desk: [&[usize]; N], run: fn(T)) -> Vec<Self>
    where
        T: Debug + Send + 'static,
    {
        let is_tried = |index| tools::tries_everything() || desk.iter().all(|desk| desk.contains(&index));
        let words = |case: &T| format!(" {case:?}").replace(", ", " ").replace(['(', ')', '[', ']', '"'], "");
        let cases = cases.into_iter().enumerate();
        cases
            .map(|(index, case)| Self {
                name: words(&case),
                run: Box::new(move || run(case)),
                is_tried: is_tried(index),
            })
            .collect()
    }
}

impl Test {
    fn trials(&self, is_printed: bool) -> impl Iterator<Item = Trial> {
        // Without the name of the program.
        let name = self.name.split_once("::").map_or(self.name, |(_, name)| name);
        (self.cases)().into_iter().map(move |case| {
            let name = format!("{name}{}", case.name);
            Trial::ignorable_test(name.clone(), move || {
                if !case.is_tried {
                    return Ok(Completion::ignored_with("CI=1 tries it"));
                }
                let start = Instant::now();
                let (result, said) = Said::by(case.run, is_printed);
                TIMES.lock().unwrap_or_else(PoisonError::into_inner).push((start.elapsed(), name));
                match result {
                    Err(_) => Err(said.printed.map_or_else(Failed::without_message, Failed::from)),
                    Ok(()) if said.missing.is_empty() => Ok(Completion::Completed),
                    Ok(()) => Ok(Completion::ignored_with(said.missing.join("; "))),
                }
            })
        })
    }
}

/// Adds a function to the tests of this program.
#[doc(hidden)]
#[macro_export]
macro_rules! register {
    ($function:ident) => {
        $crate::register!(@ $function, $crate::Case::only($function));
    };
    ($function:ident, desk = false) => {
        $crate::register!(@ $function, $crate::Case::only_in_ci($function));
    };
    ($function:ident, cases = $cases:expr $(, desk = $desk:expr)?) => {
        $crate::register!(@ $function, $crate::Case::each($cases, [$(&$desk)?], $function));
    };
    (@ $function:ident, $cases:expr) => {
        $crate::inventory::submit! {
            $crate::Test { name: concat!(module_path!(), "::", stringify!($function)), cases: || $cases }
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
    main_with(1)
}

/// The same with so many threads for each processor, for tests that mostly wait.
#[must_use]
pub fn main_with(threads: usize) -> ExitCode {
    let Options { mut arguments, mut filters } = Options::parse();
    let given = || std::env::var("RUST_TEST_THREADS").ok()?.parse().ok();
    let threads = || Some(threads * std::thread::available_parallelism().ok()?.get());
    arguments.test_threads = arguments.test_threads.or_else(given).or_else(threads);
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let is_noted = trial::note(format_args!("{panic}"));
        // It prints a backtrace if one is wanted.
        if !is_noted || Backtrace::capture().status() == BacktraceStatus::Captured {
            default(panic);
        }
    }));

    let is_printed = arguments.nocapture;
    let mut trials: Vec<_> = inventory::iter::<Test>().flat_map(|test| test.trials(is_printed)).collect();
    trials.sort_by(|one, other| one.name().cmp(other.name()));
    if !filters.is_empty() {
        filters.extend(arguments.filter.take());
        let with = |filter: &String| Arguments { filter: Some(filter.clone()), ..arguments.clone() };
        trials.retain(|trial| filters.iter().any(|filter| !with(filter).is_filtered_out(trial)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(most) = std::env::var("SLOWEST").ok().and_then(|most| most.parse().ok()) {
        print_slowest(most);
    }
    conclusion.exit_code()
}

/// Prints the trials that took longest.
fn print_slowest(most: usize) {
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    times.sort_by(|one, other| other.cmp(one));
    for (took, name) in times.iter().take(most) {
        println!("{:>8.2} s  {name}", took.as_secs_f64());
    }
}
