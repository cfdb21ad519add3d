//! Programs in Rust with random types. `tests/whole/make.rs` makes their values.

use std::fmt::Write as _;

use crate::tools::Choices;

/// What a type must be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ability {
    /// To be shown.
    Any,
    /// To be copied.
    Copied,
    /// To be a key.
    Key,
    /// To have a value whatever its bits are, without pointers.
    Bits,
}

const BITS: [&str; 14] =
    ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "usize", "isize", "f32", "f64"];

/// What every type of an ability has in common with numbers: no parameters.
const COPIED: [&str; 18] = [
    "bool",
    "char",
    "()",
    "NonZero<u8>",
    "NonZero<i64>",
    "NonZero<u128>",
    "Ordering",
    "Duration",
    "IpAddr",
    "Ipv4Addr",
    "Ipv6Addr",
    "SocketAddr",
    "SocketAddrV4",
    "SocketAddrV6",
    "MaybeUninit<u32>",
    "PhantomData<u8>",
    "*const u32",
    "fn()",
];
const KEYS: [&str; 14] = [
    "u8",
    "i16",
    "u32",
    "i64",
    "u128",
    "bool",
    "char",
    "String",
    "&'static str",
    "Rc<str>",
    "Ordering",
    "Duration",
    "IpAddr",
    "SocketAddr",
];
const ANY: [&str; 23] = [
    "String",
    "&'static str",
    "Box<str>",
    "Rc<str>",
    "Arc<str>",
    "OsString",
    "PathBuf",
    "&'static Path",
    "CString",
    "&'static CStr",
    "AtomicBool",
    "AtomicI8",
    "AtomicI32",
    "AtomicU8",
    "AtomicU16",
    "AtomicU64",
    "AtomicUsize",
    "Wrapping<u16>",
    "Saturating<i32>",
    "NonZero<usize>",
    "Cow<'static, str>",
    "Cow<'static, Path>",
    "RangeFrom<u16>",
];

struct Generator {
    choices: Choices,
    /// How many structures and enumerations were declared that are only shown, and that can be copied.
    declared: [Vec<String>; 2],
    code: String,
}

/// A program in Rust that passes `values` random values to each of `functions` functions. Each
/// prints its value to the file that the first argument names, and then marks it: `whole:m3`.
#[must_use]
pub fn rust(seed: u64, functions: usize, values: usize) -> String {
    let mut generator =
        Generator { choices: Choices::new(seed), declared: [Vec::new(), Vec::new()], code: String::new() };
    for number in 0..functions.div_ceil(2) {
        generator.declaration(number);
    }
    let mut calls = String::new();
    for number in 0..functions {
        let mut of = generator.of(4, Ability::Any);
        // `%p{}` shows what a pointer leads to, and `{:?}` the pointer.
        while of.starts_with('*') {
            of = generator.of(4, Ability::Any);
        }
        let _ = writeln!(
            generator.code,
            "#[inline(never)]\nfn m{number}(value: &{of}) {{\n    say(format!(\"whole:m{number}: {{value:?}}\\n\"));\n    \
             simple_mark!(whole:m{number}, \"%p{{}}\", *value);\n    black_box(value);\n}}\n"
        );
        let _ = writeln!(calls, "        m{number}(black_box(&source.value()));");
    }
    format!(
        "#![allow(dead_code, unused, clippy::all)]\nuse simple_markers::simple_mark;\nuse std::hint::black_box;\n\n\
         {}\nfn main() {{\n    std::panic::set_hook(Box::new(|_| {{}}));\n    let mut source = Source::new({seed});\n    \
         for _ in 0..{values} {{\n{calls}    }}\n}}\n\n{}",
        generator.code,
        include_str!("../../whole/make.rs")
            .lines()
            .skip_while(|line| line.starts_with("//!"))
            .collect::<Vec<_>>()
            .join("\n")
    )
}

impl Generator {
    /// A type that is nested at most so deep.
    fn of(&mut self, depth: u32, ability: Ability) -> String {
        let Some(next) = depth.checked_sub(1) else { return self.plain(ability) };
        if self.choices.chance(12) {
            return self.plain(ability);
        }
        let inner = |this: &mut Self| this.of(next, ability);
        let count = self.choices.below(4u32);
        if ability == Ability::Bits {
            return if self.choices.chance(50) { format!("[{}; {count}]", inner(self)) } else { self.plain(ability) };
        }
        let of_key = |this: &mut Self| this.of(next.min(2), Ability::Key);
        match self.choices.below(if ability == Ability::Any { 47u32 } else { 9 }) {
            0 | 1 => format!("Option<{}>", inner(self)),
            2 => format!("[{}; {count}]", inner(self)),
            3 | 4 => {
                let of: Vec<String> = (0..1 + count.min(2)).map(|_| inner(self)).collect();
                format!("({},)", of.join(", "))
            }
            5 => format!("&'static {}", inner(self)),
            6 if ability == Ability::Copied => format!("&'static [{}]", inner(self)),
            6 if ability == Ability::Key => format!("Box<{}>", inner(self)),
            7 if ability == Ability::Key => format!("Vec<{}>", inner(self)),
            6 | 7 => self.declared(ability),
            8 => format!("Result<{}, {}>", inner(self), inner(self)),
            9 | 10 => format!("Vec<{}>", inner(self)),
            11 => format!("VecDeque<{}>", inner(self)),
            12 => format!("&'static [{}]", inner(self)),
            13 => format!("Box<{}>", inner(self)),
            14 => format!("Rc<{}>", inner(self)),
            15 => format!("Arc<{}>", inner(self)),
            16 => format!("Box<[{}]>", inner(self)),
            17 => format!("Rc<[{}]>", inner(self)),
            18 => format!("Arc<[{}]>", inner(self)),
            19 => format!("Cell<{}>", self.of(next, Ability::Copied)),
            20 => format!("RefCell<{}>", inner(self)),
            21 => format!("Mutex<{}>", inner(self)),
            22 => format!("RwLock<{}>", inner(self)),
            23 => format!("Range<{}>", inner(self)),
            24 | 25 => format!("HashMap<{}, {}>", of_key(self), inner(self)),
            26 => format!("HashSet<{}>", of_key(self)),
            27 | 28 => format!("BTreeMap<{}, {}>", of_key(self), inner(self)),
            29 => format!("BTreeSet<{}>", of_key(self)),
            30 => format!("LinkedList<{}>", inner(self)),
            31 => format!("BinaryHeap<{}>", of_key(self)),
            32 => format!("Option<Option<{}>>", inner(self)),
            33 => format!("RangeInclusive<{}>", inner(self)),
            34 => format!("RangeTo<{}>", inner(self)),
            35 => format!("OnceCell<{}>", inner(self)),
            36 => format!("OnceLock<{}>", inner(self)),
            37 => format!("LazyCell<{}>", inner(self)),
            38 => format!("LazyLock<{}>", inner(self)),
            39 => format!("Pin<Box<{}>>", inner(self)),
            40 => format!("ManuallyDrop<{}>", inner(self)),
            41 => format!("Reverse<{}>", inner(self)),
            42 => format!("Cow<'static, [{}]>", self.of(next, Ability::Copied)),
            _ => self.declared(ability),
        }
    }

    fn plain(&mut self, ability: Ability) -> String {
        let of: &[&str] = match ability {
            Ability::Key => &KEYS,
            Ability::Any if self.choices.chance(50) => &ANY,
            Ability::Any | Ability::Copied if self.choices.chance(40) => &COPIED,
            _ => &BITS,
        };
        (*self.choices.one(of)).to_owned()
    }

    fn declared(&mut self, ability: Ability) -> String {
        let of = &self.declared[usize::from(ability == Ability::Copied || self.choices.chance(20))];
        if of.is_empty() || ability == Ability::Key { self.plain(ability) } else { self.choices.one(of).clone() }
    }

    /// Declares a structure, a union or an enumeration.
    fn declaration(&mut self, number: usize) {
        let name = format!("D{number}");
        let kind = self.choices.below(12u32);
        let is_copied = kind < 5;
        let ability = if is_copied { Ability::Copied } else { Ability::Any };
        let derive = if is_copied { "#[derive(Clone, Copy, Debug)]\n" } else { "#[derive(Debug)]\n" };
        let fields = |this: &mut Self| (0..this.choices.below(5usize)).map(|_| this.of(2, ability)).collect::<Vec<_>>();
        match kind {
            0 => self.union(&name),
            1 => {
                let values: Vec<String> = (0..1 + self.choices.below(5u32)).map(|index| format!("W{index}")).collect();
                let repr = *self.choices.one(&["", "#[repr(u8)]\n", "#[repr(i16)]\n", "#[repr(u64)]\n"]);
                let offset = if repr.contains("i16") { -300 } else { 3 };
                let of =
                    values.iter().enumerate().map(|(index, name)| format!("{name} = {}", offset + 5 * index as i32));
                let _ = writeln!(self.code, "{derive}{repr}enum {name} {{ {} }}\n", of.collect::<Vec<_>>().join(", "));
                self.made(&name, &values.iter().map(|value| format!("Self::{value}")).collect::<Vec<_>>());
            }
            2 | 3 => {
                let of = fields(self);
                let repr = *self.choices.one(&["packed", "packed(2)", "C, packed"]);
                self.structure(&name, &format!("{derive}#[repr({repr})]\n"), &of, false);
            }
            4..=7 => {
                let mut of = fields(self);
                // A structure that is in itself.
                if !is_copied && self.choices.chance(30) {
                    of.push(format!("Option<Box<{name}>>"));
                }
                let repr = *self.choices.one(&["", "", "#[repr(C)]\n", "#[repr(align(32))]\n"]);
                let is_tuple = self.choices.chance(30);
                self.structure(&name, &format!("{derive}{repr}"), &of, is_tuple);
            }
            _ => {
                let (mut variants, mut values) = (Vec::new(), Vec::new());
                for index in 0..1 + self.choices.below(5u32) {
                    let of = if self.choices.chance(40) { Vec::new() } else { fields(self) };
                    let is_tuple = self.choices.chance(50);
                    variants.push(format!("W{index}{}", declared_fields(&of, is_tuple)));
                    values.push(format!("Self::W{index}{}", made_fields(&of, is_tuple)));
                }
                let has_fields = variants.iter().any(|variant| variant.contains([' ', '(']));
                let repr =
                    if has_fields { *self.choices.one(&["", "", "", "#[repr(u8)]\n", "#[repr(C)]\n"]) } else { "" };
                let _ = writeln!(self.code, "{derive}{repr}enum {name} {{ {} }}\n", variants.join(", "));
                self.made(&name, &values);
            }
        }
        self.declared[usize::from(is_copied)].push(name);
    }

    fn structure(&mut self, name: &str, attributes: &str, of: &[String], is_tuple: bool) {
        let semicolon = if is_tuple || of.is_empty() { ";" } else { "" };
        let _ = writeln!(self.code, "{attributes}struct {name}{}{semicolon}\n", declared_fields(of, is_tuple));
        self.made(name, &[format!("Self{}", made_fields(of, is_tuple))]);
    }

    /// A union, of which `{:?}` prints all members.
    fn union(&mut self, name: &str) {
        let of: Vec<String> = (0..1 + self.choices.below(4u32)).map(|_| self.of(1, Ability::Bits)).collect();
        let shown = (0..of.len()).map(|index| format!(".field(\"f{index}\", unsafe {{ &self.f{index} }})"));
        let _ = writeln!(
            self.code,
            "#[derive(Clone, Copy)]\nunion {name}{}\n\nimpl std::fmt::Debug for {name} {{\n    \
             fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{\n        \
             f.debug_struct(\"{name}\"){}.finish()\n    }}\n}}\n",
            declared_fields(&of, false),
            shown.collect::<String>()
        );
        let member = self.choices.below(of.len());
        let made = format!(
            "{{ let mut made: Self = unsafe {{ std::mem::zeroed() }}; made.f{member} = Make::make(source); made }}"
        );
        self.made(name, &[made]);
    }

    /// How a value of a declared type is made: one of several.
    fn made(&mut self, name: &str, values: &[String]) {
        let arms = values.iter().enumerate().map(|(index, value)| {
            let pattern = if index + 1 == values.len() { "_".to_owned() } else { index.to_string() };
            format!("            {pattern} => {value},\n")
        });
        let _ = writeln!(
            self.code,
            "impl Make for {name} {{\n    fn make(source: &mut Source) -> Self {{\n        \
             match source.below({}) {{\n{}        }}\n    }}\n}}\n",
            values.len(),
            arms.collect::<String>()
        );
    }
}

fn declared_fields(of: &[String], is_tuple: bool) -> String {
    match (of, is_tuple) {
        ([], _) => String::new(),
        (of, true) => format!("({})", of.join(", ")),
        (of, false) => {
            let fields = of.iter().enumerate().map(|(index, of)| format!("f{index}: {of}"));
            format!(" {{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

fn made_fields(of: &[String], is_tuple: bool) -> String {
    match (of, is_tuple) {
        ([], _) => String::new(),
        (of, true) => format!("({})", vec!["Make::make(source)"; of.len()].join(", ")),
        (of, false) => {
            let fields = (0..of.len()).map(|index| format!("f{index}: Make::make(source)"));
            format!(" {{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}
