//! The keys change the state, and the state is drawn.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use simple_markers_resolver::report::show::SourceLine;

use super::draw::Scene;
use super::hits::{HitDetails, HitRow, ShownHits};
use super::index::{NONE, RecordingIndex, TimelineBar};
use super::keys::ViewerKey;
use super::model::{Pane, Viewer, ViewerStep};
use super::range::TimeRange;
use crate::sources::NumberedLine;

/// Ten hits, one each millisecond, of two threads and three markers. The second and the fifth are a pair.
fn index() -> RecordingIndex {
    RecordingIndex {
        offsets: vec![0; 10],
        times: (1..=10).map(|time| time * 1_000_000).collect(),
        markers: vec![0, 1, 2, 0, 1, 2, 0, 0, 0, 2],
        threads: vec![0, 1, 0, 1, 1, 0, 0, 0, 1, 1],
        bars: vec![TimelineBar { begin: 2_000_000, end: 5_000_000, track: 1 }],
        labels: vec!["main 7".to_owned(), "other 7/8".to_owned()],
        rows: vec![0, 1],
        pairs: vec!["a..b".to_owned()],
        mates: vec![NONE, 4, NONE, NONE, 1, NONE, NONE, NONE, NONE, NONE],
        ..RecordingIndex::default()
    }
}

/// Hits without a recording.
#[derive(Default)]
struct WrittenHits(HitDetails);

impl ShownHits for WrittenHits {
    fn row(&mut self, number: usize) -> HitRow {
        HitRow {
            time: format!("   0.{:06}", (number + 1) * 1000),
            thread: if number % 2 == 0 { "main" } else { "other" }.to_owned(),
            numbers: "7".to_owned(),
            marker: format!("m:{}", number % 3),
            text: format!("request {number}"),
        }
    }

    fn details(&mut self, number: usize) -> &HitDetails {
        let line = |number: u32, text: &str| NumberedLine {
            number,
            line: SourceLine { text: text.to_owned(), is_newer: false },
        };
        let lines = vec![format!("marker    m:{number}"), "arguments".to_owned(), format!("  tag  {number}")];
        let source = vec![line(9, "fn f() {"), line(10, "\tmark();\u{1b}[2J"), line(11, "}")];
        self.0 = HitDetails { lines, source, line: 10 };
        &self.0
    }
}

/// The lines of a screen.
fn drawn(viewer: &mut Viewer, index: &RecordingIndex, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory");
    let scene = Scene { name: "trace", index, has_colour: false };
    terminal.draw(|frame| scene.draw(frame, viewer, &mut WrittenHits::default())).expect("memory");
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect()
}

fn press(viewer: &mut Viewer, index: &RecordingIndex, keys: &str) -> ViewerStep {
    let mut last = ViewerStep::Draw;
    for key in keys.chars() {
        last = viewer.press(if key == '\n' { ViewerKey::Enter } else { ViewerKey::Character(key) }, index);
    }
    last
}

#[test]
fn a_terminal_of_80_columns_has_everything() {
    let (mut index, mut viewer) = (index(), Viewer::new(&index()));
    index.lost = 3;
    index.notes.push("the recording was cut off".to_owned());
    press(&mut viewer, &index, "j");
    let lines = drawn(&mut viewer, &index, (80, 20));
    let expected = [
        "trace  10 hits in 9.00 ms  3 lost",
        "the recording was cut off",
        "main 7                  ·           ·                  ·     ·     ·",
        "other 7/8                     ┴───────────┴─────┴                        ·     ·",
        "0.001000 s  (9.00 ms)                                                 0.010000 s",
        "hit 2 of 10",
        "    0.001000 main            m:0: request 0",
        ">   0.002000 other           m:1: request 1",
        "    0.003000 main            m:2: request 2",
        "    0.004000 other           m:0: request 3",
        "=   0.005000 main            m:1: request 4",
        "    0.006000 other           m:2: request 5",
        "    0.007000 main            m:0: request 6",
        "details of hit 2  (2 more: tab, down)",
        "marker    m:1",
        "arguments",
        "  tag  1",
        "source",
        "   9 | fn f() {",
        "?: help  q: quit",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_wide_terminal_has_the_source_beside_the_details() {
    let (index, mut viewer) = (index(), Viewer::new(&index()));
    let lines = drawn(&mut viewer, &index, (110, 30));
    let own: Vec<&String> = lines.iter().filter(|line| line.contains("mark()")).collect();
    assert_eq!(own, ["arguments                                              > 10 |     mark();\\x1b[2J"]);
    assert!(lines.iter().any(|line| line.ends_with("main            7               m:0: request 0")), "{lines:#?}");
}

#[test]
fn a_small_terminal_has_one_pane() {
    let (index, mut viewer) = (index(), Viewer::new(&index()));
    let lines = drawn(&mut viewer, &index, (40, 10));
    assert_eq!(lines[..3], ["trace  10 hits in 9.00 ms", "hit 1 of 10", ">   0.001000 m:0: request 0"]);
    assert_eq!((&*lines[8], &*lines[9]), ("    0.007000 m:0: request 6", "?: help  q: quit"));
    viewer.press(ViewerKey::End, &index);
    assert_eq!(drawn(&mut viewer, &index, (40, 10))[8], ">   0.010000 m:0: request 9");
    viewer.press(ViewerKey::Tab, &index);
    assert_eq!(viewer.pane, Pane::Details);
    assert_eq!(drawn(&mut viewer, &index, (40, 10))[1..3], ["details of hit 10", "marker    m:9"]);
    viewer.press(ViewerKey::Tab, &index);
    let lines = drawn(&mut viewer, &index, (40, 10));
    assert_eq!((lines[1].get(..6), &*lines[8]), (Some("main 7"), "0.001000 s  (9.00 ms)         0.010000 s"));
    press(&mut viewer, &index, "?");
    assert_eq!(drawn(&mut viewer, &index, (40, 10))[3], "+ - 0             zoom in, out, show all");
    // All sizes are drawn.
    for size in [(0, 0), (1, 1), (2, 2), (5, 3), (300, 1), (1, 100), (80, 17), (80, 18)] {
        for _ in 0..3 {
            viewer.press(ViewerKey::Tab, &index);
            drawn(&mut viewer, &index, size);
            press(&mut viewer, &index, "?");
        }
    }
}

#[test]
fn keys_go_from_hit_to_hit() {
    let (index, mut viewer) = (index(), Viewer::new(&index()));
    drawn(&mut viewer, &index, (80, 24));
    let mut after = |keys: &str| {
        press(&mut viewer, &index, keys);
        (viewer.selected, viewer.status.clone())
    };
    let none = String::new;
    // The marker, the thread, the pair, a time.
    assert_eq!(after("m"), (3, none()));
    assert_eq!(after("t"), (4, none()));
    assert_eq!(after("p"), (1, none()));
    assert_eq!(after("p"), (4, none()));
    assert_eq!(after("M"), (1, none()));
    assert_eq!(after("M"), (1, "no earlier hit of this marker".to_owned()));
    assert_eq!(after("g0.0065\n"), (6, none()));
    assert_eq!(after("p"), (6, "this hit is in no pair".to_owned()));
    assert_eq!(after("g1\n"), (9, "no hit is that late: this is the last one".to_owned()));
    assert_eq!(after("gx\n"), (9, "a time is 1.5 for seconds, or has a unit, as in 20ms".to_owned()));
    assert_eq!(after("n"), (9, "nothing is searched for: / asks for a text".to_owned()));
    assert_eq!(press(&mut viewer, &index, "/abc\n"), ViewerStep::Search { is_forward: true });
    assert_eq!((press(&mut viewer, &index, "N"), &*viewer.search), (ViewerStep::Search { is_forward: false }, "abc"));
    assert_eq!(press(&mut viewer, &index, "q"), ViewerStep::Quit);
}

#[test]
fn a_filter_keeps_the_selected_hit_or_the_next_one() {
    let (index, mut viewer) = (index(), Viewer::new(&index()));
    drawn(&mut viewer, &index, (80, 24));
    press(&mut viewer, &index, "jj");
    assert_eq!(press(&mut viewer, &index, "ftag > 1\n"), ViewerStep::Filter("tag > 1".to_owned()));
    viewer.show("tag > 1".to_owned(), vec![1, 4, 9], 2, &index);
    assert_eq!((viewer.hit(&index), &*viewer.status), (Some(4), "3 of 10 hits; 2 could not be filtered"));
    assert_eq!(
        drawn(&mut viewer, &index, (40, 10))[1..5],
        [
            "hit 2 of 3  of tag > 1",
            "=   0.002000 m:1: request 1",
            ">   0.005000 m:1: request 4",
            "    0.010000 m:0: request 9"
        ]
    );
    viewer.go_to(3, &index);
    assert_eq!((viewer.hit(&index), &*viewer.status), (Some(4), "hit 4 is not among those of the filter"));
    press(&mut viewer, &index, "j");
    // An empty filter shows all, with the same hit selected. It is typed over the last one.
    press(&mut viewer, &index, "f");
    (0..7).for_each(|_| drop(viewer.press(ViewerKey::Erase, &index)));
    viewer.press(ViewerKey::Enter, &index);
    assert_eq!((viewer.count(&index), viewer.selected), (10, 9));
    viewer.show("x".to_owned(), Vec::new(), 0, &index);
    assert_eq!(drawn(&mut viewer, &index, (80, 20)).iter().filter(|line| line.contains("no hit has")).count(), 1);
    assert_eq!(press(&mut viewer, &index, "jkmtpM"), ViewerStep::Draw);
}

#[test]
fn the_timeline_zooms_and_follows() {
    let (index, mut viewer) = (index(), Viewer::new(&index()));
    drawn(&mut viewer, &index, (80, 24));
    let whole = TimeRange::new(1_000_000, 10_000_000);
    assert_eq!(viewer.range, whole);
    press(&mut viewer, &index, "+");
    assert_eq!(viewer.range, TimeRange::new(1_000_000, 5_500_000));
    viewer.press(ViewerKey::Right, &index);
    assert_eq!(viewer.range, TimeRange::new(2_125_000, 6_625_000));
    viewer.press(ViewerKey::End, &index);
    assert_eq!(viewer.range, TimeRange::new(5_500_000, 10_000_000));
    press(&mut viewer, &index, "0");
    assert_eq!(viewer.range, whole);
    // The mouse: the first cell is at column 24, row 1.
    viewer.press(ViewerKey::Wheel { is_up: true, at: (24, 1) }, &index);
    assert_eq!(viewer.range, TimeRange::new(1_000_000, 5_500_000));
    viewer.press(ViewerKey::Click { at: (79, 2) }, &index);
    assert_eq!(viewer.selected, 5);
    let top = viewer.geometry.list_top;
    viewer.press(ViewerKey::Click { at: (3, top + 1) }, &index);
    assert_eq!(viewer.selected, 1);
    viewer.press(ViewerKey::Wheel { is_up: false, at: (3, top + 1) }, &index);
    assert_eq!(viewer.selected, 4);
    let nothing = RecordingIndex::default();
    let mut viewer = Viewer::new(&nothing);
    assert_eq!(press(&mut viewer, &nothing, "jkhl+-0mtpMT g1\nn"), ViewerStep::Draw);
    assert!(drawn(&mut viewer, &nothing, (80, 24)).contains(&"the recording has no hits".to_owned()));
}
