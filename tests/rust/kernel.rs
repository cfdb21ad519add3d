//! Kernel modules and kernel images. Compares `smark` with `nm` and `objdump` on a module built by
//! kbuild, compressed or not, and on the tables that a kernel uses to patch its code, in a module
//! and in a linked image.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::resolve::{Exactness, Resolution, ResolvedImage, Site, SitePlace, Verdict};
use simple_markers_tests::second_opinion::resolve;
use simple_markers_tests::{fixture, tools};

fn image(path: &Path) -> ResolvedImage {
    let Resolution { mut images, failures } = resolve(&path.to_string_lossy(), &fs::read(path).expect("an image"));
    assert!(failures.is_empty(), "{failures:?}");
    images.pop().expect("one image")
}

/// The sites of an image, with the marker's name without its subsystem.
fn sites(image: &ResolvedImage) -> Vec<(String, &Site)> {
    let sites = image.markers.iter().flat_map(|marker| {
        let name = marker.name.rsplit(':').next().unwrap_or_default().to_owned();
        marker.sites.iter().map(move |site| (name.clone(), site))
    });
    sites.collect()
}

/// The addresses of symbols in their sections, or in the image, from `nm`. A local name may have
/// several.
fn symbols(image: &Path) -> BTreeMap<String, BTreeSet<u64>> {
    let mut found = BTreeMap::<_, BTreeSet<u64>>::new();
    for line in tools::run(Command::new("nm").arg("--defined-only").arg(image)).lines() {
        let mut words = line.split_whitespace();
        let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        if let (Some(address), Some(name)) = (address, words.nth(1)) {
            found.entry(name.to_owned()).or_default().insert(address);
        }
    }
    found
}

/// The addresses of instructions from `objdump`, in one section or in all.
fn instructions(image: &Path, section: Option<&str>) -> BTreeSet<u64> {
    let mut command = Command::new("objdump");
    command.args(["--disassemble", "--wide"]).args(section.map(|section| format!("--section={section}")));
    let printed = tools::run(command.arg(image));
    let address = |line: &str| {
        let (address, rest) = line.trim_start().split_once(":\t")?;
        // The bytes of a long instruction continue on another line, without text.
        rest.contains('\t').then(|| u64::from_str_radix(address, 16).ok()).flatten()
    };
    printed.lines().filter_map(address).collect()
}

/// Checks that the symbol and offset of each site lead to its instruction, for use in a kprobe.
fn symbols_lead_to_instructions(path: &Path, image: &ResolvedImage) {
    let symbols = symbols(path);
    for (name, site) in sites(image) {
        let (address, section) = match site.place.as_ref().unwrap_or_else(|| panic!("{name} is nowhere")) {
            SitePlace::Address(address) => (address.0, None),
            SitePlace::Section { section, offset } => (offset.0, Some(&**section)),
        };
        let (symbol, offset) = (site.symbol.as_deref().expect("a symbol"), site.symbol_offset.expect("an offset"));
        assert!(symbols[symbol].contains(&(address - offset)), "{name}: {symbol}+{offset:#x}, {symbols:?}");
        assert!(instructions(path, section).contains(&address), "{name}: {section:?} {address:#x}");
    }
}

/// Kernel headers that kbuild can build modules with.
fn headers() -> Option<PathBuf> {
    let mut found: Vec<_> =
        fs::read_dir("/usr/src").into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("linux-headers-")
            && path.join("Makefile").exists()
            && path.join("include/config/auto.conf").exists()
    });
    found.sort();
    if found.is_empty() {
        tools::skipped("no headers of a kernel in /usr/src");
    }
    found.pop()
}

#[test]
fn a_module_is_the_same_packed_and_leads_kprobes_to_its_instructions() {
    let needed = ["make", "xz", "zstd", "gzip", "nm", "objdump"];
    if cfg!(not(target_arch = "x86_64")) || needed.iter().any(|tool| tools::find(tool).is_none()) {
        return;
    }
    let Some(headers) = headers() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    fs::copy(fixture::workspace().join("tests/kernel/marked.c"), path.join("marked.c")).expect("the source is copied");
    fs::write(path.join("Kbuild"), "obj-m := marked.o\n").expect("the rule is written");
    // Adds debug information even if the kernel was built without it.
    let flags = format!("KCFLAGS=-g -I{}", fixture::workspace().join("markers/include").display());
    let module = format!("M={}", path.display());
    tools::run(Command::new("make").arg("-s").arg("-C").arg(headers).args([&module, &flags, "modules"]));
    let module = path.join("marked.ko");
    let image = image(&module);
    assert_eq!((image.kind.as_str(), &*image.module), ("module", "marked"));
    let sites = sites(&image);
    let names: BTreeSet<_> = sites.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["copied", "exit", "fault", "init", "key", "large", "step"]));
    symbols_lead_to_instructions(&module, &image);
    for (name, site) in &sites {
        let section = match site.place.as_ref() {
            Some(SitePlace::Section { section, .. }) => &**section,
            place => panic!("{name}: {place:?}"),
        };
        let expected = match name.as_str() {
            "init" => ".init.text",
            "exit" => ".exit.text",
            _ => ".text",
        };
        assert!(section.starts_with(expected), "{name} in {section}");
        assert!(site.exactness.is_some() && site.probe.is_none(), "{name}: {site:?}");
    }
    let of = |wanted: &str| sites.iter().find(|(name, _)| name == wanted).map(|(_, site)| *site).expect("a site");
    assert_eq!(of("key").predecessors.iter().map(|it| it.kind.name()).collect::<Vec<_>>(), ["patched"]);
    assert_eq!(of("step").args[0].verdict, Some(Verdict::Live));
    // Compression must change nothing but the path in the output of `smark`.
    let said = |file: &Path| {
        let printed = tools::run(Command::new(fixture::smark()).args(["list", "--json"]).arg(file));
        printed.replace(&file.display().to_string(), "marked.ko")
    };
    let plain = said(&module);
    for (tool, extension) in [("xz", "xz"), ("zstd", "zst"), ("gzip", "gz")] {
        tools::run(Command::new(tool).args(["-q", "-k", "-f"]).arg(&module));
        assert_eq!(said(&path.join(format!("marked.ko.{extension}"))), plain, "{extension}");
    }
}

#[test]
fn what_a_kernel_does_to_its_code_are_ways_in() {
    let needed = ["gcc", "ld", "nm", "objdump"];
    if cfg!(not(target_arch = "x86_64")) || needed.iter().any(|tool| tools::find(tool).is_none()) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (object, linked) = (folder.path().join("tables.o"), folder.path().join("vmlinux"));
    let mut gcc = Command::new("gcc");
    gcc.current_dir(fixture::workspace()).args(["-O1", "-g", "-fno-pie", "-fcf-protection=none", "-Imarkers/include"]);
    tools::run(gcc.args(["-c", "tests/kernel/tables.c", "-o"]).arg(&object));
    tools::run(Command::new("ld").args(["-no-pie", "-o"]).arg(&linked).arg(&object));
    for (path, kind) in [(&object, "module"), (&linked, "kernel")] {
        let image = image(path);
        assert_eq!(image.kind.as_str(), kind);
        symbols_lead_to_instructions(path, &image);
        let found: BTreeMap<_, _> = sites(&image)
            .into_iter()
            .map(|(name, site)| {
                (name, (site.exactness, site.predecessors.iter().map(|it| it.kind.name()).collect::<Vec<_>>()))
            })
            .collect();
        let expected = [
            ("fixup", Exactness::Shared, &["fall_through", "fixup"][..]),
            ("plain", Exactness::Exact, &["fall_through"]),
            ("feature", Exactness::Exact, &["patched"]),
            ("replaced", Exactness::Exact, &["patched"]),
            ("within", Exactness::Unproven, &[]),
            ("key", Exactness::Exact, &["patched"]),
        ];
        let expected: BTreeMap<_, _> =
            expected.map(|(name, exactness, ways)| (name.to_owned(), (Some(exactness), ways.to_vec()))).into();
        assert_eq!(found, expected, "{kind}");
    }
}
