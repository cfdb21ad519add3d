//! A frame, what is known of it, and why the frames of a stack end.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use simple_markers_resolver::address::{RuntimeAddress, Vaddr};
use simple_markers_resolver::json::objects;
use simple_markers_resolver::resolve::source_name;
use simple_markers_resolver::text::shown;

/// A function that was executing, and the line in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// `None` if nothing names it.
    #[serde(rename = "function")]
    pub name: Option<Arc<str>>,
    /// The source file; `None` if the debug information does not tell.
    pub file: Option<Arc<str>>,
    /// The line, from 1; `None` if the debug information does not tell.
    pub line: Option<u32>,
    /// Whether it was inlined into the next one.
    #[serde(rename = "inlined")]
    pub is_inlined: bool,
}

/// A frame of the stack of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The address at run time: of the probe, or where the function that it called returns to.
    pub address: RuntimeAddress,
    /// The file that was mapped there; `None` if none is known.
    pub image: Option<Arc<str>>,
    /// The link-time address in the file; `None` if the file cannot be read.
    pub image_address: Option<Vaddr>,
    /// The innermost first. Empty if nothing is known.
    #[serde(deserialize_with = "objects")]
    pub functions: Vec<Function>,
}

/// A frame of the stack of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KernelFrame {
    /// The address.
    pub address: RuntimeAddress,
    /// The function; `None` if nothing names it.
    pub function: Option<Arc<str>>,
    /// The distance from the start of the function; `None` if nothing names it.
    pub offset: Option<u64>,
    /// The module; `None` if the function is in no module, or nothing names it.
    pub module: Option<Arc<str>>,
}

/// What lines of frames start with.
pub const INDENT: &str = "        ";

impl Frame {
    /// The file with the address, as far as it is known.
    #[must_use]
    pub fn place_text(&self) -> String {
        match &self.image {
            Some(image) => place(image, self.image_address),
            None => self.address.to_string(),
        }
    }

    /// Appends it, a function a line.
    pub fn write(&self, out: &mut String) {
        if self.functions.iter().all(|function| function.name.is_none()) {
            // Writing to a String cannot fail.
            let _ = match &self.image {
                Some(image) => writeln!(out, "{INDENT}{} ({})", self.address, place(image, self.image_address)),
                None => writeln!(out, "{INDENT}{}", self.address),
            };
            return;
        }
        for function in &self.functions {
            out.push_str(INDENT);
            out.push_str(&shown(&source_name(function.name.as_deref().unwrap_or("?"))));
            let _ = match (&function.file, function.line, &self.image) {
                (Some(file), Some(line), _) => write!(out, " at {}:{line}", shown(file)),
                (Some(file), None, _) => write!(out, " at {}", shown(file)),
                (None, _, Some(image)) => write!(out, " ({})", place(image, self.image_address)),
                (None, _, None) => Ok(()),
            };
            out.push_str(if function.is_inlined { " (inlined)\n" } else { "\n" });
        }
    }

    /// The frame as JSON (`docs/live.md`).
    #[must_use]
    pub fn json(&self) -> Json {
        json!(self)
    }
}

/// `FILE+ADDRESS`, with the file's last name.
fn place(image: &str, at: Option<Vaddr>) -> String {
    let name = Path::new(image).file_name().and_then(|name| name.to_str()).unwrap_or(image);
    let name = shown(name);
    at.map_or_else(|| name.to_string(), |at| format!("{name}+{at}"))
}

impl KernelFrame {
    /// The name of the function; `None` if nothing names it.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// Appends it as a line.
    pub fn write(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match (&self.function, self.offset) {
            (Some(name), Some(offset)) => {
                let module = self.module.as_deref().unwrap_or("kernel");
                writeln!(out, "{INDENT}{}+{offset:#x} [{}]", shown(name), shown(module))
            }
            _ => writeln!(out, "{INDENT}{} [kernel]", self.address),
        };
    }

    /// The frame as JSON (`docs/live.md`).
    #[must_use]
    pub fn json(&self) -> Json {
        json!(self)
    }
}

/// Why the frames of a stack end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StackEnd {
    /// The last frame has no caller.
    Outermost = 0,
    /// The kernel found no further frame pointer, which does not tell why.
    FramePointers = 1,
    /// The thread runs no program.
    NoProgram = 2,
    /// There are more, but only so many are read.
    MostFrames = 3,
    /// The caller is in the part of the stack that was not copied.
    NotCopied = 4,
    /// The stack could not be read as far.
    Unreadable = 5,
    /// It is not known which file is mapped at the last address: it is code that the program made, or
    /// the process has ended or executed another program.
    NoFile = 6,
    /// The file at the last address does not say how to find the caller.
    NoInformation = 7,
    /// What it says is wrong, or the stack has been overwritten.
    Invalid = 8,
    /// The recording has no room for more different frames.
    NotKept = 9,
}

impl StackEnd {
    /// All of them, by their numbers.
    pub const ALL: [Self; 10] = [
        Self::Outermost,
        Self::FramePointers,
        Self::NoProgram,
        Self::MostFrames,
        Self::NotCopied,
        Self::Unreadable,
        Self::NoFile,
        Self::NoInformation,
        Self::Invalid,
        Self::NotKept,
    ];

    /// Its name in JSON and in recordings.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Outermost => "outermost",
            Self::FramePointers => "frame_pointers",
            Self::NoProgram => "no_program",
            Self::MostFrames => "most_frames",
            Self::NotCopied => "not_copied",
            Self::Unreadable => "unreadable",
            Self::NoFile => "no_file",
            Self::NoInformation => "no_information",
            Self::Invalid => "invalid",
            Self::NotKept => "not_kept",
        }
    }

    /// Whether there are more frames, or may be.
    #[must_use]
    pub fn is_cut(self) -> bool {
        !matches!(self, Self::Outermost | Self::FramePointers | Self::NoProgram)
    }
}
