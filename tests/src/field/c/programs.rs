//! Which programs there are.

use crate::generator::{Rich, Tongue, Variant};

/// A program from a crate that bundles sources in C, and the driver in `tests/field/` that calls it; or a
/// generated one.
pub struct Source {
    /// Its name.
    pub(super) name: &'static str,
    /// Its own version.
    pub(super) version: &'static str,
    /// The crate, and the version of that; the program is generated if it is empty.
    pub(super) package: (&'static str, &'static str),
    /// The folder of the sources in the crate.
    pub(super) folder: &'static str,
    /// The sources, or folders of them.
    pub(super) sources: &'static [&'static str],
    pub(super) flags: &'static [&'static str],
    pub(super) libraries: &'static [&'static str],
    /// The driver; the program has a `main` of its own if it is empty.
    pub(super) driver: &'static str,
    /// The input in `tests/field/`.
    pub(super) input: &'static str,
}

/// The generated program, without markers.
pub(super) fn generated() -> String {
    let text = Rich::generate(SEED, FUNCTIONS, false).text(Tongue::C, Variant::Place);
    text.lines().filter(|line| !line.contains("simple_mark")).map(|line| format!("{line}\n")).collect()
}

const SEED: u64 = 9400;
const FUNCTIONS: usize = 150;

/// All of them.
pub static PROGRAMS: [Source; 5] = [
    Source {
        name: "sqlite",
        version: "3.50.2",
        package: ("libsqlite3-sys", "0.35.0"),
        folder: "sqlite3",
        sources: &["sqlite3.c"],
        flags: &["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"],
        libraries: &["-lm"],
        driver: "sqlite.c",
        input: "sqlite.sql",
    },
    Source {
        name: "quickjs",
        version: "0.11.0",
        package: ("rquickjs-sys", "0.11.0"),
        folder: "quickjs",
        sources: &[
            "cutils.c",
            "dtoa.c",
            "libregexp.c",
            "libunicode.c",
            "quickjs.c",
            "quickjs-libc.c",
            "qjs.c",
            "gen/repl.c",
            "gen/standalone.c",
        ],
        flags: &["-D_GNU_SOURCE"],
        libraries: &["-lm", "-ldl", "-pthread"],
        driver: "",
        input: "quickjs.js",
    },
    Source {
        name: "zstd",
        version: "1.5.7",
        package: ("zstd-sys", "2.0.16"),
        folder: "zstd/lib",
        sources: &["common", "compress", "decompress", "dictBuilder"],
        flags: &["-DZSTD_DISABLE_ASM"],
        libraries: &[],
        driver: "zstd.c",
        input: "",
    },
    Source {
        name: "bzip2",
        version: "1.0.8",
        package: ("bzip2-sys", "0.1.13+1.0.8"),
        folder: "bzip2-1.0.8",
        sources: &["blocksort.c", "bzlib.c", "compress.c", "crctable.c", "decompress.c", "huffman.c", "randtable.c"],
        flags: &["-D_FILE_OFFSET_BITS=64"],
        libraries: &[],
        driver: "bzip2.c",
        input: "",
    },
    Source {
        name: "generated",
        version: "1",
        package: ("", ""),
        folder: "",
        sources: &["program.c"],
        flags: &[],
        libraries: &[],
        driver: "",
        input: "",
    },
];
