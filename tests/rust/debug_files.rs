//! Debug information in every place. The resolver must report the same markers if a program has its
//! own debug information, or if `objcopy`, `strip`, `eu-strip`, `dwz`, `-gsplit-dwarf` or
//! compression moved it elsewhere. The debug information of another program is refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use simple_markers_tests::tools::{Ended, ended};
use simple_markers_tests::{fixture, second_opinion, tools};

const HEADER: &str = r#"
enum kind { SMALL, BIG };
struct item { int key; long value; };
struct queue { int depth; enum kind kind; const char *name; };
static inline int peek(struct queue *q)
{
	int d = q->depth;
	simple_mark(try:peek, "d %d q %p kind %d", d, q, q->kind);
	return d * 3;
}
"#;
const MAIN: &str = r#"
#include "simple_marker.h"
#include "queue.h"
extern int other(struct queue *q, int n);
int counter = 3;
static int work(struct queue *q, int n)
{
	for (int i = 0; i < n; i++) {
		struct item item = { i, q->depth + i };
		simple_mark(try:loop, "i %d depth %d value %ld", i, q->depth, item.value);
		q->depth += other(q, i);
	}
	simple_mark(try:end, "n %d counter %d kind %d", n, counter, q->kind);
	return q->depth;
}
int main(int argc, char **argv)
{
	struct queue q = { argc, BIG, 0 };
	int r = work(&q, argc + 2);
	simple_mark(try:main, "argc %d argv %p r %d", argc, argv, r);
	return peek(&q) + r;
}
"#;
const OTHER: &str = r#"
#include "simple_marker.h"
#include "queue.h"
extern int counter;
int other(struct queue *q, int n)
{
	int twice = n * 2;
	simple_mark(try:other, "n %d twice %d name %s counter %d", n, twice, q->name, counter);
	counter += twice;
	return peek(q) + twice;
}
"#;
/// The number of markers in these programs.
const MARKERS: usize = 5;

/// A separate folder for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = fixture::target().join("separate").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).expect("an old folder is removed");
        }
        fs::create_dir_all(&folder).expect("a new folder");
        let folder = Self(folder);
        for (file, text) in [("queue.h", HEADER), ("main.c", MAIN), ("other.c", OTHER)] {
            folder.write(file, text.as_bytes());
        }
        folder
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    fn write(&self, file: &str, bytes: &[u8]) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file is written");
    }

    fn read(&self, file: &str) -> Vec<u8> {
        fs::read(self.path(file)).expect("a file is read")
    }

    fn copy(&self, from: &str, to: &str) {
        self.write(to, &self.read(from));
        let permissions = fs::metadata(self.path(from)).expect("a file").permissions();
        fs::set_permissions(self.path(to), permissions).expect("permissions are set");
    }

    /// Runs a command in the folder. Its words are separated by spaces.
    fn run(&self, command: &str) -> String {
        let mut words = command.split_whitespace();
        let mut run = Command::new(words.next().expect("a command"));
        tools::run(run.args(words).current_dir(&self.0))
    }

    /// Compiles and links the program.
    fn build(&self, compiler: &str, flags: &str, program: &str) {
        let include = fixture::workspace().join("markers/include");
        for unit in ["main", "other"] {
            self.run(&format!("{compiler} -O2 -g {flags} -I{} -c {unit}.c -o {unit}.o", include.display()));
        }
        self.run(&format!("{compiler} {flags} main.o other.o -Wl,--build-id -o {program}"));
    }

    /// Runs `smark` in the folder, with words separated by spaces.
    fn smark(&self, command: &str) -> Ended {
        ended(Command::new(fixture::smark()).args(command.split_whitespace()).current_dir(&self.0))
    }

    /// The only image of a file, with all its markers in full; `arguments` are the file and
    /// options.
    fn image(&self, arguments: &str) -> Value {
        let listed = self.smark(&format!("list --json {arguments}")).success();
        let mut resolution: Value = serde_json::from_str(&listed).expect("JSON");
        resolution["images"][0].take()
    }

    /// The expected output for a program, wherever its debug information is.
    fn whole(&self, program: &str) -> Value {
        second_opinion::check(&self.path(program));
        let image = self.image(program);
        let markers = image["markers"].as_array().expect("markers");
        assert_eq!(markers.len(), MARKERS, "{program}");
        assert!(image["diagnostics"].as_array().is_some_and(Vec::is_empty), "{}", image["diagnostics"]);
        let args = || markers.iter().flat_map(|marker| marker["sites"][0]["args"].as_array().expect("arguments"));
        assert!(
            args().all(|arg| arg["verdict"].is_string()) && args().any(|arg| arg["verdict"] == "live"),
            "{program}"
        );
        image["markers"].clone()
    }

    /// Asserts that a file gives the same output, and where its debug information was found.
    fn same(&self, arguments: &str, whole: &Value, source: &str, path: &str) {
        let image = self.image(arguments);
        assert_eq!(image["debug"]["source"], source, "{arguments}: {}", image["diagnostics"]);
        let found = image["debug"]["path"].as_str().expect("a path");
        assert!(found.ends_with(path), "{arguments}: {found}");
        assert_eq!(image["markers"], *whole, "{arguments}");
        assert_eq!(image["diagnostics"], Value::Array(Vec::new()), "{arguments}");
    }

    /// The supplementary and split files, and how each was found.
    fn supplements(&self, arguments: &str) -> Vec<(String, String)> {
        let image = self.image(arguments);
        let supplements = image["debug"]["supplements"].as_array().expect("supplements");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let last = |path: String| path.rsplit('/').next().unwrap_or_default().to_owned();
        supplements.iter().map(|found| (text(&found["source"]), last(text(&found["path"])))).collect()
    }

    fn build_id(&self, program: &str) -> String {
        self.image(program)["build_id"].as_str().expect("a build id").to_owned()
    }
}

#[test]
fn companions_are_found_by_link_and_by_build_id() {
    let folder = Folder::new("links");
    folder.build("gcc", "", "prog");
    let whole = folder.whole("prog");
    let listed = folder.smark("list prog").stdout;
    folder.run("objcopy --only-keep-debug prog prog.debug");
    let id = folder.build_id("prog");
    let by_id = format!("dbg/.build-id/{}/{}.debug", &id[..2], &id[2..]);
    for (how, strip) in [("all", "strip"), ("debug", "strip -g")] {
        let place = |file: &str| format!("{how}/{file}");
        let program = place("prog");
        fs::create_dir_all(folder.path(how)).expect("a folder");
        folder.run(&format!("{strip} -o {program} prog"));
        folder.write(&by_id, &folder.read("prog.debug"));
        folder.same(&format!("--debug-dir none --debug-dir dbg {program}"), &whole, "build-id", &by_id);
        let names = folder.smark(&format!("list --debug-dir dbg {program}"));
        assert_eq!((&names.stdout, &*names.stderr), (&listed, ""), "{how}");
        fs::remove_dir_all(folder.path("dbg")).expect("removed");

        folder.run(&format!("objcopy --add-gnu-debuglink=prog.debug {program}"));
        let whole_path = folder.path(how).canonicalize().expect("a path");
        let below = format!("dbg{}/prog.debug", whole_path.display());
        for file in [place("prog.debug"), place(".debug/prog.debug"), below] {
            folder.write(&file, &folder.read("prog.debug"));
            folder.same(&format!("--debug-dir dbg {program}"), &whole, "debuglink", &file);
            fs::remove_file(folder.path(&file)).expect("removed");
        }
        let image = folder.image(&format!("--debug-dir dbg {program}"));
        assert_eq!(image["debug"], Value::Null);
        let note = image["diagnostics"][0]["message"].as_str().expect("a note");
        assert_eq!(note, "the debug information is in prog.debug, which was not found");
    }
    // A link to the program works like the program.
    folder.write("all/prog.debug", &folder.read("prog.debug"));
    symlink("all/prog", folder.path("link")).expect("a link");
    assert_eq!(folder.image("link")["markers"], whole);
}

#[test]
fn eu_strip_takes_declarations_too() {
    if tools::find("eu-strip").is_none() {
        return;
    }
    let folder = Folder::new("eu-strip");
    folder.build("gcc", "", "prog");
    let whole = folder.whole("prog");
    folder.run("eu-strip -f stripped.debug -o stripped prog");
    folder.same("stripped", &whole, "debuglink", "stripped.debug");
    fs::remove_file(folder.path("stripped.debug")).expect("removed");
    let listed = folder.smark("list stripped");
    assert_eq!((listed.status, &*listed.stderr), (0, "smark: stripped: no markers\n"));
}

#[test]
fn sections_and_files_may_be_compressed() {
    let folder = Folder::new("compressed");
    folder.build("gcc", "", "prog");
    folder.run("ld -r main.o other.o -o mod.ko");
    let (whole, module) = (folder.whole("prog"), folder.whole("mod.ko"));
    for how in ["zlib", "zstd"] {
        folder.run(&format!("objcopy --compress-debug-sections={how} prog {how}"));
        folder.same(how, &whole, "file", how);
    }
    // The old GNU format, with other section names. objcopy would damage the records of sites.
    folder.run("objcopy -R .debug.simple_marker.2 -R .debug.simple_marker.str prog by-line");
    folder.run("objcopy --compress-debug-sections=zlib-gnu by-line zlib-gnu");
    let by_line = folder.image("by-line");
    assert!(by_line["markers"][0]["sites"][0]["args"].to_string().contains("live"));
    assert_eq!(folder.image("zlib-gnu")["markers"], by_line["markers"]);
    for (packer, extension) in [
        ("gzip -k", "gz"),
        ("xz -k", "xz"),
        ("xz -k --check=crc32 --x86 --lzma2=dict=1MiB", "xz"),
        ("zstd -q -19", "zst"),
    ] {
        if tools::find(packer.split(' ').next().unwrap_or_default()).is_none() {
            continue;
        }
        let packed = format!("mod.ko.{extension}");
        let _ = fs::remove_file(folder.path(&packed));
        folder.run(&format!("{packer} mod.ko"));
        folder.same(&packed, &module, "file", &packed);
        assert_eq!(folder.image(&packed)["module"], "mod");
        let bytes = folder.read(&packed);
        folder.write("cut", &bytes[..bytes.len() / 2]);
        let stderr = folder.smark("list cut").fails(2);
        assert!(stderr.starts_with("smark: cut: "), "{packer}: {stderr}");
    }
    // Other files in a folder are skipped.
    folder.write("mods/notes.txt", b"text");
    folder.run("gzip mods/notes.txt");
    folder.copy("mod.ko.xz", "mods/mod.ko.xz");
    let (listed, alone) = (folder.smark("list -r mods"), folder.smark("list mod.ko"));
    assert_eq!((listed.stdout, &*listed.stderr), (alone.stdout, ""));
}

#[test]
fn modules_have_companions() {
    let folder = Folder::new("module");
    folder.build("gcc", "", "prog");
    folder.run("ld -r --build-id main.o other.o -o mod.ko");
    let whole = folder.whole("mod.ko");
    folder.run("objcopy --only-keep-debug mod.ko mod.ko.debug");
    folder.run("strip -g mod.ko");
    folder.run("objcopy --add-gnu-debuglink=mod.ko.debug mod.ko");
    folder.same("mod.ko", &whole, "debuglink", "mod.ko.debug");
    folder.run("xz mod.ko");
    folder.same("mod.ko.xz", &whole, "debuglink", "mod.ko.debug");
    // A different module with the same build id.
    folder.run("ld -r main.o -o less.ko");
    folder.run("objcopy --dump-section .note.gnu.build-id=id mod.ko.debug");
    folder.run("objcopy --remove-section .note.gnu.build-id --add-section .note.gnu.build-id=id --set-section-flags .note.gnu.build-id=alloc,readonly less.ko mod.ko.debug");
    let image = folder.image("mod.ko.xz");
    assert_eq!(image["debug"], Value::Null, "{}", image["diagnostics"]);
}

/// The mini debug information of GDB's manual: the functions that are not dynamic, compressed.
#[test]
fn functions_of_mini_debug_information_have_names() {
    if tools::find("xz").is_none() {
        return;
    }
    let folder = Folder::new("mini");
    folder.build("gcc", "", "prog");
    let functions = |image: &Value| -> Vec<String> {
        let markers = image["markers"].as_array().expect("markers").iter();
        let sites = markers.flat_map(|marker| marker["sites"].as_array().expect("sites"));
        sites.map(|site| site["function"].as_str().unwrap_or("none").to_owned()).collect()
    };
    folder.run("objcopy --strip-debug --keep-section=.debug.simple_marker* prog symbols");
    let whole = functions(&folder.image("symbols"));
    assert!(whole.iter().all(|name| name == "main" || name == "other") && whole.len() > MARKERS, "{whole:?}");
    folder.run("objcopy --strip-all --keep-section=.debug.simple_marker* prog stripped");
    assert!(functions(&folder.image("stripped")).iter().all(|name| name == "none"));

    folder.write("names", b"main\nother\n");
    folder.run("objcopy -S --keep-symbols=names symbols mini");
    folder.run("xz -k mini");
    folder.run("objcopy --add-section .gnu_debugdata=mini.xz stripped embedded");
    assert_eq!(functions(&folder.image("embedded")), whole);
    let said =
        tools::run(Command::new("gdb").args(["-batch", "-ex", "info symbol other"]).arg(folder.path("embedded")));
    assert!(said.starts_with("other in section .text"), "{said}");

    // What is damaged is an error, and the rest is reported.
    let packed = folder.read("mini.xz");
    let mut flipped = packed.clone();
    flipped[40] ^= 1;
    for bytes in [&packed[..packed.len() / 2], &flipped, b"no xz", b""] {
        folder.write("damaged.xz", bytes);
        folder.run("objcopy --add-section .gnu_debugdata=damaged.xz stripped impaired");
        let listed = folder.smark("list impaired");
        assert_eq!(listed.status, 2, "{}", listed.stderr);
        assert!(listed.stderr.starts_with("smark: impaired: .gnu_debugdata: "), "{}", listed.stderr);
        assert_eq!(listed.stdout, folder.smark("list stripped").stdout.replace("stripped", "impaired"));
    }
}

#[test]
fn dwz_moves_entries() {
    if tools::find("dwz").is_none() {
        return;
    }
    let folder = Folder::new("dwz");
    folder.build("gcc", "", "prog");
    // With the site records, and with the line table alone.
    folder.run("objcopy -R .debug.simple_marker.2 -R .debug.simple_marker.str prog by-line");
    for program in ["prog", "by-line"] {
        let whole = folder.image(program)["markers"].clone();
        let (one, two) = (format!("one-{program}"), format!("two-{program}"));
        for copy in ["single", &one, &two] {
            folder.copy(program, copy);
        }
        folder.run("dwz single");
        folder.same("single", &whole, "file", "single");
        let common = format!("common-{program}");
        folder.run(&format!("dwz -m {common} {one} {two}"));
        folder.same(&one, &whole, "file", &one);
        assert_eq!(folder.supplements(&one), [("altlink".to_owned(), common.clone())]);
        // Of the others its build id.
        folder.copy("prog", &common);
        let image = folder.image(&one);
        let ours = folder.run(&format!("readelf --string-dump=.gnu_debugaltlink {one}"));
        assert!(ours.contains(&common), "{ours}");
        let note = image["diagnostics"][0]["message"].as_str().expect("a note");
        assert!(
            note.contains(&format!("{common} is not used: its build id is {}, ", folder.build_id("prog"))),
            "{note}"
        );
        assert_eq!(image["debug"], Value::Null);
        fs::remove_file(folder.path(&common)).expect("removed");
        let image = folder.image(&one);
        let note = image["diagnostics"][0]["message"].as_str().expect("a note");
        assert!(note.contains("(dwz), which was not found"), "{note}");
    }
}

#[test]
fn units_may_be_split() {
    for compiler in ["gcc", "clang"] {
        if tools::find(compiler).is_none() {
            continue;
        }
        for version in [4, 5] {
            for types in ["", "-fdebug-types-section"] {
                let folder = Folder::new(&format!("split-{compiler}-{version}{types}"));
                let flags = format!("-gdwarf-{version} {types}");
                folder.build(compiler, &flags, "prog");
                let whole = folder.whole("prog");
                let remove = "objcopy -R .debug.simple_marker.2 -R .debug.simple_marker.str";
                folder.run(&format!("{remove} prog by-line"));
                let by_line = folder.image("by-line");
                folder.build(compiler, &format!("{flags} -gsplit-dwarf"), "split");
                folder.run(&format!("{remove} split split-by-line"));
                folder.same("split", &whole, "file", "split");
                let split_by_line = folder.image("split-by-line");
                assert_eq!(split_by_line["markers"], by_line["markers"]);
                assert_eq!(split_by_line["diagnostics"], by_line["diagnostics"]);
                let supplements = folder.supplements("split");
                let dwo = |name: &str| ("dwo".to_owned(), name.to_owned());
                assert_eq!(supplements, [dwo("main.dwo"), dwo("other.dwo")]);

                // llvm-dwp 14 does not terminate on gcc's DWARF 5, and binutils' dwp does not
                // support DWARF 5.
                let packer = if compiler == "clang" { "llvm-dwp" } else { "dwp" };
                let packs = (compiler == "clang" || version == 4) && tools::find(packer).is_some();
                if packs {
                    folder.run(&format!("{packer} -e split -o split.dwp"));
                }
                // Recompiled files belong to another program.
                folder.copy("main.dwo", "kept/main.dwo");
                folder.copy("other.dwo", "other-kept.dwo");
                fs::remove_file(folder.path("main.dwo")).expect("removed");
                fs::remove_file(folder.path("other.dwo")).expect("removed");
                if packs {
                    folder.same("split", &whole, "file", "split");
                    assert_eq!(folder.supplements("split"), [("dwp".to_owned(), "split.dwp".to_owned())]);
                    fs::remove_file(folder.path("split.dwp")).expect("removed");
                }
                folder.write("main.dwo", &folder.read("other-kept.dwo"));
                let image = folder.image("split");
                let notes = image["diagnostics"].to_string();
                assert!(
                    notes.contains("main.dwo is not used: its unit is 0x") && notes.contains("the image wants 0x"),
                    "{notes}"
                );
                assert!(
                    notes.contains("part of the debug information is in other.dwo, which was not found"),
                    "{notes}"
                );
                let arg = &image["markers"][0]["sites"][0]["args"][0];
                assert_eq!(arg["verdict"], "unsupported");
                let why = arg["why"].as_str().expect("a reason");
                assert_eq!(why, "the debug information is in main.dwo, which was not found");
            }
        }
    }
}

#[test(desk = false)]
fn rust_splits_units_too() {
    let build = |how: &str| {
        // Other tests build the same example in the common folder.
        let common = fixture::target();
        let target = if how == "off" { common } else { common.join("separate").join(format!("rust-{how}")) };
        let mut build = fixture::cargo();
        build.args(["build", "--offline", "--quiet", "--profile", "demo", "--package", "io-queue"]);
        build.current_dir(fixture::workspace()).env("CARGO_TARGET_DIR", &target);
        if how != "off" {
            build.env("CARGO_PROFILE_DEMO_SPLIT_DEBUGINFO", how);
        }
        tools::run(&mut build);
        target.join("demo/io-queue")
    };
    let image = |file: &Path| {
        let printed = tools::run(Command::new(fixture::smark()).args(["list", "--json"]).arg(file));
        let mut resolution: Value = serde_json::from_str(&printed).expect("JSON");
        let mut image = resolution["images"][0].take();
        // The hash in symbols also covers the profile.
        let sites = image["markers"].as_array_mut().expect("markers").iter_mut();
        for site in sites.flat_map(|marker| marker["sites"].as_array_mut().expect("sites")) {
            site["symbol"].take();
        }
        // The linker chooses the order of the units, and with it the order of the markers.
        image["markers"].as_array_mut().expect("markers").sort_by_key(|marker| marker["name"].to_string());
        for marker in image["markers"].as_array_mut().expect("markers") {
            marker["id"].take();
        }
        image
    };
    let whole = image(&build("off"));
    assert!(whole["markers"].as_array().is_some_and(|markers| markers.len() > 10));
    for (how, source) in tools::slice("split units", &[("packed", "dwp"), ("unpacked", "dwo")], &[0]) {
        let image = image(&build(how));
        assert_eq!(image["markers"], whole["markers"], "{how}");
        assert_eq!(image["debug"]["supplements"][0]["source"], source);
    }
}

#[test]
fn what_does_not_belong_is_refused() {
    let folder = Folder::new("refused");
    folder.build("gcc", "", "prog");
    folder.run("objcopy --only-keep-debug prog prog.debug");
    folder.run("strip -o stripped prog");
    folder.run("objcopy --add-gnu-debuglink=prog.debug stripped");
    let refused = |program: &str| {
        let image = folder.image(program);
        assert_eq!(image["debug"], Value::Null, "{program}");
        assert!(
            image["markers"]
                .as_array()
                .is_some_and(|markers| markers.iter().all(|marker| marker["survival"].is_null()))
        );
        image["diagnostics"].to_string()
    };
    // Another program with another build id.
    let ours = folder.build_id("prog");
    folder.copy("prog.debug", "kept.debug");
    folder.build("gcc", "-fno-inline", "another");
    folder.run("objcopy --only-keep-debug another prog.debug");
    let theirs = folder.build_id("another");
    let why = format!("prog.debug is not used: its build id is {theirs}, the image's is {ours}");
    let notes = refused("stripped");
    assert!(notes.contains(&why), "{notes}");
    let by_id = format!("dbg/.build-id/{}/{}.debug", &ours[..2], &ours[2..]);
    folder.copy("prog.debug", &by_id);
    let notes = refused("--debug-dir dbg stripped");
    assert!(
        notes.contains(&format!("{by_id} is not used: its build id is {theirs}, the image's is {ours}")),
        "{notes}"
    );
    // The search continues after a refused file.
    folder.copy("kept.debug", "prog.debug");
    let image = folder.image("--debug-dir dbg stripped");
    assert_eq!(image["debug"]["source"], "debuglink");
    assert_eq!(image["markers"], folder.whole("prog"));

    // Without build ids, the checksum decides.
    folder.run("objcopy --remove-section .note.gnu.build-id prog bare");
    let whole = folder.whole("bare");
    folder.run("objcopy --only-keep-debug bare bare.debug");
    folder.run("strip bare");
    folder.run("objcopy --add-gnu-debuglink=bare.debug bare");
    folder.same("bare", &whole, "debuglink", "bare.debug");
    let bytes = folder.read("bare.debug");
    folder.write("bare.debug", &[&bytes[..], b"\0"].concat());
    let crc = |bytes: &[u8]| {
        bytes.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
        })
    };
    let (ours, theirs) = (!crc(&bytes), !crc(&folder.read("bare.debug")));
    let why = format!("bare.debug is not used: its CRC is {theirs:#010x}, the image says {ours:#010x}");
    let notes = refused("bare");
    assert!(notes.contains(&why), "{notes}");

    // A file truncated anywhere is reported, and nothing worse happens.
    let bytes = folder.read("kept.debug");
    for part in 0..16 {
        folder.write("prog.debug", &bytes[..bytes.len() * part / 16]);
        let listed = folder.smark("list --json stripped");
        assert!(matches!(listed.status, 0 | 2), "{part}: {}", listed.stderr);
    }
}

#[test]
fn hostile_links_open_nothing_else() {
    let folder = Folder::new("hostile");
    folder.build("gcc", "", "prog");
    folder.run("strip -o stripped prog");
    let quiet = |program: &str| {
        let image = folder.image(program);
        assert_eq!(
            (&image["debug"], image["markers"].as_array().map(Vec::len)),
            (&Value::Null, Some(MARKERS)),
            "{program}"
        );
        image["diagnostics"].to_string()
    };
    // A link to the image itself, and to its stripped copy under another name.
    folder.copy("stripped", "self");
    folder.run("objcopy --add-gnu-debuglink=stripped self");
    let notes = quiet("self");
    assert!(notes.contains("stripped is not used: it has no debug information"), "{notes}");
    fs::remove_file(folder.path("stripped")).expect("removed");
    symlink("self", folder.path("stripped")).expect("a link");
    let notes = quiet("self");
    assert!(!notes.contains("is not used"), "{notes}");
    fs::remove_file(folder.path("stripped")).expect("removed");
    symlink("stripped", folder.path("stripped")).expect("a link to itself");
    quiet("self");
    fs::remove_file(folder.path("stripped")).expect("removed");
    // A pipe without a writer, and a folder.
    folder.run("mkfifo stripped");
    quiet("self");
    fs::remove_file(folder.path("stripped")).expect("removed");
    fs::create_dir(folder.path("stripped")).expect("a folder");
    quiet("self");
    // A path instead of a file name: `../../xx` replaces the eight bytes of `stripped`.
    let mut bytes = folder.read("self");
    let offset = bytes.windows(9).rposition(|window| window == b"stripped\0").expect("a link");
    bytes[offset..offset + 8].copy_from_slice(b"../../xx");
    folder.write("path", &bytes);
    let notes = quiet("path");
    assert!(notes.contains("`../../xx` is not the name of a file, it is not looked for"), "{notes}");
}
