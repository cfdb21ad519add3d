//! What many events add to a module: a generated module with one event in each function, and with
//! many, for each kind of point.

mod c;
mod rust;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use object::{Object as _, ObjectSection as _, SectionFlags, elf};

use crate::code::Code;
use crate::markdown;

/// The functions of the module.
const FUNCTIONS: usize = 24;

/// The events in each function of the module that has many.
const EVENTS: usize = 5;

/// The arguments of an event, by the number of its class: the fields of the module's state and the
/// variables that every function has, each with its type in Rust and its conversion.
const CLASSES: [&[Argument]; 6] =
    [&[A], &[A, DEPTH], &[TOTAL, A], &[TOTAL, B, A, DEPTH], &[NAME, A], &[TOTAL, B, DEPTH]];

const A: Argument = Argument { name: "a", is_field: false, rust: "u32", conversion: "%u" };
const B: Argument = Argument { name: "b", is_field: false, rust: "u64", conversion: "%lu" };
const DEPTH: Argument = Argument { name: "depth", is_field: true, rust: "u32", conversion: "%u" };
const TOTAL: Argument = Argument { name: "total", is_field: true, rust: "u64", conversion: "%lu" };
const NAME: Argument = Argument { name: "name", is_field: true, rust: "&str", conversion: "%s" };

/// An argument of events.
#[derive(Clone, Copy)]
struct Argument {
    name: &'static str,
    is_field: bool,
    rust: &'static str,
    conversion: &'static str,
}

/// An event of the module.
#[derive(Clone, Copy)]
struct Event {
    number: usize,
    class: usize,
}

impl Event {
    fn arguments(self) -> &'static [Argument] {
        CLASSES[self.class]
    }

    fn format(self) -> String {
        let words = self.arguments().iter().map(|argument| format!("{} {}", argument.name, argument.conversion));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The arguments as expressions.
    fn values(self, state: &str) -> Vec<String> {
        let values = self.arguments().iter().map(|argument| {
            if argument.is_field { format!("{state}{}", argument.name) } else { argument.name.to_owned() }
        });
        values.collect()
    }
}

/// A step of a function: what it adds to the state, and perhaps an event.
struct Step {
    factor: u64,
    event: Option<Event>,
}

/// The functions of the module with `events` events in each: the rest is the same.
fn functions(events: usize) -> Vec<Vec<Step>> {
    let step = |function: usize, step: usize| {
        let number = function * EVENTS + step;
        // Each class is in each place of a function.
        let event = Event { number, class: number % CLASSES.len() };
        Step { factor: 2 * number as u64 + 0x1_0001, event: (step < events).then_some(event) }
    };
    (0..FUNCTIONS).map(|function| (0..EVENTS).map(|index| step(function, index)).collect()).collect()
}

/// Sizes of a file in bytes.
#[derive(Clone, Copy, Default)]
struct Sizes {
    code: i64,
    read_only: i64,
    writable: i64,
    /// Sections that are not loaded.
    rest: i64,
}

impl Sizes {
    fn read(path: &Path) -> Result<Self> {
        let data = fs::read(path).with_context(|| path.display().to_string())?;
        let file = object::File::parse(&*data)?;
        let mut sizes = Self::default();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            // What lld puts up to the end of a page.
            if section.name() == Ok(".relro_padding") {
                continue;
            }
            let place = if !sh_flags.contains(elf::SHF_ALLOC) {
                &mut sizes.rest
            } else if sh_flags.contains(elf::SHF_EXECINSTR) {
                &mut sizes.code
            } else if sh_flags.contains(elf::SHF_WRITE) {
                &mut sizes.writable
            } else {
                &mut sizes.read_only
            };
            *place += section.size() as i64;
        }
        Ok(sizes)
    }
}

/// The same module without events, with one in each function, and with all.
struct Module {
    title: String,
    /// The code of the functions without events.
    own: i64,
    none: Sizes,
    few: Sizes,
    all: Sizes,
}

impl Module {
    fn row(&self) -> Vec<String> {
        let Self { title, own, none, few, all } = self;
        let more = (FUNCTIONS * (EVENTS - 1)) as f64;
        let each = |of: fn(&Sizes) -> i64| (of(all) - of(few)) as f64 / more;
        let events = (FUNCTIONS * EVENTS) as f64;
        let code = each(|sizes| sizes.code);
        let module = *own as f64 + code * events;
        // What does not grow with the events.
        let once = |of: fn(&Sizes) -> i64| (of(all) - of(none)) as f64 - each(of) * events;
        let bytes = [
            code,
            each(|sizes| sizes.read_only),
            each(|sizes| sizes.writable),
            each(|sizes| sizes.rest),
            once(|sizes| sizes.code),
            once(|sizes| sizes.read_only + sizes.writable),
        ];
        let mut row = vec![title.clone(), format!("{module:.0}"), format!("{:.2}", module / *own as f64)];
        // Not -0.
        row.extend(bytes.map(|bytes| (bytes.round() as i64).to_string()));
        row
    }
}

/// One row for each kind of point.
pub(crate) fn table(folder: &Path) -> Result<String> {
    let mut rows: Vec<_> = rust::modules(folder)?.iter().map(Module::row).collect();
    rows.extend(c::modules(folder)?.iter().map(Module::row));
    let head = [
        "",
        "code of the module",
        "of none",
        "each event: code",
        "read-only",
        "writable",
        "not loaded",
        "once: code",
        "data",
    ];
    Ok(markdown::table(&head, &rows))
}

/// The module without events, with one in each function, and with all. `build` compiles it with so
/// many events in each function. `first` is the module without points, unless this is it.
fn module(title: &str, first: Option<&Module>, build: &dyn Fn(usize) -> Result<PathBuf>) -> Result<Module> {
    let (own, none) = match first {
        Some(first) => (first.own, first.none),
        None => {
            let image = build(0)?;
            let code = Code::read(&image)?;
            let functions = code.functions().filter(|function| function.name.starts_with("work"));
            (functions.map(|function| function.size() as i64).sum(), Sizes::read(&image)?)
        }
    };
    let [few, all] = [1, EVENTS].map(|events| Sizes::read(&build(events)?));
    Ok(Module { title: title.to_owned(), own, none, few: few?, all: all? })
}
