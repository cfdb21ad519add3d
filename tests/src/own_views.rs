//! A user's own views: the example of the documents, and a program with types that it describes.

use std::fs;

use crate::fixture::{self, Fixture, workspace};

/// The example of a file of views in the documents.
///
/// # Panics
///
/// There is none.
#[must_use]
pub fn example() -> String {
    let page = fs::read_to_string(workspace().join("docs/views.md")).expect("the page");
    let (_, example) = page.split_once("```text\n# smark.views").expect("the example");
    example.split_once("```").expect("its end").0.to_owned()
}

/// A crate with types of `bytes` and `smallvec`, and two types of one name.
///
/// # Panics
///
/// It does not compile.
#[must_use]
pub fn with_own_types(name: &str) -> Fixture {
    let markers = fixture::markers("");
    let dependencies = format!("[dependencies]\nsimple-markers = {markers}\nbytes = \"1\"\nsmallvec = \"1\"\n");
    let source = fs::read_to_string(workspace().join("tests/views/own.rs")).expect("the source");
    let fixture = Fixture::empty(name).manifest("2024", &dependencies).file("src/main.rs", &source);
    fixture::succeeds_silently(&mut fixture.rustc(&["-Cdebuginfo=2"]));
    fixture
}
