//! The descriptions of markers, each made once: many markers have the same format and arguments.

use std::collections::HashMap;
use std::sync::Arc;

use super::interner::{Interner, TextId};
use super::{FormatDescription, describe};

/// The descriptions that were made, by format and arguments.
#[derive(Default)]
pub(super) struct Descriptions {
    known: HashMap<(TextId, TextId), FormatDescription>,
}

impl Descriptions {
    /// The description of a marker; its format alone if the budget for text is used up.
    pub(super) fn of(&mut self, texts: &mut Interner<'_>, format: TextId, args: TextId) -> FormatDescription {
        let described = self.known.entry((format, args)).or_insert_with(|| {
            let (text, args) = (texts.bytes(format), texts.bytes(args));
            // An upper bound of the size: each `%d` takes one argument, and a word has at least 4 bytes.
            let of_format = if text.contains(&b'{') { text.len().saturating_mul(16) } else { text.len() };
            if texts.charge(of_format.saturating_add(args.len().saturating_mul(16))) {
                describe(text, args)
            } else {
                FormatDescription { description: texts.text(format), args: Arc::from([]) }
            }
        });
        described.clone()
    }
}
