//! The text of `show` and of `list -v`, byte for byte.

use std::sync::Arc;

use images::{everything, scsi};
use simple_markers_resolver::rates::{self, Compiler, Programs};
use simple_markers_resolver::report::show::SourceLine;
use simple_markers_resolver::report::{TextLayout, Verbosity, list, show};
use simple_markers_resolver::resolve::{
    DeclaredArgument, EdgeKind, Exactness, ExactnessReason, Marker, Mismatch, Origin, Predecessor, ProbeCost,
    ProbeVerdict, Reason, Resolution, SitePlace, Verdict, resolve,
};

fn text_with(resolution: &Resolution, name: &str, layout: TextLayout, line: Option<&SourceLine>) -> String {
    let mut out = Vec::new();
    let keep = |marker: &Marker| &*marker.name == name || name == "*";
    show::write(&mut out, resolution, &keep, &mut |_, _| line.cloned(), layout).unwrap();
    String::from_utf8(out).unwrap()
}

fn text(resolution: &Resolution, name: &str) -> String {
    text_with(resolution, name, TextLayout::default(), None)
}

fn verbose(resolution: &Resolution) -> String {
    let mut out = Vec::new();
    list::write(&mut out, &resolution.rows(), TextLayout { verbosity: Verbosity::Full, ..TextLayout::default() })
        .unwrap();
    String::from_utf8(out).unwrap()
}

/// Asserts that each of `lines` is a line of `text`.
#[track_caller]
fn assert_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line:?} is not among\n{text}");
    }
}

#[test]
fn a_marker_is_shown_in_full() {
    assert_eq!(
        text(&everything(), "queue:all"),
        r#"queue:all
  source       queue.c:12:5
  format       "depth %zu"
  description  depth $self.queue.depth
  arguments    self.queue.depth %zu, tag %d, limit %s, span %p, request %p, device %p, CURRENT %p, total %d, rest (without a conversion)
  id           1
  module       queue
  image        build/queue (pie, x86_64)
  build id     0123456789abcdef
  debug info   build/queue (file)
  survival     live: 2 sites, and 1 that the linker dropped

  site 1 of 3  run()+0x10
    address    0x1010, at 0x10 of the file
    symbol     _Z3runv
    inlined    submit into drain at queue.c:40
               drain into run()
    origin     record: the marker's own, in the image
    anchored   no: the instruction there is the next one of the program
    scope      ended here: the marker is the last thing in it, the instruction there is of another one
    arguments
      self.queue.depth  %zu  live SM030         in *(%rdi+0x18) (usize, 8 bytes, unsigned)
      tag               %d   live SM030         kept in %esi (4 bytes, signed)
      limit             %s   constant SM031     = 64 (int, 4 bytes, signed)
                                                format SM040: `%s` given `int` (4 bytes, signed): use `%d`
      span              %p   partial SM032      in %rax, 8 bytes gone (struct span, 16 bytes)
                                                its bytes 8..16 are optimised out
      request           %p   entry SM033        only known as what a register held when the function was entered
      device            %p   lost SM034         the debug information describes no location of it here
                                                struct device *, 8 bytes
                                                described in 0x1000..0x100c, which ends 0x4 before; 0x1020..0x1030, which starts 0x10 after
      CURRENT           %p   absent SM035       no such variable in scope
      total             %d   unsupported SM036  DW_OP_xderef
      rest                   not resolved       there is no debug information, or it was not read

  site 2 of 3  run()+0x40
    address    0x1040, at 0x40 of the file
    symbol     _Z3runv
    origin     nearest SM010: line 12 has no row in the line table, line 14 is the next of its function
    anchored   no: the instruction there is the next one of the program
    arguments
      self.queue.depth  %zu  live SM030         computed as (%rsi & 0xffffffff) * 2 (usize, 8 bytes, unsigned)
      tag               %d   lost SM034         optimised out
      limit             %s   constant SM031     = 64 (int, 4 bytes, signed)
                                                format SM040: `%s` given `int` (4 bytes, signed): use `%d`
      span              %p   partial SM032      in %rax, 8 bytes gone (struct span, 16 bytes)
                                                its bytes 8..16 are optimised out
      request           %p   entry SM033        only known as what a register held when the function was entered
      device            %p   lost SM034         the debug information describes no location of it here
                                                struct device *, 8 bytes
                                                described in 0x1020..0x1030, which ends 0x10 before; 1 more
      CURRENT           %p   absent SM035       no such variable in scope
      total             %d   unsupported SM036  DW_OP_xderef
      rest                   not resolved       there is no debug information, or it was not read

  site 3 of 3  discarded by the linker
    source     queue.c:12:5
"#
    );
    assert_eq!(text(&everything(), "no such marker"), "");
}

#[test]
fn what_was_read_from_an_image_is_shown() {
    assert_eq!(
        text(&resolve("scsi_mod.ko", &scsi().build()), "scsi:queue"),
        r#"scsi:queue
  source       scsi.c:10:5
  format       "Command %p for %d"
  description  Command $cmd for $lun
  arguments    cmd %p, lun %d
  id           1
  module       scsi_mod
  image        scsi_mod.ko (executable, x86_64)
  build id     none
  debug info   none
  survival     live: 3 sites

  site 1 of 3  g+0x10
    address    0x1010, at 0xc0 of the file
    origin     record: the marker's own, in the image
    anchored   no: the instruction there is the next one of the program
    exactness  exact SM020: the instruction before it goes on there, and nothing else leads there
    ways in    0x100f falls through
    code       nop
    uprobe     emulated
    arguments
      cmd  %p  live SM030  kept in %rdi (8 bytes, unsigned)
      lun  %d  live SM030  kept in %esi (4 bytes, signed)

  site 2 of 3  f+0x8
    address    0x1058, at 0x108 of the file
    origin     record: the marker's own, in the image
    anchored   no: the instruction there is the next one of the program
    exactness  exact SM020: the instruction before it goes on there, and nothing else leads there
    ways in    0x1057 falls through
    code       nop
    uprobe     emulated
    arguments
      cmd  %p  live SM030  kept in %rdi (8 bytes, unsigned)
      lun  %d  live SM030  kept in %esi (4 bytes, signed)

  site 3 of 3  f+0x10
    address    0x1060, at 0x110 of the file
    origin     record: the marker's own, in the image
    anchored   no: the instruction there is the next one of the program
    exactness  exact SM020: the instruction before it goes on there, and nothing else leads there
    ways in    0x105f falls through
    code       nop
    uprobe     emulated
    arguments
      cmd  %p  live SM030  kept in %rdi (8 bytes, unsigned)
      lun  %d  live SM030  kept in %esi (4 bytes, signed)
"#
    );
}

#[test]
fn markers_that_are_not_there_say_why() {
    assert_eq!(
        text(&everything(), "queue:gone"),
        r#"queue:gone
  source       queue.c:20
  format       ""
  id           2
  module       queue
  image        build/queue (pie, x86_64)
  build id     0123456789abcdef
  debug info   build/queue (file)
  survival     eliminated SM001: the compiler removed every copy, or never instantiated the generic function that holds it
"#
    );
    assert_eq!(
        text(&everything(), "queue:dropped"),
        r#"queue:dropped
  source       queue.c:30:5
  format       ""
  id           3
  module       queue
  image        build/queue (pie, x86_64)
  build id     0123456789abcdef
  debug info   build/queue (file)
  survival     discarded SM002: the linker dropped every function that holds it

  site 1 of 1  discarded by the linker
    source     queue.c:30:5
"#
    );
    assert_lines(
        &text(&everything(), "queue:unknown"),
        &["  survival     unknown SM003: the image does not say whether it is in the program"],
    );
}

#[test]
fn what_is_not_known_of_a_place_is_told() {
    assert_eq!(
        text(&everything(), "queue:nameless"),
        r#"queue:nameless
  source       queue.c:50:5 (not declared in the image: known from its sites alone)
  format       ""
  id           5
  module       queue
  image        build/queue (pie, x86_64)
  build id     0123456789abcdef
  debug info   build/queue (file)
  survival     live: 1 site

  site 1 of 1  in no function that a symbol or the debug information names
    address    0x2000, not in the file
    origin     record: the marker's own, in the image
    anchored   no: the instruction there is the next one of the program
"#
    );
    // In a relocatable object, an offset in a section.
    assert_eq!(
        text(&everything(), "queue:object"),
        r#"queue:object
  source       queue.c:60:5
  format       ""
  id           6
  module       queue
  image        queue.o (relocatable, x86_64)
  build id     none
  debug info   none
  survival     live: 1 site

  site 1 of 1  f+0x8
    address    .text.f+0x8, at 0x48 of the file
    origin     line: a row of line 60 in the line table
    anchored   yes: the instruction there is the marker's own
"#
    );
}

#[test]
fn markers_are_parted_by_an_empty_line() {
    let names = ["queue:all", "queue:gone", "queue:dropped", "queue:unknown", "queue:nameless", "queue:object"];
    let each: Vec<_> = names.iter().map(|name| text(&everything(), name)).collect();
    assert_eq!(text(&everything(), "*"), each.join("\n"));
}

#[test]
fn a_terminal_wraps_into_columns() {
    let wrapped = text_with(&everything(), "queue:all", TextLayout { width: Some(100), ..TextLayout::default() }, None);
    assert!(wrapped.lines().all(|line| line.len() <= 100), "{wrapped}");
    let lines: Vec<_> = wrapped.lines().collect();
    let at = |start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap();
    assert_eq!(
        lines[at("  arguments")..][..2],
        [
            "  arguments    self.queue.depth %zu, tag %d, limit %s, span %p, request %p, device %p, CURRENT %p,",
            "               total %d, rest (without a conversion)",
        ]
    );
    assert_eq!(
        lines[at("      request")..][..7],
        [
            "      request           %p   entry SM033        only known as what a register held when the function",
            "                                                was entered",
            "      device            %p   lost SM034         the debug information describes no location of it",
            "                                                here",
            "                                                struct device *, 8 bytes",
            "                                                described in 0x1000..0x100c, which ends 0x4 before;",
            "                                                0x1020..0x1030, which starts 0x10 after",
        ]
    );
    // The words are the same at every width.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&wrapped), words(&text(&everything(), "queue:all")));
    let narrow = text_with(&everything(), "*", TextLayout { width: Some(1), ..TextLayout::default() }, None);
    assert_eq!(words(&narrow), words(&text(&everything(), "*")));
}

#[test]
fn verdicts_are_seen_at_a_glance() {
    let coloured = text_with(&everything(), "*", TextLayout { colour: true, ..TextLayout::default() }, None);
    for (colour, words) in [
        (32, "live SM030"),
        (32, "constant SM031"),
        (33, "partial SM032"),
        (33, "entry SM033"),
        (31, "lost SM034"),
        (31, "absent SM035"),
        (31, "unsupported SM036"),
        (33, "not resolved"),
        (31, "format SM040: `%s` given `int` (4 bytes, signed): use `%d`"),
        (32, "live: 2 sites, and 1 that the linker dropped"),
        (31, "discarded by the linker"),
        (31, "discarded SM002: the linker dropped every function that holds it"),
    ] {
        assert!(coloured.contains(&format!("\u{1b}[{colour}m{words}\u{1b}[0m")), "{words}\n{coloured}");
    }
    // Only the colours differ.
    let mut plain = String::new();
    for (index, part) in coloured.split('\u{1b}').enumerate() {
        plain.push_str(if index == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(plain, text(&everything(), "*"));
}

/// The lines below `source`, for a marker in a column of a source line.
fn source(column: Option<u32>, text: &str, is_newer: bool, width: Option<usize>) -> Vec<String> {
    let mut resolution = everything();
    resolution.images[0].markers[0].column = column;
    let line = SourceLine { text: text.to_owned(), is_newer };
    let shown = text_with(&resolution, "queue:all", TextLayout { width, ..TextLayout::default() }, Some(&line));
    shown.lines().skip(2).take_while(|line| !line.starts_with("  format")).map(|line| line[15..].to_owned()).collect()
}

#[test]
fn a_caret_points_at_the_marker_where_its_column_is_known() {
    let line = "\tif (x)\tsimple_mark(a:b);  ";
    assert_eq!(source(Some(2), line, false, None), ["12 | if (x)    simple_mark(a:b);", "   | ^"]);
    assert_eq!(source(Some(9), line, false, None), ["12 | if (x)    simple_mark(a:b);", "   |           ^^^^^^^^^^^"]);
    assert_eq!(source(None, line, false, None), ["12 | if (x)    simple_mark(a:b);"]);
    // Columns count characters, some of which are two columns wide.
    assert_eq!(source(Some(4), "\u{6f22}; mark!()", false, None), ["12 | \u{6f22}; mark!()", "   |     ^^^^^"]);
    // A macro that is called by its path.
    let call = "simple_markers::simple_mark!(a:b);";
    assert_eq!(source(Some(1), call, false, None), [format!("12 | {call}"), format!("   | {}", "^".repeat(28))]);
    // A column in the indentation, past the end of the line, or past the terminal's width.
    for column in [0, 1, 29, u32::MAX] {
        assert_eq!(source(Some(column), line, false, None).len(), 1, "{column}");
    }
    let long = format!("{}simple_mark(a:b);", "x".repeat(80));
    let cut = format!("12 | {}\u{2026}", "x".repeat(59));
    assert_eq!(source(Some(81), &long, false, Some(80)), [cut]);
}

#[test]
fn a_source_line_that_may_be_another_one_says_so() {
    let newer = "(the file was changed after the image was built, this may be another line)";
    let other = "(no marker by its name here: a macro holds it, or this is another version of the file)";
    assert_eq!(
        source(Some(1), "simple_mark!(a:b);", true, None),
        ["12 | simple_mark!(a:b);", "   | ^^^^^^^^^^^^", newer]
    );
    assert_eq!(source(Some(1), "return status;", false, None), ["12 | return status;", other]);
    assert_eq!(source(Some(1), "return status;", true, None), ["12 | return status;", newer]);
    assert_eq!(source(Some(1), "", false, None), ["12 | ", other]);
}

#[test]
fn a_list_has_variables_and_sites_in_short() {
    assert_eq!(
        verbose(&everything()),
        r#"   ID MODULE  FUNCTION       NAME           DESCRIPTION
    1 queue   run() (x2)     queue:all      depth $self.queue.depth
      variables:
        self.queue.depth  %zu  differs, see the sites
        tag               %d   differs, see the sites
        limit             %s   constant = 64 (int), not what its conversion expects
        span              %p   partial: in %rax, 8 bytes gone; its bytes 8..16 are optimised out (struct span)
        request           %p   entry: only known as what a register held when the function was entered
        device            %p   lost: the debug information describes no location of it here
        CURRENT           %p   absent: no such variable in scope
        total             %d   unsupported: DW_OP_xderef
        rest
      sites:
        0x1010  file 0x10  run()+0x10  queue.c:12:5  scope ended
          inlined submit into drain at queue.c:40, into run()
          self.queue.depth  in *(%rdi+0x18) (usize)
          tag               kept in %esi (4 bytes, signed)
        0x1040  file 0x40  run()+0x40  queue.c:12:5  nearest, line 14
          self.queue.depth  computed as (%rsi & 0xffffffff) * 2 (usize)
          tag               lost: optimised out
        discarded by the linker  queue.c:12:5
    2 queue   <eliminated>   queue:gone
    3 queue   <discarded>    queue:dropped
      sites:
        discarded by the linker  queue.c:30:5
    4 queue   <unknown>      queue:unknown
    5 queue   <no function>  queue:nameless
      sites:
        0x2000  not in the file  queue.c:50:5
    6 queue   f              queue:object
      sites:
        .text.f+0x8  file 0x48  f+0x8  queue.c:60:5  anchored
"#
    );
}

#[test]
fn a_shorter_list_has_a_line_for_each_variable_and_site() {
    let mut out = Vec::new();
    let layout = TextLayout { verbosity: Verbosity::Sites, ..TextLayout::default() };
    list::write(&mut out, &everything().rows(), layout).unwrap();
    let short = String::from_utf8(out).unwrap();
    let whole = verbose(&everything());
    // Without the lines of a site below it, which are indented further.
    let expected: String =
        whole.lines().filter(|line| !line.starts_with("          ")).map(|line| format!("{line}\n")).collect();
    let expected = expected.replace("differs, see the sites", "");
    let of = |name: &str, count| format!("{name}differs, readable at {count} of 2 sites (-vv)");
    let (depth, tag) = (of("        self.queue.depth  %zu  ", 2), of("        tag               %d   ", 1));
    assert_lines(&short, &[&depth, &tag]);
    let short: String = short.replace("differs, readable at 2 of 2 sites (-vv)", "");
    assert_eq!(short.replace("differs, readable at 1 of 2 sites (-vv)", ""), expected);
}

#[test]
fn verdicts_of_a_list_are_coloured_where_something_is_missing() {
    let mut out = Vec::new();
    let layout = TextLayout { verbosity: Verbosity::Full, colour: true, width: None };
    list::write(&mut out, &everything().rows(), layout).unwrap();
    let coloured = String::from_utf8(out).unwrap();
    for words in [
        "\u{1b}[31mlost: the debug information describes no location of it here\u{1b}[0m",
        "\u{1b}[33mentry: only known as what a register held when the function was entered\u{1b}[0m",
        "\u{1b}[33mdiffers, see the sites\u{1b}[0m",
        "  in *(%rdi+0x18) (usize)\n",
    ] {
        assert!(coloured.contains(words), "{words}\n{coloured}");
    }
}

#[test]
fn what_a_terminal_obeys_is_escaped_wherever_it_stands() {
    let evil = "e\u{1b}[2J\r\n\u{202e}\u{9b}";
    let text: Arc<str> = evil.into();
    let mut resolution = everything();
    for image in &mut resolution.images {
        (image.path, image.module) = (evil.to_owned(), text.clone());
        image.debug.iter_mut().for_each(|debug| debug.path = evil.to_owned());
        for marker in &mut image.markers {
            (marker.name, marker.file) = (text.clone(), text.clone());
            (marker.format, marker.description) = (text.clone(), text.clone());
            let declared = DeclaredArgument {
                text: text.clone(),
                conversion: Some(text.clone()),
                words: None,
                mistake: None,
                form: None,
            };
            marker.args = vec![declared; marker.args.len()].into();
            for site in &mut marker.sites {
                (site.symbol, site.function) = (site.symbol.as_ref().map(|_| "f".into()), Some(text.clone()));
                if let Some(SitePlace::Section { section, .. }) = &mut site.place {
                    *section = text.clone();
                }
                for inlined in &mut site.inlined {
                    (inlined.function, inlined.call_file) = (text.clone(), Some(text.clone()));
                }
                for argument in &mut site.args {
                    (argument.text, argument.name) = (text.clone(), text.clone());
                    argument.location_text = argument.location_text.as_ref().map(|_| text.clone());
                    argument.type_name = Some(text.clone());
                    argument.reason = Some(Reason::DebugInfo { message: text.clone() });
                    argument.mismatch = Some(Mismatch::NotAConversion { conversion: text.clone() });
                }
            }
        }
    }
    let mut mangled = resolution.clone();
    mangled.images[0].markers[0].sites[0].symbol = Some(text.clone());
    mangled.images[0].markers[0].sites[0].function = None;
    let line = SourceLine { text: format!("mark {evil}"), is_newer: true };
    let layout = TextLayout { width: Some(100), ..TextLayout::default() };
    for shown in [
        text_with(&resolution, "*", TextLayout::default(), Some(&line)),
        text_with(&mangled, "*", layout, Some(&line)),
        verbose(&resolution),
        verbose(&mangled),
    ] {
        let obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!shown.contains(obeyed), "{shown:?}");
        assert!(shown.contains("e\\x1b[2J\\r\\n\\u{202e}\\u{9b}"), "{shown}");
        // A line break in the image's text must not start a line without our indentation.
        assert!(!shown.lines().any(|line| line.starts_with("\\u{202e}")), "{shown}");
    }
}

/// An argument is marked as different elsewhere only if another site has a different result.
#[test]
fn copies_are_told_apart_only_where_they_differ() {
    let mut resolution = everything();
    let sites = &mut resolution.images[0].markers[0].sites;
    sites[1].args = sites[0].args.clone();
    sites[1].origin = Origin::Line;
    let shown = verbose(&resolution);
    assert!(!shown.contains("differs"), "{shown}");
    assert_lines(
        &shown,
        &[
            "        tag               %d   kept in %esi (4 bytes, signed)",
            "        device            %p   lost: the debug information describes no location of it here",
            "        0x1040  file 0x40  run()+0x40  queue.c:12:5",
        ],
    );
}

#[test]
fn exactness_is_shown_with_its_evidence() {
    let mut resolution = everything();
    let site = &mut resolution.images[0].markers[0].sites[0];
    site.exactness = Some(Exactness::Shared);
    site.exactness_reason = Some(ExactnessReason::SeveralPredecessors { count: 2 });
    let from = |address, line, kind| Predecessor { address, file: Some("queue.c".into()), line: Some(line), kind };
    site.predecessors = vec![from(0x100c, 12, EdgeKind::CallReturn), from(0x1004, 9, EdgeKind::Conditional)];
    site.instruction = Some("mov %eax,(%rdi)".into());
    let cost = Some(ProbeCost::Stepped);
    site.probe = Some(ProbeVerdict { accepted: true, cost, reason: None, best_address: Some(0x1012) });
    let page = text(&resolution, "queue:all");
    let expected = "    exactness  shared SM021: 2 ways in, and not all of them need pass the marker
    ways in    0x100c a call returns, queue.c:12
               0x1004 a conditional jump, queue.c:9
    code       mov %eax,(%rdi)
    uprobe     stepped, for less at 0x1012
";
    assert!(page.contains(expected), "{page}");
}

#[test]
fn a_doubtful_argument_has_its_location_and_why_it_is_doubtful() {
    let mut resolution = everything();
    let args = &mut resolution.images[0].markers[0].sites[0].args;
    args[0].verdict = Some(Verdict::Doubtful);
    args[0].reason = Some(Reason::Replaced { before: None, text: Some("%rsi".into()) });
    args[1].verdict = Some(Verdict::Doubtful);
    args[1].is_kept = false;
    args[1].reason = Some(Reason::OverwrittenUnread { at: 0x1020 });
    args[1].compiler = Some(Compiler::Clang);
    let measured = rates::rate(Programs::Generated, Compiler::Clang, "overwritten_unread").unwrap();
    let shown = text(&resolution, "queue:all");
    assert_lines(
        &shown,
        &[
            "      self.queue.depth  %zu  doubtful SM038     in *(%rdi+0x18) (usize, 8 bytes, unsigned)",
            "                                                its location changes here (from %rsi), and nothing tells whether \
             before or after the marker",
            "      tag               %d   doubtful SM038     in %esi (4 bytes, signed)",
            "                                                0x1020 overwrites it before anything reads it, so the store \
             before the marker may be missing",
        ],
    );
    // The numbers have commas.
    let rate = shown.lines().find_map(|line| line.trim().strip_prefix("wrong in ")).unwrap();
    let rate = rate.replace(',', "");
    let wrong = format!("{} of {} such values by clang in generated programs", measured.wrong, measured.values);
    assert!(rate.starts_with(&wrong), "{rate}");
    assert_eq!(shown.matches("such values by").count(), 1, "{shown}");
    let listed = verbose(&resolution);
    let line = "self.queue.depth  doubtful: in *(%rdi+0x18); its location changes here (from %rsi), and nothing tells whether \
                before or after the marker (usize)";
    assert_lines(&listed, &[&format!("          {line}")]);
    let coloured = text_with(&resolution, "*", TextLayout { colour: true, ..TextLayout::default() }, None);
    assert!(coloured.contains("\u{1b}[33mdoubtful SM038\u{1b}[0m"), "{coloured}");
}
