//! Debug information that is read when it is first needed: symbols alone answer a plain list.

use std::cell::OnceCell;

use super::arguments::TypeDetail;
use super::diagnostics::Diagnostics;
use super::files::{Files, LoadedFile};
use super::names::AddressNames;
use super::request::Detail;
use super::site_debug::SiteDebug;
use crate::Error;
use crate::dwarf::DebugInfo;
use crate::image::Layout;

/// The debug information of an image.
pub(super) struct LazyDebug<'f, 'i, 'b> {
    files: &'f Files<'i, 'b>,
    info: OnceCell<Option<DebugInfo<'f>>>,
}

impl<'f, 'i, 'b> LazyDebug<'f, 'i, 'b> {
    pub(super) fn new(files: &'f Files<'i, 'b>) -> Self {
        Self { files, info: OnceCell::new() }
    }

    /// The debug information, read on the first call; `None` if it cannot be read. It may be call
    /// frame information alone.
    pub(super) fn info(&self) -> Option<&DebugInfo<'f>> {
        let open = || {
            let loaded: &'f LoadedFile<'b> = self.files.loaded();
            let sections = loaded.sections.as_ref()?;
            Some(DebugInfo::with(sections, loaded.alternate.as_ref(), Some(self.files.split())))
        };
        self.info.get_or_init(open).as_ref()
    }

    /// Reports what was wrong with the debug information, as far as it was read.
    pub(super) fn report(&self, diagnostics: &mut Diagnostics) {
        if let Some(loaded) = self.files.known_loaded() {
            loaded.errors.iter().for_each(|error| diagnostics.error(error));
        }
        if let Some(damage) = self.info.get().and_then(|info| info.as_ref()?.damage()) {
            diagnostics.error(&Error::dwarf(None, damage.clone()));
        }
    }
}

/// The sites of an image in its debug information.
pub(super) struct LazySiteDebug<'d, 'f, 'i, 'b> {
    layout: Option<&'d Layout>,
    detail: Detail,
    debug: &'d LazyDebug<'f, 'i, 'b>,
    sites: OnceCell<Option<SiteDebug<'d, 'f>>>,
}

impl<'d, 'f, 'i, 'b> LazySiteDebug<'d, 'f, 'i, 'b> {
    pub(super) fn new(layout: Option<&'d Layout>, detail: Detail, debug: &'d LazyDebug<'f, 'i, 'b>) -> Self {
        Self { layout, detail, debug, sites: OnceCell::new() }
    }

    /// The sites, with the debug information read on the first call; `None` if there is none, or
    /// only call frame information.
    pub(super) fn get(&self) -> Option<&SiteDebug<'d, 'f>> {
        self.sites.get_or_init(|| self.open()).as_ref()
    }

    fn open(&self) -> Option<SiteDebug<'d, 'f>> {
        let files = self.debug.files;
        let info = self.debug.info()?;
        if !files.loaded().is_described() {
            return None;
        }
        let names = AddressNames::new(files.named(), self.layout, info.processor());
        let detail = if self.detail == Detail::Everything { TypeDetail::Full } else { TypeDetail::Brief };
        Some(SiteDebug::new(info, self.layout, names, detail))
    }
}
