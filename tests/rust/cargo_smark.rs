//! `cargo smark` in a realistic workspace: what it builds, what it passes to `smark`, and what it
//! advises.

use std::process::{Command, Output};

use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools;

/// A workspace of a program, a C library with a marker, and a Rust library that both use; each has
/// a marker.
fn workspace(name: &str) -> Fixture {
    let markers = fixture::markers("");
    let member = |member: &str, rest: &str| {
        format!(
            "[package]\nname = \"{name}_{member}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [dependencies]\nsimple-markers = {markers}\n{rest}"
        )
    };
    let shared = format!("{name}_shared = {{ path = \"../shared\" }}\n");
    Fixture::empty(name)
        .file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"server\", \"plugin\", \"shared\"]\n")
        .file("server/Cargo.toml", &member("server", &shared))
        .file(
            "server/src/main.rs",
            &format!(
                "fn main() {{\n    let count = std::env::args().count();\n    \
                 simple_markers::simple_mark!(server:start, \"%zu arguments\", count);\n    \
                 println!(\"{{}}\", {name}_shared::twice(count));\n}}\n"
            ),
        )
        .file("plugin/Cargo.toml", &member("plugin", &format!("{shared}[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n")))
        .file(
            "plugin/src/lib.rs",
            &format!(
                "#[unsafe(no_mangle)]\npub extern \"C\" fn plugin_visit(count: usize) -> usize {{\n    \
                 simple_markers::simple_mark!(plugin:visit, \"%zu\", count);\n    {name}_shared::twice(count)\n}}\n"
            ),
        )
        .file("shared/Cargo.toml", &member("shared", ""))
        .file(
            "shared/src/lib.rs",
            "#[inline(never)]\npub fn twice(count: usize) -> usize {\n    \
             simple_markers::simple_mark!(shared:twice, \"%zu\", count);\n    2 * count\n}\n",
        )
}

/// Runs `cargo smark ARGUMENTS` in the workspace. Returns exit status, standard output, standard
/// error.
fn cargo_smark(workspace: &Fixture, arguments: &[&str]) -> (i32, String, String) {
    // The environment and options of a fixture's cargo, added after the `smark` subcommand.
    let cargo = workspace.cargo("smark");
    let mut command = Command::new(fixture::smark().with_file_name("cargo-smark"));
    command.arg("smark").args(arguments).arg("--offline").current_dir(workspace.folder());
    for (name, value) in cargo.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let Output { status, stdout, stderr } = tools::output(&mut command);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code().expect("an exit status"), text(stdout), text(stderr))
}

/// Module and name in each row of a list.
fn rows(list: &str) -> Vec<(&str, &str)> {
    let header = list.lines().next().expect("a header");
    let column = |name| header.find(name).expect("a column");
    let (module, function, name) = (column("MODULE"), column("FUNCTION"), column("NAME"));
    let end = column("DESCRIPTION");
    let mut rows: Vec<_> =
        list.lines().skip(1).map(|line| (line[module..function].trim(), line[name..end].trim())).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn programs_and_c_libraries_of_the_workspace_are_listed() {
    let workspace = workspace("cargo_smark_list");
    let (status, list, said) = cargo_smark(&workspace, &["list", "-q"]);
    assert_eq!((status, said.as_str()), (0, ""), "{list}");
    let (plugin, server) = ("libcargo_smark_list_plugin", "cargo_smark_list_server");
    assert_eq!(
        rows(&list),
        [(server, "server:start"), (server, "shared:twice"), (plugin, "plugin:visit"), (plugin, "shared:twice")],
        "{list}"
    );

    let (status, list, _) = cargo_smark(&workspace, &["list", "-q", "--bin", server, "server:*"]);
    assert_eq!((status, rows(&list)), (0, vec![(server, "server:start")]));

    let (status, list, _) = cargo_smark(&workspace, &["list", "-q", "-p", "cargo_smark_list_shared"]);
    assert_eq!((status, rows(&list)), (0, vec![("libcargo_smark_list_shared", "shared:twice")]));

    let (status, text, _) = cargo_smark(&workspace, &["show", "-q", "--workspace", "server:start"]);
    assert_eq!(status, 0);
    assert!(text.contains("server/src/main.rs:3") && text.contains("count") && !text.contains("twice"), "{text}");
}

#[test]
fn a_profile_without_debug_information_is_told_what_to_add() {
    let workspace = workspace("cargo_smark_debug");
    // A profile with the most common name, but as cheap as `dev`.
    let said = |debug: &str, more: &[&str]| {
        let build = ["list", "--release", "--config", "profile.release.opt-level=0", "--config", debug];
        cargo_smark(&workspace, &[&build[..], more].concat()).2
    };
    let add = ": add a section `[profile.release]` with `debug = \"full\"` to Cargo.toml\n";
    let without = said("profile.release.debug=false", &[]);
    assert!(without.contains("cargo smark: the profile `release` has no debug information") && without.contains(add));
    let lines = said("profile.release.debug=\"line-tables-only\"", &[]);
    assert!(lines.contains("has debug information of lines only") && lines.contains(add), "{lines}");
    assert!(!said("profile.release.debug=\"full\"", &[]).contains("debug information"));
    assert_eq!(said("profile.release.debug=false", &["-q", "--", "--color=never"]), "");
}

#[test]
fn a_profile_with_line_tables_is_one_error_for_the_program() {
    let profile = "[profile.release]\nopt-level = 0\ndebug = 1\n";
    let manifest =
        format!("[workspace]\nresolver = \"3\"\nmembers = [\"server\", \"plugin\", \"shared\"]\n\n{profile}");
    let workspace = workspace("cargo_smark_lines").file("Cargo.toml", &manifest);
    let check = ["check", "--release", "-q", "--bin", "cargo_smark_lines_server"];
    let (status, text, said) = cargo_smark(&workspace, &check);
    assert_eq!((status, said.as_str()), (1, ""), "{text}");
    let first =
        "error[SM037]: the program has debug information of lines only: 2 arguments of 2 markers cannot be read";
    assert!(text.starts_with(first), "{text}");
    let help = "help: in line 7 of Cargo.toml write `debug = \"full\"` instead of `debug = 1`\n";
    assert_eq!((text.matches("SM037").count(), text.matches(help).count()), (1, 1), "{text}");
    assert!(!text.contains("SM035") && !text.contains("[profile.release]"), "{text}");
}

#[test]
fn settings_of_the_manifest_hold() {
    let settings = "[workspace.metadata.smark]\nprofile = \"release\"\nallow = [\"all\"]\n";
    let manifest = "[profile.release]\nopt-level = 0\ndebug = 1\n[workspace]\nresolver = \"3\"\nmembers = [\"server\", \"plugin\", \"shared\"]\n";
    let workspace = workspace("cargo_smark_settings").file("Cargo.toml", &format!("{manifest}{settings}"));
    let server = ["check", "-q", "--bin", "cargo_smark_settings_server"];
    let (status, text, said) = cargo_smark(&workspace, &server);
    assert_eq!((status, said.as_str()), (0, ""), "{text}");
    // The options win: of `cargo build`, and of `smark`.
    let (status, text, _) = cargo_smark(&workspace, &[&server[..], &["--deny", "all"]].concat());
    assert!(status == 1 && text.contains("help: in line 3 of Cargo.toml write"), "{text}");
    let (status, text, _) = cargo_smark(&workspace, &[&server[..], &["--settings", "none"]].concat());
    assert_eq!(status, 0, "the profile dev has all debug information: {text}");

    let (status, text, said) = cargo_smark(&workspace, &["config", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((status, said.as_str(), &shown["file"]), (0, "", &"Cargo.toml".into()), "{text}");
    assert_eq!(shown["settings"]["profile"], serde_json::json!({ "value": "release", "line": 8 }), "{text}");
    let wrong = format!("{manifest}[workspace.metadata.smark]\nprofiles = 3\n");
    let (status, out, said) = cargo_smark(&workspace.file("Cargo.toml", &wrong), &server);
    let expected = "cargo smark: Cargo.toml:8:1: there is no setting `profiles`; closest: profile\n";
    assert_eq!((status, out.as_str(), said.as_str()), (2, "", expected));
}

#[test]
fn completions_and_the_page_are_those_of_smark() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(fixture::smark().with_file_name("cargo-smark"));
        String::from_utf8(tools::output(command.arg("smark").args(arguments)).stdout).expect("UTF-8")
    };
    assert!(run(&["completions", "zsh"]).starts_with("#compdef cargo-smark"));
    assert!(run(&["man"]).contains(".TH cargo-smark 1"));
}

#[test]
fn what_fails_is_said_once_and_has_its_status() {
    let workspace = workspace("cargo_smark_fails");
    let (status, out, said) = cargo_smark(&workspace, &["list", "--bin", "absent"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(said.contains("no bin target named `absent`") && !said.contains("smark:"), "{said}");
    let (status, out, said) = cargo_smark(&workspace, &["list", "-q", "absent:*"]);
    assert_eq!((status, out.lines().count()), (1, 0), "{out}");
    assert!(said.contains("absent:*"), "{said}");
    let (status, _, said) = cargo_smark(&workspace, &["explain"]);
    assert_eq!(status, 2);
    assert!(said.contains("list, show, check, fix, export"), "{said}");
}
