//! The descriptions of markers, each made once: many markers have the same format and arguments.

use std::collections::HashMap;
use std::sync::Arc;

use super::interner::{Interner, TextId};
use super::join::RawMarker;
use super::{Described, describe};

/// The descriptions that were made, by format and arguments.
#[derive(Default)]
pub(super) struct Descriptions {
    known: HashMap<(TextId, TextId), Described>,
}

impl Descriptions {
    /// The description of a marker; its format alone if the budget for text is used up.
    pub(super) fn of(&mut self, texts: &mut Interner<'_>, raw: &RawMarker) -> Described {
        let described = self.known.entry((raw.format, raw.args)).or_insert_with(|| {
            let (format, args) = (texts.bytes(raw.format), texts.bytes(raw.args));
            // An upper bound of the size: each `%d` takes one argument.
            if texts.charge(format.len().saturating_add(args.len().saturating_mul(16))) {
                describe(format, args)
            } else {
                Described { description: texts.text(raw.format), args: Arc::from([]) }
            }
        });
        described.clone()
    }
}
