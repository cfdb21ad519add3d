//! The number of the task of an async runtime, as a site reads it, and as hits note it.

use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::export::{MemberFetch, ValueBytes, fetch_member, fetch_variant};
use simple_markers_resolver::location::{Binary, Expr, Node, ValueType};
use simple_markers_resolver::marks::TaskPoint;
use simple_markers_resolver::resolve::RuntimeTask;
use simple_markers_resolver::types::{Language, MemberPlace, PlaceStep};

use crate::filter::Mismatch;
use crate::plan::{
    Input, Number, Place, Placeholder, Plan, PlannedArgument, PlannedSite, Readable, Reading, Source, TASK,
    UnreadReason,
};
use crate::thread_local::ThreadLocals;

/// The number of the task that a thread runs. `None` if it is not known, or there are several runtimes.
pub(super) fn task_number(tasks: &[RuntimeTask], thread_locals: &ThreadLocals) -> Option<Expr> {
    let [RuntimeTask { address, of, .. }] = tasks else { return None };
    let address = thread_locals.located(address)?;
    let size = u32::try_from(of.size?).ok()?;
    match u8::try_from(size).ok().filter(|size| matches!(size, 4 | 8)) {
        // An optional number that is never 0 is 0 where there is none.
        Some(size) => Expr::new(Node::Memory { address, size, to: ValueType::Generic }),
        None => {
            // `Some(Id(number))`
            let mut place = MemberPlace::new(of);
            for name in ["Some", "0", "0"] {
                place = place.member(name, Language::Rust).ok()?;
            }
            let (place, content) = place.content(Language::Rust, false).ok()?;
            let bytes = ValueBytes::Memory { address, size };
            let number = |fetched| match fetched {
                Ok(MemberFetch::Number { value, .. }) => Expr::new(Node::Convert(ValueType::Unsigned(8), value)),
                _ => None,
            };
            let [PlaceStep::Require(is_some)] = &*place.steps else { return None };
            let is_some = number(fetch_variant(&bytes, &[], &MemberPlace::new(of), Some(is_some)))?;
            // It is in the value itself, so the bytes are there in any case.
            let place = MemberPlace { steps: Vec::new(), ..place };
            let some = number(fetch_member(&bytes, &[], &place, &content))?;
            Expr::new(Node::Binary(Binary::Mul, some, is_some))
        }
    }
}

/// The frame of a call, as an argument of its hits.
const FRAME: &str = "frame";

/// Makes of a site in an async runtime one whose hits have the frame of the call in place of arguments, and the number
/// of the task that is polled or woken.
pub(super) fn make_task_point(site: &mut PlannedSite, what: TaskPoint) {
    let number = |argument: &PlannedArgument| match argument.source {
        Source::Read(Reading::Number { field, .. }) => match site.inputs.get(field)? {
            Input::Number(value) => Expr::new(Node::Convert(ValueType::Generic, value.clone())),
            _ => None,
        },
        _ => None,
    };
    let numbers: Vec<Option<Expr>> = site.arguments.iter().map(number).collect();
    site.task = match &*numbers {
        // The variable has that of the outer task again.
        _ if what == TaskPoint::PollEnd => None,
        [] => site.task.take(),
        [Some(number)] => Some(number.clone()),
        [Some(start), Some(offset)] => memory_at(start, offset),
        _ => None,
    };
    (site.inputs, site.arguments, site.frame) = (Vec::new(), Vec::new(), None);
    let frame = match site.entry_stack_pointer.clone().and_then(|frame| site.read_also(frame)) {
        Some(Readable::Number { number: Number::Read { at: Place::Input(field), .. }, size, .. }) => {
            Source::Read(Reading::Number { field, size, kind: NumberKind::Pointer })
        }
        _ => Source::Unread(UnreadReason::Filed { placeholder: Placeholder::Unreadable, words: None }),
    };
    site.arguments.push(PlannedArgument::new(FRAME.into(), frame));
}

/// A number of 8 bytes in memory, so many bytes behind an address.
fn memory_at(start: &Expr, offset: &Expr) -> Option<Expr> {
    let address = Expr::new(Node::Binary(Binary::Plus, start.clone(), offset.clone()))?;
    Expr::new(Node::Memory { address, size: 8, to: ValueType::Generic })
}

impl Plan {
    /// Has the hits of the sites from the number `first` on note the number of the task that the thread runs. Events
    /// of the kernel and the ends of polls have none. Returns the numbers of the sites where it is not known.
    pub fn note_tasks(&mut self, first: usize) -> Vec<usize> {
        let mut unknown = Vec::new();
        let markers = &self.markers;
        for (number, site) in self.sites.iter_mut().enumerate().skip(first) {
            let marker = markers.get(site.marker);
            let has_none = marker.is_some_and(|it| it.event.is_some() || it.task_point == Some(TaskPoint::PollEnd));
            if has_none || site.notes_task {
                continue;
            }
            let source = match site.task.clone().and_then(|task| site.read_also(task)) {
                Some(Readable::Number { number: Number::Read { at: Place::Input(field), .. }, size, kind }) => {
                    Source::Read(Reading::Number { field, size, kind })
                }
                _ => {
                    unknown.push(number);
                    let words = Some(Mismatch::NoTask.to_string().into());
                    Source::Unread(UnreadReason::Filed { placeholder: Placeholder::Unreadable, words })
                }
            };
            site.arguments.push(PlannedArgument::new(TASK.into(), source));
            site.notes_task = true;
        }
        unknown
    }
}
