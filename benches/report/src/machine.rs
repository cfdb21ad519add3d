//! The machine of the measurements.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};

/// The processor, the kernel and the compilers, as a list.
pub(crate) fn list() -> Result<String> {
    let processors = fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    let value = |key: &str| {
        let line = processors.lines().find(|line| line.split('\t').next() == Some(key));
        line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, value)| value).to_owned()
    };
    let count = processors.lines().filter(|line| line.starts_with("processor")).count();
    let mut list = format!(
        "- {}, family {}, model {}, stepping {}; {count} processors\n",
        value("model name"),
        value("cpu family"),
        value("model"),
        value("stepping"),
    );
    for command in [
        &["uname", "-srm"][..],
        &["rustc", "-V"],
        &["gcc", "--version"],
        &["clang", "--version"],
        &["valgrind", "--version"],
    ] {
        let output = Command::new(command[0]).args(&command[1..]).output().with_context(|| command[0].to_owned())?;
        let text = String::from_utf8_lossy(&output.stdout);
        list.push_str(&format!("- {}\n", text.lines().next().unwrap_or_default()));
    }
    Ok(list)
}
