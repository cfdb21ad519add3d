//! The frames of a copied stack: from the registers of a hit to the caller of all, by call frame information.

use std::rc::Rc;

use simple_markers_tracer::frames::StackEnd;
use simple_markers_tracer::record::stack::CopiedStack;

use crate::call_frames::{CallFrames, Caller, CallerError};
use crate::registers::{MemoryPart, Registers};

/// The most frames of a copied stack.
pub(crate) const MOST: usize = 256;

/// Where a frame is in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodePlace {
    /// The address that is executed next in the frame.
    pub(crate) address: u64,
    /// Whether the instruction before it is a call, to the next frame inside.
    pub(crate) is_behind_call: bool,
}

impl CodePlace {
    /// An address in the instruction that the frame executes.
    pub(crate) fn instruction(self) -> u64 {
        self.address.wrapping_sub(self.is_behind_call.into())
    }
}

/// Knows the call frame information at an address of the process, and the distance from the link-time address
/// to it.
pub(crate) type Lookup<'l> = dyn FnMut(CodePlace) -> Result<(Rc<CallFrames>, u64), StackEnd> + 'l;

/// The frames of a stack, the innermost first, and why they end.
pub(crate) fn frames(stack: &CopiedStack<'_>, look_up: &mut Lookup<'_>) -> (Vec<CodePlace>, StackEnd) {
    let Some(mut registers) = Registers::of(stack) else { return (Vec::new(), StackEnd::NoProgram) };
    let memory = MemoryPart { start: registers.stack_pointer(), bytes: stack.memory() };
    let is_whole = stack.memory().len() as u64 >= u64::from(stack.size);
    let mut place = CodePlace { address: registers.program_counter(), is_behind_call: false };
    let mut places = vec![place];
    loop {
        let caller = look_up(place).and_then(|(information, bias)| {
            let address = place.instruction().wrapping_sub(bias);
            information.caller(address, bias, &registers, &memory).map_err(|why| match why {
                CallerError::NoInformation => StackEnd::NoInformation,
                CallerError::Invalid => StackEnd::Invalid,
                // Nothing that a caller needs is below the frames that it has called.
                CallerError::Memory { address } if address < memory.start => StackEnd::Unreadable,
                CallerError::Memory { .. } if is_whole => StackEnd::NotCopied,
                CallerError::Memory { .. } => StackEnd::Unreadable,
            })
        });
        match caller {
            Err(end) => return (places, end),
            Ok(None) => return (places, StackEnd::Outermost),
            Ok(Some(_)) if places.len() >= MOST => return (places, StackEnd::MostFrames),
            Ok(Some(Caller { registers: of_caller, is_interrupted })) => {
                registers = of_caller;
                place = CodePlace { address: registers.program_counter(), is_behind_call: !is_interrupted };
                places.push(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_all_ends() {
        let read = |name: &str| {
            let path = format!("{}/../docs/{name}", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).expect("the document")
        };
        let (page, schema) = (read("json.md"), read("schema.json"));
        let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
        let codes: Vec<&str> = StackEnd::ALL.iter().map(|end| end.code()).collect();
        assert_eq!(schema["$defs"]["stack_end"]["enum"], serde_json::json!(codes));
        let rows = page.lines().filter_map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            let code = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
            Some((code.to_owned(), cells.next_back()?.to_owned()))
        });
        let rows: Vec<_> = rows.skip_while(|(code, _)| code != codes[0]).collect();
        let expected: Vec<_> =
            StackEnd::ALL.iter().map(|end| (end.code().to_owned(), end.is_cut().to_string())).collect();
        assert_eq!(rows, expected);
    }
}
