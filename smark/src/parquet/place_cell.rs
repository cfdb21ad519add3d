//! The cells of whole values.

use std::borrow::Cow;

use simple_markers_resolver::types::{Language, ValueTree, write_text};
use simple_markers_tracer::tree_shape::{AlternativeLabel, NodeContent, NodeMember, TreeNode, ValueCategory};

use super::cell::Cell;
use super::place::{PlaceAlternative, PlaceContent, PlaceForm, PlaceMember, PlacePart, ShapePlace, TEXT};

/// What a hit does not have, or not for sure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HitDoubt {
    /// The argument, or the part of a whole value.
    pub(super) place: String,
    /// What its column says.
    pub(super) words: String,
}

/// Makes the cells of a value.
pub(super) struct CellMaker<'m> {
    pub(super) language: Language,
    /// The path of the place, whose names have a `.` in front.
    pub(super) path: String,
    pub(super) doubts: &'m mut Vec<HitDoubt>,
}

impl CellMaker<'_> {
    /// The cell of a value at a place.
    pub(super) fn cell(&mut self, place: &ShapePlace, tree: &ValueTree) -> Cell<'static> {
        if let [PlaceAlternative { part: PlacePart::Value(PlaceContent::Any), .. }] = &*place.alternatives {
            let mut text = String::new();
            write_text(tree, self.language, &mut text);
            return Cell::owned(text);
        }
        self.node(place, &TreeNode::new(tree))
    }

    fn doubt(&mut self, why: &str) {
        self.doubts.push(HitDoubt { place: self.path.clone(), words: why.replace('_', " ") });
    }

    /// Makes a cell of what has this name in the place.
    fn inside<T>(&mut self, name: &str, make: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(name);
        let cell = make(self);
        self.path.truncate(length);
        cell
    }

    fn node(&mut self, place: &ShapePlace, node: &TreeNode<'_>) -> Cell<'static> {
        let Some(alternative) = find(place, &node.label) else {
            // Values of hits that no shape was made of.
            self.doubt("unknown");
            return Cell::Null;
        };
        let value = match &alternative.part {
            PlacePart::Nothing => return Cell::Null,
            PlacePart::Problem => {
                self.doubt(&alternative.word);
                return Cell::Null;
            }
            PlacePart::Text(lacks) => {
                lacks.iter().for_each(|lacks| self.doubt(lacks));
                if alternative.word == "nul" { Cell::text("\0") } else { text(&node.content) }
            }
            PlacePart::Value(content) => self.content(content, &node.content),
        };
        match &place.form {
            PlaceForm::Empty => Cell::Null,
            PlaceForm::Single(_) => value,
            PlaceForm::Word => Cell::owned(alternative.word.clone()),
            PlaceForm::Tagged(members) => tagged(place, alternative, value, members.len()),
        }
    }

    fn content(&mut self, content: &PlaceContent, of: &NodeContent<'_>) -> Cell<'static> {
        match (content, of) {
            (PlaceContent::Boolean, NodeContent::Boolean(is_true)) => Cell::Boolean(*is_true),
            (PlaceContent::Integer(_), NodeContent::Integer(number, _) | NodeContent::Enumerator(number, ..)) => {
                Cell::Integer(*number)
            }
            (
                PlaceContent::Enumeration(names),
                NodeContent::Integer(number, _) | NodeContent::Enumerator(number, ..),
            ) => Cell::owned(names.get(number).map_or_else(|| number.to_string(), ToString::to_string)),
            (PlaceContent::Float, NodeContent::Float(number)) => Cell::Float(*number),
            (PlaceContent::Digits, number) => digits(number),
            (PlaceContent::Text, of) => text(of),
            (PlaceContent::Pointer(to), NodeContent::Pointer(address, value)) => {
                let address = Cell::Integer((*address).into());
                let Some(place) = to else { return address };
                let cell = value.map(|value| self.inside(".to", |maker| maker.cell(place, value)));
                let mut cells = vec![address];
                cells.extend(place.column_type().map(|_| cell.unwrap_or(Cell::Null)));
                Cell::Group(cells)
            }
            (PlaceContent::Members(places), NodeContent::Members(members)) => self.members(places, members),
            (PlaceContent::Payload(place), NodeContent::Payload(value)) => self.cell(place, value),
            (PlaceContent::List(element), NodeContent::List(items, rest)) => {
                self.rest(*rest);
                let items = items.iter().enumerate();
                let cells =
                    items.map(|(index, item)| self.inside(&format!("[{index}]"), |maker| maker.cell(element, item)));
                Cell::List(cells.collect())
            }
            (PlaceContent::Map(key, value), NodeContent::Map(entries, rest)) => {
                self.rest(*rest);
                let entries = entries.iter().enumerate();
                let cells = entries.map(|(index, (one, other))| {
                    self.inside(&format!("[{index}]"), |maker| {
                        let one = maker.inside(".key", |maker| maker.cell(key, one));
                        Cell::Group(vec![one, maker.inside(".value", |maker| maker.cell(value, other))])
                    })
                });
                Cell::List(cells.collect())
            }
            _ => Cell::Null,
        }
    }

    /// Says how many elements are missing.
    fn rest(&mut self, rest: Option<u64>) {
        match rest {
            Some(0) => {}
            Some(rest) => self.doubt(&format!("{rest} more")),
            None => self.doubt("more"),
        }
    }

    fn members(&mut self, places: &[PlaceMember], members: &[NodeMember<'_>]) -> Cell<'static> {
        let mut taken = vec![false; members.len()];
        let mut cells = Vec::with_capacity(places.len());
        for (index, PlaceMember { name, column, place }) in places.iter().enumerate() {
            let is_it = |at: &usize| {
                taken.get(*at) == Some(&false) && members.get(*at).is_some_and(|member| *member.name == **name)
            };
            // Most values have the members of the shape.
            let at = Some(index).filter(is_it).or_else(|| (0..members.len()).find(is_it));
            let cell = match at.and_then(|at| Some((taken.get_mut(at)?, members.get(at)?))) {
                Some((taken, member)) => {
                    *taken = true;
                    self.inside(&format!(".{name}"), |maker| maker.cell(place, &member.value))
                }
                None => Cell::Null,
            };
            if column.is_some() {
                cells.push(cell);
            }
        }
        if cells.is_empty() { Cell::Null } else { Cell::Group(cells) }
    }
}

/// The alternative of a place.
fn find<'p>(place: &'p ShapePlace, label: &AlternativeLabel) -> Option<&'p PlaceAlternative> {
    let of = |label: &AlternativeLabel| place.alternatives.iter().find(|it| it.label == *label);
    match label {
        // A pointer that is null, where others are not.
        AlternativeLabel::Special("null") => of(&AlternativeLabel::Value(ValueCategory::Pointer)).or_else(|| of(label)),
        label => of(label),
    }
}

/// The group of a place with several alternatives, whose members are in their order behind the one
/// for texts.
fn tagged(place: &ShapePlace, alternative: &PlaceAlternative, value: Cell<'static>, count: usize) -> Cell<'static> {
    let mut cells = vec![Cell::Null; count];
    let is_text = matches!(alternative.part, PlacePart::Text(_));
    let has_text = place.alternatives.iter().any(|it| matches!(it.part, PlacePart::Text(_)));
    let word = if is_text { TEXT.to_owned() } else { alternative.word.clone() };
    if let Some(cell) = cells.first_mut() {
        *cell = Cell::owned(word);
    }
    let mut at = 1 + usize::from(has_text);
    if is_text {
        at = 1;
    } else {
        let others = place.alternatives.iter().take_while(|it| it.label != alternative.label);
        at += others.filter(|it| it.has_column()).count();
    }
    if let (Some(cell), true) = (cells.get_mut(at), is_text || alternative.has_column()) {
        *cell = value;
    }
    Cell::Group(cells)
}

fn text(content: &NodeContent<'_>) -> Cell<'static> {
    match content {
        NodeContent::Text(bytes) => Cell::of_bytes(Cow::Owned(bytes.to_vec())),
        NodeContent::Bytes(bytes) => Cell::of_bytes(Cow::Owned(bytes.to_vec())),
        // One without bytes.
        _ => Cell::owned(String::new()),
    }
}

/// A number as text.
fn digits(number: &NodeContent<'_>) -> Cell<'static> {
    match number {
        NodeContent::Digits(digits) => Cell::owned(digits.to_string()),
        NodeContent::Integer(number, _) => Cell::owned(number.to_string()),
        NodeContent::Enumerator(.., name) => Cell::owned(name.to_string()),
        NodeContent::Float(number) => Cell::owned(format!("{number:?}")),
        _ => Cell::Null,
    }
}

impl PlaceAlternative {
    /// Whether it has a member of its own.
    fn has_column(&self) -> bool {
        match &self.part {
            PlacePart::Value(content) => content.column_type().is_some(),
            _ => false,
        }
    }
}
