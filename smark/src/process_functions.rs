//! The functions whose addresses whole values have, by the symbols of the files of the process.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use simple_markers_tracer::Hit;
use simple_markers_tracer::function_names::FunctionNames;

use crate::mapped_symbols::{HitPlace, MappedSymbols, RegionCache};
use crate::symbols::Symbols;

/// The most names of one address.
const NAMES: usize = 4;

/// Finds functions in the files of processes.
pub(crate) struct ProcessFunctions(RefCell<MappedSymbols>);

impl ProcessFunctions {
    /// `folders` have separate debug files.
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self(RefCell::new(MappedSymbols::new(folders, Symbols::load_names, RegionCache::default())))
    }
}

impl FunctionNames for ProcessFunctions {
    fn function(&self, hit: &Hit<'_>, load_bias: Option<u64>, address: u64) -> Option<Arc<str>> {
        let (mut files, load_bias) = (self.0.borrow_mut(), load_bias?);
        files.enter(hit.image);
        let (own, linked) = (Path::new(&hit.image.path), address.wrapping_sub(load_bias));
        let names = match files.symbols(own) {
            Some(symbols) if symbols.has(linked) => symbols.at(linked),
            _ => match files.mapped(HitPlace::of(hit), hit.site.probe.0.wrapping_add(load_bias), address)? {
                (path, Some(linked)) => files.symbols(&path)?.at(linked),
                _ => return None,
            },
        };
        match &*names {
            [] => None,
            [name] => Some(Arc::clone(name)),
            [first @ .., last] if first.len() < NAMES => Some(format!("{}|{last}", first.join("|")).into()),
            _ => Some(format!("{}|..", names.get(..NAMES)?.join("|")).into()),
        }
    }
}
