//! What is observed, and who observes it.

use std::path::Path;

use simple_markers_tracer::Plan;

use super::attributes::{SERVICE_NAME, attribute};
use super::message::{Attribute, OtlpResource, OtlpScope};
use crate::hit_origin::HitOrigin;

impl HitOrigin {
    /// A time of the hits' clock in ns since the start of 1970.
    pub(super) fn wall(&self, time: u64) -> u64 {
        self.clock_offset.saturating_add(time)
    }

    /// The resource. `set` is what the environment says, which counts more.
    pub(super) fn resource(&self, plan: &Plan, set: &[Attribute]) -> OtlpResource {
        let mut own = vec![
            attribute(SERVICE_NAME, self.program.as_str()),
            attribute("service.instance.id", uuid(self.instance)),
            attribute("process.executable.name", self.program.as_str()),
        ];
        own.extend(self.host.as_deref().map(|host| attribute("host.name", host)));
        let is_program = |path: &str| Path::new(path).file_name().is_some_and(|name| *name == *self.program);
        let mut images = plan.images.iter().filter(|image| is_program(&image.path));
        // Two programs may have one name.
        if let (Some(image), None) = (images.next(), images.next()) {
            own.extend(image.build_id.as_deref().map(|id| attribute("process.executable.build_id.gnu", id)));
        }
        own.retain(|of| !set.iter().any(|it| it.key == of.key));
        OtlpResource { attributes: own.into_iter().chain(set.iter().cloned()).collect() }
    }
}

/// Who observes it.
pub(super) fn scope() -> OtlpScope {
    OtlpScope { name: "smark".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// The text of a UUID (RFC 9562, 4).
fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_counts_more() {
        let origin = HitOrigin { program: "server".to_owned(), instance: [0xab; 16], ..HitOrigin::default() };
        let set = [attribute("a", "b"), attribute(SERVICE_NAME, "mine")];
        let expected = [
            attribute("service.instance.id", "abababab-abab-abab-abab-abababababab"),
            attribute("process.executable.name", "server"),
            attribute("a", "b"),
            attribute(SERVICE_NAME, "mine"),
        ];
        assert_eq!(origin.resource(&Plan::default(), &set).attributes, expected);
    }
}
