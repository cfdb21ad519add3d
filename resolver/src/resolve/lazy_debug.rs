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
use crate::views::ViewTable;

/// The debug information of an image.
pub(super) struct LazyDebug<'a> {
    files: &'a Files<'a>,
    views: &'a ViewTable,
    info: OnceCell<Option<DebugInfo<'a>>>,
}

impl<'a> LazyDebug<'a> {
    pub(super) fn new(files: &'a Files<'a>, views: &'a ViewTable) -> Self {
        Self { files, views, info: OnceCell::new() }
    }

    /// The debug information, read on the first call; `None` if it cannot be read. It may be call
    /// frame information alone.
    pub(super) fn info(&self) -> Option<&DebugInfo<'a>> {
        let open = || {
            let loaded: &'a LoadedFile<'a> = self.files.loaded();
            let sections = loaded.sections.as_ref()?;
            Some(DebugInfo::with(sections, loaded.alternate.as_ref(), Some(self.files.split()), self.views))
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
pub(super) struct LazySiteDebug<'a> {
    layout: Option<&'a Layout>,
    detail: Detail,
    debug: &'a LazyDebug<'a>,
    sites: OnceCell<Option<SiteDebug<'a>>>,
}

impl<'a> LazySiteDebug<'a> {
    pub(super) fn new(layout: Option<&'a Layout>, detail: Detail, debug: &'a LazyDebug<'a>) -> Self {
        Self { layout, detail, debug, sites: OnceCell::new() }
    }

    /// The sites, with the debug information read on the first call; `None` if there is none, or
    /// only call frame information.
    pub(super) fn get(&self) -> Option<&SiteDebug<'a>> {
        self.sites.get_or_init(|| self.open()).as_ref()
    }

    fn open(&self) -> Option<SiteDebug<'a>> {
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
