//! Types: a name means one type in a crate, no name is a participle, and no type has more than two
//! lifetimes.

use std::collections::BTreeMap;
use std::path::Path;

use syn::visit::{self, Visit};

use super::rust_files::{CRATES, has_cfg, rust_files, stem};

/// Participles that do not end in `ed`.
const IRREGULAR: [&str; 13] =
    ["Chosen", "Found", "Held", "Kept", "Known", "Left", "Lost", "Made", "Said", "Seen", "Shown", "Unread", "Written"];

/// Adjectives, and nouns, that end as participles do.
const NO_PARTICIPLES: [&str; 3] = ["Feed", "Malformed", "Unsupported"];

/// The types of some files: how many have each name, and which have more than two lifetimes.
#[derive(Default)]
struct Types {
    names: BTreeMap<String, usize>,
    with_many_lifetimes: Vec<String>,
}

impl Types {
    fn read(folder: &str) -> Self {
        let mut types = Self::default();
        rust_files(folder, |path| !is_test_file(path) && !is_for_other_targets(path))
            .iter()
            .for_each(|(_, syntax)| types.visit_file(syntax));
        types
    }

    fn add(&mut self, name: &syn::Ident, generics: &syn::Generics) {
        *self.names.entry(name.to_string()).or_default() += 1;
        if generics.lifetimes().count() > 2 {
            self.with_many_lifetimes.push(name.to_string());
        }
    }
}

fn is_test_file(path: &Path) -> bool {
    let stem = stem(path);
    stem == "tests" || stem.ends_with("_tests") || stem.starts_with("test_")
}

/// Whether a file has the types of the recorder on targets without one.
fn is_for_other_targets(path: &Path) -> bool {
    path.with_extension("").iter().any(|part| part == "elsewhere")
}

impl<'a> Visit<'a> for Types {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !has_cfg(&item.attrs, &["test"]) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.add(&item.ident, &item.generics);
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.add(&item.ident, &item.generics);
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.add(&item.ident, &item.generics);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.add(&item.ident, &item.generics);
    }
}

fn is_participle(name: &str) -> bool {
    (name.ends_with("ed") || IRREGULAR.contains(&name)) && !NO_PARTICIPLES.contains(&name)
}

#[test]
fn a_name_means_one_type_and_is_a_noun() {
    for folder in CRATES {
        let types = Types::read(folder).names;
        let shared: Vec<&String> = types.iter().filter(|(_, count)| **count > 1).map(|(name, _)| name).collect();
        assert!(shared.is_empty(), "{folder}: names of several types: {shared:?}");
        let participles: Vec<&String> = types.keys().filter(|name| is_participle(name)).collect();
        assert!(participles.is_empty(), "{folder}: participles: {participles:?}");
    }
}

#[test]
fn no_type_has_more_than_two_lifetimes() {
    for folder in CRATES {
        let types = Types::read(folder).with_many_lifetimes;
        assert!(types.is_empty(), "{folder}: more than two lifetimes: {types:?}");
    }
}
