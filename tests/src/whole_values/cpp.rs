//! Programs in C++ with random types. `tests/whole/make.h` and `make.hpp` make their values, and print
//! them.

use std::fmt::Write as _;

use crate::tools::Choices;

const PLAIN: [&str; 15] = [
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "__int128",
    "float",
    "double",
    "char *",
];
const KEYS: [&str; 6] = ["int", "unsigned char", "long", "std::string", "bool", "unsigned"];
const ANY: [&str; 5] = ["std::string", "std::string", "std::string_view", "std::function<int(int)>", "std::monostate"];

struct Generator {
    choices: Choices,
    /// How many structures were declared.
    structures: usize,
    code: String,
}

/// A program in C++ that passes `values` random values to each of `functions` functions. Each prints its
/// value to the file that the first argument names, and then marks it: `whole:m3`.
#[must_use]
pub fn cpp(seed: u64, functions: usize, values: usize) -> String {
    let mut generator = Generator { choices: Choices::new(seed), structures: 0, code: String::new() };
    let mut calls = String::new();
    for number in 0..functions {
        if number % 3 == 0 {
            generator.structure();
        }
        let of = match number % 4 {
            0 if generator.structures > 0 => format!("S{}", generator.structures - 1),
            // `%p{}` shows what a pointer leads to, and the program the pointer.
            _ => Some(generator.of(4)).filter(|of| of != "char *").unwrap_or_else(|| "std::string".to_owned()),
        };
        // The arguments of a macro end at each comma.
        let _ = writeln!(
            generator.code,
            "typedef {of} T{number};\n__attribute__((noinline)) static void m{number}(const T{number} *value) {{\n    \
             fputs(\"whole:m{number}: \", said), show<T{number}>(*value), fputc('\\n', said);\n    \
             simple_mark(whole:m{number}, \"%p{{}}\", value);\n    \
             used(value);\n}}\n"
        );
        let _ = writeln!(calls, "        left = below(8) ? 24 : 300, m{number}(new T{number}(make<T{number}>()));");
    }
    format!(
        "{}\n{}\n{}\nint main(int count, char **words) {{\n    begin(count, words, {seed});\n    \
         for (int turn = 0; turn < {values}; turn++) {{\n{calls}    }}\n    return fclose(said);\n}}\n",
        include_str!("../../whole/make.h"),
        include_str!("../../whole/make.hpp"),
        generator.code
    )
}

impl Generator {
    /// A type that is nested at most so deep.
    fn of(&mut self, depth: u32) -> String {
        let Some(next) = depth.checked_sub(1).filter(|_| !self.choices.chance(12)) else {
            let all = if self.choices.chance(60) { &PLAIN[..] } else { &ANY[..] };
            return (*self.choices.one(all)).to_owned();
        };
        let key = *self.choices.one(&KEYS);
        match self.choices.below(34u32) {
            0..=2 => format!("std::vector<{}>", self.not_bool(next)),
            3 => format!("std::list<{}>", self.of(next)),
            4 | 5 => format!("std::deque<{}>", self.of(next)),
            6 => format!("std::forward_list<{}>", self.of(next)),
            7 => format!("std::array<{}, {}>", self.not_char(next), 1 + self.choices.below(4u32)),
            8 => format!("std::{}<{key}>", self.choices.one(&["set", "multiset"])),
            9 => format!("std::{}<{key}>", self.choices.one(&["unordered_set", "unordered_multiset"])),
            10..=12 => format!("std::{}<{key}, {}>", self.choices.one(&["map", "multimap"]), self.of(next)),
            13..=15 => {
                let of = self.of(next);
                format!("std::{}<{key}, {of}>", self.choices.one(&["unordered_map", "unordered_multimap"]))
            }
            16 => format!("std::{}<{}>", self.choices.one(&["stack", "queue"]), self.of(next)),
            17 => format!("std::priority_queue<{}>", self.choices.one(&["int", "std::string", "double"])),
            18 | 19 => format!("std::pair<{}, {}>", self.of(next), self.of(next)),
            20 | 21 => {
                let of: Vec<String> = (0..1 + self.choices.below(3u32)).map(|_| self.of(next)).collect();
                format!("std::tuple<{}>", of.join(", "))
            }
            22 | 23 => {
                let of: Vec<String> = (0..1 + self.choices.below(4u32)).map(|_| self.of(next)).collect();
                format!("std::variant<{}>", of.join(", "))
            }
            24 | 25 => format!("std::optional<{}>", self.of(next)),
            26 | 27 => format!("std::unique_ptr<{}>", self.of(next)),
            28 => format!("std::shared_ptr<{}>", self.of(next)),
            29 => format!("std::weak_ptr<{}>", self.of(next)),
            30 => format!("std::reference_wrapper<{}>", self.of(next)),
            _ if self.structures > 0 && depth < 4 => format!("S{}", self.choices.below(self.structures)),
            _ => (*self.choices.one(&ANY)).to_owned(),
        }
    }

    /// A `std::vector<bool>` has no elements in memory.
    fn not_bool(&mut self, depth: u32) -> String {
        Some(self.of(depth)).filter(|of| of != "bool").unwrap_or_else(|| "int".to_owned())
    }

    /// An array of `char` is a text.
    fn not_char(&mut self, depth: u32) -> String {
        Some(self.of(depth)).filter(|of| of != "char").unwrap_or_else(|| "int".to_owned())
    }

    /// A structure of plain members, bit-fields, arrays, references and types of the library.
    fn structure(&mut self) {
        let number = self.structures;
        let (mut fields, mut makes, mut shows) = (String::new(), Vec::new(), Vec::new());
        let base = (number > 0 && self.choices.chance(30)).then(|| self.choices.below(number));
        if let Some(base) = base {
            makes.push(format!("::make<S{base}>()"));
            shows.push(format!("show<S{base}>(value);"));
        }
        for index in 0..1 + self.choices.below(5u32) {
            let name = format!("f{number}_{index}");
            let label = format!("fputs(\"{name} = \", said); ");
            let (field, made, shown) = match self.choices.below(9u32) {
                0 => {
                    let of = *self.choices.one(&["int", "unsigned", "long", "unsigned char"]);
                    let bits = 1 + self.choices.below(7u32);
                    (format!("{of} {name} : {bits}"), format!("::make<{of}>()"), format!("show<{of}>(value.{name});"))
                }
                1 => {
                    let count = 1 + self.choices.below(12u32);
                    let made = vec!["::make<char>()"; count as usize].join(", ");
                    let shown = format!("show_letters(value.{name}, {count});");
                    (format!("char {name}[{count}]"), format!("{{{made}}}"), shown)
                }
                2 => {
                    let of = self.of(1);
                    let count = if of == "char" { 0 } else { 1 + self.choices.below(3u32) };
                    match count {
                        0 => (format!("{of} {name}"), format!("::make<{of}>()"), format!("show(value.{name});")),
                        count => {
                            let made = vec![format!("::make<{of}>()"); count as usize].join(", ");
                            (format!("{of} {name}[{count}]"), format!("{{{made}}}"), format!("show_all(value.{name});"))
                        }
                    }
                }
                3 => {
                    let of = self.of(2);
                    (format!("{of} &{name}"), format!("::make<{of} &>()"), format!("show<{of}>(value.{name});"))
                }
                _ => {
                    let of = self.of(3);
                    (format!("{of} {name}"), format!("::make<{of}>()"), format!("show<{of}>(value.{name});"))
                }
            };
            let _ = writeln!(fields, "    {field};");
            makes.push(made);
            shows.push(format!("{label}{shown}"));
        }
        let inherits = base.map_or_else(String::new, |base| format!(" : S{base}"));
        let _ = writeln!(
            self.code,
            "struct S{number}{inherits} {{\n{fields}}};\n\
             template <> struct Value<S{number}> {{\n    static S{number} make() {{ return {{{}}}; }}\n    \
             static void show(const S{number} &value) {{\n        fputc('{{', said);\n        {}\n        \
             fputc('}}', said);\n    }}\n}};\n",
            makes.join(", "),
            shows
                .iter()
                .map(|shown| shown.replace("show<", "::show<").replace(" show(", " ::show("))
                .collect::<Vec<_>>()
                .join("\n        fputs(\", \", said);\n        ")
        );
        self.structures += 1;
    }
}
