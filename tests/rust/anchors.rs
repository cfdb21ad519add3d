//! `anchor = fast`, and no-operations that new kernels rewrite to calls.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_resolver::uprobe_rules::UprobeRules as _;
use simple_markers_tests::fixture;
use simple_markers_tests::image::Code;
use simple_markers_tests::matrix::{Markers, TOOLCHAIN};
use simple_markers_tests::tools::run;
use simple_markers_tests::uprobes::Uprobes;
use simple_markers_tests::watched::{can_watch, compile};
use simple_markers_tracer::sys::RunningKernel;

use super::trace::trace;

const C: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include "simple_marker.h"
__attribute__((noinline)) int twice(int number) {
    simple_mark_keep_anchor_fast(anchor:fast, "%d", number);
    return number * 2;
}
int main(void) {
    for (int i = 0; i < 5; i++)
        printf("said %d\n", twice(i) / 2);
    return 0;
}
"#;

const RUST: &str = r#"
use simple_markers::simple_mark;
#[inline(never)]
fn twice(number: i32) -> i32 {
    simple_mark!(anchor:fast, "%d", keep number, options(anchor = fast));
    number * 2
}
fn main() {
    for i in 0..5 {
        println!("said {}", twice(std::hint::black_box(i)) / 2);
    }
}
"#;

/// The five bytes are where a tool puts its probe: the sites of these markers.
const FIVE_BYTES: &str = r#"
#include <stdio.h>
#include "simple_marker.h"
#define FIVE_BYTE_NOP __asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0, 0")
__attribute__((noinline)) int leaf(int number) {
    volatile int below = number + 1;
    volatile int beneath = number + 2;
    simple_mark(five:leaf, "%d", number);
    FIVE_BYTE_NOP;
    return below + beneath;
}
__attribute__((noinline)) int calling(int number) {
    volatile int above = number;
    printf("calls\n");
    simple_mark(five:calling, "%d", above);
    FIVE_BYTE_NOP;
    return above;
}
int main(void) {
    for (int i = 0; i < 5; i++)
        printf("said %d %d\n", leaf(i), calling(i));
    return 0;
}
"#;

/// The site of a marker as `smark show --json` has it, judged for some kernels.
fn site(program: &Path, marker: &str, kernels: &[&str]) -> Json {
    let mut show = Command::new(fixture::smark());
    show.args(["show", "--json", marker]).arg(program);
    show.args(kernels.iter().flat_map(|kernel| ["--kernel", kernel]));
    let said: Json = serde_json::from_str(&run(&mut show)).expect("JSON");
    let sites = said["images"][0]["markers"][0]["sites"].as_array().expect("sites");
    assert_eq!(sites.len(), 1, "{said}");
    sites[0].clone()
}

fn fast_programs(folder: &Path) -> Vec<PathBuf> {
    let mut programs = Vec::new();
    for level in ["0", "2"] {
        programs.push(compile(folder, &format!("c{level}"), C, &[&format!("-O{level}")]));
        let build = TOOLCHAIN.build(Markers::On);
        let (source, program) = (folder.join("fast.rs"), folder.join(format!("rust{level}")));
        std::fs::write(&source, RUST).expect("the source is written");
        let options = [&format!("-Copt-level={level}"), "-Cdebuginfo=2"];
        fixture::succeeds_silently(&mut build.compilation(&source, &options));
        std::fs::copy(build.folder().join("fast"), &program).expect("the program is copied");
        programs.push(program);
    }
    programs
}

#[test]
fn a_fast_anchor_is_a_nop_and_the_instruction_that_new_kernels_rewrite() {
    let folder = tempfile::tempdir().expect("a folder");
    for program in fast_programs(folder.path()) {
        let in_all = site(&program, "anchor:fast", &[]);
        let address = u64::from_str_radix(in_all["address"].as_str().expect("hex").trim_start_matches("0x"), 16);
        let address = address.expect("an address");
        let code = Code::of(&program);
        let (nop, fast) = (code.at(address).expect("an instruction"), code.after(address).expect("another one"));
        assert_eq!((&*nop.mnemonic, &*nop.operands), ("nop", ""), "{program:?}");
        assert_eq!((fast.address, &*fast.mnemonic), (address + 1, "cs"), "{program:?}");
        assert_eq!(code.after(fast.address).map(|next| next.address), Some(address + 11), "{program:?}");
        // What is exported must work on all kernels.
        for kernels in [&[][..], &["6.1"], &["6.18"], &["6.18", "7.2"]] {
            let site = site(&program, "anchor:fast", kernels);
            let probe = &site["probe"];
            assert_eq!((&probe["cost"], &probe["best_address"]), (&"emulated".into(), &Json::Null), "{kernels:?}");
        }
        let new = site(&program, "anchor:fast", &["7.2"]);
        assert_eq!(new["probe"]["best_address"], format!("{:#x}", address + 1), "{program:?}");
    }
}

#[test]
fn a_fast_anchor_is_watched() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for program in fast_programs(folder.path()) {
        let lines = trace(&["--json", "anchor:fast", program.to_str().expect("UTF-8")], &[&program]);
        let hits = lines.iter().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let values: Vec<Json> = hits.filter_map(|hit| Some(hit["args"].get(0)?["value"].clone())).collect();
        let printed: Vec<Json> =
            lines.iter().filter_map(|line| line.strip_prefix("said ")?.parse::<i64>().ok().map(Json::from)).collect();
        assert_eq!((values.len(), &values), (5, &printed), "{program:?}");
    }
}

#[test]
fn what_a_kernel_does_with_five_bytes_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "five", FIVE_BYTES, &[]);
    for (marker, kernel, cost, reason) in [
        ("five:leaf", "6.12", Json::from("stepped"), Json::Null),
        ("five:leaf", "6.18", Json::Null, "red_zone".into()),
        ("five:leaf", "7.2", "emulated".into(), Json::Null),
        ("five:calling", "6.12", "stepped".into(), Json::Null),
        ("five:calling", "6.18", "called".into(), Json::Null),
        ("five:calling", "7.2", "emulated".into(), Json::Null),
    ] {
        let site = site(&program, marker, &[kernel]);
        assert_eq!(site["instruction"], "nopl (%rax,%rax)", "{marker} {site}");
        let probe = &site["probe"];
        assert_eq!((&probe["cost"], &probe["reason"]), (&cost, &reason), "{marker} on {kernel}: {probe}");
        assert_eq!(probe["accepted"], true, "{marker} on {kernel}: {probe}");
    }
    let in_all = |marker| site(&program, marker, &[])["probe"].clone();
    assert_eq!(in_all("five:leaf")["reason"], "red_zone");
    assert_eq!(in_all("five:calling")["cost"], "stepped");
}

#[test]
fn no_probe_damages_the_red_zone() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "five", FIVE_BYTES, &[]);
    let expected = run(&mut Command::new(&program));
    let lines = trace(&["--json", "five:*", program.to_str().expect("UTF-8")], &[&program]);
    let printed: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !line.starts_with('{')).collect();
    assert_eq!(printed, expected.lines().collect::<Vec<_>>());
    let hits: Vec<Json> = lines.iter().filter_map(|line| serde_json::from_str::<Json>(line).ok()).collect();
    for marker in ["five:leaf", "five:calling"] {
        let hits = hits.iter().filter(|hit| hit["marker"] == marker);
        let values: Vec<Json> = hits.map(|hit| hit["args"][0]["value"].clone()).collect();
        assert_eq!(values, (0..5).map(Json::from).collect::<Vec<_>>(), "{marker}");
    }
    // The kernel itself does not take care.
    let Some(uprobes) = Uprobes::open() else { return };
    let offset = site(&program, "five:leaf", &[])["file_offset"].as_str().map(str::to_owned).expect("hex");
    let offset = u64::from_str_radix(offset.trim_start_matches("0x"), 16).expect("an offset");
    let placed = uprobes.place(&program, &[offset]);
    let disturbed = run(&mut Command::new(&program));
    assert_eq!(placed.hits(), [5]);
    assert_eq!(disturbed != expected, RunningKernel::find().rewrites_five_byte_nops(), "{disturbed}");
}
