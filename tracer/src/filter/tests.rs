use super::*;
use crate::plan::{
    Aggregate, Condition, Input, LONGEST_TEXT, PlannedArgument, PlannedSite, Reading, Source, UnreadReason,
};
use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::location::Expr;
use tools::Choices;

/// The text of the range of an error, and its kind.
fn error(text: &str) -> (&str, FilterErrorKind) {
    let error = Filter::parse(text).expect_err(text);
    (&text[error.range], error.kind)
}

fn shape(syntax: &Syntax) -> String {
    let operand = |operand: &Operand| match &operand.term {
        Term::Name(name) => name.to_string(),
        Term::Integer(value) => value.to_string(),
        Term::Text(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
    };
    match syntax {
        Syntax::Or(a, b) => format!("({} || {})", shape(a), shape(b)),
        Syntax::And(a, b) => format!("({} && {})", shape(a), shape(b)),
        Syntax::Not(a) => format!("!{}", shape(a)),
        Syntax::Compare(it) => format!("{} {:?} {}", operand(&it.left), it.operator, operand(&it.right)),
    }
}

fn parsed(text: &str) -> String {
    shape(Filter::parse(text).unwrap_or_else(|why| panic!("{text}: {why} at {:?}", why.range)).syntax())
}

#[test]
fn filters_are_parsed_as_c_does() {
    let expected = [
        ("a==1", "a Equal 1"),
        (" a != -0x1F ", "a NotEqual -31"),
        (
            "1 < a && b <= 2 || !(c > 3) && d >= 1_000",
            "((1 Less a && b LessEqual 2) || (!c Greater 3 && d GreaterEqual 1000))",
        ),
        ("a==1||b==2&&c==3", "(a Equal 1 || (b Equal 2 && c Equal 3))"),
        ("(a==1||b==2)&&c==3", "((a Equal 1 || b Equal 2) && c Equal 3)"),
        ("!!(a==1)", "!!a Equal 1"),
        ("self . depth > 3", "self.depth Greater 3"),
        ("req -> tag == *p", "req->tag Equal *p"),
        ("a [ i + 1 ] == ns::x", "a[i+1] Equal ns::x"),
        ("**p.q[b[1]] == &x", "**p.q[b[1]] Equal &x"),
        ("self.0 == a->b", "self.0 Equal a->b"),
        ("`x as u32 + f(y)` == 'x'", "xasu32+f(y) Equal 120"),
        (
            "a == '\\n' && b == '\\x41' && c == '\\u{e9}' && d == 'é'",
            "(((a Equal 10 && b Equal 65) && c Equal 233) && d Equal 233)",
        ),
        ("name == \"a \\\"b\\\" \\x43\"", "name Equal \"a \\\"b\\\" C\""),
        ("done == true && x != false", "(done Equal 1 && x NotEqual 0)"),
        (
            "a == 18446744073709551615 && b == -9223372036854775808",
            "(a Equal 18446744073709551615 && b Equal -9223372036854775808)",
        ),
    ];
    for (text, shape) in expected {
        assert_eq!(parsed(text), shape, "{text}");
    }
}

#[test]
fn errors_have_ranges() {
    let expected = [
        ("", "", FilterErrorKind::Expected(Expectation::Operand)),
        ("a", "", FilterErrorKind::Expected(Expectation::Comparison)),
        ("a = 1", "=", FilterErrorKind::Assignment),
        ("a == 1 | b == 2", "|", FilterErrorKind::Single('|')),
        ("a == 1 & b == 2", "& b", FilterErrorKind::Expected(Expectation::Connective)),
        ("a == 1 & 2", "&", FilterErrorKind::Single('&')),
        ("a == 12x", "12x", FilterErrorKind::Number),
        ("a == 0x", "0x", FilterErrorKind::Number),
        ("a == -", "-", FilterErrorKind::Number),
        ("a > 1.5", "1.5", FilterErrorKind::Fraction),
        ("a == 010", "010", FilterErrorKind::LeadingZero),
        ("a == 18446744073709551616", "18446744073709551616", FilterErrorKind::TooLarge),
        ("a == -9223372036854775809", "-9223372036854775809", FilterErrorKind::TooLarge),
        ("a == \"x", "\"x", FilterErrorKind::Unterminated(Quote::Text)),
        ("a == 'x", "'x", FilterErrorKind::Unterminated(Quote::Character)),
        ("a == 'xy'", "'xy'", FilterErrorKind::OneCharacter),
        ("a == ''", "''", FilterErrorKind::OneCharacter),
        ("`a == 1", "`a == 1", FilterErrorKind::Unterminated(Quote::Name)),
        ("`` == 1", "``", FilterErrorKind::NoName),
        ("a[1 == 1", "a[1 == 1", FilterErrorKind::Unterminated(Quote::Index)),
        ("a. == 1", "a.", FilterErrorKind::NoName),
        ("* == 1", "*", FilterErrorKind::NoName),
        ("a == \"\\q\"", "\\q", FilterErrorKind::Escape),
        ("a == '\\u{d800}'", "\\u{d800", FilterErrorKind::Escape),
        ("1 == 2", "1 == 2", FilterErrorKind::OnlyLiterals),
        ("(a == 1", "", FilterErrorKind::Expected(Expectation::Close)),
        ("a == 1)", ")", FilterErrorKind::Expected(Expectation::Connective)),
        ("a == 1 b == 2", "b", FilterErrorKind::Expected(Expectation::Connective)),
        ("a == && b", "&&", FilterErrorKind::Expected(Expectation::Operand)),
        ("!a == 1", "a", FilterErrorKind::NotWithoutParentheses),
        ("a == 1 ? 2", "?", FilterErrorKind::Character('?')),
        ("é == §", "§", FilterErrorKind::Character('§')),
    ];
    for (text, range, kind) in expected {
        assert_eq!(error(text), (range, kind), "{text}");
    }
    let deep = format!("{}a == 1{}", "(".repeat(65), ")".repeat(65));
    assert_eq!(error(&deep).1, FilterErrorKind::TooDeep);
    assert_eq!(error(&["a == 1"; 65].join(" || ")).1, FilterErrorKind::TooLong);
    assert!(Filter::parse(&["a == 1"; 64].join(" || ")).is_ok());
}

#[test]
fn no_tokens_make_the_parser_panic() {
    const TOKENS: [&str; 40] = [
        "a",
        "b->c",
        "*",
        "&",
        "&&",
        "||",
        "|",
        "!",
        "(",
        ")",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "=",
        "1",
        "-",
        "0x",
        "0",
        "255",
        "-1",
        "1.5",
        "\"",
        "\"x\"",
        "'",
        "'y'",
        "\\",
        "`",
        "`f(x)`",
        "[",
        "]",
        ".",
        "::",
        "é",
        "\u{0}",
        " ",
        "_",
        "18446744073709551615",
    ];
    let mut choices = Choices::new(1);
    let mut good = 0;
    let site = site();
    for _ in 0..200_000 {
        let length = choices.below(12);
        let text: String = (0..length).map(|_| *choices.one(&TOKENS)).collect();
        match Filter::parse(&text) {
            Ok(filter) => {
                good += 1;
                if let Err(unfit) = filter.check(&mut site.clone(), None) {
                    assert!(text.get(unfit.range).is_some());
                }
            }
            Err(error) => assert!(text.get(error.range.clone()).is_some(), "{text}: {error:?}"),
        }
    }
    assert!(good > 100, "{good}");
}

fn number(field: usize, size: u8, kind: NumberKind) -> Source {
    Source::Read(Reading::Number { field, size, kind })
}

/// A site with arguments of several types.
fn site() -> PlannedSite {
    let constant = Source::Read(Reading::Constant { bits: 0xfe, size: 1, kind: NumberKind::Signed });
    let either = Source::Either(
        Reading::Number { field: 0, size: 4, kind: NumberKind::Unsigned },
        Reading::Constant { bits: 7, size: 4, kind: NumberKind::Unsigned },
    );
    let arguments = [
        ("s8", number(0, 1, NumberKind::Signed)),
        ("u8", number(0, 1, NumberKind::Unsigned)),
        ("u64", number(1, 8, NumberKind::Unsigned)),
        ("s64", number(1, 8, NumberKind::Signed)),
        ("req -> tag", number(0, 4, NumberKind::Unsigned)),
        ("f", number(0, 8, NumberKind::Float)),
        ("c", constant),
        ("d", either),
        ("name", Source::Read(Reading::Text { field: 2 })),
        ("short", Source::Read(Reading::Text { field: 3 })),
        ("lost", Source::Unread(UnreadReason::TooMany)),
        ("texts", Source::Either(Reading::Text { field: 2 }, Reading::Text { field: 3 })),
    ];
    let argument = |(text, source): (&str, Source)| PlannedArgument::new(text.into(), source);
    let address = || Expr::constant(0x1000);
    PlannedSite {
        image: 0,
        marker: 0,
        function: None,
        address: Vaddr(0),
        probe: Vaddr(0),
        offset: FileOffset(0),
        switch: None,
        entry_stack_pointer: None,
        task: None,
        frame: None,
        inputs: vec![
            Input::Number(address()),
            Input::Number(address()),
            Input::Text { address: address(), limit: None, most: 256 },
            Input::Text { address: address(), limit: None, most: 5 },
        ],
        arguments: arguments.into_iter().map(argument).collect(),
        members: Vec::new(),
        notes_task: false,
        filter: None,
        aggregate: Aggregate::Hits,
        recorded: None,
        exit: None,
    }
}

fn checked(text: &str) -> Result<Condition, (String, Mismatch)> {
    let filter = Filter::parse(text).expect(text);
    filter.check(&mut site(), None).map_err(|unfit| (text[unfit.range].to_owned(), unfit.why))
}

#[test]
fn types_are_checked() {
    let decided = |is_true, range| Mismatch::Decided { is_true, range };
    let name = |name: &str| std::sync::Arc::<str>::from(name);
    let long = format!("name == {:?}", "x".repeat(64));
    let expected = [
        ("u8 == 1 && s8 < 128", "s8 < 128", decided(true, (-128, 127))),
        ("s8 == 200", "s8 == 200", decided(false, (-128, 127))),
        ("-1 == u8", "-1 == u8", decided(false, (0, 255))),
        ("u64 >= 0", "u64 >= 0", decided(true, (0, u64::MAX.into()))),
        ("300 != u8", "300 != u8", decided(true, (0, 255))),
        ("f == 1", "f", Mismatch::Float),
        ("u8 == f", "f", Mismatch::Float),
        ("name < \"x\"", "name < \"x\"", Mismatch::TextOrder),
        ("name == 1", "name", Mismatch::TextWithNumber),
        ("u8 == \"x\"", "u8", Mismatch::NumberWithText),
        ("name == short", "name == short", Mismatch::TwoTexts),
        ("name == u8", "name", Mismatch::Text),
        ("short == \"12345\"", "short == \"12345\"", Mismatch::LongerThan { most: 4, is_limit: false }),
        (&long, &long, Mismatch::LongerThan { most: LONGEST_TEXT, is_limit: true }),
        ("name == \"a\\0\"", "name == \"a\\0\"", Mismatch::Nul),
        ("u8 == 1 || lost == 1", "lost", Mismatch::Unread { name: name("lost"), why: Box::new(UnreadReason::TooMany) }),
        ("texts == \"x\"", "texts", Mismatch::Doubtful { name: name("texts"), why: None }),
    ];
    for (text, range, why) in expected {
        assert_eq!(checked(text), Err((range.to_owned(), why)), "{text}");
    }
    let Err((_, Mismatch::Unknown { closest, .. })) = checked("shrt == 1") else { panic!("it is known") };
    assert_eq!(closest.first().map(String::as_str), Some("short"));
}

#[test]
fn constants_are_folded() {
    assert_eq!(checked("c == -2"), Ok(Condition::Known(true)));
    assert_eq!(checked("c == 1000 || !(c < 0)"), Ok(Condition::Known(false)));
    assert_eq!(checked("c == -2 && u8 == 3"), checked("u8 == 3"));
    assert_eq!(checked("u8 == c"), Ok(Condition::Known(false)));
    assert_eq!(checked("req->tag == 3").map(|condition| condition.inputs()), Ok(vec![0]));
    let both = checked("s64 < u64 && name != \"x\" && d == 7").map(|condition| condition.inputs());
    assert_eq!(both, Ok(vec![1, 2, 0]));
}
