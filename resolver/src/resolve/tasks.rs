//! Where async runtimes keep the number of the task that a thread runs: in thread-local variables that views
//! name (`docs/views.md`).

use std::sync::Arc;

use crate::dwarf::DebugInfo;
use crate::location::Expr;
use crate::types::Type;
use crate::views::ViewTable;

/// The number of the task that a thread runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeTask {
    /// The thread-local variable, as the view names it: `tokio::runtime::context::CONTEXT`.
    pub variable: Arc<str>,
    /// The address of the number.
    pub address: Expr,
    /// The type of the number, which may be optional. A number of 0 is no task.
    pub of: Arc<Type>,
    /// The names of the marks where polls begin, as the view has them.
    pub polls: Vec<Arc<str>>,
}

/// The numbers in an image. What cannot be read has none.
pub(super) fn find(info: &DebugInfo<'_>, views: &ViewTable) -> Vec<RuntimeTask> {
    let mut tasks: Vec<RuntimeTask> = Vec::new();
    for (variable, view, address, of) in info.task_numbers(views).unwrap_or_default() {
        let Ok(of) = info.describe_type(Some(of), 0) else { continue };
        // Several units may describe the variable.
        if tasks.iter().all(|known| known.address != address) {
            let polls = view.polls.iter().map(|[begin, _]| Arc::clone(&begin.name)).collect();
            tasks.push(RuntimeTask { variable: variable.into(), address, of, polls });
        }
    }
    tasks
}
