//! Instructions executed by the functions of the crate `points`, one run of callgrind for each
//! contender.
//!
//! All contenders run in the same loop. For those in C, each call has one more call on top.

#![allow(missing_docs, reason = "the modules that gungraun makes")]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use points::{Scale, State, Step, Tokenise};

/// Calls of a function.
const CALLS: u32 = 1000;

/// Text of words, numbers and parentheses.
const TEXT: &[u8] = b"sum (first_1 + 23, product (alpha beta 4096) * 7) ;\n";

/// Calls `step` [`CALLS`] times.
fn repeat(step: Step) -> u32 {
    let step = black_box(step);
    let mut state = State::default();
    (0..CALLS).fold(0, |sum, value| sum ^ step(&mut state, value))
}

/// The benchmarks, each with all contenders.
macro_rules! benchmarks {
    ($($contender:ident)*) => {
        #[library_benchmark]
        $(#[bench::$contender(points::$contender::line)])*
        fn line(step: Step) -> u32 {
            repeat(step)
        }

        #[library_benchmark]
        $(#[bench::$contender(points::$contender::three)])*
        fn three(step: Step) -> u32 {
            repeat(step)
        }

        #[library_benchmark]
        $(#[bench::$contender(points::$contender::tokenise)])*
        fn tokenise(tokenise: Tokenise) -> u32 {
            let tokenise = black_box(tokenise);
            (0..CALLS).fold(0, |sum, _| sum ^ tokenise(black_box(TEXT)))
        }

        #[library_benchmark]
        $(#[bench::$contender(points::$contender::scale)])*
        fn scale(scale: Scale) -> u32 {
            let scale = black_box(scale);
            let mut values = [1; CALLS as usize];
            scale(&mut values, 3);
            black_box(values)[0]
        }
    };
}

benchmarks! {
    none asm bare mark keep anchor fast switch ghost probe usdt tracing log
    gcc_none gcc_asm gcc_bare gcc_mark gcc_keep gcc_anchor gcc_fast gcc_switch gcc_ghost gcc_sdt
    clang_none clang_asm clang_bare clang_mark clang_keep clang_anchor clang_fast clang_switch clang_ghost clang_sdt
}

library_benchmark_group!(name = functions, benchmarks = [line, three, tokenise, scale]);
main!(library_benchmark_groups = functions);
