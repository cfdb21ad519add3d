//! Writes the lock file: new results replace old ones, and comments and exceptions stay.
//!
//! Nothing that a person wrote is lost. A renamed marker keeps its exceptions and comments. A
//! marker that is gone stays with `gone = true` if it has any. The comment on an argument that is
//! gone moves to its marker.

use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value, value};

use super::baseline::{TargetMarker, observe, pair};
use super::lock::{LockedMarker, VERSION, is_of};
use super::{Check, Lock, LockError, Profile};

/// The head of a new file.
const HEAD: &str = "\
# The markers of the program and the least that is accepted of each. `smark check --lock FILE` compares with it,
# `smark check --lock FILE --update` writes it; comments and exceptions stay.
";

impl Lock {
    /// Updates the lock file `text` with the current results for a profile; `None` starts a new
    /// file. Also returns the markers that are gone but were kept for their comments or exceptions.
    ///
    /// # Errors
    ///
    /// `text` is not a lock file.
    pub fn updated(
        text: Option<&str>,
        check: &Check<'_>,
        profile: &Profile,
    ) -> Result<(String, Vec<String>), LockError> {
        let before = text.map(Self::parse).transpose()?.unwrap_or_default();
        // `Lock::parse` has accepted the text before.
        let mut document: DocumentMut = text.unwrap_or_default().parse().unwrap_or_default();
        if text.is_none() {
            document.insert("version", value(VERSION));
            if let Some(mut key) = document.key_mut("version") {
                key.leaf_decor_mut().set_prefix(HEAD);
            }
        }
        let mut profiles = taken(&mut document, "profile");
        let mut kept = Vec::new();
        for (target, observed) in observe(check, profile) {
            let is_it = |of: &Table| string(of, "name") == profile.name && string(of, "target") == target;
            let is_of_arch = |of: &Table| string(of, "name") == profile.name && is_of(&string(of, "target"), &target);
            let at = profiles.iter().position(is_it).or_else(|| profiles.iter().position(is_of_arch));
            let at = at.unwrap_or_else(|| {
                let mut table = Table::new();
                table.insert("name", value(&profile.name));
                table.insert("target", value(&target));
                profiles.push(table);
                profiles.len() - 1
            });
            let Some(table) = profiles.get_mut(at) else { continue };
            let section = before.section(&profile.name, &target);
            let locked = section.map_or(&[][..], |section| &section.markers);
            update(table, &observed, locked, &mut kept);
        }
        profiles.sort_by_cached_key(|table| (string(table, "name"), string(table, "target")));
        document.insert("profile", Item::ArrayOfTables(profiles.into_iter().collect()));
        unplace(document.as_table_mut());
        Ok((document.to_string(), kept))
    }
}

/// Writes the markers of a section.
fn update(section: &mut Table, observed: &[TargetMarker], locked: &[LockedMarker], kept: &mut Vec<String>) {
    let mut tables: Vec<Option<Table>> = taken(section, "marker").into_iter().map(Some).collect();
    let pairs = pair(observed, locked);
    let mut markers = Vec::new();
    for (observed, pair) in observed.iter().zip(&pairs) {
        let known = pair.and_then(|(index, _)| Some((locked.get(index)?, tables.get_mut(index)?.take()?)));
        let (locked, mut table) = match known {
            Some((locked, table)) => (Some(locked), table),
            None => (None, Table::new()),
        };
        write(&mut table, observed, locked);
        markers.push(table);
    }
    for mut table in tables.into_iter().flatten() {
        let has_exceptions = table.contains_key("exception");
        if !has_exceptions && comments(&table).is_empty() {
            continue;
        }
        set(&mut table, "gone", true.into());
        kept.push(string(&table, "name"));
        markers.push(table);
    }
    markers.sort_by_cached_key(|table| (string(table, "name"), string(table, "file")));
    section.insert("marker", Item::ArrayOfTables(markers.into_iter().collect()));
}

/// Writes the results for a marker.
fn write(table: &mut Table, observed: &TargetMarker, locked: Option<&LockedMarker>) {
    if table.decor().prefix().is_none() {
        table.decor_mut().set_prefix("\n");
    }
    set(table, "name", (&*observed.name).into());
    match &observed.note {
        // It has no file, and its format may be said by others.
        Some(note) => {
            set(table, "note", note.sizes().into());
            if note.semaphore {
                set(table, "semaphore", true.into());
            } else {
                table.remove("semaphore");
            }
        }
        None => {
            set(table, "file", (&*observed.file).into());
            set(table, "format", (&*observed.format).into());
        }
    }
    set(table, "sites", i64::try_from(observed.sites).unwrap_or(i64::MAX).into());
    if let Some((_, item)) = table.remove_entry("gone") {
        keep_comments(table, &of_item(&item));
    }
    if observed.args.is_empty() {
        if let Some((key, item)) = table.remove_entry("args") {
            keep_comments(table, &[of_key(&key), of_item(&item)].concat());
        }
        return order(table);
    }
    if table.get("args").and_then(Item::as_table_like).is_none() {
        let mut args = Table::new();
        args.set_dotted(true);
        args.set_implicit(true);
        table.insert("args", Item::Table(args));
    }
    let mut lost = Vec::new();
    if let Some(args) = table.get_mut("args").and_then(Item::as_table_like_mut) {
        let gone: Vec<String> = args
            .iter()
            .map(|(text, _)| text.to_owned())
            .filter(|text| !observed.args.iter().any(|(known, _, _)| **known == **text))
            .collect();
        for text in gone {
            lost.extend(args.key(&text).map(of_key).unwrap_or_default());
            lost.extend(args.remove(&text).map(|item| of_item(&item)).unwrap_or_default());
        }
        for (text, least, _) in &observed.args {
            let accepted = locked.and_then(|locked| {
                locked.args.iter().flatten().find(|(known, _)| **known == **text).map(|(_, least)| *least)
            });
            // `live` and `constant` rank the same, so a compiler that swaps them changes nothing.
            let is_as_good = least.is_none_or(|least| accepted.is_some_and(|accepted| accepted.rank() == least.rank()));
            match (accepted, least) {
                (Some(_), _) if is_as_good => {}
                (_, Some(least)) => set(args, text, least.as_str().into()),
                // Nothing is known about a marker without a site.
                (_, None) => {}
            }
        }
    }
    keep_comments(table, &lost);
    if table.get("args").and_then(Item::as_table_like).is_some_and(TableLike::is_empty) {
        table.remove("args");
    }
    order(table);
}

/// Puts the keys of a marker in the order that reads best.
fn order(table: &mut Table) {
    const ORDER: [&str; 9] = ["name", "file", "format", "note", "semaphore", "sites", "args", "gone", "exception"];
    let place = |key: &Key| ORDER.iter().position(|known| *known == key.get()).unwrap_or(ORDER.len());
    table.sort_values_by(|one, _, other, _| place(one).cmp(&place(other)));
}

/// Sets a value, and keeps the comments around the old one.
fn set(table: &mut dyn TableLike, key: &str, new: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(known) => {
            let is_same = match (&*known, &new) {
                (Value::String(one), Value::String(other)) => one.value() == other.value(),
                (Value::Integer(one), Value::Integer(other)) => one.value() == other.value(),
                (Value::Boolean(one), Value::Boolean(other)) => one.value() == other.value(),
                _ => false,
            };
            if !is_same {
                let decor = known.decor().clone();
                *known = new;
                *known.decor_mut() = decor;
            }
        }
        None => {
            table.insert(key, Item::Value(new));
        }
    }
}

/// Takes the tables out of an array of tables.
fn taken(table: &mut Table, key: &str) -> Vec<Table> {
    match table.remove(key) {
        Some(Item::ArrayOfTables(tables)) => tables.into_iter().collect(),
        _ => Vec::new(),
    }
}

fn string(table: &Table, key: &str) -> String {
    table.get(key).and_then(Item::as_str).unwrap_or_default().to_owned()
}

/// Clears the recorded positions of tables, so that they are written in their current order.
fn unplace(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => unplace(table),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(unplace),
            _ => {}
        }
    }
}

/// Puts comments above a table.
fn keep_comments(table: &mut Table, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let before = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or("\n").to_owned();
    let kept: String = lines.iter().map(|line| format!("{line}\n")).collect();
    table.decor_mut().set_prefix(format!("{before}{kept}"));
}

/// The comments in and above a table.
fn comments(table: &Table) -> Vec<String> {
    let mut found = of_raw(table.decor().prefix());
    found.extend(of_raw(table.decor().suffix()));
    for (key, item) in table {
        found.extend(table.key(key).map(of_key).unwrap_or_default());
        found.extend(of_item(item));
    }
    found
}

fn of_item(item: &Item) -> Vec<String> {
    match item {
        Item::Value(Value::InlineTable(inline)) => of_raw(inline.decor().suffix()),
        Item::Value(value) => [of_raw(value.decor().prefix()), of_raw(value.decor().suffix())].concat(),
        Item::Table(table) => comments(table),
        Item::ArrayOfTables(tables) => tables.iter().flat_map(comments).collect(),
        Item::None => Vec::new(),
    }
}

fn of_key(key: &Key) -> Vec<String> {
    [of_raw(key.leaf_decor().prefix()), of_raw(key.dotted_decor().prefix())].concat()
}

fn of_raw(raw: Option<&toml_edit::RawString>) -> Vec<String> {
    let text = raw.and_then(|raw| raw.as_str()).unwrap_or_default();
    text.lines().map(str::trim).filter(|line| line.starts_with('#')).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml_edit::ArrayOfTables;

    #[test]
    fn comments_are_found_wherever_they_stand() {
        let text = "# above\n[[marker]]\nname = \"a\" # behind\n# before\nargs.x = \"live\" # on x\n";
        let document: DocumentMut = text.parse().unwrap();
        let Some(Item::ArrayOfTables(tables)) = document.get("marker") else { panic!("{document}") };
        let tables: &ArrayOfTables = tables;
        assert_eq!(comments(tables.get(0).unwrap()), ["# above", "# behind", "# before", "# on x"]);
    }
}
