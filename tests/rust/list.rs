//! Compares the addresses, offsets and functions from `smark list` with binutils, on real programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use simple_markers_tests::fixture::Fixture;
use simple_markers_tests::{fixture, second_opinion, tools};

/// The program to list. Cargo builds it again only if it changed.
fn program(package: &str, file: &str) -> PathBuf {
    fixture::build(&["--profile", "demo", "--package", package]).join("demo").join(file)
}

fn smark() -> Command {
    Command::new(fixture::smark())
}

fn json(file: &Path) -> Value {
    second_opinion::check(file);
    let printed = tools::run(smark().args(["list", "--json"]).arg(file));
    serde_json::from_str(&printed).expect("smark prints JSON")
}

fn number(value: &Value) -> u64 {
    let text = value.as_str().expect("a hexadecimal string");
    u64::from_str_radix(text.strip_prefix("0x").expect("with 0x"), 16).expect("with digits")
}

/// The markers of a resolution's only image.
fn markers(resolution: &Value) -> &[Value] {
    resolution["images"][0]["markers"].as_array().expect("markers")
}

/// The live sites of an image, with the names of their markers.
fn sites(resolution: &Value) -> Vec<(&str, &Value)> {
    let sites = markers(resolution).iter().flat_map(|marker| {
        let name = marker["name"].as_str().expect("a name");
        marker["sites"].as_array().expect("sites").iter().map(move |site| (name, site))
    });
    sites.filter(|(_, site)| !site["address"].is_null()).collect()
}

/// A function from `nm`.
struct Symbol {
    start: u64,
    size: u64,
    name: String,
}

fn symbols(file: &Path) -> Vec<Symbol> {
    let printed = tools::run(Command::new("nm").args(["--defined-only", "--print-size"]).arg(file));
    let hexadecimal = |digits: &str| u64::from_str_radix(digits, 16).expect("nm prints hexadecimal numbers");
    let functions = printed.lines().filter_map(|line| {
        let [start, size, kind, name] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        "tTwW".contains(kind).then(|| Symbol {
            start: hexadecimal(start),
            size: hexadecimal(size),
            name: name.to_owned(),
        })
    });
    functions.collect()
}

/// The file offset of an address, from the program headers that `readelf` prints.
fn file_offset(file: &Path, address: u64) -> u64 {
    let printed = tools::run(Command::new("readelf").args(["--segments", "--wide"]).arg(file));
    let hexadecimal = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("an address");
    let found = printed.lines().map(str::trim).filter(|line| line.starts_with("LOAD")).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [offset, start, size] = [fields[1], fields[2], fields[4]].map(hexadecimal);
        (start <= address && address < start + size).then(|| address - start + offset)
    });
    found.expect("the address is in a segment")
}

fn check_against_binutils(file: &Path, least: usize) {
    if tools::find("nm").is_none() || tools::find("readelf").is_none() {
        return;
    }
    let resolution = json(file);
    let symbols = symbols(file);
    let sites = sites(&resolution);
    assert!(sites.len() >= least, "{} sites in {}", sites.len(), file.display());
    for (name, site) in sites {
        let address = number(&site["address"]);
        assert_eq!(number(&site["file_offset"]), file_offset(file, address), "{name}");
        let symbol = site["symbol"].as_str().expect("a symbol");
        let offset = number(&site["symbol_offset"]);
        let holds = |known: &&Symbol| known.name == symbol && known.start + offset == address && offset < known.size;
        assert!(symbols.iter().any(|known| holds(&known)), "{name}: {symbol}+{offset:#x} at {address:#x}");
    }
}

#[test]
fn addresses_of_a_rust_program_agree_with_binutils() {
    check_against_binutils(&program("io-queue", "io-queue"), 20);
}

#[test]
fn addresses_of_a_shared_library_agree_with_binutils() {
    check_against_binutils(&program("ringlog", "libringlog.so"), 7);
}

/// `objcopy` and `strip` must not change the results that are still available.
#[test]
fn transformed_images_are_listed_the_same() {
    if tools::find("objcopy").is_none() || tools::find("strip").is_none() {
        return;
    }
    let original = program("io-queue", "io-queue");
    let folder = tempfile::tempdir().expect("a folder");
    let listed = |file: &Path| tools::run(smark().args(["list", "--quiet"]).arg(file));
    let expected = listed(&original);
    for option in ["--compress-debug-sections=zlib", "--only-keep-debug", "--compress-debug-sections=none"] {
        let copy = folder.path().join(option.trim_start_matches('-')).join("io-queue");
        std::fs::create_dir(copy.parent().expect("a folder")).expect("a new folder");
        tools::run(Command::new("objcopy").arg(option).arg(&original).arg(&copy));
        assert_eq!(listed(&copy), expected, "{option}");
    }
    let stripped = folder.path().join("io-queue");
    tools::run(Command::new("strip").args(["--strip-debug", "-o"]).arg(&stripped).arg(&original));
    let resolution = json(&stripped);
    assert_eq!(markers(&resolution).len(), 17);
    for marker in markers(&resolution) {
        assert_eq!(
            (&marker["declared"], &marker["survival"]),
            (&Value::Bool(true), &Value::Null),
            "{}",
            marker["name"]
        );
    }
    let table = listed(&stripped);
    assert_eq!(table.matches("<unknown>").count(), 17, "{table}");
}

/// The survival of each marker of the example.
#[test]
fn the_dead_branch_of_the_example_is_eliminated_and_the_rest_is_live() {
    let resolution = json(&program("io-queue", "io-queue"));
    for marker in markers(&resolution) {
        let expected = if marker["name"] == "device:verify" { "eliminated" } else { "live" };
        assert_eq!(marker["survival"], expected, "{}", marker["name"]);
    }
}

/// `tests/names/closures.rs`: a marker has the name of its function in the source, and is selected by
/// this name and by that of the symbol.
#[test]
fn async_functions_and_closures_have_the_names_of_the_source() {
    let source = fixture::workspace().join("tests/names/closures.rs");
    let source = std::fs::read_to_string(source).expect("the source");
    let legacy = ["deliver::{async}", "main::{async block}", "main::{closure}", "main::{async block}::{closure}"];
    let v0 = ["deliver::{async}", "main::{async block#0}", "main::{closure#1}", "main::{async block#2}::{closure#0}"];
    let symbols = ["deliver::{closure#0}", "main::{closure#0}", "main::{closure#1}", "main::{closure#2}::{closure#0}"];
    let closures = ["deliver::{{closure}}", "main::{{closure}}", "main::{{closure}}", "main::{{closure}}::{{closure}}"];
    let markers = ["function", "block", "closure", "inside"].map(|name| format!("closures:{name}"));
    for (name, flags, names, symbols) in [
        ("closures-debug", ["-Copt-level=0", "-Cdebuginfo=2", "-Csymbol-mangling-version=v0"], v0, symbols),
        ("closures-release", ["-Copt-level=2", "-Cdebuginfo=2", "-Ccodegen-units=16"], legacy, closures),
    ] {
        let fixture = Fixture::new(name).file("src/main.rs", &source);
        tools::run(&mut fixture.rustc(&flags));
        let file = fixture.built(name);
        let resolution = json(&file);
        for ((marker, name), symbol) in markers.iter().zip(names).zip(symbols) {
            for pattern in [name, symbol] {
                let pattern = format!("*::{pattern}");
                let listed = tools::run(smark().args(["list", "-f", &pattern, "-n", marker]).arg(&file));
                let rows: Vec<&str> = listed.lines().skip(1).collect();
                assert_eq!(rows.len(), 1, "{pattern}\n{listed}");
                assert!(rows[0].contains(&format!("::{name} ")), "{pattern}\n{listed}");
            }
            let shown = tools::run(smark().args(["show", marker]).arg(&file));
            assert!(shown.contains(&format!("::{name}+0x")), "{shown}");
            // JSON says what the symbol says.
            let functions = sites(&resolution).into_iter().filter(|(of, _)| of == marker);
            let mut functions = functions.filter_map(|(_, site)| site["function"].as_str());
            assert!(functions.any(|function| function.ends_with(&format!("::{symbol}"))), "{marker} {resolution}");
        }
    }
}

/// A name of more than 100 columns loses its middle, where a generic function has its types; with `-v`
/// it is whole.
#[test]
fn a_long_name_of_a_function_is_shortened_in_the_middle() {
    if tools::find("g++").is_none() || tools::find("nm").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("long.cc"), folder.path().join("long"));
    let numbers: Vec<String> = (0..12).map(|number| (1_000_000_001 + number).to_string()).collect();
    let name = format!("deliver<{}>", numbers.join(", "));
    let code = format!(
        "#include \"simple_marker.h\"\ntemplate <int... N> __attribute__((noinline)) void deliver() \
         {{ simple_mark(long:name, \"passed\"); }}\nint main() {{ {name}(); }}\n"
    );
    std::fs::write(&source, code).expect("a source");
    let include = fixture::workspace().join("markers/include");
    tools::run(Command::new("g++").args(["-g", "-I"]).arg(include).arg(&source).arg("-o").arg(&program));
    let symbols = tools::run(Command::new("nm").arg("--demangle").arg(&program));
    assert!(symbols.contains(&format!("void {name}()\n")), "{symbols}");
    let listed = |options: &[&str]| {
        let printed = tools::run(smark().arg("list").args(options).arg(&program));
        let row = printed.lines().find_map(|line| line.split_once(" deliver<")?.1.split_once(" long:name"));
        format!("deliver<{}", row.unwrap_or_else(|| panic!("{printed}")).0.trim_end())
    };
    let (front, back) = (&name[..50], &name[name.len() - 49..]);
    assert_eq!(listed(&[]), format!("{front}\u{2026}{back}"));
    assert_eq!(listed(&["-v"]), name);
}
