//! The files that `cargo build` made, from its messages (`--message-format=json`; the Cargo book,
//! "External tools").

use std::env;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use crate::arguments::Arguments;

/// The result of a build.
#[derive(Debug)]
pub(crate) struct Artifacts {
    /// The programs and C libraries, or the Rust libraries if there are no others. Paths below the
    /// current folder are relative to it.
    pub(crate) files: Vec<PathBuf>,
    /// The folder of the workspace's Cargo.toml.
    pub(crate) workspace: PathBuf,
    /// The lowest level of debug information among them.
    pub(crate) debug: Debug,
}

/// Builds; `None` if cargo failed, which it has reported.
///
/// # Errors
///
/// Cargo cannot be started, or its messages cannot be parsed.
pub(crate) fn build(arguments: &Arguments) -> anyhow::Result<Option<Artifacts>> {
    let cargo = cargo();
    let mut build = Command::new(&cargo);
    build.args(["build", "--message-format=json-render-diagnostics"]).args(&arguments.build);
    if arguments.quiet {
        build.arg("--quiet");
    }
    let cannot_start = || format!("{} cannot be started", cargo.to_string_lossy());
    let mut child = build.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().with_context(cannot_start)?;
    let messages = child.stdout.take().context("cargo has no output")?;
    let mut artifacts = Vec::new();
    for line in BufReader::new(messages).lines() {
        let line = line.context("the messages of cargo cannot be read")?;
        // Build scripts and procedural macros can print other lines.
        if let Ok(message) = serde_json::from_str::<Value>(&line) {
            artifacts.extend(Artifact::read(&message));
        }
    }
    if !child.wait().context("cargo")?.success() {
        return Ok(None);
    }
    let workspace = workspace(arguments)?;
    Ok(Some(Artifacts::of(&artifacts, workspace, &env::current_dir().unwrap_or_default())))
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"))
}

/// The program and the arguments of a build whose errors `smark` reads and prints. One crate that does
/// not compile does not hide the errors of others.
pub(crate) fn build_command(arguments: &Arguments) -> Vec<OsString> {
    let quiet = arguments.quiet.then(|| OsString::from("--quiet"));
    let messages = ["build", "--keep-going", "--message-format=json"].map(OsString::from);
    [cargo()].into_iter().chain(messages).chain(quiet).chain(arguments.build.iter().cloned()).collect()
}

/// The folder of the workspace's Cargo.toml.
///
/// # Errors
///
/// Cargo cannot be started.
pub(crate) fn workspace(arguments: &Arguments) -> anyhow::Result<PathBuf> {
    let mut locate = Command::new(cargo());
    locate.args(["locate-project", "--workspace", "--message-format=plain"]);
    let mut options = arguments.build.iter();
    while let Some(option) = options.next() {
        if option == "--manifest-path" {
            locate.arg(option).args(options.next());
        } else if option.to_string_lossy().starts_with("--manifest-path=") {
            locate.arg(option);
        }
    }
    let output = locate.stderr(Stdio::inherit()).output().context("cargo locate-project")?;
    let manifest = String::from_utf8_lossy(&output.stdout);
    Ok(Path::new(manifest.trim_end()).parent().unwrap_or(Path::new("")).to_owned())
}

/// A target that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Artifact {
    /// The program, or the libraries.
    files: Vec<PathBuf>,
    /// Whether this is a Rust library, whose code ends up in the programs that use it.
    is_rust_library: bool,
    /// Whether the package is a local folder and not from a registry.
    is_local: bool,
    /// The level of debug information of its profile.
    debug: Debug,
}

/// How much debug information a profile asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Debug {
    /// None. Cargo then strips the program, and with it the sites of the markers.
    None,
    /// Lines and perhaps functions, but no variables.
    Lines,
    /// Everything.
    Full,
}

impl Artifact {
    /// The target that a message of cargo reports. `None` for other messages, and for targets that
    /// only the build uses.
    fn read(message: &Value) -> Option<Self> {
        if message.get("reason")?.as_str()? != "compiler-artifact" {
            return None;
        }
        let kinds: Vec<&str> =
            message.get("target")?.get("kind")?.as_array()?.iter().filter_map(Value::as_str).collect();
        if kinds.iter().any(|kind| matches!(*kind, "custom-build" | "proc-macro")) {
            return None;
        }
        let files = message.get("filenames")?.as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
        let ends = |file: &PathBuf, wanted: &str| file.extension().is_some_and(|ending| ending == wanted);
        let (files, is_rust_library) = match message.get("executable").and_then(Value::as_str) {
            Some(program) => (vec![PathBuf::from(program)], false),
            None => {
                let files: Vec<PathBuf> = files.collect();
                // If a crate is several kinds of library, take the one that a linker made.
                let ending =
                    ["so", "a", "rlib"].into_iter().find(|wanted| files.iter().any(|file| ends(file, wanted)))?;
                (files.into_iter().filter(|file| ends(file, ending)).collect(), ending == "rlib")
            }
        };
        let debug = match message.get("profile")?.get("debuginfo") {
            None | Some(Value::Null) => Debug::None,
            Some(level) => match (level.as_u64(), level.as_str()) {
                (Some(0), _) => Debug::None,
                (Some(2), _) => Debug::Full,
                // 1 is `limited`: functions and lines, no variables.
                (Some(_), _) | (None, Some("line-tables-only" | "line-directives-only")) => Debug::Lines,
                _ => Debug::Full,
            },
        };
        let is_local = message.get("package_id")?.as_str()?.contains("path+file:");
        Some(Self { files, is_rust_library, is_local, debug })
    }
}

impl Artifacts {
    /// The workspace's Cargo.toml; relative if it is below the current folder.
    pub(crate) fn manifest(&self) -> PathBuf {
        let manifest = self.workspace.join("Cargo.toml");
        let current = env::current_dir().unwrap_or_default();
        manifest.strip_prefix(current).map(Path::to_owned).unwrap_or(manifest)
    }

    fn of(artifacts: &[Artifact], workspace: PathBuf, current: &Path) -> Self {
        let local = || artifacts.iter().filter(|artifact| artifact.is_local);
        let has_programs = local().any(|artifact| !artifact.is_rust_library);
        let chosen = || local().filter(|artifact| !(has_programs && artifact.is_rust_library));
        let mut files: Vec<PathBuf> = Vec::new();
        for file in chosen().flat_map(|artifact| &artifact.files) {
            let file = file.strip_prefix(current).unwrap_or(file).to_owned();
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files.sort_unstable();
        let debug = chosen().map(|artifact| artifact.debug).min().unwrap_or(Debug::Full);
        Self { files, workspace, debug }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, id: &str, files: &[&str], executable: Option<&str>, debuginfo: &Value) -> Value {
        serde_json::json!({
            "reason": "compiler-artifact", "package_id": id, "target": {"kind": [kind]}, "profile": {"debuginfo": debuginfo},
            "filenames": files, "executable": executable,
        })
    }

    const LOCAL: &str = "path+file:///project#0.1.0";

    #[test]
    fn programs_and_c_libraries_come_before_rust_libraries() {
        let messages = [
            message(
                "lib",
                "registry+https://example.org#serde@1",
                &["/t/libserde.rlib", "/t/libserde.rmeta"],
                None,
                &2.into(),
            ),
            message("custom-build", LOCAL, &["/t/build-script-build"], Some("/t/build-script-build"), &0.into()),
            message("proc-macro", LOCAL, &["/t/libmacros.so"], None, &0.into()),
            message("lib", LOCAL, &["/t/libproject.rlib", "/t/libproject.rmeta"], None, &0.into()),
            message(
                "bin",
                LOCAL,
                &["/t/release/server", "/t/release/server.dwp"],
                Some("/t/release/server"),
                &2.into(),
            ),
            message("cdylib", LOCAL, &["/t/libc.a", "/t/libc.so", "/t/libc.rlib"], None, &"line-tables-only".into()),
            serde_json::json!({"reason": "build-finished", "success": true}),
        ];
        let artifacts: Vec<Artifact> = messages.iter().filter_map(Artifact::read).collect();
        let built = Artifacts::of(&artifacts, PathBuf::from("/project"), Path::new("/t"));
        assert_eq!(built.files, [PathBuf::from("libc.so"), PathBuf::from("release/server")]);
        assert_eq!(built.debug, Debug::Lines);

        let built = Artifacts::of(&artifacts[..2], PathBuf::new(), Path::new("/elsewhere"));
        assert_eq!((built.files, built.debug), (vec![PathBuf::from("/t/libproject.rlib")], Debug::None));
    }

    #[test]
    fn a_profile_says_how_much_debug_information_there_is() {
        let debug =
            |value: Value| Artifact::read(&message("bin", LOCAL, &["/t/x"], Some("/t/x"), &value)).unwrap().debug;
        assert_eq!(debug(Value::Null), Debug::None);
        assert_eq!(debug(0.into()), Debug::None);
        assert_eq!(debug(1.into()), Debug::Lines);
        assert_eq!(debug("line-tables-only".into()), Debug::Lines);
        assert_eq!(debug(2.into()), Debug::Full);
    }
}
