//! The stacks of hits: which file each frame is in, and which functions.
//!
//! A frame of the marker's own image needs nothing of the process: the address of the probe tells
//! where the image is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use simple_markers_resolver::address::{RuntimeAddress, Vaddr};
use simple_markers_resolver::resolve::{Marker, Site, SitePlace};
use simple_markers_tracer::aggregate::StackCount;
use simple_markers_tracer::frames::{Frame, Function, KernelFrame, StackEnd};
use simple_markers_tracer::plan::PlannedImage;
use simple_markers_tracer::record::stack::{CopiedStack, Stack};
use simple_markers_tracer::{Hit, Plan};

use crate::console::Console;
use crate::copied_stack::{self, CodePlace};
use crate::hit_stacks::HitStacks;
use crate::kernel_frames::KernelFrames;
use crate::mapped_symbols::{HitPlace, MappedSymbols, RegionCache};
use crate::symbols::Symbols;

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
    kernel: KernelFrames,
    /// How many stacks had more frames than are read.
    cut: u64,
}

impl Stacks {
    /// `folders` have separate debug files, `processes` what they have mapped as far as that is known already.
    pub(crate) fn new(folders: Vec<PathBuf>, chains: Chains, processes: RegionCache) -> Self {
        Self {
            chains,
            files: MappedSymbols::new(folders, Symbols::load, processes),
            kernel: KernelFrames::new(),
            cut: 0,
        }
    }

    /// The places in the code that the kernel found by frame pointers.
    fn followed(hit: &Hit<'_>, stack: Stack<'_>) -> Vec<CodePlace> {
        // The call is before the address to which it returns. A thread's first frame has none. At an event of the
        // kernel the program stands where the kernel returns to.
        let is_marker = hit.marker.event.is_none();
        let place = |(number, address): (usize, u64)| CodePlace { address, is_behind_call: number > 0 || !is_marker };
        let places = stack.addresses().enumerate().map(place);
        places
            .enumerate()
            .filter(|(number, it)| it.address > 0 || *number == 0 && is_marker)
            .map(|(_, it)| it)
            .collect()
    }

    /// The places in the code that call frame information leads to.
    fn unwound(&mut self, hit: &Hit<'_>, stack: &CopiedStack<'_>) -> (Vec<CodePlace>, StackEnd) {
        let first = stack.instruction_pointer().unwrap_or_default();
        let load_bias = first.wrapping_sub(hit.site.probe.0);
        copied_stack::frames(stack, &mut |place| {
            let address = place.instruction();
            let Some((path, linked)) = self.located(hit, load_bias, first, address) else {
                return Err(StackEnd::NoFile);
            };
            let linked = linked.ok_or(StackEnd::NoFile)?;
            let information = self.files.call_frames(&path).ok_or(StackEnd::NoInformation)?;
            Ok((information, address.wrapping_sub(linked)))
        })
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
        let image = Some(path.to_string_lossy().into());
        Frame { address: RuntimeAddress(address), image, image_address: Some(hit.site.address), functions }
    }

    fn call(&mut self, hit: &Hit<'_>, load_bias: u64, first: u64, code: CodePlace) -> Frame {
        let place = self.located(hit, load_bias, first, code.address);
        self.named(code, place)
    }

    /// The frame at a place in the code, which is in a file and at a link-time address.
    fn named(&mut self, code: CodePlace, place: Option<(PathBuf, Option<u64>)>) -> Frame {
        let functions = match &place {
            Some((path, Some(linked))) => {
                let instruction = linked.wrapping_sub(code.is_behind_call.into());
                self.files.symbols(path).map(|it| it.functions(instruction))
            }
            _ => None,
        };
        let (image, linked) = place.map(|(path, linked)| (path.to_string_lossy().into(), linked)).unzip();
        Frame {
            address: RuntimeAddress(code.address),
            image,
            image_address: linked.flatten().map(Vaddr),
            functions: functions.unwrap_or_default(),
        }
    }

    /// The frames of a stack that was counted. `image` has the first address, which is that of the probe; `None` at an
    /// event of the kernel.
    pub(crate) fn counted(&mut self, stack: &StackCount, image: Option<&PlannedImage>) -> Vec<Frame> {
        if let Some(image) = image {
            self.files.enter(image);
        }
        self.of_process(stack.process, &stack.addresses, image, image.is_some())
    }

    /// Goes on with the first program of a plan.
    pub(crate) fn enter_first(&mut self, plan: &Plan) {
        let first = plan.markers.iter().find(|marker| marker.event.is_none());
        if let Some(image) = first.and_then(|marker| plan.images.get(marker.image)) {
            self.files.enter(image);
        }
    }

    /// The frames at addresses of a process, the innermost first. `image` has the first one; `None` if any file may have
    /// it. `is_exact` says that the first one is that of the instruction that was executing, and not behind it.
    pub(crate) fn of_process(
        &mut self,
        process: u32,
        addresses: &[u64],
        image: Option<&PlannedImage>,
        is_exact: bool,
    ) -> Vec<Frame> {
        let place = HitPlace { process, image };
        let first = addresses.first().copied().unwrap_or_default();
        let mut frames = Vec::new();
        for (number, address) in addresses.iter().copied().enumerate() {
            let code = CodePlace { address, is_behind_call: number > 0 || !is_exact };
            let located = self.files.mapped(place, first, address);
            frames.push(self.named(code, located));
        }
        frames
    }

    /// The frames of a stack of the kernel.
    pub(crate) fn of_kernel(&mut self, addresses: &[u64]) -> Vec<KernelFrame> {
        self.kernel.named(addresses.iter().copied())
    }

    /// The file that is mapped at an address, and the link-time address. `first` is the address of the probe, and
    /// `load_bias` its distance from the link-time address.
    fn located(&mut self, hit: &Hit<'_>, load_bias: u64, first: u64, address: u64) -> Option<(PathBuf, Option<u64>)> {
        let own = Path::new(&hit.image.path);
        let in_own = address.wrapping_sub(load_bias);
        match self.files.symbols(own) {
            Some(symbols) if hit.marker.event.is_none() && symbols.has(in_own) => Some((own.to_owned(), Some(in_own))),
            _ => self.files.mapped(HitPlace::of(hit), first, address),
        }
    }
}

impl HitStacks for Stacks {
    fn program(&mut self, hit: &Hit<'_>) -> Option<(Vec<Frame>, StackEnd)> {
        self.files.enter(hit.image);
        let (places, end) = match (hit.copied_stack(), hit.stack()) {
            (Some(stack), _) => self.unwound(hit, &stack),
            (None, Some(stack)) => (Self::followed(hit, stack), end_of_followed(&stack)),
            (None, None) => return None,
        };
        self.cut += u64::from(end == StackEnd::MostFrames);
        let first = places.first().copied();
        let is_marker = hit.marker.event.is_none();
        let load_bias = match first {
            Some(first) if is_marker => first.address.wrapping_sub(hit.site.probe.0),
            _ => 0,
        };
        let frame = |(number, place): (usize, CodePlace)| match first {
            Some(first) if is_marker && number == 0 => self.site(hit, first.address),
            Some(first) if is_marker => self.call(hit, load_bias, first.address, place),
            _ => self.call(hit, 0, place.address, place),
        };
        Some((places.into_iter().enumerate().map(frame).collect(), end))
    }

    fn kernel(&mut self, hit: &Hit<'_>) -> Option<(Vec<KernelFrame>, bool)> {
        let stack = hit.kernel_stack()?;
        Some((self.kernel.named(stack.addresses()), stack.is_cut))
    }

    fn tell(&self, console: &Console) {
        self.kernel.tell(console);
        if self.cut > 0 {
            console.note(&format!("{} stacks have more frames than are read", self.cut));
        }
    }
}

/// How a stack ended that the kernel followed.
fn end_of_followed(stack: &Stack<'_>) -> StackEnd {
    if stack.is_cut { StackEnd::MostFrames } else { StackEnd::FramePointers }
}
