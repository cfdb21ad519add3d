//! The texts of events.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;

use simple_markers_events::{Names, Printer};
use simple_markers_resolver::text::from_bytes;

use super::names::{KnownNames, Noting};
use crate::hit::Hit;
use crate::plan::KernelEvent;
use crate::text::{json_value, word};
use crate::value::Value;

/// Writes events as the kernel does.
pub struct Texts {
    names: Box<dyn Names>,
    /// By the number of the event among the markers of its plan. `None` if its `print fmt` cannot be
    /// interpreted.
    printers: HashMap<usize, Option<Printer>>,
}

impl Texts {
    /// Texts with the names of a kernel.
    #[must_use]
    pub fn new(names: Box<dyn Names>) -> Self {
        Self { names, printers: HashMap::new() }
    }

    /// Appends the text of an event: that of the kernel, or the fields if it is not known how the kernel
    /// prints it. Two dots follow if the record is cut. `event` is the one of the hit.
    pub fn write(&mut self, event: &KernelEvent, hit: &Hit<'_>, out: &mut String) {
        let names = &*self.names;
        let printer = self.printers.entry(hit.site.marker).or_insert_with(|| Printer::new(&event.format, names).ok());
        if let (Some(printer), Some(record)) = (&printer, hit.kernel_record()) {
            return printer.write(record, names, out);
        }
        match printer {
            Some(printer) => printer.write(&event.record(hit.thread, hit.values()), names, out),
            None => plain(hit, out),
        }
        if hit.values().any(|value| value.as_ref().is_ok_and(Value::is_cut)) {
            out.push_str("..");
        }
    }
}

impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Texts").finish_non_exhaustive()
    }
}

/// Appends the names and values of the fields.
fn plain(hit: &Hit<'_>, out: &mut String) {
    for (number, (field, value)) in hit.arguments().enumerate() {
        let _ = write!(out, "{}{}=", if number > 0 { " " } else { "" }, field.text);
        let _ = match value {
            Ok(Value::Text { bytes, .. }) => write!(out, "{}", from_bytes(bytes)),
            Ok(value) => write!(out, "{}", json_value(&value)),
            Err(missing) => write!(out, "<{}>", word(&missing)),
        };
    }
}

/// Notes which names of the kernel the texts of events use.
pub struct Notes {
    names: Box<dyn Names>,
    known: RefCell<KnownNames>,
    /// By the number of the event among the markers of its plan: its printer, if each record may use
    /// other names. `None` if they are all noted.
    printers: HashMap<usize, Option<Printer>>,
    text: String,
}

impl Notes {
    /// Nothing is noted of these names.
    #[must_use]
    pub fn new(names: Box<dyn Names>) -> Self {
        Self { names, known: RefCell::default(), printers: HashMap::new(), text: String::new() }
    }

    /// The names that were noted.
    #[must_use]
    pub fn known(&self) -> KnownNames {
        self.known.borrow().clone()
    }

    /// Notes the names for the text of a hit, if it is one of the kernel's events. Returns whether there are
    /// new ones.
    pub fn add(&mut self, hit: &Hit<'_>) -> bool {
        let Some(event) = &hit.marker.event else { return false };
        let before = self.known.borrow().len();
        let names = Noting::new(&*self.names, &self.known);
        let printer = self.printers.entry(hit.site.marker).or_insert_with(|| {
            let printer = Printer::new(&event.format, &names).ok()?;
            let needs = printer.needs();
            (needs.symbols || needs.texts || !needs.variables.is_empty()).then_some(printer)
        });
        if let (Some(printer), Some(record)) = (printer, hit.kernel_record()) {
            self.text.clear();
            printer.write(record, &names, &mut self.text);
        }
        self.known.borrow().len() > before
    }
}

impl std::fmt::Debug for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notes").finish_non_exhaustive()
    }
}
