//! The JSON of a resolution, and that it is what `docs/schema.json` promises.

use images::{Linked, archive, everything, probe, relocatable, scsi};
use jsonschema::Validator;
use object::Architecture;
use serde_json::{Value, json};
use simple_markers_resolver::report::json;
use simple_markers_resolver::resolve::{Reason, Resolution, Verdict, resolve};

fn document(resolution: &Resolution) -> Value {
    let mut out = Vec::new();
    json::write(&mut out, resolution, &|_| true).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn validator() -> Validator {
    jsonschema::meta::validate(&schema()).unwrap();
    jsonschema::validator_for(&schema()).unwrap()
}

/// What the schema finds fault with, with the place in the document.
fn errors(validator: &Validator, document: &Value) -> Vec<String> {
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn what_is_printed_is_what_the_schema_promises() {
    let validator = validator();
    let object = relocatable(Architecture::X86_64);
    for resolution in [
        everything(),
        Resolution::default(),
        resolve("scsi_mod.ko", &scsi().build()),
        resolve("asleep", &probe().build()),
        resolve("plain", &Linked::new().build()),
        resolve("text", b"hello"),
        resolve("f.o", &relocatable(Architecture::I386)),
        resolve("lib.a", &archive(&[("f.o", &object), ("bad.o", b"\x7fELFxx")])),
        resolve("bad", &Linked::new().section("__simple_marker.1", b"a:b\0f.c\x00x\0\0\0".to_vec()).build()),
    ] {
        let document = document(&resolution);
        assert_eq!(errors(&validator, &document), [""; 0], "{document:#}");
    }
}

#[test]
fn a_site_and_its_arguments_have_all_fields() {
    let document = document(&everything());
    let image = &document["images"][0];
    assert_eq!(image["debug"], json!({ "source": "file", "path": "build/queue", "supplements": [] }));
    let site = &image["markers"][0]["sites"][0];
    let mut rest = site.clone();
    rest.as_object_mut().unwrap().remove("args");
    assert_eq!(
        rest,
        json!({
            "address": "0x1010", "file_offset": "0x10", "symbol": "_Z3runv", "symbol_offset": "0x10", "function": "run()",
            "inlined": [
                { "function": "submit", "call_file": "queue.c", "call_line": 40 },
                { "function": "drain", "call_file": null, "call_line": null },
            ],
            "origin": "record", "anchored": false, "exactness": null, "ways_in": [], "instruction": null, "probe": null,
            "line": 12, "section": null, "scope_ended": true, "exactness_code": null, "exactness_why": null,
            "exactness_reason": null, "switch": null,
        })
    );
    assert_eq!(
        site["args"][0],
        json!({
            "text": "self.queue.depth", "name": "self", "type": "usize", "size": 8, "verdict": "live",
            "location": "*(%rdi+0x18)", "code": "SM030", "why": null, "ranges": [], "format_mismatch": null,
            "reason": null, "before": null, "vector_register": null,
        })
    );
    let verdicts: Vec<_> = site["args"].as_array().unwrap().iter().map(|arg| (&arg["verdict"], &arg["code"])).collect();
    let expected = [
        json!(["live", "SM030"]),
        json!(["live", "SM030"]),
        json!(["constant", "SM031"]),
        json!(["partial", "SM032"]),
        json!(["entry", "SM033"]),
        json!(["lost", "SM034"]),
        json!(["absent", "SM035"]),
        json!(["unsupported", "SM036"]),
        json!([null, null]),
    ];
    assert_eq!(verdicts, expected.iter().map(|pair| (&pair[0], &pair[1])).collect::<Vec<_>>());
    assert_eq!(site["args"][5]["ranges"], json!([["0x1000", "0x100c"], ["0x1020", "0x1030"]]));
    let reasons: Vec<_> = site["args"].as_array().unwrap().iter().map(|arg| arg["reason"].as_str()).collect();
    let named = [Some("missing_bytes"), None, Some("not_described_here"), None, Some("unsupported"), None];
    assert_eq!(reasons[3..], named);
    assert_eq!(site["args"][2]["format_mismatch"], "`%s` given `int` (4 bytes, signed): use `%d`");
    // Nearest: the line is the one that was taken; in an object the address is an offset in a
    // section.
    let nearest = &image["markers"][0]["sites"][1];
    assert_eq!((&nearest["origin"], &nearest["line"]), (&json!("nearest"), &json!(14)));
    let object = &document["images"][1]["markers"][0]["sites"][0];
    assert_eq!(
        (&object["section"], &object["address"], &object["origin"]),
        (&json!(".text.f"), &json!("0x8"), &json!("line"))
    );
    let dead = &image["markers"][0]["sites"][2];
    assert_eq!((&dead["address"], &dead["file_offset"]), (&Value::Null, &Value::Null));
}

/// Every object in a document, as a path to it.
fn objects(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.push(path.to_owned());
            fields.iter().for_each(|(name, value)| objects(value, &format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| objects(value, &format!("{path}/{index}"), found));
        }
        _ => {}
    }
}

#[test]
fn the_schema_refuses_what_we_do_not_print() {
    let validator = validator();
    let good = document(&everything());
    let mut paths = Vec::new();
    objects(&good, "", &mut paths);
    assert!(paths.len() > 30, "{paths:?}");
    for path in &paths {
        let mut document = good.clone();
        document.pointer_mut(path).unwrap().as_object_mut().unwrap().insert("more".to_owned(), Value::Null);
        assert!(!validator.is_valid(&document), "{path} with one field more");
        let names: Vec<_> = good.pointer(path).unwrap().as_object().unwrap().keys().cloned().collect();
        for name in names {
            let mut document = good.clone();
            document.pointer_mut(path).unwrap().as_object_mut().unwrap().remove(&name);
            assert!(!validator.is_valid(&document), "{path} without {name}");
        }
    }
    let site = "/images/0/markers/0/sites/0";
    for (path, value) in [
        ("/schema".to_owned(), json!(2)),
        ("/tool/name".to_owned(), json!("other")),
        ("/tool/version".to_owned(), json!("")),
        ("/images".to_owned(), json!({})),
        ("/images/0/kind".to_owned(), json!("dll")),
        ("/images/0/arch".to_owned(), json!("X86_64")),
        ("/images/0/build_id".to_owned(), json!("0xab")),
        ("/images/0/debug".to_owned(), json!("file")),
        ("/images/0/markers/0/id".to_owned(), json!(0)),
        ("/images/0/markers/0/line".to_owned(), json!("12")),
        ("/images/0/markers/0/survival".to_owned(), json!("dead")),
        ("/images/0/markers/0/args/0".to_owned(), Value::Null),
        (format!("{site}/address"), json!("1010")),
        (format!("{site}/address"), json!("0x1F")),
        (format!("{site}/address"), json!("0x01f")),
        (format!("{site}/address"), json!("0x")),
        (format!("{site}/address"), json!("0x11112222333344445")),
        (format!("{site}/address"), json!(4112)),
        (format!("{site}/file_offset"), json!("0x10 ")),
        (format!("{site}/symbol_offset"), json!(-1)),
        (format!("{site}/origin"), json!("guess")),
        (format!("{site}/anchored"), Value::Null),
        (format!("{site}/exactness"), json!("likely")),
        (format!("{site}/inlined/0/call_line"), json!(-4)),
        (format!("{site}/args/0/verdict"), json!("readable")),
        // The right words, and not the code of that verdict.
        (format!("{site}/args/0/code"), json!("SM034")),
        (format!("{site}/args/0/code"), Value::Null),
        (format!("{site}/args/8/code"), json!("SM030")),
        (format!("{site}/args/0/size"), json!(-8)),
        (format!("{site}/args/5/ranges/0"), json!(["0x1000"])),
        (format!("{site}/args/5/ranges/0"), json!(["0x1000", "0x1004", "0x1008"])),
        (format!("{site}/args/5/ranges/0/1"), json!(4096)),
    ] {
        let mut document = good.clone();
        *document.pointer_mut(&path).unwrap_or_else(|| panic!("{path}")) = value.clone();
        assert!(!validator.is_valid(&document), "{path} = {value}");
    }
}

#[test]
fn what_is_not_resolved_yet_has_its_place_in_the_schema() {
    let validator = validator();
    let mut document = document(&everything());
    let site = document.pointer_mut("/images/0/markers/0/sites/0").unwrap();
    site["exactness"] = json!("shared");
    site["ways_in"] = json!([{ "address": "0x1008", "file": "queue.c", "line": 9, "kind": "conditional" }]);
    site["instruction"] = json!("mov %rdi,%rbx");
    site["probe"] = json!({ "accepted": true, "cost": "emulated", "best_address": null, "why": null, "reason": null });
    site["exactness_code"] = json!("SM021");
    assert_eq!(errors(&validator, &document), [""; 0]);
}

/// Every property of the schema is in the text that describes it.
#[test]
fn the_page_names_all_fields() {
    fn names(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::Object(properties)) = fields.get("properties") {
                    found.extend(properties.keys().cloned());
                }
                fields.values().for_each(|value| names(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/json.md")).unwrap();
    let mut found = Vec::new();
    names(&schema(), &mut found);
    assert!(found.len() > 50);
    for name in found {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn a_doubtful_argument_has_its_location_and_the_one_before() {
    let mut resolution = everything();
    let argument = &mut resolution.images[0].markers[0].sites[0].args[0];
    argument.verdict = Some(Verdict::Doubtful);
    for (reason, name, before) in [
        (Reason::Replaced { before: None, text: Some("%rsi".into()) }, "replaced", json!("%rsi")),
        (Reason::Replaced { before: None, text: None }, "replaced", Value::Null),
        (Reason::BeginsHere, "begins_here", Value::Null),
        (Reason::Computed, "computed", Value::Null),
        (Reason::OverwrittenUnread { at: 0x1020 }, "overwritten_unread", Value::Null),
        (Reason::NeverReadAgain, "never_read_again", Value::Null),
        (Reason::AssignedLate { at: 0x1020 }, "assigned_late", Value::Null),
        (Reason::ParameterInLoop, "parameter_in_loop", Value::Null),
        (Reason::OtherConstant { from: 0x1010 }, "other_constant", Value::Null),
        (Reason::OtherOffset { from: 0x1010 }, "other_offset", Value::Null),
        (Reason::StoredOver { at: 0x1020 }, "stored_over", Value::Null),
        (Reason::CopiedFrom { name: "i".into() }, "copied_from", Value::Null),
        (Reason::NotInFrame, "not_in_frame", Value::Null),
        (Reason::StepAhead { at: 0x1020 }, "step_ahead", Value::Null),
        (Reason::SameInCopy { other: 0x1020 }, "same_in_copy", Value::Null),
        (Reason::WrittenInlined, "written_inlined", Value::Null),
        (Reason::NotTracked, "not_tracked", Value::Null),
        (Reason::CodeNotFollowed, "code_not_followed", Value::Null),
    ] {
        resolution.images[0].markers[0].sites[0].args[0].reason = Some(reason);
        let document = document(&resolution);
        assert_eq!(errors(&validator(), &document), [""; 0]);
        let argument = &document["images"][0]["markers"][0]["sites"][0]["args"][0];
        let fields = ["verdict", "code", "location", "reason"].map(|field| argument[field].as_str().unwrap());
        assert_eq!(fields, ["doubtful", "SM038", "*(%rdi+0x18)", name]);
        assert_eq!(argument["before"], before);
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/json.md")).unwrap();
        assert!(page.contains(&format!("| `{name}` |")), "docs/json.md has no {name}");
    }
}
