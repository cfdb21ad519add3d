//! The stacks of hits, of programs that run and of recordings, as lines and as JSON.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json};
use simple_markers_tracer::Hit;
use simple_markers_tracer::frames::{Frame, INDENT, KernelFrame, StackEnd, StackTable};

use crate::console::Console;
use crate::copied_stack;

/// Says what the frames of the stacks of a hit are.
pub(crate) trait HitStacks {
    /// The frames of the program, the innermost first, and why they end; `None` if the hit has no such stack.
    fn program(&mut self, hit: &Hit<'_>) -> Option<(Vec<Frame>, StackEnd)>;

    /// The frames of the kernel, the innermost first, and whether more follow; `None` if the hit has no such stack.
    fn kernel(&mut self, hit: &Hit<'_>) -> Option<(Vec<KernelFrame>, bool)>;

    /// Says what is not known of them.
    fn tell(&self, console: &Console);
}

/// The stacks of a recording.
pub(crate) struct KnownStacks(pub(crate) StackTable);

impl HitStacks for KnownStacks {
    fn program(&mut self, hit: &Hit<'_>) -> Option<(Vec<Frame>, StackEnd)> {
        let (numbers, end) = hit.recorded_stacks().program?;
        Some((numbers.iter().filter_map(|number| self.0.frame(number)).cloned().collect(), end))
    }

    fn kernel(&mut self, hit: &Hit<'_>) -> Option<(Vec<KernelFrame>, bool)> {
        let (numbers, is_cut) = hit.recorded_stacks().kernel?;
        Some((numbers.iter().filter_map(|number| self.0.kernel_frame(number)).cloned().collect(), is_cut))
    }

    fn tell(&self, _: &Console) {}
}

/// Appends the frames of a hit, one a line.
pub(crate) fn write(stacks: &mut dyn HitStacks, hit: &Hit<'_>, out: &mut String) {
    if let Some((frames, is_cut)) = stacks.kernel(hit) {
        frames.iter().for_each(|frame| frame.write(out));
        if is_cut {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{INDENT}.. [kernel]");
        }
    }
    let Some((frames, end)) = stacks.program(hit) else { return };
    frames.iter().for_each(|frame| frame.write(out));
    if let Some(why) = why(end, hit) {
        let _ = writeln!(out, "{INDENT}..{why}");
    }
}

/// Adds the stacks of a hit to its object.
pub(crate) fn add_json(stacks: &mut dyn HitStacks, hit: &Hit<'_>, object: &mut Map<String, Json>) {
    if let Some((frames, is_cut)) = stacks.kernel(hit) {
        object.insert("kernel_stack".to_owned(), frames.iter().map(KernelFrame::json).collect());
        object.insert("kernel_stack_cut".to_owned(), is_cut.into());
    }
    let Some((frames, end)) = stacks.program(hit) else { return };
    object.insert("stack".to_owned(), frames.iter().map(Frame::json).collect());
    object.insert("stack_cut".to_owned(), end.is_cut().into());
    object.insert("stack_end".to_owned(), end.code().into());
}

/// Why the frames of a hit end, behind the dots that stand for those that follow; `None` if there are none, or nothing is
/// known of them.
fn why(end: StackEnd, hit: &Hit<'_>) -> Option<String> {
    let copied = hit.copied_stack().map(|stack| stack.memory().len());
    let most_followed = copied.is_none() && hit.record().is_some();
    Some(match (end, copied) {
        (StackEnd::Outermost | StackEnd::FramePointers | StackEnd::NoProgram, _) => return None,
        (StackEnd::MostFrames, _) if most_followed => String::new(),
        (StackEnd::MostFrames, None) => ": no more frames were read".to_owned(),
        (StackEnd::MostFrames, Some(_)) => format!(": at most {} frames are read", copied_stack::MOST),
        (StackEnd::NotCopied, Some(bytes)) => format!(": only {bytes} bytes of the stack were copied"),
        (StackEnd::NotCopied, None) => ": no more of the stack was copied".to_owned(),
        (StackEnd::Unreadable, Some(bytes)) => format!(": only {bytes} bytes of the stack could be read"),
        (StackEnd::Unreadable, None) => ": no more of the stack could be read".to_owned(),
        (StackEnd::NoFile, _) => ": no file is known to be mapped there".to_owned(),
        (StackEnd::NoInformation, _) => ": the file does not say how to find the caller".to_owned(),
        (StackEnd::Invalid, _) => {
            ": what the file says of the caller is wrong, or the stack was overwritten".to_owned()
        }
        (StackEnd::NotKept, _) => ": the recording has no room for more different frames".to_owned(),
    })
}
