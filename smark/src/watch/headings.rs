//! The headings in the help of the commands that watch running programs.

use clap::Arg;

/// The options that are not used first, by their headings. `-h` leaves them out.
const HEADINGS: [(&str, &[&str]); 3] = [
    ("What to watch", &["module", "function", "name", "event", "include", "at", "plan", "no_children"]),
    ("How to watch", &["engine", "no_assist", "buffer", "debug_dir", "views"]),
    ("What to print or write", &["strict", "top", "max_values", "force", "verbose"]),
];

/// Puts an option under its heading.
pub(crate) fn under_heading(option: Arg) -> Arg {
    let is_of = |(_, options): &&(&str, &[&str])| options.iter().any(|name| option.get_id() == *name);
    match HEADINGS.iter().find(is_of) {
        Some((heading, _)) => option.help_heading(*heading).hide_short_help(true),
        None => option,
    }
}
