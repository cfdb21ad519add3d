//! Generates programs in C++ whose arguments are references, and names that only C++ resolves: random
//! signatures (by value, `&`, `const &`, `&&`), structured bindings, loops over ranges, captures of
//! nested lambdas, members without `this->`, static members, and members of bases.
//!
//! Each value goes into the result, so an optimiser has to compute it.

use std::fmt::Write as _;

use crate::tools::Choices;

/// The types of values: how C++ writes them, their conversions, and how a number becomes one.
const TYPES: [(&str, &str, &str); 9] = [
    ("int", "%d", "int(n)"),
    ("unsigned", "%u", "unsigned(n) * 2654435761u"),
    ("long", "%ld", "-long(n) * 1000003"),
    ("short", "%hd", "short(n * 7)"),
    ("signed char", "%hhd", "(signed char)(n * 3)"),
    ("bool", "%d", "(n & 1) != 0"),
    ("plain", "%u", "plain(n % 3)"),
    ("long *", "%p", "&numbers[n & 7]"),
    ("const char *", "%s", "names[n & 3]"),
];

const HEAD: &str = r#"#include <cstdio>
#include <cstdlib>
#include "simple_marker.h"
enum plain { NONE, ONE, TWO };
static long numbers[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
static const char *const names[4] = { "", "one", "three", "fifteen chars.." };
static unsigned long total;
#define NOINLINE __attribute__((noinline))
template <class T> NOINLINE void use(const T &value) { total = total * 31 + (unsigned long)(value); }
template <> NOINLINE void use(long *const &value) { total = total * 31 + *value; }
template <> NOINLINE void use(const char *const &value) { total = total * 31 + *value; }
"#;

/// A program of so many functions.
#[must_use]
pub fn text(seed: u64, functions: usize) -> String {
    let mut writer = Writer { choices: Choices::new(seed ^ 0x7265_6665), out: HEAD.to_owned(), calls: String::new() };
    for number in 0..functions {
        match number % 5 {
            0 | 1 => writer.signature(number),
            2 => writer.bindings(number),
            3 => writer.class(number),
            _ => writer.lambdas(number),
        }
    }
    let Writer { mut out, calls, .. } = writer;
    let _ = write!(
        out,
        "int main(int, char **arguments) {{\n    long rounds = arguments[1] ? atol(arguments[1]) : 5;\n    \
         for (long n = 1; n <= rounds; n++) {{\n{calls}    }}\n    printf(\"%lu\\n\", total);\n    return 0;\n}}\n"
    );
    out
}

struct Writer {
    choices: Choices,
    out: String,
    calls: String,
}

/// An argument of a marker: its conversion and its text.
type Shown = (&'static str, String);

impl Writer {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *self.choices.one(from)
    }

    /// An optimiser may give a static function other parameters.
    fn linkage(&mut self) -> &'static str {
        self.pick(&["", "static "])
    }

    fn line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "    ".repeat(indent));
    }

    /// A marker, and then a use of each of its arguments.
    fn marker(&mut self, indent: usize, name: &str, shown: &[Shown]) {
        let anchor = self.pick(&["_anchor", "_anchor", ""]);
        let format: Vec<&str> = shown.iter().map(|(conversion, _)| *conversion).collect();
        let arguments: Vec<&str> = shown.iter().map(|(_, text)| text.as_str()).collect();
        let text = format!("simple_mark{anchor}(ref:{name}, \"{}\", {});", format.join(" "), arguments.join(", "));
        self.line(indent, &text);
        for (_, argument) in shown {
            self.line(indent, &format!("use({argument});"));
        }
    }

    /// Parameters of random types, passed in a random way.
    fn signature(&mut self, number: usize) {
        let (mut parameters, mut given, mut before, mut shown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for index in 0..2 + self.choices.below(5) {
            let (of, conversion, value) = self.pick(&TYPES);
            let separator = if of.ends_with('*') { "" } else { " " };
            let name = format!("p{index}");
            let how = self.pick(&["", "&", "&", "const &", "&&"]);
            before.push(format!("{of}{separator}{name} = {value};"));
            parameters.push(match how {
                "const &" => format!("{of}{separator}const &{name}"),
                how => format!("{of}{separator}{how}{name}"),
            });
            given.push(if how == "&&" { format!("static_cast<{of}{separator}&&>({name})") } else { name.clone() });
            shown.push((conversion, name));
        }
        let linkage = self.linkage();
        self.line(0, &format!("{linkage}NOINLINE void f{number}({}) {{", parameters.join(", ")));
        self.marker(1, &format!("f{number}"), &shown);
        self.line(0, "}");
        let _ = writeln!(self.calls, "        {{ {} f{number}({}); }}", before.join(" "), given.join(", "));
    }

    /// Two members of random types.
    fn members(&mut self) -> [(&'static str, &'static str, &'static str); 2] {
        [self.pick(&TYPES), self.pick(&TYPES)]
    }

    /// A loop over a range, structured bindings of its elements, and a structure with references.
    fn bindings(&mut self, number: usize) {
        let [one, two] = self.members();
        self.line(0, &format!("struct s{number} {{ {} a; {} b; {} &c; }};", one.0, two.0, one.0));
        let linkage = self.linkage();
        self.line(0, &format!("{linkage}NOINLINE void f{number}(s{number} (&all)[2]) {{"));
        self.line(1, "for (auto &each : all) {");
        self.marker(2, &format!("f{number}_each"), &[(one.1, "each.a".to_owned()), (one.1, "each.c".to_owned())]);
        let how = self.pick(&["auto &", "const auto &", "auto "]);
        self.line(2, "{");
        self.line(3, &format!("{how}[x, y, z] = each;"));
        let shown = [(one.1, "x".to_owned()), (two.1, "y".to_owned()), (one.1, "z".to_owned())];
        self.marker(3, &format!("f{number}_bound"), &shown);
        self.line(2, "}");
        self.line(1, "}");
        self.line(0, "}");
        let _ = writeln!(
            self.calls,
            "        {{ {} other = {}; s{number} all[2] = {{ {{ {}, {}, other }}, {{ {}, {}, other }} }}; f{number}(all); }}",
            one.0, one.2, one.2, two.2, one.2, two.2
        );
    }

    /// Members without `this->`: of the class, of its base, static ones, and behind references.
    fn class(&mut self, number: usize) {
        let [one, two] = self.members();
        self.line(0, &format!("struct b{number} {{ {} inherited; static int shared; }};", one.0));
        self.line(0, &format!("int b{number}::shared = {number};"));
        self.line(0, &format!("struct c{number} : b{number} {{"));
        self.line(1, &format!("{} own; {} &refers; static int single;", two.0, one.0));
        self.line(
            1,
            &format!(
                "c{number}({} first, {} second, {} &third) : own(second), refers(third) {{ inherited = first; }}",
                one.0, two.0, one.0
            ),
        );
        let of_const = self.pick(&["", " const"]);
        self.line(1, &format!("NOINLINE void run(int n, {} const &given){of_const} {{", two.0));
        let shown = [
            (two.1, "own".to_owned()),
            (one.1, "inherited".to_owned()),
            (one.1, "refers".to_owned()),
            ("%d", "shared".to_owned()),
            ("%d", "single".to_owned()),
            ("%d", "n".to_owned()),
            (two.1, "given".to_owned()),
        ];
        self.marker(2, &format!("c{number}"), &shown);
        self.line(2, "auto inner = [&](int k) __attribute__((noinline)) {");
        let shown = [
            (two.1, "own".to_owned()),
            (one.1, "this->inherited".to_owned()),
            ("%d", "n".to_owned()),
            ("%d", "k".to_owned()),
            (two.1, "given".to_owned()),
        ];
        self.marker(3, &format!("c{number}_inner"), &shown);
        self.line(2, "};");
        self.line(2, "inner(n + 1);");
        self.line(1, "}");
        self.line(0, "};");
        self.line(0, &format!("int c{number}::single = {number} + 1;"));
        let _ = writeln!(
            self.calls,
            "        {{ {} third = {}; c{number} object({}, {}, third); {} given = {}; object.run(int(n), given); \
             c{number}::single++; c{number}::shared += 2; }}",
            one.0, one.2, one.2, two.2, two.0, two.2
        );
    }

    /// Lambdas that capture by reference and by value, in another one.
    fn lambdas(&mut self, number: usize) {
        let [one, two] = self.members();
        let outer = self.pick(&["&", "=", "&p, q"]);
        let inner = self.pick(&["&", "="]);
        let linkage = self.linkage();
        self.line(0, &format!("{linkage}NOINLINE void f{number}({} &p, {} q) {{", one.0, two.0));
        self.line(1, &format!("auto outer = [{outer}](int k) __attribute__((noinline)) {{"));
        let shown = [(one.1, "p".to_owned()), (two.1, "q".to_owned()), ("%d", "k".to_owned())];
        self.marker(2, &format!("f{number}_outer"), &shown);
        self.line(2, "int local = k * 3;");
        self.line(2, &format!("auto inner = [{inner}](int m) __attribute__((noinline)) {{"));
        self.line(3, "int within = m + local;");
        let shown =
            [(one.1, "p".to_owned()), (two.1, "q".to_owned()), ("%d", "local".to_owned()), ("%d", "within".to_owned())];
        self.marker(3, &format!("f{number}_inner"), &shown);
        self.line(2, "};");
        self.line(2, "inner(k + 1);");
        self.line(1, "};");
        self.line(1, "outer(int(total & 63));");
        self.line(0, "}");
        let _ = writeln!(self.calls, "        {{ {} p = {}; f{number}(p, {}); }}", one.0, one.2, two.2);
    }
}
