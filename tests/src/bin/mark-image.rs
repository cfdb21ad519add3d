//! Adds markers to an image that has none, for measuring readers on images that are too large to
//! build: `mark-image IMAGE COUNT OUT`.
//!
//! It declares `COUNT` markers, each with a site at the start of a function of the image, evenly
//! spread. `OUT` is a copy with the three sections, made by objcopy. The contents of the sections
//! stay next to it as `OUT.declarations`, `OUT.sites` and `OUT.strings`.

use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_record::declaration::Declaration;
use simple_markers_record::site::Site;
use simple_markers_record::{ByteOrder, DECLARATIONS, SITES, STRINGS};
use simple_markers_tests::tools;

/// The number of subsystems and of files.
const SUBSYSTEMS: usize = 40;
const FILES: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [image, count, out] = arguments.as_slice() else {
        eprintln!("usage: mark-image IMAGE COUNT OUT");
        std::process::exit(2);
    };
    let count = count.parse().expect("COUNT is a number");
    let functions = functions(Path::new(image));
    assert!(!functions.is_empty(), "{image} has no functions");
    let sections = sections(&functions, count);
    let mut objcopy = Command::new("objcopy");
    for (name, extension, bytes) in [
        (DECLARATIONS, "declarations", sections.declarations),
        (SITES, "sites", sections.sites),
        (STRINGS, "strings", sections.strings),
    ] {
        let file = PathBuf::from(format!("{out}.{extension}"));
        std::fs::write(&file, bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        objcopy.arg("--add-section").arg(format!("{name}={}", file.display()));
    }
    tools::run(objcopy.args([image, out]));
}

/// The addresses of an image's functions, sorted.
fn functions(image: &Path) -> Vec<u64> {
    // nm prints no entry for symbols without a size, such as labels in assembly.
    let symbols = tools::run(Command::new("nm").args(["--defined-only", "--print-size"]).arg(image));
    let function = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [address, _, "t" | "T", _] = words[..] else { return None };
        u64::from_str_radix(address, 16).ok()
    };
    let mut functions: Vec<u64> = symbols.lines().filter_map(function).filter(|address| *address != 0).collect();
    functions.sort_unstable();
    functions.dedup();
    functions
}

/// The contents of the three sections.
struct Sections {
    declarations: Vec<u8>,
    sites: Vec<u8>,
    strings: Vec<u8>,
}

fn sections(functions: &[u64], count: usize) -> Sections {
    let (mut declarations, mut sites, mut strings) = (Vec::new(), Vec::new(), vec![0]);
    let mut string = |text: &str| {
        let offset = u32::try_from(strings.len()).expect("the strings fit 32 bits");
        strings.extend_from_slice(text.as_bytes());
        strings.push(0);
        offset
    };
    let (format_text, args_text) = ("event %d %p of %s", "cmd, ptr, name");
    let (format, args) = (string(format_text), string(args_text));
    let files: Vec<(String, u32)> = (0..FILES)
        .map(|file| format!("drivers/sub{}/file{file}.c", file % SUBSYSTEMS))
        .map(|file| (file.clone(), string(&file)))
        .collect();
    for index in 0..count {
        let name = format!("subsystem{}:event{index}", index % SUBSYSTEMS);
        let (file, file_offset) = &files[index % FILES];
        let line = u32::try_from(10 + index).expect("a line number");
        let declaration = Declaration {
            offset: 0,
            name: name.as_bytes(),
            file: file.as_bytes(),
            line,
            is_ghost: false,
            format: format_text.as_bytes(),
            args: args_text.as_bytes(),
        };
        declaration.write(&mut declarations);
        let site = Site {
            offset: 0,
            flags: 0,
            address_size: 8,
            pc: functions[index * functions.len() / count],
            line,
            column: 5,
            name: string(&name),
            file: *file_offset,
            format,
            args,
            operands: 0,
            switch: None,
        };
        site.write(&mut sites, ByteOrder::Little);
    }
    Sections { declarations, sites, strings }
}
