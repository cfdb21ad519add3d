//! Arbitrary bytes as the datagrams of several senders: each one is taken or refused, nothing is
//! kept without a limit, no name has a control character, and an interval survives writing and
//! reading.
#![no_main]

use std::net::{Ipv4Addr, SocketAddr};

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::byte;
use simple_markers_resolver::text::shown;
use simple_markers_top::{LINES, ReceivedInterval, Receiver, SENDERS, SIZE, Writer};

fuzz_target!(|input: &[u8]| {
    let mut receiver = Receiver::default();
    let (mut count, mut now) = (0, 0u64);
    // JSON has no zeros. The first byte says who sends the datagram, and how much later.
    for mut datagram in input.split(|byte| *byte == 0) {
        let how = byte(&mut datagram);
        now = now.saturating_add(1 << (how >> 3));
        count += 1;
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, u16::from(how & 7)));
        let taken = receiver.take(from, datagram, now);
        assert!(datagram.len() <= SIZE || taken.is_err());
        taken.into_iter().flatten().for_each(|received| check(&received));
        receiver.overdue(now).iter().for_each(check);
        assert!(receiver.senders().len() <= SENDERS);
    }
    receiver.rest().iter().for_each(check);
    let (tally, refused) = (receiver.tally(), receiver.refused().sum());
    assert_eq!(tally.received + tally.repeated + refused, count);
    assert!(tally.late <= tally.received);
});

fn check(received: &ReceivedInterval) {
    let is_clean = |text: &str| assert_eq!(shown(text), text);
    is_clean(&received.host);
    let table = &received.table;
    let lines: usize = table.processes.iter().map(|process| 1 + process.threads.len()).sum();
    assert!(lines + usize::from(received.others.is_some()) <= LINES);
    for process in &table.processes {
        is_clean(&process.name);
        process.threads.iter().for_each(|thread| is_clean(&thread.name));
    }
    let (mut again, mut given) = (Receiver::default(), Vec::new());
    for datagram in Writer::new(1, &received.host).table(table) {
        let from = (Ipv4Addr::LOCALHOST, 1).into();
        given.extend(again.take(from, datagram.as_bytes(), 0).expect("what we write is taken"));
    }
    let [given] = &given[..] else { panic!("one interval, not {given:?}") };
    if lines < LINES {
        assert_eq!(given.others, None);
        let usages = |received: &ReceivedInterval| -> Vec<_> {
            let processes = received.table.processes.iter();
            processes.map(|process| (process.pid, process.usage, process.threads.len())).collect()
        };
        assert_eq!(usages(given), usages(received));
    }
}
