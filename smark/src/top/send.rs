//! `--send`: sends the table of each interval in datagrams.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use anyhow::Context as _;
use simple_markers_resolver::text::from_bytes;
use simple_markers_top::{Table, Writer};

use crate::address::Address;
use crate::console::Console;

/// Sends the tables of a run.
#[derive(Debug)]
pub(crate) struct Sender {
    socket: UdpSocket,
    to: SocketAddr,
    writer: Writer,
    /// How many datagrams could not be sent for each reason.
    unsent: BTreeMap<String, u64>,
}

impl Sender {
    /// Looks the address up, and makes a socket that never waits. `most` processes of an interval are
    /// sent, and all if it is `None`; with their threads if `threads` is set.
    pub(crate) fn new(address: &Address, most: Option<usize>, threads: bool) -> anyhow::Result<Self> {
        let failed = || format!("cannot send to {address}");
        let mut result = Err(io::Error::from(ErrorKind::NotFound));
        // The first address that the machine has a route to.
        for to in address.resolve().with_context(failed)? {
            result = connected(to).map(|socket| (socket, to));
            if result.is_ok() {
                break;
            }
        }
        let (socket, to) = result.with_context(failed)?;
        // A random number: the standard library has random keys for its hash tables.
        let run = RandomState::new().hash_one(std::process::id());
        let writer = Writer::new(run, &host()).with_most(most.unwrap_or(usize::MAX));
        let writer = if threads { writer } else { writer.without_threads() };
        Ok(Self { socket, to, writer, unsent: BTreeMap::new() })
    }

    /// Sends an interval. What cannot be sent now is not sent, and is counted.
    pub(crate) fn send(&mut self, table: &Table, console: &Console) {
        for datagram in self.writer.table(table) {
            self.send_one(&datagram, console);
        }
    }

    /// Tells the receiver that there is nothing more, and the user what was sent.
    pub(crate) fn end(mut self, console: &Console) {
        let end = self.writer.end();
        self.send_one(&end, console);
        let unsent: u64 = self.unsent.values().sum();
        let sent = self.writer.datagrams() - unsent;
        let but = if unsent == 0 { String::new() } else { format!(", and could not send {unsent}") };
        console.note(&format!("sent {sent} datagrams to {}{but}", self.to));
    }

    fn send_one(&mut self, datagram: &str, console: &Console) {
        let mut sent = self.socket.send(datagram.as_bytes());
        // That nobody listens is told of an earlier datagram, and this one is not sent.
        if sent.as_ref().is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            self.say(&ErrorKind::ConnectionRefused.into(), console);
            sent = self.socket.send(datagram.as_bytes());
        }
        if let Err(error) = sent {
            self.say(&error, console);
            *self.unsent.entry(error.kind().to_string()).or_default() += 1;
        }
    }

    /// Says an error the first time.
    fn say(&mut self, error: &io::Error, console: &Console) {
        let count = self.unsent.len();
        self.unsent.entry(error.kind().to_string()).or_default();
        if self.unsent.len() > count {
            console.error(&format!("sending to {}: {}", self.to, reason(error)));
        }
    }
}

/// Why a datagram was not sent.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => "nobody listens there; going on".to_owned(),
        ErrorKind::WouldBlock => "the machine sends more slowly than datagrams are made; some are left out".to_owned(),
        _ => format!("{error}; going on"),
    }
}

fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr =
        if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The name of this machine; empty if the kernel does not tell it.
fn host() -> String {
    let name = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    from_bytes(name.trim_ascii())
}

#[cfg(test)]
mod tests {
    use simple_markers_top::{Receiver, Tally};

    use super::*;

    const CONSOLE: Console = Console { quiet: true, ..Console::of_errors() };

    fn sender(to: &str) -> Sender {
        Sender::new(&to.parse().expect("an address"), None, true).expect("a socket")
    }

    /// What arrives at the socket, until the run has ended.
    fn received(socket: &UdpSocket) -> Receiver {
        let mut receiver = Receiver::default();
        let mut buffer = [0; 2000];
        while !receiver.senders().iter().any(|sender| sender.has_ended) {
            let (size, from) = socket.recv_from(&mut buffer).expect("a datagram");
            receiver.take(from, &buffer[..size], 0).expect("it is taken");
        }
        receiver
    }

    #[test]
    fn both_versions_of_ip() {
        for (bound, to) in [("127.0.0.1:0", "localhost"), ("[::1]:0", "[::1]")] {
            let Ok(socket) = UdpSocket::bind(bound) else {
                assert!(bound.starts_with('['), "IPv4 is there");
                continue;
            };
            let port = socket.local_addr().expect("an address").port();
            // The name may have addresses of both.
            let to = if to == "localhost" { "127.0.0.1" } else { to };
            let mut sender = sender(&format!("udp://{to}:{port}"));
            sender.send(&Table { interval: 1, ..Table::default() }, &CONSOLE);
            sender.end(&CONSOLE);
            let receiver = received(&socket);
            assert_eq!(receiver.tally(), Tally { received: 2, ..Tally::default() });
            assert_eq!(receiver.senders().first().map(|sender| sender.host.clone()), Some(host()));
        }
    }

    #[test]
    fn it_goes_on_when_nobody_listens() {
        let closed = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("an address");
        let mut sender = sender(&closed.to_string());
        for _ in 0..5 {
            sender.send(&Table { interval: 1, ..Table::default() }, &CONSOLE);
        }
        assert!(sender.unsent.keys().eq([&ErrorKind::ConnectionRefused.to_string()]));
        assert_eq!(sender.unsent.values().sum::<u64>(), 0, "each was sent the second time");
        // Somebody who begins to listen receives all that follows.
        let socket = UdpSocket::bind(closed).expect("the port is free");
        sender.send(&Table { interval: 1, ..Table::default() }, &CONSOLE);
        sender.end(&CONSOLE);
        assert_eq!(received(&socket).tally(), Tally { received: 2, before: 5, ..Tally::default() });
    }
}
