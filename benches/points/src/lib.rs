//! The code that the benchmarks measure: the functions of [`functions!`] in a module for each
//! contender, and the same in C.
//!
//! A contender is a macro `point!(name, a, b)` for a point with two variables of type `u32`. `none`
//! is the code without points. `asm` is an empty `asm!`: no point made of inline assembly can cost
//! less.

mod functions;

use functions::{foreign, functions};

/// The data of [`none::line`] and the other functions.
#[derive(Debug, Default)]
#[repr(C)]
pub struct State {
    last: u32,
    count: u32,
}

/// The type of `line` and of `three`.
pub type Step = fn(&mut State, u32) -> u32;
/// The type of `tokenise`.
pub type Tokenise = fn(&[u8]) -> u32;
/// The type of `scale`.
pub type Scale = fn(&mut [u32], u32);

/// Makes the module of a contender. `{..}` is the code of a point `name` with the variables `a` and
/// `b`.
macro_rules! contender {
    ($(#[$meta:meta])* $contender:ident: $d:tt $name:ident $a:ident $b:ident => { $($point:tt)* }) => {
        $(#[$meta])*
        pub mod $contender {
            #[allow(unused_macros, reason = "the module without points")]
            macro_rules! point {
                ($d $name:ident, $d $a:ident, $d $b:ident) => {
                    $($point)*
                };
            }
            $crate::functions! {}
        }
    };
}

contender! {
    /// No points.
    none: $name a b => {}
}
contender! {
    /// An empty `asm!`.
    asm: $name a b => {
        // SAFETY: no instruction.
        unsafe { core::arch::asm!("", options(nomem, nostack, preserves_flags)) }
    }
}
contender! {
    /// `simple_mark!` without arguments.
    bare: $name a b => { simple_markers::simple_mark!(points:$name, "passed") }
}
contender! {
    /// `simple_mark!` with two places.
    mark: $name a b => { simple_markers::simple_mark!(points:$name, "%u %u", $a, $b) }
}
contender! {
    /// `simple_mark!` with two kept places.
    keep: $name a b => { simple_markers::simple_mark!(points:$name, "%u %u", keep $a, keep $b) }
}
contender! {
    /// `simple_mark!` with two places and a `nop`.
    anchor: $name a b => { simple_markers::simple_mark!(points:$name, "%u %u", $a, $b, options(anchor)) }
}
contender! {
    /// `simple_mark!` with two places and a fast anchor.
    fast: $name a b => { simple_markers::simple_mark!(points:$name, "%u %u", $a, $b, options(anchor = fast)) }
}
contender! {
    /// `simple_probe!` with two values, switched off.
    switch: $name a b => { simple_markers::simple_probe!(points:$name, "%u %u", $a, $b) }
}
contender! {
    /// A ghost with two places.
    ghost: $name a b => { simple_markers::simple_mark! { points:$name, "%u %u", $a, $b, options(ghost) } }
}
contender! {
    /// The crate `probe`.
    probe: $name a b => { ::probe::probe!(points, $name, $a, $b) }
}
contender! {
    /// The crate `usdt`.
    usdt: $name a b => { $crate::points_provider::$name!(|| ($a, $b)) }
}
contender! {
    /// The crate `tracing`, without a subscriber.
    tracing: $name a b => { ::tracing::info!(name: stringify!($name), a = $a, b = $b) }
}
contender! {
    /// The crate `log`, without a logger.
    log: $name a b => { ::log::info!("{} {} {}", stringify!($name), $a, $b) }
}

/// The probes of the module `usdt`.
#[::usdt::provider(provider = "points")]
mod points_provider {
    fn line(a: u32, b: u32) {}
    fn word(a: u32, b: u32) {}
    fn number(a: u32, b: u32) {}
    fn open(a: u32, b: u32) {}
    fn close(a: u32, b: u32) {}
    fn other(a: u32, b: u32) {}
    fn element(a: u32, b: u32) {}
    fn advance(a: u32, b: u32) {}
}

foreign! {
    /// gcc: no points.
    gcc_none: gcc_none_line gcc_none_tokenise gcc_none_scale gcc_none_three;
    /// gcc: an empty `asm`.
    gcc_asm: gcc_asm_line gcc_asm_tokenise gcc_asm_scale gcc_asm_three;
    /// gcc: `simple_mark` without arguments.
    gcc_bare: gcc_bare_line gcc_bare_tokenise gcc_bare_scale gcc_bare_three;
    /// gcc: `simple_mark` with two places.
    gcc_mark: gcc_mark_line gcc_mark_tokenise gcc_mark_scale gcc_mark_three;
    /// gcc: `simple_mark_keep` with two values.
    gcc_keep: gcc_keep_line gcc_keep_tokenise gcc_keep_scale gcc_keep_three;
    /// gcc: `simple_mark_anchor` with two places.
    gcc_anchor: gcc_anchor_line gcc_anchor_tokenise gcc_anchor_scale gcc_anchor_three;
    /// gcc: `simple_mark_anchor_fast` with two places.
    gcc_fast: gcc_fast_line gcc_fast_tokenise gcc_fast_scale gcc_fast_three;
    /// gcc: `simple_probe` with two values, switched off.
    gcc_switch: gcc_switch_line gcc_switch_tokenise gcc_switch_scale gcc_switch_three;
    /// gcc: `simple_mark_ghost` with two places.
    gcc_ghost: gcc_ghost_line gcc_ghost_tokenise gcc_ghost_scale gcc_ghost_three;
    /// gcc: `DTRACE_PROBE2` of `sys/sdt.h`.
    gcc_sdt: gcc_sdt_line gcc_sdt_tokenise gcc_sdt_scale gcc_sdt_three;
    /// clang: no points.
    clang_none: clang_none_line clang_none_tokenise clang_none_scale clang_none_three;
    /// clang: an empty `asm`.
    clang_asm: clang_asm_line clang_asm_tokenise clang_asm_scale clang_asm_three;
    /// clang: `simple_mark` without arguments.
    clang_bare: clang_bare_line clang_bare_tokenise clang_bare_scale clang_bare_three;
    /// clang: `simple_mark` with two places.
    clang_mark: clang_mark_line clang_mark_tokenise clang_mark_scale clang_mark_three;
    /// clang: `simple_mark_keep` with two values.
    clang_keep: clang_keep_line clang_keep_tokenise clang_keep_scale clang_keep_three;
    /// clang: `simple_mark_anchor` with two places.
    clang_anchor: clang_anchor_line clang_anchor_tokenise clang_anchor_scale clang_anchor_three;
    /// clang: `simple_mark_anchor_fast` with two places.
    clang_fast: clang_fast_line clang_fast_tokenise clang_fast_scale clang_fast_three;
    /// clang: `simple_probe` with two values, switched off.
    clang_switch: clang_switch_line clang_switch_tokenise clang_switch_scale clang_switch_three;
    /// clang: `simple_mark_ghost` with two places.
    clang_ghost: clang_ghost_line clang_ghost_tokenise clang_ghost_scale clang_ghost_three;
    /// clang: `DTRACE_PROBE2` of `sys/sdt.h`.
    clang_sdt: clang_sdt_line clang_sdt_tokenise clang_sdt_scale clang_sdt_three;
}
