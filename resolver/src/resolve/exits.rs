//! The exits of the functions of an image, each with the place of its result.

use std::sync::Arc;

use super::arguments::{Arguments, Stop, TypeDetail};
use super::code_bytes::CodeBytes;
use super::files::Files;
use super::folding::Folding;
use super::instructions::Instructions;
use super::lazy_debug::LazyDebug;
use super::names::AddressNames;
use super::place::RESULT;
use super::{Argument, DeclaredArgument, ExactnessReason, ExitGap, Request};
use crate::Error;
use crate::address::Vaddr;
use crate::debug_files::Store;
use crate::dwarf::{Frame, Moment};
use crate::image::Image;
use crate::text;

/// Where a function is left.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FunctionExits {
    /// The name of its symbol.
    pub symbol: Arc<str>,
    /// Where it is entered: its link-time address.
    pub entry: Vaddr,
    /// The instructions that return to the caller, ascending.
    pub returns: Vec<Vaddr>,
    /// The jumps to other functions, ascending.
    pub tail_calls: Vec<TailCall>,
    /// Why it may be left elsewhere too; empty if it is not.
    pub gaps: Vec<ExitGap>,
    /// Why its code was not read; `None` if it was.
    pub problem: Option<ExactnessReason>,
    /// Its result where it returns, under the name `$return`.
    pub result: Argument,
}

/// Where a function is left, as the instructions say. Each list is in the order of the addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exits {
    /// The instructions that return to the caller.
    pub(super) returns: Vec<Vaddr>,
    /// The jumps to other functions, with their names; `None` if a name is not known.
    pub(super) tail_calls: Vec<(Vaddr, Option<Arc<str>>)>,
    /// Why it may be left elsewhere too; empty if it is not.
    pub(super) gaps: Vec<ExitGap>,
}

/// A jump that leaves a function for another one, which returns to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailCall {
    /// The link-time address of the jump.
    pub at: Vaddr,
    /// The other function, demangled; `None` if it is not known.
    pub function: Option<Arc<str>>,
}

/// Where the functions of a linked image are left that have a symbol which `wants` accepts, by address.
///
/// # Errors
///
/// `data` is not an ELF file.
pub fn function_exits(
    path: &str,
    data: &[u8],
    request: Request<'_>,
    wants: &dyn Fn(&str) -> bool,
) -> Result<Vec<FunctionExits>, Error> {
    let image = Image::parse(data)?;
    let opened = Store::default();
    let files = Files::new(path, &image, request.debug_files, &opened);
    let debug = LazyDebug::new(&files);
    let info = debug.info();
    let code = CodeBytes::new(&image, None);
    let folding = Folding::new(&image, files.named(), info);
    let Some(instructions) = Instructions::new(&code, info, folding, std::iter::empty(), request.rules) else {
        return Ok(Vec::new());
    };
    let arguments = info.map(|info| {
        let names = AddressNames::new(files.named(), None, info.processor());
        Arguments::new(info, names, TypeDetail::Full)
    });
    let symbols = files.named().functions();
    let declared = DeclaredArgument { text: RESULT.into(), conversion: None, words: None, mistake: None };
    let mut found = Vec::new();
    for (_, symbol) in symbols.all() {
        let (name, entry) = (text::from_bytes(symbols.name(&symbol)), Vaddr(symbol.start));
        if !wants(&name) {
            continue;
        }
        let die = info.and_then(|info| info.entry_starting_at(entry).ok().flatten());
        let exits = match die {
            Some(die) => instructions.exits(die),
            None => instructions.exits_of_symbol(entry),
        };
        let (exits, problem) = match exits {
            Ok(exits) => (exits, None),
            Err(why) => (Exits::default(), Some(why)),
        };
        let result = match &arguments {
            Some(arguments) => {
                let frame = Frame { pc: entry, function: die, at_entry: false, moment: Moment::Last };
                let stop = Stop { scope: None, frame, file: "", line: 0, is_entered: false, no_result: None };
                arguments.resolve(&declared, &stop).argument
            }
            None => Argument::unresolved(&declared.text),
        };
        let tail_calls = exits.tail_calls.into_iter().map(|(at, function)| TailCall { at, function }).collect();
        let (returns, gaps) = (exits.returns, exits.gaps);
        found.push(FunctionExits { symbol: name.into(), entry, returns, tail_calls, gaps, problem, result });
        instructions.release();
    }
    found.sort_by(|one, other| (one.entry, &one.symbol).cmp(&(other.entry, &other.symbol)));
    Ok(found)
}
