//! Every conversion of the format, with flags, widths and precisions.

use std::hint::black_box;

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    integers();
    others();
    stars();
}

#[inline(never)]
fn integers() {
    let (tiny, short, int, long, size) = black_box((-1i8, -2i16, -3i32, -4i64, -5isize));
    simple_mark!(construct:conversion:signed, "%hhd %hd %d %i %ld %lld %jd %zd %td", tiny, short, int, int, long, long, long, size, size); //~ live 1 time
    witness(7900);
    let (tiny, short, int, long, size) = black_box((1u8, 2u16, 3u32, 4u64, 5usize));
    simple_mark!(construct:conversion:unsigned, "%hhu %hu %u %lu %llu %ju %zu", tiny, short, int, long, long, long, size); //~ live 1 time
    simple_mark!(construct:conversion:bases, "%o %x %X %b %B %#lx %#llo", int, int, int, int, int, long, long); //~ live 1 time
    simple_mark!(construct:conversion:promoted, "%u %u %x %lu", tiny, short, tiny, long); //~ live 1 time
    witness(7901);
    simple_mark!(construct:conversion:flags, "%-8u|%8u|%#x|%08x|%'u|%.3u|%8.3u", int, int, int, int, int, int, int); //~ live 1 time
    witness(7902);
    black_box((tiny, short, int, long, size));
}

#[inline(never)]
fn others() {
    let (single, double) = black_box((1.5f32, 2.5f64));
    simple_mark!(construct:conversion:floats, "%f %e %g %a %F %E %G %A %lf %.3f %10.2e", single, double, single, double, single, double, single, double, double, single, double); //~ live 1 time
    witness(7903);
    let (letter, byte, signed) = black_box(('\u{e9}', b'x', -1i8));
    simple_mark!(construct:conversion:characters, "%c %c %c %-4c", letter, byte, signed, letter); //~ live 1 time
    witness(7904);
    let (yes, no) = black_box((true, false));
    simple_mark!(construct:conversion:bools, "%d %u %hhd %hhx", yes, no, yes, no); //~ live 1 time
    witness(7905);
    simple_mark!(construct:conversion:percent, "100%% of %d%%", keep share = black_box(42)); //~ live 1 time; keeps 42
    witness(7906);
}

#[inline(never)]
fn stars() {
    let (width, precision, value) = black_box((8i32, 2i32, 1.5f64));
    simple_mark!(construct:conversion:star_width, "%*f", width, value); //~ live 1 time
    simple_mark!(construct:conversion:star_precision, "%.*f", precision, value); //~ live 1 time
    simple_mark!(construct:conversion:stars, "%-*.*f", width, precision, value); //~ live 1 time
    witness(7907);
    simple_mark!(construct:conversion:kept_star, "%*d", keep width, keep seven = black_box(7)); //~ live 1 time; keeps 8 7
    witness(7908);
}
