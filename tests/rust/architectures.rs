//! Processors are named in `resolver/src/arch/` and `tracer/src/arch/` only: a new one is a folder or a
//! file and a line there. The system calls of the tracer have a file for what this machine needs.

use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use super::rust_files::{has_cfg, rust_files, stem};

/// Parts of names of processors, of the crates that decode their instructions, and of what the kernel
/// names after their registers.
const NAMES: [&str; 12] =
    ["x86", "i386", "_386", "amd64", "aarch64", "arm64", "riscv", "iced", "yaxpeax", "pt_regs", "fsbase", "tp_value"];

/// Files outside that name a processor all the same.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("image/architecture.rs", "the list of all architectures that an image may have, with their names in JSON"),
    ("check/fix/edits.rs", "the targets for which the macro emits probes"),
];

/// The names and texts of a file, without comments and unit tests.
#[derive(Default)]
struct Words(Vec<String>);

impl<'a> Visit<'a> for Words {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => &[],
        };
        if !has_cfg(attributes, &["test", "fuzzing"]) {
            visit::visit_item(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}

    fn visit_ident(&mut self, ident: &'a proc_macro2::Ident) {
        self.0.push(ident.to_string());
    }

    fn visit_lit_str(&mut self, text: &'a syn::LitStr) {
        self.0.push(text.value());
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.0.push(call.tokens.to_string());
    }
}

/// The files below a folder that name a processor, each with its first name.
fn naming(folder: &str) -> Vec<(String, String)> {
    let is_wanted = |path: &Path| {
        let stem = stem(path);
        !path.starts_with("arch") && !stem.starts_with("test") && !stem.ends_with("_tests")
    };
    let first = |(path, syntax): (PathBuf, syn::File)| {
        let mut words = Words::default();
        words.visit_file(&syntax);
        let is_name = |word: &String| NAMES.iter().any(|part| word.to_lowercase().contains(part));
        Some((path.to_string_lossy().into_owned(), words.0.into_iter().find(is_name)?))
    };
    rust_files(folder, is_wanted).into_iter().filter_map(first).collect()
}

#[test]
fn processors_are_named_in_their_folders() {
    let found = naming("resolver/src");
    let mut expected: Vec<&str> = EXCEPTIONS.iter().map(|(file, _)| *file).collect();
    expected.sort_unstable();
    assert_eq!(found.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>(), expected, "{found:#?}");
}

#[test]
fn processors_are_named_in_one_file_of_the_system_calls() {
    let found = naming("tracer/src");
    assert_eq!(found.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>(), ["sys/processor.rs"], "{found:#?}");
}
