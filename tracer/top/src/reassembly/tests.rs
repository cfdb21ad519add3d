use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use tools::Choices;

use super::*;
use crate::datagram::writer::Writer;
use crate::datagram::{LINES, SIZE};
use crate::table::Table;
use crate::table::{Process, Thread, Usage};

const SECOND: u64 = 1_000_000_000;

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn table(number: u64, processes: u32, threads: u32) -> Table {
    let usage = |cpu: u32| Usage { cpu: cpu.into(), cpu_total: number, switches: 2, preempted: 1, longest_wait: 3 };
    let thread = |tid| Thread { tid, name: "thread".to_owned(), usage: usage(1), has_ended: false };
    let process = |pid: u32| Process {
        pid,
        name: format!("program {pid}"),
        usage: usage(pid),
        threads: (pid..pid + threads).map(thread).collect(),
        hits: (pid % 2 == 0).then_some(4),
        has_ended: pid % 3 == 0,
    };
    let processes = (1..=processes).map(|n| process(n * 100)).collect();
    Table { time: number * SECOND, interval: SECOND, processes, uncounted: number }
}

#[test]
fn what_is_sent_is_received() {
    let mut receiver = Receiver::default();
    let mut writers = [Writer::new(1, "a"), Writer::new(2, "b"), Writer::new(1, "c")];
    for number in 0..20 {
        for (index, writer) in writers.iter_mut().enumerate() {
            let sent = table(number, 7 * (index as u32 + 1), 3);
            let datagrams = writer.table(&sent);
            let (last, first) = datagrams.split_last().expect("a datagram");
            let from = address(1000 + index as u16);
            for datagram in first {
                assert_eq!(receiver.take(from, datagram.as_bytes(), number * SECOND), Ok(Vec::new()));
            }
            let received = receiver.take(from, last.as_bytes(), number * SECOND).expect("it is taken");
            let [received] = &received[..] else { panic!("{received:?}") };
            assert_eq!((received.sender.address, received.number, received.missing), (from, number, 0));
            assert_eq!(received.host, ["a", "b", "c"][index]);
            assert_eq!(received.table, sent);
        }
    }
    let sent: u64 = writers.iter().map(Writer::datagrams).sum();
    assert_eq!(receiver.tally(), Tally { received: sent, ..Tally::default() });
    assert_eq!((receiver.senders().len(), receiver.refused().sum()), (3, 0));
}

#[test]
fn order_and_repetition_do_not_matter() {
    let mut choices = Choices::new(7);
    for round in 0..50 {
        let sent = table(0, 40, 5);
        let mut datagrams = Writer::new(round, "a").table(&sent);
        let parts = datagrams.len();
        let twice = choices.below(parts);
        datagrams.push(datagrams[twice].clone());
        for index in (1..datagrams.len()).rev() {
            datagrams.swap(index, choices.below(index + 1));
        }
        let mut receiver = Receiver::default();
        let taken = datagrams.iter().map(|datagram| receiver.take(address(1), datagram.as_bytes(), 0));
        let received: Vec<ReceivedInterval> = taken.flat_map(|taken| taken.expect("it is taken")).collect();
        assert_eq!(received.iter().map(|received| &received.table).collect::<Vec<_>>(), [&sent]);
        assert_eq!(receiver.tally(), Tally { received: parts as u64, repeated: 1, ..Tally::default() });
    }
}

#[test]
fn every_lost_datagram_is_counted() {
    let mut choices = Choices::new(3);
    let (mut receiver, mut writer) = (Receiver::default(), Writer::new(1, "a"));
    let (mut dropped, mut missing, mut given) = (0, 0, 0);
    let first = writer.table(&table(0, 1, 0)).remove(0);
    assert_eq!(receiver.take(address(1), first.as_bytes(), 0).map(|received| received.len()), Ok(1));
    for number in 1..200 {
        for datagram in writer.table(&table(number, 30, 2)) {
            if choices.below(10) < 3 {
                dropped += 1;
                continue;
            }
            for received in receiver.take(address(1), datagram.as_bytes(), number * SECOND).expect("it is taken") {
                missing += received.missing as u64;
                given += 1;
            }
        }
    }
    let end = writer.end();
    assert_eq!(receiver.take(address(1), end.as_bytes(), 200 * SECOND), Ok(Vec::new()));
    for received in receiver.rest() {
        missing += received.missing as u64;
        given += 1;
    }
    let tally = receiver.tally();
    assert_eq!(tally, Tally { received: writer.datagrams() - dropped, lost: dropped, ..Tally::default() });
    // Intervals without any datagram are not given out.
    let whole = 200 - given;
    assert!(whole < 3, "{whole}");
    assert!(missing <= dropped, "{missing} of {dropped}");
}

#[test]
fn a_receiver_that_starts_late_counts_what_was_before() {
    let (mut receiver, mut writer) = (Receiver::default(), Writer::new(1, "a"));
    let all: Vec<String> = (0..9).flat_map(|number| writer.table(&table(number, 1, 0))).collect();
    for index in [4, 3, 8] {
        assert!(receiver.take(address(1), all[index].as_bytes(), 0).is_ok());
    }
    assert_eq!(receiver.tally(), Tally { received: 3, lost: 3, before: 3, late: 1, ..Tally::default() });
}

#[test]
fn an_incomplete_interval_is_given_out_in_time() {
    let (mut receiver, mut writer) = (Receiver::default(), Writer::new(1, "a"));
    let sent = table(0, 40, 0);
    let parts = writer.table(&sent);
    assert!(receiver.take(address(1), parts[1].as_bytes(), 5).is_ok_and(|received| received.is_empty()));
    assert_eq!(receiver.overdue(4 + PATIENCE), []);
    let overdue = receiver.overdue(5 + PATIENCE);
    let [received] = &overdue[..] else { panic!("{overdue:?}") };
    assert_eq!(received.missing, parts.len() - 1);
    assert!(received.table.processes.iter().all(|process| sent.processes.contains(process)));
    assert!(!received.table.processes.is_empty());
    // A part that arrives later is not lost.
    assert_eq!(receiver.take(address(1), parts[0].as_bytes(), 9 + PATIENCE), Ok(Vec::new()));
    assert_eq!(receiver.tally(), Tally { received: 2, late: 1, ..Tally::default() });
    // A newer interval does not wait for an older one.
    let (second, third) = (writer.table(&table(1, 40, 0)), writer.table(&table(2, 1, 0)));
    assert_eq!(receiver.take(address(1), second[0].as_bytes(), SECOND), Ok(Vec::new()));
    let received = receiver.take(address(1), third[0].as_bytes(), SECOND).expect("it is taken");
    assert_eq!(received.iter().map(|received| received.number).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_restarted_sender_is_another_one() {
    let mut receiver = Receiver::default();
    for run in 0..3 {
        let mut writer = Writer::new(run, "a");
        for number in 0..5 {
            let datagram = writer.table(&table(number, 1, 0)).remove(0);
            assert_eq!(receiver.take(address(1), datagram.as_bytes(), 0).map(|received| received.len()), Ok(1));
        }
        let end = writer.end();
        assert!(receiver.take(address(1), end.as_bytes(), 0).is_ok());
    }
    assert_eq!(receiver.tally(), Tally { received: 18, ..Tally::default() });
    assert!(receiver.senders().iter().all(|sender| sender.is_gone(0)));
}

#[test]
fn only_so_many_senders_are_known() {
    let mut receiver = Receiver::default();
    let first = |run: u64| Writer::new(run, "a").table(&table(0, 1, 0)).remove(0);
    let from = SocketAddr::from((Ipv6Addr::LOCALHOST, 7));
    for run in 0..SENDERS as u64 {
        assert!(receiver.take(from, first(run).as_bytes(), run).is_ok());
    }
    // Nobody is silent for long enough.
    let late = first(1000);
    assert_eq!(receiver.take(from, late.as_bytes(), SENDERS as u64), Err(Refusal::TooManySenders));
    assert_eq!(receiver.take(from, late.as_bytes(), SILENCE - 1), Err(Refusal::TooManySenders));
    // The one that is silent for the longest time gives up its place, and its counts stay.
    assert!(receiver.take(from, late.as_bytes(), SILENCE).is_ok());
    let runs: Vec<u64> = receiver.senders().iter().map(|sender| sender.key.run).collect();
    assert_eq!((runs.len(), runs[0], runs.last()), (SENDERS, 1, Some(&1000)));
    assert_eq!(receiver.tally().received, SENDERS as u64 + 1);
    assert_eq!((receiver.refused().too_many_senders, receiver.refused().sum()), (2, 2));
}

#[test]
fn a_sender_that_ended_keeps_its_place_until_its_last_interval_is_given_out() {
    let (mut receiver, mut writer) = (Receiver::default(), Writer::new(0, "a"));
    let parts = writer.table(&table(0, 40, 0));
    assert!(receiver.take(address(1), parts[0].as_bytes(), 0).is_ok());
    assert!(receiver.take(address(1), writer.end().as_bytes(), 0).is_ok());
    let first = |run: u64| Writer::new(run, "a").table(&table(0, 1, 0)).remove(0);
    for run in 1..SENDERS as u64 {
        assert!(receiver.take(address(1), first(run).as_bytes(), 0).is_ok());
    }
    let new = first(1000);
    assert_eq!(receiver.take(address(1), new.as_bytes(), 1), Err(Refusal::TooManySenders));
    let given = receiver.overdue(PATIENCE);
    assert_eq!(given.iter().map(|received| received.missing).collect::<Vec<_>>(), [parts.len() - 1]);
    assert_eq!(receiver.take(address(1), new.as_bytes(), PATIENCE).map(|received| received.len()), Ok(1));
}

#[test]
fn contradictions_are_refused_and_change_nothing() {
    let (mut receiver, mut writer) = (Receiver::default(), Writer::new(1, "a"));
    let parts = writer.table(&table(0, 40, 0));
    assert!(receiver.take(address(1), parts[0].as_bytes(), 0).is_ok());
    let count = parts.len();
    let change = |from: &str, to: &str| {
        assert!(parts[1].contains(from), "{from}: {}", parts[1]);
        parts[1].replacen(from, to, 1)
    };
    let pid = parts[0].lines().nth(1).and_then(|line| line.split_once("\"pid\":")).map(|(_, pid)| pid);
    let known = pid.and_then(|pid| pid.split([',', '}']).next()).expect("a pid");
    let other = parts[1].lines().nth(1).and_then(|line| line.split_once("\"pid\":")).map(|(_, pid)| pid);
    let other = other.and_then(|pid| pid.split([',', '}']).next()).expect("a pid");
    for hostile in [
        change("\"host\":\"a\"", "\"host\":\"b\""),
        change(&format!("\"parts\":{count}"), "\"parts\":4000"),
        change("\"part\":1", "\"part\":0"),
        change("\"time_ns\":0", "\"time_ns\":1"),
        change("\"interval_ns\":1000000000", "\"interval_ns\":1000000001"),
        change("\"sequence\":1", "\"sequence\":99999999999"),
        change(&format!("\"pid\":{other}"), &format!("\"pid\":{known}")),
    ] {
        let taken = receiver.take(address(1), hostile.as_bytes(), 0);
        assert_eq!(taken, Err(Refusal::Contradiction), "{hostile}");
    }
    assert_eq!((receiver.refused().contradiction, receiver.refused().sum()), (7, 7));
    for part in &parts[1..count - 1] {
        assert_eq!(receiver.take(address(1), part.as_bytes(), 0), Ok(Vec::new()));
    }
    let received = receiver.take(address(1), parts[count - 1].as_bytes(), 0).expect("it is taken");
    assert_eq!(received.iter().map(|received| &received.table).collect::<Vec<_>>(), [&table(0, 40, 0)]);
    assert_eq!(receiver.tally(), Tally { received: count as u64, ..Tally::default() });
    // Somebody else who uses the number of the run is another sender.
    assert_eq!(receiver.take(address(2), parts[0].as_bytes(), 0), Ok(Vec::new()));
    assert_eq!(receiver.senders().len(), 2);
}

#[test]
fn an_interval_has_a_limited_number_of_lines() {
    const PER: usize = 9;
    let mut receiver = Receiver::default();
    let line = |pid: usize| {
        format!(
            "{{\"pid\":{pid},\"comm\":\"\",\"cpu_ns\":0,\"cpu_total_ns\":0,\"switches\":0,\"preempted\":0,\"wait_max_ns\":0}}"
        )
    };
    let mut taken = 0;
    for part in 0..LINES {
        let mut datagram = format!(
            "{{\"smark_top\":1,\"sender\":\"0000000000000001\",\"host\":\"\",\"sequence\":{part},\"number\":0,\
             \"part\":{part},\"parts\":{LINES},\"time_ns\":0,\"interval_ns\":1}}"
        );
        for pid in 0..PER {
            datagram.push('\n');
            datagram.push_str(&line(part * PER + pid));
        }
        assert!(datagram.len() <= SIZE);
        taken += usize::from(receiver.take(address(1), datagram.as_bytes(), 0).is_ok());
    }
    assert_eq!(taken, LINES / PER);
    let rest: BTreeMap<u64, usize> = receiver.rest().iter().map(|r| (r.number, r.table.processes.len())).collect();
    assert_eq!(rest, BTreeMap::from([(0, LINES / PER * PER)]));
}
