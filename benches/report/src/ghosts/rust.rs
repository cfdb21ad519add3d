//! Five crates, and a program that uses them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::image::{Differences, Image};
use super::{Form, copy, fetched, in_rust, insert, markers};
use crate::generate::run;
use crate::markdown;

/// The crates with ghosts, and their versions.
const CRATES: [(&str, &str); 5] = [
    ("aho-corasick", "1.1.5"),
    ("memchr", "2.8.3"),
    ("miniz_oxide", "0.9.1"),
    ("num-bigint", "0.4.8"),
    ("serde_json", "1.0.154"),
];

/// The program that uses them.
const PROGRAM: &str = r#"
fn main() {
    let text: String = std::env::args().skip(1).collect();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let packed = miniz_oxide::deflate::compress_to_vec(value.to_string().as_bytes(), 6);
    let unpacked = miniz_oxide::inflate::decompress_to_vec(&packed).unwrap_or_default();
    let words = aho_corasick::AhoCorasick::new(["probe", "marker"]).map(|words| words.find_iter(&unpacked).count());
    let ghost = memchr::memmem::find(&unpacked, b"ghost");
    let number = num_bigint::BigUint::from_bytes_le(&unpacked);
    println!("{words:?} {ghost:?} {} {}", &number * &number, number.sqrt());
}
"#;

/// A way to build: its name, the level, link-time optimisation, and codegen units.
type Build = (&'static str, &'static str, &'static str, &'static str);

const BUILDS: [Build; 5] = [
    ("`3`", "3", "false", "1"),
    ("fat LTO", "3", "fat", "1"),
    ("`s`", "s", "false", "1"),
    ("`2`", "2", "false", "1"),
    ("`3`, 16 codegen units", "3", "false", "16"),
];

/// One row for each crate: how many functions of its library differ. The last row is the program, with
/// all of its loaded sections.
pub(crate) fn table(folder: &Path) -> Result<String> {
    let sources = prepare(folder)?;
    let libraries = CRATES.iter().map(|(name, version)| format!("{name} {version}"));
    let titles = libraries.chain(["a program that uses them".to_owned()]);
    let mut rows: Vec<Vec<String>> = titles.map(|title| vec![title]).collect();
    for of_build in BUILDS {
        let [ghosts, empty] = [build(&sources, Form::Ghosts, of_build)?, build(&sources, Form::Empty, of_build)?];
        for ((row, ghosts), empty) in rows.iter_mut().zip(ghosts).zip(empty) {
            let (Some(ghosts), Some(empty)) = (ghosts, empty) else {
                row.push(String::new());
                continue;
            };
            if row.len() == 1 {
                row.extend([ghosts.ghosts.to_string(), ghosts.functions().to_string()]);
            }
            let Differences { functions, sections } = ghosts.differences(&empty);
            eprintln!("{row:?}, {}: {sections:?} {functions:?}", of_build.0);
            row.push(match (sections.len(), functions.len()) {
                (0, 0) => "0".to_owned(),
                (sections, functions) => format!("**{functions}**, {sections} sections"),
            });
        }
    }
    let names = BUILDS.map(|(name, ..)| name);
    Ok(markdown::table(&[&["", "ghosts", "functions"][..], &names].concat(), &rows))
}

/// The folder of the program, with ghosts in the crates.
fn prepare(folder: &Path) -> Result<PathBuf> {
    let packages = fetched(&folder.join("fetched"), &CRATES)?;
    let sources = folder.join("source");
    if sources.exists() {
        fs::remove_dir_all(&sources)?;
    }
    let (mut dependencies, mut patches) = (String::new(), String::new());
    for (name, version) in CRATES {
        let source = sources.join(name);
        copy(&packages.join(name), &source)?;
        insert(&source.join("src"), "rs", &mut |text, first| in_rust::insert(text, &name.replace('-', "_"), first))?;
        let path = source.join("Cargo.toml");
        let old = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        fs::write(&path, format!("{old}\n[dependencies.ghost-form]\npath = \"../ghost-form\"\n"))?;
        dependencies.push_str(&format!("{name} = \"={version}\"\n"));
        patches.push_str(&format!("{name} = {{ path = \"{name}\" }}\n"));
    }
    fs::create_dir_all(sources.join("src"))?;
    fs::write(sources.join("src/main.rs"), PROGRAM)?;
    fs::write(
        sources.join("Cargo.toml"),
        format!(
            "[package]\nname = \"program\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependencies}\n\
             [patch.crates-io]\n{patches}"
        ),
    )?;
    fs::create_dir_all(sources.join("ghost-form/src"))?;
    fs::write(
        sources.join("ghost-form/Cargo.toml"),
        format!(
            "[package]\nname = \"ghost-form\"\nedition = \"2024\"\n\n[dependencies]\n\
             simple-markers = {{ path = \"{}\" }}\n",
            markers()?.display()
        ),
    )?;
    Ok(sources)
}

/// The libraries of the crates and the program. With link-time optimisation the libraries have no code.
fn build(sources: &Path, form: Form, (_, level, lto, units): Build) -> Result<Vec<Option<Image>>> {
    fs::write(sources.join("ghost-form/src/lib.rs"), source(form))?;
    let target = sources.with_file_name("target");
    let mut cargo = Command::new("cargo");
    cargo.current_dir(sources).args(["build", "--quiet", "--release"]);
    cargo.env("CARGO_TARGET_DIR", &target).env("CARGO_INCREMENTAL", "0").env("RUSTFLAGS", "--cap-lints=allow");
    cargo.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", level).env("CARGO_PROFILE_RELEASE_LTO", lto);
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", units).env("CARGO_PROFILE_RELEASE_DEBUG", "2");
    run(&mut cargo)?;
    let mut images = Vec::new();
    for (name, _) in CRATES {
        images.push(if lto == "false" { Some(Image::read(&library(&target, name)?)?) } else { None });
    }
    images.push(Some(Image::read(&target.join("release/program"))?));
    Ok(images)
}

/// The crate with the macro.
fn source(form: Form) -> &'static str {
    match form {
        Form::Ghosts => {
            "#![no_std]\npub use simple_markers as __markers;\n#[macro_export]\nmacro_rules! ghost { \
             ($($ghost:tt)*) => { $crate::__markers::simple_mark! { $($ghost)*, options(ghost) } } }\n"
        }
        Form::Empty => {
            "#![no_std]\npub use simple_markers as __markers;\n#[macro_export]\nmacro_rules! ghost { ($($ghost:tt)*) => {} }\n"
        }
    }
}

/// The library of a crate that was built last.
fn library(target: &Path, name: &str) -> Result<PathBuf> {
    let start = format!("lib{}-", name.replace('-', "_"));
    let folder = target.join("release/deps");
    let mut libraries = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&start) && name.ends_with(".rlib") {
            libraries.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    let (_, path) = libraries.into_iter().max().with_context(|| format!("{}: no {start}", folder.display()))?;
    Ok(path)
}
