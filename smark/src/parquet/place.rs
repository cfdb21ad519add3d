//! The columns of whole values: what the shape of an argument's values becomes.
//!
//! A place of a shape has alternatives, and a column has one type. So:
//!
//! | alternatives, without those that have no value | column |
//! | --- | --- |
//! | none | none |
//! | one that is no variant | its value |
//! | `Some`, besides `None` | what is in it |
//! | variants without content | their names |
//! | others | a group of `tag`, and a member for each alternative with content |

use std::collections::HashMap;
use std::sync::Arc;

use simple_markers_tracer::tree_shape::{
    ABSENT, Alternative, AlternativeLabel, IntegerWidth, TreeContent, TreeShape, ValueCategory,
};

use super::cell::{Column, ColumnType, UINT64};
use super::name::column_name;

/// What a place of a shape becomes.
#[derive(Clone, Debug)]
pub(super) struct ShapePlace {
    pub(super) alternatives: Vec<PlaceAlternative>,
    pub(super) form: PlaceForm,
}

#[derive(Clone, Debug)]
pub(super) struct PlaceAlternative {
    pub(super) label: AlternativeLabel,
    pub(super) word: String,
    pub(super) part: PlacePart,
}

/// What an alternative becomes.
#[derive(Clone, Debug)]
pub(super) enum PlacePart {
    /// Null, which says all.
    Nothing,
    /// Null, and the word of the label says why.
    Problem,
    /// A text, of which a word says what it lacks.
    Text(Option<&'static str>),
    /// A value.
    Value(PlaceContent),
}

/// The column of a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PlaceForm {
    /// None: no value says anything.
    Empty,
    /// The value of the one alternative that has one.
    Single(ColumnType),
    /// The word of the alternative.
    Word,
    /// The words, and the members of the alternatives that have one.
    Tagged(Vec<Column>),
}

/// What is in an alternative.
#[derive(Clone, Debug)]
pub(super) enum PlaceContent {
    Nothing,
    Boolean,
    Integer(IntegerWidth),
    Enumeration(HashMap<i128, Arc<str>>),
    Float,
    Digits,
    Text,
    Pointer(Option<Box<ShapePlace>>),
    /// The names are those in the shape, for the doubts.
    Members(Vec<PlaceMember>),
    Payload(Box<ShapePlace>),
    List(Box<ShapePlace>),
    Map(Box<ShapePlace>, Box<ShapePlace>),
    /// The text of any value.
    Any,
}

#[derive(Clone, Debug)]
pub(super) struct PlaceMember {
    /// As in the value.
    pub(super) name: Arc<str>,
    /// That of the column; `None` if it has none.
    pub(super) column: Option<String>,
    pub(super) place: ShapePlace,
}

/// The variant of an option that has a value, and the other one.
const SOME: &str = "Some";
const NONE: &str = "None";

/// The word of a null pointer.
const NULL: &str = "null";

impl ShapePlace {
    pub(super) fn new(shape: &TreeShape) -> Self {
        let words: Vec<String> = shape.words().map(str::to_owned).collect();
        let is_null_only = shape.alternatives.len() == 1;
        let alternatives = shape.alternatives.iter().zip(words);
        let mut alternatives: Vec<PlaceAlternative> = alternatives
            .map(|(of, word)| PlaceAlternative { label: of.label.clone(), word, part: part(of, is_null_only) })
            .collect();
        let form = form(&mut alternatives);
        Self { alternatives, form }
    }

    /// The type of its column; `None` if it has none.
    pub(super) fn column_type(&self) -> Option<ColumnType> {
        match &self.form {
            PlaceForm::Empty => None,
            PlaceForm::Single(of) => Some(of.clone()),
            PlaceForm::Word => Some(ColumnType::Text),
            PlaceForm::Tagged(members) => Some(ColumnType::Group(members.clone())),
        }
    }

    /// The same where there has to be one.
    fn some_type(&self) -> ColumnType {
        self.column_type().unwrap_or(ColumnType::Text)
    }

    /// Whether null stands for an alternative that is no problem.
    fn has_null(&self) -> bool {
        self.alternatives.iter().any(|alternative| matches!(alternative.part, PlacePart::Nothing))
    }
}

fn part(of: &Alternative, is_null_only: bool) -> PlacePart {
    match &of.label {
        AlternativeLabel::Missing(ABSENT | "nullopt" | "nullptr") => PlacePart::Nothing,
        AlternativeLabel::Missing(_) => PlacePart::Problem,
        AlternativeLabel::Special(NULL) if !is_null_only => PlacePart::Nothing,
        AlternativeLabel::Special("cut" | "cut_bytes") => PlacePart::Text(Some("cut")),
        AlternativeLabel::Special("empty" | "nul" | "bytes") => PlacePart::Text(None),
        AlternativeLabel::Value(ValueCategory::Text) => PlacePart::Text(None),
        _ => PlacePart::Value(PlaceContent::new(&of.content)),
    }
}

/// The form of a place, whose options without a value become null.
fn form(alternatives: &mut [PlaceAlternative]) -> PlaceForm {
    let variant = |alternative: &PlaceAlternative| match &alternative.label {
        AlternativeLabel::Variant(name) => Some(Arc::clone(name)),
        _ => None,
    };
    let values = || alternatives.iter().filter(|it| matches!(it.part, PlacePart::Value(_)));
    let has_text = alternatives.iter().any(|it| matches!(it.part, PlacePart::Text(_)));
    let others = values().filter(|it| variant(it).is_none()).count() + usize::from(has_text);
    let variants: Vec<Arc<str>> = values().filter_map(variant).collect();
    if others == 0 && variants.is_empty() {
        return PlaceForm::Empty;
    }
    if others == 0 && variants.iter().all(|name| matches!(&**name, SOME | NONE)) {
        let some = alternatives.iter().find(|it| variant(it).as_deref() == Some(SOME));
        let content = some.and_then(|some| match &some.part {
            PlacePart::Value(content) if !content.has_null() => Some(content.column_type()),
            _ => None,
        });
        // Nothing says yet what there can be.
        if let Some(of) = if some.is_none() { Some(None) } else { content } {
            for alternative in alternatives.iter_mut().filter(|it| variant(it).as_deref() == Some(NONE)) {
                alternative.part = PlacePart::Nothing;
            }
            return of.map_or(PlaceForm::Empty, PlaceForm::Single);
        }
    }
    if others == 1 && variants.is_empty() {
        if has_text {
            return PlaceForm::Single(ColumnType::Text);
        }
        let of = values().find_map(|it| match &it.part {
            PlacePart::Value(content) => content.column_type(),
            _ => None,
        });
        return of.map_or(PlaceForm::Empty, PlaceForm::Single);
    }
    let is_bare = |it: &PlaceAlternative| matches!(&it.part, PlacePart::Value(PlaceContent::Nothing));
    if others == 0 && values().all(is_bare) {
        return PlaceForm::Word;
    }
    PlaceForm::Tagged(tagged(alternatives, has_text))
}

/// The members of a place with several alternatives.
fn tagged(alternatives: &[PlaceAlternative], has_text: bool) -> Vec<Column> {
    let mut members = vec![Column::optional("tag", ColumnType::Text)];
    let mut add = |word: &str, of: Option<ColumnType>| {
        let used: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        let name = column_name(word, &used);
        members.extend(of.map(|of| Column::optional(&name, of)));
    };
    if has_text {
        add(TEXT, Some(ColumnType::Text));
    }
    for alternative in alternatives {
        if let PlacePart::Value(content) = &alternative.part {
            add(&alternative.word, content.column_type());
        }
    }
    members
}

/// The word of all texts.
pub(super) const TEXT: &str = "text";

impl PlaceContent {
    fn new(content: &TreeContent) -> Self {
        let place = |shape: &TreeShape| Box::new(ShapePlace::new(shape));
        match content {
            TreeContent::Nothing => Self::Nothing,
            TreeContent::Boolean => Self::Boolean,
            TreeContent::Integer(width) => Self::Integer(*width),
            TreeContent::Enumeration { names, .. } => Self::Enumeration(names.iter().cloned().collect()),
            TreeContent::Float => Self::Float,
            TreeContent::Digits => Self::Digits,
            TreeContent::Text | TreeContent::Bytes => Self::Text,
            TreeContent::Pointer(to) => Self::Pointer(to.as_deref().map(place)),
            TreeContent::Members(members) => {
                let mut used: Vec<String> = Vec::new();
                let member = |(name, shape): (&Arc<str>, &TreeShape)| {
                    let place = ShapePlace::new(shape);
                    let column = column_name(name, &used.iter().map(String::as_str).collect::<Vec<_>>());
                    let column = place.column_type().map(|_| column);
                    used.extend(column.clone());
                    PlaceMember { name: Arc::clone(name), column, place }
                };
                Self::Members(members.iter().map(|member| (&member.name, &member.shape)).map(member).collect())
            }
            TreeContent::Payload(shape) => Self::Payload(place(shape)),
            TreeContent::List { element, .. } => Self::List(place(element)),
            TreeContent::Map { key, value, .. } => Self::Map(place(key), place(value)),
            TreeContent::Any => Self::Any,
        }
    }

    fn has_null(&self) -> bool {
        match self {
            Self::Payload(place) => place.has_null(),
            _ => false,
        }
    }

    /// The type of its column; `None` if it has none.
    pub(super) fn column_type(&self) -> Option<ColumnType> {
        Some(match self {
            Self::Nothing => return None,
            Self::Boolean => ColumnType::Boolean,
            Self::Integer(width) => ColumnType::Integer(*width),
            Self::Float => ColumnType::Float64,
            Self::Enumeration(_) | Self::Digits | Self::Text | Self::Any => ColumnType::Text,
            Self::Pointer(None) => UINT64,
            Self::Pointer(Some(to)) => {
                let mut members = vec![Column::optional("address", UINT64)];
                members.extend(to.column_type().map(|of| Column::optional("to", of)));
                ColumnType::Group(members)
            }
            Self::Members(members) => {
                let columns = members.iter().filter_map(|member| {
                    Some(Column::optional(member.column.as_deref()?, member.place.column_type()?))
                });
                let columns: Vec<Column> = columns.collect();
                if columns.is_empty() {
                    return None;
                }
                ColumnType::Group(columns)
            }
            Self::Payload(place) => return place.column_type(),
            Self::List(element) => ColumnType::List(Box::new(element.some_type())),
            Self::Map(key, value) => {
                let entry =
                    vec![Column::optional("key", key.some_type()), Column::optional("value", value.some_type())];
                ColumnType::List(Box::new(ColumnType::Group(entry)))
            }
        })
    }
}
