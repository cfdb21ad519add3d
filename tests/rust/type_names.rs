//! Names of types: a name means one type in a crate, and no name is a participle.

use std::collections::BTreeMap;
use std::path::Path;

use syn::visit::{self, Visit};

/// A crate's sources, the names that several of its types still have, and those that are participles.
struct Names {
    folder: &'static str,
    shared: &'static [&'static str],
    participles: &'static [&'static str],
}

const CRATES: [Names; 2] = [
    Names {
        folder: "resolver/src",
        shared: &[],
        participles: &[
            "Checked",
            "Computed",
            "Converted",
            "Decoded",
            "Described",
            "Ended",
            "Excepted",
            "Exported",
            "Folded",
            "Found",
            "Held",
            "Inlined",
            "Joined",
            "Loaded",
            "Locked",
            "Made",
            "Matched",
            "Opened",
            "Patched",
            "Planned",
            "Refused",
            "Rendered",
            "Scattered",
            "Selected",
            "Shared",
            "Spanned",
            "Unmatched",
        ],
    },
    Names { folder: "smark/src", shared: &[], participles: &[] },
];

/// Participles that do not end in `ed`.
const IRREGULAR: [&str; 9] = ["Found", "Held", "Kept", "Known", "Left", "Made", "Said", "Seen", "Written"];

/// Adjectives, and nouns, that end as participles do.
const NO_PARTICIPLES: [&str; 3] = ["Feed", "Malformed", "Unsupported"];

/// The types of some files: how many have each name.
#[derive(Default)]
struct Types(BTreeMap<String, usize>);

impl Types {
    fn read(folder: &Path) -> Self {
        let (mut types, mut folders) = (Self::default(), vec![folder.to_path_buf()]);
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") && !is_test_file(&path) {
                    let text = std::fs::read_to_string(&path).expect("a text");
                    types.visit_file(&syn::parse_file(&text).unwrap_or_else(|error| panic!("{path:?}: {error}")));
                }
            }
        }
        types
    }

    fn add(&mut self, name: &syn::Ident) {
        *self.0.entry(name.to_string()).or_default() += 1;
    }
}

fn is_test_file(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem == "tests" || stem.ends_with("_tests") || stem.starts_with("test_")
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is = |attribute: &syn::Attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    };
    attributes.iter().any(is)
}

impl<'a> Visit<'a> for Types {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.add(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.add(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.add(&item.ident);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.add(&item.ident);
    }
}

fn is_participle(name: &str) -> bool {
    (name.ends_with("ed") || IRREGULAR.contains(&name)) && !NO_PARTICIPLES.contains(&name)
}

#[test]
fn a_name_means_one_type_and_is_a_noun() {
    for Names { folder, shared, participles } in CRATES {
        let types = Types::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder)).0;
        let found: Vec<&str> = types.iter().filter(|(_, count)| **count > 1).map(|(name, _)| name.as_str()).collect();
        assert_eq!(found, shared, "{folder}: names of several types");
        let found: Vec<&str> = types.keys().map(String::as_str).filter(|name| is_participle(name)).collect();
        assert_eq!(found, participles, "{folder}: participles");
    }
}
