//! The stacks of hits: which file each frame is in, and which functions.
//!
//! A frame of the marker's own image needs nothing of the process: the address of the probe tells
//! where the image is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use simple_markers_resolver::resolve::{Marker, Site, SitePlace, source_name};
use simple_markers_resolver::text::shown;
use simple_markers_tracer::Hit;

use crate::console::Console;
use crate::mapped_symbols::MappedSymbols;
use crate::symbols::{Function, Symbols};

/// The functions of each site, by image, link-time address and marker, as the resolution has them.
/// The address alone does not tell which inlined functions a marker is in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chains(Rc<RefCell<HashMap<FrameKey, Vec<Function>>>>);

/// The number of the image in the plan, the link-time address of the site, and the marker's name.
type FrameKey = (usize, u64, Arc<str>);

impl Chains {
    /// Adds the sites of a marker. `image` is its number in the plan.
    pub(crate) fn add(&self, image: usize, marker: &Marker) {
        for site in &marker.sites {
            if let Some(SitePlace::Address(address)) = site.place {
                self.0.borrow_mut().insert((image, address.0, Arc::clone(&marker.name)), chain(marker, site));
            }
        }
    }

    fn of(&self, hit: &Hit<'_>) -> Option<Vec<Function>> {
        let key = (hit.site.image, hit.site.address.0, Arc::clone(&hit.marker.name));
        self.0.borrow().get(&key).cloned()
    }
}

fn chain(marker: &Marker, site: &Site) -> Vec<Function> {
    let known = Some(marker).filter(|marker| !marker.file.is_empty());
    let (mut file, mut line) = known.map(|marker| (Arc::clone(&marker.file), marker.line)).unzip();
    let mut functions = Vec::new();
    for inlined in &site.inlined {
        functions.push(Function { name: Some(Arc::clone(&inlined.function)), file, line, is_inlined: true });
        (file, line) = (inlined.call_file.clone(), inlined.call_line);
    }
    functions.push(Function { name: site.function.clone(), file, line, is_inlined: false });
    functions
}

/// Says what the frames of stacks are.
pub(crate) struct Stacks {
    chains: Chains,
    files: MappedSymbols,
    /// How many stacks had more frames than are read.
    cut: u64,
}

/// A frame of a stack.
struct Frame {
    /// The address at run time: of the probe, or where the function that it called returns to.
    address: u64,
    /// The file and the link-time address in it. If the file cannot be read, only the file.
    place: Option<(PathBuf, Option<u64>)>,
    /// The innermost first. Empty if nothing is known.
    functions: Vec<Function>,
}

impl Stacks {
    /// `folders` have separate debug files.
    pub(crate) fn new(folders: Vec<PathBuf>, chains: Chains) -> Self {
        Self { chains, files: MappedSymbols::new(folders, Symbols::load), cut: 0 }
    }

    /// The frames of a hit, and whether more follow.
    fn frames(&mut self, hit: &Hit<'_>) -> (Vec<Frame>, bool) {
        let Some(stack) = hit.stack() else { return (Vec::new(), false) };
        self.cut += u64::from(stack.is_cut);
        self.files.enter(hit);
        let mut addresses = stack.addresses();
        if hit.marker.event.is_some() {
            // The program stands where the kernel returns to.
            let frames = addresses.filter(|address| *address > 0);
            return (frames.map(|address| self.call(hit, 0, address, address)).collect(), stack.is_cut);
        }
        let Some(first) = addresses.next() else { return (Vec::new(), stack.is_cut) };
        let mut frames = vec![self.site(hit, first)];
        let load_bias = first.wrapping_sub(hit.site.probe.0);
        // The call is before the address to which it returns. A thread's first frame has none.
        let calls = addresses.filter(|address| *address > 0);
        frames.extend(calls.map(|address| self.call(hit, load_bias, first, address)));
        (frames, stack.is_cut)
    }

    fn site(&mut self, hit: &Hit<'_>, address: u64) -> Frame {
        let path = PathBuf::from(&hit.image.path);
        let functions = match self.chains.of(hit) {
            Some(functions) => functions,
            None => {
                let known = self.files.symbols(&path).map(|it| it.functions(hit.site.address.0)).unwrap_or_default();
                // A plan file knows the function of a stripped program.
                let named = |name| Function { name: Some(name), ..Function::default() };
                let planned = || hit.site.function.clone().map(named).into_iter().collect();
                if known.is_empty() { planned() } else { known }
            }
        };
        Frame { address, place: Some((path, Some(hit.site.address.0))), functions }
    }

    fn call(&mut self, hit: &Hit<'_>, load_bias: u64, first: u64, address: u64) -> Frame {
        let own = Path::new(&hit.image.path);
        let in_own = address.wrapping_sub(load_bias);
        let place = match self.files.symbols(own) {
            Some(symbols) if symbols.has(in_own) => Some((own.to_owned(), Some(in_own))),
            _ => self.files.mapped(hit, first, address),
        };
        let functions = match &place {
            Some((path, Some(linked))) => self.files.symbols(path).map(|it| it.functions(linked.wrapping_sub(1))),
            _ => None,
        };
        Frame { address, place, functions: functions.unwrap_or_default() }
    }

    /// Says how many stacks had more frames than are read.
    pub(crate) fn tell(&self, console: &Console) {
        if self.cut > 0 {
            console.note(&format!("{} stacks have more than 64 frames", self.cut));
        }
    }

    /// Appends the frames of a hit, one a line.
    pub(crate) fn write(&mut self, hit: &Hit<'_>, out: &mut String) {
        let (frames, is_cut) = self.frames(hit);
        for frame in frames {
            if frame.functions.iter().all(|function| function.name.is_none()) {
                // Writing to a String cannot fail.
                let _ = match &frame.place {
                    Some((path, at)) => writeln!(out, "{INDENT}{:#x} ({})", frame.address, place(path, *at)),
                    None => writeln!(out, "{INDENT}{:#x}", frame.address),
                };
                continue;
            }
            for function in &frame.functions {
                out.push_str(INDENT);
                out.push_str(&shown(&source_name(function.name.as_deref().unwrap_or("?"))));
                let _ = match (&function.file, function.line, &frame.place) {
                    (Some(file), Some(line), _) => write!(out, " at {}:{line}", shown(file)),
                    (Some(file), None, _) => write!(out, " at {}", shown(file)),
                    (None, _, Some((path, at))) => write!(out, " ({})", place(path, *at)),
                    (None, _, None) => Ok(()),
                };
                out.push_str(if function.is_inlined { " (inlined)\n" } else { "\n" });
            }
        }
        if is_cut {
            out.push_str(INDENT);
            out.push_str("..\n");
        }
    }

    /// The frames as JSON, and whether more follow.
    pub(crate) fn json(&mut self, hit: &Hit<'_>) -> (Json, bool) {
        let (frames, is_cut) = self.frames(hit);
        let frame = |frame: Frame| {
            let function = |it: &Function| {
                json!({
                    "function": it.name.as_deref(), "file": it.file.as_deref(),
                    "line": it.line, "inlined": it.is_inlined,
                })
            };
            let linked = frame.place.as_ref().and_then(|(_, at)| at.map(|at| format!("{at:#x}")));
            json!({
                "address": format!("{:#x}", frame.address),
                "image": frame.place.as_ref().map(|(path, _)| path.to_string_lossy()),
                "image_address": linked,
                "functions": frame.functions.iter().map(function).collect::<Vec<_>>(),
            })
        };
        (frames.into_iter().map(frame).collect(), is_cut)
    }
}

/// What frames start with.
const INDENT: &str = "        ";

/// `FILE+ADDRESS`, with the file's last name.
fn place(path: &Path, at: Option<u64>) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = shown(&name);
    at.map_or_else(|| name.to_string(), |at| format!("{name}+{at:#x}"))
}
