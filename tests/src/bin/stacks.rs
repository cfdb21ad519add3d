//! Compares the stacks of `smark trace --stack=dwarf` with the backtraces of gdb: `stacks [HITS] [SEED]`. HITS are those
//! of all builds together (10,000). Prints the table of `docs/measured/stacks.md`.

use std::process::ExitCode;

use simple_markers_tests::unwound::{BUILDS, compare};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|it| it.parse::<u64>().expect("a number"));
    let (hits, seed) = (arguments.next().unwrap_or(10_000), arguments.next().unwrap_or(1));
    let each = hits.div_ceil(BUILDS.len() as u64);
    println!("| program | hits | frames | all frames | cut, and says so | different |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let mut is_right = true;
    for build in BUILDS {
        let folder = tempfile::tempdir().expect("a folder");
        let tally = compare(&build.build(folder.path()), each, seed, "--stack=dwarf");
        let cut: usize = tally.cut.values().sum();
        let name = format!("{} {}", build.compiler, build.flags.join(" "));
        let (hits, wrong) = (tally.whole + cut + tally.wrong.len(), tally.wrong.len());
        println!("| {name} | {hits} | {} | {} | {cut} | {wrong} |", tally.frames, tally.whole);
        tally.wrong.iter().take(3).for_each(|wrong| eprintln!("{name}: {wrong}"));
        is_right &= tally.wrong.is_empty();
    }
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
