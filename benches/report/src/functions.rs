//! The functions of the crate `points`: instructions, bytes, vectorised or not, inlined or not.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::code::{Code, Function};
use crate::markdown;

/// The divisors of the benchmark: calls of `line`, `three` and `tokenise`, elements of `scale`.
const TIMES: f64 = 1000.0;

/// The contenders: the module of the crate `points`, the names of its functions (`{}` is the
/// function), and the name in the table.
const CONTENDERS: [(&str, &str, &str); 33] = [
    ("none", "points::none::", "Rust: no points"),
    ("asm", "points::asm::", "empty `asm!`"),
    ("bare", "points::bare::", "`simple_mark!`, no arguments"),
    ("mark", "points::mark::", "`simple_mark!`, two places"),
    ("keep", "points::keep::", "`simple_mark!`, two kept"),
    ("anchor", "points::anchor::", "`simple_mark!`, two places, anchor"),
    ("fast", "points::fast::", "`simple_mark!`, two places, fast anchor"),
    ("switch", "points::switch::", "`simple_probe!`, two values"),
    ("ghost", "points::ghost::", "`simple_mark!`, two places, ghost"),
    ("probe", "points::probe::", "`probe`"),
    ("usdt", "points::usdt::", "`usdt`"),
    ("tracing", "points::tracing::", "`tracing`, no subscriber"),
    ("log", "points::log::", "`log`, no logger"),
    ("gcc_none", "gcc_none_", "gcc: no points"),
    ("gcc_asm", "gcc_asm_", "empty `asm`"),
    ("gcc_bare", "gcc_bare_", "`simple_mark`, no arguments"),
    ("gcc_mark", "gcc_mark_", "`simple_mark`, two places"),
    ("gcc_keep", "gcc_keep_", "`simple_mark_keep`, two"),
    ("gcc_anchor", "gcc_anchor_", "`simple_mark_anchor`, two places"),
    ("gcc_fast", "gcc_fast_", "`simple_mark_anchor_fast`, two places"),
    ("gcc_switch", "gcc_switch_", "`simple_probe`, two values"),
    ("gcc_ghost", "gcc_ghost_", "`simple_mark_ghost`, two places"),
    ("gcc_sdt", "gcc_sdt_", "`sys/sdt.h`"),
    ("clang_none", "clang_none_", "clang: no points"),
    ("clang_asm", "clang_asm_", "empty `asm`"),
    ("clang_bare", "clang_bare_", "`simple_mark`, no arguments"),
    ("clang_mark", "clang_mark_", "`simple_mark`, two places"),
    ("clang_keep", "clang_keep_", "`simple_mark_keep`, two"),
    ("clang_anchor", "clang_anchor_", "`simple_mark_anchor`, two places"),
    ("clang_fast", "clang_fast_", "`simple_mark_anchor_fast`, two places"),
    ("clang_switch", "clang_switch_", "`simple_probe`, two values"),
    ("clang_ghost", "clang_ghost_", "`simple_mark_ghost`, two places"),
    ("clang_sdt", "clang_sdt_", "`sys/sdt.h`"),
];

/// One row for each contender. `folder` is the output of gungraun, with a folder for each
/// benchmark.
pub(crate) fn table(benchmark: &Path, folder: &Path) -> Result<String> {
    let code = Code::read(benchmark)?;
    let mut rows = Vec::new();
    for (contender, prefix, title) in CONTENDERS {
        let executed = |function: &str| instructions(folder, function, contender);
        let size = |function: &str| code.parts(&format!("{prefix}{function}")).map(Function::size).sum::<usize>();
        let named = |function: &str| {
            let name = format!("{prefix}{function}");
            code.function(&name).with_context(|| format!("no function {name}"))
        };
        let (scale, three) = (named("scale")?, named("three")?);
        let advance = code.function(&format!("{prefix}advance"));
        let called = advance.map_or(0, |advance| three.calls(advance));
        rows.push(vec![
            title.to_owned(),
            executed("line")?,
            size("line").to_string(),
            executed("tokenise")?,
            size("tokenise").to_string(),
            executed("scale")?,
            size("scale").to_string(),
            (if scale.is_vectorised() { "yes" } else { "**no**" }).to_owned(),
            executed("three")?,
            (size("three") + size("advance")).to_string(),
            if called == 0 { "3 of 3".to_owned() } else { format!("**{} of 3**", 3_usize.saturating_sub(called)) },
        ]);
    }
    Ok(markdown::table(
        &[
            "",
            "straight line: instructions",
            "bytes",
            "tokeniser, 5 points: instructions",
            "bytes",
            "loop: instructions an element",
            "bytes",
            "vectorised",
            "3 calls of a tiny function: instructions",
            "bytes",
            "inlined",
        ],
        &rows,
    ))
}

/// The instructions of one run, from the line `totals:` or `summary:` of the callgrind file.
fn instructions(folder: &Path, function: &str, contender: &str) -> Result<String> {
    let path = folder.join(format!("{function}.{contender}/callgrind.{function}.{contender}.out"));
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")));
    let first = total.and_then(|total| total.split_whitespace().next());
    let total: f64 = first.with_context(|| format!("{}: no total", path.display()))?.parse()?;
    Ok(format!("{:.1}", total / TIMES))
}
