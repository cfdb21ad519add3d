//! Small crates that tests write and build with cargo as a user would, and readers for the result
//! that do not use the resolver.
//!
//! Nothing here needs a network: a fixture gets the workspace's `Cargo.lock`, so every version is
//! available locally. Fixtures share one target folder, so their dependencies are built once. Each
//! fixture has a fixed folder in it, so a second run does not fill the disk.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::LazyLock;
use std::{env, fs};

use rustix::fs::{FlockOperation, flock};

use crate::{second_opinion, tools};

/// The root of the workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// The target folder of the workspace. Cargo does not lock it while tests run.
fn workspace_target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// The target folder that fixtures share for their dependencies.
#[must_use]
pub fn target() -> PathBuf {
    workspace_target().join("fixtures")
}

/// Waits for the lock of a file and takes it until the result is dropped. Creates the file if
/// needed.
///
/// # Panics
///
/// The file can be neither opened nor locked.
#[must_use]
pub fn lock(path: &Path) -> File {
    let file = match path.is_dir() {
        true => File::open(path),
        false => File::options().create(true).append(true).open(path),
    };
    let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    flock(&file, FlockOperation::LockExclusive).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file
}

/// The cargo that runs this test.
#[must_use]
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds packages of this workspace in the shared target folder, and returns that folder.
///
/// # Panics
///
/// The build fails.
#[must_use]
pub fn build(arguments: &[&str]) -> PathBuf {
    let target = target();
    let mut build = cargo();
    build.args(["build", "--quiet"]).args(arguments).current_dir(workspace()).env("CARGO_TARGET_DIR", &target);
    tools::run(&mut build);
    target
}

/// The command `smark` with a feature: the one that the variable `SMARK_WITH_FEATURES` names, which has all of them, or
/// one that is built now.
///
/// # Panics
///
/// The build fails.
#[must_use]
pub fn smark_with(feature: &str) -> PathBuf {
    match std::env::var_os("SMARK_WITH_FEATURES") {
        Some(path) => fs::canonicalize(path).expect("SMARK_WITH_FEATURES"),
        None => {
            build(&["--package", "simple-markers-cli", "--bin", "smark", "--features", feature]).join("debug/smark")
        }
    }
}

/// Builds the command `smark` of this workspace, with `cargo-smark` next to it.
///
/// # Panics
///
/// The build fails.
#[must_use]
pub fn smark() -> &'static Path {
    static SMARK: LazyLock<PathBuf> = LazyLock::new(|| {
        let mut build = cargo();
        build.args(["build", "--quiet", "--workspace", "--bin", "smark", "--bin", "cargo-smark"]);
        // `cargo test` enables features that only tests need. `--test` does the same here, so that
        // cargo finds everything built.
        build.args(["--test", "command"]).current_dir(workspace());
        tools::run(&mut build);
        workspace_target().join("debug/smark")
    });
    &SMARK
}

/// A crate, or a workspace of several, in a folder of its own.
pub struct Fixture {
    name: String,
    folder: PathBuf,
}

impl Fixture {
    /// An empty folder with a `Cargo.lock`. `name` must be unique among all tests.
    ///
    /// # Panics
    ///
    /// The folder cannot be written.
    #[must_use]
    pub fn empty(name: &str) -> Self {
        let folder = target().join("sources").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        }
        let fixture = Self { name: name.to_owned(), folder };
        let lock = fs::read_to_string(workspace().join("Cargo.lock")).expect("the workspace has a Cargo.lock");
        fixture.file("Cargo.lock", &lock)
    }

    /// A crate of edition 2024 that depends on `simple-markers`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let dependency = markers("");
        Self::empty(name).manifest("2024", &format!("[dependencies]\nsimple-markers = {dependency}\n"))
    }

    /// Writes the `Cargo.toml`: the package, and `rest`. The profile keeps
    /// `.debug.simple_marker.*`: cargo otherwise strips it with the standard library's debug
    /// information if the crate itself has none.
    #[must_use]
    pub fn manifest(self, edition: &str, rest: &str) -> Self {
        let package = package(&self.name, edition);
        self.file(
            "Cargo.toml",
            &format!("{package}\n{rest}\n[workspace]\n[profile.dev]\ndebug = false\nstrip = false\n"),
        )
    }

    /// Writes a file. `path` is relative to the crate's folder.
    ///
    /// # Panics
    ///
    /// The file cannot be written.
    #[must_use]
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.folder.join(path);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(&path, text)
        };
        write().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self
    }

    /// The crate's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// `cargo SUBCOMMAND` in the crate's folder, without the test's own environment variables for
    /// cargo.
    #[must_use]
    pub fn cargo(&self, subcommand: &str) -> Command {
        let mut command = cargo();
        command.current_dir(&self.folder).args([subcommand, "--offline", "--quiet"]);
        command.env("CARGO_TARGET_DIR", target()).env("CARGO_INCREMENTAL", "0").env("CARGO_TERM_COLOR", "never");
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER", "CLIPPY_ARGS"] {
            command.env_remove(variable);
        }
        command
    }

    /// `cargo rustc`, which passes flags to the compiler of this crate only.
    #[must_use]
    pub fn rustc(&self, flags: &[&str]) -> Command {
        let mut command = self.cargo("rustc");
        command.arg("--").args(flags);
        command
    }

    /// The output of `cargo build` at `path` in the folder of the `dev` profile.
    #[must_use]
    pub fn built(&self, path: &str) -> PathBuf {
        target().join("debug").join(path)
    }

    /// Builds the crate without warnings, and returns the path of the binary with the crate's name.
    #[must_use]
    pub fn binary(&self) -> PathBuf {
        succeeds_silently(&mut self.cargo("build"));
        self.built(&self.name)
    }
}

/// The start of a `Cargo.toml`.
#[must_use]
pub fn package(name: &str, edition: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"{edition}\"\n")
}

/// The dependency on `simple-markers`, with `rest` appended to its fields: `, default-features =
/// false`.
#[must_use]
pub fn markers(rest: &str) -> String {
    format!("{{ path = {:?}{rest} }}", workspace().join("markers"))
}

/// Runs a command that must succeed and print nothing to standard error, not even a warning.
///
/// # Panics
///
/// It fails, or warns.
pub fn succeeds_silently(command: &mut Command) {
    let Output { status, stderr, .. } = tools::output(command);
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success() && stderr.is_empty(), "{command:?}: {status}\n{stderr}");
}

/// Runs a command that must fail, and returns its standard error.
///
/// # Panics
///
/// It succeeds.
pub fn fails(command: &mut Command) -> String {
    let Output { status, stderr, .. } = tools::output(command);
    assert!(!status.success(), "{command:?} succeeded");
    String::from_utf8_lossy(&stderr).into_owned()
}

/// The bytes of a section as `readelf --hex-dump` prints them, without relocations; `None` if there
/// is no such section.
///
/// # Panics
///
/// `readelf` is missing or fails.
#[must_use]
pub fn section(image: &Path, name: &str) -> Option<Vec<u8>> {
    dump(image, name, "--hex-dump")
}

/// The decompressed bytes of a section from one of `readelf`'s dumps.
fn dump(image: &Path, name: &str, option: &str) -> Option<Vec<u8>> {
    if !section_headers(image).lines().any(|line| line.split_whitespace().any(|word| word == name)) {
        return None;
    }
    let dump = tools::run(Command::new("readelf").arg("--decompress").arg(format!("{option}={name}")).arg(image));
    let rows = dump.lines().filter(|line| line.starts_with("  0x"));
    // Each row has two spaces, the address, a space, four groups of eight digits with a space after
    // each, and the text.
    let digits = rows.flat_map(|row| row.bytes().skip(13).take(36)).filter(|byte| *byte != b' ');
    let digits: Vec<_> = digits.collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    Some(digits.chunks(2).map(|pair| byte(pair).unwrap_or_else(|| panic!("readelf printed {dump}"))).collect())
}

/// The section headers as `readelf` prints them.
#[must_use]
pub fn section_headers(image: &Path) -> String {
    tools::run(Command::new("readelf").args(["--section-headers", "--wide"]).arg(image))
}

/// The loaded sections of an image, with their sizes.
#[must_use]
pub fn loaded_sections(image: &Path) -> BTreeMap<String, u64> {
    let headers = section_headers(image);
    let section = |line: &str| {
        let (_, fields) = line.split_once(']')?;
        let fields: Vec<_> = fields.split_whitespace().collect();
        let [name, _, _, _, size, _, flags, ..] = fields.as_slice() else { return None };
        let size = u64::from_str_radix(size, 16).ok()?;
        flags.contains('A').then(|| ((*name).to_owned(), size))
    };
    headers.lines().filter_map(section).collect()
}

/// The records of `__simple_marker.1`, sorted: name, file, line, format, args. Empty if there is no
/// such section.
///
/// # Panics
///
/// A record is incomplete, or not UTF-8.
#[must_use]
pub fn declarations(image: &Path) -> Vec<[String; 5]> {
    declaration_bytes(image).into_iter().map(|record| record.map(text)).collect()
}

/// [`declarations`] as bytes, in any encoding.
///
/// # Panics
///
/// A record is incomplete.
#[must_use]
pub fn declaration_bytes(image: &Path) -> Vec<[Vec<u8>; 5]> {
    let section = section(image, "__simple_marker.1").unwrap_or_default();
    let strings: Vec<_> = section.split_inclusive(|byte| *byte == 0).map(without_nul).collect();
    let records = strings.chunks(5).map(|record| record.to_vec().try_into());
    let mut records: Vec<_> = records.map(|record| record.expect("five strings in each record")).collect();
    records.sort();
    records
}

fn without_nul(string: &[u8]) -> Vec<u8> {
    string.strip_suffix(&[0]).expect("a NUL at the end").to_vec()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

/// A record of `.debug.simple_marker.2`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the fields of the format")]
pub struct Site<S = String> {
    pub name: S,
    pub file: S,
    pub line: u32,
    pub column: u32,
    pub format: S,
    pub args: S,
    pub operands: S,
    pub flags: u8,
    pub address_size: u8,
    /// In a relocatable object, an offset in the section.
    pub pc: u64,
    /// The address of a probe's switch.
    pub switch: Option<u64>,
}

/// The records of `.debug.simple_marker.2` of a little-endian image, sorted. Empty if there is no
/// such section.
///
/// # Panics
///
/// A record has the wrong length for its address size, or is not UTF-8.
#[must_use]
pub fn sites(image: &Path) -> Vec<Site> {
    let sites = site_bytes(image).into_iter().map(|site| Site {
        name: text(site.name),
        file: text(site.file),
        line: site.line,
        column: site.column,
        format: text(site.format),
        args: text(site.args),
        operands: text(site.operands),
        flags: site.flags,
        address_size: site.address_size,
        pc: site.pc,
        switch: site.switch,
    });
    sites.collect()
}

/// [`sites`] as bytes, in any encoding.
///
/// # Panics
///
/// A record has the wrong length for its address size.
#[must_use]
pub fn site_bytes(image: &Path) -> Vec<Site<Vec<u8>>> {
    let mut sites = site_records(image);
    sites.sort();
    sites
}

/// [`site_bytes`] in the order of the section. Also resolves the image and compares it with
/// [`second_opinion`].
///
/// # Panics
///
/// A record has the wrong length for its address size.
#[must_use]
pub fn site_records(image: &Path) -> Vec<Site<Vec<u8>>> {
    second_opinion::check(image);
    // Applies relocations in a relocatable object. `readelf` ignores those in other files, even if
    // --emit-relocs kept some.
    let strings = dump(image, ".debug.simple_marker.str", "--relocated-dump").unwrap_or_default();
    let records = dump(image, ".debug.simple_marker.2", "--relocated-dump").unwrap_or_default();
    let mut rest = &records[..];
    let mut sites = Vec::new();
    while let [length, 0, flags, size, ..] = *rest {
        let address = usize::from(size);
        let is_probe = flags & 4 != 0;
        let known = if is_probe { 30 + 2 * address } else { 30 + address };
        assert!(matches!(size, 4 | 8) && usize::from(length) == known, "{rest:x?}");
        let (record, behind) = rest.split_at(2 + known);
        let number = |at: usize, size: usize| {
            record[at..at + size].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
        };
        let word = |index: usize| number(4 + address + 4 * index, 4) as u32;
        let string = |index| {
            let bytes = &strings[word(index) as usize..];
            without_nul(bytes.split_inclusive(|byte| *byte == 0).next().expect("a string"))
        };
        sites.push(Site {
            name: string(2),
            file: string(3),
            line: word(0),
            column: word(1),
            format: string(4),
            args: string(5),
            operands: string(6),
            flags,
            address_size: size,
            pc: number(4, address),
            switch: is_probe.then(|| number(32 + address, address)),
        });
        rest = behind;
    }
    assert!(rest.is_empty(), "{rest:x?}");
    sites
}

/// A process that is killed when the test ends, also if it fails.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a command.
    ///
    /// # Panics
    ///
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|why| panic!("{command:?}: {why}")))
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
