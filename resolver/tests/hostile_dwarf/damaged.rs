//! Programs of compilers, with bits flipped and truncated.

use simple_markers_resolver::resolve::resolve;
use tools::Choices;

use super::ghosts::COMPILED;
use super::unit::Unit;
use super::{STATIC, find, flood, image};

/// Programs by gcc and clang with three markers, some in inlined functions.
const PROGRAMS: [&[u8]; 4] = [
    include_bytes!("../../../fuzz/seeds/image/dwarf-gcc5.exe"),
    include_bytes!("../../../fuzz/seeds/image/dwarf-gcc2.exe"),
    include_bytes!("../../../fuzz/seeds/image/dwarf-clang4.exe"),
    include_bytes!("../../../fuzz/seeds/image/dwarf-clang5.o"),
];

fn with_bits_flipped(original: &[u8], seed: u64, rounds: usize) {
    assert!(!resolve("a", original).images[0].markers.is_empty());
    let mut choices = Choices::new(seed);
    for _ in 0..rounds {
        let mut image = original.to_vec();
        for _ in 0..=choices.below(4) {
            let at = choices.below(image.len());
            image[at] ^= 1 << choices.below(8);
        }
        let resolution = resolve("a", &image);
        assert!(resolution.images.len() + resolution.failures.len() > 0);
    }
}

#[test]
fn a_program_of_gcc_with_bits_flipped() {
    with_bits_flipped(PROGRAMS[0], 0, flood(10_000));
}

#[test]
fn a_program_of_gcc_in_dwarf_2_with_bits_flipped() {
    with_bits_flipped(PROGRAMS[1], 1, flood(10_000));
}

#[test]
fn a_program_of_clang_with_bits_flipped() {
    with_bits_flipped(PROGRAMS[2], 2, flood(10_000));
}

#[test]
fn an_object_of_clang_with_bits_flipped() {
    with_bits_flipped(PROGRAMS[3], 3, flood(10_000));
}

#[test]
fn programs_with_ghosts_with_bits_flipped() {
    for (seed, (program, _)) in (4..).zip(COMPILED) {
        with_bits_flipped(program, seed, flood(1_000));
    }
}

#[test]
fn a_program_truncated_anywhere() {
    for program in [PROGRAMS[0], PROGRAMS[2]] {
        for length in 0..program.len() {
            let resolution = resolve("a", &program[..length]);
            assert!(resolution.images.len() + resolution.failures.len() == 1);
        }
    }
}

/// Truncated files end before their section headers do. This cuts the sections of debug information
/// instead.
#[test]
fn debug_information_truncated_anywhere() {
    let mut unit = Unit::new();
    let int = unit.function(&[0x9c]);
    let inner = unit.next();
    unit.block(0x1000, 0x80);
    unit.variable("x", int, &[0x91, 0x70]);
    unit.variable("y", inner, STATIC);
    let whole = unit.finish(2);
    let mut names: Vec<_> = whole.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(names, [".debug_abbrev", ".debug_info", ".debug_line"]);
    for cut in 0..whole.len() {
        for length in 0..whole[cut].1.len() {
            let mut sections = whole.clone();
            sections[cut].1.truncate(length);
            let image = find(&image("x, y", &[0x1018], sections));
            assert_eq!(image.markers[0].sites.len(), 1);
        }
    }
}
