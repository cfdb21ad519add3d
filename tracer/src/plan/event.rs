//! Events of the kernel: their formats, and where the values of their fields are.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use simple_markers_events::{Choices, Field, Format, Integer, Names, Printer};
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::json::objects;

use super::argument::Reading;
use super::input::{FieldPlace, Input};
use super::user_texts::{USER_TEXT, UserText, add_texts};
use crate::record::Layout;
use crate::record::stack::StackSettings;

/// A tracepoint of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "FormatMembers", into = "FormatMembers")]
pub struct KernelEvent {
    /// Its format.
    pub format: Format,
    /// The names of the values of its fields.
    pub choices: Vec<Choices>,
    /// Its fields but the common ones, which are the arguments in a plan.
    pub(crate) fields: Vec<EventField>,
    /// The system call that it is a side of, if the entry and the return of a call are shown as one.
    pub call: Option<CallEvent>,
}

/// A side of a system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEvent {
    /// The name of the call, as `syscalls:openat`.
    pub name: Arc<str>,
    /// Which side it is.
    pub side: CallSide,
}

/// A side of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSide {
    /// The thread enters the kernel.
    Entry,
    /// It returns to the program.
    Return,
}

/// The group of the events of system calls.
const CALLS: &str = "syscalls";

impl CallSide {
    /// The side that an event of this group and name is, and the name of the call. `None` if it is no system call.
    #[must_use]
    pub fn of<'n>(group: &str, name: &'n str) -> Option<(Self, &'n str)> {
        let of = |prefix, side| Some((side, name.strip_prefix(prefix).filter(|_| group == CALLS)?));
        of("sys_enter_", Self::Entry).or_else(|| of("sys_exit_", Self::Return))
    }
}

impl KernelEvent {
    /// The event with a format that the kernel has. That of a system call gets the texts at its addresses.
    #[must_use]
    pub fn new(mut format: Format, names: &dyn Names) -> Self {
        let texts = add_texts(&mut format);
        let choices = Printer::new(&format, names).map_or_else(|_| Vec::new(), |printer| printer.choices(&format));
        let mut fields = of_format(&format);
        for UserText { field: name, address } in texts {
            if let Some(field) = fields.iter_mut().find(|field| *field.name == *name) {
                field.place = FieldPlace::User(address);
            }
        }
        Self { fields, format, choices, call: None }
    }

    /// The event as a side of a system call whose entry and return are shown as one, if it is one.
    #[must_use]
    pub fn as_side(self) -> Self {
        let call = CallSide::of(&self.format.group, &self.format.name);
        let call = call.map(|(side, name)| CallEvent { name: format!("{CALLS}:{name}").into(), side });
        Self { call, ..self }
    }

    /// The group and the name, as `sched:sched_switch`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}:{}", self.format.group, self.format.name)
    }

    /// The number of the event in the kernel.
    #[must_use]
    pub fn id(&self) -> u16 {
        self.format.id
    }

    /// The field with another thread that the event happens to, as `set_event_pid` of the kernel has
    /// it: a thread that is switched to or woken.
    #[must_use]
    pub fn other_thread(&self) -> Option<u16> {
        let name = match (&*self.format.group, &*self.format.name) {
            ("sched", "sched_switch") => "next_pid",
            ("sched", "sched_wakeup" | "sched_wakeup_new" | "sched_waking") => "pid",
            _ => return None,
        };
        let field = self.format.field(name).filter(|field| field.size == 4 && field.offset % 4 == 0)?;
        u16::try_from(field.offset).ok()
    }

    /// The layout of the record of a hit that has `inputs`.
    #[must_use]
    pub fn layout(&self, inputs: &[Input], stacks: StackSettings) -> Layout {
        let fields = inputs.iter().map(|input| match input {
            Input::Field { offset, place } => (*offset, place.kind()),
            // The inputs of an event are its fields.
            input => (0, input.kind()),
        });
        Layout::of_event(fields, self.fixed_size(), stacks)
    }

    /// How many bytes the texts take that the kernel's record does not have.
    pub(crate) fn user_space(&self) -> u16 {
        let texts = self.fields.iter().filter(|field| matches!(field.place, FieldPlace::User(_)));
        texts.fold(0, |space, _| space.saturating_add(USER_TEXT + 8))
    }

    /// The names of the values of a field; `None` if they have none.
    #[must_use]
    pub fn choices_of(&self, field: &str) -> Option<&Choices> {
        self.choices.iter().find(|choices| choices.field == field)
    }
}

/// The size of what all records start with: the number of the event, flags, and the thread.
pub const COMMON: u16 = 8;

/// The most fields: a record has a bit for each that could not be read.
const MOST: usize = 64;

/// The type of the elements of an array that is located: `__data_loc u64[]`.
fn element(of: &str) -> &str {
    let of = of.trim_start_matches("__data_loc").trim_start_matches("__rel_loc");
    of.trim().trim_end_matches(']').trim_end_matches(char::is_numeric).trim_end_matches('[').trim()
}

fn is_char(of: &str) -> bool {
    of.split_whitespace().filter(|word| *word != "const").eq(["char"])
}

fn sign(is_signed: bool) -> NumberKind {
    if is_signed { NumberKind::Signed } else { NumberKind::Unsigned }
}

/// A field of an event that is an argument in the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventField {
    /// Its name.
    pub name: Arc<str>,
    /// Its offset in the kernel's record.
    pub offset: u16,
    /// Where its value is.
    pub place: FieldPlace,
    /// How its value is read.
    pub reading: Reading,
}

/// Where the value of a field is, and how it is read as the field with this number. `None` if it has no
/// bytes of its own.
fn read(field: &Field, number: usize) -> Option<(u16, FieldPlace, Reading)> {
    let offset = u16::try_from(field.offset).ok().filter(|offset| *offset >= COMMON)?;
    let size = u16::try_from(field.size).ok().filter(|size| *size > 0)?;
    let array = |of: Option<Integer>, count| {
        let of = of.unwrap_or(BYTE);
        Reading::Array { field: number, size: of.size, kind: sign(of.is_signed), count }
    };
    if field.is_dynamic() {
        let base = if field.of.starts_with("__rel_loc") { offset.checked_add(size)? } else { 0 };
        let of = element(&field.of);
        let reading = if is_char(of) { Reading::Text { field: number } } else { array(Integer::of_type(of), None) };
        return (size == 4).then_some((offset, FieldPlace::Located(base), reading));
    }
    if let (1 | 2 | 4 | 8, false) = (size, field.is_array) {
        let size = u8::try_from(size).ok()?;
        let kind = if field.of.ends_with('*') { NumberKind::Pointer } else { sign(field.is_signed) };
        return Some((offset, FieldPlace::Number(size), Reading::Number { field: number, size, kind }));
    }
    if is_char(&field.of) {
        return Some((offset, FieldPlace::Inline(size), Reading::Text { field: number }));
    }
    let of = Integer::of_type(&field.of).filter(|of| field.is_array && u32::from(of.size) == field.element);
    let count = size.checked_div(of.unwrap_or(BYTE).size.into())?;
    Some((offset, FieldPlace::Inline(size), array(of, Some(count))))
}

/// What is no array of integers is one of bytes.
const BYTE: Integer = Integer { size: 1, is_signed: false };

/// The fields of an event, but the common ones.
fn of_format(format: &Format) -> Vec<EventField> {
    let mut fields: Vec<EventField> = Vec::new();
    for field in &format.fields {
        if fields.len() >= MOST {
            break;
        }
        if let Some((offset, place, reading)) = read(field, fields.len()) {
            fields.push(EventField { name: Arc::from(field.name.as_str()), offset, place, reading });
        }
    }
    fields
}

impl KernelEvent {
    /// The size of the part of a record that all records of the event have, in bytes.
    #[must_use]
    pub fn fixed_size(&self) -> u16 {
        let ends = self.format.fields.iter().map(|field| field.offset.saturating_add(field.size));
        let end = ends.max().unwrap_or(0).max(COMMON.into());
        u16::try_from(end.div_ceil(8).saturating_mul(8)).unwrap_or(u16::MAX)
    }
}

/// An event as recordings have it.
#[derive(Serialize, Deserialize)]
struct FormatMembers {
    group: String,
    name: String,
    id: u16,
    #[serde(deserialize_with = "objects")]
    fields: Vec<Field>,
    print: String,
}

impl From<FormatMembers> for KernelEvent {
    /// The event without the names of values.
    fn from(FormatMembers { group, name, id, fields, print }: FormatMembers) -> Self {
        let format = Format { group, name, id, fields, print };
        Self { fields: of_format(&format), format, choices: Vec::new(), call: None }
    }
}

impl From<KernelEvent> for FormatMembers {
    fn from(event: KernelEvent) -> Self {
        let Format { group, name, id, fields, print } = event.format;
        Self { group, name, id, fields, print }
    }
}
