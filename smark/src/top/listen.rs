//! Receives the datagrams of senders from a socket.

use std::io::{self, ErrorKind};
use std::mem::Discriminant;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::time::Duration;

use anyhow::Context as _;
use rustix::net::sockopt;
use simple_markers_top::{ReceivedInterval, Receiver, Refusal, SIZE};
use simple_markers_tracer::sys::{now, signals};

use crate::address::Address;
use crate::console::Console;

/// The bytes of datagrams that may wait in the kernel. The kernel gives at most its own limit
/// (`net.core.rmem_max`), and all of it to root.
const BUFFER: usize = 8 << 20;

/// How long datagrams that have arrived are taken at the end, in ns: more may come all the time.
const LAST: u64 = 500_000_000;

/// A socket that receives.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: UdpSocket,
    /// What was received.
    pub(crate) receiver: Receiver,
    /// The reasons for refusing a datagram that were said already.
    said: Vec<Discriminant<Refusal>>,
}

impl Listener {
    /// Looks the address up, and opens a socket there.
    pub(crate) fn new(address: &Address) -> anyhow::Result<Self> {
        let failed = || format!("cannot receive at {address}");
        let addresses = address.resolve().with_context(failed)?;
        let socket = UdpSocket::bind(&*addresses).with_context(failed)?;
        socket.set_nonblocking(true).with_context(failed)?;
        // A smaller buffer only loses datagrams earlier, and losses are told.
        if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER).is_err() {
            let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER);
        }
        Ok(Self { socket, receiver: Receiver::default(), said: Vec::new() })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Receives until this time, or until a signal comes. Calls `take` with each interval that is
    /// complete or given up, and ends when it returns false.
    pub(crate) fn until(
        &mut self,
        deadline: u64,
        console: &Console,
        take: &mut impl FnMut(&Receiver, ReceivedInterval) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        self.receive(deadline, false, console, take)
    }

    /// Receives what has arrived already, as `until` does.
    pub(crate) fn rest(
        &mut self,
        console: &Console,
        take: &mut impl FnMut(&Receiver, ReceivedInterval) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        self.receive(now().saturating_add(LAST), true, console, take)
    }

    /// Receives until this time. `is_rest` says to end when nothing has arrived, and not at a signal.
    fn receive(
        &mut self,
        mut deadline: u64,
        is_rest: bool,
        console: &Console,
        take: &mut impl FnMut(&Receiver, ReceivedInterval) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        // One more byte than a datagram may have tells those that are longer.
        let mut buffer = [0; SIZE + 1];
        loop {
            let (mut intervals, mut is_empty) = (Vec::new(), false);
            let received = self.socket.recv_from(&mut buffer);
            let time = now();
            match received {
                Ok((size, from)) => {
                    let taken = self.receiver.take(from, buffer.get(..size).unwrap_or_default(), time);
                    match taken {
                        Ok(taken) => intervals = taken,
                        Err(refusal) => self.say(&refusal, from, console),
                    }
                }
                Err(error) if is_no_datagram(&error) => is_empty = true,
                Err(error) => return Err(error).context("cannot receive"),
            }
            intervals.extend(self.receiver.overdue(time));
            let is_end = if is_rest { is_empty } else { signals::is_stopped() };
            if is_end {
                deadline = time;
            }
            for interval in intervals {
                if !take(&self.receiver, interval)? {
                    return Ok(());
                }
            }
            if time >= deadline {
                return Ok(());
            }
            if is_empty {
                let due = self.receiver.next_overdue().map_or(deadline, |due| due.min(deadline));
                signals::wait(Some(self.socket.as_fd()), Duration::from_nanos(due.saturating_sub(time)));
            }
        }
    }

    /// Says why a datagram was refused, the first time for each reason.
    fn say(&mut self, refusal: &Refusal, from: SocketAddr, console: &Console) {
        let kind = std::mem::discriminant(refusal);
        if !self.said.contains(&kind) {
            self.said.push(kind);
            console.error(&format!("a datagram from {from} is refused: {}", reason(refusal)));
        }
    }
}

/// Whether there was only nothing to receive.
fn is_no_datagram(error: &io::Error) -> bool {
    // The last one comes from another socket of this address that nobody listens to.
    let kinds = [ErrorKind::WouldBlock, ErrorKind::Interrupted, ErrorKind::ConnectionRefused];
    kinds.contains(&error.kind())
}

/// Why a datagram is refused.
fn reason(refusal: &Refusal) -> String {
    match refusal {
        Refusal::TooLong => format!("it is longer than {SIZE} bytes"),
        Refusal::Version => "it has another version".to_owned(),
        Refusal::Line(line, error) => format!("line {}: {error}", line + 1),
        Refusal::Contradiction => "it does not agree with earlier datagrams of its sender".to_owned(),
        Refusal::TooManySenders => "there are too many senders".to_owned(),
        _ => "it cannot be used".to_owned(),
    }
}
