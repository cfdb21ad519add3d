//! Errors of the kernel, with what to do about them.

use simple_markers_tracer::sys::{self, SessionError, Step};

/// An error of tracefs, with what to do about it.
pub(crate) fn without_tracefs(why: &sys::Error) -> anyhow::Error {
    advised(why, || format!("{why}; tracefs needs root"))
}

/// The same if the events of the kernel are needed.
pub(super) fn without_events(why: &sys::Error) -> anyhow::Error {
    advised(why, || {
        format!(
            "the kernel's events cannot be read: {why}; this needs root, or the option gid= at the mount of tracefs"
        )
    })
}

/// An error, or a text with advice if a right is missing.
fn advised(why: &sys::Error, text: impl FnOnce() -> String) -> anyhow::Error {
    if why.is_permission() { anyhow::Error::msg(text()) } else { why.clone().into() }
}

/// An error of a session, with what to do about it.
pub(crate) fn explained(error: SessionError) -> anyhow::Error {
    let SessionError::Kernel(why) = &error else { return error.into() };
    if why.is_permission() && matches!(why.step, Step::Tracefs | Step::Instance | Step::Probe | Step::Pages) {
        return without_tracefs(why);
    }
    if why.step == Step::Memory {
        return anyhow::anyhow!("{why}; this needs root, CAP_SYS_RESOURCE, or `ulimit -l unlimited`");
    }
    if why.is_permission() {
        let program = std::env::current_exe().map_or_else(|_| "smark".to_owned(), |path| path.display().to_string());
        return anyhow::anyhow!(
            "{why}; this needs root, or the rights that `setcap cap_bpf,cap_perfmon+ep {program}` gives"
        );
    }
    error.into()
}
