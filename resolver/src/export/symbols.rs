//! Function symbols, for a consumer that needs one at each place.

use super::ExportError;
use crate::address::Vaddr;
use crate::image::Image;

/// The function symbols of an image.
pub(super) struct ImageSymbols<'data> {
    image: Image<'data>,
}

impl<'data> ImageSymbols<'data> {
    pub(super) fn of(bytes: &'data [u8]) -> Result<Self, ExportError> {
        Ok(Self { image: Image::parse(bytes).map_err(ExportError::Unreadable)? })
    }

    /// Whether a symbol covers an address.
    pub(super) fn holds(&self, address: Vaddr) -> bool {
        self.image.functions().at(None, address.0).is_some()
    }
}
