//! How often gdb comes by addresses: what counts where nobody may use the kernel's probes.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use object::{Object as _, ObjectSymbol as _};
use simple_markers_resolver::address::Vaddr;

use crate::tools::run;

/// How often a program comes by each of some addresses, no two of them the same, when it is run with these arguments. Costs some 50
/// microseconds for each time.
///
/// # Panics
///
/// gdb cannot run it, or it has no `main`.
#[must_use]
pub fn count(program: &Path, arguments: &[&str], addresses: &[Vaddr]) -> Vec<u64> {
    let data = std::fs::read(program).expect("the program");
    let image = object::File::parse(&*data).expect("an ELF file");
    let main = image.symbols().find(|symbol| symbol.name() == Ok("main")).expect("main").address();
    let mut script = tempfile::NamedTempFile::new().expect("a file");
    let mut write = |line: &str| writeln!(script, "{line}").expect("a line of the script");
    for line in ["set confirm off", "set width 0", "set language c", "starti"] {
        write(line);
    }
    write(&format!("set $bias = (unsigned long) &main - {main:#x}"));
    for (index, address) in addresses.iter().enumerate() {
        write(&format!("break *($bias + {:#x})", address.0));
        write(&format!("ignore {} 1000000000", index + 1));
    }
    write("continue");
    write("info breakpoints");
    let mut gdb = Command::new("gdb");
    gdb.args(["-q", "-nx", "-batch", "-x"]).arg(script.path()).arg("--args").arg(program).args(arguments);
    let said = run(gdb.env("LC_ALL", "C"));
    let mut hits = vec![0; addresses.len()];
    let mut current = None;
    for line in said.lines() {
        let mut words = line.split_whitespace();
        if let (Some(Ok(number)), Some("breakpoint")) = (words.next().map(str::parse::<usize>), words.next()) {
            current = number.checked_sub(1);
        }
        let hit = line.trim().strip_prefix("breakpoint already hit ");
        let times = hit.and_then(|rest| rest.split(' ').next()?.parse().ok());
        if let (Some(times), Some(hits)) = (times, current.and_then(|current| hits.get_mut(current))) {
            *hits = times;
        }
    }
    assert!(said.contains("exited normally"), "{said}");
    hits
}
