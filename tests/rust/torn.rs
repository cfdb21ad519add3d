//! Collections that another thread changes while they are read: what is shown is marked, or it is what was
//! in memory at one time. `docs/measured/whole.md` has the shares.

use std::fs;

use simple_markers_tests::fixture::{self, Fixture, workspace};
use simple_markers_tests::tools::find;
use simple_markers_tests::watched::can_watch;
use simple_markers_tests::whole_values::{KINDS, Shown, torn};

#[test(desk = false)]
fn a_value_that_changes_while_it_is_read_is_marked() {
    if !can_watch() || find("chrt").is_none() {
        return;
    }
    let source = fs::read_to_string(workspace().join("tests/whole/torn.rs")).expect("the source");
    let fixture = Fixture::new("torn").file("src/main.rs", &source);
    fixture::succeeds_silently(fixture.rustc(&["-Copt-level=2"]).env("RUSTFLAGS", "-g"));
    let program = fixture.built("torn");
    let mut changed = Shown::default();
    for kind in KINDS {
        // Without another thread every value is the first version, and nothing is marked.
        let quiet = torn(&program, &format!("torn:{kind}"), 200, None);
        assert_eq!(quiet, Shown { right: 200, ..Shown::default() }, "{kind}");
        let all = torn(&program, &format!("counted:{kind}"), 2000, Some(1000));
        assert_eq!(all.all(), 2000, "{kind}: {all:?}");
        // Between two operations every value is right or marked.
        assert_eq!(all.unmarked(), all.wrong_in_an_operation, "{kind}: {all:?}");
        changed.right += all.right;
        changed.right_and_changing += all.right_and_changing;
        changed.marked += all.marked;
    }
    // On one CPU a value changes between two hits only.
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    assert!(cpus == 1 || changed.right_and_changing + changed.marked > 0, "{changed:?}");
}
