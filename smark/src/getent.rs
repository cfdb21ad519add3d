//! Addresses of names, for a static program. There `getaddrinfo` of glibc loads libraries of the
//! very glibc that it was linked with, which another machine does not have. getent(1) is a program
//! of the machine's own C library, and asks what a dynamic program would.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::{Command, Stdio};

/// Whether this program is static, so that names are looked up here.
pub(super) const IS_NEEDED: bool = cfg!(all(target_feature = "crt-static", target_env = "gnu"));

/// The addresses of a name or of the text of an address; `localhost` is known without `getent`.
pub(super) fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    // It would be an option, and the getent of Alpine Linux does not know `--`.
    if host.starts_with('-') {
        return Err(io::Error::new(ErrorKind::NotFound, format!("{host} is not a name")));
    }
    let output = match Command::new("getent").args(["ahosts", host]).stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if host == "localhost" && error.kind() == ErrorKind::NotFound => {
            return Ok(vec![(Ipv6Addr::LOCALHOST, port).into(), (Ipv4Addr::LOCALHOST, port).into()]);
        }
        Err(error) => {
            let text = format!("a static smark asks getent(1) for the address of {host}, which cannot be run: {error}");
            return Err(io::Error::new(error.kind(), text));
        }
    };
    let addresses = read(&String::from_utf8_lossy(&output.stdout), port);
    match addresses.is_empty() {
        true => Err(io::Error::new(ErrorKind::NotFound, format!("getent(1) knows no address of {host}"))),
        false => Ok(addresses),
    }
}

/// The addresses in what `getent ahosts` prints, which has a line for each type of socket.
fn read(printed: &str, port: u16) -> Vec<SocketAddr> {
    let mut addresses = Vec::new();
    for line in printed.lines() {
        let Some(address) = line.split_whitespace().next() else { continue };
        // With the number of an interface behind a local address: `fe80::1%2`.
        let with_port = if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") };
        addresses.extend(with_port.parse().ok().filter(|address| !addresses.contains(address)));
    }
    addresses
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV6;

    use super::*;

    #[test]
    fn each_address_once() {
        let printed = "::1             STREAM localhost\n::1             DGRAM  \n::1             RAW    \n\
            127.0.0.1       STREAM localhost\n127.0.0.1       DGRAM  \n127.0.0.1       RAW    \n";
        assert_eq!(read(printed, 9), [(Ipv6Addr::LOCALHOST, 9).into(), (Ipv4Addr::LOCALHOST, 9).into()]);
        let scoped = SocketAddrV6::new(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1), 7, 0, 2);
        assert_eq!(read("fe80::1%2     STREAM fe80::1%eth0\n", 7), [scoped.into()]);
        assert_eq!(read("", 7), []);
    }

    #[test]
    fn numbers_need_no_program() {
        assert_eq!(look_up("192.0.2.1", 9).ok(), Some(vec![([192, 0, 2, 1], 9).into()]));
        assert_eq!(look_up("::1", 9).ok(), Some(vec![(Ipv6Addr::LOCALHOST, 9).into()]));
    }
}
