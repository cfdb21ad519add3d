//! Says which hits of a pair are in no slice and no span.

use simple_markers_resolver::text::shown;
use simple_markers_tracer::pairs::PairTally;

use crate::console::Console;

/// Says which hits of a pair are in no slice of a timeline or a page, of which at most `most` are open.
pub(crate) fn tell(console: &Console, names: [&str; 3], tally: PairTally, most: u32) {
    tell_of(console, "slice", names, tally, &format!("{most} were open (--max-values)"));
}

/// The same of what is called so, with what there was in place of space. The names are those of the pair, its begin and its end.
pub(crate) fn tell_of(console: &Console, what: &str, names: [&str; 3], tally: PairTally, full: &str) {
    let [name, from, to] = names.map(shown);
    let lines = [
        (tally.unmatched.ends, format!("{to} without a {from}")),
        (tally.unmatched.repeated, format!("{from} that so many {from} without {to} followed that it was forgotten")),
        (tally.unmatched.open, format!("{from} without a {to}")),
        (tally.unread, "hits whose key could not be read".to_owned()),
        (tally.full, format!("{from} while {full}")),
    ];
    for (count, which) in lines.iter().filter(|(count, _)| *count > 0) {
        console.error(&format!("{name}: not in a {what}: {count} {which}"));
    }
}
