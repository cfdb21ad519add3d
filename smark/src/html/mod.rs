//! Pages for a browser: one file each, which needs no network (`docs/pages.md`).
//!
//! A command fills a [`HtmlPage`] with data, and the code in `assets/` shows them. No markup is made here: whatever a
//! program or a recording says is data, which the code sets as text.

mod columns;
mod page;
mod sample;

pub(crate) use self::columns::NumberColumn;
pub(crate) use self::page::HtmlPage;
pub(crate) use self::sample::{EvenSample, LongestSlices, PageSlice, RateBins};
