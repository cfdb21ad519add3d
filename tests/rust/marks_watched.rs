//! Markers without a record are watched: what a mark on a line that prints shows is what the line prints.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::tools::{ended, find, run};
use simple_markers_tests::watched::can_watch;
use simple_markers_tests::{fixture, marks};

use crate::trace::trace;

/// The first word of a text. Each line of the program has its own.
fn word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

/// The words of the marks of which each place is exact or likely.
fn certain(options: &[&str], marks: &[String], program: &Path) -> Vec<String> {
    let mut smark = Command::new(fixture::smark());
    let said = ended(smark.args(["list", "--json"]).args(options).arg(program)).success();
    let document: Json = serde_json::from_str(&said).expect("JSON");
    let markers = document["images"][0]["markers"].as_array().expect("markers");
    assert_eq!(markers.len(), marks.len());
    let is_certain = |site: &Json| ["exact", "likely"].contains(&site["exactness"].as_str().unwrap_or_default());
    let certain = markers.iter().filter(|marker| marker["sites"].as_array().expect("sites").iter().all(is_certain));
    certain.map(|marker| word(marker["format"].as_str().expect("a format")).to_owned()).collect()
}

/// The texts by their first words, in order.
fn by_word<'t>(texts: impl Iterator<Item = &'t str>) -> HashMap<&'t str, Vec<&'t str>> {
    let mut words: HashMap<&str, Vec<&str>> = HashMap::new();
    texts.for_each(|text| words.entry(word(text)).or_default().push(text));
    words
}

/// Whether a text is what was printed, as far as it claims to know.
fn agrees(said: &str, printed: &str) -> bool {
    let claims = |said: &str| !said.ends_with('?') && !said.starts_with('<');
    said.split(' ').count() == printed.split(' ').count()
        && said.split(' ').zip(printed.split(' ')).all(|(said, printed)| !claims(said) || said == printed)
}

#[test(cases = ["gcc", "clang"], desk = [0])]
fn marks_show_what_the_lines_print(compiler: &str) {
    if !can_watch() || find(compiler).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = fixture::workspace().join("tests/marks/printed.c");
    let marks = marks::of_printed(&source);
    assert_eq!(marks.len(), 10, "{marks:#?}");
    let options: Vec<&str> = marks.iter().flat_map(|mark| ["--mark", mark]).collect();
    let places: Vec<String> =
        marks.iter().map(|mark| format!(" {}: ", mark.split(" \"").next().expect("a place"))).collect();
    for level in ["-O0", "-Og", "-O1", "-O2", "-O3", "-Os"] {
        let program = folder.path().join(format!("printed{level}"));
        run(Command::new(compiler).args(["-g", level]).arg(&source).arg("-o").arg(&program));
        let lines = trace(&options, &[&program]);
        let is_traced = |line: &&String| places.iter().any(|place| line.contains(place));
        let (traced, printed): (Vec<&String>, Vec<&String>) = lines.iter().partition(is_traced);
        let traced = traced.iter().filter_map(|line| Some(line.rsplit_once(": ")?.1));
        if level == "-O0" {
            assert_eq!(traced.collect::<Vec<_>>(), printed, "{compiler} {level}");
            continue;
        }
        let (traced, printed) = (by_word(traced), by_word(printed.iter().map(|line| line.as_str())));
        let certain = certain(&options, &marks, &program);
        assert!(certain.len() > 5, "{compiler} {level}: {certain:?}");
        for word in certain.iter().map(String::as_str) {
            let (said, printed) = (&traced[word], &printed[word]);
            // Compilers make a loop of a function that calls itself at its end.
            if word == "fibonacci" && said.len() < printed.len() {
                continue;
            }
            assert_eq!(said.len(), printed.len(), "{compiler} {level}: {said:?} {printed:?}");
            let agree = said.iter().zip(printed).all(|(said, printed)| agrees(said, printed));
            assert!(agree, "{compiler} {level}: {said:?} {printed:?}");
        }
    }
}

#[test(cases = ["gcc", "clang"], desk = [])]
fn certain_lines_are_hit_as_often_as_passed(compiler: &str) {
    if !can_watch() || find(compiler).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = fixture::workspace().join("tests/marks/counted.c");
    let lines = marks::of_counted(&source);
    assert_eq!(lines.len(), 18, "{lines:#?}");
    let options: Vec<&str> = lines.iter().flat_map(|(place, _)| ["--mark", place]).collect();
    for level in ["-O0", "-Og", "-O1", "-O2", "-O3", "-Os"] {
        let program = folder.path().join(format!("counted{level}"));
        run(Command::new(compiler).args(["-g", level]).arg(&source).arg("-o").arg(&program));
        let mut smark = Command::new(fixture::smark());
        let said = ended(smark.args(["list", "--json"]).args(&options).arg(&program)).success();
        let document: Json = serde_json::from_str(&said).expect("JSON");
        let markers = document["images"][0]["markers"].as_array().expect("markers");
        let of = |place: &str, key: &str| -> Vec<String> {
            let marker = markers.iter().find(|marker| marker["name"] == *place).expect("a marker");
            let sites = marker["sites"].as_array().expect("sites").iter();
            sites.map(|site| site[key].as_str().unwrap_or_default().to_owned()).collect()
        };
        let traced = trace(&options, &[&program]);
        let mut certain = 0;
        for (place, passes) in &lines {
            let verdicts = of(place, "exactness");
            if verdicts.is_empty() || !verdicts.iter().all(|verdict| verdict == "exact" || verdict == "likely") {
                continue;
            }
            let hits = traced.iter().filter(|line| line.contains(&format!(" {place}"))).count();
            assert_eq!(hits, *passes, "{compiler} {level}: {place} {verdicts:?}");
            certain += 1;
        }
        assert!(certain >= if level == "-O0" { 18 } else { 8 }, "{compiler} {level}: {certain}");
        // The smallest case of a line of which copies were lost.
        if level == "-O2" {
            assert_eq!(of("counted.c:31", "exactness_reason"), ["mark_way_around"], "{compiler}");
        }
        // The compiler says so if no code of a line is left.
        if level == "-O2" && compiler == "clang" {
            assert_eq!(of("counted.c:51", "exactness_reason"), ["mark_other_line"]);
        }
    }
}

#[test(cases = ["0", "1", "2", "3", "s"], desk = [2])]
fn certain_lines_of_rust_are_hit_as_often_as_passed(level: &str) {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = fixture::workspace().join("tests/marks/counted.rs");
    let lines = marks::of_counted(&source);
    assert_eq!(lines.len(), 13, "{lines:#?}");
    let options: Vec<&str> = lines.iter().flat_map(|(place, _)| ["--mark", place]).collect();
    let program = folder.path().join("counted");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "-g", &format!("-Copt-level={level}")]);
    run(rustc.arg(&source).arg("-o").arg(&program));
    let places = places(&options, &program);
    let traced = trace(&options, &[&program]);
    let mut certain = 0;
    for (place, passes) in &lines {
        let sites = places.iter().find(|(name, _)| name == place).map_or(&[][..], |(_, sites)| sites);
        if sites.is_empty() || !sites.iter().all(|(verdict, _)| verdict == "exact" || verdict == "likely") {
            continue;
        }
        let hits = traced.iter().filter(|line| line.contains(&format!(" {place}: "))).count();
        assert_eq!(hits, *passes, "-O{level}: {place} {sites:?}");
        certain += 1;
    }
    let least = if level == "0" { 12 } else { 7 };
    assert!(certain >= least, "-O{level}: {certain} of {places:?}");
    let reasons = |place: &str| -> Vec<&str> {
        let sites = places.iter().find(|(name, _)| name == place).expect("a marker").1.iter();
        let mut reasons: Vec<&str> = sites.map(|(_, reason)| reason.as_str()).collect();
        reasons.dedup();
        reasons
    };
    // The smallest cases of the rules.
    match level {
        "0" => assert_eq!(reasons("counted.rs:45"), ["mark_closure"]),
        "3" => assert_eq!(reasons("counted.rs:42"), ["mark_several_places"]),
        "2" => {
            assert_eq!(reasons("counted.rs:9"), ["mark_may_be_moved"], "it begins in a function that is inlined");
            assert_eq!(reasons("counted.rs:23"), ["mark_missing_copies"]);
        }
        _ => {}
    }
}

/// The places of each mark in a program, with their verdicts and reasons.
fn places(options: &[&str], program: &Path) -> Vec<(String, Vec<(String, String)>)> {
    let mut smark = Command::new(fixture::smark());
    let said = ended(smark.args(["list", "--json"]).args(options).arg(program)).success();
    let document: Json = serde_json::from_str(&said).expect("JSON");
    let text = |of: &Json| of.as_str().unwrap_or_default().to_owned();
    let sites = |marker: &Json| {
        let sites = marker["sites"].as_array().expect("sites").iter();
        sites.map(|site| (text(&site["exactness"]), text(&site["exactness_reason"]))).collect()
    };
    let markers = document["images"][0]["markers"].as_array().expect("markers").iter();
    markers.map(|marker| (text(&marker["name"]), sites(marker))).collect()
}
