//! What the arguments of a note are called, and how they are shown: by a format or a provider file of
//! the user, by the debug information, or else by the note alone, in this order.

use std::collections::HashSet;
use std::sync::Arc;

use simple_markers_record::printf::{self, Piece};

use super::note_arguments::{NoteArgument, alias, classify};
use super::note_facts::{NoteDescription, NoteParameter, NoteProblem, NoteSource};
use super::operand_variables::OperandVariable;
use super::{Argument, DataModel, DeclaredArgument, Mismatch, mismatch, star_mismatch};
use crate::notes::{CClass, CSize, NoteDescriptions, NoteFormat};
use crate::types::{Language, Names, Shape, Type, names_text};

/// The most enumerators whose names become words of a format.
const MOST_WORDS: usize = 64;

impl NoteDescription {
    /// The declared arguments at a site, of those in the order of its operands.
    pub(super) fn arguments(
        &self,
        operands: &[Argument],
        declared: &[DeclaredArgument],
        address_size: u8,
    ) -> Vec<Argument> {
        let of = |(parameter, declared): (&NoteParameter, &DeclaredArgument)| {
            // The budget for text may be used up.
            let mut argument = operands.get(parameter.index)?.clone();
            (argument.text, argument.name) = (Arc::clone(&declared.text), Arc::clone(&declared.text));
            argument.alias = Some(alias(parameter.index)).filter(|alias| *alias != declared.text);
            argument.type_name.clone_from(&parameter.type_name);
            argument.mismatch.clone_from(&parameter.mismatch);
            classify(&mut argument, parameter.class, address_size);
            Some(argument)
        };
        self.parameters.iter().zip(declared).filter_map(of).collect()
    }
}

/// The format and the list of names of a note, and the rest that is known of it.
pub(super) struct DescribedNote {
    pub(super) format: String,
    pub(super) names: String,
    pub(super) description: NoteDescription,
    pub(super) problems: Vec<NoteProblem>,
}

/// An argument of a note, before a format chooses among them.
struct NoteCandidate {
    argument: NoteArgument,
    name: Arc<str>,
    parameter: NoteParameter,
    words: String,
}

/// Describes the note `name`, whose operands are some variables.
pub(super) fn describe(
    name: &str,
    arguments: &[NoteArgument],
    variables: &[Option<OperandVariable>],
    said: &NoteDescriptions,
    address_size: u8,
) -> DescribedNote {
    let mut problems = Vec::new();
    let probe = said.probe(name);
    if let Some(probe) = probe.filter(|probe| probe.parameters.len() != arguments.len()) {
        let (line, parameters, arguments) = (probe.line, probe.parameters.len(), arguments.len());
        problems.push(NoteProblem::ParameterCount { line, parameters, arguments });
    }
    let probe = probe.filter(|probe| probe.parameters.len() == arguments.len());
    let mut taken: HashSet<Arc<str>> = HashSet::new();
    let candidate = |(index, argument): (usize, &NoteArgument)| {
        let declared = probe.and_then(|probe| probe.parameters.get(index));
        let variable = variables.get(index).and_then(Option::as_ref);
        let by_file = declared.and_then(|declared| declared.name.clone()).map(|name| (name, NoteSource::Provider));
        let by_debug = variable.map(|variable| (Arc::clone(&variable.name), NoteSource::DebugInfo));
        // A name that stands for another argument says nothing.
        let is_free = |(name, _): &(Arc<str>, _)| is_name(name) && !taken.contains(name);
        let named = by_file.filter(is_free).or_else(|| by_debug.filter(is_free));
        let (name, name_from) = named.unwrap_or_else(|| (alias(index), NoteSource::Note));
        taken.insert(Arc::clone(&name));
        let mut words = String::new();
        let (type_name, type_from, class) = match (declared, variable) {
            (Some(declared), _) => {
                (Some(Arc::clone(&declared.c_type.name)), NoteSource::Provider, Some(declared.c_type.class))
            }
            (None, Some(variable)) => {
                words = enumerators(&variable.of);
                (Some(Arc::clone(&variable.of.name)), NoteSource::DebugInfo, class_of(&variable.of))
            }
            (None, None) => (None, NoteSource::Note, None),
        };
        let size = class.and_then(|class| class.size(address_size));
        let type_size = size.filter(|size| *size != argument.size);
        let parameter = NoteParameter { index, name_from, type_name, type_from, type_size, class, mismatch: None };
        NoteCandidate { argument: *argument, name, parameter, words }
    };
    let candidates: Vec<NoteCandidate> = arguments.iter().enumerate().map(candidate).collect();
    let own = said.format(name).and_then(|format| match chosen(format, &candidates) {
        Ok(chosen) => Some((format, chosen)),
        Err(problem) => {
            problems.push(problem);
            None
        }
    });
    let (format, format_from, chosen) = match own {
        Some((format, chosen)) => (format.format.to_string(), NoteSource::Format, chosen),
        None => {
            let written = |candidate: &NoteCandidate| {
                let conversion = candidate.argument.conversion(candidate.parameter.class, address_size);
                format!("{} {conversion}{}", candidate.name, candidate.words)
            };
            let from = candidates.iter().map(|candidate| candidate.parameter.type_from);
            let from = from.max_by_key(|from| *from as u8).unwrap_or(NoteSource::Note);
            let all = (0..candidates.len()).collect();
            (candidates.iter().map(written).collect::<Vec<_>>().join(", "), from, all)
        }
    };
    let chosen: Vec<&NoteCandidate> = chosen.iter().filter_map(|index| candidates.get(*index)).collect();
    let mut parameters: Vec<NoteParameter> = chosen.iter().map(|it| it.parameter.clone()).collect();
    if format_from == NoteSource::Format {
        mismatches(&format, &chosen, &mut parameters, address_size);
    }
    let names = chosen.iter().map(|it| &*it.name).collect::<Vec<_>>().join(", ");
    DescribedNote { format, names, description: NoteDescription { format_from, parameters }, problems }
}

/// Whether a name can stand in a list of arguments, and is not that of another argument.
fn is_name(name: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || character == '_';
    let is_alias = name.strip_prefix("arg").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    !name.is_empty() && name.chars().all(is_plain) && !is_alias
}

/// The arguments that a format names, in its order, then the others.
fn chosen(format: &NoteFormat, candidates: &[NoteCandidate]) -> Result<Vec<usize>, NoteProblem> {
    let mut chosen = Vec::new();
    for name in &format.arguments {
        let named = candidates.iter().position(|candidate| candidate.name == *name);
        let index = named.or_else(|| (0..candidates.len()).find(|index| *alias(*index) == **name));
        chosen.push(index.ok_or_else(|| NoteProblem::NoArgument {
            name: Arc::clone(name),
            known: candidates.iter().map(|candidate| Arc::clone(&candidate.name)).collect(),
        })?);
    }
    let rest: Vec<usize> = (0..candidates.len()).filter(|index| !chosen.contains(index)).collect();
    chosen.extend(rest);
    Ok(chosen)
}

/// Notes which conversions do not fit their arguments.
fn mismatches(format: &str, chosen: &[&NoteCandidate], parameters: &mut [NoteParameter], address_size: u8) {
    let model = DataModel { language: Language::C, address_size: address_size.into() };
    let mut pairs = chosen.iter().zip(parameters);
    for piece in printf::parse(format.as_bytes()) {
        let Ok(Piece::Conversion(conversion)) = piece else { continue };
        for _ in 0..conversion.stars() {
            if let Some((candidate, parameter)) = pairs.next() {
                parameter.mismatch = fitting(&candidate.types(address_size), &|of| star_mismatch(of, model));
            }
        }
        if let Some((candidate, parameter)) = pairs.next() {
            parameter.mismatch = fitting(&candidate.types(address_size), &|of| mismatch(&conversion, of, model));
        }
    }
}

/// Why none of some types fits; `None` if one does.
fn fitting(types: &[Type], mismatch: &dyn Fn(&Type) -> Option<Mismatch>) -> Option<Mismatch> {
    let mut first = None;
    for of in types {
        let found = mismatch(of)?;
        first.get_or_insert(found);
    }
    first
}

impl NoteCandidate {
    /// The types that it may have. The sign of a number says little in C.
    fn types(&self, address_size: u8) -> Vec<Type> {
        let Self { argument, parameter, .. } = self;
        let size = Some(u64::from(argument.size));
        let name = parameter.type_name.clone();
        let integer = |is_signed: bool| Type {
            name: name.clone().unwrap_or_else(|| "integer".into()),
            size,
            shape: Shape::Integer { signed: is_signed },
        };
        let pointer = |to: Option<Shape>| Type {
            name: name.clone().unwrap_or_else(|| "pointer".into()),
            size,
            shape: Shape::Pointer { to: to.map(|shape| Arc::new(Type { name: "char".into(), size: Some(1), shape })) },
        };
        let text = || pointer(Some(Shape::Character { signed: true }));
        let is_address = argument.size == address_size;
        match parameter.class {
            _ if argument.is_float => vec![Type { name: "float".into(), size, shape: Shape::Float }],
            Some(CClass::Text) if is_address => vec![text()],
            Some(CClass::Pointer) if is_address => vec![pointer(None), text()],
            Some(CClass::Text | CClass::Pointer | CClass::Integer { .. } | CClass::Boolean | CClass::Float { .. }) => {
                vec![integer(argument.is_signed), integer(!argument.is_signed)]
            }
            Some(CClass::Unknown) | None => {
                let mut types = vec![integer(argument.is_signed), integer(!argument.is_signed)];
                if is_address {
                    types.extend([pointer(None), text()]);
                }
                types
            }
        }
    }
}

/// The names of an enumeration as words of a format; empty for other types, and for many names.
fn enumerators(of: &Type) -> String {
    match &of.shape {
        Shape::Enumeration { enumerators, .. } if enumerators.len() <= MOST_WORDS => {
            let words = Names::of_type(of, Language::C).map(|names| names.to_words()).unwrap_or_default();
            if words == "{}" { String::new() } else { words }
        }
        _ => String::new(),
    }
}

/// What a type of the debug information is.
fn class_of(of: &Type) -> Option<CClass> {
    let size = of.size.and_then(|size| u8::try_from(size).ok());
    let integer = |is_signed| Some(CClass::Integer { size: CSize::Bytes(size?), is_signed: Some(is_signed) });
    match &of.shape {
        Shape::Pointer { to } => {
            // Pointers to bytes are no texts.
            let is_char = to.as_ref().is_some_and(|to| match to.shape {
                Shape::Character { signed } => signed || to.name.split(' ').any(|word| word == "char"),
                _ => false,
            });
            let is_unsigned = to.as_ref().is_some_and(|to| to.name.split(' ').any(|word| word == "unsigned"));
            let is_text = is_char && !is_unsigned && names_text(of, Language::C, 0) == Some(true);
            Some(if is_text { CClass::Text } else { CClass::Pointer })
        }
        Shape::Function => Some(CClass::Pointer),
        Shape::Integer { signed } | Shape::Character { signed } | Shape::Enumeration { signed, .. } => integer(*signed),
        Shape::Boolean => Some(CClass::Boolean),
        Shape::Float => Some(CClass::Float { size: size? }),
        _ => None,
    }
}
