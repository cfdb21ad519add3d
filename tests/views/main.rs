//! Values of types of Rust's library. Prints for each its name, its address and its text, and waits.

use std::borrow::Cow;
use std::cell::{LazyCell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::fmt::Debug;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{LazyLock, Mutex, OnceLock, RwLock};
use std::time::{Duration, Instant, SystemTime};

use simple_markers::simple_mark;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Job {
    id: u32,
    name: String,
    owner: Option<u8>,
}

fn job(id: u32) -> Job {
    Job { id, name: format!("job{id}"), owner: (id % 2 == 0).then_some(id as u8) }
}

fn kept<T: Debug>(name: &str, value: T) -> &'static T {
    kept_as(name, value, |text| text)
}

/// A value with another text than that of `Debug`.
fn kept_as<T: Debug>(name: &str, value: T, text: impl FnOnce(String) -> String) -> &'static T {
    let value = Box::leak(Box::new(value));
    println!("{name}\t{value:p}\t{}", text(format!("{value:?}")));
    value
}

/// The text of a lock without the sign that there are other members.
fn without_rest(text: String) -> String {
    text.replace(", .. }", " }")
}

type Five = fn() -> i32;

fn five() -> i32 {
    5
}

fn main() {
    let mut ring: VecDeque<u16> = (0..6).collect();
    ring.drain(..4);
    ring.extend([6, 7, 8]);
    let ring = kept("ring", ring);
    simple_mark!(views:ring, "%p", ring);
    let jobs = kept("jobs", (0..3).map(job).collect::<VecDeque<_>>());
    simple_mark!(views:jobs, "%p", jobs);
    let empty = kept("empty", VecDeque::<String>::new());
    simple_mark!(views:empty, "%p", empty);
    let units = kept("units", VecDeque::from([(), (), ()]));
    simple_mark!(views:units, "%p", units);
    let map = kept("map", (0..20u32).map(|n| (format!("k{n}"), n)).collect::<HashMap<_, _>>());
    simple_mark!(views:map, "%p", map);
    let numbers = kept("numbers", HashMap::from([(1u8, job(1))]));
    simple_mark!(views:numbers, "%p", numbers);
    let none = kept("none", HashMap::<u32, u32>::new());
    simple_mark!(views:none, "%p", none);
    let set = kept("set", (0..9u64).map(|n| n * n).collect::<HashSet<_>>());
    simple_mark!(views:set, "%p", set);
    let tree = kept("tree", (0..30i32).map(|n| (-n, n.to_string())).collect::<BTreeMap<_, _>>());
    simple_mark!(views:tree, "%p", tree);
    let leaf = kept("leaf", BTreeMap::from([("a", 1u8), ("b", 2)]));
    simple_mark!(views:leaf, "%p", leaf);
    let no_tree = kept("no_tree", BTreeMap::<u8, u8>::new());
    simple_mark!(views:no_tree, "%p", no_tree);
    let names = kept("names", BTreeSet::from(["x".to_owned(), "y".to_owned()]));
    simple_mark!(views:names, "%p", names);
    let list = kept("list", LinkedList::from([1i8, -2, 3]));
    simple_mark!(views:list, "%p", list);
    let heap = kept("heap", BinaryHeap::from([3u32, 9, 4]));
    simple_mark!(views:heap, "%p", heap);
    let cell = kept_as("cell", RefCell::new(job(7)), |text| text.replace(" } }", " }, borrow: 0 }"));
    simple_mark!(views:cell, "%p", cell);
    let lock = kept_as("lock", Mutex::new(VecDeque::from([5u8])), without_rest);
    simple_mark!(views:lock, "%p", lock);
    let shared = kept_as("shared", RwLock::new(8u64), without_rest);
    simple_mark!(views:shared, "%p", shared);
    let times = kept("times", [Duration::from_millis(1500), Duration::from_nanos(42), Duration::ZERO]);
    simple_mark!(views:times, "%p", times);
    let addresses = kept("addresses", (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST));
    simple_mark!(views:addresses, "%p", addresses);
    let address = kept("address", IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
    simple_mark!(views:address, "%p", address);
    let time = kept("time", SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 5));
    simple_mark!(views:time, "%p", time);
    let instant = kept("instant", Instant::now());
    simple_mark!(views:instant, "%p", instant);
    let mut done = 1..=2;
    done.by_ref().for_each(drop);
    let ranges = kept("ranges", (1..5, 1..=5, done, ..5, ..=5, 1.., ..));
    simple_mark!(views:ranges, "%p", ranges);
    let address: [SocketAddr; 2] = ["127.0.0.1:80".parse().unwrap(), "[::1%3]:443".parse().unwrap()];
    let sockets = kept("sockets", address);
    simple_mark!(views:sockets, "%p", sockets);
    let cows = kept("cows", (Cow::Borrowed("a"), Cow::<str>::Owned("b".to_owned()), Cow::<[u8]>::Owned(vec![1])));
    simple_mark!(views:cows, "%p", cows);
    let cells = kept("cells", [OnceCell::from("a".to_owned()), OnceCell::new()]);
    simple_mark!(views:cells, "%p", cells);
    let locks = kept("locks", [OnceLock::from("a".to_owned()), OnceLock::new()]);
    simple_mark!(views:locks, "%p", locks);
    let lazy = || (LazyCell::new(five as Five), LazyLock::new(five as Five));
    let made = lazy();
    assert_eq!((*made.0, *made.1), (5, 5));
    let lazies = kept("lazies", [lazy(), made]);
    simple_mark!(views:lazies, "%p", lazies);
    let pins = kept("pins", (Pin::new("a"), Box::pin(5)));
    simple_mark!(views:pins, "%p", pins);
    let maybe = kept("maybe", [MaybeUninit::new(5u32), MaybeUninit::uninit()]);
    simple_mark!(views:maybe, "%p", maybe);
    println!("end");
    let _ = std::io::stdin().read_line(&mut String::new());
}
