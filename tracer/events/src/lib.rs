//! The events of the Linux kernel, as plain data.
//!
//! A [`Format`] says where the fields of an event are in its record, and a [`Page`] of a ring buffer
//! has the records. A [`Printer`] interprets the C of the format's `print fmt`: it writes what the
//! kernel would print for a record. The [`Names`] that this needs, of symbols, enumerators and types,
//! come from files of the kernel ([`KernelNames`]), types from its type information ([`btf`]).
//!
//! Nothing here makes a system call, and nothing panics on any input.

#![forbid(unsafe_code)]

pub mod btf;
mod format;
mod names;
mod pages;
mod print;
mod symbols;

pub use format::{Field, Format, FormatError, fields};
pub use names::{KernelNames, Names, NoNames, Source, SourceReader, TypeSize};
pub use pages::{Event, Events, MissedEvents, Page, PageError, PageFormat};
pub use print::{Choices, HZ, Integer, Needs, PrintError, Printer};
pub use symbols::Symbol;
