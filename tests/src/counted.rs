//! Counters in what a compiler wrote: the same instructions as those that a probe is put on, with a counter at each site.
//!
//! A counter in the source says how often a marker is passed, and is other code. So the assembly that the compiler wrote is assembled twice,
//! as it is and with a counter at the label of each site record, which touches neither a register, nor the flags, nor the stack: what it
//! counts is how often that very copy is passed. Knows x86-64, and how gcc (`2:` before the record, `2b` in it) and LLVM (a label of its
//! own) write it.

use std::collections::HashMap;

/// The array of counters, 8 bytes each, one for each site record in the order of their section.
pub const COUNTERS: &str = "smark_counters";

/// The assembly of x86-64 with a counter at each site, and how many.
///
/// # Panics
///
/// A record names a label that is not there.
#[must_use]
pub fn with_counters(assembly: &str) -> (String, usize) {
    let lines: Vec<&str> = assembly.lines().collect();
    // The line that each counter stands before.
    let mut counters: HashMap<usize, Vec<usize>> = HashMap::new();
    let labels: HashMap<&str, usize> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((label(line)?, at))).collect();
    let (mut is_record, mut last, mut count) = (false, None, 0);
    for (at, line) in lines.iter().enumerate() {
        if label(line) == Some("2") {
            last = Some(at);
        }
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some(".section" | ".pushsection"), Some(section)) => {
                is_record = section.trim_end_matches(',').starts_with(".debug.simple_marker.2");
            }
            (Some(".8byte" | ".quad"), Some(target)) if is_record => {
                is_record = false;
                let place = if target == "2b" { last } else { labels.get(target).copied() };
                let place = place.unwrap_or_else(|| panic!("line {at}: {target} is nowhere"));
                counters.entry(place).or_default().push(count);
                count += 1;
            }
            _ => {}
        }
    }
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        for index in counters.get(&at).into_iter().flatten() {
            let counter = format!("{COUNTERS}+{}(%rip)", index * 8);
            // Below the stack pointer a leaf function keeps 128 bytes of its own.
            text.push_str(&format!(
                "\tleaq -128(%rsp), %rsp\n\tpushq %rax\n\tmovq {counter}, %rax\n\tleaq 1(%rax), %rax\n\
                 \tmovq %rax, {counter}\n\tpopq %rax\n\tleaq 128(%rsp), %rsp\n"
            ));
        }
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(&format!(
        "\t.bss\n\t.globl {COUNTERS}\n\t.hidden {COUNTERS}\n\t.balign 8\n{COUNTERS}:\n\t.zero {}\n",
        (count * 8).max(8)
    ));
    (text, count)
}

/// The label that a line begins with.
fn label(line: &str) -> Option<&str> {
    let (label, _) = line.trim_start().split_once(':')?;
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$');
    (!label.is_empty() && label.bytes().all(is_label)).then_some(label)
}
