//! Functions that return values of all sorts. For each the program prints the bytes of the result.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::hint::black_box;

fn show<T>(name: &str, value: T) {
    let place = (&raw const value).cast::<u8>();
    let mut bytes = String::new();
    for index in 0..size_of::<T>() {
        // SAFETY: the byte is in the value, and none of the types has padding.
        let byte = unsafe { place.add(index).read() };
        let _ = write!(bytes, "{byte:02x}");
    }
    println!("{name} {bytes}");
    std::mem::forget(value);
}

struct Word(u64);
struct Single(f32);
struct Pair {
    first: u64,
    second: *const u8,
}
struct Four([u64; 4]);

macro_rules! results {
    ($($name:ident: $of:ty = $value:expr;)*) => {
        $(#[unsafe(no_mangle)]
        #[inline(never)]
        pub fn $name() -> $of {
            let value: $of = $value;
            black_box(value)
        })*

        fn main() {
            $(show(stringify!($name), black_box($name as fn() -> $of)());)*
            result_nothing();
        }
    };
}

results! {
    result_u8: u8 = black_box(0x81);
    result_i16: i16 = black_box(-30_000);
    result_u32: u32 = black_box(0x8765_4321);
    result_i64: i64 = black_box(-0x1234_5678_9abc);
    result_usize: usize = black_box(usize::MAX - 5);
    result_i128: i128 = black_box(-0x1234_5678_9abc_def0_1122_3344_5566);
    result_bool: bool = black_box(1u32) > 0;
    result_char: char = black_box('\u{1f600}');
    result_f32: f32 = black_box(-1.5);
    result_f64: f64 = black_box(2.0e100);
    result_ordering: Ordering = black_box(3).cmp(&black_box(4));
    result_pointer: *const u8 = black_box("abc").as_ptr();
    result_reference: &'static u64 = Box::leak(Box::new(black_box(77)));
    result_box: Box<u64> = Box::new(black_box(78));
    result_str: &'static str = black_box("a text");
    result_slice: &'static [u16] = black_box(&[1, 2, 3]);
    result_dyn: &'static dyn std::fmt::Debug = black_box(&5u8);
    result_word: Word = Word(black_box(0x1122_3344_5566_7788));
    result_single: Single = Single(black_box(0.25));
    result_pair: Pair = Pair { first: black_box(9), second: black_box("p").as_ptr() };
    result_tuple: (u64, u64) = (black_box(10), black_box(11));
    result_string: String = black_box("a string").to_owned();
    result_vec: Vec<u32> = vec![black_box(1), 2, 3];
    result_four: Four = Four([black_box(1), 2, 3, 4]);
    result_small_pair: (u32, u32) = (black_box(1), black_box(2));
    result_two_words: [u64; 2] = [black_box(1), black_box(2)];
    result_option: Option<u32> = black_box(Some(4));
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn result_nothing() {
    // Reads the fields of the types.
    let (word, single, pair, four) = (Word(1), Single(2.0), Pair { first: 1, second: std::ptr::null() }, Four([0; 4]));
    black_box((word.0, single.0, pair.first, pair.second, four.0));
}
