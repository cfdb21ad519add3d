//! A program on a pseudo terminal, and what its screen shows.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use simple_markers_tests::fixture::Process;

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that runs on a terminal.
pub(super) struct OnScreen {
    process: Process,
    master: File,
    /// Kept open, so that its modes can be read after the program.
    slave: OwnedFd,
    before: String,
    shown: Arc<Mutex<Shown>>,
}

struct Shown {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

/// The modes of a terminal, to be compared.
fn modes(terminal: impl AsFd) -> String {
    let Termios { input_modes, output_modes, control_modes, local_modes, special_codes, .. } =
        tcgetattr(terminal).expect("a terminal");
    format!("{input_modes:?} {output_modes:?} {control_modes:?} {local_modes:?} {special_codes:?}")
}

impl OnScreen {
    /// Starts a program on a terminal of this width and height. `command` begins with `setsid --ctty`, so that it gets
    /// the signals of the terminal.
    pub(super) fn start(command: &mut Command, (width, height): (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("a terminal");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, flags, Mode::empty()).expect("a terminal");
        set_size(&slave, width, height);
        let before = modes(&slave);
        let end = || slave.try_clone().expect("a descriptor");
        let process = Process::start(command.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end()));
        let shown = Arc::new(Mutex::new(Shown { parser: vt100::Parser::new(height, width, 0), bytes: Vec::new() }));
        let (mut output, to) = (File::from(master.try_clone().expect("a descriptor")), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(size @ 1..) = output.read(&mut bytes) {
                let mut shown = to.lock().unwrap_or_else(PoisonError::into_inner);
                shown.parser.process(&bytes[..size]);
                shown.bytes.extend_from_slice(&bytes[..size]);
            }
        });
        Self { process, master: File::from(master), slave, before, shown }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the process.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Types keys.
    pub(super) fn keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("keys");
    }

    /// Gives the terminal another size.
    pub(super) fn resize(&mut self, width: u16, height: u16) {
        self.shown().parser.set_size(height, width);
        set_size(&self.slave, width, height);
    }

    /// What the screen shows as soon as this holds of it.
    pub(super) fn wait_for(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.shown().parser.screen().contents();
            if holds(&text) {
                return text;
            }
            assert!(Instant::now() < end, "{what} is not on the screen:\n{text}");
            sleep(Duration::from_millis(5));
        }
    }

    /// What the screen shows as soon as it has a text.
    pub(super) fn wait_for_text(&self, text: &str) -> String {
        self.wait_for(text, |screen| screen.contains(text))
    }

    /// All that was written so far.
    pub(super) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.shown().bytes).into_owned()
    }

    /// Waits for the end, and until the terminal was left. Returns the exit status and what the screen shows.
    pub(super) fn end(mut self) -> (Option<i32>, String) {
        let status = self.process.wait().expect("it ends");
        let end = Instant::now() + PATIENCE;
        let is_left = || self.bytes().contains("\u{1b}[?1049l") && !self.shown().parser.screen().alternate_screen();
        while !is_left() {
            assert!(Instant::now() < end, "{:?}", self.bytes());
            sleep(Duration::from_millis(5));
        }
        // What it wrote last may still be on its way.
        sleep(Duration::from_millis(100));
        assert_eq!(modes(&self.slave), self.before);
        let shown = self.shown();
        let screen = shown.parser.screen();
        assert!(!screen.hide_cursor() && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None);
        (status.code(), screen.contents())
    }
}

fn set_size(terminal: impl AsFd, width: u16, height: u16) {
    let size = Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a terminal");
}
