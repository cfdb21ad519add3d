//! Processors are named in `resolver/src/arch/` only: a new one is a folder and a line there. The
//! system calls of the tracer have a file for what differs between them.

use std::path::Path;

use syn::visit::{self, Visit};

/// Parts of names of processors, and of the crates that decode their instructions.
const NAMES: [&str; 9] = ["x86", "i386", "_386", "amd64", "aarch64", "arm64", "riscv", "iced", "yaxpeax"];

/// Files outside that name a processor all the same.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("image/architecture.rs", "the list of all architectures that an image may have, with their names in JSON"),
    ("check/fix/edits.rs", "the targets for which the macro emits probes"),
];

/// The names and texts of a file, without comments and unit tests.
#[derive(Default)]
struct Words(Vec<String>);

fn is_left_out(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is = |name: &str| attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident(name));
        attribute.path().is_ident("cfg") && (is("test") || is("fuzzing"))
    })
}

impl<'a> Visit<'a> for Words {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            _ => &[],
        };
        if !is_left_out(attributes) {
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
fn naming(root: &Path) -> Vec<(String, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("it is below").to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_test = stem.starts_with("test") || stem.ends_with("_tests");
            if name.starts_with("arch/") || is_test || path.extension().is_none_or(|it| it != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a text");
            let mut words = Words::default();
            words.visit_file(&syn::parse_file(&text).unwrap_or_else(|error| panic!("{name}: {error}")));
            let is_name = |word: &String| NAMES.iter().any(|part| word.to_lowercase().contains(part));
            found.extend(words.0.into_iter().find(is_name).map(|word| (name, word)));
        }
    }
    found.sort();
    found
}

#[test]
fn processors_are_named_in_their_folders() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../resolver/src");
    let found = naming(&root);
    let mut expected: Vec<&str> = EXCEPTIONS.iter().map(|(file, _)| *file).collect();
    expected.sort_unstable();
    assert_eq!(found.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>(), expected, "{found:#?}");
}

#[test]
fn processors_are_named_in_one_file_of_the_system_calls() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tracer/src/sys");
    let found = naming(&root);
    assert_eq!(found.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>(), ["processor.rs"], "{found:#?}");
}
