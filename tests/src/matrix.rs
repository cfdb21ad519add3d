//! Programs that are compiled once and linked in many ways. [`Toolchain`] runs the compiler, and
//! replaces its linker.
//!
//! The inputs of the linker do not depend on the linker. So the linker of these builds is a script
//! that links the same files in every requested way, and another linker costs a link but no
//! compilation.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

use tempfile::TempDir;

use crate::fixture::{self, Site};
use crate::image::{Code, Instruction};
use crate::listing::{self, Function};
use crate::tools;

/// One way to link: its name, which is also the file name, and the options for the compiler driver.
#[derive(Clone, Debug)]
pub struct Link {
    /// The name.
    pub name: String,
    /// The options, which contain no spaces.
    pub options: Vec<String>,
}

impl Link {
    /// The same linker with more options.
    #[must_use]
    pub fn with(&self, name: &str, options: &[&str]) -> Self {
        let mut link = self.clone();
        link.name = format!("{}{name}", self.name);
        link.options.extend(options.iter().map(|option| (*option).to_owned()));
        link
    }
}

/// GNU ld, lld and mold if they are installed, and the lld that comes with rustc as its default.
///
/// # Panics
///
/// One is missing and this is CI.
#[must_use]
pub fn linkers() -> Vec<Link> {
    let link = |name: &str, options: &[String]| Link { name: name.to_owned(), options: options.to_vec() };
    let mut linkers: Vec<_> = ["bfd", "lld", "mold"]
        .into_iter()
        .filter(|name| tools::find(&format!("ld.{name}")).is_some())
        .map(|name| link(name, &[format!("-fuse-ld={name}")]))
        .collect();
    let sysroot = tools::run(rustc().args(["--print", "sysroot"]));
    let folder = Path::new(sysroot.trim_end()).join("lib/rustlib/x86_64-unknown-linux-gnu/bin/gcc-ld");
    if folder.join("ld.lld").is_file() {
        linkers.push(link("rust-lld", &[format!("-B{}", folder.display()), "-fuse-ld=lld".to_owned()]));
    } else {
        tools::skipped("rustc comes without a linker");
    }
    linkers
}

/// Links the inputs in each way of a list; the last `-o` wins. The last image also goes to the path
/// that the compiler gave, because the compiler reads it there when it packs split debug
/// information.
const EVERY_GCC: &str = r#"#!/bin/sh
for argument; do
    [ "$previous" = -o ] && wanted=$argument
    previous=$argument
done
while read -r name options; do
    # shellcheck disable=SC2086 # several options
    image=$MATRIX_IMAGES/$name
    cc "$@" $options -o "$image" || exit 1
done <"$MATRIX_LINKS"
ln -f "$image" "$wanted"
"#;

/// The compiler that cargo uses.
#[must_use]
pub fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// The form of the crate `simple-markers` that a program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markers {
    /// Unchanged.
    On,
    /// With `simple_marker_off`, for programs without an allocator.
    Off,
    /// Unchanged, for programs without an allocator.
    OnWithoutAlloc,
}

impl Markers {
    const ALL: [Self; 3] = [Self::On, Self::Off, Self::OnWithoutAlloc];

    fn file(self) -> &'static str {
        match self {
            Self::On => "libon.rlib",
            Self::Off => "liboff.rlib",
            Self::OnWithoutAlloc => "libon-without-alloc.rlib",
        }
    }
}

/// The toolchain of all tests of a program.
pub static TOOLCHAIN: LazyLock<Toolchain> = LazyLock::new(Toolchain::new);

/// The compiler, the crate `simple-markers` in each form, and the script that replaces the linker.
pub struct Toolchain {
    folder: PathBuf,
    dependencies: PathBuf,
}

impl Toolchain {
    /// Builds `simple-markers` with cargo, so that its dependencies are built once.
    ///
    /// # Panics
    ///
    /// It cannot be built, or the folder for it cannot be written.
    #[must_use]
    pub fn new() -> Self {
        let folder = fixture::target().join("matrix");
        fs::create_dir_all(&folder).expect("a folder");
        // Cargo gives each form of the crate the same file name.
        let _lock = fixture::lock(&folder);
        let target = fixture::target().join("debug");
        for markers in Markers::ALL {
            let mut cargo = fixture::cargo();
            cargo.current_dir(fixture::workspace()).env("CARGO_TARGET_DIR", fixture::target());
            for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
                cargo.env_remove(variable);
            }
            cargo.args(["rustc", "--offline", "--quiet", "--package", "simple-markers", "--lib"]);
            if markers != Markers::On {
                cargo.arg("--no-default-features");
            }
            // Cargo omits the bitcode if its profile has no link-time optimisation.
            cargo.args(["--", "-Cembed-bitcode=yes"]);
            if markers == Markers::Off {
                cargo.args(["--cfg", "simple_marker_off"]);
            }
            tools::run(&mut cargo);
            // Another process may be reading the old file.
            let copy = tempfile::NamedTempFile::new_in(&folder).expect("a file");
            fs::copy(target.join("libsimple_markers.rlib"), copy.path()).expect("what cargo built");
            copy.persist(folder.join(markers.file())).expect("the folder can be written");
        }
        let path = folder.join("every-gcc");
        fs::write(&path, EVERY_GCC).expect("the script is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the script may be executed");
        Self { folder, dependencies: target.join("deps") }
    }

    /// The folder of these files. Other files that are built once can go there too.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// An empty folder for a build.
    #[must_use]
    pub fn build(&self, markers: Markers) -> Build<'_> {
        Build { toolchain: self, folder: tempfile::tempdir().expect("a temporary folder"), markers }
    }
}

impl Default for Toolchain {
    fn default() -> Self {
        Self::new()
    }
}

/// The outputs of the compiler and the linkers for some crates and options.
pub struct Build<'a> {
    toolchain: &'a Toolchain,
    folder: TempDir,
    markers: Markers,
}

impl Build<'_> {
    /// The folder of all files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The compilation of a crate, in the folder of `source`. It must not warn.
    #[must_use]
    pub fn compilation(&self, source: &Path, options: &[&str]) -> Command {
        let Toolchain { folder, dependencies } = self.toolchain;
        let markers = folder.join(self.markers.file());
        let mut command = rustc();
        command.current_dir(fixture::workspace()).arg(source).args(["--edition=2024", "--out-dir"]).arg(self.folder());
        command.arg(format!("--extern=simple_markers={}", markers.display()));
        command.arg(format!("-Ldependency={}", dependencies.display())).arg("-L").arg(self.folder()).args(options);
        command
    }

    /// Runs a compilation that links in each of these ways.
    ///
    /// # Panics
    ///
    /// One of them fails.
    pub fn link(&self, command: &mut Command, links: &[Link]) {
        let lines: String = links.iter().map(|link| format!("{} {}\n", link.name, link.options.join(" "))).collect();
        let path = self.folder().join("links");
        fs::write(&path, lines).expect("the links are written");
        // The options that rustc adds for its own linker are not wanted.
        let linker = self.toolchain.folder.join("every-gcc");
        command.args(["-Clinker-features=-lld", &format!("-Clinker={}", linker.display())]);
        fixture::succeeds_silently(command.env("MATRIX_LINKS", path).env("MATRIX_IMAGES", self.folder()));
    }

    /// The functions in the listings of these crates, one list for each codegen unit.
    ///
    /// # Panics
    ///
    /// A listing cannot be read, or a crate has none.
    #[must_use]
    pub fn listing(&self, crates: &[&str]) -> Vec<Vec<Function>> {
        let entries = fs::read_dir(self.folder()).expect("the folder is there");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"));
        let names: Vec<_> = names.filter(|name| name.ends_with(".s")).collect();
        let of_crate = |krate: &&str| {
            let of_it: Vec<_> = names.iter().filter(|name| name.split('.').next() == Some(krate)).collect();
            assert!(!of_it.is_empty(), "a listing of {krate}");
            of_it
        };
        let read = |name: &String| fs::read_to_string(self.folder().join(name)).expect("a listing in UTF-8");
        crates.iter().flat_map(of_crate).map(|name| listing::functions(&read(name))).collect()
    }
}

/// Compares the sites of an image with the listing: each site must have the marker's address from
/// the listing, and the sites without an address must be those of removed functions. A codegen unit
/// may be missing entirely if the linker took nothing from it, like an unused archive member.
/// Returns the number of sites with an address.
///
/// # Panics
///
/// They differ.
pub fn check_addresses(what: &str, listing: &[Vec<Function>], code: &Code, sites: &[Site]) -> usize {
    let (placed, mut gone) = placed_and_gone(sites);
    let all: Vec<_> = listing.iter().flatten().collect();
    let (expected, expected_gone) = listing::addresses(&all, code);
    assert_eq!(placed, expected, "{what}");
    let in_image = |function: &Function| code.functions().iter().any(|linked| linked.name == function.name);
    let mut missing = expected_gone;
    missing.retain(|marker| {
        let found = gone.iter().position(|found| found == marker);
        found.map(|found| gone.remove(found)).is_none()
    });
    assert_eq!(gone, [], "{what}: sites without an address that the listing does not have");
    for unit in listing {
        let markers: Vec<_> = unit.iter().flat_map(Function::markers).collect();
        let is_missing = |marker: &&listing::Marker| missing.contains(marker);
        if !unit.iter().any(in_image) && markers.iter().all(is_missing) {
            missing.retain(|marker| !markers.contains(&marker));
        }
    }
    assert_eq!(missing, [], "{what}: markers that have no site");
    placed.len()
}

/// The sites of an image in the form of a listing: those with an address, and those of removed
/// functions; both sorted.
fn placed_and_gone(sites: &[Site]) -> (Vec<(listing::Marker, u64)>, Vec<listing::Marker>) {
    let (mut placed, mut gone) = (Vec::new(), Vec::new());
    for Site { name, line, column, pc, .. } in sites {
        let marker = listing::Marker { name: name.clone(), place: (*line, *column) };
        if *pc == 0 { gone.push(marker) } else { placed.push((marker, *pc)) }
    }
    placed.sort();
    gone.sort();
    (placed, gone)
}

/// The argument of the witness call after `address`, if no instruction between them may branch. A
/// witness is a function with `symbol` in its name.
#[must_use]
pub fn witness(code: &Code, address: u64, symbol: &str) -> Option<u32> {
    let path = code.straight_line(address);
    let is_witness = |instruction: &&Instruction| {
        let calls = instruction.mnemonic == "call" || instruction.mnemonic == "jmp";
        calls && code.callee(instruction).is_some_and(|callee| callee.contains(symbol))
    };
    let call = path.iter().position(is_witness)?;
    let straight = code.before(address).take_while(|before| !before.branches() && before.mnemonic != "call");
    let mut writes = path[..call].iter().rev().copied().chain(straight).filter(|before| {
        before.operands.ends_with(",%edi") || before.operands.ends_with(",%rdi") || before.operands == "%rdi"
    });
    writes.next()?.constant_in("%edi")
}
