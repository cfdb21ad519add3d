//! Passes markers in frames of many kinds, with a seed: `frames HITS SEED`. `hits` has the number of the hit.

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::ptr;

use simple_markers::simple_mark;

#[unsafe(no_mangle)]
static mut hits: u32 = 0;
static mut SEED: u64 = 0;

unsafe extern "C" {
    fn qsort(base: *mut c_void, count: usize, size: usize, compare: extern "C" fn(*const c_int, *const c_int) -> c_int);
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn raise(number: c_int) -> c_int;
}

const SIGUSR1: c_int = 10;

macro_rules! hit {
    ($name:literal) => {{
        // Threads run one after the other.
        let n = unsafe { ptr::read_volatile(&raw const hits) } + 1;
        unsafe { ptr::write_volatile(&raw mut hits, n) };
        unsafe { std::arch::asm!("nop") };
        simple_mark!($name, "%u", keep n);
        unsafe { std::arch::asm!("nop") };
    }};
}

fn below(n: u64) -> u64 {
    unsafe {
        SEED = SEED.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (SEED >> 33) % n
    }
}

#[inline(never)]
fn leaf(a: u64) -> u64 {
    hit!("frames:leaf");
    a * 3
}

extern "C" fn compare(a: *const c_int, b: *const c_int) -> c_int {
    if below(16) == 0 {
        hit!("frames:compare");
    }
    unsafe { *a - *b }
}

extern "C" fn handler(number: c_int) {
    hit!("frames:handler");
    if below(3) == 0 {
        leaf(number as u64);
    }
}

trait Step {
    fn step(&self, depth: u32);
}

struct Plain;
struct Large([u8; 12000]);

impl Step for Plain {
    #[inline(never)]
    fn step(&self, depth: u32) {
        walk(depth - 1);
        hit!("frames:dynamic");
    }
}

impl Step for Large {
    #[inline(never)]
    fn step(&self, depth: u32) {
        let copy = black_box(self.0);
        walk(depth - 1);
        black_box(&copy);
    }
}

#[inline(never)]
fn with(depth: u32, call: &mut dyn FnMut(u32)) {
    call(depth - 1);
    black_box(());
}

#[inline(never)]
fn walk(depth: u32) {
    if depth == 0 {
        black_box(leaf(1));
        return;
    }
    match below(8) {
        0 => {
            walk(depth - 1);
            hit!("frames:recursive");
        }
        1 => {
            let mut values: Vec<c_int> = (0..20).map(|_| below(1000) as c_int).collect();
            unsafe { qsort(values.as_mut_ptr().cast(), 20, 4, compare) };
        }
        2 => drop(unsafe { raise(SIGUSR1) }),
        3 => {
            let mut values: Vec<u64> = (0..30).map(|_| below(1000)).collect();
            values.sort_by(|a, b| {
                if below(20) == 0 {
                    hit!("frames:sorted");
                }
                a.cmp(b)
            });
            black_box(values);
        }
        4 => {
            let step: Box<dyn Step> = if below(20) == 0 { Box::new(Large([1; 12000])) } else { Box::new(Plain) };
            black_box(step).step(depth);
        }
        5 => with(depth, &mut |depth| {
            walk(depth);
            hit!("frames:closure");
        }),
        6 => {
            let result = std::panic::catch_unwind(|| walk(depth - 1));
            hit!("frames:caught");
            drop(result);
        }
        _ => {
            let text: Vec<String> = (0..3).map(|n| format!("{n}")).collect();
            walk(depth - 1);
            hit!("frames:strings");
            black_box(text);
        }
    }
    black_box(());
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|it| it.parse::<u64>().expect("a number"));
    let wanted = arguments.next().unwrap_or(100) as u32;
    unsafe {
        SEED = arguments.next().unwrap_or(1);
        signal(SIGUSR1, handler);
    }
    while unsafe { ptr::read_volatile(&raw const hits) } < wanted {
        if below(10) == 0 {
            std::thread::spawn(|| walk(6)).join().expect("it ends");
        } else {
            walk(5);
        }
    }
}
