//! Programs in C with random types. `tests/whole/make.h` makes their plain values, and prints them.

use std::fmt::Write as _;

use crate::tools::Choices;

/// What a plain type is called in C, and in the names of the functions of `make.h`.
const NUMBERS: [[&str; 2]; 16] = [
    ["signed char", "schar"],
    ["unsigned char", "uchar"],
    ["short", "short"],
    ["unsigned short", "ushort"],
    ["int", "int"],
    ["unsigned", "uint"],
    ["long", "long"],
    ["unsigned long", "ulong"],
    ["long long", "llong"],
    ["unsigned long long", "ullong"],
    ["__int128", "int128"],
    ["unsigned __int128", "uint128"],
    ["float", "float"],
    ["double", "double"],
    ["char", "char"],
    ["bool", "bool"],
];

/// A type.
#[derive(Clone, Debug)]
enum CType {
    /// A number of `NUMBERS`.
    Number(usize),
    LongDouble,
    Enumeration(usize),
    /// An array of `char`.
    Letters(u32),
    Array(Box<Self>, u32),
    Structure(usize),
    Union(usize),
    /// A pointer to a structure.
    Pointer(usize),
    /// A pointer to a number.
    NumberPointer(usize),
    Text,
    Function,
}

struct Generator {
    choices: Choices,
    /// How deeply each structure is nested, and each union.
    structures: Vec<u32>,
    unions: Vec<u32>,
    enumerations: usize,
    code: String,
}

/// A program in C that passes `values` random values to each of `functions` functions. Each prints its
/// value to the file that the first argument names, and then marks it: `whole:m3`.
#[must_use]
pub fn c(seed: u64, functions: usize, values: usize) -> String {
    let choices = Choices::new(seed);
    let mut generator =
        Generator { choices, structures: Vec::new(), unions: Vec::new(), enumerations: 0, code: String::new() };
    let mut calls = String::new();
    let mut marked = String::new();
    for number in 0..functions {
        let of = match number % 5 {
            0 => generator.enumeration(),
            1 => generator.aggregate(true),
            _ => generator.aggregate(false),
        };
        // `%p{}` follows texts alone, each star one level of pointers more.
        let levels = generator.choices.below(5u32);
        let stars = "*".repeat(levels as usize);
        let follow = levels.saturating_sub(1);
        let (name, show) = (declared(&of, "*value"), shown(&of, "(*value)", &follow.to_string(), 0));
        let _ = writeln!(
            marked,
            "__attribute__((__noinline__)) static void m{number}({name}) {{\n    \
             fputs(\"whole:m{number}: \", said);\n    {show}\n    fputc('\\n', said);\n    \
             simple_mark(whole:m{number}, \"%p{{{stars}}}\", value);\n    \
             used(value);\n}}\n"
        );
        let made = made(&of, "(*value)", "0", 0);
        let _ = writeln!(
            calls,
            "        {{\n            {} = calloc(1, sizeof *value);\n            {made}\n            m{number}(value);\n        }}",
            declared(&of, "*value")
        );
    }
    let prototypes: String = (0..generator.structures.len())
        .map(|of| {
            format!(
                "struct s{of};\nstatic struct s{of} *last_s{of};\nUNUSED void make_s{of}(struct s{of} *value, int depth);\n\
                 UNUSED struct s{of} *made_s{of}(int depth);\nUNUSED void show_s{of}(const struct s{of} *value, int follow);\n"
            )
        })
        .collect();
    format!(
        "{}\n{prototypes}\n{}\n{marked}\nint main(int count, char **words) {{\n    begin(count, words, {seed});\n    \
         for (int turn = 0; turn < {values}; turn++) {{\n{calls}    }}\n    return fclose(said);\n}}\n",
        include_str!("../../whole/make.h"),
        generator.code
    )
}

impl Generator {
    fn enumeration(&mut self) -> CType {
        let number = self.enumerations;
        self.enumerations += 1;
        let are_flags = self.choices.chance(50);
        let mut values: Vec<i64> = Vec::new();
        for index in 0..1 + self.choices.below(5u32) {
            let value = match are_flags {
                true => 1 << (index * (1 + self.choices.below(2u32))),
                false => i64::from(self.choices.below(2000u32)) - i64::from(self.choices.below(2u32) * 1000),
            };
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let name = |index: usize| format!("E{number}_{index}");
        let named = values.iter().enumerate().map(|(index, value)| format!("{} = {value}", name(index)));
        let names = (0..values.len()).map(|index| format!("\"{}\"", name(index))).collect::<Vec<_>>().join(", ");
        let all = values.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let of = values.len();
        let _ = writeln!(
            self.code,
            "enum e{number} {{ {} }};\nUNUSED enum e{number} make_e{number}(void) {{\n    \
             static const int values[] = {{ {all} }};\n    \
             int value = values[below({of})];\n    \
             return (enum e{number})(below(4) ? value : below(2) ? (value | values[below({of})]) : (int)below(64));\n}}\n\
             UNUSED void show_e{number}(enum e{number} value) {{\n    \
             static const char *const names[] = {{ {names} }};\n    \
             static const __int128 values[] = {{ {all} }};\n    \
             if (!say_enumerator(value, {of}, names, values)) say_integer(value, value > 0, sizeof value);\n}}\n",
            named.collect::<Vec<_>>().join(", ")
        );
        CType::Enumeration(number)
    }

    /// A type of a member. In a union it has no pointers, and a value whatever its bits are.
    fn member(&mut self, depth: u32, is_union: bool) -> CType {
        let one = |this: &mut Self| this.choices.below(if is_union { 14usize } else { NUMBERS.len() });
        match self.choices.below(if is_union { 10u32 } else { 20 }) {
            0..=3 => CType::Number(one(self)),
            4 => CType::Letters(1 + self.choices.below(12u32)),
            5 | 6 if depth > 0 => {
                let count = 1 + self.choices.below(4u32);
                match self.member(depth - 1, is_union) {
                    // It is a text.
                    CType::Number(of) if NUMBERS[of][1] == "char" => CType::Letters(count),
                    of => CType::Array(Box::new(of), count),
                }
            }
            7 if self.enumerations > 0 => CType::Enumeration(self.choices.below(self.enumerations)),
            8 | 9 => match self.nested(depth, is_union) {
                Some(of) => of,
                None => CType::Number(one(self)),
            },
            10..=12 => match self.nested(depth, false) {
                Some(of) => of,
                None => CType::Text,
            },
            13 | 14 => CType::Text,
            15 => CType::Function,
            16 => CType::LongDouble,
            // A pointer to `char` is a text.
            17 => CType::NumberPointer(self.choices.below(14usize)),
            // Also to itself.
            18 | 19 => CType::Pointer(self.choices.below(self.structures.len() + 1)),
            _ => CType::Number(one(self)),
        }
    }

    /// A structure or union that is nested at most so deep.
    fn nested(&mut self, depth: u32, is_union: bool) -> Option<CType> {
        let fits = |all: &[u32]| (0..all.len()).filter(|of| all[*of] < depth).collect::<Vec<_>>();
        let (structures, unions) = (fits(&self.structures), fits(&self.unions));
        if is_union || !unions.is_empty() && self.choices.chance(30) {
            return (!unions.is_empty()).then(|| CType::Union(*self.choices.one(&unions)));
        }
        (!structures.is_empty()).then(|| CType::Structure(*self.choices.one(&structures)))
    }

    /// A structure or a union.
    fn aggregate(&mut self, is_union: bool) -> CType {
        let number = if is_union { self.unions.len() } else { self.structures.len() };
        let (kind, letter) = if is_union { ("union", 'u') } else { ("struct", 's') };
        let is_packed = !is_union && self.choices.chance(25);
        let deepest = self.choices.below(4u32);
        let (mut fields, mut makes, mut shows) = (String::new(), String::new(), String::new());
        let count = 1 + self.choices.below(6u32);
        let made_one = self.choices.below(count);
        for index in 0..count {
            let name = format!("f{index}");
            let separator = if index == 0 { "" } else { ", " };
            let _ = writeln!(shows, "    fputs(\"{separator}{name} = \", said);");
            if !is_union && self.choices.chance(20) {
                let of = *self.choices.one(&[4usize, 5, 6, 7, 15]);
                let most = [1, 0, 0, 0, 31, 31, 63, 63].get(of).copied().unwrap_or(1);
                let bits = 1 + if of == 15 { 0 } else { self.choices.below(most as u32) };
                let [of, function] = NUMBERS[of];
                let _ = writeln!(fields, "    {of} {name} : {bits};");
                let _ = writeln!(makes, "    value->{name} = make_{function}();");
                let _ = writeln!(shows, "    show_{function}(value->{name});");
                continue;
            }
            let of = self.member(deepest, is_union);
            let place = format!("value->{name}");
            let _ = writeln!(fields, "    {};", declared(&of, &name));
            if !is_union || index == made_one {
                let _ = writeln!(makes, "    {}", made(&of, &place, "depth", 0));
            }
            let _ = writeln!(shows, "    {}", shown(&of, &place, "follow", 0));
        }
        let packed = if is_packed { " __attribute__((__packed__))" } else { "" };
        let _ = writeln!(self.code, "{kind} {letter}{number} {{\n{fields}}}{packed};");
        let of = format!("{kind} {letter}{number}");
        let _ = writeln!(
            self.code,
            "UNUSED void make_{letter}{number}({of} *value, int depth) {{\n    (void)depth;\n    \
             memset(value, 0, sizeof *value);\n{makes}}}\n\
             UNUSED void show_{letter}{number}(const {of} *value, int follow) {{\n    (void)follow;\n    \
             fputc('{{', said);\n{shows}    fputc('}}', said);\n}}"
        );
        if is_union {
            self.unions.push(deepest);
            return CType::Union(number);
        }
        let _ = writeln!(
            self.code,
            "UNUSED {of} *made_s{number}(int depth) {{\n    switch (depth > 5 ? 0 : below(8)) {{\n    \
             case 0: return 0;\n    case 1: return last_s{number};\n    case 2: return ({of} *)24;\n    }}\n    \
             {of} *value = ({of} *)calloc(1, sizeof *value);\n    last_s{number} = value;\n    \
             make_s{number}(value, depth + 1);\n    return value;\n}}\n"
        );
        self.structures.push(deepest);
        CType::Structure(number)
    }
}

/// The declaration of a name.
fn declared(of: &CType, name: &str) -> String {
    match of {
        CType::Number(of) => format!("{} {name}", NUMBERS[*of][0]),
        CType::LongDouble => format!("long double {name}"),
        CType::Enumeration(of) => format!("enum e{of} {name}"),
        CType::Letters(count) => format!("char {name}[{count}]"),
        CType::Array(of, count) => declared(of, &format!("{name}[{count}]")),
        CType::Structure(of) => format!("struct s{of} {name}"),
        CType::Union(of) => format!("union u{of} {name}"),
        CType::Pointer(of) => format!("struct s{of} *{name}"),
        CType::NumberPointer(of) => format!("{} *{name}", NUMBERS[*of][0]),
        CType::Text => format!("char *{name}"),
        CType::Function => format!("function {name}"),
    }
}

/// The statement that makes a value at a place. What has an address is copied, because a place in a
/// packed structure has none.
fn made(of: &CType, place: &str, depth: &str, nesting: u32) -> String {
    match of {
        CType::Number(of) => format!("{place} = make_{}();", NUMBERS[*of][1]),
        CType::LongDouble => format!("{place} = make_ldouble();"),
        CType::Enumeration(of) => format!("{place} = make_e{of}();"),
        CType::Letters(count) => format!("make_letters({place}, {count});"),
        CType::Array(of, count) => {
            let index = format!("i{nesting}");
            let inner = made(of, &format!("{place}[{index}]"), depth, nesting + 1);
            format!("for (int {index} = 0; {index} < {count}; {index}++) {{ {inner} }}")
        }
        CType::Structure(of) => format!("{{ struct s{of} made; make_s{of}(&made, {depth}); {place} = made; }}"),
        CType::Union(of) => format!("{{ union u{of} made; make_u{of}(&made, {depth}); {place} = made; }}"),
        CType::Pointer(of) => format!("{place} = made_s{of}({depth});"),
        CType::NumberPointer(of) => {
            let [of, function] = NUMBERS[*of];
            format!(
                "{{ {of} *made = below(4) ? ({of} *)malloc(sizeof *made) : 0; if (made) *made = make_{function}(); \
                 {place} = made; }}"
            )
        }
        CType::Text => format!("{place} = make_text();"),
        CType::Function => format!("{place} = make_function();"),
    }
}

/// The statement that prints a value at a place, with what so many levels of pointers lead to.
fn shown(of: &CType, place: &str, follow: &str, nesting: u32) -> String {
    match of {
        CType::Number(of) => format!("show_{}({place});", NUMBERS[*of][1]),
        CType::LongDouble => format!("show_ldouble({place});"),
        CType::Enumeration(of) => format!("show_e{of}({place});"),
        CType::Letters(count) => format!("show_letters({place}, {count});"),
        CType::Array(of, count) => {
            let index = format!("i{nesting}");
            let inner = shown(of, &format!("{place}[{index}]"), follow, nesting + 1);
            format!(
                "fputc('{{', said); for (int {index} = 0; {index} < {count}; {index}++) {{ \
                 if ({index}) fputs(\", \", said); {inner} }} fputc('}}', said);"
            )
        }
        CType::Structure(of) => format!("{{ struct s{of} shown = {place}; show_s{of}(&shown, {follow}); }}"),
        CType::Union(of) => format!("{{ union u{of} shown = {place}; show_u{of}(&shown, {follow}); }}"),
        CType::Pointer(of) => format!(
            "if (show_address({place}) && {follow} > 0) {{ fputc(' ', said); show_s{of}({place}, {follow} - 1); }}"
        ),
        CType::NumberPointer(of) => {
            let [_, function] = NUMBERS[*of];
            format!("if (show_address({place}) && {follow} > 0) {{ fputc(' ', said); show_{function}(*{place}); }}")
        }
        CType::Text => format!("show_text({place});"),
        CType::Function => format!("show_function({place});"),
    }
}
