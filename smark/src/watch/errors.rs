//! Errors of the kernel, with what to do about them.

use simple_markers_tracer::sys::{self, SessionError, Step};

/// An error of tracefs, with what to do about it.
pub(crate) fn without_tracefs(why: &sys::Error) -> anyhow::Error {
    match why.is_permission() {
        true => anyhow::anyhow!("{why}; tracefs needs root"),
        false => why.clone().into(),
    }
}

/// An error of a session, with what to do about it.
pub(crate) fn explained(error: SessionError) -> anyhow::Error {
    let SessionError::Kernel(why) = &error else { return error.into() };
    if why.is_permission() && matches!(why.step, Step::Tracefs | Step::Instance | Step::Probe | Step::Pages) {
        return without_tracefs(why);
    }
    if why.is_permission() {
        let program = std::env::current_exe().map_or_else(|_| "smark".to_owned(), |path| path.display().to_string());
        return anyhow::anyhow!(
            "{why}; this needs root, or the rights that `setcap cap_bpf,cap_perfmon+ep {program}` gives"
        );
    }
    error.into()
}
