//! Files that need each other, which `use` paths and paths in the code show. A file of a circle can be
//! read and changed only with all others of it.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::rust_files::{CRATES, has_cfg, rust_files, stem};

type Module = Vec<String>;

/// A file: what it imports under which name, for each target, and the paths in it.
#[derive(Default)]
struct File {
    module: Module,
    imports: BTreeMap<String, Vec<Vec<String>>>,
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
            self.imports.entry(name).or_default().push(path);
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

    /// The paths from the root of the crate, one for each import; none if it leads out of the crate, or to a
    /// name of the file.
    fn absolute(&self, file: &File, path: &[String]) -> Vec<Vec<String>> {
        let Some((first, mut rest)) = path.split_first() else { return Vec::new() };
        let mut at = file.module.clone();
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                let up = rest.iter().take_while(|part| *part == "super").count();
                at.truncate(at.len().saturating_sub(1 + up));
                rest = &rest[up..];
            }
            name => {
                at.push(name.to_owned());
                if !self.0.contains_key(&at) {
                    let imports = file.imports.get(name).into_iter().flatten();
                    let imports = imports.filter(|import| import.first() != Some(first));
                    return imports
                        .flat_map(|import| self.absolute(file, import))
                        .map(|it| [&it, rest].concat())
                        .collect();
                }
            }
        }
        vec![[&at, rest].concat()]
    }

    /// The files that have what a path from the root leads to: where it is defined, not where it is exported
    /// again. None for a module itself.
    fn homes(&self, path: &[String]) -> Vec<&Module> {
        let Some(length) = (0..=path.len()).rev().find(|length| self.0.contains_key(&path[..*length])) else {
            return Vec::new();
        };
        let (module, rest) = path.split_at(length);
        let (Some((module, file)), Some((name, rest))) = (self.0.get_key_value(module), rest.split_first()) else {
            return Vec::new();
        };
        let imports = file.imports.get(name).into_iter().flatten().flat_map(|import| self.absolute(file, import));
        let further: Vec<_> = imports.filter(|import| import != path).map(|it| [&it, rest].concat()).collect();
        match &further[..] {
            [] => vec![module],
            further => further.iter().flat_map(|path| self.homes(path)).collect(),
        }
    }

    fn needs(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let needed = |file: &File| {
            let paths = file.paths.iter().flat_map(|path| self.absolute(file, path));
            paths.flat_map(|path| self.homes(&path)).filter(|to| **to != file.module).collect()
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
    let outside = |part: &str| -> BTreeSet<String> {
        tracer
            .needs()
            .into_iter()
            .filter(|(module, _)| module.first().is_some_and(|first| first == part))
            .flat_map(|(_, needed)| needed)
            .filter(|module| module.first().is_some_and(|first| first != part))
            .map(|module| module.first().cloned().unwrap_or_default())
            .collect()
    };
    // The platform of an image, and the layout of a record.
    assert_eq!(outside("plan"), BTreeSet::from(["arch", "record"].map(str::to_owned)));
    assert_eq!(outside("arch"), BTreeSet::new());
}
