//! CPU time to compile a point: a crate with 5,000 points compared with the same crate without.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::sys::resource::{UsageWho, getrusage};

use crate::contender::{Contender, RUST};
use crate::generate::{Mode, Package};
use crate::markdown;

const FUNCTIONS: usize = 500;
const POINTS_OF_A_FUNCTION: usize = 10;
const POINTS: usize = FUNCTIONS * POINTS_OF_A_FUNCTION;

/// How a crate is compiled.
const MODES: [(&str, Mode<'_>); 3] = [
    ("check", Mode { arguments: &["check"], variables: &[] }),
    ("debug", Mode { arguments: &["build"], variables: &[] }),
    ("release", Mode { arguments: &["build", "--release"], variables: &[] }),
];

/// One row for each contender, the minimum of `rounds` builds. `CONTENDERS=mark,asm` in the
/// environment measures only these.
pub(crate) fn table(folder: &Path, rounds: usize) -> Result<String> {
    let chosen = std::env::var("CONTENDERS").ok();
    let is_chosen = |contender: &Contender| {
        contender.name == "none"
            || chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|name| name == contender.name))
    };
    let contenders: Vec<_> = RUST.iter().filter(|contender| is_chosen(contender)).collect();
    let mut packages = Vec::new();
    for contender in &contenders {
        let name = format!("build_time_{}", contender.name);
        // The first build is empty and compiles the dependencies.
        let package = Package::new(folder, &name, "rlib", contender, "", "")?;
        for (_, mode) in MODES {
            package.cargo(mode)?;
        }
        packages.push((package, source(contender)));
    }
    let mut least = vec![[Duration::MAX; MODES.len()]; contenders.len()];
    // Rounds are the outer loop, so other work on the machine affects all contenders alike.
    for _ in 0..rounds {
        for ((package, source), least) in packages.iter().zip(&mut least) {
            for ((_, mode), least) in MODES.iter().zip(least) {
                package.write(source)?;
                let before = of_children()?;
                package.cargo(*mode)?;
                *least = of_children()?.saturating_sub(before).min(*least);
            }
        }
    }
    let mut head = vec![String::new()];
    for (name, _) in MODES {
        head.push(format!("{name}: s"));
        head.push("ms a point".to_owned());
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let none = least.first().copied().context("no contenders")?;
    let mut rows = Vec::new();
    for (contender, least) in contenders.iter().zip(&least) {
        let mut row = vec![contender.title.to_owned()];
        for (taken, without) in least.iter().zip(none) {
            row.push(format!("{:.2}", taken.as_secs_f64()));
            let points = (taken.as_secs_f64() - without.as_secs_f64()) * 1000.0 / POINTS as f64;
            row.push(if contender.name == "none" { String::new() } else { format!("{points:.3}") });
        }
        rows.push(row);
    }
    Ok(markdown::table(&head, &rows))
}

/// The CPU time of ended children, in user and kernel mode.
fn of_children() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let [user, system] = [usage.user_time(), usage.system_time()]
        .map(|time| Duration::from_micros(time.tv_sec().unsigned_abs() * 1_000_000 + time.tv_usec().unsigned_abs()));
    Ok(user + system)
}

/// The crate.
fn source(contender: &Contender) -> String {
    let mut source = contender.head(POINTS);
    for function in 0..FUNCTIONS {
        // Writing to a String cannot fail. `inline(never)`: otherwise rustc leaves the code
        // generation to crates that call the function.
        let _ = writeln!(source, "#[inline(never)]\npub fn f{function}(mut a: u32, mut b: u32) -> u32 {{");
        for point in 0..POINTS_OF_A_FUNCTION {
            let point = contender.point(function * POINTS_OF_A_FUNCTION + point, "a", "b");
            let _ = writeln!(
                source,
                "    a = a.wrapping_mul(b) ^ {function};\n    {point}\n    b = b.wrapping_add(a >> 3);"
            );
        }
        source.push_str("    a ^ b\n}\n");
    }
    source
}
