//! Hits as lines of JSON (`docs/live.md`).

use simple_markers_tracer::Hit;
use simple_markers_tracer::event::Texts;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::plan::CallSide;
use simple_markers_tracer::text::{json_event, json_integer, json_named};

use super::calls::{OpenCalls, ReturnedCall};
use super::line::HitLine;
use super::sink::Setting;
use crate::console::Console;
use crate::hit_stacks::{self, HitStacks};

/// Makes an object for each hit.
pub(super) struct Json {
    /// The texts of the kernel's events.
    texts: Texts,
    functions: Box<dyn FunctionNames>,
    stacks: Option<Box<dyn HitStacks>>,
    /// The system calls that have not returned, with the objects of their entries.
    calls: OpenCalls<serde_json::Value>,
    line: String,
}

impl Json {
    pub(super) fn new(setting: Setting) -> Self {
        let (texts, functions) = (Texts::new(setting.names), setting.functions);
        Self { texts, functions, stacks: setting.stacks, calls: OpenCalls::default(), line: String::new() }
    }
}

/// The object of a system call, made of the one of its return.
fn returned(mut object: serde_json::Value, call: ReturnedCall<serde_json::Value>) -> serde_json::Value {
    let ReturnedCall { name, entry, result } = call;
    let (took, entry) = entry.map_or((None, None), |(took, entry)| (Some(took), Some(entry)));
    let of_entry = |field: &str| entry.as_ref().and_then(|entry| entry.get(field)).cloned().unwrap_or_default();
    if let Some(members) = object.as_object_mut() {
        let own = [
            ("event", (*name).into()),
            ("fields", of_entry("fields")),
            ("text", of_entry("text")),
            ("result", result.map(|result| json_integer(result.into())).into()),
            ("took_ns", took.into()),
        ];
        members.extend(own.map(|(field, value)| (field.to_owned(), value)));
    }
    object
}

impl HitLine for Json {
    fn line(&mut self, hit: &Hit<'_>) -> &str {
        let mut object = match &hit.marker.event {
            Some(event) => {
                let mut text = String::new();
                self.texts.write(event, hit, &mut text);
                let object = json_event(hit, &text);
                match event.call.as_ref().map(|call| (call.side, call)) {
                    None => object,
                    Some((CallSide::Entry, call)) => {
                        self.calls.enter(hit, call, object);
                        return "";
                    }
                    Some((CallSide::Return, call)) => match self.calls.leave(hit, call) {
                        Some(call) => returned(object, call),
                        None => return "",
                    },
                }
            }
            None => json_named(hit, &*self.functions),
        };
        if let (Some(stacks), Some(fields)) = (&mut self.stacks, object.as_object_mut()) {
            hit_stacks::add_json(&mut **stacks, hit, fields);
        }
        self.line = object.to_string();
        self.line.push('\n');
        &self.line
    }

    fn tell(&self, console: &Console) {
        self.calls.tell(console);
        self.stacks.iter().for_each(|stacks| stacks.tell(console));
    }
}
