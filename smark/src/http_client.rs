//! A client of HTTP that finds hosts as the machine does, also in a static program. Only with the features `debuginfod`
//! and `otlp`.

#[cfg(feature = "debuginfod")]
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

use crate::getent;

/// The most addresses of a host that are tried.
const MOST: usize = 16;

/// A client.
pub(crate) fn client(config: Config) -> Agent {
    Agent::with_parts(config, DefaultConnector::default(), HostResolver::default())
}

/// A client that gives up after a time.
#[cfg(feature = "debuginfod")]
pub(crate) fn client_within(time: Duration) -> Agent {
    client(Agent::config_builder().timeout_global(Some(time)).build())
}

#[derive(Debug, Default)]
struct HostResolver(DefaultResolver);

impl Resolver for HostResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        if !getent::IS_NEEDED {
            return self.0.resolve(uri, config, timeout);
        }
        let is_secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let host = uri.host().ok_or(Error::HostNotFound)?.trim_matches(['[', ']']);
        let mut addresses = self.empty();
        getent::look_up(host, port)?.into_iter().take(MOST).for_each(|address| addresses.push(address));
        match addresses.is_empty() {
            true => Err(Error::HostNotFound),
            false => Ok(addresses),
        }
    }
}
