//! The module in Rust.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use super::{Event, Module, functions, module};
use crate::contender::{self, Contender};
use crate::generate::Package;

/// A kind of point: the name of its row in [`contender::RUST`] and in the table, and the line of the
/// dependency if it is another one.
const KINDS: [(&str, &str, Option<&str>); 9] = [
    ("none", "Rust: no events", None),
    ("mark", "`simple_mark!`", None),
    ("keep", "`simple_mark!`, kept", None),
    ("switch", "`simple_probe!`", None),
    ("recorder", "`simple_probe!`, with the recorder", Some(RECORDER)),
    ("probe", "`probe`", None),
    ("usdt", "`usdt`", None),
    ("tracing", "`tracing`", None),
    ("log", "`log`", None),
];

const RECORDER: &str = "simple-markers = { path = \"{markers}\", features = [\"recorder\"] }";

pub(super) fn modules(folder: &Path) -> Result<Vec<Module>> {
    let mut modules: Vec<Module> = Vec::new();
    for (name, title, dependency) in KINDS {
        let known = contender::RUST.iter().find(|contender| contender.name == name);
        let dependency = dependency.or(known.map(|known| known.dependency)).unwrap_or_default();
        let contender = Contender { name, title, dependency, point: "" };
        let build = |events| {
            let package = format!("classes_{name}_{events}");
            let package = Package::new(folder, &package, "cdylib", &contender, "", &source(name, events))?;
            let variables = [("CARGO_PROFILE_RELEASE_DEBUG", "none"), ("CARGO_PROFILE_RELEASE_STRIP", "none")];
            package.library(&variables)
        };
        modules.push(module(title, modules.first(), &build)?);
    }
    Ok(modules)
}

fn source(kind: &str, events: usize) -> String {
    let mut source = "pub struct State {\n    pub cells: [u32; 16],\n    pub depth: u32,\n    pub total: u64,\n    \
         pub name: &'static str,\n}\n"
        .to_owned();
    if kind == "usdt" && events > 0 {
        let probes = functions(events).into_iter().flatten().filter_map(|step| step.event).map(|event| {
            let types = event.arguments().iter().map(|argument| format!("{}: {}", argument.name, argument.rust));
            format!("    fn e{}({}) {{}}\n", event.number, types.collect::<Vec<_>>().join(", "))
        });
        let probes: String = probes.collect();
        let _ = writeln!(source, "#[::usdt::provider(provider = \"points\")]\nmod points_provider {{\n{probes}}}");
    }
    for (number, steps) in functions(events).iter().enumerate() {
        let _ = writeln!(
            source,
            "#[unsafe(no_mangle)]\npub extern \"C\" fn work{number}(s: &mut State, mut a: u32, mut b: u64) -> u64 {{"
        );
        for step in steps {
            let point = step.event.map_or(String::new(), |event| point(kind, event));
            let factor = step.factor;
            let _ = writeln!(
                source,
                "    if a & {} != 0 {{\n        s.cells[(a & 15) as usize] ^= b as u32;\n        {point}\n        \
                 s.total = s.total.wrapping_add(b);\n    }}\n    s.depth = s.depth.wrapping_add(a >> 7);\n    \
                 a = a.wrapping_mul({factor}) ^ s.cells[(b & 15) as usize];\n    b = b.wrapping_add(u64::from(a));",
                1 << (factor / 2 % 31),
            );
        }
        let _ = writeln!(source, "    b\n}}");
    }
    source
}

fn point(kind: &str, event: Event) -> String {
    let (number, format, values) = (event.number, event.format(), event.values("s."));
    let names = event.arguments().iter().map(|argument| argument.name);
    match kind {
        "mark" => format!("simple_markers::simple_mark!(points:e{number}, \"{format}\", {});", values.join(", ")),
        "keep" => {
            // Text cannot be kept: its pointer is.
            let kept =
                event.arguments().iter().zip(&values).map(|(argument, value)| {
                    if argument.rust == "&str" { value.clone() } else { format!("keep {value}") }
                });
            let kept = kept.collect::<Vec<_>>().join(", ");
            format!("simple_markers::simple_mark!(points:e{number}, \"{format}\", {kept});")
        }
        "switch" | "recorder" => {
            format!("simple_markers::simple_probe!(points:e{number}, \"{format}\", {});", values.join(", "))
        }
        "probe" => {
            let values: Vec<_> = values
                .iter()
                .map(|value| if value == "s.name" { "s.name.as_ptr()".to_owned() } else { value.clone() })
                .collect();
            format!("::probe::probe!(points, e{number}, {});", values.join(", "))
        }
        "usdt" => {
            let tuple = if let [one] = &values[..] { one.clone() } else { format!("({})", values.join(", ")) };
            format!("points_provider::e{number}!(|| {tuple});")
        }
        "tracing" => {
            let fields = names.zip(&values).map(|(name, value)| format!("{name} = {value}"));
            format!("::tracing::info!(name: \"e{number}\", {});", fields.collect::<Vec<_>>().join(", "))
        }
        "log" => {
            let text = names.map(|name| format!("{name} {{}}")).collect::<Vec<_>>().join(", ");
            format!("::log::info!(\"e{number} {text}\", {});", values.join(", "))
        }
        _ => String::new(),
    }
}
