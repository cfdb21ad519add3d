//! Generates programs in C++ whose arguments are references, and names that only C++ resolves: random
//! signatures (by value, `&`, `const &`, `&&`), templates, references to arrays and pointers, structured
//! bindings, loops over ranges, captures of nested lambdas, members without `this->`, static members, and
//! members of bases and of classes around.
//!
//! Each value goes into the result, so an optimiser has to compute it. Each member has the name of a
//! global variable, which a wrong lookup would find.

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
volatile int own = -901, inherited = -902, refers = -903, shared = -904, single = -905, first = -906, second = -907;
volatile int around = -908, deep = -909, of_root = -910, of_left = -911, a = -912, b = -913, c = -914;
volatile int outside = -915, constant = -916;
"#;

/// A program of so many functions.
#[must_use]
pub fn text(seed: u64, functions: usize) -> String {
    let mut writer = Writer { choices: Choices::new(seed ^ 0x7265_6665), out: HEAD.to_owned(), calls: String::new() };
    for number in 0..functions {
        match number % 8 {
            0 | 1 => writer.signature(number),
            2 => writer.bindings(number),
            3 => writer.class(number),
            4 => writer.template(number),
            5 => writer.nested(number),
            6 => writer.virtual_base(number),
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

    /// A template whose parameters are references to members, arrays and pointers, and a class of it with a
    /// base that depends on its parameter.
    fn template(&mut self, number: usize) {
        let [one, two] = self.members();
        self.line(0, &format!("template <class T> struct b{number} {{ T first; const T &second; T list[2]; }};"));
        self.line(0, &format!("template <class T, class U> struct t{number} : b{number}<T> {{"));
        self.line(1, &format!("using b{number}<T>::first; using b{number}<T>::second; U own;"));
        self.line(
            1,
            &format!("t{number}(T one, const T &other, U two) : b{number}<T>{{ one, other, {{ one, other }} }}, own(two) {{}}"),
        );
        self.line(1, "NOINLINE void run(U &given) {");
        let shown = [
            (one.1, "first".to_owned()),
            (one.1, "second".to_owned()),
            (one.1, "this->list[1]".to_owned()),
            (two.1, "own".to_owned()),
            (two.1, "given".to_owned()),
        ];
        self.marker(2, &format!("t{number}"), &shown);
        self.line(1, "}");
        self.line(0, "};");
        let linkage = self.linkage();
        self.line(
            0,
            &format!(
                "template <class T, class U> {linkage}NOINLINE void f{number}\
                 (T &&moved, const t{number}<T, U> &object, U (&all)[3], U *&pointer) {{"
            ),
        );
        let shown = [
            (one.1, "moved".to_owned()),
            (one.1, "object.first".to_owned()),
            (one.1, "object.second".to_owned()),
            (two.1, "object.own".to_owned()),
            (two.1, "all[2]".to_owned()),
            (two.1, "*pointer".to_owned()),
        ];
        self.marker(1, &format!("f{number}"), &shown);
        self.line(0, "}");
        let _ = writeln!(
            self.calls,
            "        {{ {0} one = {1}; {0} other = {1}; {2} all[3] = {{ {3}, {3}, {3} }}; {2} *pointer = &all[n % 3]; \
             t{number}<{0}, {2}> object(one, other, all[1]); object.run(all[0]); \
             f{number}<{0}, {2}>(static_cast<{0} &&>(one), object, all, pointer); }}",
            one.0, one.2, two.0, two.2
        );
    }

    /// A class in another one: it names the static members of that and of its base, and a variable of an
    /// inline namespace.
    fn nested(&mut self, number: usize) {
        let [one, two] = self.members();
        self.line(0, &format!("namespace n{number} {{ inline namespace v1 {{ volatile int outside = {number}; }}"));
        self.line(0, &format!("struct b{number} {{ static {} deep; }};", one.0));
        self.line(0, &format!("{} b{number}::deep;", one.0));
        self.line(0, &format!("struct c{number} : b{number} {{"));
        self.line(1, &format!("static {} around;", two.0));
        self.line(1, "struct inner {");
        self.line(2, &format!("{} own;", one.0));
        let of_static = self.pick(&["", "static "]);
        self.line(2, &format!("{of_static}NOINLINE void run(int n) {{"));
        let mut shown = vec![
            (one.1, "deep".to_owned()),
            (two.1, "around".to_owned()),
            ("%d", "outside".to_owned()),
            ("%d", "n".to_owned()),
        ];
        if of_static.is_empty() {
            shown.push((one.1, "own".to_owned()));
        }
        self.marker(3, &format!("c{number}"), &shown);
        self.line(3, "auto inside = [&](int k) __attribute__((noinline)) {");
        shown.push(("%d", "k".to_owned()));
        self.marker(4, &format!("c{number}_inside"), &shown);
        self.line(3, "};");
        self.line(3, "inside(n + 1);");
        self.line(2, "}");
        self.line(1, "};");
        self.line(0, "};");
        self.line(0, &format!("{} c{number}::around; }}", two.0));
        let _ = writeln!(
            self.calls,
            "        {{ using namespace n{number}; b{number}::deep = {}; c{number}::around = {}; \
             c{number}::inner object{{ {} }}; object.run(int(n)); }}",
            one.2, two.2, one.2
        );
    }

    /// A virtual base, whose place only the running program knows, and a constant of a class.
    fn virtual_base(&mut self, number: usize) {
        let [one, two] = self.members();
        self.line(0, &format!("struct r{number} {{ {} of_root; }};", one.0));
        self.line(0, &format!("struct l{number} : virtual r{number} {{ {} of_left; }};", two.0));
        self.line(0, &format!("struct m{number} : virtual r{number} {{ enum {{ constant = {number} }}; }};"));
        self.line(0, &format!("struct c{number} : l{number}, m{number} {{"));
        self.line(1, &format!("{} own;", one.0));
        self.line(1, "NOINLINE void run(int n) {");
        let shown = [
            (one.1, "of_root".to_owned()),
            (two.1, "of_left".to_owned()),
            (one.1, "own".to_owned()),
            ("%d", "outside".to_owned()),
            ("%d", "constant".to_owned()),
            ("%d", "n".to_owned()),
        ];
        self.marker(2, &format!("c{number}"), &shown);
        self.line(1, "}");
        self.line(0, "};");
        let _ = writeln!(
            self.calls,
            "        {{ c{number} object; object.of_root = {}; object.of_left = {}; object.own = {}; outside++; \
             object.run(int(n)); }}",
            one.2, two.2, one.2
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
