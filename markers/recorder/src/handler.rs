//! Handlers of the program: functions that get the values of hits.

use crate::arming::Lock;
use crate::errors::HandleError;
use crate::glob;
use crate::handled;
use crate::probe::{Call, Handler, Probe, probes};
use crate::values::{Arguments, Hit, Mismatch};

/// Calls `handler` for every hit of the probes of this program or shared library whose names match
/// one of the patterns (as for [`arm`](crate::arm)), and returns how many match. `A` is a tuple with
/// the types of the arguments, or [`Values`](crate::Values).
///
/// | argument | type |
/// | --- | --- |
/// | integer | `i32`, `u32`, `i64`, `u64`, `isize`, `usize`: one that holds all its values |
/// | floating-point number | `f64` |
/// | pointer | `*const ()` |
/// | text | `&[u8]`; of a C string at most the first 256 bytes |
/// | whole value | [`WholeValue`](crate::WholeValue) |
///
/// A probe has at most one handler, and a later one replaces it. The hits are recorded too if the
/// probe is armed.
///
/// The handler runs in the thread and at the place of the hit, before the hit is recorded. So it may
/// do what the code there may do; if the probe is in a signal handler, only what signal handlers may.
/// Hits of the thread while its handler runs, also in signal handlers, are recorded and not
/// handled. `errno` is kept. If the handler panics the process is aborted. It must not be left by
/// `longjmp`: the thread would not handle its next hits.
///
/// # Errors
///
/// An argument of a probe has another type. Then no handler is set.
///
/// # Examples
///
/// ```
/// use simple_markers_recorder::{Hit, Values, handle, unhandle};
///
/// handle::<(u64, &[u8])>("queue:push", &|_, (id, name)| println!("{id} {}", name.escape_ascii()))?;
/// // A closure with variables of its own has to live for ever.
/// let name = String::from("hit");
/// let print = Box::leak(Box::new(move |hit: &Hit<'_>, values: Values<'_>| println!("{name} {hit:?} {values:?}")));
/// handle::<Values<'_>>("file:*", print)?;
/// unhandle("*")?;
/// # Ok::<(), simple_markers_recorder::HandleError>(())
/// ```
pub fn handle<A: Arguments>(
    patterns: &str,
    handler: &'static (impl for<'a> Fn(&Hit<'a>, A::Of<'a>) + Sync),
) -> Result<usize, HandleError> {
    set::<A>(patterns, call_of::<A, _>(handler), core::ptr::from_ref(handler).cast())
}

/// Removes the handlers of the probes whose names match one of the patterns, and returns how many
/// had one. Other threads may still run it.
///
/// # Errors
///
/// Another thread arms or handles probes at this moment.
pub fn unhandle(patterns: &str) -> Result<usize, HandleError> {
    let _lock = Lock::take().map_err(|_| HandleError::Busy)?;
    let mut removed = 0;
    for probe in matching(patterns).filter(|probe| probe.handler().is_some()) {
        probe.set_handler(None);
        removed += 1;
    }
    Ok(removed)
}

fn matching(patterns: &str) -> impl Iterator<Item = Probe> {
    probes().filter(move |probe| glob::matches(patterns, probe.name()))
}

fn set<A: Arguments>(patterns: &str, call: Call, data: *const ()) -> Result<usize, HandleError> {
    let _lock = Lock::take().map_err(|_| HandleError::Busy)?;
    for probe in matching(patterns) {
        A::check(&probe).map_err(|mismatch| match mismatch {
            Mismatch::Count { arguments, asked } => HandleError::Count { probe: probe.name(), arguments, asked },
            Mismatch::Type { argument, is, asked } => {
                let argument = probe.argument_names().nth(argument).unwrap_or_default();
                HandleError::Type { probe: probe.name(), argument, is, asked }
            }
        })?;
    }
    if matching(patterns).next().is_none() {
        return Ok(0);
    }
    // SAFETY: the lock is taken.
    let handler = unsafe { handled::keep(Handler { call, data }) }.map_err(|errno| HandleError::Memory { errno })?;
    let mut handled = 0;
    for probe in matching(patterns) {
        probe.set_handler(Some(handler));
        handled += 1;
    }
    Ok(handled)
}

/// The function that turns words into arguments. `handler` only names its type.
fn call_of<A: Arguments, F: for<'a> Fn(&Hit<'a>, A::Of<'a>)>(_: &F) -> Call {
    /// # Safety
    ///
    /// The words are those of the probe, whose types were checked, and `data` is an `F`.
    unsafe fn call<A: Arguments, F: for<'a> Fn(&Hit<'a>, A::Of<'a>)>(probe: Probe, words: *const u64, data: *const ()) {
        // SAFETY: as the caller says. Handlers live for ever.
        let (handler, hit) = unsafe { (&*data.cast::<F>(), Hit::new(probe, words)) };
        // SAFETY: the types were checked.
        handler(&hit, unsafe { A::of(&hit) });
    }
    call::<A, F>
}
