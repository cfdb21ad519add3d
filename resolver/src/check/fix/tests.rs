//! Corrections of invocations in many styles.

use super::*;
use crate::resolve::DeclaredArgument;

/// A marker as in the record of a program.
fn recorded(name: &str, line: u32, column: Option<u32>, format: &str, args: &[&str]) -> Marker {
    let declared = |text: &&str| DeclaredArgument {
        text: (*text).into(),
        conversion: None,
        words: None,
        mistake: None,
        form: None,
    };
    Marker {
        id: 1,
        name: name.into(),
        file: "queue.rs".into(),
        path: None,
        line,
        column,
        format: format.into(),
        description: "".into(),
        args: args.iter().map(declared).collect(),
        declared: true,
        survival: None,
        is_probe: false,
        is_ghost: false,
        is_note: false,
        is_mark: false,
        inlined_copies: 0,
        task_point: None,
        note: None,
        sites: Vec::new(),
        absence: None,
    }
}

fn keep(indexes: &[usize]) -> Edits {
    Edits { keep: indexes.iter().map(|index| (*index, Keep::Value)).collect(), ..Edits::default() }
}

fn anchored(indexes: &[usize]) -> Edits {
    Edits { anchor: true, ..keep(indexes) }
}

/// The corrected text of the whole file.
fn corrected(path: &str, text: &str, marker: &Marker, edits: &Edits) -> Result<String, FixRefusal> {
    let source = SourceFile::read(path, text.as_bytes());
    let correction = source.correct(marker, edits)?;
    Ok(String::from_utf8(apply(source.bytes(), &correction.replacements)).unwrap())
}

fn rust(text: &str, marker: &Marker, edits: &Edits) -> Result<String, FixRefusal> {
    corrected("queue.rs", text, marker, edits)
}

fn c(text: &str, marker: &Marker, edits: &Edits) -> Result<String, FixRefusal> {
    corrected("queue.c", text, marker, edits)
}

const SEEK: &str = "channel %u: %lu sectors for request %lu";

#[test]
fn one_line() {
    let text =
        format!("fn f() {{\n    simple_mark!(device:seek, \"{SEEK}\", self.index, distance, request.tag);\n}}\n");
    let marker = recorded("device:seek", 2, Some(5), SEEK, &["self.index", "distance", "request.tag"]);
    let line = |text: Result<String, FixRefusal>| text.unwrap().lines().nth(1).unwrap().trim().to_owned();
    assert_eq!(
        line(rust(&text, &marker, &anchored(&[0, 1, 2]))),
        format!(
            "simple_mark!(device:seek, \"{SEEK}\", keep self.index, keep distance, keep request.tag, options(anchor));"
        )
    );
    assert_eq!(
        line(rust(&text, &marker, &keep(&[1]))),
        format!("simple_mark!(device:seek, \"{SEEK}\", self.index, keep distance, request.tag);")
    );
    let source = SourceFile::read("queue.rs", text.as_bytes());
    let lines = source.correct(&marker, &keep(&[0])).unwrap().lines(source.bytes());
    assert_eq!(lines, [format!("simple_mark!(device:seek, \"{SEEK}\", keep self.index, distance, request.tag);")]);
}

#[test]
fn what_is_there_already_stays() {
    let marker = |args: &[&str]| recorded("a:b", 1, Some(1), "%d %d", args);
    let text = "simple_mark!(a:b, \"%d %d\", keep x: i16 = y.z(), w, options( keep /* all */ , ));";
    assert_eq!(rust(text, &marker(&["x", "w"]), &keep(&[0, 1])), Err(FixRefusal::Nothing));
    assert_eq!(
        rust(text, &marker(&["x", "w"]), &anchored(&[1])).unwrap(),
        "simple_mark!(a:b, \"%d %d\", keep x: i16 = y.z(), w, options( keep, anchor /* all */ , ));"
    );
    let text = "simple_mark!(a:b, \"%d %d\", x, w, options(anchor = fast));";
    assert_eq!(
        rust(text, &marker(&["x", "w"]), &anchored(&[1])).unwrap(),
        "simple_mark!(a:b, \"%d %d\", x, keep w, options(anchor = fast));"
    );
    let text = "simple_mark!(a:b, \"%d %d\", keep, keep self.w.0, options(anchor))";
    assert_eq!(
        rust(text, &marker(&["keep", "self.w.0"]), &anchored(&[0, 1])).unwrap(),
        "simple_mark!(a:b, \"%d %d\", keep keep, keep self.w.0, options(anchor))"
    );
}

#[test]
fn several_lines_with_comments() {
    let text = "\
fn f() {
\tsimple_mark!(
\t\ta:b, // the name
\t\t\"%d, (%d)\\n\", /* two, of them */
\t\tself . x, // (one
\t\ty[ 0x1 ], // another
\t);
}
";
    let marker = recorded("a:b", 2, Some(2), "%d, (%d)\n", &["self.x", "y[1]"]);
    assert_eq!(
        rust(text, &marker, &anchored(&[1])).unwrap(),
        "\
fn f() {
\tsimple_mark!(
\t\ta:b, // the name
\t\t\"%d, (%d)\\n\", /* two, of them */
\t\tself . x, // (one
\t\tkeep y[ 0x1 ], // another
\t\toptions(anchor),
\t);
}
"
    );
    let text = text.replace("], // another", "] // another");
    let corrected = rust(&text, &marker, &anchored(&[])).unwrap();
    assert!(corrected.contains("\t\ty[ 0x1 ], // another\n\t\toptions(anchor)\n\t);"), "{corrected}");
    let crlf = text.replace('\n', "\r\n");
    let corrected_crlf = rust(&crlf, &marker, &anchored(&[])).unwrap();
    assert_eq!(corrected_crlf, corrected.replace('\n', "\r\n"));
    let source = SourceFile::read("queue.rs", crlf.as_bytes());
    let lines = source.correct(&marker, &keep(&[0])).unwrap().lines(source.bytes());
    assert_eq!(lines[0], "simple_mark!(");
    assert_eq!((lines[3].as_str(), lines[5].as_str()), ("\tkeep self . x, // (one", ");"));
}

#[test]
fn a_marker_is_found_by_its_column_and_its_record() {
    let text =
        "/* é */ a!(simple_mark!(a:b, r#\"%d \"(\"#, x)); { simple_markers::simple_mark!(a:b, \"%d \\\"(\", x) }\n";
    let marker = |column| recorded("a:b", 1, column, "%d \"(", &["x"]);
    let column = text.chars().count() - text[text.find("simple_markers").unwrap()..].chars().count() + 1;
    let column = Some(u32::try_from(column).unwrap());
    let first = rust(text, &marker(Some(9)), &keep(&[0])).unwrap();
    assert!(first.contains("#, keep x)); {") && first.contains("\", x) }"), "{first}");
    let second = rust(text, &marker(column), &keep(&[0])).unwrap();
    assert!(second.contains("#, x)); {") && second.contains("\", keep x) }"), "{second}");
    assert_eq!(rust(text, &marker(None), &keep(&[0])), Err(FixRefusal::Ambiguous));
    assert_eq!(rust(text, &marker(Some(1)), &keep(&[0])), Err(FixRefusal::Changed));
    let changed = recorded("a:b", 1, column, "%d \"(", &["y"]);
    assert_eq!(rust(text, &changed, &keep(&[0])), Err(FixRefusal::Changed));
    let changed = recorded("a:b", 1, column, "%u", &["x"]);
    assert_eq!(rust(text, &changed, &keep(&[0])), Err(FixRefusal::Changed));
}

#[test]
fn names_are_words_raw_words_and_strings() {
    let text = "mark!(r#fn:self:type, \"\", x); use simple_markers::simple_mark as mark;";
    assert!(rust(text, &recorded("fn:self:type", 1, Some(1), "", &["x"]), &keep(&[0])).is_ok());
    let text = "\u{feff}simple_mark!(\"plain name\", \"%d\", r#type.0.1, &x);";
    let marker = recorded("plain name", 1, Some(1), "%d", &["type.0.1", "&x"]);
    assert!(rust(text, &marker, &keep(&[0, 1])).unwrap().ends_with("keep r#type.0.1, keep &x);"));
}

#[test]
fn values_that_need_a_name_get_a_free_one() {
    let text = "simple_mark!(a:b, \"%d %d %d %d\", tag, self.tag, ::crate_of::COUNT, (*x).tag);";
    let marker = recorded("a:b", 1, Some(1), "%d %d %d %d", &["tag", "self.tag", "::crate_of::COUNT", "(*x).tag"]);
    let edits = Edits {
        keep: [(0, Keep::Pointee(1)), (1, Keep::Pointee(2)), (2, Keep::Value), (3, Keep::Value)].into(),
        ..Edits::default()
    };
    assert_eq!(
        rust(text, &marker, &edits).unwrap(),
        "simple_mark!(a:b, \"%d %d %d %d\", keep tag = *tag, keep tag_2 = **self.tag, keep COUNT = ::crate_of::COUNT, \
         keep (*x).tag);"
    );
}

#[test]
fn what_is_no_number_is_made_one() {
    let text = "simple_mark!(a:b, \"%d %u %p %p\", READY, *cell, object, maybe);";
    let marker = recorded("a:b", 1, Some(1), "%d %u %p %p", &["READY", "*cell", "object", "maybe"]);
    let forms = [Keep::Load, Keep::Get, Keep::Address, Keep::Optional];
    let edits = Edits { keep: forms.into_iter().enumerate().collect(), ..Edits::default() };
    assert_eq!(
        rust(text, &marker, &edits).unwrap(),
        "simple_mark!(a:b, \"%d %u %p %p\", keep READY = READY.load(::core::sync::atomic::Ordering::Relaxed), \
         keep cell = (*cell).get(), keep object = &raw const *object as *const (), \
         keep maybe = maybe.map_or(::core::ptr::null(), ::core::ptr::from_ref));"
    );
}

#[test]
fn markers_that_another_macro_writes_are_refused() {
    let text = "\
macro_rules! traced {
    ($x:expr) => { simple_mark!(a:b, \"%d\", $x) };
}
fn f(x: i32) {
    traced!(x);
    forwards!(a:c, \"%d\", x);
}
";
    let in_macro = |name: &str| Err(FixRefusal::InMacro { name: name.into() });
    assert_eq!(rust(text, &recorded("a:b", 5, Some(5), "%d", &["x"]), &keep(&[0])), in_macro("traced"));
    assert_eq!(rust(text, &recorded("a:b", 2, Some(20), "%d", &["$x"]), &keep(&[0])), in_macro("traced"));
    assert_eq!(rust(text, &recorded("a:c", 6, Some(5), "%d", &["x"]), &keep(&[0])), in_macro("forwards"));
    assert_eq!(rust(text, &recorded("a:c", 4, Some(5), "%d", &["x"]), &keep(&[0])), Err(FixRefusal::Changed));
}

#[test]
fn what_is_no_source_is_refused() {
    let marker = recorded("a:b", 1, Some(1), "%d", &["x"]);
    let of = |path: &str, bytes: &[u8]| SourceFile::read(path, bytes).correct(&marker, &keep(&[0]));
    assert_eq!(of("a.rs", b"simple_mark!(a:b, \"%d\", x); // \xff"), Err(FixRefusal::NotUtf8));
    assert_eq!(of("a.rs", b"simple_mark!(a:b, \"%d\", x"), Err(FixRefusal::NotTokens));
    assert_eq!(of("a.zig", b"simple_mark!(a:b, \"%d\", x)"), Err(FixRefusal::UnknownLanguage));
    assert_eq!(of("a", b""), Err(FixRefusal::UnknownLanguage));
    // C files may have any encoding.
    let correction = of("a.c", b"simple_mark(a:b, \"%d\", x); // \xff").unwrap();
    assert_eq!(
        apply(b"simple_mark(a:b, \"%d\", x); // \xff", &correction.replacements),
        b"simple_mark_keep(a:b, \"%d\", x); // \xff"
    );
}

#[test]
fn macros_of_c() {
    let marker = |args: &[&str]| recorded("a:b", 1, None, "%d", args);
    let of = |name: &str, edits: &Edits| c(&format!("{name}(a:b, \"%d\", x->y [ 1 ]);"), &marker(&["x->y[1]"]), edits);
    let name = |text: Result<String, FixRefusal>| text.map(|text| text.split('(').next().unwrap().to_owned());
    assert_eq!(name(of("simple_mark", &keep(&[0]))).unwrap(), "simple_mark_keep");
    assert_eq!(name(of("trace_simple", &keep(&[0]))).unwrap(), "simple_mark_keep");
    assert_eq!(name(of("trace_simple", &anchored(&[]))).unwrap(), "simple_mark_anchor");
    assert_eq!(name(of("simple_mark", &anchored(&[0]))).unwrap(), "simple_mark_keep_anchor");
    assert_eq!(name(of("simple_mark_anchor", &keep(&[0]))).unwrap(), "simple_mark_keep_anchor");
    assert_eq!(name(of("simple_mark_keep", &anchored(&[0]))).unwrap(), "simple_mark_keep_anchor");
    assert_eq!(name(of("simple_mark_anchor_fast", &keep(&[0]))).unwrap(), "simple_mark_keep_anchor_fast");
    assert_eq!(name(of("simple_mark_anchor_fast", &anchored(&[]))), Err(FixRefusal::Nothing));
    assert_eq!(name(of("simple_mark_keep_anchor_fast", &anchored(&[0]))), Err(FixRefusal::Nothing));
    assert_eq!(name(of("simple_mark_keep", &keep(&[0]))), Err(FixRefusal::Nothing));
    assert_eq!(name(of("simple_mark_keep_anchor", &anchored(&[0]))), Err(FixRefusal::Nothing));
    let nine = "simple_mark(a:b, \"%d\", x, x, x, x, x, x, x, x, x);";
    assert_eq!(c(nine, &marker(&["x"; 9]), &keep(&[0])), Err(FixRefusal::TooMany { count: 9 }));
    for argument in ["f(x)", "x++", "x = 1", "x += 1", "--x", "table[f(1)]", "(*f)(x)"] {
        let text = format!("simple_mark(a:b, \"%d\", {argument});");
        let refused = c(&text, &marker(&[argument]), &keep(&[0]));
        assert!(matches!(refused, Err(FixRefusal::WouldEvaluate { .. })), "{argument}: {refused:?}");
        assert!(c(&text, &marker(&[argument]), &anchored(&[])).is_ok(), "{argument}");
    }
    for argument in ["x == 1", "(*x).y", "sizeof(x)", "a - -b", "x >= y", "&x", "*p->q"] {
        let text = format!("simple_mark(a:b, \"%d\", {argument});");
        assert!(c(&text, &marker(&[argument]), &keep(&[0])).is_ok(), "{argument}");
    }
}

#[test]
fn c_is_divided_into_tokens() {
    let text = "\
#define TRACE(x) \\
    simple_mark(a:traced, \"%d\", x)
#if 0 // simple_mark(a:b, \"%d\", x)
#endif
/* simple_mark(a:b, \"%d\", x); */ char quote = '\\'', *text = \"simple_mark(a:b, \\\"%d\\\", x)\"; // \\
simple_mark(a:b, \"%d\", x)
auto raw = R\"x(simple_mark(a:b, \"%d\", x))\" )x\"; int n = 1'000;
void f(int x) {
    TRACE(x); simple_mark(a:b, \"100%% ) %d\", \\
        x /* , y */); simple_mark(a:c, \"%d\", x); simple_mark(a:c, \"%d\", x);
}
";
    let marker = |name: &str, line: u32| recorded(name, line, None, "", &["x"]);
    for line in [9, 10] {
        let corrected = c(text, &marker("a:b", line), &keep(&[0])).unwrap();
        assert_eq!(corrected, text.replace("; simple_mark(a:b, \"100", "; simple_mark_keep(a:b, \"100"));
    }
    for line in [3, 5, 6, 7] {
        assert_eq!(c(text, &marker("a:b", line), &keep(&[0])), Err(FixRefusal::Changed), "line {line}");
    }
    assert_eq!(c(text, &marker("a:c", 10), &keep(&[0])), Err(FixRefusal::Ambiguous));
    let in_macro = Err(FixRefusal::InMacro { name: "TRACE".into() });
    assert_eq!(c(text, &marker("a:traced", 9), &keep(&[0])), in_macro);
    assert_eq!(c(text, &marker("a:traced", 2), &keep(&[0])), in_macro);
    let crlf = text.replace('\n', "\r\n");
    assert!(
        c(&crlf, &marker("a:b", 9), &keep(&[0])).unwrap().contains("; simple_mark_keep(a:b, \"100%% ) %d\", \\\r\n")
    );
    // Unterminated tokens.
    for text in ["simple_mark(a:b", "\"", "'\\", "/*", "R\"x(", "R\"", "#define", "1'", "\\\r", "//\\"] {
        assert_eq!(c(text, &marker("a:b", 1), &keep(&[0])), Err(FixRefusal::Changed), "{text}");
    }
}

fn plain() -> Edits {
    Edits { plain: true, ..Edits::default() }
}

#[test]
fn a_ghost_becomes_a_marker() {
    let ghost = |line, column, args: &[&str]| Marker { is_ghost: true, ..recorded("a:b", line, column, "%d", args) };
    let marker = ghost(1, Some(1), &["x"]);
    let text = "simple_mark!(a:b, \"%d\", x, options(ghost));";
    assert_eq!(rust(text, &marker, &plain()).unwrap(), "simple_mark!(a:b, \"%d\", x);");
    assert_eq!(rust(text, &marker, &anchored(&[])).unwrap(), "simple_mark!(a:b, \"%d\", x, options(anchor));");
    let both = Edits { plain: true, ..anchored(&[0]) };
    assert_eq!(rust(text, &marker, &both).unwrap(), "simple_mark!(a:b, \"%d\", keep x, options(anchor));");
    assert_eq!(rust(text, &marker, &keep(&[0])).unwrap(), "simple_mark!(a:b, \"%d\", keep x);");
    let commented = "simple_mark!(a:b, \"%d\", x, // why\n    options(ghost),\n);";
    assert_eq!(rust(commented, &marker, &plain()).unwrap(), "simple_mark!(a:b, \"%d\", x, // why\n    \n);");
    let written = "simple_mark!(a:b, \"%d\", x);";
    assert_eq!(rust(written, &marker, &plain()), Err(FixRefusal::ByAttribute));
    assert_eq!(rust(written, &marker, &anchored(&[])).unwrap(), "simple_mark!(a:b, \"%d\", x, options(anchor));");

    let marker = ghost(1, None, &["x"]);
    let text = "simple_mark_ghost(a:b, \"%d\", x);";
    assert_eq!(c(text, &marker, &plain()).unwrap(), "simple_mark(a:b, \"%d\", x);");
    assert_eq!(c(text, &marker, &anchored(&[])).unwrap(), "simple_mark_anchor(a:b, \"%d\", x);");
    assert_eq!(c(text, &marker, &keep(&[0])).unwrap(), "simple_mark_keep(a:b, \"%d\", x);");
    assert_eq!(c("simple_mark(a:b, \"%d\", x);", &marker, &plain()), Err(FixRefusal::Nothing));
}

#[test]
fn a_format_in_rusts_notation_is_found_and_keeps_nothing() {
    let marker = |format: &str, args: &[&str]| recorded("a:b", 1, Some(1), format, args);
    for (written, format, args) in [
        (r#""{id} of {}, 5%", self.depth"#, "%p{:} of %p{:}, 5%%", ["id", "self.depth"]),
        (r#""{1:?} {0}", x, *y"#, "%p{} %p{:}", ["*y", "x"]),
        (r#""{depth} {x.y}", depth = self.queue.depth"#, "%p{:} %p{:}", ["self.queue.depth", "x.y"]),
        (r#""{x} {n:#x}", keep n: u8 = f(), keep x: u32"#, "%p{:} %p{:#x}", ["x", "n"]),
    ] {
        let (text, marker) = (format!("simple_mark!(a:b, {written});"), marker(format, &args));
        let anchor = Edits { anchor: true, ..Edits::default() };
        let expected = format!("simple_mark!(a:b, {written}, options(anchor));");
        assert_eq!(rust(&text, &marker, &anchor), Ok(expected), "{written}");
        for edits in [keep(&[0]), Edits { probe: true, ..Edits::default() }] {
            assert_eq!(rust(&text, &marker, &edits), Err(FixRefusal::WholeValue), "{written}");
        }
    }
    let text = r#"simple_mark!(a:b, "{id} {}", x);"#;
    assert_eq!(rust(text, &marker("%p{:} %p{:}", &["x", "id"]), &anchored(&[])), Err(FixRefusal::Changed));
}
