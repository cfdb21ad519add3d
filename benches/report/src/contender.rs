//! The ways to write a point, for generated code. `points/src/lib.rs` and `c/point.h` have them for
//! handwritten code.

/// A way to write a point in Rust.
pub(crate) struct Contender {
    /// A short name that is allowed in a file name.
    pub(crate) name: &'static str,
    /// Its name in the tables.
    pub(crate) title: &'static str,
    /// Its line under `[dependencies]`; `{markers}` is the folder of `simple-markers`.
    pub(crate) dependency: &'static str,
    /// A point, with placeholders `{number}`, `{a}` and `{b}` for its number and two variables.
    pub(crate) point: &'static str,
}

impl Contender {
    /// Whether only its build time is of interest.
    pub(crate) fn is_only_timed(&self) -> bool {
        matches!(self.name, "one" | "ghost_bare" | "ghost_one")
    }

    /// The point of that number with the variables `a` and `b`, of type `u32`.
    pub(crate) fn point(&self, number: usize, a: &str, b: &str) -> String {
        self.point.replace("{number}", &number.to_string()).replace("{a}", a).replace("{b}", b)
    }

    /// The first lines of a crate with `points` points.
    pub(crate) fn head(&self, points: usize) -> String {
        if self.name != "usdt" {
            return String::new();
        }
        let probes: String = (0..points).map(|number| format!("    fn p{number}(a: u32, b: u32) {{}}\n")).collect();
        format!("#[::usdt::provider(provider = \"points\")]\nmod points_provider {{\n{probes}}}\n")
    }
}

const MARKERS: &str = "simple-markers = { path = \"{markers}\" }";

/// All of them; the first is the code without points.
pub(crate) const RUST: [Contender; 16] = [
    Contender { name: "none", title: "Rust: no points", dependency: "", point: "" },
    Contender {
        name: "asm",
        title: "empty `asm!`",
        dependency: "",
        point: "unsafe { core::arch::asm!(\"\", options(nomem, nostack, preserves_flags)) };",
    },
    Contender {
        name: "bare",
        title: "`simple_mark!`, no arguments",
        dependency: MARKERS,
        point: "simple_markers::simple_mark!(points:p{number}, \"passed\");",
    },
    Contender {
        name: "one",
        title: "`simple_mark!`, one place",
        dependency: MARKERS,
        point: "simple_markers::simple_mark!(points:p{number}, \"%u\", {a});",
    },
    Contender {
        name: "mark",
        title: "`simple_mark!`, two places",
        dependency: MARKERS,
        point: "simple_markers::simple_mark!(points:p{number}, \"%u %u\", {a}, {b});",
    },
    Contender {
        name: "keep",
        title: "`simple_mark!`, two kept",
        dependency: MARKERS,
        point: "simple_markers::simple_mark!(points:p{number}, \"%u %u\", keep {a}, keep {b});",
    },
    Contender {
        name: "anchor",
        title: "`simple_mark!`, two places, anchor",
        dependency: MARKERS,
        point: "simple_markers::simple_mark!(points:p{number}, \"%u %u\", {a}, {b}, options(anchor));",
    },
    Contender {
        name: "fast",
        title: "`simple_mark!`, two places, fast anchor",
        dependency: MARKERS,
        point: "simple_markers::simple_mark!(points:p{number}, \"%u %u\", {a}, {b}, options(anchor = fast));",
    },
    Contender {
        name: "switch",
        title: "`simple_probe!`, two values",
        dependency: MARKERS,
        point: "simple_markers::simple_probe!(points:p{number}, \"%u %u\", {a}, {b});",
    },
    Contender {
        name: "ghost_bare",
        title: "`simple_mark!`, no arguments, ghost",
        dependency: MARKERS,
        point: "simple_markers::simple_mark!(points:p{number}, \"passed\", options(ghost));",
    },
    Contender {
        name: "ghost_one",
        title: "`simple_mark!`, one place, ghost",
        dependency: MARKERS,
        point: "simple_markers::simple_mark!(points:p{number}, \"%u\", {a}, options(ghost));",
    },
    Contender {
        name: "ghost",
        title: "`simple_mark!`, two places, ghost",
        dependency: MARKERS,
        point: "simple_markers::simple_mark!(points:p{number}, \"%u %u\", {a}, {b}, options(ghost));",
    },
    Contender {
        name: "probe",
        title: "`probe`",
        dependency: "probe = \"0.5\"",
        point: "::probe::probe!(points, p{number}, {a}, {b});",
    },
    Contender {
        name: "usdt",
        title: "`usdt`",
        dependency: "usdt = \"0.6\"",
        point: "points_provider::p{number}!(|| ({a}, {b}));",
    },
    Contender {
        name: "tracing",
        title: "`tracing`, no subscriber",
        dependency: "tracing = { version = \"0.1\", default-features = false, features = [\"std\"] }",
        point: "::tracing::info!(name: \"p{number}\", a = {a}, b = {b});",
    },
    Contender {
        name: "log",
        title: "`log`, no logger",
        dependency: "log = \"0.4\"",
        point: "::log::info!(\"p{number} {} {}\", {a}, {b});",
    },
];

/// The ways to write a point in C: the name in `c/point.h` and in the tables. The first is the code
/// without points.
pub(crate) const C: [(&str, &str); 10] = [
    ("NONE", "no points"),
    ("ASM", "empty `asm`"),
    ("BARE", "`simple_mark`, no arguments"),
    ("MARK", "`simple_mark`, two places"),
    ("KEEP", "`simple_mark_keep`, two"),
    ("ANCHOR", "`simple_mark_anchor`, two places"),
    ("FAST", "`simple_mark_anchor_fast`, two places"),
    ("SWITCH", "`simple_probe`, two values"),
    ("GHOST", "`simple_mark_ghost`, two places"),
    ("SDT", "`sys/sdt.h`"),
];

/// The C compilers.
pub(crate) const C_COMPILERS: [&str; 2] = ["gcc", "clang"];
