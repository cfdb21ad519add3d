//! The number of the task of an async runtime, as a site reads it.

use simple_markers_resolver::export::{MemberFetch, ValueBytes, fetch_member};
use simple_markers_resolver::location::{Expr, Node, ValueType};
use simple_markers_resolver::resolve::RuntimeTask;
use simple_markers_resolver::types::{Language, MemberPlace};

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
            match fetch_member(&ValueBytes::Memory { address, size }, &[], &place, &content).ok()? {
                MemberFetch::Number { value, .. } => Some(value),
                _ => None,
            }
        }
    }
}
