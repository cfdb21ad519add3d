//! Addresses of `--send`, `--receive` and `--metrics`.

use std::fmt::{self, Display};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;

use crate::getent;

/// A host and a port. The host may be a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Without brackets; `None` if only a port is given.
    host: Option<String>,
    port: u16,
}

/// Why a text is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Scheme,
    Port,
    Host,
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "only udp:// is known",
            Self::Port => "it must end with a port, as HOST:PORT, [IPV6]:PORT or :PORT",
            Self::Host => "the host is malformed; an IPv6 address stands in brackets",
        })
    }
}

impl std::error::Error for Fault {}

impl FromStr for Address {
    type Err = Fault;

    /// Reads `HOST:PORT`, `[IPV6]:PORT`, `:PORT` or `PORT`, with or without `udp://` in front.
    fn from_str(text: &str) -> Result<Self, Fault> {
        let text = match text.split_once("://") {
            Some(("udp", rest)) => rest,
            Some(_) => return Err(Fault::Scheme),
            None => text,
        };
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        // A port has no sign.
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or(Fault::Port)?;
        let bare = host.strip_prefix('[').map(|host| host.strip_suffix(']').ok_or(Fault::Host)).transpose()?;
        let strange =
            |byte: u8| byte.is_ascii_control() || matches!(byte, b' ' | b'/' | b'[' | b']' | b'@' | b'?' | b'#');
        let plain = bare.unwrap_or(host);
        if plain.bytes().any(strange) || (bare.is_none() && host.contains(':')) || bare == Some("") {
            return Err(Fault::Host);
        }
        Ok(Self { host: (!plain.is_empty()).then(|| plain.to_owned()), port })
    }
}

impl Address {
    /// The addresses of the host, which may be looked up by name. Without a host it is 127.0.0.1.
    pub(crate) fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let host = self.host.as_deref().unwrap_or("127.0.0.1");
        if getent::IS_NEEDED {
            return getent::look_up(host, self.port);
        }
        Ok((host, self.port).to_socket_addrs()?.collect())
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.as_deref() {
            Some(host) if host.contains(':') => write!(f, "[{host}]:{}", self.port),
            host => write!(f, "{}:{}", host.unwrap_or("127.0.0.1"), self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let read = |text: &str| text.parse::<Address>().map(|address| address.to_string());
        for (text, expected) in [
            ("9999", "127.0.0.1:9999"),
            (":9999", "127.0.0.1:9999"),
            ("udp://:9999", "127.0.0.1:9999"),
            ("udp://box.example:7", "box.example:7"),
            ("0.0.0.0:65535", "0.0.0.0:65535"),
            ("[::]:1", "[::]:1"),
            ("udp://[fe80::1%eth0]:1", "[fe80::1%eth0]:1"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        for (text, fault) in [
            ("", Fault::Port),
            ("box", Fault::Port),
            ("box:", Fault::Port),
            ("box:65536", Fault::Port),
            ("box:+1", Fault::Port),
            ("box:1/", Fault::Port),
            ("tcp://box:1", Fault::Scheme),
            ("http://box:1", Fault::Scheme),
            ("::1:80", Fault::Host),
            ("[::1:80", Fault::Host),
            ("[]:80", Fault::Host),
            ("udp://a/b:80", Fault::Host),
            ("a b:80", Fault::Host),
        ] {
            assert_eq!(read(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn loopback_unless_told_otherwise() {
        let resolved = |text: &str| text.parse::<Address>().ok().and_then(|address| address.resolve().ok());
        assert_eq!(resolved("9"), Some(vec![([127, 0, 0, 1], 9).into()]));
        assert_eq!(resolved("0.0.0.0:9"), Some(vec![([0, 0, 0, 0], 9).into()]));
        assert_eq!(resolved("[::1]:9"), Some(vec![(std::net::Ipv6Addr::LOCALHOST, 9).into()]));
        assert!(resolved("localhost:9").is_some_and(|all| all.iter().all(|address| address.ip().is_loopback())));
    }
}
