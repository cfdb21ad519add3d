//! Identities of traces.

use anyhow::Context as _;
use rustix::rand::GetRandomFlags;

/// The identity of a trace: a random UUID (RFC 9562, 5.4).
pub(crate) fn random() -> anyhow::Result<[u8; 16]> {
    let mut uuid = [0; 16];
    // Not from /dev/urandom, which an empty root does not have. So few bytes come all at once.
    rustix::rand::getrandom(&mut uuid, GetRandomFlags::empty()).context("getrandom")?;
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(uuid)
}
