//! The stacks of `smark trace --stack=dwarf` beside the backtraces of gdb at the same hits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object as _, ObjectSegment as _};
use serde_json::Value as Json;

use crate::fixture::{self, Fixture};
use crate::tools::{self, run};

/// The programs with frames of many kinds.
const C: &str = include_str!("../stacks/frames.c");
const RUST: &str = include_str!("../stacks/frames.rs");
/// What gdb runs.
const BACKTRACES: &str = include_str!("../stacks/backtraces.py");

/// A program with the frames of many kinds, by a compiler with options.
#[derive(Clone, Copy, Debug)]
pub struct StackBuild {
    /// `gcc`, `clang` or `rustc`.
    pub compiler: &'static str,
    /// Its options beside those for debug information.
    pub flags: &'static [&'static str],
}

/// All of them.
pub const BUILDS: [StackBuild; 7] = [
    StackBuild { compiler: "gcc", flags: &["-O2"] },
    StackBuild { compiler: "clang", flags: &["-O2"] },
    StackBuild { compiler: "rustc", flags: &["-Copt-level=2"] },
    StackBuild { compiler: "gcc", flags: &["-O3", "-fomit-frame-pointer", "-fno-plt", "-mstackrealign"] },
    StackBuild { compiler: "gcc", flags: &["-O2", "-fno-asynchronous-unwind-tables", "-no-pie"] },
    StackBuild { compiler: "clang", flags: &["-O1", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables"] },
    StackBuild { compiler: "gcc", flags: &["-O0"] },
];

/// Where a frame is: the name of the file, and the link-time address.
pub type FramePlace = (String, u64);

/// The stack of a hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitStack {
    /// The frames, the innermost first.
    pub frames: Vec<FramePlace>,
    /// The code of why they end.
    pub end: String,
}

/// How the stacks of a program agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackTally {
    /// Hits whose frames are those of gdb, all of them.
    pub whole: usize,
    /// Hits whose frames are the first ones of gdb's, and that say why they end, by that.
    pub cut: BTreeMap<String, usize>,
    /// All frames that were compared.
    pub frames: usize,
    /// What differs, as text.
    pub wrong: Vec<String>,
}

impl StackBuild {
    /// Builds the program in a folder.
    ///
    /// # Panics
    ///
    /// It does not compile.
    #[must_use]
    pub fn build(&self, folder: &Path) -> PathBuf {
        if self.compiler == "rustc" {
            let fixture = Fixture::new("stacks-frames").file("src/main.rs", RUST);
            run(&mut fixture.rustc(&[&["-g", "-Cforce-frame-pointers=no"], self.flags].concat()));
            return fixture.built("stacks-frames");
        }
        let (file, program) = (folder.join("frames.c"), folder.join("frames"));
        std::fs::write(&file, C).expect("the source is written");
        let mut compiler = Command::new(self.compiler);
        compiler.arg("-I").arg(fixture::workspace().join("markers/include")).args(["-g", "-pthread"]).args(self.flags);
        run(compiler.arg(&file).arg("-o").arg(&program));
        program
    }
}

/// The stacks that `smark trace` prints, by the number of the hit, and the sites.
///
/// # Panics
///
/// It fails, or says something else.
#[must_use]
pub fn traced(program: &Path, arguments: &[String], stack: &str) -> (BTreeMap<u64, HitStack>, BTreeSet<u64>) {
    let mut smark = Command::new(fixture::smark());
    smark.args(["trace", "--json", "--buffer", "1G", stack, "--"]);
    let printed = tools::output(smark.arg(program).args(arguments));
    let printed = String::from_utf8(printed.stdout).expect("UTF-8");
    let number = |text: &Json| {
        let digits = text.as_str().and_then(|text| text.strip_prefix("0x"));
        digits.and_then(|digits| u64::from_str_radix(digits, 16).ok())
    };
    let (mut stacks, mut sites) = (BTreeMap::new(), BTreeSet::new());
    for line in printed.lines() {
        let hit: Json = serde_json::from_str(line).expect("JSON");
        if let Some(lost) = hit.get("lost") {
            assert_eq!(lost.as_u64(), Some(0), "hits were lost");
        }
        let Some(frames) = hit["stack"].as_array() else { continue };
        let frame = |frame: &Json| {
            let name = Path::new(frame["image"].as_str().unwrap_or("?")).file_name().unwrap_or_default();
            (name.to_string_lossy().into_owned(), number(&frame["image_address"]).unwrap_or_default())
        };
        sites.insert(number(&hit["site"]).expect("an address"));
        let end = hit["stack_end"].as_str().expect("a code").to_owned();
        let stack = HitStack { frames: frames.iter().map(frame).collect(), end };
        stacks.insert(hit["args"][0]["value"].as_u64().expect("a number"), stack);
    }
    (stacks, sites)
}

/// The backtraces of gdb at addresses, by the number of the hit.
///
/// # Panics
///
/// gdb says something else.
#[must_use]
pub fn backtraces(program: &Path, arguments: &[String], sites: &BTreeSet<u64>) -> BTreeMap<u64, Vec<FramePlace>> {
    let folder = tempfile::tempdir().expect("a folder");
    let (script, output) = (folder.path().join("backtraces.py"), folder.path().join("output"));
    let start = segments(program).iter().map(|(_, _, address)| address & !0xfff).min().expect("a segment");
    let places: Vec<u64> = sites.iter().map(|site| site - start).collect();
    std::fs::write(&script, format!("places = {places:?}\noutput = {output:?}\n{BACKTRACES}")).expect("it is written");
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-x"]).arg(&script).arg("--args").arg(program).args(arguments);
    tools::output(&mut gdb);
    let written = std::fs::read_to_string(&output).expect("gdb writes it");
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).expect("a number");
    let mut maps = Vec::new();
    for line in written.lines().filter_map(|line| line.strip_prefix("map ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (start, end) = words[0].split_once('-').expect("addresses");
        let path = words.get(5).copied().unwrap_or("?");
        maps.push((hexadecimal(start)..hexadecimal(end), hexadecimal(words[2]), path.to_owned()));
    }
    let mut files: BTreeMap<String, Vec<(u64, u64, u64)>> = BTreeMap::new();
    let mut place = |address: u64| {
        let Some((range, offset, path)) = maps.iter().find(|(range, ..)| range.contains(&address)) else {
            return ("?".to_owned(), address);
        };
        let offset = address - range.start + offset;
        let segments = files.entry(path.clone()).or_insert_with(|| segments(Path::new(path)));
        let segment = segments.iter().find(|(start, size, _)| (*start..start + size).contains(&offset));
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, segment.map_or(0, |(start, _, address)| offset - start + address))
    };
    let mut found = BTreeMap::new();
    for line in written.lines().filter_map(|line| line.strip_prefix("stack ")) {
        let mut words = line.split_whitespace();
        let number = words.next().and_then(|word| word.parse().ok()).expect("a number");
        found.insert(number, words.map(|word| place(hexadecimal(word))).collect());
    }
    found
}

/// The offsets, sizes and addresses of the segments of a file.
fn segments(path: &Path) -> Vec<(u64, u64, u64)> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let Ok(image) = object::File::parse(&*bytes) else { return Vec::new() };
    let segment =
        |segment: object::Segment<'_, '_>| (segment.file_range().0, segment.file_range().1, segment.address());
    image.segments().map(segment).collect()
}

/// Compares the stacks of a program at its hits.
///
/// # Panics
///
/// A tool fails, or there are fewer hits than are wanted.
#[must_use]
pub fn compare(program: &Path, hits: u64, seed: u64, stack: &str) -> StackTally {
    let arguments = [hits.to_string(), seed.to_string()];
    let (stacks, sites) = traced(program, &arguments, stack);
    let known = backtraces(program, &arguments, &sites);
    assert!(stacks.len() as u64 >= hits, "only {} of {hits} hits were traced", stacks.len());
    let mut tally = StackTally::default();
    for (number, stack) in &stacks {
        let Some(known) = known.get(number) else {
            tally.wrong.push(format!("hit {number}: gdb did not stop"));
            continue;
        };
        tally.frames += stack.frames.len();
        match &*stack.end {
            "outermost" if stack.frames == *known => tally.whole += 1,
            // The kernel may move a page while a program that cannot sleep wants to read it.
            "not_copied" | "most_frames" | "unreadable"
                if known.starts_with(&stack.frames) && known.len() > stack.frames.len() =>
            {
                *tally.cut.entry(stack.end.clone()).or_default() += 1;
            }
            _ => tally.wrong.push(format!("hit {number}: {stack:x?}\n  gdb: {known:x?}")),
        }
    }
    tally
}
