//! The oracle of values: what a program itself says about its variables.
//!
//! The same source is built twice. The [`twin`] is built without optimisation, and its markers
//! print their arguments. The optimised program has the real markers, and a [`reader`] stops it at
//! each exact site and evaluates the location of each argument. [`compare`] decides whether the
//! values of each pass are the same.
//!
//! The result is a list of [`row::Row`]s, one for each argument of each site, which [`tables`]
//! counts by class, and [`believed`] for the documentation. [`builds`] compiles a program, [`corpus`] many of them, and [`real`] those that
//! people use. [`minimise`] makes a small program with a wrong value.

pub mod believed;
pub mod builds;
pub mod compare;
pub mod corpus;
pub mod examine;
pub mod form;
pub mod machine;
pub mod minimise;
pub mod reader;
pub mod real;
pub mod row;
pub mod tables;
pub mod twin;

/// Whether no value that is called live or constant may be wrong. Until the verdicts say which
/// values are doubtful, the tests count the wrong ones, and fail only if a known one is not found.
pub const VERDICTS_HOLD: bool = false;

/// A class of values that are called live or constant and are wrong now and then.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    /// The compiler.
    pub compiler: &'static str,
    /// The form of the location.
    pub form: form::Form,
    /// The source in `tests/truth` that shows it, and its marker.
    pub smallest: (&'static str, &'static str),
}

/// The classes that are wrong although [`VERDICTS_HOLD`]. `docs/truth.md` has their rates.
pub const EXCEPTIONS: &[Exception] = &[];

impl Exception {
    /// Whether a wrong value is of such a class.
    #[must_use]
    pub fn covers(row: &row::Row) -> bool {
        EXCEPTIONS.iter().any(|exception| exception.compiler == row.build.compiler && exception.form == row.form)
    }
}
