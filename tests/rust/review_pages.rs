//! `smark list --to html` and `smark check --format html`: the data of the page are those of `--json`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::page::PageData;
use simple_markers_tests::tools::output;
use simple_markers_tests::watched::compile;

/// A program with an argument that is overwritten before its marker, and a text that would be markup.
const LOST: &str = r#"
#include "simple_marker.h"
__attribute__((noinline)) static int twice(int value) {
    int sum = value * 2;
    simple_mark(page:kept, "%d", value);
    return sum;
}
__attribute__((noinline)) static void none(int value) {
    int lost = value * 12345;
    simple_mark(page:lost, "</script><b>%d", lost);
}
int main(int count, char **arguments) {
    none(count);
    return twice(count);
}
"#;

fn smark(arguments: &[&str], program: &Path) -> (String, String, Option<i32>) {
    let output = output(Command::new(fixture::smark()).args(arguments).arg(program));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr), output.status.code())
}

/// The markers of the page without what only the page has, and those of the JSON.
fn both(page: &PageData, program: &Path) -> (Vec<Json>, Vec<Json>) {
    let document: Json = serde_json::from_str(&smark(&["list", "--json"], program).0).expect("JSON");
    let mut markers = page.lines("markers");
    for marker in &mut markers {
        let marker = marker.as_object_mut().expect("an object");
        assert_eq!(marker.remove("image"), Some(json!(0)));
        let source = marker.remove("source").expect("a source");
        let line = marker["line"].as_u64().expect("a line") - source["first"].as_u64().expect("a line");
        assert!(source["lines"][line as usize].as_str().is_some_and(|line| line.contains("simple_mark(page:")));
    }
    let mut head = document["images"][0].clone();
    let expected = head.as_object_mut().expect("an object").remove("markers").expect("markers");
    assert_eq!(page.data["images"], json!([head]));
    (markers, expected.as_array().expect("markers").clone())
}

#[test]
fn the_page_has_what_list_and_check_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "lost", LOST, &["-w"]);
    let file = folder.path().join("page.html");
    let path = file.to_str().expect("UTF-8");
    let (printed, said, status) = smark(&["list", "--to", "html", "-o", path], &program);
    assert_eq!((printed.as_str(), status), ("", Some(0)), "{said}");
    let html = fs::read_to_string(&file).expect("a page");
    assert!(!html.contains("<b>"));
    let page = PageData::read(&html);
    let (markers, expected) = both(&page, &program);
    assert_eq!((markers.len(), &markers, &page.data["check"]), (2, &expected, &Json::Null));
    let (_, said, status) = smark(&["list", "--to", "html", "-o", path], &program);
    assert!(said.contains("already exists (--force overwrites it)") && status == Some(2), "{said}");

    let checked = smark(&["check", "--deny", "all", "--format", "json", "--output", &format!("html={path}")], &program);
    let page = PageData::read(&fs::read_to_string(&file).expect("a page"));
    let report: Json = serde_json::from_str(&checked.0).expect("JSON");
    assert_eq!((&page.data["check"], report["holds"].as_bool(), checked.2), (&report, Some(false), Some(1)));
    assert_eq!(report["findings"][0]["marker"], "page:lost");
    assert_eq!(both(&page, &program).0, expected);
}
