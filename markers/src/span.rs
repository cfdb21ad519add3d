//! Spans: the guard, the ids, and `simple_span!`.

use core::fmt;
use core::marker::PhantomData;

/// Marks a part of the program's run that can be switched on: a probe here, and one where the guard
/// is dropped that it returns.
///
/// ```
/// # use simple_markers::simple_span;
/// # fn run(_: &str) {}
/// fn query(text: &str, rows: u64) {
///     let _span = simple_span!(db:query, "%s, %lu rows", text, rows);
///     run(text);
/// }
/// # query("select", 3);
/// ```
///
/// The probes are `db:query_begin`, which has the arguments, and `db:query_end`. The first argument
/// of both is `id`, a number that tells which end belongs to which begin. The guard may be moved to
/// other threads and live over an `await`. A guard that is forgotten (`mem::forget`) leaves the
/// span open.
///
/// The syntax is that of [`simple_probe!`](crate::simple_probe), and it takes 11 values, because
/// the id is one too. While both probes are off, a span costs two instructions at its begin and two
/// at its end on x86-64.
///
/// The end is recorded if its probe is on when the guard is dropped, and the begin was on too.
///
/// `let _ = simple_span!(..)` drops the guard at once: give it a name.
#[macro_export]
macro_rules! simple_span {
    ($($span:tt)*) => {
        $crate::simple_probe! { @span $($span)* }
    };
}

/// What happens at the end of a span. Implemented by [`simple_span!`](crate::simple_span) only.
pub trait SpanEnd {
    /// Passes the probe at the end, with the number of the span.
    fn end(id: u64);
}

/// Ends a span when it is dropped.
#[must_use = "the span ends when its guard is dropped: bind it to a variable, such as `_span`"]
pub struct SpanGuard<E: SpanEnd> {
    /// 0 if the begin was off.
    id: u64,
    end: PhantomData<fn() -> E>,
}

impl<E: SpanEnd> SpanGuard<E> {
    /// The guard of the span with this number, or of none if it is 0.
    #[doc(hidden)]
    #[inline(always)]
    pub fn new(id: u64) -> Self {
        Self { id, end: PhantomData }
    }
}

impl<E: SpanEnd> Drop for SpanGuard<E> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.id != 0 {
            cold();
            E::end(self.id);
        }
    }
}

impl<E: SpanEnd> fmt::Debug for SpanGuard<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanGuard").finish_non_exhaustive()
    }
}

/// Tells the compiler that its caller is rarely executed.
#[cold]
#[inline(always)]
pub fn cold() {}

/// A number that no other span of the process has, and is not 0.
///
/// Threads count apart, as far as their stacks are apart: then none waits for the memory of another
/// one. Another image of the process has counters of its own, so the address of the counters is a
/// part of the number. It has 53 bits, which JSON can have, until a counter exceeds 35 bits.
#[inline(always)]
#[must_use]
pub fn next() -> u64 {
    counted::next()
}

/// In assembly, which needs no register but that of the result. Otherwise the compiler would save
/// registers or make constants where the function around the span starts, while that is off.
/// `simple_span.h` has the same function.
#[cfg(all(
    target_arch = "x86_64",
    target_pointer_width = "64",
    not(any(miri, windows, target_vendor = "apple", target_os = "uefi", target_os = "cygwin"))
))]
mod counted {
    use core::arch::{asm, global_asm};

    // The constant is 2 to the power of 64, divided by the golden ratio: the upper bits of a
    // product depend on all bits.
    global_asm!(
        ".pushsection .bss.simple_span,\"aw\",%nobits",
        ".balign 64",
        ".weak simple_span_counters",
        ".hidden simple_span_counters",
        "simple_span_counters:",
        ".zero 4096",
        ".popsection",
        ".pushsection .text.simple_span,\"ax\",%progbits",
        ".weak simple_span_next",
        ".hidden simple_span_next",
        ".type simple_span_next,%function",
        "simple_span_next:",
        "push rcx",
        "push rdx",
        "push rsi",
        "push rdi",
        "movabs rdx, 0x9e3779b97f4a7c15",
        "mov rcx, rsp",
        "shr rcx, 16",
        "imul rcx, rdx",
        "shr rcx, 58",
        "lea rsi, [rip + simple_span_counters]",
        "mov rax, rcx",
        "shl rax, 6",
        "mov edi, 1",
        "lock xadd qword ptr [rsi + rax], rdi",
        "inc rdi",
        "shl rdi, 6",
        "or rcx, rdi",
        "shr rsi, 12",
        "imul rsi, rdx",
        "shr rsi, 52",
        "shl rsi, 41",
        "lea rax, [rcx + rsi]",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "ret",
        ".size simple_span_next, . - simple_span_next",
        ".popsection",
    );

    unsafe extern "C" {
        fn simple_span_next();
    }

    #[inline(always)]
    pub(super) fn next() -> u64 {
        let id;
        // SAFETY: the function changes no other register, and the call skips the bytes below the
        // stack pointer that the function around it may use.
        unsafe {
            asm!(
                "lea rsp, [rsp - 128]", "call {}", "lea rsp, [rsp + 128]",
                sym simple_span_next, out("rax") id, options(nostack)
            );
        }
        id
    }
}

#[cfg(not(all(
    target_arch = "x86_64",
    target_pointer_width = "64",
    not(any(miri, windows, target_vendor = "apple", target_os = "uefi", target_os = "cygwin"))
)))]
mod counted {
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// The number of the last span of a few threads.
    #[repr(align(64))]
    struct SpanCounter(AtomicUsize);

    static COUNTERS: [SpanCounter; 64] = [const { SpanCounter(AtomicUsize::new(0)) }; 64];

    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

    #[cold]
    #[inline(never)]
    pub(super) fn next() -> u64 {
        let here = 0u8;
        let number = ((((&raw const here).addr() as u64) >> 16).wrapping_mul(MIX) >> 58) as usize;
        let counted = COUNTERS.get(number).map_or(0, |counter| counter.0.fetch_add(1, Ordering::Relaxed)) as u64;
        let image = (((&raw const COUNTERS).addr() as u64) >> 12).wrapping_mul(MIX) >> 52;
        (image << 41).wrapping_add((counted + 1) << 6 | number as u64)
    }
}
