//! Tests of trees: what is read of a value, and its forms.

use std::sync::Arc;

use super::{
    Language, Limits, MapValue, Member, MemberChoice, MemberValue, MemoryChunk, MemorySnapshot, Object, OpaqueReason,
    ReadContext, Sequence, SequenceKind, Shape, TextValue, Type, ValueTree, Variant, Variants, tree_of, write_json,
    write_lines, write_text,
};

fn of(name: &str, size: u64, shape: Shape) -> Arc<Type> {
    Arc::new(Type { name: name.into(), size: Some(size), shape })
}

fn integer(name: &str, size: u64, signed: bool) -> Arc<Type> {
    of(name, size, Shape::Integer { signed })
}

fn member(name: &str, byte: u64, of: &Arc<Type>) -> Member {
    Member { name: name.into(), bit_offset: 8 * byte, bit_size: None, of: Arc::clone(of) }
}

fn structure(name: &str, size: u64, members: &[(&str, u64, &Arc<Type>)]) -> Arc<Type> {
    let members = members.iter().map(|(name, byte, of)| member(name, *byte, of)).collect();
    of(name, size, Shape::Struct { members })
}

fn pointer(name: &str, to: &Arc<Type>) -> Arc<Type> {
    of(name, 8, Shape::Pointer { to: Some(Arc::clone(to)) })
}

fn sequence(name: &str, kind: SequenceKind, element: &Arc<Type>) -> Arc<Type> {
    let word = integer("usize", 8, false);
    let (data, length) = (member("", 0, &word), member("", 8, &word));
    let sequence = Sequence { kind, data, offset: 0, length, element: Some(Arc::clone(element)), capacity: None };
    of(name, 16, Shape::Sequence(Arc::new(sequence)))
}

/// `Option<T>` with the discriminant in the first byte and the value at `byte`.
fn option(payload: &Arc<Type>, byte: u64) -> Arc<Type> {
    let size = payload.size.unwrap() + byte;
    let variant = |name: &str, value, members: &[(&str, u64, &Arc<Type>)]| Variant {
        values: Some(vec![(value, value)]),
        name: name.into(),
        members: vec![member(name, 0, &structure(name, size, members))],
        state: None,
    };
    let variants = vec![variant("None", 0, &[]), variant("Some", 1, &[("__0", byte, payload)])];
    let discriminant = Some(member("", 0, &integer("u8", 1, false)));
    of("core::option::Option<T>", size, Shape::Variants(Arc::new(Variants { discriminant, variants, common: vec![] })))
}

struct Case<'a> {
    language: Language,
    chunks: &'a [(u64, &'a [u8])],
    limits: Limits,
}

const RUST: Case<'_> = Case {
    language: Language::Rust,
    chunks: &[],
    limits: Limits { depth: 1, elements: 32, text: 256, memory: 1 << 16, output: 4096 },
};

impl<'a> Case<'a> {
    fn tree(&self, of: &Type, bytes: &[u8], choice: &MemberChoice) -> ValueTree {
        let chunk = |&(address, bytes): &(u64, &'a [u8])| MemoryChunk { address, bytes, unreadable: 0 };
        let chunks: Vec<MemoryChunk<'_>> = self.chunks.iter().map(chunk).collect();
        let memory = MemorySnapshot { chunks: &chunks };
        let context = ReadContext { limits: self.limits, ..ReadContext::new(self.language, &memory) };
        tree_of(of, Object::new(bytes), &context, choice)
    }

    /// The text, and the JSON.
    fn forms(&self, of: &Type, bytes: &[u8], choice: &MemberChoice) -> [String; 2] {
        let tree = self.tree(of, bytes, choice);
        let (mut text, mut json) = (String::new(), String::new());
        write_text(&tree, self.language, &mut text);
        write_json(&tree, &mut json);
        [text, json]
    }
}

fn case<'a>(chunks: &'a [(u64, &'a [u8])]) -> Case<'a> {
    Case { chunks, ..RUST }
}

fn c<'a>(chunks: &'a [(u64, &'a [u8])]) -> Case<'a> {
    Case { language: Language::C, ..case(chunks) }
}

fn whole() -> MemberChoice {
    MemberChoice::default()
}

fn choice(paths: &[&str]) -> MemberChoice {
    let path = |path: &&str| path.split('.').map(Arc::from).collect();
    MemberChoice { members: paths.iter().map(path).collect(), levels: None }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn a_snapshot_may_have_a_part_of_a_value() {
    let (byte, int) = (integer("u8", 1, false), integer("i32", 4, true));
    let object = words(&[0x1000, 3]);
    let list = sequence("alloc::vec::Vec<i32>", SequenceKind::Elements, &int);
    let two: &[u8] = &[1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 7];
    assert_eq!(case(&[(0x1000, two)]).forms(&list, &object, &whole()), ["[1, -2, ..]", r#"[1,-2,{"..":1}]"#]);
    assert_eq!(case(&[]).forms(&list, &object, &whole()), ["[..]", r#"[{"..":3}]"#]);
    let text = sequence("&str", SequenceKind::Text, &byte);
    assert_eq!(case(&[(0x1000, b"abc")]).forms(&text, &object, &whole()), ["\"abc\"", "\"abc\""]);
    assert_eq!(case(&[(0x1000, b"ab")]).forms(&text, &object, &whole()), ["\"ab\"..", r#"{"..":"ab"}"#]);
    let queue = structure("Queue", 8, &[("depth", 0, &int), ("tag", 4, &byte)]);
    let reference = pointer("&Queue", &queue);
    let object = words(&[0x1000]);
    assert_eq!(
        case(&[(0x1000, &[5, 0, 0, 0])]).forms(&reference, &object, &whole()),
        ["&Queue { depth: 5, tag: .. }", r#"{"depth":5,"tag":{"..":null}}"#]
    );
    assert_eq!(case(&[]).forms(&reference, &object, &whole()), ["&..", r#"{"..":null}"#]);
    let letter = of("char", 1, Shape::Character { signed: true });
    let letters = pointer("char *", &letter);
    assert_eq!(c(&[(0x1000, b"hi\0")]).forms(&letters, &object, &whole()), ["0x1000 \"hi\"", "\"hi\""]);
    assert_eq!(c(&[(0x1000, b"hi")]).forms(&letters, &object, &whole()), ["0x1000 \"hi\"..", r#"{"..":"hi"}"#]);
    assert_eq!(c(&[]).forms(&letters, &object, &whole()), ["0x1000 ..", r#"{"..":null}"#]);
    assert_eq!(c(&[]).forms(&letters, &words(&[0]), &whole()), ["0x0", "null"]);
}

#[test]
fn json_tells_values_apart() {
    let (byte, wide) = (integer("u8", 1, false), integer("u64", 8, false));
    let json = |of: &Type, bytes: &[u8]| RUST.forms(of, bytes, &whole())[1].clone();
    let one = option(&byte, 1);
    assert_eq!([&[0, 9], &[1, 9]].map(|bytes| json(&one, bytes)), ["null", "9"]);
    let two = option(&one, 1);
    assert_eq!(
        [&[0, 0, 0], &[1, 0, 0], &[1, 1, 9]].map(|bytes| json(&two, bytes)),
        ["null", r#"{"Some":null}"#, r#"{"Some":9}"#]
    );
    let newtype = structure("Meters", 8, &[("__0", 0, &wide)]);
    assert_eq!(json(&newtype, &words(&[1 << 53])), "9007199254740992");
    assert_eq!(json(&newtype, &words(&[(1 << 53) + 1])), "\"9007199254740993\"");
    let smallest = json(&integer("i128", 16, true), &i128::MIN.to_le_bytes());
    assert_eq!(smallest, "\"-170141183460469231731687303715884105728\"");
    let pair = structure("(u8, u8)", 2, &[("__0", 0, &byte), ("__1", 1, &byte)]);
    assert_eq!(json(&pair, &[3, 4]), "[3,4]");
    assert_eq!(json(&of("bool", 1, Shape::Boolean), &[7]), r#"{"?":"invalid_boolean","bits":"0x7"}"#);
    assert_eq!(json(&of("()", 0, Shape::Void), &[]), "[]");
    assert_eq!(json(&two, &[5, 0, 0]), r#"{"?":"invalid_discriminant","value":"5"}"#);
    assert_eq!(json(&of("f64", 8, Shape::Float), &0.1f64.to_le_bytes()), "0.1");
    assert_eq!(json(&of("f64", 8, Shape::Float), &f64::INFINITY.to_le_bytes()), "\"inf\"");
    // The members of an anonymous structure are those of the outer one, unless a name is there twice.
    let inner = structure("Base", 2, &[("a", 0, &byte), ("b", 1, &byte)]);
    let outer = |name| structure("Outer", 3, &[("", 0, &inner), (name, 2, &byte)]);
    assert_eq!(json(&outer("c"), &[1, 2, 3]), r#"{"a":1,"b":2,"c":3}"#);
    assert_eq!(json(&outer("a"), &[1, 2, 3]), r#"{"Base":{"a":1,"b":2},"a":3}"#);
}

#[test]
fn maps_are_objects_if_their_keys_are_texts() {
    let text = |text: &str| ValueTree::Text(TextValue { bytes: text.into(), is_cut: false });
    let map = |keys: &[ValueTree], total, has_text_keys| {
        let entries = keys.iter().map(|key| (key.clone(), ValueTree::Boolean(true))).collect();
        let map = ValueTree::Map(MapValue { entries, total, has_text_keys });
        let (mut rust, mut c, mut json) = (String::new(), String::new(), String::new());
        write_text(&map, Language::Rust, &mut rust);
        write_text(&map, Language::C, &mut c);
        write_json(&map, &mut json);
        [rust, c, json]
    };
    let (a, number) = (text("a"), ValueTree::Character('x'));
    assert_eq!(map(std::slice::from_ref(&a), Some(1), true), ["{\"a\": true}", "{[\"a\"] = true}", "{\"a\":true}"]);
    assert_eq!(map(std::slice::from_ref(&a), Some(4), true)[2], r#"{"a":true,"..":3}"#);
    assert_eq!(map(&[text("..")], None, true)[2], r#"[["..",true],{"..":null}]"#);
    assert_eq!(map(&[number], Some(2), false), ["{'x': true, ..}", "{['x'] = true, ..}", r#"[["x",true],{"..":1}]"#]);
    assert_eq!([map(&[], Some(0), true)[2].clone(), map(&[], Some(0), false)[2].clone()], ["{}", "[]"]);
}

#[test]
fn chosen_members_are_found_behind_references() {
    let (byte, int) = (integer("u8", 1, false), integer("u32", 4, false));
    let owner = structure("Owner", 8, &[("id", 0, &int), ("kind", 4, &byte)]);
    let reference = pointer("&Owner", &owner);
    let pair = structure("(u8, u32)", 8, &[("__0", 0, &byte), ("__1", 4, &int)]);
    let maybe = option(&reference, 8);
    let request = structure("Request", 32, &[("tag", 0, &int), ("owner", 8, &maybe), ("pair", 24, &pair)]);
    let mut object = words(&[7, 1, 0x1000, 0x0000_0009_0000_0008]);
    let chunks: &[(u64, &[u8])] = &[(0x1000, &[5, 0, 0, 0, 6])];
    assert_eq!(
        case(chunks).forms(
            &request,
            &object,
            &choice(&["tag", "owner.id", "pair.1", "owner.kind", "gone", "pair.0.x"])
        ),
        [
            "Request { tag: 7, owner: Some(&Owner { id: 5, kind: 6 }), pair: { 1: 9, 0: <no member x> }, gone: <no member gone> }",
            r#"{"tag":7,"owner":{"id":5,"kind":6},"pair":{"1":9,"0":{"?":"no_member","member":"x"}},"gone":{"?":"no_member","member":"gone"}}"#
        ]
    );
    object[8] = 0;
    assert_eq!(
        case(chunks).forms(&request, &object, &choice(&["owner.id"])),
        ["Request { owner: None }", r#"{"owner":null}"#]
    );
    // A pointer of C is followed if it is the value, or to the levels that are asked for.
    let node = structure("node", 16, &[("id", 0, &int), ("next", 8, &pointer("struct node *", &owner))]);
    let first = pointer("struct node *", &node);
    let (node, owner) = (words(&[3, 0x2000]), words(&[4, 0]));
    let c = Case { language: Language::C, chunks: &[(0x1000, &node), (0x2000, &owner)], ..RUST };
    let object = words(&[0x1000]);
    let levels = |levels| c.forms(&first, &object, &MemberChoice { members: vec![], levels })[0].clone();
    assert_eq!(levels(None), "0x1000 {id = 3, next = 0x2000}");
    assert_eq!(levels(Some(0)), "0x1000");
    assert_eq!(levels(Some(2)), "0x1000 {id = 3, next = 0x2000 {id = 4, kind = 0}}");
    assert_eq!(
        c.forms(&first, &object, &choice(&["next.id"])),
        ["0x1000 {next = 0x2000 {id = 4}}", r#"{"@":"0x1000","to":{"next":{"@":"0x2000","to":{"id":4}}}}"#]
    );
}

#[test]
fn long_values_have_several_lines() {
    let byte = integer("u8", 1, false);
    let inner = structure("Inner", 2, &[("first", 0, &byte), ("second", 1, &byte)]);
    let names = ["one_rather_long_name", "another_rather_long_name", "inner"];
    let outer = structure("Outer", 4, &[(names[0], 0, &byte), (names[1], 1, &byte), (names[2], 2, &inner)]);
    let lines = |tree: &ValueTree, language, indentation| {
        let mut out = String::new();
        write_lines(tree, language, indentation, &mut out);
        out
    };
    let tree = RUST.tree(&outer, &[1, 2, 3, 4], &whole());
    let expected = "Outer {\n      one_rather_long_name: 1,\n      another_rather_long_name: 2,\n      inner: Inner { first: 3, second: 4 },\n  }";
    assert_eq!(lines(&tree, Language::Rust, 2), expected);
    let ValueTree::Structure(structure) = &tree else { panic!("{tree:?}") };
    let Some(MemberValue { value, .. }) = structure.members.last() else { panic!("{tree:?}") };
    assert_eq!(lines(value, Language::C, 2), "{first = 3, second = 4}");
    let limited = Case { limits: Limits { output: 60, ..RUST.limits }, ..RUST };
    let tree = limited.tree(&outer, &[1, 2, 3, 4], &whole());
    assert!(tree.is_cut());
    assert_eq!(
        lines(&tree, Language::Rust, 0),
        "Outer { one_rather_long_name: 1, another_rather_long_name: 2, inner: .. }"
    );
}

#[test]
fn a_reference_that_a_limit_leaves_out_is_cut() {
    let int = integer("i32", 4, true);
    let chunks = [(0x1000, words(&[0x2000])), (0x2000, words(&[5]))];
    let chunks = chunks.each_ref().map(|(address, bytes)| (*address, &bytes[..]));
    let text = |of: &Type| case(&chunks).forms(of, &words(&[0x1000]), &whole());
    assert_eq!(text(&pointer("&T", &pointer("&T", &int))), ["&..", "{\"..\":null}"]);
    let left_out = of("T", 4, Shape::Opaque(OpaqueReason::TooManyTypes));
    assert_eq!(text(&pointer("&T", &left_out)), ["..", "{\"..\":null}"]);
    let declared = of("T", 4, Shape::Opaque(OpaqueReason::OnlyDeclared));
    assert_eq!(text(&pointer("&T", &declared))[0], "0x1000");
}

#[test]
fn a_vector_with_more_elements_than_it_has_room_for_is_inconsistent() {
    let (byte, word) = (integer("u8", 1, false), integer("usize", 8, false));
    let raw = of("*u8", 8, Shape::Pointer { to: Some(Arc::clone(&byte)) });
    let sequence = Sequence {
        kind: SequenceKind::Elements,
        data: member("", 0, &raw),
        offset: 0,
        length: member("", 8, &word),
        capacity: Some(member("", 16, &word)),
        element: Some(byte),
    };
    let of = of("Vec<u8>", 24, Shape::Sequence(Arc::new(sequence)));
    let chunks: &[(u64, &[u8])] = &[(0x1000, &[1, 2, 3])];
    let text = |length, capacity| case(chunks).forms(&of, &words(&[0x1000, length, capacity]), &whole())[0].clone();
    assert_eq!([text(2, 3), text(3, 3), text(3, 2)], ["[1, 2]", "[1, 2, 3]", "<inconsistent>"]);
}

#[test]
fn a_type_of_the_program_is_none_of_the_library() {
    let int = integer("u32", 4, false);
    let range = |name: &str| {
        let members = [member("start", 0, &int), member("end", 4, &int)];
        of(name, 8, Shape::Struct { members: members.into() })
    };
    let text = |name| RUST.forms(&range(name), &[1, 0, 0, 0, 5, 0, 0, 0], &whole())[0].clone();
    assert_eq!(text("Range<u32>"), "1..5");
    assert_eq!(text("shop::Range<u32>"), "Range { start: 1, end: 5 }");
}
