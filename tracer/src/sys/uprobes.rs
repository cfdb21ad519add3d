//! How programs are attached at uprobes: by one link for many places (Linux 6.6), or by an event of perf for
//! each place. A link to an event hands a number to the program (Linux 5.15); before, the number is in the
//! program, of which each place has its own. What the kernel offers is tried, and no version is asked for.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;

use super::bpf::{self, At, Kind};
use super::error::{Error, Step};
use super::events::{self, Attributes, DISABLED};
use crate::bpf::assembler::set_cookie;
use crate::bpf::{Code, Map, program};

/// The number of the type of perf's events at uprobes.
const TYPE: &str = "/sys/bus/event_source/devices/uprobe/type";
/// In the configuration of an event, the lowest bit of the offset of a switch.
const SWITCH: u32 = 32;

/// How programs are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uprobes {
    means: Means,
    can_sleep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// A link for many places.
    Multi { filters_processes: bool },
    /// Events of this type.
    Events { of: u32, has_cookies: bool },
}

/// A program for uprobes.
#[derive(Debug)]
pub(super) enum UprobeProgram {
    Shared(OwnedFd),
    /// The instructions, in which each place sets its number, and whether it may sleep.
    OfPlace(Vec<u8>, bool),
}

impl Uprobes {
    /// Finds out what the kernel offers.
    pub(super) fn find() -> Result<Self, Error> {
        let missing = |errno| Error::new(Step::Program, &io::Error::from_raw_os_error(errno));
        let code = program::nothing().map_err(|_| missing(libc::E2BIG))?.link(&|_| -1);
        let multi = bpf::load(&code, Kind::Uprobes { is_sleepable: true }).and_then(|program| {
            bpf::check_attach(&program)?;
            Ok(bpf::filters_processes(&program))
        });
        let why = match multi {
            Ok(filters_processes) => return Ok(Self { means: Means::Multi { filters_processes }, can_sleep: true }),
            Err(why) if why.is_permission() => return Err(why),
            Err(why) => why,
        };
        let of = std::fs::read_to_string(TYPE).ok().and_then(|text| text.trim().parse().ok()).ok_or(why)?;
        // No file has this name. The right is looked at before.
        match open(of, "", At::default(), None) {
            Err(why) if why.is_permission() => return Err(why),
            _ => {}
        }
        let load = |is_sleepable| bpf::load(&code, Kind::Uprobe { is_sleepable });
        let has_cookies = events::has_cookies(&load(false)?);
        let can_sleep = load(true).is_ok();
        Ok(Self { means: Means::Events { of, has_cookies }, can_sleep })
    }

    /// Whether programs may sleep, so that they can read memory that is not present.
    pub(super) fn can_sleep(self) -> bool {
        self.can_sleep
    }

    /// Whether probes can be limited to a process, with all of its threads.
    pub(super) fn filters_processes(self) -> bool {
        matches!(self.means, Means::Multi { filters_processes: true })
    }

    /// Loads a program.
    pub(super) fn load(
        self,
        code: &Code,
        descriptor: &dyn Fn(Map) -> i32,
        is_sleepable: bool,
    ) -> Result<UprobeProgram, Error> {
        let code = code.link(descriptor);
        let kind = match self.means {
            Means::Multi { .. } => Kind::Uprobes { is_sleepable },
            Means::Events { has_cookies: true, .. } => Kind::Uprobe { is_sleepable },
            Means::Events { has_cookies: false, .. } => return Ok(UprobeProgram::OfPlace(code, is_sleepable)),
        };
        bpf::load(&code, kind).map(UprobeProgram::Shared)
    }

    /// Attaches a program to places in a file, in one process or in all. The probes are removed, and
    /// switches disarmed, when what is returned is closed.
    pub(super) fn attach(
        self,
        program: &UprobeProgram,
        path: &str,
        at: &[At],
        process: Option<u32>,
    ) -> Result<Vec<OwnedFd>, Error> {
        let has_switch = at.iter().any(|at| at.switch != 0);
        match self.attach_as_is(program, path, at, process) {
            // The kernel takes no second uprobe with another switch, or without one, at an instruction. Without
            // switches it says whether that is why.
            Err(why) if why.errno == libc::EINVAL && has_switch => {
                let without: Vec<At> = at.iter().map(|at| At { switch: 0, ..*at }).collect();
                let is_other = self.attach_as_is(program, path, &without, process).is_ok();
                Err(if is_other { Error { step: Step::Switch, ..why } } else { why })
            }
            result => result,
        }
    }

    fn attach_as_is(
        self,
        program: &UprobeProgram,
        path: &str,
        at: &[At],
        process: Option<u32>,
    ) -> Result<Vec<OwnedFd>, Error> {
        match (self.means, program) {
            (Means::Multi { .. }, UprobeProgram::Shared(program)) => {
                bpf::attach_many(program, path, at, process).map(|link| vec![link])
            }
            (Means::Events { of, .. }, UprobeProgram::Shared(program)) => {
                // The link keeps the event open.
                let link = |at: &At| events::link(program, &open(of, path, *at, process)?, at.cookie);
                at.iter().map(link).collect()
            }
            (Means::Events { of, .. }, UprobeProgram::OfPlace(code, is_sleepable)) => {
                let attached = |at: &At| {
                    let program =
                        bpf::load(&set_cookie(code, at.cookie), Kind::Uprobe { is_sleepable: *is_sleepable })?;
                    let event = open(of, path, *at, process)?;
                    events::set_program(&event, &program)?;
                    Ok(event)
                };
                at.iter().map(attached).collect()
            }
            (Means::Multi { .. }, UprobeProgram::OfPlace(..)) => Ok(Vec::new()),
        }
    }
}

/// Opens perf's event at a place in a file.
fn open(of: u32, path: &str, at: At, process: Option<u32>) -> Result<OwnedFd, Error> {
    let invalid = || Error::new(Step::Attach, &io::Error::from_raw_os_error(libc::EINVAL));
    let path = CString::new(path).map_err(|_| invalid())?;
    let switch = u32::try_from(at.switch).map_err(|_| invalid())?;
    let attributes = Attributes::new(of, u64::from(switch) << SWITCH, DISABLED).at(path.as_ptr() as u64, at.offset);
    // One for all CPUs: programs that are attached to it run on all of them.
    let (thread, cpu) = match process {
        Some(process) => (libc::pid_t::try_from(process).map_err(|_| invalid())?, -1),
        None => (-1, 0),
    };
    events::open(&attributes, thread, cpu)
}
