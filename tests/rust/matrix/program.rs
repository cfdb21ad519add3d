//! The program. Its output depends on every live function.
#![no_std]
#![no_main]

use base::witness;
use core::ffi::{c_char, c_int};
use simple_markers::simple_mark;

unsafe extern "C" {
    fn printf(format: *const c_char, ...) -> c_int;
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe { abort() }
}

#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, _: *const *const c_char) -> c_int {
    simple_mark!(program:main, "%d arguments", count); //~ live
    witness(301);
    let value = middle::run(count as u32);
    simple_mark!(program:done, "value %u", keep value); //~ live
    witness(302);
    unsafe { printf(c"%u %u\n".as_ptr(), value, base::witnessed()) };
    0
}

/// Has a public symbol, but an executable does not export it.
#[unsafe(no_mangle)]
extern "C" fn matrix_exported(value: u32) -> u32 {
    simple_mark!(program:exported, "exported %u", value); //~ discarded
    witness(303);
    middle::dead_stage(value)
}
