//! Adds counters to compiled assembly: a counter at each site, between the same instructions that a
//! probe is placed on.
//!
//! A counter in the source would count how often a marker is passed, but would change the code. So
//! the assembly from the compiler is assembled twice: unchanged, and with a counter at the label of
//! each site record. The counter changes no register, no flags and not the stack, so it counts how
//! often this copy of the marker is passed. Supports x86-64, and the labels of gcc (`2:` before the
//! record, `2b` in it) and of LLVM (a label with a name).

use std::collections::HashMap;

/// The array of counters, 8 bytes for each site record, in the order of their section.
pub const COUNTERS: &str = "smark_counters";

/// Adds a counter at each site of x86-64 assembly, and returns the number of counters.
///
/// # Panics
///
/// A record refers to a label that does not exist.
#[must_use]
pub fn with_counters(assembly: &str) -> (String, usize) {
    let lines: Vec<&str> = assembly.lines().collect();
    // The counters to insert before each line.
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
            // A leaf function may use the 128 bytes below the stack pointer.
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

/// The label at the start of a line.
fn label(line: &str) -> Option<&str> {
    let (label, _) = line.trim_start().split_once(':')?;
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$');
    (!label.is_empty() && label.bytes().all(is_label)).then_some(label)
}
