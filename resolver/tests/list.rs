//! The text and JSON of a list, byte for byte.

use images::{Linked, declaration, scsi};
use simple_markers_resolver::report::{TextLayout, Verbosity, json, list};
use simple_markers_resolver::resolve::{Absence, Detail, GhostProblem, Resolution, resolve, resolve_with};
use simple_markers_resolver::select::{Field, Selection};

fn text(resolution: &Resolution, layout: TextLayout) -> String {
    let mut out = Vec::new();
    list::write(&mut out, &resolution.rows(), layout).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_list_is_a_table() {
    let resolution = resolve("scsi_mod.ko", &scsi().build());
    assert_eq!(
        text(&resolution, TextLayout::default()),
        "   ID MODULE    FUNCTION      NAME       DESCRIPTION
    1 scsi_mod  g             scsi:queue Command $cmd for $lun
    2 scsi_mod  f (x2)        scsi:queue Command $cmd for $lun
    3 scsi_mod  <discarded>   scsi:dead
    4 scsi_mod  <eliminated>  scsi:gone  100% of $n
    5 scsi_mod  g             scsi:alone alone
"
    );
    assert_eq!(text(&Resolution::default(), TextLayout::default()), "");
}

#[test]
fn a_list_is_the_same_in_less_detail() {
    let image = scsi().build();
    let names = resolve_with("scsi_mod.ko", &image, Detail::Names);
    assert_eq!(text(&names, TextLayout::default()), text(&resolve("scsi_mod.ko", &image), TextLayout::default()));
    assert!(names.images[0].debug.is_none());
}

#[test]
fn a_terminal_cuts_descriptions_only() {
    let resolution = resolve("scsi_mod.ko", &scsi().build());
    let cut = text(&resolution, TextLayout { width: Some(56), ..TextLayout::default() });
    assert_eq!(cut.lines().nth(1), Some("    1 scsi_mod  g             scsi:queue Command $cmd f\u{2026}"));
    let narrow = text(&resolution, TextLayout { width: Some(10), ..TextLayout::default() });
    assert_eq!(narrow.lines().nth(1), Some("    1 scsi_mod  g             scsi:queue Command $cm\u{2026}"));
    let coloured = text(&resolution, TextLayout { colour: true, ..TextLayout::default() });
    assert_eq!(
        coloured.lines().nth(3),
        Some("    3 scsi_mod  \u{1b}[31m<discarded>\u{1b}[0m   \u{1b}[1mscsi:dead\u{1b}[0m")
    );
}

#[test]
fn verbose_adds_variables_and_sites() {
    let resolution = resolve("scsi_mod.ko", &scsi().build());
    assert_eq!(
        text(&resolution, TextLayout { verbosity: Verbosity::Full, ..TextLayout::default() }),
        "   ID MODULE    FUNCTION      NAME       DESCRIPTION
    1 scsi_mod  g             scsi:queue Command $cmd for $lun
      variables:
        cmd  %p  kept in %rdi (8 bytes, unsigned)
        lun  %d  kept in %esi (4 bytes, signed)
      sites:
        0x1010  file 0xc0  g+0x10  scsi.c:10:5
    2 scsi_mod  f (x2)        scsi:queue Command $cmd for $lun
      variables:
        cmd  %p  kept in %rdi (8 bytes, unsigned)
        lun  %d  kept in %esi (4 bytes, signed)
      sites:
        0x1058  file 0x108  f+0x8   scsi.c:10:5
        0x1060  file 0x110  f+0x10  scsi.c:10:5
    3 scsi_mod  <discarded>   scsi:dead
      sites:
        discarded by the linker  scsi.c:20:5
    4 scsi_mod  <eliminated>  scsi:gone  100% of $n
      variables:
        n  %d
    5 scsi_mod  g             scsi:alone alone
      sites:
        0x1018  file 0xc8  g+0x18  scsi.c:40:5
"
    );
}

#[test]
fn what_a_terminal_obeys_is_escaped() {
    let record = declaration("a\u{1b}[2J", "f.c", 1, "bell\u{7}", "");
    let resolution = resolve("m\u{1b}", &Linked::new().section("__simple_marker.1", record).build());
    assert_eq!(
        text(&resolution, TextLayout::default()).lines().nth(1),
        Some("    1 m\\x1b   <unknown>  a\\x1b[2J bell\\x07")
    );
}

#[test]
fn json_has_all_fields() {
    let resolution = resolve("scsi_mod.ko", &scsi().build());
    let mut out = Vec::new();
    json::write(&mut out, &resolution, &|marker| &*marker.name == "scsi:alone" || marker.line == 30).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let image = &json["images"][0];
    assert_eq!(
        image["markers"],
        serde_json::json!([
            {
                "id": 4, "name": "scsi:gone", "file": "scsi.c", "line": 30, "column": null, "format": "100%% of %d",
                "description": "100% of $n", "args": ["n"], "declared": true, "survival": "eliminated", "sites": [],
                "absence": null, "is_probe": false, "is_ghost": false, "is_note": false, "is_mark": false,
            },
            {
                "id": 5, "name": "scsi:alone", "file": "scsi.c", "line": 40, "column": 5, "format": "alone",
                "description": "alone", "args": [], "declared": false, "survival": "live",
                "sites": [{
                    "address": "0x1018", "file_offset": "0xc8", "symbol": "g", "symbol_offset": "0x18", "function": "g",
                    "inlined": [], "origin": "record", "anchored": false, "exactness": "exact",
                    "ways_in": [{ "address": "0x1017", "file": null, "line": null, "kind": "fall_through" }],
                    "instruction": "nop", "args": [], "line": 40, "section": null, "scope_ended": false,
                    "probe": { "accepted": true, "cost": "emulated", "best_address": null, "why": null, "reason": null },
                    "exactness_code": "SM020",
                    "exactness_why": "the instruction before it goes on there, and nothing else leads there",
                    "exactness_reason": "fall_through", "switch": null,
                }],
                "absence": null, "is_probe": false, "is_ghost": false, "is_note": false, "is_mark": false,
            },
        ])
    );
    let rest = ["path", "module", "build_id", "arch", "kind", "debug", "diagnostics"].map(|field| image[field].clone());
    assert_eq!(
        serde_json::Value::from(rest.to_vec()),
        serde_json::json!(["scsi_mod.ko", "scsi_mod", null, "x86_64", "executable", null, []])
    );
    assert_eq!(json["schema"], 1);
    assert_eq!(json["tool"], serde_json::json!({ "name": "smark", "version": env!("CARGO_PKG_VERSION") }));
}

#[test]
fn patterns_match_whole_fields_and_say_what_comes_close() {
    let resolution = resolve("scsi_mod.ko", &scsi().build());
    let rows = resolution.rows();
    let ids = |globs: &[(Field, &str)]| {
        let mut selection = Selection::default();
        for (field, glob) in globs {
            selection.add(*field, glob).unwrap();
        }
        rows.iter().filter(|row| selection.matches(row)).map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), [1, 2, 3, 4, 5]);
    assert_eq!(ids(&[(Field::Name, "scsi")]), [0u64; 0]);
    assert_eq!(ids(&[(Field::Name, "s*e")]), [1, 2, 4, 5]);
    assert_eq!(ids(&[(Field::Name, "scsi?[dg]*")]), [3, 4]);
    assert_eq!(ids(&[(Field::Name, "scsi:dead"), (Field::Name, "scsi:alone")]), [3, 5]);
    assert_eq!(ids(&[(Field::Name, "*"), (Field::Function, "[fg]"), (Field::Module, "scsi_mod")]), [1, 2, 5]);
    assert_eq!(ids(&[(Field::Function, "<eliminated>")]), [4]);
    assert_eq!(ids(&[(Field::Name, "scsi:dead"), (Field::Function, "g")]), [0u64; 0]);

    let mut selection = Selection::default();
    selection.add(Field::Name, "scsi:qeue*").unwrap();
    selection.add(Field::Name, "scsi:*").unwrap();
    let unmatched = selection.unmatched(&rows);
    assert_eq!(unmatched.len(), 1);
    assert_eq!(unmatched[0].pattern, "scsi:qeue*");
    assert_eq!(unmatched[0].closest, ["scsi:queue", "scsi:dead", "scsi:gone"]);
    let error = selection.add(Field::Name, "a[").unwrap_err().to_string();
    assert_eq!(error, "pattern `a[`: unclosed character class; missing ']'");
}

#[test]
fn a_ghost_is_listed_and_its_place_is_unknown() {
    let record = b"loop:step\0f.rs\x00042\0%u\0n\0loop:end\0f.rs\x0043\0\0\0".to_vec();
    let image = Linked::new().section("__simple_marker.1", record).build();
    let resolution = resolve("m", &image);
    assert_eq!(
        text(&resolution, TextLayout::default()),
        "   ID MODULE  FUNCTION           NAME      DESCRIPTION
    1 m       <unknown> (ghost)  loop:step $n
    2 m       <unknown>          loop:end
"
    );
    let markers: Vec<_> = resolution.images[0].markers.iter().map(|it| (it.line, it.is_ghost, &it.absence)).collect();
    let unknown = Some(Absence::Ghost { problem: GhostProblem::NoDebugInfo });
    assert_eq!(markers, [(42, true, &unknown), (43, false, &None)]);
    // The note is about the other one.
    let notes = |image: &[u8]| resolve("m", image).images[0].diagnostics.len();
    let ghost = b"loop:step\0f.rs\x00042\0%u\0n\0".to_vec();
    assert_eq!([notes(&image), notes(&Linked::new().section("__simple_marker.1", ghost).build())], [1, 0]);
}
