//! Plan files with everything that a plan can have, and with what cannot be.

use serde_json::{Value as Json, json};
use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::english;
use simple_markers_resolver::export::fetch::NumberKind::{Float, Pointer, Signed, Unicode, Unsigned};
use simple_markers_resolver::export::{ArgumentOmission, SiteOmission};
use simple_markers_resolver::json::JsonError;
use simple_markers_resolver::location::{Binary, Expr, Node, Register, Unary, Value, ValueType};
use simple_markers_resolver::resolve::Exactness;

use super::*;
use crate::arch::Platform;
use crate::bpf::KernelOffsets;
use crate::bpf::expression::TaskOffsets;

fn expr(node: Node) -> Expr {
    Expr::new(node).expect("it is small")
}

fn register(number: u16) -> Expr {
    expr(Node::Register(Register(number), ValueType::Generic))
}

/// Expressions with each kind of node.
fn expressions() -> Vec<Expr> {
    let typed = |of| expr(Node::Register(Register(5), of));
    let constant = |of, bits| expr(Node::Constant(Value { of, bits }));
    let mut all = vec![
        Expr::constant(u64::MAX),
        constant(ValueType::Signed(2), 0xffff),
        expr(Node::Address(Vaddr(0x4010))),
        expr(Node::ThreadLocal(Expr::constant(0x18))),
        expr(Node::Memory { address: register(7), size: 8, to: ValueType::Generic }),
        expr(Node::Memory { address: register(6), size: 1, to: ValueType::Unsigned(4) }),
        expr(Node::Convert(ValueType::Generic, typed(ValueType::Signed(4)))),
        expr(Node::Convert(ValueType::Float(8), typed(ValueType::Signed(4)))),
        expr(Node::Reinterpret(ValueType::Unsigned(4), typed(ValueType::Float(4)))),
    ];
    all.extend([Unary::Abs, Unary::Neg, Unary::Not].map(|of| expr(Node::Unary(of, register(0)))));
    let binary = [
        Binary::And,
        Binary::Div,
        Binary::Minus,
        Binary::Mod,
        Binary::Mul,
        Binary::Or,
        Binary::Plus,
        Binary::Shl,
        Binary::Shr,
        Binary::Shra,
        Binary::Xor,
        Binary::Eq,
        Binary::Ge,
        Binary::Gt,
        Binary::Le,
        Binary::Lt,
        Binary::Ne,
    ];
    all.extend(binary.map(|of| expr(Node::Binary(of, register(1), Expr::constant(3)))));
    all
}

fn planned_site(marker: usize, inputs: Vec<Input>, arguments: Vec<(&str, Source)>) -> PlannedSite {
    let argument = |(text, source): (&str, Source)| PlannedArgument::new(text.into(), source);
    PlannedSite {
        image: marker / 2,
        marker,
        function: (marker == 0).then(|| "main \"of\" it".into()),
        address: Vaddr(0x1000),
        probe: Vaddr(0x1004),
        offset: FileOffset(u64::MAX),
        switch: None,
        entry_stack_pointer: None,
        task: None,
        frame: None,
        inputs,
        arguments: arguments.into_iter().map(argument).collect(),
        members: Vec::new(),
        notes_task: false,
        filter: None,
        aggregate: Aggregate::Hits,
        recorded: None,
        exit: None,
    }
}

/// A plan with everything that a plan can have.
fn plan() -> Plan {
    let image = |path: &str, build_id: &str, thread_local_size| PlannedImage {
        path: path.into(),
        file: ImageFile::default(),
        module: "a".into(),
        build_id: Some(build_id.into()),
        thread_local_size,
        platform: Some(if thread_local_size.is_some() { Platform::X86_64 } else { Platform::Aarch64 }),
    };
    let marker = |image, name: &str| PlannedMarker {
        image,
        name: name.into(),
        file: "src/\u{e4}.rs".into(),
        line: u32::MAX,
        format: "%d \n %s".into(),
        sites: 3,
        task_point: None,
        event: None,
    };
    let number = |field, size, kind| Source::Read(Reading::Number { field, size, kind });
    let constant = Source::Read(Reading::Constant { bits: u64::MAX, size: 8, kind: Unicode });
    let either = Source::Either(
        Reading::Number { field: 0, size: 4, kind: Unsigned },
        Reading::Constant { bits: 1, size: 4, kind: Unsigned },
    );
    let unread = |placeholder, words: Option<&str>| {
        Source::Unread(UnreadReason::Filed { placeholder, words: words.map(Into::into) })
    };
    let text = Input::Text { address: register(4), limit: None, most: 1 };
    let bytes = Input::Bytes { address: register(4), length: register(5), most: MAX_TEXT };
    let mut sites: Vec<PlannedSite> = expressions()
        .chunks(MAX_WORDS)
        .map(|some| planned_site(2, some.iter().cloned().map(Input::Number).collect(), Vec::new()))
        .collect();
    sites.push(planned_site(0, Vec::new(), vec![("gone", unread(Placeholder::Lost, Some("why not")))]));
    sites.push(planned_site(
        1,
        vec![Input::Number(register(0)), text, bytes],
        vec![
            ("a", number(0, 1, Signed)),
            ("b", number(0, 8, Float)),
            ("c", number(0, 8, Pointer)),
            ("d", constant),
            ("e", either),
            ("f", Source::Read(Reading::Text { field: 1 })),
            ("g", Source::Read(Reading::Text { field: 2 })),
            ("h", unread(Placeholder::Doubtful, None)),
            ("i", unread(Placeholder::Unreadable, None)),
        ],
    ));
    let left_out = |kind| LeftOut {
        image: 1,
        marker: "a:three".into(),
        place: "0x1000".into(),
        why: UnwatchedReason::Filed { kind, words: "because".into() },
    };
    Plan {
        images: vec![image("/bin/a", "c0de", Some(24)), image("/lib/\u{e4}.so", "0123", None)],
        markers: vec![marker(0, "a:one"), marker(0, "a:two"), marker(1, "a:three")],
        sites,
        left_out: vec![
            left_out(UnwatchedKind::NoSite),
            left_out(UnwatchedKind::NotExact(Exactness::Shared)),
            left_out(UnwatchedKind::NotExact(Exactness::Unproven)),
            left_out(UnwatchedKind::Other),
        ],
        reads: Vec::new(),
        entries: Vec::new(),
    }
}

fn read(json: &Json) -> Result<Plan, FileError> {
    Plan::from_json(json.to_string().as_bytes())
}

#[test]
fn what_is_written_is_read() {
    let plan = plan();
    assert_eq!(read(&plan.to_json()), Ok(plan));
    assert_eq!(read(&Plan::default().to_json()), Ok(Plan::default()));
}

#[test]
fn an_earlier_file_is_written_as_it_was_but_for_the_machine() {
    let text = include_bytes!("../../../fuzz/seeds/plan/kinds.json");
    let mut expected: Json = serde_json::from_slice(text).expect("JSON");
    expected["tool"] = env!("CARGO_PKG_VERSION").into();
    // It is of the time when all images were for x86-64.
    assert_eq!(expected["images"][0].as_object_mut().expect("a").insert("machine".into(), "x86_64".into()), None);
    // A text has no size, and null says so.
    assert_eq!(
        expected["sites"][0]["arguments"][7].as_object_mut().expect("u").insert("size".into(), Json::Null),
        None
    );
    assert_eq!(Plan::from_json(text).expect("a plan").to_json().to_string(), expected.to_string());
}

#[test]
fn reasons_are_kept_as_words() {
    let mut plan = plan();
    let omission = ArgumentOmission::OptimizedOut;
    let words = english::export::argument(&omission);
    plan.sites = vec![planned_site(
        0,
        Vec::new(),
        vec![
            ("a", Source::Unread(UnreadReason::Omitted(omission))),
            ("b", Source::Unread(UnreadReason::TooMany)),
            ("c", Source::Unread(UnreadReason::Uncompilable(Uncompilable::Float))),
        ],
    )];
    let why = SiteOmission::NotExact { exactness: Exactness::Folded, reason: None };
    let folded = english::export::site(&why);
    plan.left_out.truncate(1);
    plan.left_out[0].why = UnwatchedReason::Omitted(why);
    let read = read(&plan.to_json()).expect("a plan");
    let sources: Vec<_> = read.sites[0].arguments.iter().map(|argument| argument.source.clone()).collect();
    let filed = |placeholder, words| Source::Unread(UnreadReason::Filed { placeholder, words });
    let (lost, unreadable) = (Placeholder::Lost, Placeholder::Unreadable);
    assert_eq!(sources, [filed(lost, Some(words.into())), filed(unreadable, None), filed(unreadable, None)]);
    let kind = UnwatchedKind::NotExact(Exactness::Folded);
    assert_eq!(read.left_out[0].why, UnwatchedReason::Filed { kind, words: folded.into() });
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let json = plan().to_json();
    let refused = |pointer: &str, value: Json| {
        let mut json = json.clone();
        *json.pointer_mut(pointer).expect(pointer) = value;
        read(&json).expect_err(pointer).to_string()
    };
    let last = plan().sites.len() - 1;
    let at_last = |pointer: &str| format!("/sites/{last}/{pointer}");
    for (pointer, value, path, what) in [
        ("/images".to_owned(), Json::Null, "images", "invalid type: null, expected a sequence"),
        ("/images/1".to_owned(), 7.into(), "images[1]", "invalid type: integer `7`, expected an object"),
        ("/images/1".to_owned(), json!(["a", "b", "c", 0]), "images[1]", "invalid type: sequence, expected an object"),
        ("/images/1/path".to_owned(), Json::Null, "images[1].path", "invalid type: null, expected a string"),
        ("/images/0/build_id".to_owned(), Json::Null, "images[0].build_id", "it is missing"),
        (
            "/images/0/build_id".to_owned(),
            "C0DE".into(),
            "images[0].build_id",
            "it is no hexadecimal text in lower case",
        ),
        ("/images/1/build_id".to_owned(), "c0de".into(), "images[1].build_id", "another image has it too"),
        (
            "/images/0/thread_local_size".to_owned(),
            (-1).into(),
            "images[0].thread_local_size",
            "invalid value: integer `-1`, expected u64",
        ),
        (
            "/images/0/machine".to_owned(),
            "vax".into(),
            "images[0].machine",
            "invalid value: string \"vax\", expected a processor that uname -m names",
        ),
        (
            "/markers/2/image".to_owned(),
            2.into(),
            "markers[2].image",
            "there is no image 2; there are 2, counted from 0",
        ),
        (
            "/markers/0/line".to_owned(),
            (1u64 << 32).into(),
            "markers[0].line",
            "invalid value: integer `4294967296`, expected u32",
        ),
        ("/markers/0".to_owned(), json!({}), "markers[0]", "missing field `image`"),
        (at_last("marker"), 3.into(), "sites[N].marker", "there is no marker 3; there are 3, counted from 0"),
        (
            at_last("address"),
            "0x+1".into(),
            "sites[N].address",
            "invalid value: string \"0x+1\", expected a hexadecimal number of 64 bits such as 0x1f",
        ),
        (
            at_last("address"),
            "0x10000000000000000".into(),
            "sites[N].address",
            "invalid value: string \"0x10000000000000000\", expected a hexadecimal number of 64 bits such as 0x1f",
        ),
        (at_last("inputs/0"), json!(["number"]), "sites[N].inputs[0]", "the array is too short"),
        (
            at_last("inputs/0"),
            json!(["numbers"]),
            "sites[N].inputs[0]",
            "unknown variant `numbers`, expected one of `number`, `text`, `bytes`, `value`, `parts`",
        ),
        (at_last("inputs/1/2"), 0.into(), "sites[N].inputs[1]", "it reads 0 bytes at most; 1 to 1024 are possible"),
        (
            at_last("inputs/2/3"),
            (MAX_TEXT + 1).into(),
            "sites[N].inputs[2]",
            "it reads 1025 bytes at most; 1 to 1024 are possible",
        ),
        (
            at_last("inputs"),
            vec![json!(["number", ["register", 0]]); 25].into(),
            "sites[N].inputs",
            "they take 25 words; 24 are possible",
        ),
        (at_last("inputs/0/1"), json!(["plus", ["register", 0]]), "sites[N].inputs[0][1]", "the array is too short"),
        (
            at_last("inputs/0/1"),
            json!(["register", 1 << 16]),
            "sites[N].inputs[0][1][1]",
            "invalid value: integer `65536`, expected u16",
        ),
        (at_last("inputs/0/1"), json!(["register", 0, "u3"]), "sites[N].inputs[0][1]", "`u3` is no type"),
        (
            at_last("inputs/0/1"),
            json!(["register", 0, "u4", 0]),
            "sites[N].inputs[0][1]",
            "invalid length 4, expected fewer elements in array",
        ),
        (
            at_last("inputs/0/1"),
            json!(["constant", "0x100", "u1"]),
            "sites[N].inputs[0][1]",
            "its type does not hold the constant 0x100",
        ),
        (
            at_last("inputs/0/1"),
            json!(["memory", ["register", 0], 0]),
            "sites[N].inputs[0][1]",
            "its type does not hold 0 bytes of memory",
        ),
        (
            at_last("inputs/0/1"),
            json!(["memory", ["register", 0], 4, "u2"]),
            "sites[N].inputs[0][1]",
            "its type does not hold 4 bytes of memory",
        ),
        (at_last("inputs/0/1"), json!(["entry_value", 5]), "sites[N].inputs[0][1]", "`entry_value` is no operation"),
        (
            at_last("arguments/0/kind"),
            "int".into(),
            "sites[N].arguments[0].kind",
            "it is none of signed, unsigned, float, pointer, unicode, text and value",
        ),
        (at_last("arguments/0/kind"), Json::Null, "sites[N].arguments[0]", "missing field `kind`"),
        (at_last("arguments/0/size"), 3.into(), "sites[N].arguments[0]", "`size` is none of 1, 2, 4 and 8"),
        (
            at_last("arguments/0/size"),
            300.into(),
            "sites[N].arguments[0].size",
            "invalid value: integer `300`, expected u8",
        ),
        (at_last("arguments/0/text"), Json::Null, "sites[N].arguments[0]", "missing field `text`"),
        (at_last("arguments/0/input"), Json::Null, "sites[N].arguments[0]", "missing field `input`"),
        (
            at_last("arguments/0/input"),
            3.into(),
            "sites[N].arguments[0].input",
            "there is no input 3; there are 3, counted from 0",
        ),
        (
            at_last("arguments/0/input"),
            1.into(),
            "sites[N].arguments[0].input",
            "the input 1 is of another kind than the value",
        ),
        (
            at_last("arguments/5/input"),
            0.into(),
            "sites[N].arguments[5].input",
            "the input 0 is of another kind than the value",
        ),
        (
            at_last("arguments/4/either/1"),
            Json::Null,
            "sites[N].arguments[4].either[1]",
            "invalid type: null, expected an object",
        ),
        (at_last("arguments/4/either/1"), json!({}), "sites[N].arguments[4]", "`either[1]`: missing field `kind`"),
        (
            at_last("arguments/4/either/0/input"),
            9.into(),
            "sites[N].arguments[4].either[0].input",
            "there is no input 9; there are 3, counted from 0",
        ),
        (
            at_last("arguments/4/either"),
            json!([]),
            "sites[N].arguments[4].either",
            "invalid length 0, expected an array of length 2",
        ),
        (
            at_last("arguments/7/unread"),
            "maybe".into(),
            "sites[N].arguments[7].unread",
            "unknown variant `maybe`, expected one of `lost`, `doubtful`, `unreadable`",
        ),
        (
            "/left_out/0/image".to_owned(),
            9.into(),
            "left_out[0].image",
            "there is no image 9; there are 2, counted from 0",
        ),
        (
            "/left_out/1/kind".to_owned(),
            "odd".into(),
            "left_out[1].kind",
            "it is neither `no site`, nor a word for exactness, nor `other`",
        ),
    ] {
        let expected = format!("`{}`: {what}", path.replace('N', &last.to_string()));
        assert_eq!(refused(&pointer, value), expected, "{pointer}");
    }
    let later = "version 6 of the format of plans; this smark reads the versions up to 5";
    assert_eq!(refused("/plan", 6.into()), later);
    assert_eq!(refused("/plan", "1".into()), "not a plan");
    assert_eq!(Plan::from_json(b"[]"), Err(FileError::NotAPlan));
    assert!(matches!(Plan::from_json(b"{\"plan\": 1"), Err(FileError::Json(_))));
    assert!(matches!(Plan::from_json(&[b'['; 100_000]), Err(FileError::Json(_))));
    let missing = FileError::Value(JsonError::new("", "missing field `images`"));
    assert_eq!(Plan::from_json(b"{\"plan\": 1}"), Err(missing));
    let with = |pointer: &str, member: &str, value: Json| {
        let mut json = json.clone();
        json.pointer_mut(pointer).expect(pointer)[member] = value;
        read(&json).expect_err(member).to_string()
    };
    // Arrays are fields of the kernel's events.
    let array = with(&at_last("arguments/0"), "array", 3.into());
    assert_eq!(array, format!("`sites[{last}].arguments[0].input`: the input 0 is of another kind than the value"));
    let event = json!({ "group": "a", "name": "b", "id": 1, "fields": [], "print": "" });
    let event = with("/markers/0", "event", event);
    assert_eq!(event, "`markers[0].event`: a plan file has no events of the kernel");
    // Members that are not known are passed over, and what is there twice counts as said last.
    let text = json.to_string();
    let more = text.replacen("\"line\":", "\"line\":7,\"new\":[1],\"line\":", 1);
    assert_eq!((more != text, Plan::from_json(more.as_bytes())), (true, Ok(plan())));
}

#[test]
fn a_plan_with_a_switch_is_of_another_version() {
    let mut plan = plan();
    assert_eq!(plan.to_json()["plan"], 1);
    plan.sites[0].switch = Some(FileOffset(0x3040));
    let json = plan.to_json();
    assert_eq!((&json["plan"], &json["sites"][0]["switch"]), (&2.into(), &"0x3040".into()));
    assert_eq!(json["sites"][1].get("switch"), None);
    let again = read(&json).expect("a plan");
    let switches: Vec<_> = again.sites.iter().map(|site| site.switch).collect();
    assert_eq!((switches[0], switches[1]), (Some(FileOffset(0x3040)), None));
    let mut odd = json;
    odd["sites"][0]["switch"] = 5.into();
    assert!(read(&odd).is_err());
}

fn doubtful(here: Reading, before: Option<Reading>) -> Source {
    let why = UnreadReason::Filed { placeholder: Placeholder::Doubtful, words: Some("it moves".into()) };
    Source::Doubtful(Box::new(DoubtfulSource { here, before, why, is_taken: false }))
}

#[test]
fn a_plan_with_doubtful_values_is_of_another_version() {
    let number = |field| Reading::Number { field, size: 4, kind: Signed };
    let constant = Reading::Constant { bits: 5, size: 4, kind: Signed };
    let mut plan = plan();
    let arguments = vec![
        ("a", doubtful(number(0), None)),
        ("b", doubtful(number(0), Some(constant.clone()))),
        ("c", Source::Read(number(0))),
    ];
    plan.sites = vec![planned_site(0, vec![Input::Number(register(0))], arguments)];
    let json = plan.to_json();
    assert_eq!(json["plan"], 3);
    assert_eq!(read(&json), Ok(plan.clone()));
    for (pointer, expected) in [("doubtful", "a boolean"), ("before", "an object"), ("why", "a string")] {
        let mut odd = json.clone();
        odd["sites"][0]["arguments"][1][pointer] = 1.into();
        let error = read(&odd).expect_err(pointer).to_string();
        let what = format!("invalid type: integer `1`, expected {expected}");
        assert_eq!(error, format!("`sites[0].arguments[1].{pointer}`: {what}"));
    }
    let mut odd = json.clone();
    odd["sites"][0]["arguments"][1]["doubtful"] = false.into();
    let error = read(&odd).expect_err("it is not doubtful").to_string();
    assert_eq!(error, "`sites[0].arguments[1]`: `doubtful` is false");
    odd["sites"][0]["arguments"][1] = json!({
        "text": "b", "kind": "signed", "size": 4, "input": 0, "doubtful": true,
        "before": { "kind": "signed", "size": 4, "input": 7 },
    });
    let error = read(&odd).expect_err("it is not there").to_string();
    let what = "there is no input 7; there are 1, counted from 0";
    assert_eq!(error, format!("`sites[0].arguments[1].before.input`: {what}"));
    let mut treated = |doubtful| {
        plan.treat(0, doubtful);
        plan.sites[0].arguments.iter().map(|argument| argument.source.clone()).collect::<Vec<_>>()
    };
    let is_taken = |source: &Source| matches!(source, Source::Doubtful(of) if of.is_taken);
    assert_eq!(treated(DoubtfulValues::Taken).iter().map(is_taken).collect::<Vec<_>>(), [true, true, false]);
    assert!(!treated(DoubtfulValues::Marked).iter().any(is_taken));
    let why = UnreadReason::Filed { placeholder: Placeholder::Doubtful, words: Some("it moves".into()) };
    let strict = [Source::Unread(why), Source::Either(number(0), constant), Source::Read(number(0))];
    assert_eq!(treated(DoubtfulValues::Strict), strict);
}

#[test]
fn expressions_have_limits() {
    let with = |of: Json| {
        let mut plan = plan();
        plan.sites.truncate(1);
        let mut json = plan.to_json();
        json["sites"][0]["inputs"][0][1] = of;
        read(&json)
    };
    let nested = |depth: u16| (1..depth).fold(json!(["register", 0]), |of, _| json!(["not", of]));
    let deep = with(nested(MAX_DEPTH)).expect("it is not too deep");
    assert!(matches!(&deep.sites[0].inputs[0], Input::Number(of) if of.depth() == MAX_DEPTH));
    let error = |path: &str| {
        let what = "it has more than 512 operations, or 96 inside each other";
        Err(FileError::Value(JsonError::new(path, what)))
    };
    assert_eq!(with(nested(MAX_DEPTH + 1)), error("sites[0].inputs[0][1]"));
    assert!(matches!(with(nested(1000)), Err(FileError::Json(_))));
    // A tree with 2^levels - 1 nodes.
    let wide = |levels| (1..levels).fold(json!(["register", 0]), |of, _| json!(["plus", of, of]));
    assert!(with(wide(MAX_NODES.ilog2())).is_ok());
    assert_eq!(with(wide(MAX_NODES.ilog2() + 1)), error("sites[0].inputs[0][1]"));
}

#[test]
fn a_plan_that_is_cut_or_has_a_flipped_bit_is_refused_or_read() {
    let text = plan().to_json().to_string().into_bytes();
    for size in 0..text.len() {
        assert!(matches!(Plan::from_json(&text[..size]), Err(FileError::Json(_))), "{size}");
    }
    let mut text = text;
    for bit in (0..text.len() * 8).step_by(5) {
        text[bit / 8] ^= 1 << (bit % 8);
        if let Ok(plan) = Plan::from_json(&text) {
            assert_eq!(read(&plan.to_json()), Ok(plan), "bit {bit}");
        }
        text[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn what_this_machine_cannot_read_is_left_out() {
    let of_thread = || {
        let address = expr(Node::ThreadLocal(Expr::constant(8)));
        expr(Node::Memory { address, size: 4, to: ValueType::Unsigned(4) })
    };
    let number = |field| Reading::Number { field, size: 4, kind: Signed };
    let mut file = plan();
    file.sites = vec![planned_site(
        0,
        vec![Input::Number(of_thread()), Input::Number(register(0))],
        vec![
            ("a", Source::Read(number(0))),
            ("b", Source::Read(number(1))),
            ("c", Source::Either(number(1), number(0))),
            ("d", doubtful(number(1), Some(number(0)))),
            ("e", doubtful(number(0), Some(number(1)))),
        ],
    )];
    let adopted = |image, name: &str, thread_pointer: Option<u32>| {
        let of_kernel = KernelOffsets { thread_pointer, identity: None };
        let mut plan = Plan::default();
        let keep = |marker: usize| file.markers[marker].name.starts_with(name);
        plan.adopt(&file, 1, "/other", &|_| false, &|_| false, of_kernel);
        plan.adopt(&file, image, "/elsewhere", &keep, &|_| true, of_kernel);
        plan
    };
    let all = adopted(0, "a:", Some(0));
    assert_eq!(all.images[1], PlannedImage { path: "/elsewhere".into(), ..file.images[0].clone() });
    let names: Vec<_> = all.markers.iter().map(|marker| (marker.image, &*marker.name)).collect();
    assert_eq!(names, [(1, "a:one"), (1, "a:two")]);
    assert_eq!(all.sites, [PlannedSite { image: 1, ..file.sites[0].clone() }]);
    assert!(all.left_out.is_empty());

    let without = adopted(0, "a:", None);
    assert_eq!(without.sites[0].inputs, [Input::Number(register(0))]);
    let sources: Vec<_> = without.sites[0].arguments.iter().map(|argument| argument.source.clone()).collect();
    let unread = |words: Option<&str>| {
        let words = words.map(Into::into);
        Source::Unread(UnreadReason::Filed { placeholder: Placeholder::Doubtful, words })
    };
    let uncompilable = Source::Unread(UnreadReason::Uncompilable(Uncompilable::ThreadLocal));
    let maybe = doubtful(number(0), None);
    assert_eq!(sources, [uncompilable, Source::Read(number(0)), unread(None), maybe, unread(Some("it moves"))]);

    let other = adopted(1, "a:three", None);
    assert_eq!((other.sites.len(), other.markers.len(), other.left_out.len()), (0, 1, 4));
    assert_eq!(other.left_out[0].image, 1);
    assert_eq!(adopted(0, "b:", None).markers, []);
    assert_eq!(adopted(2, "a:", None).images.len(), 1);
}

/// A plan with a site that reads two values of the entry of its function.
fn with_entry() -> Plan {
    let at_entry = |number| expr(Node::AtEntry(register(number)));
    let number = |field| Source::Read(Reading::Number { field, size: 8, kind: Signed });
    let inputs = vec![Input::Number(at_entry(5)), Input::Number(register(0)), Input::Number(at_entry(4))];
    let mut site = planned_site(0, inputs, vec![("a", number(0)), ("b", number(1)), ("c", number(2))]);
    site.frame = Some(SiteFrame { entry: 1, stack_pointer: register(7).plus(8).expect("small") });
    let entry = |address| PlannedEntry {
        image: 0,
        function: Some("f".into()),
        address: Vaddr(address),
        probe: Vaddr(address + 4),
        offset: FileOffset(address + 4),
        stack_pointer: register(7),
        values: vec![register(5), register(4)],
    };
    Plan { sites: vec![site], entries: vec![entry(0x100), entry(0x200)], ..plan() }
}

#[test]
fn entries_of_functions_are_written_and_read() {
    let plan = with_entry();
    let json = plan.to_json();
    assert_eq!(json["plan"], VERSION);
    assert_eq!(json["entries"][0]["values"], json!([["register", 5], ["register", 4]]));
    assert_eq!(json["sites"][0]["inputs"][0], json!(["number", ["at_entry", ["register", 5]]]));
    assert_eq!(read(&json), Ok(plan));
    let memory = json!(["memory", ["register", 5], 8]);
    let cases = [
        ("/entries/1/values/0", memory, "entries[1]", "it reads more than registers"),
        ("/entries/1/values", json!(vec![json!(["register", 5]); 9]), "entries[1]", "it has 9 values; 8 are possible"),
        ("/entries/1/image", json!(1), "sites[0]", "its entry is in another image"),
        ("/entries/1/image", json!(2), "entries[1].image", "there is no image 2; there are 2, counted from 0"),
        ("/sites/0/frame/entry", json!(2), "sites[0].frame.entry", "there is no entry 2; there are 2, counted from 0"),
        (
            "/sites/0/frame/stack_pointer",
            json!(["at_entry", ["register", 7]]),
            "sites[0]",
            "a stack pointer has a value of the entry",
        ),
        (
            "/entries/1/values/1",
            json!(["register", 3]),
            "sites[0]",
            "an input has a value of the entry that is not noted there",
        ),
        ("/sites/0/frame", Json::Null, "sites[0]", "an input has a value of the entry that is not noted there"),
    ];
    for (place, value, path, what) in cases {
        let mut changed = json.clone();
        *changed.pointer_mut(place).expect(place) = value;
        assert_eq!(read(&changed), Err(FileError::Value(JsonError::new(path, what))), "{place}");
    }
}

#[test]
fn an_entry_is_taken_with_the_site_that_needs_it() {
    let file = with_entry();
    let adopted = |identity| {
        let of_kernel = KernelOffsets { thread_pointer: None, identity };
        let mut plan = Plan::default();
        plan.adopt(&file, 1, "/other", &|_| true, &|_| false, of_kernel);
        plan.adopt(&file, 0, "/elsewhere", &|_| true, &|_| false, of_kernel);
        plan
    };
    let all = adopted(Some(TaskOffsets::default()));
    assert_eq!(all.entries, [PlannedEntry { image: 1, ..file.entries[1].clone() }]);
    assert_eq!(all.sites[0].frame.as_ref().map(|frame| frame.entry), Some(0));
    assert_eq!(all.sites[0].inputs, file.sites[0].inputs);
    // Without a second probe only the other one can be read.
    let without = adopted(None);
    assert_eq!((without.entries.len(), &without.sites[0].frame), (0, &None));
    assert_eq!(without.sites[0].inputs, [Input::Number(register(0))]);
    let placeholders = without.sites[0].arguments.iter().map(|argument| match &argument.source {
        Source::Unread(why) => Some(why.placeholder()),
        _ => None,
    });
    assert_eq!(placeholders.collect::<Vec<_>>(), [Some(Placeholder::Lost), None, Some(Placeholder::Lost)]);
}
