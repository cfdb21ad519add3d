//! Files that need each other, which `use` paths and paths in the code show. A file of a circle can be
//! read and changed only with all others of it.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::rust_files::{has_cfg, rust_files, stem};

/// The folders of the crates' sources.
const CRATES: [&str; 7] = [
    "markers/macros/src",
    "markers/record/src",
    "resolver/src",
    "smark/src",
    "tracer/events/src",
    "tracer/src",
    "tracer/top/src",
];

type Module = Vec<String>;

/// A file: what it imports under which name, and the paths in it.
#[derive(Default)]
struct File {
    module: Module,
    imports: BTreeMap<String, Vec<String>>,
    paths: Vec<Vec<String>>,
}

impl File {
    fn tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| prefix.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(prefix, tree)),
            syn::UseTree::Name(name) if name.ident == "self" => self.import(prefix.last().cloned(), prefix.to_vec()),
            syn::UseTree::Name(name) => self.import(Some(name.ident.to_string()), with(&name.ident)),
            syn::UseTree::Rename(name) => self.import(Some(name.rename.to_string()), with(&name.ident)),
            syn::UseTree::Glob(_) => self.import(None, prefix.to_vec()),
        }
    }

    fn import(&mut self, name: Option<String>, path: Vec<String>) {
        self.paths.push(path.clone());
        if let Some(name) = name {
            self.imports.insert(name, path);
        }
    }
}

impl<'a> Visit<'a> for File {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !has_cfg(&item.attrs, &["test"]) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        if !has_cfg(&item.attrs, &["test"]) {
            self.tree(&[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

/// The files of a crate by their modules.
struct Crate(BTreeMap<Module, File>);

impl Crate {
    fn read(folder: &str) -> Self {
        let mut files = BTreeMap::new();
        for (path, syntax) in rust_files(folder, |path| stem(path) != "tests") {
            let path = path.with_extension("");
            let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                module.pop();
            }
            let mut file = File { module: module.clone(), ..File::default() };
            file.visit_file(&syntax);
            files.insert(module, file);
        }
        Self(files)
    }

    /// The path from the root of the crate; `None` if it leads out of the crate, or to a name of the file.
    fn absolute(&self, file: &File, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let mut at = file.module.clone();
        match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            "self" => {}
            "super" => {
                at.pop();
                let up = rest.iter().take_while(|part| *part == "super").count();
                at.truncate(at.len().saturating_sub(up));
                return Some(at.into_iter().chain(rest.iter().skip(up).cloned()).collect());
            }
            name => {
                at.push(name.to_owned());
                if !self.0.contains_key(&at) {
                    let import = file.imports.get(name).filter(|import| import.first() != Some(first))?;
                    return Some(self.absolute(file, import)?.into_iter().chain(rest.iter().cloned()).collect());
                }
            }
        }
        Some(at.into_iter().chain(rest.iter().cloned()).collect())
    }

    /// The file that has what a path from the root leads to: where it is defined, not where it is exported
    /// again. `None` for a module itself.
    fn home(&self, path: &[String]) -> Option<&Module> {
        let length = (0..=path.len()).rev().find(|length| self.0.contains_key(&path[..*length]))?;
        let (module, rest) = path.split_at(length);
        let (module, file) = self.0.get_key_value(module)?;
        let name = rest.first()?;
        match file.imports.get(name).and_then(|import| self.absolute(file, import)) {
            Some(import) if import != path => {
                let further: Vec<String> = import.into_iter().chain(rest[1..].iter().cloned()).collect();
                self.home(&further)
            }
            _ => Some(module),
        }
    }

    fn needs(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let needed = |file: &File| {
            let paths = file.paths.iter().filter_map(|path| self.absolute(file, path));
            paths.filter_map(|path| self.home(&path)).filter(|to| **to != file.module).collect()
        };
        self.0.iter().map(|(module, file)| (module, needed(file))).collect()
    }

    /// The modules that need each other, directly or by others.
    fn circles(&self) -> Vec<Vec<String>> {
        let needs = self.needs();
        let reached = |from| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(next) = open.pop() {
                open.extend(needs[next].iter().copied().filter(|to| reached.insert(*to)));
            }
            reached
        };
        let all: BTreeMap<&Module, BTreeSet<&Module>> =
            needs.keys().map(|module| (*module, reached(*module))).collect();
        let circles: BTreeSet<Vec<&Module>> = all
            .iter()
            .filter(|(module, reached)| reached.contains(*module))
            .map(|(module, reached)| reached.iter().copied().filter(|other| all[other].contains(module)).collect())
            .collect();
        circles.into_iter().map(|circle| circle.into_iter().map(|module| module.join("::")).collect()).collect()
    }
}

#[test]
fn files_form_no_circles() {
    for folder in CRATES {
        let circles = Crate::read(folder).circles();
        assert!(circles.is_empty(), "{folder}: {circles:#?}");
    }
}

#[test]
fn a_plan_needs_no_other_part_of_the_tracer() {
    let tracer = Crate::read("tracer/src");
    let outside: BTreeSet<String> = tracer
        .needs()
        .into_iter()
        .filter(|(module, _)| module.first().is_some_and(|first| first == "plan"))
        .flat_map(|(_, needed)| needed)
        .filter(|module| module.first().is_some_and(|first| first != "plan"))
        .map(|module| module.first().cloned().unwrap_or_default())
        .collect();
    // The layout of a record.
    assert_eq!(outside, BTreeSet::from(["record".to_owned()]));
}
