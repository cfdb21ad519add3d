//! `smark report --to html`: the data of the page are those of the other reports of the same recording.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use simple_markers_tests::fixture;
use simple_markers_tests::page::PageData;
use simple_markers_tests::tools::output;
use simple_markers_tests::watched::{can_watch, compile};

use crate::timeline::{PAIRS, recorded};

/// What `smark` prints, what it says on standard error, and its exit status.
fn smark(arguments: &[&str], recording: &Path) -> (String, String, Option<i32>) {
    let output = output(Command::new(fixture::smark()).args(arguments).arg(recording));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr), output.status.code())
}

/// The source of a program that is recorded.
fn source(name: &str) -> String {
    fs::read_to_string(fixture::workspace().join(format!("tests/record/{name}.c"))).expect("the source")
}

fn lines(arguments: &[&str], recording: &Path) -> Vec<Json> {
    let (text, said, status) = smark(arguments, recording);
    assert_eq!(status, Some(0), "{said}");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The page with these options, and what `smark` says of it.
fn page(options: &[&str], recording: &Path) -> (PageData, String) {
    let file = recording.with_extension("html");
    let to = ["report", "--to", "html", "--force", "-o", file.to_str().expect("UTF-8")];
    let (printed, said, _) = smark(&[&to, options].concat(), recording);
    assert_eq!(printed, "", "{said}");
    (PageData::read(&fs::read_to_string(file).expect("a page")), said)
}

fn with_pairs<'a>(options: &[&'a str]) -> Vec<&'a str> {
    [&PAIRS[..], options].concat()
}

/// Without the columns of the map, which are narrower in a page.
fn without_map(mut line: Json) -> (Json, u64) {
    let heat = line["time"]["heat"].take();
    let rows = heat["rows"].as_array().expect("rows");
    let counts = rows.iter().flat_map(|row| row[2].as_array().expect("counts"));
    (line, counts.map(|count| count.as_u64().expect("a count")).sum())
}

#[test]
fn the_page_has_what_the_other_reports_say() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), "slices", &[]);
    for filter in [&[][..], &["--where", "tag >= 10"]] {
        let (page, _) = page(&with_pairs(filter), &recording);
        let mut hits = lines(&[&["report", "--json"], filter].concat(), &recording);
        let end = hits.pop().expect("an end");
        assert_eq!(page.data["about"]["hits"], hits.len());
        assert_eq!((&page.data["about"]["lost"], &page.data["about"]["is_whole"]), (&end["end"]["lost"], &json!(true)));

        let mut counts = lines(&[&["report", "--json", "--count"], filter].concat(), &recording);
        counts.pop();
        assert_eq!(page.data["counts"], Json::from(counts));

        // All hits are listed, with what the lines for people say.
        let texts = smark(&[&["report"], filter].concat(), &recording).0;
        let listed = page.lines("hits");
        assert_eq!((listed.len(), texts.lines().count()), (hits.len(), hits.len()));
        for (number, ((of_page, hit), text)) in listed.iter().zip(&hits).zip(texts.lines()).enumerate() {
            let mut expected = hit.clone();
            expected["number"] = number.into();
            let (_, text) = text.split_once(&format!("{}: ", hit["marker"].as_str().expect("a name"))).expect("a text");
            expected["text"] = text.into();
            assert_eq!(of_page, &expected);
        }

        // Each of them is a tick on the track of its thread.
        let start = page.data["about"]["start_ns"].as_u64().expect("a time");
        let mut sum = start;
        let [times, tracks, markers] = ["tick-times", "tick-tracks", "tick-markers"].map(|name| page.numbers(name));
        let series: Vec<&Json> = page.data["rates"]["series"].as_array().expect("series").iter().collect();
        for (number, hit) in hits.iter().enumerate() {
            sum += times[number];
            let marker = series[usize::try_from(markers[number]).expect("a number")].as_u64().expect("a number");
            let track = &page.data["tracks"][usize::try_from(tracks[number]).expect("a number")];
            let of_page = (Json::from(sum), &page.data["markers"][marker as usize]["name"], &track["tid"]);
            assert_eq!(of_page, (hit["time_ns"].clone(), &hit["marker"], &hit["tid"]));
        }
        assert_eq!((times.len(), tracks.len(), markers.len()), (hits.len(), hits.len(), hits.len()));

        // The bins of the rates lose none.
        let bins = page.data["rates"]["bins"].as_u64().expect("a number") as usize;
        let rates = page.numbers("rates");
        let sums = rates.chunks(bins).map(|of| Json::from(of.iter().sum::<u64>()));
        let expected = page.data["counts"].as_array().expect("counts").iter().map(|line| line["hits"].clone());
        assert!(sums.eq(expected));
        let width = page.data["rates"]["bin_ns"].as_u64().expect("a number");
        let of_first = hits.iter().filter(|hit| hit["marker"] == page.data["counts"][0]["marker"]);
        let mut binned = vec![0; bins];
        of_first.for_each(|hit| binned[((hit["time_ns"].as_u64().expect("a time") - start) / width) as usize] += 1);
        assert_eq!(binned, rates[..bins]);
    }
}

#[test]
fn the_times_of_pairs_are_those_that_are_counted() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), "slices", &[]);
    let (page, said) = page(&with_pairs(&[]), &recording);
    let start = page.data["about"]["start_ns"].as_u64().expect("a time");
    let pairs = page.data["pairs"].as_array().expect("pairs");
    let names =
        ["outer:begin..outer:end", "inner:begin..inner:end", "cross:begin..cross:end", "request:submit..request:done"];
    let mut expected_slices = BTreeMap::new();
    for (number, (pair, name)) in pairs.iter().zip(names).enumerate() {
        let key: &[&str] = if number == 3 { &["--key", "tag"] } else { &[] };
        let mut counted = lines(&[&["report", "--json", "--time", name, "--heat"], key].concat(), &recording);
        counted.pop();
        let (line, sum) = without_map(counted.pop().expect("a line"));
        let (of_page, sum_of_page) = without_map(pair["time"].clone());
        assert_eq!((&of_page, sum_of_page), (&line, sum));
        assert_eq!(
            (&pair["name"], &pair["slices"], Json::from(sum)),
            (&json!(name), &line["hits"], line["hits"].clone())
        );

        // The hits in each of the slowest intervals are those of --slow.
        let mut slow = lines(&[&["report", "--json", "--time", name, "--slow", "0ns"], key].concat(), &recording);
        slow.retain(|line| line["has_ended"] == true);
        let begin = |of: &Json| of["hits"][0]["time_ns"].as_u64().expect("a time") - start;
        for interval in &slow {
            *expected_slices
                .entry((number as u64, begin(interval), interval["took_ns"].as_u64().expect("a time")))
                .or_insert(0) += 1;
        }
        slow.sort_by_key(|of| (std::cmp::Reverse(of["took_ns"].as_u64()), begin(of)));
        let slowest = page.data["slowest"].as_array().expect("intervals").iter().filter(|it| it["pair"] == number);
        let slowest: Vec<&Json> = slowest.collect();
        assert_eq!(slowest.len(), slow.len().min(20), "{name}");
        for (of_page, expected) in slowest.into_iter().zip(&slow) {
            assert_eq!((&of_page["took_ns"], &of_page["begin_ns"]), (&expected["took_ns"], &json!(begin(expected))));
            let times = |hits: &Json| {
                hits.as_array().expect("hits").iter().map(|hit| hit["time_ns"].clone()).collect::<Vec<_>>()
            };
            assert_eq!(times(&of_page["hits"]), times(&expected["hits"]), "{name}");
        }
    }
    let columns = ["slice-begins", "slice-times", "slice-pairs", "slice-firsts", "slice-lasts", "slice-tracks"];
    let [begins, tooks, of_pairs, firsts, lasts, tracks] = columns.map(|name| page.numbers(name));
    let hits = page.lines("hits");
    let (mut slices, mut begin) = (BTreeMap::new(), 0);
    for at in 0..begins.len() {
        begin += begins[at];
        *slices.entry((of_pairs[at], begin, tooks[at])).or_insert(0) += 1;
        let [first, last] = [firsts[at], lasts[at]].map(|number| &hits[number as usize - 1]);
        assert_eq!((&first["time_ns"], &last["time_ns"]), (&json!(start + begin), &json!(start + begin + tooks[at])));
        assert_eq!(
            (&first["marker"], &last["marker"]),
            (&pairs[of_pairs[at] as usize]["from"], &pairs[of_pairs[at] as usize]["to"])
        );
        let track = &page.data["tracks"][tracks[at] as usize];
        let expected =
            if of_pairs[at] == 3 { (json!("pair"), Json::Null) } else { (json!("thread"), first["tid"].clone()) };
        assert_eq!((track["kind"].clone(), track["tid"].clone()), expected);
    }
    assert_eq!((slices, begins.len()), (expected_slices, 120));

    // What is in no slice is told, on the page and by the command.
    assert!(said.contains("outer:begin..outer:end: not in a slice: 1 outer:end without a outer:begin"), "{said}");
    assert!(said.contains("274 hits and 120 slices in "), "{said}");
    let told: Vec<(u64, u64)> = pairs
        .iter()
        .map(|pair| &pair["not_in_slices"])
        .map(|of| (of["ends_without_begin"].as_u64().expect("a number"), of["open_begins"].as_u64().expect("a number")))
        .collect();
    assert_eq!(told, [(1, 0), (0, 1), (0, 0), (1, 1)]);
}

#[test]
fn hostile_names_and_texts_are_data() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "hostile", &source("hostile"), &[]);
    let recording = folder.path().join("</title><script>recording");
    let recording: PathBuf = recording.components().collect();
    let folder_of = recording.parent().expect("a folder");
    fs::create_dir_all(folder_of).expect("a folder");
    let mut record = Command::new(fixture::smark());
    record.arg("record").arg("-o").arg(&recording).arg("--").arg(program).stderr(Stdio::null());
    assert!(record.status().expect("smark runs").success());
    let file = folder.path().join("page.html");
    let (_, said, status) = smark(&["report", "--to", "html", "-o", file.to_str().expect("UTF-8")], &recording);
    assert_eq!(status, Some(0), "{said}");
    let html = fs::read_to_string(&file).expect("a page");
    for text in ["<img", "<!--<", "<svg onload", "<b>", "<script>alert", "\u{2028}"] {
        assert!(!html.contains(text), "{text}");
    }
    // Each script has one end.
    assert_eq!(html.matches("</script").count(), html.matches("<script").count());
    let page = PageData::read(&html);
    let hits = page.lines("hits");
    let expected = lines(&["report", "--json"], &recording);
    assert_eq!(
        (hits[0]["args"].clone(), hits[1]["args"].clone()),
        (expected[0]["args"].clone(), expected[1]["args"].clone())
    );
    assert_eq!(hits[0]["text"], "</script><!--<b></script><script>alert(1)</script>");
    assert_eq!(page.data["markers"][0]["file"], "</script><img src=x onerror=alert(1)>.c");
    assert_eq!(page.data["tracks"][0]["name"], "<svg onload=x>");
    assert_eq!(page.data["name"], recording.display().to_string());
}

#[test]
fn losses_are_told() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "values", &source("values"), &[]);
    let recording = folder.path().join("recording");
    let mut record = Command::new(fixture::smark());
    record.args(["record", "--buffer", "4K", "-o"]).arg(&recording).arg("--").arg(program).arg("50000");
    assert!(record.stderr(Stdio::null()).status().expect("smark runs").success());
    let (whole, said) = page(&[], &recording);
    let end = lines(&["report", "--json"], &recording).pop().expect("an end");
    assert!(end["end"]["lost"].as_u64() > Some(0), "{end}");
    assert_eq!(whole.data["about"]["lost"], end["end"]["lost"]);
    assert!(said.contains(" hits were lost while it was recorded"), "{said}");

    // The sample is even, and says so.
    let [shown, every] = ["shown", "every"].map(|name| whole.data["listed"][name].as_u64().expect("a number"));
    let listed = whole.lines("hits");
    assert_eq!(listed.len() as u64, shown);
    assert!(listed.iter().enumerate().all(|(at, hit)| hit["number"] == at as u64 * every));
    let all = whole.data["about"]["hits"].as_u64().expect("a number");
    assert_eq!(shown, all.div_ceil(every));

    fs::remove_file(recording.join("smark/end.json")).expect("an end");
    let stream = fs::read(recording.join("stream")).expect("a stream");
    fs::write(recording.join("stream"), &stream[..stream.len() - 10]).expect("the stream");
    let (cut, said) = page(&[], &recording);
    let about = &cut.data["about"];
    assert_eq!((&about["is_cut_off"], &about["is_whole"]), (&json!(true), &json!(false)), "{said}");
    assert!(said.contains("the recording was cut off") && said.contains("stream: offset 0x"), "{said}");
}

#[test]
fn a_page_is_replaced_with_force_only() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = recorded(folder.path(), "slices", &[]);
    let file = folder.path().join("page.html");
    fs::write(&file, "x").expect("a file");
    let to = ["report", "--to", "html"];
    let with = |options: &[&str]| smark(&[&to, options].concat(), &recording);
    let path = file.to_str().expect("UTF-8");
    let (printed, said, status) = with(&["-o", path]);
    assert_eq!((printed.as_str(), status), ("", Some(2)), "{said}");
    assert!(said.contains("already exists (--force overwrites it)"), "{said}");
    assert_eq!(fs::read(&file).expect("a file"), b"x");
    let stream = recording.join("stream");
    let (_, said, status) = with(&["--force", "-o", stream.to_str().expect("UTF-8")]);
    assert!(said.contains("is an input") && status == Some(2), "{said}");
    assert_eq!(with(&["--force", "-o", path]).2, Some(0));
    // To a pipe, the same page.
    let (printed, ..) = with(&[]);
    assert_eq!(printed, fs::read_to_string(&file).expect("a page"));
    let (_, said, status) = with(&["--pair", "outer:bgin..outer:end"]);
    assert!(said.contains("--pair: no marker is called `outer:bgin`") && status == Some(1), "{said}");
    let left: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert!(left.iter().all(|name| !name.as_encoded_bytes().starts_with(b".")), "{left:?}");
}

/// Spans have slices without `--pair`. Their programs record themselves: no right is needed.
#[test(desk = false)]
fn spans_are_slices_of_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let program = crate::recorded::programs("spans in a page", "probe-spans").pop().expect("a program");
    let mut record = Command::new(fixture::smark());
    record.args(["record", "-o"]).arg(&recording).arg("--").arg(program).arg("ways");
    assert!(record.stderr(Stdio::null()).status().expect("smark runs").success());
    let (page, said) = page(&["spans:*"], &recording);
    let pairs = page.data["pairs"].as_array().expect("pairs");
    let found: Vec<_> =
        pairs.iter().map(|pair| (pair["name"].clone(), pair["slices"].clone(), pair["is_span"].clone())).collect();
    let span = |name: &str, slices: u64| (json!(name), json!(slices), json!(true));
    let expected = [span("spans:function", 1), span("spans:method", 2), span("spans:work", 21)];
    for expected in expected {
        assert!(found.contains(&expected), "{found:?}");
    }
    for line in ["spans:work: not in a slice: 1 spans:work_begin", "spans:work: not in a slice: 1 spans:work_end"] {
        assert!(said.contains(line), "{said}");
    }
}

/// The page of `smark count` with these options, and the lines of JSON that it prints beside.
fn counted(options: &[&str], program: &Path, arguments: &[&str]) -> (PageData, Vec<Json>) {
    let file = program.with_extension("html");
    let mut count = Command::new(fixture::smark());
    count.args(["count", "--json", "--to", "html", "--force", "-o"]).arg(&file).args(options).arg("--").arg(program);
    let output = output(count.args(arguments));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    (PageData::read(&fs::read_to_string(file).expect("a page")), lines)
}

#[test]
fn a_page_of_counts_has_what_is_printed() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "requests", &source("requests"), &[]);
    let questions: [&[&str]; 4] =
        [&["--by", "i", "work:step"], &["--hist", "tag"], &["--sum", "tag", "--by", "i", "work:step"], &[]];
    for question in questions {
        let (page, mut lines) = counted(question, &program, &["1600"]);
        let end = lines.pop().expect("an end");
        assert_eq!(page.data["counts"], Json::from(lines), "{question:?}");
        assert_eq!(page.data["about"]["exit"], end["end"]["exit"]);
        assert_eq!((&page.data["pairs"], &page.data["stacks"]), (&json!([]), &json!([])));
    }
    let (page, mut lines) = counted(&["--time", "work:begin..work:end", "--oncpu", "--blocked"], &program, &["1600"]);
    lines.pop();
    let time = lines.pop().expect("the times");
    assert_eq!((&page.data["counts"], &page.data["pairs"][0]["time"]), (&Json::from(lines), &time));
    assert_eq!((&time["hits"], &page.data["pairs"][0]["from"]), (&json!(400), &json!("work:begin")));
    assert_eq!(without_map(time).1, 400);
    let titles: Vec<_> = page.data["stacks"].as_array().expect("stacks").iter().map(|of| of["title"].clone()).collect();
    assert_eq!(titles, ["Blocked time", "Samples on a CPU"]);
    for of in page.data["stacks"].as_array().expect("stacks") {
        assert_eq!(of["svg"].is_null(), of["all"] == 0);
        let svg =
            of["svg"].as_str().map(|text| String::from_utf8(simple_markers_tests::page::decoded(text)).expect("UTF-8"));
        assert!(svg.is_none_or(|svg| svg.contains("<svg") && !svg.contains("function ")));
    }
}
