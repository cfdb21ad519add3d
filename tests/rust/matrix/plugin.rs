//! A library for C, with one function that it exports.
#![no_std]

use base::witness;
use simple_markers::simple_mark;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// The output of the program in one number.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_run(seed: u32) -> u64 {
    simple_mark!(plugin:run, "seed %u", seed); //~ live
    witness(401);
    let value = middle::run(seed);
    simple_mark!(plugin:done, "value %u", keep value); //~ live
    witness(402);
    u64::from(value) << 32 | u64::from(base::witnessed())
}

/// A library for C does not export it, although it is public in Rust.
#[inline(never)]
pub fn not_exported(value: u32) -> u32 {
    simple_mark!(plugin:not_exported, "value %u", value); //~ eliminated
    witness(403);
    middle::dead_stage(value)
}
