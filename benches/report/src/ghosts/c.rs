//! Lua, bzip2 and zlib.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::image::Image;
use super::{Form, copy, fetched, in_c, insert, markers};
use crate::generate::run;
use crate::markdown;

/// A program or library: its name, the folder of its sources, sources that it leaves out, and options
/// of the compiler and the linker.
struct Program {
    title: &'static str,
    sources: &'static str,
    without: &'static [&'static str],
    compile: &'static [&'static str],
    link: &'static [&'static str],
}

const CRATES: [(&str, &str); 3] = [("lua-src", "547.0.0"), ("bzip2-sys", "0.1.13+1.0.8"), ("libz-sys", "1.1.31")];

const PROGRAMS: [Program; 3] = [
    Program {
        title: "bzip2 1.0.8",
        sources: "bzip2-sys/bzip2-1.0.8",
        without: &["bzip2recover", "dlltest", "mk251", "spewG", "unzcrash"],
        compile: &["-D_FILE_OFFSET_BITS=64"],
        link: &[],
    },
    Program {
        title: "zlib 1.3.2",
        sources: "libz-sys/src/zlib",
        without: &[],
        compile: &["-DHAVE_UNISTD_H"],
        link: &["-shared"],
    },
    Program {
        title: "Lua 5.4.7",
        sources: "lua-src/lua-5.4.7",
        without: &[],
        compile: &["-std=gnu99", "-DLUA_USE_LINUX"],
        link: &["-shared", "-lm", "-ldl"],
    },
];

/// A way to build: its name, the compiler and its options. With `-flto` it is linked.
const BUILDS: [(&str, &str, &[&str]); 7] = [
    ("gcc `-O2`", "gcc", &["-O2"]),
    ("`-O3`", "gcc", &["-O3"]),
    ("`-Os`", "gcc", &["-Os"]),
    ("`-O2 -flto`", "gcc", &["-O2", "-flto"]),
    ("clang `-O2`", "clang", &["-O2"]),
    ("`-O3`", "clang", &["-O3"]),
    ("`-Os`", "clang", &["-Os"]),
];

/// One row for each program: how many of its functions differ.
pub(crate) fn table(folder: &Path) -> Result<String> {
    let packages = fetched(&folder.join("fetched"), &CRATES)?;
    let mut rows = Vec::new();
    for program in &PROGRAMS {
        let folder = folder.join(program.title.replace(' ', "-"));
        let sources = folder.join("source");
        if sources.exists() {
            fs::remove_dir_all(&sources)?;
        }
        copy(&packages.join(program.sources), &sources)?;
        let name = program.title.split(' ').next().unwrap_or_default();
        insert(&sources, "c", &mut |text, first| Ok(in_c::insert(text, name, first)))?;
        let mut files: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(&sources)? {
            let path = entry?.path();
            let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
            if path.extension().is_some_and(|it| it == "c") && !program.without.contains(&stem) {
                files.push(path);
            }
        }
        files.sort();
        let mut row = Vec::new();
        for (build, compiler, options) in BUILDS {
            let ghosts = image(program, compiler, options, &files, Form::Ghosts, &folder)?;
            let empty = image(program, compiler, options, &files, Form::Empty, &folder)?;
            if row.is_empty() {
                row = vec![program.title.to_owned(), ghosts.ghosts.to_string(), ghosts.functions().to_string()];
            }
            let differences = ghosts.differences(&empty);
            if !differences.sections.is_empty() {
                eprintln!(
                    "{}, {compiler} {build}: {:?} {:?}",
                    program.title, differences.sections, differences.functions
                );
            }
            row.push(match (differences.sections.len(), differences.functions.len()) {
                (0, 0) => "0".to_owned(),
                (0, _) => unreachable!("functions are in sections"),
                (_, functions) => functions.to_string(),
            });
        }
        rows.push(row);
    }
    let names = BUILDS.map(|(name, ..)| name);
    Ok(markdown::table(&[&["", "ghosts", "functions"][..], &names].concat(), &rows))
}

/// Compiles a program, and links it if it is optimised at link time.
fn image(
    program: &Program,
    compiler: &str,
    options: &[&str],
    files: &[PathBuf],
    form: Form,
    folder: &Path,
) -> Result<Image> {
    let definition = folder.join("ghost.h");
    fs::write(
        &definition,
        match form {
            Form::Ghosts => "#include <simple_marker.h>\n#define GHOST(...) simple_mark_ghost(__VA_ARGS__);\n",
            Form::Empty => "#define GHOST(...)\n",
        },
    )?;
    let objects: Vec<_> =
        files.iter().map(|file| folder.join(file.file_stem().unwrap_or_default()).with_extension("o")).collect();
    for (file, object) in files.iter().zip(&objects) {
        let mut command = Command::new(compiler);
        command.args(["-g", "-w", "-c", "-fPIC"]).args(options).args(program.compile);
        if compiler == "clang" {
            // A function that differs moves no other.
            command.arg("-ffunction-sections");
        }
        command.arg("-include").arg(&definition).arg("-I").arg(markers()?.join("include"));
        run(command.arg(file).arg("-o").arg(object))?;
    }
    if !options.contains(&"-flto") {
        return Image::read_all(&objects);
    }
    let linked = folder.join("linked");
    let mut command = Command::new(compiler);
    command.args(options).args(["-g", "-fPIC", "-Wl,--build-id=none"]).args(&objects).arg("-o").arg(&linked);
    run(command.args(program.link))?;
    Image::read(&linked).context("linked")
}
