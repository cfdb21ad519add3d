//! The events of a session in the kernel. Sites of an image share an event if as much is copied at them:
//! to remove an event takes 50 ms, and one more probe in it next to nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::os::fd::AsRawFd as _;

use simple_markers_events::{Field, Format};
use simple_markers_resolver::export::uprobe;

use super::super::error::{Error, Step};
use super::files::Root;
use crate::ftrace::fetch::{Fetches, Shape, register_name, window_name};
use crate::ftrace::probes::{NAME, SITE, definition};
use crate::plan::Plan;

/// The events of a session.
#[derive(Debug)]
pub(super) struct ProbeEvents {
    group: String,
    /// Whether the kernel takes a number for each probe of an event.
    has_numbers: bool,
    /// The image of each one; `None` if it was removed.
    images: Vec<Option<usize>>,
    /// By the number in their records.
    known: HashMap<u16, Event>,
}

/// Where the fields of an event are.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) thread: Field,
    pub(super) ip: Field,
    pub(super) name: Field,
    site: SiteNumber,
    /// The registers and the memory, in the order of `Fetches`.
    pub(super) copies: Vec<Field>,
}

/// Where the number of the site is.
#[derive(Debug)]
enum SiteNumber {
    Known(u32),
    In(Field),
}

impl Event {
    /// The number of the site of a record.
    pub(super) fn site(&self, record: &[u8]) -> Option<u32> {
        match &self.site {
            SiteNumber::Known(site) => Some(*site),
            SiteNumber::In(field) => u32::try_from(field.number(record)?).ok(),
        }
    }

    fn find(format: &Format, shape: &Shape, site: Option<u32>) -> Option<Self> {
        let field = |name: &str| format.field(name).cloned();
        let registers = (0..shape.registers).map(register_name);
        let windows = (0..shape.windows.len()).map(window_name);
        Some(Self {
            thread: field("common_pid")?,
            ip: field("__probe_ip")?,
            name: field(NAME)?,
            site: match site {
                Some(site) => SiteNumber::Known(site),
                None => SiteNumber::In(field(SITE)?),
            },
            copies: registers.chain(windows).map(|name| field(&name)).collect::<Option<_>>()?,
        })
    }
}

impl ProbeEvents {
    pub(super) fn new(group: String, has_numbers: bool) -> Self {
        Self { group, has_numbers, images: Vec::new(), known: HashMap::new() }
    }

    pub(super) fn get(&self, id: u16) -> Option<&Event> {
        self.known.get(&id)
    }

    /// The names of all events.
    pub(super) fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.images.iter().enumerate().filter(|(_, image)| image.is_some()).map(|(event, _)| event_name(event))
    }

    /// The names of the events of an image. There are none of it any more.
    pub(super) fn take_names(&mut self, image: usize) -> Vec<String> {
        let its = self.images.iter_mut().enumerate().filter(|(_, of)| **of == Some(image));
        its.map(|(event, of)| {
            *of = None;
            event_name(event)
        })
        .collect()
    }

    /// Sets probes at some sites. Returns whether there are any.
    pub(super) fn define(
        &mut self,
        root: &Root,
        plan: &Plan,
        fetches: &[Fetches],
        sites: &[usize],
    ) -> Result<bool, Error> {
        let mut files = FileNames::default();
        let mut shared: HashMap<(usize, Shape), usize> = HashMap::new();
        let mut new = Vec::new();
        for number in sites {
            let Some((site, fetches)) = plan.sites.get(*number).zip(fetches.get(*number)) else { continue };
            let (Some(image), Ok(number)) = (plan.images.get(site.image), u32::try_from(*number)) else { continue };
            let key = (site.image, fetches.shape());
            let event = match shared.get(&key).filter(|_| self.has_numbers) {
                Some(event) => *event,
                None => {
                    let event = self.images.len();
                    self.images.push(Some(site.image));
                    shared.insert(key.clone(), event);
                    new.push((event, key.1, (!self.has_numbers).then_some(number)));
                    event
                }
            };
            let path = files.name(image.place())?;
            let site_number = self.has_numbers.then_some(number);
            let at = (site.offset, site.switch);
            let line = definition(&self.group, &event_name(event), &path, at, site_number, fetches.arguments());
            root.change_probes(&line).map_err(|why| why.of_switch(site.switch.is_some()))?;
        }
        for (event, shape, site) in &new {
            let text = root.read(&format!("events/{}/{}/format", self.group, event_name(*event)));
            let format = Format::parse(&text.map_err(|why| Error::new(Step::Probe, &why))?).ok();
            let found = format.and_then(|format| Some((format.id, Event::find(&format, shape, *site)?)));
            let unknown = || Error::new(Step::Probe, &std::io::Error::from_raw_os_error(libc::EPROTO));
            self.known.extend([found.ok_or_else(unknown)?]);
        }
        Ok(!new.is_empty())
    }
}

fn event_name(number: usize) -> String {
    format!("e{number}")
}

/// The names by which the kernel finds files.
#[derive(Default)]
pub(super) struct FileNames {
    /// The files that are open until their probes are set.
    open: HashMap<String, File>,
}

/// The longest path that leaves space in a line of the kernel.
const LONGEST: usize = 1024;

impl FileNames {
    /// The name of a file. The kernel cannot read a path with white space, and others.
    pub(super) fn name(&mut self, path: &str) -> Result<String, Error> {
        if path.len() <= LONGEST && uprobe::check_path(path).is_ok() {
            return Ok(path.to_owned());
        }
        let file = match self.open.entry(path.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(File::open(path).map_err(|why| Error::new(Step::Probe, &why))?),
        };
        Ok(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}
