//! What runs for a hit of a probe with a handler, before the hit is recorded.

use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use simple_markers_record::buffer::{HANDLED, NO_ID};

use crate::hit::RawHit;
use crate::probe::{Handler, Probe};
use crate::sys::{self, Errno};
use crate::thread::Local;

/// Calls the handler of a hit, and leaves in `hit` what is to be recorded.
///
/// If the handler panics the process is aborted: this function does not unwind.
///
/// # Safety
///
/// `hit` is what an armed probe passes, and `local` is that of the calling thread.
pub(crate) unsafe extern "C" fn handle(hit: *mut RawHit, local: *const Local) {
    // SAFETY: as the caller says.
    let (hit, local) = unsafe { (&mut *hit, &*local) };
    let index = hit.layout & !HANDLED;
    let probe = (hit.layout & HANDLED != 0).then(|| Probe::with_index(index as usize)).flatten();
    if let Some(probe) = probe {
        hit.layout = probe.layout().0;
        if let Some(handler) = probe.handler() {
            let words = (&raw const hit.words).cast();
            run(handler, probe, words, local);
        }
    }
    // Without a handler the id is that of a tool that is about to look whether there is one.
    if hit.id == NO_ID || probe.is_none() {
        hit.id = 0;
    }
}

/// Calls the handler, if none runs in this thread.
fn run(handler: &Handler, probe: Probe, words: *const u64, local: &Local) {
    if local.is_handling.swap(true, Ordering::Relaxed) {
        return;
    }
    let errno = sys::errno();
    // SAFETY: whoever set the handler has checked that it takes the words of this probe.
    unsafe { (handler.call)(probe, words, handler.data) };
    sys::set_errno(errno);
    local.is_handling.store(false, Ordering::Relaxed);
}

/// How many handlers a page has.
const IN_PAGE: usize = 255;

/// Handlers that were set; one thread at a time adds some.
struct Page {
    before: *const Page,
    used: AtomicUsize,
    handlers: [Option<Handler>; IN_PAGE],
}

static PAGES: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());

/// The handler, in memory that stays. One that was set before is found there.
///
/// # Safety
///
/// No other thread calls this.
pub(crate) unsafe fn keep(handler: Handler) -> Result<&'static Handler, Errno> {
    let last = PAGES.load(Ordering::Acquire);
    let mut page = last.cast_const();
    // SAFETY: pages are never unmapped, and what is used does not change.
    while let Some(known) = unsafe { page.as_ref() } {
        let used = known.handlers.get(..known.used.load(Ordering::Acquire)).unwrap_or_default();
        if let Some(known) = used.iter().flatten().find(|known| **known == handler) {
            return Ok(known);
        }
        page = known.before;
    }
    // SAFETY: as above.
    let room = unsafe { last.as_ref() }.map(|page| page.used.load(Ordering::Relaxed)).filter(|&used| used < IN_PAGE);
    let (page, used) = match room {
        Some(used) => (last, used),
        None => {
            let page = sys::memory(size_of::<Page>())? as *mut Page;
            // SAFETY: zeros are a page without handlers.
            unsafe { (*page).before = last };
            PAGES.store(page, Ordering::Release);
            (page, 0)
        }
    };
    // SAFETY: the place is not used yet, and nobody else writes to it.
    unsafe {
        let place = (&raw mut (*page).handlers).cast::<Option<Handler>>().add(used);
        place.write(Some(handler));
        (*page).used.store(used + 1, Ordering::Release);
        (*place).as_ref().ok_or(libc::EFAULT)
    }
}
