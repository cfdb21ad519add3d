//! The module in C.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{CLASSES, Event, Module, functions, module};
use crate::contender::C_COMPILERS;
use crate::generate::{recorder_library, run, workspace};

/// A kind of point and its name in the table.
const KINDS: [(&str, &str); 8] = [
    ("none", "no events"),
    ("mark", "`simple_mark`"),
    ("keep", "`simple_mark_keep`"),
    ("switch", "`simple_probe`"),
    ("recorder", "`simple_probe`, with the recorder"),
    ("sdt", "`sys/sdt.h`"),
    ("lttng", "LTTng-UST"),
    ("classes", "LTTng-UST, event classes"),
];

pub(super) fn modules(folder: &Path) -> Result<Vec<Module>> {
    let folder = folder.join("c");
    fs::create_dir_all(&folder)?;
    let has_lttng = Command::new("gcc")
        .args(["-E", "-x", "c", "-include", "lttng/tracepoint.h", "/dev/null"])
        .output()
        .is_ok_and(|output| output.status.success());
    let recorder = recorder_library(&folder)?;
    let mut all = Vec::new();
    for compiler in C_COMPILERS {
        let mut modules: Vec<Module> = Vec::new();
        for (kind, title) in KINDS {
            let is_lttng = matches!(kind, "lttng" | "classes");
            if is_lttng && !has_lttng {
                eprintln!("{title} is left out: lttng/tracepoint.h is missing");
                continue;
            }
            let build = |events| {
                let base = folder.join(format!("classes_{compiler}_{kind}_{events}"));
                let (input, output) = (base.with_extension("c"), base.with_extension("so"));
                let header = base.with_extension("h");
                if is_lttng {
                    fs::write(&header, provider(kind, events, &header))?;
                }
                fs::write(&input, source(kind, events, &header))?;
                let mut command = Command::new(compiler);
                command.args(["-std=gnu11", "-O2", "-fPIC", "-shared", "-ffunction-sections", "-Wl,--gc-sections"]);
                command.arg("-I").arg(workspace().join("../markers/include")).arg("-I.");
                // The name of the file is in the records.
                command.current_dir(&folder).args(input.file_name()).arg("-o").arg(&output);
                if kind == "recorder" && events > 0 {
                    command.args(["-DSIMPLE_MARKER_RECORDER", "-Wl,--exclude-libs,libsimple_marker.a"]).arg(&recorder);
                }
                if is_lttng {
                    command.args(["-llttng-ust", "-ldl"]);
                }
                run(&mut command)?;
                Ok(output)
            };
            let title = if kind == "none" { format!("{compiler}: {title}") } else { title.to_owned() };
            modules.push(module(&title, modules.first(), &build)?);
        }
        all.extend(modules);
    }
    Ok(all)
}

fn source(kind: &str, events: usize, header: &Path) -> String {
    let mut source = match kind {
        "mark" | "keep" | "switch" | "recorder" => "#include <simple_marker.h>\n".to_owned(),
        "sdt" => "#include <sys/sdt.h>\n".to_owned(),
        "lttng" | "classes" if events > 0 => format!(
            "#define LTTNG_UST_TRACEPOINT_CREATE_PROBES\n#define LTTNG_UST_TRACEPOINT_DEFINE\n#include \"{}\"\n",
            header.display()
        ),
        _ => String::new(),
    };
    source.push_str(
        "#include <stdint.h>\nstruct state {\n    uint32_t cells[16], depth;\n    unsigned long total;\n    \
         const char *name;\n};\n",
    );
    for (number, steps) in functions(events).iter().enumerate() {
        let _ = writeln!(
            source,
            "unsigned long work{number}(struct state *s, uint32_t a, unsigned long b);\n\
             unsigned long work{number}(struct state *s, uint32_t a, unsigned long b)\n{{"
        );
        for step in steps {
            let point = step.event.map_or(String::new(), |event| point(kind, event));
            let factor = step.factor;
            let _ = writeln!(
                source,
                "    if (a & {}u) {{\n        s->cells[a & 15] ^= b;\n        {point}\n        s->total += b;\n    }}\n    \
                 s->depth += a >> 7;\n    a = a * {factor}u ^ s->cells[b & 15];\n    b += a;",
                1u32 << (factor / 2 % 31),
            );
        }
        let _ = writeln!(source, "    return b;\n}}");
    }
    source
}

fn point(kind: &str, event: Event) -> String {
    let (number, values) = (event.number, event.values("s->").join(", "));
    match kind {
        "mark" => format!("simple_mark(points:e{number}, \"{}\", {values});", event.format()),
        "keep" => format!("simple_mark_keep(points:e{number}, \"{}\", {values});", event.format()),
        "switch" | "recorder" => format!("simple_probe(points:e{number}, \"{}\", {values});", event.format()),
        "sdt" => format!("DTRACE_PROBE{}(points, e{number}, {values});", event.arguments().len()),
        "lttng" | "classes" => format!("lttng_ust_tracepoint(points, e{number}, {values});"),
        _ => String::new(),
    }
}

/// The tracepoint provider.
fn provider(kind: &str, events: usize, header: &Path) -> String {
    let mut source = format!(
        "#undef LTTNG_UST_TRACEPOINT_PROVIDER\n#define LTTNG_UST_TRACEPOINT_PROVIDER points\n\
         #undef LTTNG_UST_TRACEPOINT_INCLUDE\n#define LTTNG_UST_TRACEPOINT_INCLUDE \"{}\"\n\
         #if !defined(POINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)\n#define POINTS_H\n\
         #include <lttng/tracepoint.h>\n",
        header.display()
    );
    let describe = |class: usize| {
        let of = CLASSES[class];
        let types = of.iter().map(|argument| match argument.rust {
            "u32" => format!("unsigned, {}", argument.name),
            "u64" => format!("unsigned long, {}", argument.name),
            _ => format!("const char *, {}", argument.name),
        });
        let fields = of.iter().map(|argument| match argument.rust {
            "u32" => format!("lttng_ust_field_integer(unsigned, {0}, {0})", argument.name),
            "u64" => format!("lttng_ust_field_integer(unsigned long, {0}, {0})", argument.name),
            _ => format!("lttng_ust_field_string({0}, {0})", argument.name),
        });
        (types.collect::<Vec<_>>().join(", "), fields.collect::<Vec<_>>().join(" "))
    };
    if kind == "classes" {
        for class in 0..CLASSES.len() {
            let (types, fields) = describe(class);
            let _ = writeln!(
                source,
                "LTTNG_UST_TRACEPOINT_EVENT_CLASS(points, class{class}, LTTNG_UST_TP_ARGS({types}),\n    \
                 LTTNG_UST_TP_FIELDS({fields}))"
            );
        }
    }
    for event in functions(events).into_iter().flatten().filter_map(|step| step.event) {
        let (number, class) = (event.number, event.class);
        let (types, fields) = describe(class);
        let _ = if kind == "classes" {
            writeln!(
                source,
                "LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(points, class{class}, points, e{number}, LTTNG_UST_TP_ARGS({types}))"
            )
        } else {
            writeln!(
                source,
                "LTTNG_UST_TRACEPOINT_EVENT(points, e{number}, LTTNG_UST_TP_ARGS({types}),\n    \
                 LTTNG_UST_TP_FIELDS({fields}))"
            )
        };
    }
    source.push_str("#endif\n#include <lttng/tracepoint-event.h>\n");
    source
}
