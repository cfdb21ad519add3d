//! Test: no file of a layer uses a layer to its right.

/// The layers from left to right, each with its files. The facade and the tests are not listed,
/// because no layer uses them.
const LAYERS: [&[(&str, &str)]; 6] = [
    &[
        ("aranges", include_str!("aranges.rs")),
        ("entries", include_str!("entries.rs")),
        ("entry_walk", include_str!("entry_walk.rs")),
        ("per_unit", include_str!("per_unit.rs")),
        ("sections", include_str!("sections.rs")),
        ("split", include_str!("split.rs")),
        ("split_files", include_str!("split_files.rs")),
        ("tables", include_str!("tables.rs")),
        ("unit", include_str!("unit.rs")),
        ("units", include_str!("units.rs")),
        ("unsupported", include_str!("unsupported.rs")),
    ],
    &[
        ("file_tables", include_str!("file_tables.rs")),
        ("files", include_str!("files.rs")),
        ("lines", include_str!("lines.rs")),
    ],
    &[
        ("definitions", include_str!("definitions.rs")),
        ("functions", include_str!("functions.rs")),
        ("line_absence", include_str!("line_absence.rs")),
        ("next_line", include_str!("next_line.rs")),
        ("scopes", include_str!("scopes.rs")),
    ],
    &[
        ("imported", include_str!("imported.rs")),
        ("lookup", include_str!("lookup.rs")),
        ("names", include_str!("names.rs")),
        ("statics", include_str!("statics.rs")),
    ],
    &[
        ("coroutines", include_str!("coroutines.rs")),
        ("describe", include_str!("describe.rs")),
        ("members", include_str!("members.rs")),
        ("rust_types", include_str!("rust_types.rs")),
        ("steps", include_str!("steps.rs")),
        ("trait_objects", include_str!("trait_objects.rs")),
        ("type_names", include_str!("type_names.rs")),
        ("types", include_str!("types.rs")),
        ("variants", include_str!("variants.rs")),
        ("views", include_str!("views.rs")),
        ("vtables", include_str!("vtables.rs")),
    ],
    &[
        ("call_frames", include_str!("call_frames.rs")),
        ("entry_value", include_str!("entry_value.rs")),
        ("expression", include_str!("expression.rs")),
        ("frame", include_str!("frame.rs")),
        ("landing_pads", include_str!("landing_pads.rs")),
        ("location_list", include_str!("location_list.rs")),
        ("locations", include_str!("locations.rs")),
        ("thread_locals", include_str!("thread_locals.rs")),
        ("variable", include_str!("variable.rs")),
        ("variable_location", include_str!("variable_location.rs")),
    ],
];

#[test]
fn no_layer_uses_one_to_its_right() {
    for (level, files) in LAYERS.iter().enumerate() {
        for (file, text) in *files {
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for (right, modules) in LAYERS.iter().enumerate().skip(level + 1) {
                for (module, _) in *modules {
                    assert!(
                        !code.contains(&format!("super::{module}::")),
                        "{file} (layer {level}) uses {module} ({right})"
                    );
                }
            }
            assert!(!code.contains("super::debug_info") && !code.contains("DebugInfo<"), "{file} uses the facade");
            // Files about types do not use functions, and files about names do not use types.
            if (4..).contains(&level) {
                for (module, _) in LAYERS[1..4].iter().copied().flatten() {
                    assert!(!code.contains(&format!("super::{module}::")), "{file} (layer {level}) uses {module}");
                }
            }
        }
    }
}
