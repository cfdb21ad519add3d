//! `check`: findings, policies, the lock file and each format, on a resolution made by hand.

use images::everything;
use serde_json::{Value, json};
use simple_markers_resolver::Error;
use simple_markers_resolver::check::fix::{FixInput, SourceFile};
use simple_markers_resolver::check::{self, Check, Codes, Lock, Policy, Profile, Report, Severity};
use simple_markers_resolver::english;
use simple_markers_resolver::report::TextLayout;
use simple_markers_resolver::resolve::{
    Absence, Exactness, Failure, GhostProblem, InlinedFunction, LocationEnd, Marker, Nearest, Reason, Resolution,
    Verdict,
};

/// A resolution with every kind of result, including exactness and absence reasons.
fn resolution() -> Resolution {
    let mut resolution = everything();
    let markers = &mut resolution.images[0].markers;
    for site in markers.iter_mut().flat_map(|marker| &mut marker.sites).filter(|site| site.place.is_some()) {
        site.exactness = Some(Exactness::Exact);
    }
    markers[0].sites[1].exactness = Some(Exactness::Shared);
    markers[0].sites[0].args[5].ended = Some(LocationEnd {
        distance: 4,
        instruction: Some("call   0x1100".into()),
        file: Some("/project/queue.c".into()),
        line: Some(11),
        shared: None,
    });
    markers[1].absence = Some(Absence::DeadBranch { function: "run".into(), before: 19, behind: 21 });
    resolution
}

fn check_with(resolution: &Resolution, policy: &Policy, lock: Option<&Lock>) -> Report {
    let profile = Profile { name: "default".to_owned(), target: None };
    check::check(&Check {
        resolution,
        keep: &|_| true,
        keep_name: &|_| true,
        root: Some("/project"),
        policy,
        lock: lock.map(|lock| (lock, &profile)),
        debug_setting: None,
    })
}

fn report(resolution: &Resolution) -> Report {
    check_with(resolution, &Policy::default(), None)
}

fn updated(resolution: &Resolution, text: Option<&str>) -> (String, Vec<String>) {
    updated_for(resolution, text, "default", None)
}

fn updated_for(resolution: &Resolution, text: Option<&str>, name: &str, target: Option<&str>) -> (String, Vec<String>) {
    let profile = Profile { name: name.to_owned(), target: target.map(str::to_owned) };
    let policy = Policy::default();
    let check = Check {
        resolution,
        keep: &|_| true,
        keep_name: &|_| true,
        root: Some("/project"),
        policy: &policy,
        lock: None,
        debug_setting: None,
    };
    Lock::updated(text, &check, &profile).unwrap()
}

fn compared(resolution: &Resolution, lock: &str) -> Report {
    check_with(resolution, &Policy::default(), Some(&Lock::parse(lock).unwrap()))
}

/// Code, marker and argument of the findings that are not excepted.
fn codes(report: &Report) -> Vec<(&str, &str, Option<&str>)> {
    let counts = report.findings.iter().filter(|finding| finding.exception.is_none());
    counts.map(|finding| (finding.code.as_str(), &*finding.marker, finding.argument.as_deref())).collect()
}

/// A resolution of one live marker per name, in `queue.c`, with one argument `tag`.
fn program(names: &[&str]) -> Resolution {
    let mut resolution = resolution();
    resolution.images.truncate(1);
    let whole = resolution.images[0].markers[0].clone();
    let marker = |(index, name): (usize, &&str)| {
        let mut sites = whole.sites[..1].to_vec();
        sites[0].args.truncate(1);
        sites[0].args[0].text = "tag".into();
        let mut args = whole.args.to_vec();
        args.truncate(1);
        args[0].text = "tag".into();
        let (name, line) = ((*name).into(), 10 + index as u32);
        Marker { name, line, sites, args: args.into(), file: "/project/src/queue.c".into(), ..whole.clone() }
    };
    resolution.images[0].markers = names.iter().enumerate().map(marker).collect();
    resolution.number();
    resolution
}

#[test]
fn everything_that_is_wrong_is_found() {
    let report = report(&resolution());
    assert_eq!(
        codes(&report),
        [
            ("SM010", "queue:all", None),
            ("SM021", "queue:all", None),
            ("SM032", "queue:all", Some("span")),
            ("SM033", "queue:all", Some("request")),
            ("SM034", "queue:all", Some("device")),
            ("SM034", "queue:all", Some("tag")),
            ("SM035", "queue:all", Some("CURRENT")),
            ("SM036", "queue:all", Some("total")),
            ("SM037", "queue:all", Some("rest")),
            ("SM040", "queue:all", Some("limit")),
            ("SM001", "queue:gone", None),
            ("SM002", "queue:dropped", None),
            ("SM003", "queue:unknown", None),
            ("SM024", "queue:object", None),
        ]
    );
    let finding = |code: &str, argument: Option<&str>| {
        report.findings.iter().find(|it| it.code.as_str() == code && it.argument.as_deref() == argument).unwrap()
    };
    let tag = finding("SM034", Some("tag"));
    assert_eq!((tag.sites, tag.severity, tag.line), (Some((1, 2)), Severity::Deny, Some(12)));
    assert_eq!(english::check::message(tag), "`tag` of queue:all is lost in 1 of 2 copies");
    let device = finding("SM034", Some("device"));
    assert_eq!(english::check::message(device), "`device` of queue:all is lost in all 2 copies");
    assert!(device.causes.iter().any(|it| english::check::cause(it)
        == "its live range ends 4 bytes before the site, with `call 0x1100` (queue.c:11)"));
    let gone = finding("SM001", None);
    assert!(
        english::check::cause(&gone.causes[0])
            .starts_with("dead branch: `run` is in the image with code on lines 19 and 21 of queue.c")
    );
    assert_eq!((report.summary().errors, report.summary().warnings, report.holds()), (7, 7, false));
}

#[test]
fn policies_say_what_counts() {
    let resolution = resolution();
    let mut policy = Policy::default();
    for word in ["all", "SM034"] {
        policy.set(if word == "all" { Severity::Allow } else { Severity::Warn }, &Codes::parse(word).unwrap());
    }
    let warned = check_with(&resolution, &policy, None);
    assert_eq!(codes(&warned), [("SM034", "queue:all", Some("device")), ("SM034", "queue:all", Some("tag"))]);
    assert!(warned.holds());
    let mut failed = resolution;
    failed.failures.push(Failure { path: "x".to_owned(), error: Error::NotElf { format: None } });
    let report = check_with(&failed, &policy, None);
    assert_eq!((report.holds(), report.failures), (false, vec!["x: not an ELF file".to_owned()]));
}

#[test]
fn an_image_without_variables_has_one_finding() {
    let mut resolution = program(&["a:one", "a:two"]);
    for marker in &mut resolution.images[0].markers {
        marker.sites[0].args[0].verdict = None;
        marker.sites[0].args[0].reason = Some(Reason::LinesOnly);
    }
    let said = |report: &Report| {
        report.findings.iter().map(|it| (english::check::message(it), english::help::help(it))).collect::<Vec<_>>()
    };
    let of = |count: &str| format!("the program has debug information of lines only: {count} cannot be read");
    let flag = "compile C with `-g` instead of `-g1` or `-gline-tables-only`".to_owned();
    let whole = report(&resolution);
    assert_eq!(said(&whole), [(of("2 arguments of 2 markers"), flag.clone())]);
    assert_eq!((codes(&whole), whole.holds()), (vec![("SM037", "a:one", None)], false));
    // What the lock file accepts is not part of it.
    let accepted = compared(&resolution, &LOCK.replacen("\"live\"", "\"undescribed\"", 1));
    let part: Vec<_> = said(&accepted).into_iter().filter(|(message, _)| message.starts_with("the program")).collect();
    assert_eq!(part, [(of("1 argument of 1 marker"), flag)]);
    assert_eq!(accepted.summary().excepted, 1);
}

#[test]
fn names_are_to_be_unique() {
    let report = report(&program(&["a:one", "a:two", "a:one"]));
    assert_eq!(codes(&report), [("SM050", "a:one", None)]);
    assert_eq!(english::check::message(&report.findings[0]), "the name a:one is declared at src/queue.c:10 too");
    assert_eq!(report.findings[0].line, Some(12));
    // One file by two names.
    let mut resolution = program(&["a:one", "a:one"]);
    let markers = &mut resolution.images[0].markers;
    (markers[1].file, markers[1].line) = ("src/sub/../queue.c".into(), markers[0].line);
    assert_eq!(codes(&check_with(&resolution, &Policy::default(), None)), []);
    resolution.images[0].markers[1].file = "src/sub/queue.c".into();
    assert_eq!(codes(&check_with(&resolution, &Policy::default(), None)), [("SM050", "a:one", None)]);
}

#[test]
fn help_suits_anchored_markers_and_ghosts() {
    let mut resolution = program(&["a:one", "a:two"]);
    let markers = &mut resolution.images[0].markers;
    markers[0].sites[0].exactness = Some(Exactness::Shared);
    (markers[1].is_ghost, markers[1].survival) = (true, None);
    markers[1].absence = Some(Absence::Ghost { problem: GhostProblem::CodeOnLine });
    markers[1].sites.clear();
    let help = |resolution: &Resolution| -> Vec<String> {
        report(resolution).findings.iter().map(english::help::help).collect()
    };
    let found = help(&resolution);
    assert_eq!(found[0], "make it exact with `simple_mark_anchor` in place of `simple_mark`, one no-operation");
    assert!(found[1].starts_with("put it on a line of its own; or make it a plain marker"), "{found:?}");
    resolution.images[0].markers[0].sites[0].anchored = true;
    let found = help(&resolution);
    assert!(found[0].starts_with("it is anchored already") && !found[0].contains("simple_mark_anchor"), "{found:?}");
}

const LOCK: &str = "\
# The markers of the program and the least that is accepted of each. `smark check --lock FILE` compares with it,
# `smark check --lock FILE --update` writes it; comments and exceptions stay.
version = 1

[[profile]]
name = \"default\"
target = \"x86_64\"

[[profile.marker]]
name = \"a:one\"
file = \"src/queue.c\"
format = \"depth %zu\"
sites = 1
args.tag = \"live\"

[[profile.marker]]
name = \"a:two\"
file = \"src/queue.c\"
format = \"depth %zu\"
sites = 1
args.tag = \"live\"
";

#[test]
fn a_lock_file_is_made_sorted_and_stays_where_lines_move() {
    assert_eq!(updated(&program(&["a:two", "a:one"]), None), (LOCK.to_owned(), Vec::new()));
    let mut moved = program(&["a:one", "a:two"]);
    for marker in &mut moved.images[0].markers {
        marker.line += 100;
    }
    assert_eq!(updated(&moved, Some(LOCK)), (LOCK.to_owned(), Vec::new()));
    assert_eq!(codes(&compared(&moved, LOCK)), []);
}

#[test]
fn differences_from_the_lock_file_are_found() {
    let mut resolution = program(&["a:one", "a:two"]);
    resolution.images[0].markers[0].sites[0].args[0].verdict = Some(Verdict::Lost);
    resolution.images[0].markers[1].sites.clear();
    let report = compared(&resolution, LOCK);
    let expected = [("SM034", "a:one", Some("tag")), ("SM063", "a:one", Some("tag")), ("SM065", "a:two", None)];
    assert_eq!(codes(&report), expected);
    // A verdict that the lock file accepts is excepted. A better one is reported.
    let accepted = LOCK.replacen("\"live\"", "\"lost\"", 2);
    let report = compared(&resolution, &accepted);
    assert_eq!(codes(&report), [("SM065", "a:two", None)]);
    assert_eq!(
        english::check::exception(report.findings[0].exception.as_ref().unwrap()),
        "the lock file accepts `lost`"
    );
    assert_eq!(codes(&compared(&program(&["a:one", "a:two"]), &accepted)).len(), 2);
    // One marker is gone and one is new, with different formats.
    let mut other = program(&["a:one", "a:three"]);
    other.images[0].markers[1].format = "%d".into();
    assert_eq!(codes(&compared(&other, LOCK)), [("SM061", "a:three", None), ("SM060", "a:two", None)]);
    // With the same format it counts as renamed.
    let report = compared(&program(&["a:one", "a:three"]), LOCK);
    assert_eq!(codes(&report), [("SM062", "a:three", None)]);
    assert_eq!(english::check::message(&report.findings[0]), "a:two is called a:three by now");
    // If two new markers match, the old one is gone.
    let report = compared(&program(&["a:three", "a:four"]), LOCK);
    assert_eq!(codes(&report).iter().map(|(code, ..)| *code).collect::<Vec<_>>(), ["SM061", "SM061", "SM060", "SM060"]);
    // Arguments are removed and added.
    let mut renamed = program(&["a:one", "a:two"]);
    let mut args = renamed.images[0].markers[0].args.to_vec();
    args[0].text = "label".into();
    renamed.images[0].markers[0].args = args.into();
    let expected = [("SM060", "a:one", Some("tag")), ("SM061", "a:one", Some("label"))];
    assert_eq!(codes(&compared(&renamed, LOCK)), expected);
}

const EXCEPTIONS: &str = "\
# Ours.
version = 1 # the first

# For releases.
[[profile]]
name = \"default\"
target = \"x86_64-unknown-linux-gnu\" # by name

# The first marker.
[[profile.marker]]
name = \"a:one\" # keep the name
file = \"src/queue.c\"
format = \"depth %zu\"
sites = 2 # two callers
# whose tag
args.tag = \"lost\" # sad

[[profile.marker.exception]]
code = \"arguments\"
argument = \"tag\"
reason = \"not used by anybody\"

# An old one.
[[profile.marker]]
name = \"a:zero\"
file = \"src/old.c\"
format = \"\"
sites = 1

# The end.
";

#[test]
fn an_update_loses_neither_comments_nor_exceptions() {
    let (text, kept) = updated(&program(&["a:renamed", "a:new"]), Some(EXCEPTIONS));
    // Two markers may be the new name of `a:one`. So it is gone, but stays for its comments and
    // exception.
    assert_eq!(kept, ["a:one", "a:zero"]);
    for comment in ["# Ours.", "# the first", "# For releases.", "# by name", "# The first marker.", "# keep the name"]
    {
        assert!(text.contains(comment), "{comment}\n{text}");
    }
    let (text, kept) = updated(&program(&["a:renamed"]), Some(EXCEPTIONS));
    assert_eq!(kept, ["a:zero"]);
    let expected = "\
# Ours.
version = 1 # the first

# For releases.
[[profile]]
name = \"default\"
target = \"x86_64-unknown-linux-gnu\" # by name

# The first marker.
[[profile.marker]]
name = \"a:renamed\" # keep the name
file = \"src/queue.c\"
format = \"depth %zu\"
sites = 1 # two callers
# whose tag
args.tag = \"live\" # sad

[[profile.marker.exception]]
code = \"arguments\"
argument = \"tag\"
reason = \"not used by anybody\"

# An old one.
[[profile.marker]]
name = \"a:zero\"
file = \"src/old.c\"
format = \"\"
sites = 1
gone = true

# The end.
";
    assert_eq!(text, expected);
    assert_eq!(updated(&program(&["a:renamed"]), Some(&text)).0, text, "a second time changes nothing");
    // The argument is removed, its comments stay.
    let mut without = program(&["a:renamed"]);
    without.images[0].markers[0].args = [].into();
    without.images[0].markers[0].sites[0].args.clear();
    let (text, _) = updated(&without, Some(&text));
    assert!(text.contains("# whose tag\n# sad\n[[profile.marker]]\nname = \"a:renamed\""), "{text}");
    assert!(text.contains("code = \"arguments\"") && !text.contains("args.tag"), "{text}");
}

#[test]
fn exceptions_apply_or_are_told() {
    let mut resolution = program(&["a:one"]);
    resolution.images[0].markers[0].sites[0].args[0].verdict = Some(Verdict::Lost);
    let lock = LOCK.replace(
        "sites = 1\nargs.tag = \"live\"\n",
        "[[profile.marker.exception]]\ncode = \"SM034\"\nreason = \"why\"\n",
    );
    let report = compared(&resolution, &lock);
    assert_eq!(codes(&report), [("SM060", "a:two", None)]);
    assert_eq!(english::check::exception(report.findings[0].exception.as_ref().unwrap()), "why");
    assert_eq!(
        report.notes.iter().map(english::check::remark).collect::<Vec<_>>(),
        ["line 21 of the lock file: the exception of a:two for SM034 applies to nothing any more"]
    );
    assert_eq!((report.summary().excepted, report.holds()), (1, true));
}

#[test]
fn several_profiles_and_targets_stand_in_one_file() {
    let (text, _) = updated_for(&program(&["a:one"]), Some(LOCK), "release", Some("x86_64-unknown-linux-musl"));
    assert!(text.starts_with(LOCK.trim_end()), "{text}");
    let lock = Lock::parse(&text).unwrap();
    let names: Vec<_> = lock.sections.iter().map(|section| (&*section.profile, &*section.target)).collect();
    assert_eq!(names, [("default", "x86_64"), ("release", "x86_64-unknown-linux-musl")]);
    assert_eq!(lock.section("release", "x86_64").unwrap().markers.len(), 1);
    assert_eq!(lock.section("release", "aarch64"), None);
    assert_eq!(lock.section("default", "x86_64").unwrap().markers.len(), 2);
}

#[test]
fn a_malformed_lock_file_is_refused_with_its_place() {
    let error = |text: &str| Lock::parse(text).unwrap_err().to_string();
    assert_eq!(error(""), "1:1: `version = 1` is missing");
    assert_eq!(error("version = 2"), "1:11: version: this smark reads 1");
    assert!(error("version = 1\n[[profile]\n").starts_with("2:"), "{}", error("version = 1\n[[profile]\n"));
    let of = |from: &str, to: &str| error(&LOCK.replacen(from, to, 1));
    assert!(of("\"live\"", "\"alive\"").starts_with("14:12: `tag` must be live, "));
    assert!(of("sites = 1", "sites = -1").starts_with("13:9: `sites` must be"));
    assert!(of("sites", "site").starts_with("13:1: there is no key `site` here"));
    let exception = "args.tag = \"live\"\n[[profile.marker.exception]]\ncode = \"SM034\"\n";
    assert!(of("args.tag = \"live\"\n", exception).starts_with("15:1: the exception for SM034 has no `reason`"));
    let unknown = exception.replace("SM034", "SM999");
    assert!(of("args.tag = \"live\"\n", &unknown).starts_with("16:8: there is no code `SM999`"));
}

fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A report with an exception, a note and a failure.
fn whole_report() -> Report {
    let mut resolution = resolution();
    resolution.failures.push(Failure { path: "x".to_owned(), error: Error::NotElf { format: None } });
    let (text, _) = updated(&resolution, None);
    let exception = "\n[[profile.marker.exception]]\ncode = \"SM001\"\nreason = \"a <b> & \\\"c\\\"\"\n";
    let text = text.replacen("name = \"queue:gone\"", "name = \"queue:gone\"\n#", 1);
    let at = text.find("name = \"queue:nameless\"").unwrap();
    let at = text[..at].rfind("\n[[").unwrap();
    let text = format!("{}{exception}{}", &text[..at], &text[at..]);
    let stale = "\n[[profile.marker.exception]]\ncode = \"SM040\"\nargument = \"tag\"\nreason = \"old\"\n";
    compared(&resolution, &format!("{text}{stale}"))
}

#[test]
fn json_is_what_the_schema_promises() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/check-schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for report in [Report::default(), report(&resolution()), whole_report()] {
        let text = written(|out| check::json::write(out, &report));
        let document: Value = serde_json::from_str(&text).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{document:#}");
    }
    let document: Value = serde_json::from_str(&written(|out| check::json::write(out, &whole_report()))).unwrap();
    assert_eq!(document["failures"], json!(["x: not an ELF file"]));
    let gone = document["findings"].as_array().unwrap().iter().find(|it| it["code"] == "SM001").unwrap();
    assert_eq!(gone["exception"], json!({ "reason": "a <b> & \"c\"" }));
    assert_eq!((&gone["denied"], &gone["severity"], &gone["line"]), (&json!(false), &json!("error"), &json!(20)));
}

/// The SARIF is valid by `tests/check/sarif.schema.json`: the part of the standard that we write,
/// without other properties.
#[test]
fn sarif_is_what_oasis_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/check/sarif.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    for report in [Report::default(), report(&resolution()), whole_report()] {
        let text = written(|out| check::sarif::write(out, &resolution(), &report, &mut no_source));
        let document: Value = serde_json::from_str(&text).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, [""; 0], "{document:#}");
        let run = &document["runs"][0];
        let (results, rules) = (run["results"].as_array().unwrap(), &run["tool"]["driver"]["rules"]);
        assert_eq!(results.len(), report.findings.len());
        for result in results {
            let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[rule]["id"], result["ruleId"]);
        }
        let suppressed = results.iter().filter(|result| result["suppressions"].is_array()).count();
        assert_eq!(suppressed, report.findings.iter().filter(|finding| finding.exception.is_some()).count());
        let name = &run["originalUriBaseIds"].as_object().unwrap().keys().next().unwrap().clone();
        let locations = results.iter().map(|result| &result["locations"][0]["physicalLocation"]["artifactLocation"]);
        assert!(locations.filter_map(|location| location["uriBaseId"].as_str()).all(|id| id == name));
    }
    sarif_schema_is_strict(&validator, &whole_report());
    let results = |resolution: &Resolution| {
        let text = written(|out| check::sarif::write(out, resolution, &report(resolution), &mut no_source));
        let document: Value = serde_json::from_str(&text).unwrap();
        document["runs"][0]["results"].clone()
    };
    let (before, mut moved) = (results(&resolution()), resolution());
    moved.images[0].markers.iter_mut().for_each(|marker| marker.line += 7);
    let after = results(&moved);
    let fingerprints = |results: &Value| -> Vec<Value> {
        results.as_array().unwrap().iter().map(|result| result["partialFingerprints"].clone()).collect()
    };
    assert_eq!(fingerprints(&before), fingerprints(&after));
    let mut distinct: Vec<String> = fingerprints(&before).iter().map(ToString::to_string).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), before.as_array().unwrap().len());
    let location = &before[0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"], json!({ "uri": "queue.c", "uriBaseId": "SRCROOT" }));
    assert_eq!(location["region"], json!({ "startLine": 12, "startColumn": 5 }));
}

/// The schema rejects what it should, and accepts fixes.
fn sarif_schema_is_strict(validator: &jsonschema::Validator, report: &Report) {
    let document: Value =
        serde_json::from_str(&written(|out| check::sarif::write(out, &resolution(), report, &mut no_source))).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut changed = document.clone();
        change(&mut changed["runs"][0]);
        validator.is_valid(&changed)
    };
    let fix = json!({
        "description": { "text": "keep it" },
        "artifactChanges": [{
            "artifactLocation": { "uri": "src/queue.c", "uriBaseId": "SRCROOT" },
            "replacements": [{
                "deletedRegion": { "startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 5 },
                "insertedContent": { "text": "keep " },
            }],
        }],
    });
    assert!(changed(&|run| run["results"][0]["fixes"] = json!([fix])));
    assert!(!changed(&|run| run["results"][0]["fixes"] = json!([{ "artifactChanges": [] }])));
    assert!(!changed(&|run| run["results"][0]["fix"] = json!([fix])));
    assert!(!changed(&|run| run["results"][0]["level"] = json!("deny")));
    assert!(!changed(&|run| run["results"][0]["message"] = json!("text")));
    assert!(!changed(&|run| run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = json!(0)));
    assert!(!changed(&|run| {
        run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] = json!("a b.c");
    }));
    assert!(!changed(&|run| drop(run.as_object_mut().unwrap().remove("tool"))));
    assert!(!changed(&|run| drop(run["tool"]["driver"]["rules"][0].as_object_mut().unwrap().remove("id"))));
}

#[test]
fn junit_has_a_case_for_each_marker() {
    let report = whole_report();
    let text = written(|out| check::junit::write(out, &report));
    let lines = |what: &str| text.matches(what).count();
    assert_eq!(lines("<testcase "), report.markers.len() + 1, "{text}");
    assert!(text.contains("<testcase name=\"queue:gone\" classname=\"queue\">"), "{text}");
    assert!(text.contains("reason: a &lt;b&gt; &amp; "), "{text}");
    assert_eq!((lines("<failure "), lines("<error ")), (3, 1), "{text}");
}

#[test]
fn annotations_are_commands() {
    let text = written(|out| check::github::write(out, &report(&resolution())));
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("::warning file=queue.c,line=12,col=5,title=SM010 nearest::queue:all is not on its line"),
        "{first}"
    );
    assert!(first.contains("%0Aexpected: a site record, or code on line 12%0Afound: code on line 14%0A"), "{first}");
    assert!(text.lines().all(|line| line.starts_with("::warning ") || line.starts_with("::error ")));
    assert_eq!(text.lines().filter(|line| line.starts_with("::error ")).count(), 7);
}

/// The source is not available.
fn no_source(_: (usize, usize)) -> Option<FixInput> {
    None
}

/// The source of the markers of [`program`].
fn source(_: (usize, usize)) -> Option<FixInput> {
    let text = format!("{}\tsimple_mark(a:one, \"depth %zu\",\n\t\ttag);\n", "\n".repeat(9));
    Some(FixInput { file: SourceFile::read("queue.c", text.as_bytes()).into(), is_newer: false })
}

/// A marker has one block, with its worst severity, and shows the corrected source once.
#[test]
fn a_marker_is_one_block() {
    let mut resolution = program(&["a:one"]);
    let site = &mut resolution.images[0].markers[0].sites[0];
    site.args[0].verdict = Some(Verdict::Lost);
    site.exactness = Some(Exactness::Shared);
    let report = report(&resolution);
    let text = written(|out| check::human::write(out, &resolution, &report, &mut source, TextLayout::default()));
    assert!(
        text.starts_with(
            "error[SM034, SM021]: a:one: `tag` is lost, and a probe may fire where the marker is not passed\n"
        ),
        "{text}"
    );
    let count = |what: &str| text.matches(what).count();
    assert_eq!(
        (count("-->"), count("= `tag`: lost"), count("= exactness: shared"), count("= help:")),
        (1, 1, 1, 1),
        "{text}"
    );
    assert!(text.contains("   = help: write\n       simple_mark_keep_anchor(a:one, \"depth %zu\",\n"), "{text}");
    // Without the source, the help says what to write.
    let text = written(|out| check::human::write(out, &resolution, &report, &mut no_source, TextLayout::default()));
    assert!(text.contains("= help: make it exact with `simple_mark_anchor`"), "{text}");
    assert!(text.contains("= help: keep it with `simple_mark_keep`"), "{text}");
    // SARIF has the same change for each finding separately.
    let text = written(|out| check::sarif::write(out, &resolution, &report, &mut source));
    let document: Value = serde_json::from_str(&text).unwrap();
    let fixes: Vec<&Value> =
        document["runs"][0]["results"].as_array().unwrap().iter().map(|it| &it["fixes"][0]).collect();
    let replacement = |fix: &Value| fix["artifactChanges"][0]["replacements"].clone();
    let region = json!({ "startLine": 10, "startColumn": 2, "endLine": 10, "endColumn": 13 });
    assert_eq!(
        fixes.iter().map(|fix| replacement(fix)).collect::<Vec<_>>(),
        ["simple_mark_anchor", "simple_mark_keep"]
            .map(|name| json!([{ "deletedRegion": region, "insertedContent": { "text": name } }]))
    );
    assert_eq!(fixes[0]["artifactChanges"][0]["artifactLocation"]["uri"], "src/queue.c");
}

#[test]
fn people_see_the_line_the_cause_and_the_corrected_source() {
    let mut resolution = program(&["a:one"]);
    let argument = &mut resolution.images[0].markers[0].sites[0].args[0];
    argument.verdict = Some(Verdict::Lost);
    argument.reason = Some(Reason::NotDescribedHere { nearest: Some(Nearest::Ends { before: 3 }) });
    argument.ended = Some(LocationEnd {
        distance: 3,
        instruction: Some("call   0x10".into()),
        file: None,
        line: None,
        shared: None,
    });
    let report = report(&resolution);
    let text = written(|out| check::human::write(out, &resolution, &report, &mut source, TextLayout::default()));
    assert_eq!(
        text,
        "\
error[SM034]: `tag` of a:one is lost
  --> src/queue.c:10:5 (in run())
   |
11 |         tag);
   |         ^^^
   = `tag`: lost: the debug information describes no location of it here; its live range ends 3 bytes before the site, with `call 0x10`
   = help: write
       simple_mark_keep(a:one, \"depth %zu\",
           tag);

check does not hold: 1 marker, 1 error, 0 warnings
"
    );
}

/// A text has no register, and rustc describes no variable of an async function that was inlined.
#[test]
fn a_lost_text_of_an_async_function_needs_a_probe() {
    let helped = |function: &str| {
        let mut resolution = program(&["a:one"]);
        let marker = &mut resolution.images[0].markers[0];
        marker.file = "/project/src/queue.rs".into();
        let site = &mut marker.sites[0];
        site.inlined = vec![InlinedFunction { function: function.into(), call_file: None, call_line: None }];
        site.args[0].verdict = Some(Verdict::Lost);
        site.args[0].type_name = Some("&str".into());
        let report = report(&resolution);
        assert_eq!(codes(&report), [("SM034", "a:one", Some("tag"))]);
        written(|out| check::human::write(out, &resolution, &report, &mut no_source, TextLayout::default()))
    };
    let text = helped("queue::deliver::{async_fn#0}");
    assert!(text.contains("= help: write `simple_probe!` in place of `simple_mark!`"), "{text}");
    assert!(text.contains("`keep start = tag.as_ptr()`") && !text.contains("last use"), "{text}");
    let text = helped("queue::deliver::{closure#0}");
    assert!(text.contains("= help: put the marker before its last use; a text cannot be kept"), "{text}");
    assert!(text.contains("; or write `simple_probe!` in place of `simple_mark!`"), "{text}");
}

/// A program whose only argument is doubtful for a reason.
fn doubtful(reason: Reason) -> Resolution {
    let mut resolution = program(&["a:one"]);
    let argument = &mut resolution.images[0].markers[0].sites[0].args[0];
    argument.verdict = Some(Verdict::Doubtful);
    argument.reason = Some(reason);
    resolution
}

#[test]
fn a_doubtful_argument_is_kept_or_the_marker_is_anchored() {
    let replaced = Reason::Replaced { before: None, text: Some("%rdi".into()) };
    let fixed = |reason: &Reason| {
        let resolution = doubtful(reason.clone());
        let report = report(&resolution);
        assert_eq!(codes(&report), [("SM038", "a:one", Some("tag"))]);
        assert_eq!((report.findings[0].severity, report.holds()), (Severity::Warn, true));
        written(|out| check::human::write(out, &resolution, &report, &mut source, TextLayout::default()))
    };
    assert_eq!(
        fixed(&replaced),
        "\
warning[SM038.replaced]: `tag` of a:one may have another value than in the source
  --> src/queue.c:10:5 (in run())
   |
11 |         tag);
   |         ^^^
   = `tag`: doubtful: its location changes here (from %rdi), and nothing tells whether before or after the marker
   = help: write
       simple_mark_anchor(a:one, \"depth %zu\",
           tag);

check holds: 1 marker, 0 errors, 1 warning
"
    );
    for reason in [Reason::BeginsHere, Reason::Replaced { before: None, text: None }] {
        assert!(fixed(&reason).contains("simple_mark_anchor(a:one"), "{}", fixed(&reason));
    }
    let others =
        [Reason::Computed, Reason::OverwrittenUnread { at: 0x1020 }, Reason::NeverReadAgain, Reason::CodeNotFollowed];
    for reason in &others {
        assert!(fixed(reason).contains("simple_mark_keep(a:one"), "{}", fixed(reason));
    }
    // An anchored marker is not anchored again.
    let mut anchored = doubtful(replaced.clone());
    anchored.images[0].markers[0].sites[0].anchored = true;
    let edits = |resolution: &Resolution| {
        let report = report(resolution);
        let wanted = check::fix::wanted(resolution, &report.findings);
        let wanted = wanted.into_values().next().unwrap();
        assert_eq!(wanted.refused, []);
        (wanted.edits.keep.len(), wanted.edits.anchor)
    };
    assert_eq!(edits(&anchored), (1, false));
    assert_eq!(edits(&doubtful(replaced.clone())), (0, true));
    // C keeps all arguments, so none of them needs the anchor.
    let mut two = doubtful(replaced);
    let marker = &mut two.images[0].markers[0];
    let mut declared = marker.args.to_vec();
    declared.push(declared[0].clone());
    declared[1].text = "rest".into();
    marker.args = declared.into();
    let mut lost = marker.sites[0].args[0].clone();
    lost.text = "rest".into();
    lost.verdict = Some(Verdict::Lost);
    lost.reason = Some(Reason::NeverDescribed);
    marker.sites[0].args.push(lost);
    assert_eq!(edits(&two), (1, false));
    // The site needs it.
    two.images[0].markers[0].sites[0].exactness = Some(Exactness::Shared);
    assert_eq!(edits(&two), (1, true));
    two.images[0].markers[0].file = "/project/src/queue.rs".into();
    two.images[0].markers[0].sites[0].exactness = Some(Exactness::Exact);
    assert_eq!(edits(&two), (1, true));
}

#[test]
fn policies_and_lock_files_decide_on_doubtful_arguments() {
    let resolution = doubtful(Reason::NeverReadAgain);
    let mut policy = Policy::default();
    policy.set(Severity::Deny, &Codes::parse("doubtful").unwrap());
    assert!(!check_with(&resolution, &policy, None).holds());
    policy.set(Severity::Allow, &Codes::parse("SM038.replaced").unwrap());
    assert!(!check_with(&resolution, &policy, None).holds());
    policy.set(Severity::Allow, &Codes::parse("SM038.never_read_again").unwrap());
    assert_eq!(codes(&check_with(&resolution, &policy, None)), []);
    policy.set(Severity::Allow, &Codes::parse("SM038").unwrap());
    assert_eq!(codes(&check_with(&resolution, &policy, None)), []);
    let (lock, _) = updated(&resolution, None);
    assert!(lock.contains("args.tag = \"doubtful\"\n"), "{lock}");
    let accepted = compared(&resolution, &lock);
    assert_eq!(codes(&accepted), []);
    assert_eq!(
        english::check::exception(accepted.findings[0].exception.as_ref().unwrap()),
        "the lock file accepts `doubtful`"
    );
    // An exception may name the reason.
    let excepted = |code: &str| {
        let exception = format!("\n[[profile.marker.exception]]\ncode = \"{code}\"\nreason = \"it is not used\"\n");
        let lock = lock.replace("args.tag = \"doubtful\"\n", &format!("args.tag = \"live\"\n{exception}"));
        let compared = compared(&resolution, &lock);
        let doubtful = compared.findings.iter().find(|finding| finding.code.as_str() == "SM038").unwrap();
        doubtful.exception.as_ref().map(english::check::exception)
    };
    assert!(excepted("SM038.never_read_again").is_some_and(|why| why.contains("it is not used")));
    assert_eq!(excepted("SM038.replaced"), None);
    // It is worse than partial, and better than what has no location.
    for (least, expected) in [
        ("live", &[("SM038", "a:one", Some("tag")), ("SM063", "a:one", Some("tag"))][..]),
        ("partial", &[("SM038", "a:one", Some("tag")), ("SM063", "a:one", Some("tag"))]),
        ("entry", &[("SM064", "a:one", Some("tag"))]),
        ("lost", &[("SM064", "a:one", Some("tag"))]),
    ] {
        let lock = lock.replace("\"doubtful\"", &format!("\"{least}\""));
        assert_eq!(codes(&compared(&resolution, &lock)), expected, "{least}");
    }
    // The help of a verdict that got worse is that of the verdict.
    let worse = compared(&resolution, &lock.replace("\"doubtful\"", "\"live\""));
    assert_eq!(english::help::help(&worse.findings[1]), english::help::help(&worse.findings[0]));
}
