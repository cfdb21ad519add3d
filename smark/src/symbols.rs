//! The functions and source lines at the addresses of a file, for stacks.
//!
//! `addr2line` reads the debug information, and the symbols name what it does not describe. Split
//! units (`.dwo`) are not opened: the functions in them have the names of their symbols.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, RunTimeEndian};
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};
use simple_markers_resolver::debug_files::{
    DebugFile, DebugFileRequest, DebugFiles as _, MINI_DEBUG_INFO, unpack_mini_debug_info,
};
use simple_markers_resolver::text::hexadecimal;
use simple_markers_tracer::frames::Function;
use simple_markers_tracer::sys::mapped;

use crate::debug_files::DebugFolders;
use crate::files;

/// The most addresses whose functions are kept.
const MOST_FOUND: usize = 1 << 16;

/// What a file says about its addresses.
pub(crate) struct Symbols {
    debug: Option<Context<EndianArcSlice<RunTimeEndian>>>,
    /// The link-time addresses and names of functions, in the order of their starts.
    functions: Vec<(Range<u64>, Arc<str>)>,
    /// The functions of other files that have an address in this one, by that.
    imported: Vec<(u64, Arc<str>)>,
    /// The offsets in the file that are loaded, and the link-time address of the first one.
    segments: Vec<(Range<u64>, u64)>,
    /// The functions at addresses that were asked for.
    found: RefCell<HashMap<u64, Vec<Function>>>,
}

impl Symbols {
    /// Reads a file, and its separate debug file in one of the folders. `None` if it is not ELF.
    pub(crate) fn load(path: &Path, folders: &[PathBuf]) -> Option<Self> {
        Self::read(path, folders, true)
    }

    /// The same without what the debug information says of inlined functions and lines.
    pub(crate) fn load_names(path: &Path, folders: &[PathBuf]) -> Option<Self> {
        Self::read(path, folders, false)
    }

    fn read(path: &Path, folders: &[PathBuf], with_debug: bool) -> Option<Self> {
        let bytes = image_bytes(path)?;
        let image = object::File::parse(&*bytes).ok()?;
        let segment = |segment: object::Segment<'_, '_>| {
            let (offset, size) = segment.file_range();
            Some((offset..offset.checked_add(size)?, segment.address()))
        };
        let segments = image.segments().filter_map(segment).collect();
        let separate = match image.section_by_name(".debug_info") {
            Some(_) => None,
            None => separate(&image, path, folders),
        };
        let (debug, functions) = match &separate {
            Some(opened) => {
                let of = object::File::parse((*opened.bytes).as_ref()).ok()?;
                (with_debug.then(|| debug(&of)).flatten(), functions(&of))
            }
            None => (with_debug.then(|| debug(&image)).flatten(), Vec::new()),
        };
        let functions = if functions.is_empty() { self::functions(&image) } else { functions };
        Some(Self { debug, functions, imported: imported(&image), segments, found: RefCell::default() })
    }

    /// The link-time address of an offset in the file; `None` if it is not loaded.
    pub(crate) fn address(&self, offset: u64) -> Option<u64> {
        let (loaded, address) = self.segments.iter().find(|(loaded, _)| loaded.contains(&offset))?;
        address.checked_add(offset - loaded.start)
    }

    /// Whether the file has something at a link-time address.
    pub(crate) fn has(&self, address: u64) -> bool {
        let is_in = |(loaded, start): &(Range<u64>, u64)| {
            address.checked_sub(*start).is_some_and(|distance| distance < loaded.end - loaded.start)
        };
        self.segments.iter().any(is_in)
    }

    /// The functions at a link-time address, the innermost first. Empty if nothing is known.
    pub(crate) fn functions(&self, address: u64) -> Vec<Function> {
        let mut known = self.found.borrow_mut();
        if known.len() >= MOST_FOUND {
            known.clear();
        }
        known.entry(address).or_insert_with(|| self.find(address)).clone()
    }

    fn find(&self, address: u64) -> Vec<Function> {
        let mut found = self.described(address).unwrap_or_default();
        // The debug information may have only lines.
        let symbol = || self.symbol(address);
        match found.last_mut() {
            Some(outer) if outer.name.is_none() => outer.name = symbol(),
            Some(_) => {}
            None => found.extend(symbol().map(|name| Function { name: Some(name), ..Function::default() })),
        }
        found
    }

    /// The functions that begin at a link-time address, each once.
    pub(crate) fn at(&self, address: u64) -> Vec<Arc<str>> {
        let first = self.functions.partition_point(|(range, _)| range.start < address);
        let own = self.functions.iter().skip(first).take_while(|(range, _)| range.start == address);
        let imported = self.imported.iter().filter(|(known, _)| *known == address);
        let mut names: Vec<Arc<str>> =
            own.map(|(_, name)| name).chain(imported.map(|(_, name)| name)).map(Arc::clone).collect();
        names.sort();
        names.dedup();
        names
    }

    fn described(&self, address: u64) -> Option<Vec<Function>> {
        let mut frames = self.debug.as_ref()?.find_frames(address).skip_all_loads().ok()?;
        let mut found: Vec<Function> = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            if let Some(inner) = found.last_mut() {
                inner.is_inlined = true;
            }
            let name = frame.function.and_then(|name| name.demangle().ok().map(Arc::from));
            let location = frame.location.unwrap_or(addr2line::Location { file: None, line: None, column: None });
            let line = location.line.filter(|line| *line > 0);
            found.push(Function { name, file: location.file.map(Arc::from), line, is_inlined: false });
        }
        Some(found)
    }

    fn symbol(&self, address: u64) -> Option<Arc<str>> {
        let after = self.functions.partition_point(|(range, _)| range.start <= address);
        let (range, name) = self.functions.get(after.checked_sub(1)?)?;
        range.contains(&address).then(|| Arc::clone(name))
    }
}

/// The name of the region of the code that the kernel hands to each process (`man 7 vdso`).
pub(crate) const VDSO: &str = "[vdso]";

/// The bytes of a file, or of the code that the kernel hands to each process. `None` if it cannot be read.
pub(crate) fn image_bytes(path: &Path) -> Option<files::Bytes> {
    if path != Path::new(VDSO) {
        return files::map_regular(path);
    }
    // It is the same in all processes of 64 bits.
    let region = mapped::regions(std::process::id())?.into_iter().find(|region| region.name == path)?;
    let size = region.addresses.end.checked_sub(region.addresses.start)?;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    let memory = File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut bytes, region.addresses.start).ok()?;
    Some(files::Bytes::Unpacked(bytes))
}

/// The separate debug file of an image, by its build id.
pub(crate) fn separate(image: &object::File<'_>, path: &Path, folders: &[PathBuf]) -> Option<DebugFile> {
    let id = image.build_id().ok()??;
    let text = hexadecimal(id);
    let mut belongs = |opened: &DebugFile| {
        let file = object::File::parse((*opened.bytes).as_ref());
        file.is_ok_and(|file| file.build_id().ok().flatten() == Some(id))
    };
    DebugFolders::new(path, folders).open(&DebugFileRequest::Debug { build_id: Some(&text), link: None }, &mut belongs)
}

fn debug(of: &object::File<'_>) -> Option<Context<EndianArcSlice<RunTimeEndian>>> {
    of.section_by_name(".debug_line")?;
    let endian = if of.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let section = |id: gimli::SectionId| {
        let section = of.section_by_name(id.name());
        let bytes = section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default();
        Ok::<_, gimli::Error>(EndianArcSlice::new(Arc::from(&*bytes), endian))
    };
    Context::from_dwarf(Dwarf::load(section).ok()?).ok()
}

/// The functions of other files that the program calls by an entry of its procedure linkage table, and
/// whose address is that of the entry everywhere in the process (System V ABI, "Function Addresses").
fn imported(of: &object::File<'_>) -> Vec<(u64, Arc<str>)> {
    let function = |symbol: object::Symbol<'_, '_>| {
        let is_it = symbol.is_undefined() && symbol.kind() == SymbolKind::Text && symbol.address() != 0;
        let name = symbol.name_bytes().ok().filter(|_| is_it)?;
        Some((symbol.address(), Arc::from(addr2line::demangle_auto(String::from_utf8_lossy(name), None))))
    };
    of.dynamic_symbols().filter_map(function).collect()
}

/// The functions of `.symtab`. If the file is stripped, those of `.dynsym` and of `.gnu_debugdata`.
fn functions(of: &object::File<'_>) -> Vec<(Range<u64>, Arc<str>)> {
    let function = |symbol: object::Symbol<'_, '_>| {
        let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.size() > 0;
        let name = symbol.name_bytes().ok().filter(|_| is_function)?;
        let end = symbol.address().checked_add(symbol.size())?;
        let name = String::from_utf8_lossy(name);
        Some((symbol.address()..end, Arc::from(addr2line::demangle_auto(name, None))))
    };
    let mut functions: Vec<(Range<u64>, Arc<str>)> = of.symbols().filter_map(function).collect();
    if functions.is_empty() {
        functions = of.dynamic_symbols().filter_map(function).collect();
        let section = of.section_by_name(MINI_DEBUG_INFO).and_then(|section| section.data().ok());
        let mini = section.and_then(|section| unpack_mini_debug_info(section).ok());
        if let Some(mini) = mini.as_deref().and_then(|bytes| object::File::parse(bytes).ok()) {
            functions.extend(mini.symbols().filter_map(function));
        }
    }
    // Of several names, the last in this order is taken, so that the result is always the same.
    functions.sort_by(|(a, name_a), (b, name_b)| (a.start, a.end, name_b).cmp(&(b.start, b.end, name_a)));
    functions
}
