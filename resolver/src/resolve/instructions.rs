//! What the instructions at a site say: exactness, predecessors, and what a probe there costs
//! (`docs/design.md`, "Exactness").
//!
//! Finds all code of the function that holds a site (`function`), has `code` decode it once per
//! function, and turns the answer into the values of a [`Site`](super::Site): `exactness`, `probe`.
//! `calls` names the instruction that holds a byte. `code` decides what is decided from
//! instructions alone.

mod calls;
mod decoded_function;
mod exactness;
mod exits;
mod function;
mod function_code;
mod probe;

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

use super::code_bytes::CodeBytes;
use super::folding::Folding;
use super::function_symbols::FunctionSymbols;
use super::patched::CodePatches;
use super::pc::{self, Pc};
use super::proof::{self, Judgement};
use super::shared_places::ProbePlace;
use super::{Exactness, ExactnessReason, Predecessor, ProbeVerdict};
use crate::address::Vaddr;
use crate::arch::InstructionSet;
use crate::code::Outcome;
use crate::dwarf::{DebugInfo, Die};
use crate::image::ImageKind;
use crate::location::Register;
use crate::uprobe_rules::UprobeRules;
use decoded_function::{Cell, Key};
pub(super) use function_code::FunctionCode;

/// The most predecessors that are listed of a site: a jump table may have thousands.
const LISTED: usize = 64;

/// The instructions of an image.
pub(super) struct Instructions<'a> {
    code: &'a CodeBytes<'a>,
    set: &'static dyn InstructionSet,
    /// Those of the kernels for which a uprobe is judged.
    rules: &'a [&'a dyn UprobeRules],
    debug: Option<&'a DebugInfo<'a>>,
    folding: Folding<'a>,
    /// Where the records say that markers are, and how many records say so.
    sites: HashMap<Vaddr, usize>,
    symbols: OnceLock<FunctionSymbols<'a>>,
    /// What a kernel does to its own code.
    patched: OnceLock<CodePatches>,
    /// The slots that the dynamic linker fills, with the names of what it puts there.
    imports: OnceLock<HashMap<u64, &'a [u8]>>,
    decoded: Mutex<HashMap<Key, Cell<'a>>>,
    /// Bytes of code that may still be decoded. Bounds the work if functions claim to overlap.
    left: AtomicU64,
    /// Instructions that may still be walked over to answer questions about whole functions. Bounds the
    /// work if many ghosts are in a large function.
    walks_left: AtomicU64,
}

/// What the instructions say of a site; nothing if they were not read.
#[derive(Clone, Debug, Default)]
pub(super) struct ProbeFacts {
    pub(super) exactness: Option<Exactness>,
    pub(super) reason: Option<ExactnessReason>,
    pub(super) predecessors: Vec<Predecessor>,
    pub(super) instruction: Option<Arc<str>>,
    pub(super) probe: Option<ProbeVerdict>,
    /// Where a probe sees the same and finds all arguments, if other sites have the same address.
    pub(super) places: Vec<ProbePlace>,
}

impl ProbeFacts {
    fn new(exactness: Exactness, reason: ExactnessReason) -> Self {
        Self { exactness: Some(exactness), reason: Some(reason), ..Self::default() }
    }
}

/// A site, and what is known of it.
pub(super) struct SiteQuery<'a> {
    pub(super) pc: Pc,
    pub(super) anchored: bool,
    /// Whether it is the site of a probe, which the test of the probe's switch alone leads to.
    pub(super) is_probe: bool,
    /// Whether the instruction was written for it, and is in no function that the linker folded with
    /// another one.
    pub(super) owns_instruction: bool,
    /// How many records of the marker at the address one file may have.
    pub(super) copies: u32,
    /// Whether the linker dropped or moved records of the marker there, or there are none at all.
    /// Another function may then pass the marker as well.
    pub(super) may_be_elsewhere: bool,
    /// The out-of-line function that holds it, from the debug information.
    pub(super) function: Option<Die>,
    /// Whether the debug information has the marker's function only elsewhere.
    pub(super) is_not_there: bool,
    /// The registers that its arguments are read from.
    pub(super) registers: &'a [Register],
}

impl<'a> Instructions<'a> {
    /// The instructions of an image; `None` if its instruction set is not supported. `sites` is where
    /// markers are, and `rules` those of the kernels for which a uprobe is judged.
    pub(super) fn new(
        code: &'a CodeBytes<'a>,
        debug: Option<&'a DebugInfo<'a>>,
        folding: Folding<'a>,
        sites: impl Iterator<Item = Pc>,
        rules: &'a [&'a dyn UprobeRules],
    ) -> Option<Self> {
        let image = code.image();
        let set = image.processor().set()?;
        let left = image.size().saturating_mul(4).saturating_add(1 << 20);
        Some(Self {
            code,
            set,
            rules,
            debug,
            folding,
            sites: sites.filter_map(|pc| pc.vaddr(code.layout())).fold(HashMap::new(), |mut sites, at| {
                *sites.entry(at).or_default() += 1;
                sites
            }),
            symbols: OnceLock::new(),
            patched: OnceLock::new(),
            imports: OnceLock::new(),
            decoded: Mutex::default(),
            left: AtomicU64::new(left),
            walks_left: AtomicU64::new(image.size().saturating_mul(8).saturating_add(1 << 26)),
        })
    }

    /// Reads what all sites need.
    pub(super) fn prepare(&self) {
        self.symbols();
        if self.is_kernel() {
            self.patched();
        }
    }

    /// Everything that the instructions say of a site.
    pub(super) fn site(&self, query: &SiteQuery<'_>) -> ProbeFacts {
        let Some(pc) = self.address(query.pc) else { return ProbeFacts::default() };
        // A separate debug file has the addresses but no code.
        let Some(bytes) = self.code.from(pc).filter(|bytes| !bytes.is_empty()) else {
            let is_section_end = self.code.layout().is_some() && self.code.from(pc).is_some();
            return match is_section_end {
                true => ProbeFacts::new(Exactness::Outside, ExactnessReason::SectionEnds),
                false => ProbeFacts::default(),
            };
        };
        let key = match self.key(query, pc) {
            Ok(key) => key,
            Err((exactness, reason)) => {
                // The symbols of a function are not needed to know whose a note's instruction is.
                let (exactness, reason) = match query.owns_instruction {
                    true => (Exactness::Exact, ExactnessReason::Anchored),
                    false => (exactness, reason),
                };
                let mut probed = ProbeFacts::new(exactness, reason);
                if exactness != Exactness::Outside {
                    self.add_probe(&mut probed, None, pc, bytes);
                }
                return probed;
            }
        };
        let cell = self.decoded(key);
        let decoded = match cell.get() {
            Some(Ok(decoded)) => decoded,
            Some(Err(reason)) => {
                let mut probed = ProbeFacts::new(Exactness::Unproven, reason.clone());
                self.add_probe(&mut probed, None, pc, bytes);
                return probed;
            }
            None => return ProbeFacts::default(),
        };
        if self.is_kernel() && self.patched().is_inside(pc) {
            return ProbeFacts::new(Exactness::Unproven, ExactnessReason::ReplacedInstructions);
        }
        let assessment = decoded.cfg.exactness(pc, query.anchored);
        let Judgement { exactness, reason } = proof::judge(&self.facts(decoded, &assessment, pc, query));
        let mut probed = ProbeFacts::new(exactness, reason);
        probed.predecessors = assessment.predecessors.iter().take(LISTED).map(|edge| self.predecessor(edge)).collect();
        if assessment.outcome != Outcome::Outside {
            self.add_probe(&mut probed, Some(decoded), pc, bytes);
            self.add_best(&mut probed, decoded, pc, query.registers);
        }
        probed
    }

    /// The stack pointer.
    pub(super) fn stack_pointer(&self) -> Register {
        Register(self.set.stack_pointer())
    }

    /// The address, if it is behind the first instruction of a function; `None` if it is the first one, or
    /// there is no such function.
    pub(super) fn behind_entry(&self, pc: Pc, function: Option<Die>) -> Option<Vaddr> {
        let (pc, code) = (self.address(pc)?, self.function(function?)?);
        (code.entry() != pc).then_some(pc)
    }

    fn is_kernel(&self) -> bool {
        matches!(self.code.image().kind(), ImageKind::Kernel | ImageKind::Module)
    }

    fn patched(&self) -> &CodePatches {
        self.patched.get_or_init(|| CodePatches::of(self.code, self.set))
    }

    fn symbols(&self) -> &FunctionSymbols<'a> {
        self.symbols.get_or_init(|| FunctionSymbols::of(self.code.image(), self.code.layout()))
    }

    fn address(&self, pc: Pc) -> Option<Vaddr> {
        pc.vaddr(self.code.layout())
    }

    /// An address as reports have it: in a relocatable object the offset in its section.
    fn reported(&self, at: Vaddr) -> u64 {
        pc::reported(at, self.code.layout())
    }
}
