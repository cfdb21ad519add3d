//! The events of system calls. The kernel prints these with its own code, which does not use their
//! `print fmt` (`kernel/trace/trace_syscalls.c`).

use std::fmt::Write as _;

use super::integer::Integer;
use super::text::push_lossy;
use crate::format::{Field, Format};

/// The event of the start or the end of a system call.
#[derive(Clone, Debug)]
pub(super) struct Syscall {
    /// `sys_openat`
    name: Box<str>,
    part: SyscallEvent,
}

#[derive(Clone, Debug)]
enum SyscallEvent {
    /// The arguments.
    Enter(Vec<SyscallArgument>),
    /// The offset of the result.
    Exit(usize),
}

#[derive(Clone, Debug)]
struct SyscallArgument {
    name: Box<str>,
    offset: usize,
    /// The field with the text at the address that the argument is: `__filename_val` since Linux 6.19.
    text: Option<Field>,
}

impl Syscall {
    /// `None` if it is another event.
    pub(super) fn new(format: &Format) -> Option<Self> {
        if format.group != "syscalls" {
            return None;
        }
        let offset = |offset: u32| usize::try_from(offset).ok();
        if let Some(name) = format.name.strip_prefix("sys_exit_") {
            let part = SyscallEvent::Exit(offset(format.field("ret")?.offset)?);
            return Some(Self { name: format!("sys_{name}").into(), part });
        }
        let name = format.name.strip_prefix("sys_enter_")?;
        let fields =
            format.fields.iter().filter(|field| !field.name.starts_with("common_") && field.name != "__syscall_nr");
        let arguments = fields.filter(|field| !field.is_dynamic()).map(|field| {
            let text =
                format.field(&format!("__{}_val", field.name)).filter(|text| text.of.ends_with("char[]")).cloned();
            Some(SyscallArgument { name: field.name.as_str().into(), offset: offset(field.offset)?, text })
        });
        Some(Self { name: format!("sys_{name}").into(), part: SyscallEvent::Enter(arguments.collect::<Option<_>>()?) })
    }

    /// The name of each argument.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        let arguments = if let SyscallEvent::Enter(arguments) = &self.part { arguments.as_slice() } else { &[] };
        arguments.iter().map(|argument| &*argument.name)
    }

    pub(super) fn is_exit(&self) -> bool {
        matches!(self.part, SyscallEvent::Exit(_))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn write(&self, record: &[u8], out: &mut String) {
        let at = |offset: usize| Integer::UNSIGNED_LONG.read(record.get(offset..).unwrap_or_default());
        out.push_str(&self.name);
        match &self.part {
            SyscallEvent::Exit(offset) => {
                let _ = match at(*offset) {
                    Some(value) => write!(out, " -> {value:#x}"),
                    None => write!(out, " -> (too short)"),
                };
            }
            SyscallEvent::Enter(arguments) => {
                for (index, SyscallArgument { name, offset, text }) in arguments.iter().enumerate() {
                    let before = if index == 0 { "(" } else { ", " };
                    let value = at(*offset);
                    let _ = match value {
                        Some(value @ ..10) => write!(out, "{before}{name}: {value}"),
                        Some(value) => write!(out, "{before}{name}: {value:#x}"),
                        None => write!(out, "{before}{name}: (too short)"),
                    };
                    let text = text.as_ref().filter(|_| value != Some(0));
                    if let Some(text) = text.and_then(|field| field.text(record)) {
                        out.push_str(" \"");
                        push_lossy(text, out);
                        out.push('"');
                    }
                }
                out.push_str(if arguments.is_empty() { "()" } else { ")" });
            }
        }
    }
}
