//! A terminal that is used as a screen: its modes, and what it sends. They are restored at every way out.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use simple_markers_tracer::sys::signals;

/// A terminal that is used as a screen. When it is dropped, also while a panic unwinds, it is as
/// before.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// The modes of standard input before; `None` if it is no terminal.
    before: Option<Termios>,
    /// Whether keys can still come.
    has_keys: bool,
    /// Whether it reports the mouse.
    reports_mouse: bool,
}

/// To another screen, without a cursor; and back.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
const LEAVE: &str = "\u{1b}[?1006l\u{1b}[?1000l\u{1b}[0m\u{1b}[?25h\u{1b}[?1049l";

/// To report the mouse.
const MOUSE: &str = "\u{1b}[?1000h\u{1b}[?1006h";

/// Whether the other screen is shown. To leave it twice would move the cursor.
static IS_ENTERED: AtomicBool = AtomicBool::new(false);

impl Terminal {
    /// The terminal of standard output; `None` if it is none, or cannot move its cursor.
    pub(crate) fn open() -> io::Result<Option<Self>> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if !io::stdout().is_terminal() || is_dumb {
            return Ok(None);
        }
        let before = if io::stdin().is_terminal() { tcgetattr(io::stdin()).ok() } else { None };
        let terminal = Self { has_keys: before.is_some(), before, reports_mouse: false };
        terminal.enter()?;
        Ok(Some(terminal))
    }

    fn enter(&self) -> io::Result<()> {
        if let Some(before) = &self.before {
            let mut modes = before.clone();
            // ^C still sends a signal, which ends the session as `kill` does.
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            for code in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
                modes.special_codes[code] = 0;
            }
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        }
        IS_ENTERED.store(true, Ordering::Relaxed);
        write(ENTER)?;
        if self.reports_mouse { write(MOUSE) } else { Ok(()) }
    }

    fn leave(&self) -> io::Result<()> {
        if let Some(before) = &self.before {
            tcsetattr(io::stdin(), OptionalActions::Now, before)?;
        }
        leave_screen()
    }

    /// Gives the terminal back until the shell continues this process.
    pub(crate) fn suspend(&self) -> io::Result<()> {
        self.leave()?;
        kill_process(getpid(), Signal::STOP)?;
        self.enter()
    }

    /// The width and the height in characters.
    pub(crate) fn size() -> (usize, usize) {
        let size = terminal_size::terminal_size_of(io::stdout());
        size.map_or((80, 24), |(width, height)| (width.0.into(), height.0.into()))
    }

    /// Whether keys can still come: standard input is a terminal, which is not gone.
    #[cfg(feature = "view")]
    pub(crate) fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// Whether the terminal has sent something that was not read yet.
    #[cfg(feature = "view")]
    pub(crate) fn has_input(&self) -> bool {
        self.has_keys && signals::wait(Some(io::stdin().as_fd()), Duration::ZERO)
    }

    /// From now on buttons and the wheel of the mouse are reported, as sequences of xterm's "SGR" form.
    #[cfg(feature = "view")]
    pub(crate) fn report_mouse(&mut self) -> io::Result<()> {
        self.reports_mouse = true;
        write(MOUSE)
    }

    /// From now on the message of a panic is printed where the user sees it.
    #[cfg(feature = "view")]
    pub(crate) fn leave_at_panics() {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = leave_screen();
            before(panic);
        }));
    }

    /// The bytes that the terminal sends until a signal comes or the time is over; empty if there are none.
    pub(crate) fn read(&mut self, most: Duration) -> Vec<u8> {
        let stdin = io::stdin();
        if !signals::wait(self.has_keys.then(|| stdin.as_fd()), most) {
            return Vec::new();
        }
        let mut bytes = [0; 256];
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(count) if count > 0 => bytes.get(..count).unwrap_or_default().to_vec(),
            // The terminal is gone.
            _ => {
                self.has_keys = false;
                Vec::new()
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.leave();
    }
}

/// Shows what was there before, if the other screen is shown.
fn leave_screen() -> io::Result<()> {
    if IS_ENTERED.swap(false, Ordering::Relaxed) { write(LEAVE) } else { Ok(()) }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
