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
