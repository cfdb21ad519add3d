//! Hits as lines of JSON (`docs/live.md`).

use simple_markers_tracer::Hit;
use simple_markers_tracer::event::Texts;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::text::{json_event, json_named};

use super::line::HitLine;
use super::sink::Setting;
use crate::console::Console;
use crate::stacks::Stacks;

/// Makes an object for each hit.
pub(super) struct Json {
    /// The texts of the kernel's events.
    texts: Texts,
    functions: Box<dyn FunctionNames>,
    stacks: Option<Stacks>,
    line: String,
}

impl Json {
    pub(super) fn new(setting: Setting) -> Self {
        let (texts, functions) = (Texts::new(setting.names), setting.functions);
        Self { texts, functions, stacks: setting.stacks, line: String::new() }
    }
}

impl HitLine for Json {
    fn line(&mut self, hit: &Hit<'_>) -> &str {
        let mut object = match &hit.marker.event {
            Some(event) => {
                let mut text = String::new();
                self.texts.write(event, hit, &mut text);
                json_event(hit, &text)
            }
            None => json_named(hit, &*self.functions),
        };
        if let (Some(stacks), Some(fields)) = (&mut self.stacks, object.as_object_mut()) {
            stacks.add_json(hit, fields);
        }
        self.line = object.to_string();
        self.line.push('\n');
        &self.line
    }

    fn tell(&self, console: &Console) {
        self.stacks.iter().for_each(|stacks| stacks.tell(console));
    }
}
