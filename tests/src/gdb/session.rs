//! A program under gdb. `tests/gdb/session.py` describes the protocol.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use serde_json::{Value, json};
use simple_markers_resolver::address::{RuntimeAddress, Vaddr};
use simple_markers_resolver::location::{Machine, Register};

use crate::computer::Computer;
use crate::fixture;

/// A program that gdb runs.
pub struct Session {
    gdb: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    bias: u64,
    thread_locals: Option<u64>,
}

/// Why the program stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// At a breakpoint.
    Stopped(Vaddr),
    /// It exited with this status.
    Exited(i64),
    /// It received a signal.
    Signal(String),
}

/// The functions at a stop as gdb names them, from the innermost to the one that is not inlined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// The frames, and whether each is an inlined function.
    pub frames: Vec<(String, bool)>,
    /// The functions with a block that contains the address.
    pub at: Vec<String>,
    /// The functions with a block that contains the byte before the address.
    pub before: Vec<String>,
}

/// A scalar of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its path in the value: `.queue.depth`.
    pub path: String,
    /// Its first bit in the value, and its size in bits.
    pub bits: (u64, u64),
    /// Its bytes; `Ok(None)` if gdb says that it is optimised out, `Err` if gdb fails.
    pub bytes: Result<Option<Vec<u8>>, String>,
}

/// gdb's answer for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A value: its type's name, its size, and its scalars.
    Value {
        /// The type as gdb writes it.
        type_name: String,
        /// The size in bytes.
        size: u64,
        /// In the order of the type's members.
        leaves: Vec<Leaf>,
    },
    /// No value, with the reason.
    Error(String),
}

/// gdb's answer for an argument, from two methods (see `session.py`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// From gdb's parser in the frame of the marker's function.
    pub frame: Answer,
    /// From the variable that the name means at the marker.
    pub scope: Answer,
    /// The declaration line of that variable.
    pub line: Option<u64>,
    /// The declaration line of the variable that gdb chooses.
    pub frame_line: Option<u64>,
}

impl Variable {
    /// Whether gdb has no such variable in the scope.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.scope.is_missing()
    }
}

impl Answer {
    /// Whether there is no symbol of the name.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Error(why) if why.contains("No symbol"))
    }
}

impl Session {
    /// Starts a program under gdb, stopped before its first instruction. Its input and output are
    /// discarded.
    ///
    /// # Panics
    ///
    /// gdb or the program does not start.
    #[must_use]
    pub fn start(computer: Computer, program: &Path, arguments: &str) -> Self {
        let mut command = Command::new(computer.gdb());
        command.args(["-q", "-nx", "-batch", "-x"]).arg(fixture::workspace().join("tests/gdb/session.py"));
        command.arg("--args").arg(program).env("SESSION_ARGUMENTS", arguments).env("LC_ALL", "C");
        command.env("SESSION_EMULATOR", computer.emulator().join(" ")).env("SESSION_LIBRARIES", computer.libraries());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut gdb = command.spawn().expect("gdb starts");
        let (Some(input), Some(output)) = (gdb.stdin.take(), gdb.stdout.take()) else { panic!("both are pipes") };
        let thread_locals = thread_locals(&std::fs::read(program).expect("the program can be read"));
        let mut session = Self { gdb, pipes: Mutex::new((input, BufReader::new(output))), bias: 0, thread_locals };
        session.bias = number(&session.ask(&json!({"op": "start"}))["bias"]);
        session
    }

    /// Stops the program at these addresses, for the first `hits` hits of each.
    pub fn stop_at(&self, addresses: &[Vaddr], hits: u32) {
        let addresses: Vec<_> = addresses.iter().map(|address| address.0).collect();
        self.ask(&json!({"op": "break", "addresses": addresses, "hits": hits}));
    }

    /// Runs the program to its next stop.
    pub fn resume(&self) -> Next {
        let answer = self.ask(&json!({"op": "continue"}));
        match (answer["stopped"].as_u64(), answer["exited"].as_i64(), answer["signal"].as_str()) {
            (Some(address), ..) => Next::Stopped(Vaddr(address)),
            (_, Some(status), _) => Next::Exited(status),
            (.., Some(signal)) => Next::Signal(signal.to_owned()),
            _ => panic!("{answer}"),
        }
    }

    /// Runs the program to its end, and counts the hits at each address.
    ///
    /// # Panics
    ///
    /// The program does not exit by itself.
    #[must_use]
    pub fn count(&self, addresses: &[Vaddr]) -> Vec<u64> {
        let addresses: Vec<_> = addresses.iter().map(|address| address.0).collect();
        let answer = self.ask(&json!({"op": "count", "addresses": addresses}));
        assert_eq!(answer["exited"], 0, "{answer}");
        answer["hits"].as_array().into_iter().flatten().map(number).collect()
    }

    /// The machine at the current stop.
    pub fn stopped(&self) -> Stopped<'_> {
        let registers = self.ask(&json!({"op": "registers"}));
        let register = |(name, bytes): (&String, &Value)| Some((name.parse().ok()?, hexadecimal(bytes.as_str()?)?));
        let registers: BTreeMap<_, _> = registers.as_object().expect("registers").iter().filter_map(register).collect();
        Stopped { session: self, registers }
    }

    /// The functions at the current stop.
    pub fn scopes(&self) -> Scopes {
        let answer = self.ask(&json!({"op": "scopes"}));
        let name = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let names = |value: &Value| value.as_array().into_iter().flatten().map(name).collect();
        let frames = answer["frames"].as_array().into_iter().flatten();
        Scopes {
            frames: frames.map(|frame| (name(&frame[0]), frame[1] == true)).collect(),
            at: names(&answer["at"]),
            before: names(&answer["before"]),
        }
    }

    /// The value of `text` for a marker on `line` of `function`. `ended` says that the function's
    /// scope has ended at the current address.
    pub fn value(&self, text: &str, function: &str, line: u32, ended: bool) -> Variable {
        let request = json!({"op": "value", "text": text, "function": function, "line": line, "ended": ended});
        let answer = self.ask(&request);
        let symbol = &answer["symbol"];
        Variable {
            frame: read_answer(&answer["frame"]),
            scope: read_answer(&answer["scope"]),
            line: symbol["line"].as_u64(),
            frame_line: symbol["frame_line"].as_u64(),
        }
    }

    /// The difference between the image's run-time and link-time addresses.
    #[must_use]
    pub fn bias(&self) -> u64 {
        self.bias
    }

    fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let answer = self.ask(&json!({"op": "read", "address": address, "length": length}));
        hexadecimal(answer["bytes"].as_str()?)
    }

    fn ask(&self, request: &Value) -> Value {
        let mut pipes = self.pipes.lock().expect("no request panicked");
        let (input, output) = &mut *pipes;
        writeln!(input, "{request}").unwrap_or_else(|error| panic!("gdb is gone before {request}: {error}"));
        let mut line = String::new();
        output.read_line(&mut line).unwrap_or_else(|error| panic!("{request}: {error}"));
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{request}: {error}: {line}"));
        assert!(answer["failed"].is_null(), "{request}: {answer}");
        answer
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // gdb ends when its input does; this does not wait for one that hangs.
        drop(self.gdb.kill());
        drop(self.gdb.wait());
    }
}

fn read_answer(answer: &Value) -> Answer {
    if let Some(error) = answer["error"].as_str() {
        return Answer::Error(error.to_owned());
    }
    let leaf = |leaf: &Value| Leaf {
        path: leaf[0].as_str().unwrap_or_default().to_owned(),
        bits: (number(&leaf[1]), number(&leaf[2])),
        bytes: match (&leaf[3], leaf[3][0].as_str()) {
            (_, Some(why)) => Err(why.to_owned()),
            (Value::String(bytes), _) => Ok(hexadecimal(bytes)),
            _ => Ok(None),
        },
    };
    Answer::Value {
        type_name: answer["type"].as_str().unwrap_or_default().to_owned(),
        size: number(&answer["size"]),
        leaves: answer["leaves"].as_array().into_iter().flatten().map(leaf).collect(),
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// The distance of a 64-bit program's thread-local variables below the thread pointer: the size of
/// its segment, rounded up to its alignment (ELF handling for thread-local storage, 3.4.6, variant
/// II).
fn thread_locals(image: &[u8]) -> Option<u64> {
    let word = |at: usize, size: usize| {
        let bytes = image.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    };
    let (table, size, count) = (word(32, 8)? as usize, word(54, 2)? as usize, word(56, 2)? as usize);
    let mut segments = (0..count).map(|index| table + index * size);
    let segment = segments.find(|at| word(*at, 4) == Some(7))?;
    let align = word(segment + 48, 8)?.max(1);
    Some(word(segment + 40, 8)?.next_multiple_of(align))
}

/// A stopped program.
pub struct Stopped<'a> {
    session: &'a Session,
    registers: BTreeMap<u16, Vec<u8>>,
}

/// The segment register with the thread pointer.
const FS_BASE: u16 = 58;

impl Stopped<'_> {
    /// `count` bytes of memory; `None` if some are not mapped.
    #[must_use]
    pub fn memory(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.session.read(address, length)
    }
}

impl Machine for Stopped<'_> {
    fn register(&self, register: Register) -> Option<Vec<u8>> {
        self.registers.get(&register.0).cloned()
    }

    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
        let read = self.session.read(address.0, into.len()).filter(|bytes| bytes.len() == into.len());
        if let Some(bytes) = &read {
            into.copy_from_slice(bytes);
        }
        read.is_some()
    }

    fn bias(&self) -> u64 {
        self.session.bias
    }

    fn thread_local(&self, offset: u64) -> Option<RuntimeAddress> {
        let pointer = self.registers.get(&FS_BASE)?;
        let pointer = pointer.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        Some(RuntimeAddress(pointer.wrapping_sub(self.session.thread_locals?).wrapping_add(offset)))
    }

    fn address_size(&self) -> u8 {
        8
    }

    fn is_big_endian(&self) -> bool {
        false
    }
}
