//! Tests for `trials.rs`: one of each end.

#[macro_use]
extern crate harness;

mod ends {
    #[test]
    fn fails() {
        note!("said before");
        assert_eq!(1 + 1, 3, "a sum");
    }

    #[test]
    fn lacks_tools() {
        assert!(tools::find("no-such-tool").is_none());
        tools::skipped("no right to run");
        let _ = tools::find("no-such-tool");
    }

    #[test]
    fn lacks_a_tool_and_fails() {
        assert!(tools::find("no-such-tool").is_some());
    }

    #[test(cases = [("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O2")], desk = [0, 2])]
    fn has_cases((compiler, level): (&str, &str)) {
        note!("{compiler} {level}");
        assert!(compiler == "gcc", "a case");
    }

    #[test(cases = 1..3)]
    fn counts(number: usize) {
        assert!(number > 0);
    }

    #[test(desk = false)]
    fn takes_long() {}

    #[test]
    fn passes() {
        note!("said by a test that passes");
    }
}

fn main() -> std::process::ExitCode {
    harness::main()
}
