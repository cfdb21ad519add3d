//! Real programs with markers: Lua, from the crate `lua-src`, and ripgrep.
//!
//! Cargo fetches the sources, and the lists in `tests/truth/real` say where markers are inserted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::builds::{Options, With};
use super::corpus::Run;
use super::examine::{self, Found, examine};
use super::twin;
use crate::fixture::{self, workspace};

/// Inserts the markers of a list into the files of a folder. Also returns their number.
///
/// # Errors
///
/// A file cannot be read or written, or has no such line.
pub fn insert(list: &str, folder: &Path) -> Result<usize, String> {
    let mut file: Option<(PathBuf, Vec<String>, usize)> = None;
    let mut count = 0;
    for line in list.lines() {
        let Some((kind, text)) = line.split_once(' ') else { continue };
        match (kind, &mut file) {
            ("==", open) => {
                save(open.take())?;
                let path = folder.join(text);
                let old = fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
                file = Some((path, old.lines().map(str::to_owned).collect(), 0));
            }
            ("<<", Some((path, lines, at))) => {
                let behind = lines.iter().skip(*at).position(|line| line.trim() == text);
                *at += 1 + behind.ok_or_else(|| format!("{}: there is no {text}", path.display()))?;
            }
            (">>" | "^^", Some((_, lines, at))) => {
                lines.insert(*at - usize::from(kind == "^^"), text.to_owned());
                *at += 1;
                count += 1;
            }
            ("!!", Some((_, lines, at))) => lines[*at - 1] = text.to_owned(),
            _ => {}
        }
    }
    save(file)?;
    Ok(count)
}

fn save(file: Option<(PathBuf, Vec<String>, usize)>) -> Result<(), String> {
    let Some((path, mut lines, _)) = file else { return Ok(()) };
    if path.extension().is_some_and(|extension| extension == "c") {
        lines.insert(0, "#include <simple_marker.h>".to_owned());
    }
    fs::write(&path, lines.join("\n") + "\n").map_err(|why| format!("{}: {why}", path.display()))
}

/// The folder with the sources of these crates, each in a folder of its name.
pub(crate) fn fetched(folder: &Path, dependencies: &str) -> Result<PathBuf, String> {
    let manifest = format!("{}\n[dependencies]\n{dependencies}\n[workspace]\n", fixture::package("fetched", "2024"));
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&folder.join("src/lib.rs"), "")?;
    let vendor = |offline: &[&str]| {
        let mut cargo = fixture::cargo();
        run(cargo.current_dir(folder).args(["vendor", "--quiet", "vendor"]).args(offline))
    };
    vendor(&["--offline"]).or_else(|_| vendor(&[]))?;
    Ok(folder.join("vendor"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(path, text)
    };
    write().map_err(|why| format!("{}: {why}", path.display()))
}

/// Copies a folder.
///
/// # Errors
///
/// A file cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copy = || -> std::io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let to = to.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => self::copy(&entry.path(), &to).map_err(std::io::Error::other)?,
                false => drop(fs::copy(entry.path(), to)?),
            }
        }
        Ok(())
    };
    copy().map_err(|why| format!("{}: {why}", from.display()))
}

/// Runs a command that must succeed.
///
/// # Errors
///
/// It cannot be started or fails; the text has what it printed on standard error.
pub fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|why| format!("{command:?}: {why}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// Examines Lua, built in these ways.
///
/// # Errors
///
/// It cannot be fetched, built or run.
pub fn lua(builds: &[Options], run_with: &Run) -> Result<Vec<Found>, String> {
    let folder = run_with.folder.join("lua");
    let packages = fetched(&folder.join("fetched"), "lua-src = \"=547.0.0\"")?;
    let sources = folder.join("source");
    copy(&packages.join("lua-src/lua-5.4.7"), &sources)?;
    let lists = workspace().join("tests/truth/real");
    let list = fs::read_to_string(lists.join("lua.markers")).map_err(|why| why.to_string())?;
    insert(&list, &sources)?;
    fs::copy(lists.join("main.c"), sources.join("main.c")).map_err(|why| why.to_string())?;
    let entries = fs::read_dir(&sources).map_err(|why| why.to_string())?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == "c")).collect();
    files.sort();
    let arguments = vec![lists.join("bench.lua").to_string_lossy().into_owned()];
    // The seed of hashes is an address otherwise.
    let compile = |with: With, include: &str, image: &Path, options: &[String]| {
        let mut command = Command::new(with.name());
        command.current_dir(workspace()).args(["-w", "-std=gnu99", "-Dluai_makeseed(L)=42u", "-I", include]);
        command.args(options).arg("-o").arg(image).args(&files);
        if include.contains("twin") {
            command.arg("tests/twin/c/twin.c");
        }
        run(command.args(["-lm", "-ldl", "-pthread"]))
    };
    let mut all = Vec::new();
    for with in [With::Gcc, With::Clang] {
        let builds: Vec<_> = builds.iter().filter(|options| options.with == with).collect();
        if builds.is_empty() {
            continue;
        }
        let twin_image = folder.join(format!("twin-{}", with.name()));
        compile(with, "tests/twin/c", &twin_image, &["-O0".to_owned()])?;
        let passes = twin::passes(&twin_image, &arguments, None, twin::REAL)?;
        for options in builds {
            let image = folder.join(format!("lua-{}-{}-{}", with.name(), options.level, options.dwarf));
            let words = [format!("-O{}", options.level), format!("-gdwarf-{}", options.dwarf)];
            compile(with, "markers/include", &image, &words)?;
            let program = examine::Program {
                build: options.build("Lua 5.4.7", "source"),
                image,
                arguments: arguments.clone(),
                stdin: None,
                most: run_with.most,
                seconds: twin::REAL,
            };
            all.push(examine(&program, &passes)?);
        }
    }
    Ok(all)
}

/// The crates of ripgrep that get markers.
const MARKED: [&str; 2] = ["grep-searcher", "grep-printer"];

/// Examines ripgrep, built in these ways.
///
/// # Errors
///
/// It cannot be fetched, built or run.
pub fn ripgrep(builds: &[Options], run_with: &Run) -> Result<Vec<Found>, String> {
    let folder = run_with.folder.join("ripgrep");
    let dependencies = "ripgrep = \"=15.2.0\"\ngrep-searcher = \"=0.1.17\"\ngrep-printer = \"=0.3.1\"";
    let packages = fetched(&folder.join("fetched"), dependencies)?;
    let list = workspace().join("tests/truth/real/ripgrep.markers");
    let list = fs::read_to_string(list).map_err(|why| why.to_string())?;
    let source = folder.join("source");
    for name in MARKED.into_iter().chain(["ripgrep"]) {
        copy(&packages.join(name), &source.join(name))?;
    }
    insert(&list, &source)?;
    let original: Vec<String> = MARKED
        .iter()
        .map(|name| fs::read_to_string(source.join(name).join("Cargo.toml")).map_err(|why| why.to_string()))
        .collect::<Result<_, _>>()?;
    let manifest = "[workspace]\nmembers = [\"ripgrep\"]\nresolver = \"2\"\n[patch.crates-io]\n\
                    grep-searcher = { path = \"grep-searcher\" }\ngrep-printer = { path = \"grep-printer\" }\n\
                    [profile.release]\ndebug = 2\n[profile.dev]\noverflow-checks = false\ndebug-assertions = false\n";
    write(&source.join("Cargo.toml"), manifest)?;
    let build = |dependency: &str, profile: &str, target: &Path, options: Option<&Options>| {
        for (name, original) in MARKED.iter().zip(&original) {
            let text = format!("{original}\n[dependencies.simple-markers]\n{dependency}\n");
            write(&source.join(name).join("Cargo.toml"), &text)?;
        }
        let attempt = |offline: &[&str]| {
            let mut cargo = fixture::cargo();
            cargo.current_dir(&source).args(["build", "--quiet", "--package", "ripgrep"]).args(offline);
            cargo.args(["--profile", profile]).env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
            if let Some(Options { level, lto, dwarf, .. }) = options {
                cargo
                    .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level)
                    .env("RUSTFLAGS", format!("-Cdwarf-version={dwarf}"));
                cargo.env("CARGO_PROFILE_RELEASE_LTO", if lto == "none" { "false" } else { lto });
            }
            run(&mut cargo)
        };
        attempt(&["--offline"]).or_else(|_| attempt(&[]))
    };
    let (twins, target) = (folder.join("twin"), folder.join("target"));
    let at = |path: &str| format!("path = {:?}", workspace().join(path));
    build(&format!("package = \"simple-markers-twin\"\n{}", at("tests/twin/rust")), "dev", &twins, None)?;
    // A copy, because this takes minutes, and somebody may edit the files.
    let searched = folder.join("searched");
    copy(&workspace().join("tests/src"), &searched)?;
    let arguments: Vec<String> = ["-j1", "--sort=path", "-n", "-C2", r"fn \w+|\bsum\b"].map(str::to_owned).into();
    let arguments: Vec<String> = arguments.into_iter().chain([searched.to_string_lossy().into_owned()]).collect();
    let passes = twin::passes(&twins.join("debug/rg"), &arguments, None, twin::REAL)?;
    let mut all = Vec::new();
    for options in builds.iter().filter(|options| options.with == With::Rustc) {
        build(&at("markers"), "release", &target, Some(options))?;
        let program = examine::Program {
            build: options.build("ripgrep 15.2.0", "source"),
            image: target.join("release/rg"),
            arguments: arguments.clone(),
            stdin: None,
            most: run_with.most,
            seconds: twin::REAL,
        };
        all.push(examine(&program, &passes)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_inserted_by_the_text_of_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.c");
        fs::write(&file, "int f() {\n  a++;\n  b++;\n  a++;\n}\n").expect("a file");
        let list = "# none\n== a.c\n<< a++;\n>> one;\n<< a++;\n^^ two;\n<< }\n!! };\n";
        assert_eq!(insert(list, folder.path()), Ok(2));
        let text = fs::read_to_string(&file).expect("the file");
        assert_eq!(text, "#include <simple_marker.h>\nint f() {\n  a++;\none;\n  b++;\ntwo;\n  a++;\n};\n");
        assert!(insert("== a.c\n<< c++;\n", folder.path()).is_err());
    }
}
