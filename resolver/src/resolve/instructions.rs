//! What the instructions at a site say: exactness, ways in, and what a probe there costs (`docs/design.md`, "Exactness").
//!
//! Finds all the code of the function that holds a site, from debug information or symbols, has `code` decode it, once for each function
//! whoever asks, and puts the answer as reports have it. What is decided from instructions is decided in `code`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use object::SectionIndex;

use super::code_bytes::CodeBytes;
use super::cold::FunctionSymbols;
use super::folding::{Folded, Folding};
use super::join::Pc;
use super::patched::Patched;
use super::{Exactness, ProbeCost, ProbeVerdict, WayIn};
use crate::address::{SectionOffset, Vaddr};
use crate::code::{self, Arch, Callee, Cost, Effect, Flow, Function, Part, Unproven, Way, Why};
use crate::demangle::demangle;
use crate::dwarf::{DebugInfo, Die};
use crate::image::ImageKind;
use crate::location::{Processor, Register};

/// The most ways that are listed of a site: a jump table may have thousands.
const LISTED: usize = 64;

/// The instructions of an image.
pub(super) struct Instructions<'c, 'i, 'data, 's> {
    code: &'c CodeBytes<'i, 'data>,
    arch: Arch,
    debug: Option<&'c DebugInfo<'s>>,
    folding: Folding<'c, 'data, 's>,
    symbols: OnceLock<FunctionSymbols<'data>>,
    /// What a kernel does to its own code.
    patched: OnceLock<Patched>,
    /// What the dynamic linker fills in.
    imports: OnceLock<HashMap<u64, &'data [u8]>>,
    decoded: Mutex<HashMap<Key, Cell<'c>>>,
    /// Bytes of code that may still be decoded: bounds the work where functions are said to overlap.
    left: AtomicU64,
}

type Cell<'c> = Arc<OnceLock<Result<Decoded<'c>, String>>>;

/// What says where a function's code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Described(Die),
    Symbol(u64),
}

struct Decoded<'c> {
    function: Function<'c>,
    flow: Flow,
    /// Why there may be ways in that are not known.
    hidden: Option<String>,
}

/// What the instructions say of a site; nothing where they were not looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Probed {
    pub(super) exactness: Option<Exactness>,
    pub(super) why: Option<Arc<str>>,
    pub(super) ways_in: Vec<WayIn>,
    pub(super) instruction: Option<Arc<str>>,
    pub(super) probe: Option<ProbeVerdict>,
}

/// A site, and what is known of it.
pub(super) struct Asked<'a> {
    pub(super) pc: Pc,
    pub(super) anchored: bool,
    /// How many records of the marker are there that one file may have.
    pub(super) copies: u32,
    /// Whether the marker has records that the linker dropped or moved there, or none at all: another function may pass it as well.
    pub(super) may_be_elsewhere: bool,
    /// The function out of line that holds it, as the debug information has it.
    pub(super) function: Option<Die>,
    /// Whether the debug information has the marker's function elsewhere only.
    pub(super) is_not_there: bool,
    /// The registers that its arguments are read by.
    pub(super) registers: &'a [Register],
}

impl<'c, 'i, 'data, 's> Instructions<'c, 'i, 'data, 's> {
    /// The instructions of an image; `None` where its processor's are not understood.
    pub(super) fn new(
        code: &'c CodeBytes<'i, 'data>,
        debug: Option<&'c DebugInfo<'s>>,
        folding: Folding<'c, 'data, 's>,
    ) -> Option<Self> {
        let image = code.image();
        let arch = match image.processor() {
            Processor::X86_64 => Arch::X86_64,
            Processor::I386 => Arch::I386,
            Processor::Aarch64 => Arch::Aarch64,
            Processor::Other => return None,
        };
        let left = image.size().saturating_mul(4).saturating_add(1 << 20);
        Some(Self {
            code,
            arch,
            debug,
            folding,
            symbols: OnceLock::new(),
            patched: OnceLock::new(),
            imports: OnceLock::new(),
            decoded: Mutex::default(),
            left: AtomicU64::new(left),
        })
    }

    /// Whether an address is where a function is entered, and nothing in the function leads back there.
    pub(super) fn is_entry(&self, pc: Vaddr, function: Die) -> bool {
        let cell = self.decoded(Key::Described(function));
        let Some(Ok(decoded)) = cell.get() else { return false };
        let verdict = decoded.flow.exactness(pc, false);
        decoded.hidden.is_none() && verdict.exactness == code::Exactness::Exact(Why::Entry)
    }

    /// The instruction of a function that holds the byte at an address: where it starts, and as objdump writes it, a call with the name of
    /// what it calls; `None` where the function could not be decoded.
    pub(super) fn holding(&self, function: Die, byte: Vaddr) -> Option<(Vaddr, Arc<str>)> {
        let cell = self.decoded(Key::Described(function));
        let at = cell.get()?.as_ref().ok()?.flow.holding(byte)?;
        let bytes = self.code.from(at)?;
        let text = code::probe(self.arch, at, bytes).instruction;
        if text == "(bad)" {
            return None;
        }
        let Some(callee) = code::callee(self.arch, at, bytes) else { return Some((at, text.into())) };
        let mnemonic = text.split_whitespace().next().unwrap_or(&text);
        // `callq *0x2fb2(%rip)`, of which the slot's name takes the place.
        let mnemonic = mnemonic.strip_suffix('q').unwrap_or(mnemonic);
        Some((
            at,
            match self.callee(callee) {
                Some(name) => format!("{mnemonic} {name}").into(),
                // The target is one that the linker is still to give.
                None if self.code.layout().is_some() => mnemonic.into(),
                None => text.into(),
            },
        ))
    }

    /// The name of what a call calls: of a function of the image, `NAME@plt` where it goes by the linkage table.
    fn callee(&self, callee: Callee) -> Option<String> {
        let imported = |slot: Vaddr| {
            let name = self.imports.get_or_init(|| self.code.image().imports()).get(&slot.0)?;
            Some(demangle(name))
        };
        match callee {
            Callee::Through(slot) => imported(slot),
            Callee::At(target) => {
                let named = self.symbols().name_at(target.0);
                let described = || self.debug?.function_starting_at(target).ok().flatten().map(|name| name.to_string());
                let linked = || {
                    let slot = code::linkage(self.arch, target, self.code.from(target)?)?;
                    Some(format!("{}@plt", imported(slot)?))
                };
                named.or_else(described).or_else(linked)
            }
        }
    }

    /// What there is to say of a site.
    pub(super) fn site(&self, asked: &Asked<'_>) -> Probed {
        let Some(pc) = self.address(asked.pc) else { return Probed::default() };
        // A debug companion has the addresses and not the code.
        let Some(bytes) = self.code.from(pc).filter(|bytes| !bytes.is_empty()) else {
            let is_there = self.code.layout().is_some() && self.code.from(pc).is_some();
            let why = "the address is behind the last instruction of its section";
            return if is_there { said(Exactness::Outside, why) } else { Probed::default() };
        };
        let key = match self.key(asked, pc) {
            Ok(key) => key,
            Err((exactness, why)) => {
                let mut probed = said(exactness, &why);
                if exactness != Exactness::Outside {
                    self.add_probe(&mut probed, pc, bytes);
                }
                return probed;
            }
        };
        let cell = self.decoded(key);
        let decoded = match cell.get() {
            Some(Ok(decoded)) => decoded,
            Some(Err(why)) => {
                let mut probed = said(Exactness::Unproven, why);
                self.add_probe(&mut probed, pc, bytes);
                return probed;
            }
            None => return Probed::default(),
        };
        if self.is_kernel() && self.patched().is_inside(pc) {
            return said(Exactness::Unproven, "the kernel may replace the instructions there by others");
        }
        let verdict = decoded.flow.exactness(pc, asked.anchored);
        let mut probed = self.words(decoded, &verdict, asked);
        self.add_copies(&mut probed, pc, asked);
        self.add_folding(&mut probed, decoded, pc, asked);
        probed.ways_in = verdict.ways.iter().take(LISTED).map(|way| self.way_in(way)).collect();
        if verdict.exactness != code::Exactness::Outside {
            self.add_probe(&mut probed, pc, bytes);
            self.add_best(&mut probed, decoded, pc, asked.registers);
        }
        probed
    }

    fn words(&self, decoded: &Decoded<'_>, verdict: &code::Verdict, asked: &Asked<'_>) -> Probed {
        let number = |at: Vaddr| format!("{:#x}", self.place(at));
        let exact = |why: &str| match (asked.is_not_there, &decoded.hidden) {
            (true, _) => {
                said(Exactness::Unproven, "the debug information has another function than the marker's at the address")
            }
            (false, Some(hidden)) if !asked.anchored => said(Exactness::Unproven, hidden),
            (false, _) => said(Exactness::Exact, why),
        };
        match verdict.exactness {
            code::Exactness::Exact(Why::Anchored) => exact("the instruction there is the marker's own"),
            code::Exactness::Exact(Why::Entry) => exact("the function is entered there, and nothing else leads there"),
            code::Exactness::Exact(Why::FallThrough) => {
                exact("the instruction before it goes on there, and nothing else leads there")
            }
            code::Exactness::Exact(Why::OneWayIn) => exact("one branch leads there, and nothing else"),
            code::Exactness::Shared => {
                let why = format!("{} ways in, and not all of them need pass the marker", verdict.ways.len());
                said(Exactness::Shared, &why)
            }
            code::Exactness::Folded => said(Exactness::Folded, FOLDED),
            code::Exactness::Outside => said(Exactness::Outside, "the marker's function ends before the address"),
            code::Exactness::Unproven(Unproven::Undecoded(at)) => {
                said(Exactness::Unproven, &format!("the bytes at {} of its function are no instruction", number(at)))
            }
            code::Exactness::Unproven(Unproven::InsideInstruction) => {
                said(Exactness::Unproven, "the address is in the middle of an instruction")
            }
            code::Exactness::Unproven(Unproven::Indirect(at)) => {
                said(Exactness::Unproven, &format!("the indirect jump at {} may lead there", number(at)))
            }
            code::Exactness::Unproven(Unproven::NoWayIn) => {
                said(Exactness::Unproven, "nothing that is known leads there")
            }
        }
    }

    /// Several copies of a marker at one address, as of a loop that was unrolled and has no other code: a probe fires once for all of them.
    fn add_copies(&self, probed: &mut Probed, pc: Vaddr, asked: &Asked<'_>) {
        // An instruction of its own stands between it and the next.
        if asked.copies < 2 || asked.anchored {
            return;
        }
        let copies = asked.copies;
        let may_be_one = self.symbols().at(pc.0).is_none_or(|symbol| symbol.may_be_in_several);
        let (exactness, why) = match (probed.exactness, may_be_one) {
            (Some(Exactness::Exact), false) => {
                let why = format!("{copies} copies of the marker are there, and a probe fires once for all of them");
                (Exactness::Shared, why)
            }
            (Some(Exactness::Exact), true) => {
                let what = "copies in a row, or the one of a function that several files have";
                (Exactness::Unproven, format!("{copies} records of the marker are there: {what}"))
            }
            (Some(Exactness::Shared), _) => {
                let before = probed.why.as_deref().unwrap_or_default();
                (Exactness::Shared, format!("{before}; and {copies} records of the marker are there"))
            }
            (Some(Exactness::Unproven), _) => {
                let before = probed.why.as_deref().unwrap_or_default();
                (Exactness::Unproven, format!("{before}; and {copies} records of the marker are there"))
            }
            _ => return,
        };
        probed.exactness = Some(exactness);
        probed.why = Some(why.into());
    }

    /// Another function that the linker made one with the marker's: a probe fires for both, also where the marker has its own instruction.
    fn add_folding(&self, probed: &mut Probed, decoded: &Decoded<'_>, pc: Vaddr, asked: &Asked<'_>) {
        let is_exact = probed.exactness == Some(Exactness::Exact);
        if !is_exact && !matches!(probed.exactness, Some(Exactness::Shared | Exactness::Unproven)) {
            return;
        }
        let around = self.symbols().at(pc.0).map(|symbol| symbol.start);
        let parts = decoded.function.parts.iter().map(|part| part.start.0).filter(|start| {
            // What gcc splits off has a symbol, what LLVM does may have none.
            *start == decoded.function.entry.0 || self.symbols().starting_at(*start).is_some()
        });
        let mut doubt = None;
        for start in parts.chain(around) {
            match self.folding.at(start) {
                Some(Folded::Several(names)) if asked.may_be_elsewhere => {
                    doubt = Some(format!("the linker made one of {names}, which need not all pass the marker"));
                }
                Some(Folded::Several(names)) => {
                    probed.exactness = Some(Exactness::Folded);
                    probed.why = Some(format!("the linker made one of {names}, and a probe fires for each").into());
                    return;
                }
                Some(Folded::Perhaps(names)) => {
                    doubt = doubt.or_else(|| {
                        Some(format!("{names} are at one address: names of one function, or functions that the linker made one of"))
                    });
                }
                Some(Folded::Unknown(why)) => doubt = doubt.or_else(|| Some(why.to_owned())),
                None => {}
            }
        }
        if let (true, Some(why)) = (is_exact, doubt) {
            probed.exactness = Some(Exactness::Unproven);
            probed.why = Some(why.into());
        }
    }

    fn way_in(&self, way: &code::WayIn) -> WayIn {
        let kind = match way.way {
            Way::Entry => "entry",
            Way::FallThrough => "fall_through",
            Way::CallReturn => "call_return",
            Way::Jump => "jump",
            Way::Conditional => "conditional",
            Way::Table { .. } => "table",
            Way::Unwind => "landing_pad",
            Way::Patched => "patched",
            Way::Fixup => "fixup",
            Way::Foreign => "foreign",
        };
        let (file, line) = self.debug.and_then(|debug| debug.line_at(way.from)).unzip();
        WayIn { address: self.place(way.from), file, line, kind }
    }

    /// The instruction at `pc`, and what comes of a uprobe there.
    fn add_probe(&self, probed: &mut Probed, pc: Vaddr, bytes: &[u8]) {
        let probe = code::probe(self.arch, pc, bytes);
        probed.instruction = (probe.instruction != "(bad)").then(|| Arc::from(&*probe.instruction));
        // The kernel's own code takes no uprobes.
        if self.is_kernel() {
            return;
        }
        let cost = probe.cost().map(|cost| match cost {
            Cost::Emulated | Cost::Rewritten => ProbeCost::Emulated,
            Cost::Stepped => ProbeCost::Stepped,
        });
        let why: Option<Arc<str>> = match probe.effect {
            Effect::Fires(Cost::Rewritten) => {
                Some("since Linux 6.18 a call is put there, which writes below the stack pointer".into())
            }
            Effect::Fires(_) | Effect::Unknown => None,
            Effect::FiresEachIteration => Some("it fires for each iteration of a repeated instruction".into()),
            Effect::Refused(why) | Effect::Breaks(why) => Some(why.into()),
        };
        probed.probe = probe.accepted().map(|accepted| ProbeVerdict { accepted, cost, why, best_address: None });
    }

    /// The cheapest address that stands for `pc`.
    fn add_best(&self, probed: &mut Probed, decoded: &Decoded<'_>, pc: Vaddr, registers: &[Register]) {
        let Some(verdict) = &mut probed.probe else { return };
        let keeps = |it: &code::Equivalent| registers.iter().all(|register| !it.overwritten.contains(register.0));
        let rank = |probe: &code::Probe| match probe.cost() {
            Some(Cost::Emulated) => 0,
            Some(Cost::Stepped) => 1,
            Some(Cost::Rewritten) => 2,
            None => 3u8,
        };
        let here = decoded.flow.equivalents(&decoded.function, pc).into_iter().next();
        let best = decoded.flow.best(&decoded.function, pc, &keeps);
        let better = best.filter(|best| here.is_some_and(|here| rank(&best.probe) < rank(&here.probe)));
        verdict.best_address = better.map(|best| self.place(best.at));
    }

    fn is_kernel(&self) -> bool {
        matches!(self.code.image().kind(), ImageKind::Kernel | ImageKind::Module)
    }

    /// What says where the code of the site's function is; else the verdict, and why.
    fn key(&self, asked: &Asked<'_>, pc: Vaddr) -> Result<Key, (Exactness, String)> {
        if let (Some(function), Some(debug)) = (asked.function, self.debug) {
            match debug.code_of(function) {
                Ok(ranges) if !ranges.is_empty() => return Ok(Key::Described(function)),
                Ok(_) => {}
                Err(error) => return Err((Exactness::Unproven, error.to_string())),
            }
        }
        let symbols = self.symbols();
        let before = symbols.ending_at(pc.0);
        let Some(symbol) = symbols.at(pc.0) else {
            return Err(match before {
                Some(name) => (Exactness::Outside, format!("`{name}` ends before the address")),
                None => {
                    let why = "no symbol and no debug information says which function the address is in";
                    (Exactness::Unproven, why.to_owned())
                }
            });
        };
        match before {
            Some(name) if symbol.start == pc.0 && !asked.anchored => {
                let why = format!(
                    "`{name}` ends where this function starts, and no debug information says whose the marker is"
                );
                Err((Exactness::Unproven, why))
            }
            _ if symbol.start == symbol.end => {
                Err((Exactness::Unproven, "the symbol of its function has no size".to_owned()))
            }
            _ => match symbols.entry_of(symbol) {
                Some(entry) => Ok(Key::Symbol(entry)),
                None => {
                    Err((Exactness::Unproven, "it is not known which function this is the cold part of".to_owned()))
                }
            },
        }
    }

    fn patched(&self) -> &Patched {
        self.patched.get_or_init(|| Patched::of(self.code, self.arch))
    }

    fn symbols(&self) -> &FunctionSymbols<'data> {
        self.symbols.get_or_init(|| FunctionSymbols::of(self.code.image(), self.code.layout()))
    }

    fn decoded(&self, key: Key) -> Cell<'c> {
        let mut all = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = Arc::clone(all.entry(key).or_default());
        drop(all);
        cell.get_or_init(|| self.decode(key));
        cell
    }

    fn decode(&self, key: Key) -> Result<Decoded<'c>, String> {
        let symbols = self.symbols();
        let (entry, ranges) = match key {
            Key::Symbol(entry) => (entry, symbols.parts_of(entry)),
            Key::Described(function) => {
                let debug = self.debug.ok_or("no debug information")?;
                let ranges = debug.code_of(function).map_err(|error| error.to_string())?;
                let said = debug.entry_of(function).map_err(|error| error.to_string())?;
                let is_hot = |range: &&Range<u64>| symbols.starting_at(range.start).is_some_and(|it| !it.is_cold);
                let first = || ranges.iter().find(is_hot).or(ranges.first()).map(|range| range.start);
                (said.or_else(first).ok_or("its function has no code")?, ranges)
            }
        };
        let mut parts = Vec::new();
        for range in &ranges {
            let size = range.end.saturating_sub(range.start);
            let paid = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(size));
            paid.map_err(|_| "more code is said to be in functions than the image has")?;
            let bytes = self.code.from(Vaddr(range.start)).and_then(|bytes| bytes.get(..usize::try_from(size).ok()?));
            let bytes = bytes.ok_or("not all of its function is in the file")?;
            parts.push(Part { start: Vaddr(range.start), bytes });
        }
        let mut others = Vec::new();
        let mut hidden = None;
        for range in &ranges {
            for start in symbols.inside(range).filter(|start| *start != entry) {
                others.push((Vaddr(start), code::WayIn { from: Vaddr(start), way: Way::Foreign }));
            }
            let pads = match self.debug {
                Some(debug) => debug.landing_pads(range, &|at| self.code.from(at)),
                None => Err("the call frame information cannot be read".to_owned()),
            };
            match pads {
                Ok(pads) => {
                    let way = |from| code::WayIn { from, way: Way::Unwind };
                    others.extend(pads.into_iter().map(|pad| (pad.at, way(pad.from))));
                }
                Err(why) => hidden = Some(format!("where exceptions lead is not known: {why}")),
            }
        }
        // A landing pad that serves several calls is one way for each; so often is none passed that a list of all is of use.
        others.sort_unstable();
        others.dedup();
        let is_kernel = self.is_kernel();
        if is_kernel {
            let patched = self.patched();
            others.extend(ranges.iter().flat_map(|range| patched.ways(range)));
            hidden =
                hidden.or_else(|| patched.unknown().map(|why| format!("what the kernel patches is not known: {why}")));
        }
        // The kernel also enters code that mends a fault (`__ex_table`).
        let pads_are_known = hidden.is_none() && !is_kernel;
        let function = Function { entry: Vaddr(entry), parts, others, pads_are_known, traps_return: is_kernel };
        let flow = Flow::of(&function, self.code.memory(), self.arch);
        Ok(Decoded { function, flow, hidden })
    }

    fn address(&self, pc: Pc) -> Option<Vaddr> {
        match (self.code.layout(), pc.section) {
            (Some(layout), Some(section)) => layout.address(SectionIndex(section), SectionOffset(pc.address)),
            _ => Some(Vaddr(pc.address)),
        }
    }

    /// An address as reports have it.
    fn place(&self, at: Vaddr) -> u64 {
        self.code.layout().and_then(|layout| layout.section_offset(at)).map_or(at.0, |(_, offset)| offset.0)
    }
}

/// What is said of markers of different functions at one address.
pub(super) const FOLDED: &str =
    "markers of different functions are at the address: the linker made one of the functions";

fn said(exactness: Exactness, why: &str) -> Probed {
    Probed { exactness: Some(exactness), why: Some(why.into()), ..Probed::default() }
}
